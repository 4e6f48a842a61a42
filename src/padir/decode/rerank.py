"""Ranking the candidates of a parallel model by an AR model (`decoding.reranker`).

The log-probability that the length rule reads becomes the AR model's, of all tokens and EOS, each
given the source and the tokens before it. That is one decoder pass over whole hypotheses, all
candidates of a sentence together; it changes no token. Source: noisy parallel decoding, Gu et al.
2018; fairseq's reranking divides by the length, here the length rule does (departure D37).

`decoding.rescore_kept` is something else: how a parallel model judges tokens between its passes.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Int

from padir.decode.batches import Batch, bucket_of, length_buckets, padded_sources, plan_batches
from padir.decode.load import RULE_FILE, LoadedModel
from padir.decode.predict import forbid, log_normaliser, predictable
from padir.decode.programs import Programs
from padir.decode.rank import Candidate
from padir.files import VOCABULARY_FILE, InputError, read_bytes, shown
from padir.ids import EOS, PAD, START


class Reranker:
    """Gives candidates the log-probabilities of an AR model.

    Args:
        loaded: an AR model.

    Raises:
        InputError: a parallel model.
    """

    def __init__(self, loaded: LoadedModel):
        run = loaded.spec.run
        if run.parallel:
            raise InputError(
                f"--reranker {shown(loaded.folder)}: is a model of system {run.system}: only AR"
                " models rerank"
            )
        self.loaded = loaded
        self.buckets = length_buckets(run)
        self.sentences = run.decoding.batch_sentences
        table_size = loaded.model.embedder.embedding.shape[0]
        # As in AR search, so that both sum the same numbers.
        allowed = predictable(table_size, loaded.vocabulary.size, eos=True)
        graph, state = nnx.split(loaded.model)
        leaves, structure = jax.tree.flatten(state)
        self._programs = Programs(leaves)

        def score(
            leaves, source: Int[Array, "B S"], targets: Int[Array, "B K L"]
        ) -> Float[Array, "B K"]:
            merged = nnx.merge(graph, jax.tree.unflatten(structure, leaves))
            # Hypotheses of one source stand in consecutive rows, as cross-attention needs.
            rows = targets.reshape(-1, targets.shape[2])
            first = jnp.full((rows.shape[0], 1), START, rows.dtype)
            inputs = jnp.concatenate([first, rows[:, :-1]], axis=1)
            logits = forbid(merged.decode(inputs, merged.encode(source).cross), allowed)
            held = jnp.take_along_axis(logits, rows[:, :, None], axis=2)[:, :, 0]
            found = jnp.where(rows == PAD, 0.0, held - log_normaliser(logits))
            return found.sum(axis=1).reshape(targets.shape[:2])

        self._score = self._programs.compiled(score, [True, True])

    @property
    def files(self) -> list[Path]:
        """What the log-probabilities depend on, for provenance."""
        return [path for path in self.loaded.files if path.name != RULE_FILE]

    def rerank(
        self, sources: Sequence[Sequence[int]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[list[Candidate]]:
        """The same candidates with this model's log-probabilities, in natural logarithm.

        They depend on the source and the tokens alone. All else stays: tokens, length, the
        parallel model's length log-probability, and its passes, among which this one is not.

        Args:
            sources: piece ids without EOS.
            candidates: of each source, none for an empty one; without EOS.

        Returns:
            of each source as many as given, in order; -inf where a token is no piece of text.

        Raises:
            ValueError: a source or candidate is longer than this model reads.
        """
        result: list[list[Candidate]] = [[] for _ in sources]
        filled = [index for index, several in enumerate(candidates) if several]
        width = max((len(candidates[index]) for index in filled), default=0)
        chosen = [sources[index] for index in filled]
        lengths, devices = [len(source) + 1 for source in chosen], self._programs.devices
        for batch in plan_batches(lengths, self.buckets, self.sentences, devices):
            ranked = [candidates[filled[index]] for index in batch.indices]
            targets = self._targets(batch, ranked, width)
            scores = self._score(padded_sources(chosen, batch), targets)
            scores = np.asarray(scores).tolist()
            for row, (index, several) in enumerate(zip(batch.indices, ranked, strict=True)):
                result[filled[index]] = [
                    replace(one, log_probability=scores[row][place])
                    for place, one in enumerate(several)
                ]
        return result

    def _targets(
        self, batch: Batch, ranked: Sequence[Sequence[Candidate]], width: int
    ) -> Int[np.ndarray, "B K L"]:
        """Tokens and EOS, padded; rows and places without a candidate hold padding alone."""
        longest = max(len(one.tokens) + 1 for several in ranked for one in several)
        ids = np.full((batch.rows, width, bucket_of(longest, self.buckets)), PAD, np.int32)
        for row, several in enumerate(ranked):
            for place, one in enumerate(several):
                ids[row, place, : len(one.tokens)] = one.tokens
                ids[row, place, len(one.tokens)] = EOS
        return ids


def check_reranker(ranked: LoadedModel, reranker: Reranker | None) -> None:
    """Refuse a reranker that is not the one of a model's settings, or none where they name one.

    Args:
        ranked: the model whose candidates are ranked.
        reranker: what was given for it.

    Raises:
        InputError: with what is needed.
    """
    name, folder = ranked.spec.run.decoding.reranker, shown(ranked.folder)
    if reranker is None:
        if name is not None:
            raise InputError(
                f"{folder}: decoding.reranker is {name}: give that model's bundle with --reranker"
            )
        return
    given, own = reranker.loaded, f"--reranker {shown(reranker.loaded.folder)}"
    if name is None:
        raise InputError(f"{own}: {folder} ranks its own candidates: its decoding.reranker is null")
    if (given.spec.training, given.spec.direction) != (name, ranked.spec.direction):
        raise InputError(
            f"{own}: is model {given.spec.training} of {given.spec.direction}, but {folder} is ranked"
            f" by {name} of {ranked.spec.direction}"
        )
    ours, theirs = (read_bytes(one.folder / VOCABULARY_FILE) for one in (given, ranked))
    if ours != theirs:
        raise InputError(f"{own}: its vocabulary is not that of {folder}")
    reads, needed = (one.spec.run.architecture.max_positions for one in (given, ranked))
    if reads < needed:
        raise InputError(f"{own}: reads at most {reads} tokens, {folder} up to {needed}")
