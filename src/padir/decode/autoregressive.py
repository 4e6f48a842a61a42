"""Greedy and beam decoding of token ids with a causal model and its key-value cache."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from padir.config.decoder import SearchDecoder
from padir.config.training import TrainingRun
from padir.decode.batches import Batch
from padir.decode.candidates import Candidate
from padir.decode.predict import forbid, most_likely, predictable
from padir.decode.programs import CompiledModel, pack, unpack
from padir.decode.search import beam_search, greedy_search
from padir.ids import EOS, PAD, START
from padir.model.decoder import Cache, CrossMemory
from padir.model.transformer import Transformer

LIMIT_FACTOR, LIMIT_EXTRA = 2, 10
LEAST_ROWS = 4


def target_limit(source_length: int, max_positions: int) -> int:
    """Most target tokens, EOS included, for a source of this many tokens, EOS included."""
    return min(max_positions, LIMIT_FACTOR * source_length + LIMIT_EXTRA)


class Memory(NamedTuple):
    """State of a decoding step: cached keys and values of the targets, and encoded sources."""

    cache: Cache
    cross: CrossMemory


def greedy_step(model: Transformer, allowed):
    """One cached step of the model for `greedy_search`; the state is a `Memory`."""

    def step(tokens, position, memory: Memory):
        logits, cache = model.step(tokens, position, *memory)
        token, log_probability = most_likely(logits, allowed)
        return token, log_probability, memory._replace(cache=cache)

    return step


def beam_step(model: Transformer, allowed):
    """One cached step of the model for `beam_search`; the state is a `Memory`."""

    def step(tokens, position, origin, memory: Memory):
        beam, length = origin.shape[1:]
        # Cache entry t * K + k belongs to every hypothesis that passed through slot k at step t.
        readable = origin[:, :, :, None] == jnp.arange(beam)[None, None, None, :]
        readable = readable.reshape(*origin.shape[:2], length * beam)
        x = model.embedder(tokens)
        x, cache = model.decoder.step(x, position, *memory, readable)
        return forbid(model.logits(x), allowed), memory._replace(cache=cache)

    return step


def smaller_batches(rows: int) -> tuple[int, ...]:
    """Batch sizes to which search shrinks as rows finish; each adds to the compile time."""
    return tuple(size for size in (rows // 4, rows // 16) if size >= LEAST_ROWS)


class Searcher:
    """Decodes token ids with one AR model.

    Args:
        model: a causal model.
        run: its settings.
        settings: greedy search, or beam search and its width.
        vocabulary_size: ids in use.
        alpha: of the beam's length penalty.
        sentences: of a batch; see `CompiledModel`.
    """

    def __init__(
        self,
        model: Transformer,
        run: TrainingRun,
        settings: SearchDecoder,
        vocabulary_size: int,
        alpha: float = 0.0,
        sentences: int | None = None,
    ):
        self.max_positions = run.architecture.max_positions
        self.use(alpha)
        self._compiled = CompiledModel(model, run, sentences)
        allowed = predictable(self._compiled.table_size, vocabulary_size, eos=True)
        greedy = settings.kind == "greedy"
        width = 1 if greedy else settings.beam

        most = self.max_positions
        # A row with EOS alone fills the batch up.
        limit_of = np.array([0, 0, *(target_limit(length, most) for length in range(2, most + 1))])

        def search(model: Transformer, source, alpha, length: int):
            rows = source.shape[0]
            limits = jnp.asarray(limit_of, jnp.int32)[jnp.sum(source != PAD, axis=1)]
            cache = model.decoder.empty_cache(rows, length * width)
            memory, sizes = Memory(cache, model.encode(source).cross), smaller_batches(rows)
            if greedy:
                step = greedy_step(model, allowed)
                result = greedy_search(step, memory, limits, length, START, EOS, sizes)
                return pack(result.tokens, result.log_probability, result.length)
            result = beam_search(
                beam_step(model, allowed),
                memory,
                limits,
                alpha,
                beam=width,
                length=length,
                start=START,
                eos=EOS,
                sizes=sizes,
            )
            best = (array[:, 0] for array in (result.tokens, result.log_probability, result.length))
            return pack(*best)

        self._search = self._compiled.compiled(search, [True, False], fixed=1, to_host=True)

    def use(self, alpha: float) -> None:
        """Change the length penalty; nothing is compiled again."""
        self._alpha = jnp.float32(alpha)

    def batches(
        self, sources: Sequence[Sequence[int]]
    ) -> Iterator[tuple[Batch, list[list[Candidate]]]]:
        """Decode batch by batch; batches are ordered by length, not as given.

        Args:
            sources: piece ids without EOS; an empty one is in no batch.

        Yields:
            a batch, and for each of its sentences one candidate.
        """
        for batch, source in self._compiled.batches(sources):
            longest = target_limit(batch.length, self.max_positions)
            result = unpack(self._search(source, self._alpha, longest), np.float32, np.int32)
            tokens, scores, lengths = (array.tolist() for array in result)
            held = range(len(batch.indices))
            yield batch, [[_candidate(tokens[row][: lengths[row]], scores[row])] for row in held]


def _candidate(tokens: list[int], log_probability: float) -> Candidate:
    length = len(tokens)
    without_eos = tuple(tokens[:-1] if tokens[-1] == EOS else tokens)
    return Candidate(without_eos, length, log_probability, 0.0, passes=length)
