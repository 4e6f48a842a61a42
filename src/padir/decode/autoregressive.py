"""Greedy and beam decoding of token ids with a causal model and its key-value cache."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from padir.config.training import TrainingRun
from padir.decode.batches import Batch, length_buckets, padded_sources, plan_batches
from padir.decode.predict import forbid, most_likely, predictable
from padir.decode.programs import Programs
from padir.decode.rank import Candidate
from padir.decode.search import beam_search, greedy_search
from padir.ids import EOS, START
from padir.model.decoder import Cache, CrossMemory
from padir.model.transformer import Transformer

LIMIT_FACTOR, LIMIT_EXTRA = 2, 10
LEAST_ROWS = 4


def target_limit(source_length: int, max_positions: int) -> int:
    """Most target tokens, EOS included, for a source of this many tokens, EOS included."""
    return min(max_positions, LIMIT_FACTOR * source_length + LIMIT_EXTRA)


class Memory(NamedTuple):
    """What a step needs of its rows: their past and their sources."""

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
        # Entry t * K + k of the cache is read by those whose past at t went through slot k.
        readable = origin[:, :, :, None] == jnp.arange(beam)[None, None, None, :]
        readable = readable.reshape(*origin.shape[:2], length * beam)
        x = model.embedder(tokens)
        x, cache = model.decoder.step(x, position, *memory, readable)
        return forbid(model.logits(x), allowed), memory._replace(cache=cache)

    return step


def smaller_batches(rows: int) -> tuple[int, ...]:
    """Batch sizes in which the last open rows go on: each makes the program longer to compile."""
    return tuple(size for size in (rows // 4, rows // 16) if size >= LEAST_ROWS)


class Searcher:
    """Decodes token ids with one AR model.

    Args:
        model: a causal model.
        run: its settings.
        vocabulary_size: ids in use.
        search: greedy, or beam.
        alpha: of the beam's length penalty.
        beam: its width; that of `run.decoding` by default.
    """

    def __init__(
        self,
        model: Transformer,
        run: TrainingRun,
        vocabulary_size: int,
        search: Literal["greedy", "beam"],
        alpha: float = 0.0,
        beam: int | None = None,
    ):
        table_size = model.embedder.embedding.shape[0]
        self.max_positions = run.architecture.max_positions
        self.buckets = length_buckets(run)
        self.sentences = run.decoding.batch_sentences
        self.alpha = alpha
        width = run.decoding.beam if beam is None else beam
        allowed = predictable(table_size, vocabulary_size, eos=True)
        graph, state = nnx.split(model)
        leaves, structure = jax.tree.flatten(state)
        self._programs = Programs(leaves)

        def greedy(leaves, source, limits, alpha, length: int):
            merged = nnx.merge(graph, jax.tree.unflatten(structure, leaves))
            cross = merged.encode(source).cross
            found = greedy_search(
                greedy_step(merged, allowed),
                Memory(merged.decoder.empty_cache(source.shape[0], length), cross),
                limits,
                length,
                START,
                EOS,
                smaller_batches(source.shape[0]),
            )
            return found.tokens, found.log_probability, found.length

        def beams(leaves, source, limits, alpha, length: int):
            merged = nnx.merge(graph, jax.tree.unflatten(structure, leaves))
            cross = merged.encode(source).cross
            found = beam_search(
                beam_step(merged, allowed),
                Memory(merged.decoder.empty_cache(source.shape[0], length * width), cross),
                limits,
                alpha,
                beam=width,
                length=length,
                start=START,
                eos=EOS,
                sizes=smaller_batches(source.shape[0]),
            )
            return found.tokens[:, 0], found.log_probability[:, 0], found.length[:, 0]

        function = greedy if search == "greedy" else beams
        self._search = self._programs.compiled(function, [True, True, False], fixed=1)

    def batches(
        self, sources: Sequence[Sequence[int]]
    ) -> Iterator[tuple[Batch, list[list[Candidate]]]]:
        """Decode, batch by batch, in an order of its own.

        Args:
            sources: piece ids without EOS, none empty.

        Yields:
            a batch, and for each of its sentences one candidate.
        """
        lengths = [len(source) + 1 for source in sources]
        devices = self._programs.devices
        for batch in plan_batches(lengths, self.buckets, self.sentences, devices):
            yield batch, self._search_batch(sources, batch)

    def _search_batch(
        self, sources: Sequence[Sequence[int]], batch: Batch
    ) -> list[list[Candidate]]:
        limits = np.zeros(batch.rows, np.int32)
        for row, index in enumerate(batch.indices):
            limits[row] = target_limit(len(sources[index]) + 1, self.max_positions)
        tokens, scores, lengths = (
            np.asarray(array)
            for array in self._search(
                padded_sources(sources, batch),
                limits,
                np.float32(self.alpha),
                target_limit(batch.length, self.max_positions),
            )
        )
        found = []
        for row in range(len(batch.indices)):
            length = int(lengths[row])
            ids = tokens[row, :length].tolist()
            found.append(
                [
                    Candidate(
                        tokens=tuple(ids[:-1] if ids[-1] == EOS else ids),
                        length=length,
                        log_probability=float(scores[row]),
                        length_log_probability=0.0,
                        passes=length,
                    )
                ]
            )
        return found
