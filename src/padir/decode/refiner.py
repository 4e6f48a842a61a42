"""Decoding token ids with one parallel model: length candidates, starts, compiled passes.

Paper: 3.2, L.1.1. One call encodes and predicts lengths, one makes all passes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float, Int

from padir.config.decoding import Decoding
from padir.config.training import TrainingRun
from padir.decode.batches import Batch, bucket_of, length_buckets, padded_sources, plan_batches
from padir.decode.choose import choose
from padir.decode.joint import joint_choice, lesser_entropy, likeliest, overlap
from padir.decode.policies import REMASKS, STARTS, STOPS, UPDATES, Start, sentence_keys
from padir.decode.predict import forbid, predictable
from padir.decode.programs import Programs
from padir.decode.rank import Candidate
from padir.decode.refine import Policies, Prediction, refine
from padir.files import InputError
from padir.ids import PAD
from padir.model.decoder import CrossMemory
from padir.model.length import top_lengths, window_lengths
from padir.model.transformer import Transformer
from padir.shapes import LengthLogits

SHORTEST = 2
"""Least target length tried for a source that is not empty: one piece and EOS."""


@dataclass(frozen=True)
class Proposal:
    """A hypothesis to start from, where it is not drawn.

    Attributes:
        tokens: without EOS.
        given: whether each token stays as it is.
        opening: whether each token, where it is predicted, has to be one of a set of openings.
    """

    tokens: tuple[int, ...]
    given: tuple[bool, ...]
    opening: tuple[bool, ...] = ()


def length_candidates(
    logits: LengthLogits, count: int, longest: int, search: str = "top"
) -> tuple[Int[Array, "B K"], Float[Array, "B K"]]:
    """Distinct lengths from `SHORTEST` to `longest` to try, and their log-probabilities.

    Args:
        logits: class c is length c + 1.
        count: lengths.
        longest: greatest length tried.
        search: top, the likeliest; window, those around the likeliest.
    """
    lengths = jnp.arange(1, logits.shape[-1] + 1)
    possible = (lengths >= SHORTEST) & (lengths <= longest)
    found = {"top": top_lengths, "window": window_lengths}[search]
    return found(jnp.where(possible, logits, -jnp.inf), count)


def repeats_within(source: Sequence[int], reach: int) -> bool:
    """Whether a token stands again at most `reach` positions after itself."""
    apart = range(1, reach + 1)
    return any(a == b for step in apart for a, b in zip(source, source[step:], strict=False))


def policies_of(settings: Decoding) -> Policies:
    """The policies that the settings name."""
    return Policies(
        update=UPDATES[settings.update](settings),
        remask=REMASKS[settings.remask](settings),
        stop=STOPS[settings.stop](settings),
        replacement=settings.replacement,
        rescore_kept=settings.rescore_kept,
        easy_first=settings.context == "easy_first",
        joint=joint_choice(settings),
    )


def predictor(
    model: Transformer,
    cross: CrossMemory,
    allowed: Bool[np.ndarray, " V"],
    settings: Decoding,
    opening=None,
    rows: tuple[int, int] | None = None,
) -> Callable[..., Prediction]:
    """What `refine` calls for one pass of a model.

    Args:
        model: a parallel model.
        cross: the sources; rows of a pass may be a multiple of them.
        allowed: ids that may be predicted.
        settings: how tokens are chosen, and what the policies ask for besides.
        opening: positions, and the only ids that may stand there; None: no such position.
        rows: the shape of a pass, where there are openings.
    """
    joint = policies_of(settings).joint
    needs_logits = settings.replacement == "summed"
    coupled_by = settings.coupled_by if settings.remask == "coupled" else None
    if settings.joint == "attention":
        coupled_by = "attention"
    needs_keeps = settings.remask == "critic"

    def predict(tokens, visible, position_keys):
        hidden, attentions = model.hidden(tokens, cross, visible)
        logits = model.logits(hidden)
        if opening is not None:
            where, openings = opening
            barred = where.reshape(rows)[:, :, None] & ~openings[None, None, :]
            logits = jnp.where(barred, -jnp.inf, logits)
        token, score = choose(logits, allowed, position_keys, settings)
        keeps = jnp.ones_like(score)
        if needs_keeps:
            keeps = jax.nn.softmax(model.critic_logits(hidden), axis=-1)[..., 1]
        candidates = coupling = None
        if joint is not None:
            candidates = likeliest(forbid(logits, allowed), joint.candidates)
        if coupled_by == "attention":
            weights = attentions.cross_attention[:, -1].mean(axis=1)
            coupling = overlap(weights, settings.joint_reach)
        elif coupled_by is not None:
            law = jax.nn.log_softmax(forbid(logits, allowed), axis=-1)
            shared = coupled_by == "predictions"
            coupling = overlap(jnp.exp(law), 1) if shared else lesser_entropy(law)
        return Prediction(
            token,
            score,
            keeps,
            forbid(logits, allowed) if needs_logits else None,
            candidates,
            coupling,
        )

    return predict


class Refiner:
    """Decodes token ids with one parallel model.

    Args:
        model: a parallel model.
        run: its settings; `run.decoding` chooses candidates and policies.
        vocabulary_size: ids in use.
        seed: of random start tokens and draws.
        candidates: target lengths tried per sentence; those of `run.decoding` by default.

    Raises:
        InputError: more candidates than there are lengths.
    """

    def __init__(
        self,
        model: Transformer,
        run: TrainingRun,
        vocabulary_size: int,
        seed: int,
        candidates: int | None = None,
    ):
        decoding = run.decoding
        self.seed = seed
        self.longest = min(run.architecture.length_classes, run.architecture.max_positions)
        self.buckets = length_buckets(run)
        # Hypotheses have buffers of their own: nothing is longer than the longest length.
        self.buffers = (*(b for b in self.buckets if b < self.longest), self.longest)
        self.sentences = decoding.batch_sentences
        self.lengths = decoding.length_candidates if candidates is None else candidates
        if not 1 <= self.lengths <= self.longest + 1 - SHORTEST:
            raise InputError(
                f"length candidates: {self.lengths} asked, this model has"
                f" {self.longest + 1 - SHORTEST} lengths to choose from"
            )
        self.restarts = decoding.restarts
        self.start: Start = STARTS[decoding.start](seed, vocabulary_size)
        policies = policies_of(decoding)
        self.joint = policies.joint
        table_size = model.embedder.embedding.shape[0]
        allowed = predictable(table_size, vocabulary_size, eos=False)
        graph, state = nnx.split(model)
        # Plain leaves: a module's own containers cost more to pass than a small model to run.
        leaves, structure = jax.tree.flatten(state)
        self._programs = Programs(leaves)
        count, longest, search = self.lengths, self.longest, decoding.length_search

        def encode(leaves, source):
            merged = nnx.merge(graph, jax.tree.unflatten(structure, leaves))
            encoded = merged.encode(source)
            if encoded.length_logits is None:
                raise ValueError("a causal model predicts no lengths")
            return encoded.cross, *length_candidates(encoded.length_logits, count, longest, search)

        self.table_size = table_size

        def decode(
            leaves, cross: CrossMemory, start, given, opening, openings, lengths, passes, keys,
            may_repeat,
        ):  # fmt: skip
            merged = nnx.merge(graph, jax.tree.unflatten(structure, leaves))
            rows = (start.shape[0] * start.shape[1], start.shape[2])
            only = None if openings is None else (opening, openings)

            predict = predictor(merged, cross, allowed, decoding, only, rows)

            # Each candidate draws from a stream of its own: the sentence's and its number.
            number = jnp.arange(start.shape[1], dtype=jnp.uint32)
            own = jnp.stack(
                [
                    jnp.broadcast_to(keys[:, :1], start.shape[:2]),
                    keys[:, 1:] + number[None, :],
                ],
                axis=-1,
            )
            state = refine(
                predict,
                start.reshape(rows),
                lengths.reshape(-1),
                passes,
                policies,
                own.reshape(-1, 2),
                None if given is None else given.reshape(rows),
                None if may_repeat is None else jnp.repeat(may_repeat, start.shape[1], axis=0),
            )
            shape = start.shape[:2]
            return (
                state.tokens.reshape(start.shape),
                state.log_probability.sum(axis=1).reshape(shape),
                state.passes.reshape(shape),
            )

        self._encode = self._programs.compiled(encode, [True])
        # All but `openings` and `passes`.
        has_rows = [True, True, True, True, False, True, False, True, True]
        self._decode = self._programs.compiled(decode, has_rows)

    def _plan(self, sources: Sequence[Sequence[int]]) -> list[Batch]:
        lengths = [len(source) + 1 for source in sources]
        return plan_batches(lengths, self.buckets, self.sentences, self._programs.devices)

    def batches(
        self,
        sources: Sequence[Sequence[int]],
        passes: int,
        lengths: Sequence[int] | None = None,
    ) -> Iterator[tuple[Batch, list[list[Candidate]]]]:
        """Decode, batch by batch, in an order of its own.

        Args:
            sources: piece ids without EOS, none empty.
            passes: decoder passes (T), at least 1.
            lengths: of the references with EOS, which a model with an oracle is told.

        Yields:
            a batch, and for each of its sentences the candidates, likeliest length first.
        """
        for batch in self._plan(sources):
            cross, found, scores = self._encode(padded_sources(sources, batch))
            found, scores = np.array(found), np.asarray(scores)
            if lengths is not None:
                told = [lengths[index] for index in batch.indices]
                found = np.clip(np.array(told)[:, None], SHORTEST, self.longest)
                found = np.pad(found, ((0, batch.rows - len(told)), (0, 0)), constant_values=1)
                scores = np.zeros(found.shape, np.float32)
            found[len(batch.indices) :] = 1
            found, scores = (np.repeat(array, self.restarts, axis=1) for array in (found, scores))
            buffer = bucket_of(int(found.max()), self.buffers)
            start = np.full((*found.shape, buffer), PAD, np.int32)
            for row, index in enumerate(batch.indices):
                drawn = self.start.tokens(sources[index], found.shape[1], self.longest)
                start[row] = drawn[:, :buffer]
            refined = self._refined(sources, batch, cross, start, None, None, found, scores, passes)
            yield batch, refined

    def predicted(self, sources: Sequence[Sequence[int]]) -> list[list[tuple[int, float]]]:
        """The lengths that are tried without proposals, and their log-probabilities.

        Args:
            sources: piece ids without EOS, none empty.

        Returns:
            of each source lengths with EOS, likeliest first, each as often as there are restarts.
        """
        result: list[list[tuple[int, float]]] = [[] for _ in sources]
        for batch in self._plan(sources):
            _, *found = self._encode(padded_sources(sources, batch))
            lengths, scores = (np.repeat(array, self.restarts, axis=1).tolist() for array in found)
            for row, index in enumerate(batch.indices):
                result[index] = list(zip(lengths[row], scores[row], strict=True))
        return result

    def proposed(
        self,
        sources: Sequence[Sequence[int]],
        proposals: Sequence[Sequence[Proposal]],
        passes: int,
        openings: Bool[np.ndarray, " V"] | None = None,
    ) -> list[list[Candidate]]:
        """Decode from given hypotheses; their length scores are 0.

        Args:
            sources: piece ids without EOS, none empty.
            proposals: of each source at least one.
            passes: decoder passes (T), at least 1.
            openings: ids that `Proposal.opening` allows, over `table_size`; None: all.

        Returns:
            of each source one candidate per proposal, in order.
        """
        result: list[list[Candidate]] = [[] for _ in sources]
        for batch in self._plan(sources):
            cross, _, _ = self._encode(padded_sources(sources, batch))
            several = [proposals[index] for index in batch.indices]
            # A power of two, so that few programs are compiled.
            width = 1 << (max(map(len, several)) - 1).bit_length()
            lengths = np.ones((batch.rows, width), np.int32)
            for row, own in enumerate(several):
                lengths[row, : len(own)] = [len(one.tokens) + 1 for one in own]
            buffer = bucket_of(int(lengths.max()), self.buffers)
            start = np.full((*lengths.shape, buffer), PAD, np.int32)
            given, opening = np.zeros((2, *start.shape), bool)
            for row, own in enumerate(several):
                for number, one in enumerate(own):
                    start[row, number, : len(one.tokens)] = one.tokens
                    given[row, number, : len(one.given)] = one.given
                    opening[row, number, : len(one.opening)] = one.opening
            zeros = np.zeros(lengths.shape, np.float32)
            only = None if openings is None else (opening, openings)
            found = self._refined(sources, batch, cross, start, given, only, lengths, zeros, passes)
            for index, own, candidates in zip(batch.indices, several, found, strict=True):
                result[index] = candidates[: len(own)]
        return result

    def _refined(
        self, sources, batch: Batch, cross, start, given, opening, lengths, length_scores, passes
    ) -> list[list[Candidate]]:
        keys = sentence_keys(self.seed, [sources[index] for index in batch.indices], batch.rows)
        may_repeat = None
        if self.joint is not None:
            # More is spared at a distance than side by side, where it would be stutter.
            reaches = range(1, self.joint.reach + 1)
            may_repeat = np.zeros((batch.rows, len(reaches)), bool)
            for row, index in enumerate(batch.indices):
                may_repeat[row] = [repeats_within(sources[index], reach) for reach in reaches]
        where, openings = opening or (None, None)
        found = self._decode(
            *(cross, start, given, where, openings, lengths, np.int32(passes), keys, may_repeat)
        )
        tokens, scores, used = (np.asarray(array) for array in found)
        return [
            [
                Candidate(
                    tokens=tuple(tokens[row, k, : lengths[row, k] - 1].tolist()),
                    length=int(lengths[row, k]),
                    log_probability=float(scores[row, k]),
                    length_log_probability=float(length_scores[row, k]),
                    passes=int(used[row, k]),
                )
                for k in range(lengths.shape[1])
            ]
            for row in range(len(batch.indices))
        ]
