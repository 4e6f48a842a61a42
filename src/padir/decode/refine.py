"""Parallel refinement: all positions of a hypothesis are predicted again in each of T passes.

A hypothesis of length l holds EOS at position l - 1 in every pass, as in training; start tokens
before it; padding after it. Each pass predicts every position before EOS; between passes some
predictions may go back to their start token; after the last pass they never do.

Paper: 3.2 and algorithm 1 of L.1 (lengths: L.1.1). Where this differs from the published code:
docs/departures.md.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float, Int

from padir.config.model import ModelRun
from padir.decode.batches import Batch, bucket_of, length_buckets, padded_sources, plan_batches
from padir.decode.policies import (
    REMASKS,
    STARTS,
    STOPS,
    PassView,
    Remask,
    Start,
    Stop,
)
from padir.decode.predict import most_likely, predictable
from padir.decode.rank import Candidate
from padir.files import InputError
from padir.ids import EOS, PAD
from padir.model.decoder import CrossMemory
from padir.model.length import top_lengths
from padir.model.transformer import Transformer
from padir.shapes import LengthLogits

SHORTEST = 2
"""Least target length tried for a source that is not empty: one piece and EOS."""


class Refinement(NamedTuple):
    """The loop's state, one row per hypothesis.

    Attributes:
        done: passes made.
        fed: tokens that the next pass reads.
        predicted: tokens of the latest pass; the result.
        log_probability: of the predicted tokens, summed.
        passes: passes that changed or confirmed the row.
        finished: rows that no pass changes any more.
    """

    done: Int[Array, ""]
    fed: Int[Array, "B L"]
    predicted: Int[Array, "B L"]
    log_probability: Float[Array, " B"]
    passes: Int[Array, " B"]
    finished: Bool[Array, " B"]


def length_candidates(
    logits: LengthLogits, count: int, longest: int
) -> tuple[Int[Array, "B K"], Float[Array, "B K"]]:
    """The `count` likeliest lengths from `SHORTEST` to `longest`, and their log-probabilities.

    They are distinct, so no candidate is decoded twice. Class c of the logits is length c + 1.
    """
    lengths = jnp.arange(1, logits.shape[-1] + 1)
    possible = (lengths >= SHORTEST) & (lengths <= longest)
    return top_lengths(jnp.where(possible, logits, -jnp.inf), count)


def refine(
    predict,
    start: Int[Array, "B L"],
    lengths: Int[Array, " B"],
    passes: Int[Array, ""],
    remask: Remask,
    stop: Stop,
) -> Refinement:
    """Refine all rows for up to `passes` passes.

    Args:
        predict: maps tokens and visibility [B, L] to the likeliest token and its
            log-probability at every position.
        start: initial tokens; those at a row's EOS and after it are not read.
        lengths: of each row with EOS, from 1 to L.
        passes: at least 1. Traced: one program serves every number.
        remask: which predictions go back to their start token between passes.
        stop: which rows are finished early. A finished row keeps its result; the loop ends when
            every row is finished.
    """
    position = jnp.arange(start.shape[1])[None, :]
    last = lengths[:, None] - 1
    is_piece, visible = position < last, position <= last
    first = jnp.where(is_piece, start, jnp.where(position == last, EOS, PAD))

    def more(state: Refinement) -> Bool[Array, ""]:
        return (state.done < passes) & ~jnp.all(state.finished)

    def one_pass(state: Refinement) -> Refinement:
        token, log_probability = predict(state.fed, visible)
        predicted = jnp.where(is_piece, token, first)
        log_probability = jnp.where(is_piece, log_probability, 0.0)
        view = PassView(predicted, log_probability, is_piece, state.done, passes)
        fed = jnp.where(remask(view) & is_piece, first, predicted)
        kept = state.finished
        return Refinement(
            done=state.done + 1,
            fed=jnp.where(kept[:, None], state.fed, fed),
            predicted=jnp.where(kept[:, None], state.predicted, predicted),
            log_probability=jnp.where(kept, state.log_probability, log_probability.sum(axis=1)),
            passes=state.passes + ~kept,
            finished=kept | stop(state.fed, fed),
        )

    rows = start.shape[0]
    state = Refinement(
        done=jnp.int32(0),
        fed=first,
        predicted=first,
        log_probability=jnp.zeros(rows, jnp.float32),
        passes=jnp.zeros(rows, jnp.int32),
        finished=~jnp.any(is_piece, axis=1),
    )
    return jax.lax.while_loop(more, one_pass, state)


class Refiner:
    """Decodes token ids with one PaDIR model.

    Args:
        model: a parallel model.
        run: its settings; `run.decoding` chooses candidates and policies.
        vocabulary_size: ids in use.
        seed: of random start tokens.
        candidates: target lengths tried per sentence; those of `run.decoding` by default.

    Raises:
        InputError: more candidates than there are lengths.
    """

    def __init__(
        self,
        model: Transformer,
        run: ModelRun,
        vocabulary_size: int,
        seed: int,
        candidates: int | None = None,
    ):
        decoding = run.decoding
        table_size = model.embedder.embedding.shape[0]
        self.longest = min(run.architecture.length_classes, run.architecture.max_positions)
        self.buckets = length_buckets(run)
        # Hypotheses have buffers of their own: nothing is longer than the longest length.
        self.buffers = (*(b for b in self.buckets if b < self.longest), self.longest)
        self.sentences = decoding.batch_sentences
        self.candidates = decoding.length_candidates if candidates is None else candidates
        if not 1 <= self.candidates <= self.longest + 1 - SHORTEST:
            raise InputError(
                f"length candidates: {self.candidates} asked, this model has"
                f" {self.longest + 1 - SHORTEST} lengths to choose from"
            )
        self.start: Start = STARTS[decoding.start](seed, vocabulary_size)
        remask = REMASKS["stutter" if decoding.remask_stutter else "none"]()
        stop = STOPS["unchanged"]()
        allowed = predictable(table_size, vocabulary_size, eos=False)
        graph, state = nnx.split(model)
        # Plain leaves: a module's own containers cost more to pass than a small model to run.
        self._leaves, structure = jax.tree.flatten(state)
        count, longest = self.candidates, self.longest

        def encode(leaves, source):
            merged = nnx.merge(graph, jax.tree.unflatten(structure, leaves))
            encoded = merged.encode(source)
            if encoded.length_logits is None:
                raise ValueError("a causal model predicts no lengths")
            return encoded.cross, *length_candidates(encoded.length_logits, count, longest)

        def decode(leaves, cross: CrossMemory, start, lengths, passes):
            merged = nnx.merge(graph, jax.tree.unflatten(structure, leaves))

            def predict(tokens, visible):
                hidden, _ = merged.hidden(tokens, cross, visible)
                return most_likely(merged.logits(hidden), allowed)

            rows = (start.shape[0] * start.shape[1], start.shape[2])
            state = refine(predict, start.reshape(rows), lengths.reshape(-1), passes, remask, stop)
            shape = start.shape[:2]
            return (
                state.predicted.reshape(start.shape),
                state.log_probability.reshape(shape),
                state.passes.reshape(shape),
            )

        self._encode = jax.jit(encode)
        self._decode = jax.jit(decode)

    def batches(
        self, sources: Sequence[Sequence[int]], passes: int
    ) -> Iterator[tuple[Batch, list[list[Candidate]]]]:
        """Decode, batch by batch, in an order of its own.

        Args:
            sources: piece ids without EOS, none empty.
            passes: decoder passes (T), at least 1.

        Yields:
            a batch, and for each of its sentences the candidates, likeliest length first.
        """
        lengths = [len(source) + 1 for source in sources]
        for batch in plan_batches(lengths, self.buckets, self.sentences):
            yield batch, self._decode_batch(sources, batch, passes)

    def _decode_batch(
        self, sources: Sequence[Sequence[int]], batch: Batch, passes: int
    ) -> list[list[Candidate]]:
        cross, lengths, length_scores = self._encode(self._leaves, padded_sources(sources, batch))
        lengths, length_scores = np.array(lengths), np.asarray(length_scores)
        filled = len(batch.indices)
        lengths[filled:] = 1
        buffer = bucket_of(int(lengths.max()), self.buffers)
        start = np.full((batch.rows, self.candidates, buffer), PAD, np.int32)
        for row, index in enumerate(batch.indices):
            drawn = self.start.tokens(sources[index], self.candidates, self.longest)
            start[row] = drawn[:, :buffer]
        predicted, scores, used = (
            np.asarray(array)
            for array in self._decode(self._leaves, cross, start, lengths, np.int32(passes))
        )
        return [
            [
                Candidate(
                    tokens=tuple(predicted[row, k, : lengths[row, k] - 1].tolist()),
                    length=int(lengths[row, k]),
                    log_probability=float(scores[row, k]),
                    length_log_probability=float(length_scores[row, k]),
                    passes=int(used[row, k]),
                )
                for k in range(self.candidates)
            ]
            for row in range(filled)
        ]
