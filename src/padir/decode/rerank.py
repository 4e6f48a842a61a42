"""Reranker: scores the length candidates of a parallel model with an AR model.

The log-probability that the length rule reads becomes the AR model's, of all tokens and EOS, each
given the source and the tokens before it. That is one decoder pass over whole hypotheses, all
candidates of a sentence together; it changes no token. Source: noisy parallel decoding, Gu et al.
2018; fairseq's reranking divides by the length, here the length rule does (departure D37).

The setting `rescore_kept` is something else: how a parallel model judges tokens between its passes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from padir.bundle import VOCABULARY_FILE
from padir.config.decoder import WeightPrecision
from padir.decode.batches import Batch
from padir.decode.candidates import Candidate
from padir.decode.load import LoadedModel, TunedDecoder
from padir.decode.predict import forbid, log_normaliser, predictable
from padir.decode.programs import CompiledModel
from padir.files import InputError, read_bytes, shown
from padir.ids import EOS, PAD
from padir.model.transformer import Transformer
from padir.tokens import shifted


class Reranker:
    """Gives candidates the log-probabilities of an AR model.

    Args:
        loaded: an AR model.
        sentences: of a batch; see `CompiledModel`.

    Raises:
        InputError: a parallel model.
    """

    def __init__(self, loaded: LoadedModel, sentences: int | None = None):
        run = loaded.spec.run
        if run.parallel:
            raise InputError(
                f"--reranker {shown(loaded.folder)}: is a model of system {run.system}: only AR"
                " models rerank"
            )
        self.loaded = loaded
        self._sentences = sentences
        self._scorers: dict[WeightPrecision, tuple[CompiledModel, Callable[..., Any]]] = {}

    def _scorer(self, weights: WeightPrecision) -> tuple[CompiledModel, Callable[..., Any]]:
        """The model in a precision, and its compiled scores of hypotheses; made when first used."""
        if weights not in self._scorers:
            network = self.loaded.network(weights)
            compiled = CompiledModel(network, self.loaded.spec.run, self._sentences)
            # As in AR search with the same weights, so that both sum the same numbers.
            allowed = predictable(compiled.table_size, self.loaded.vocabulary.size, eos=True)
            score = partial(hypothesis_scores, allowed)
            score = compiled.compiled(score, [True, True], to_host=True)
            self._scorers[weights] = compiled, score
        return self._scorers[weights]

    def rerank(
        self,
        sources: Sequence[Sequence[int]],
        candidates: Sequence[Sequence[Candidate]],
        weights: WeightPrecision,
    ) -> list[list[Candidate]]:
        """The same candidates with this model's log-probabilities, in natural logarithm.

        They depend on the source and the tokens alone. All else stays: tokens, length, the
        parallel model's length log-probability, and its passes, which do not count this one.

        Args:
            sources: piece ids without EOS.
            candidates: of each source, none for an empty one; without EOS.
            weights: precision of this model's weight matrices.

        Returns:
            of each source as many as given, in order; -inf where a token is no piece of text.

        Raises:
            ValueError: a source or candidate is longer than this model reads.
        """
        result: list[list[Candidate]] = [[] for _ in sources]
        compiled, scores_of = self._scorer(weights)
        width = max(map(len, candidates), default=0)
        ranked = [source if row else [] for source, row in zip(sources, candidates, strict=True)]
        for batch, source in compiled.batches(ranked):
            rows = [candidates[index] for index in batch.indices]
            targets = target_rows(compiled, batch, rows, width)
            scores = np.asarray(scores_of(source, targets)).tolist()
            for index, row, row_scores in zip(batch.indices, rows, scores, strict=False):
                result[index] = [
                    replace(candidate, log_probability=score)
                    for candidate, score in zip(row, row_scores, strict=False)
                ]
        return result


def hypothesis_scores(
    allowed: Bool[np.ndarray, " V"],
    model: Transformer,
    source: Int[Array, "B S"],
    targets: Int[Array, "B K L"],
) -> Float[Array, "B K"]:
    """Log-probability of each hypothesis of a source, EOS included, under an AR model.

    Args:
        allowed: ids that the model may predict.
        model: AR.
        source: padded ids with EOS.
        targets: K hypotheses of each source, with EOS and padding; padding alone scores 0.
    """
    # Hypotheses of one source stand in consecutive rows, as cross-attention needs.
    rows = targets.reshape(-1, targets.shape[2])
    logits = model.decode(shifted(rows), model.encode(source).cross)
    logits = forbid(logits, allowed)
    target_logits = jnp.take_along_axis(logits, rows[:, :, None], axis=2)[:, :, 0]
    scores = jnp.where(rows == PAD, 0.0, target_logits - log_normaliser(logits))
    return scores.sum(axis=1).reshape(targets.shape[:2])


def target_rows(
    compiled: CompiledModel, batch: Batch, candidates: Sequence[Sequence[Candidate]], width: int
) -> Int[np.ndarray, "B K L"]:
    """Tokens and EOS, padded; rows without a candidate hold padding only."""
    longest = max(len(candidate.tokens) + 1 for row in candidates for candidate in row)
    ids = np.full((batch.rows, width, compiled.padded(longest, batch.rows)), PAD, np.int32)
    for row, row_candidates in enumerate(candidates):
        for place, candidate in enumerate(row_candidates):
            tokens = (*candidate.tokens, EOS)
            ids[row, place, : len(tokens)] = tokens
    return ids


def check_reranker(ranked: LoadedModel, decoder: TunedDecoder, reranker: Reranker | None) -> None:
    """Refuse a missing reranker, or one that the decoder does not name.

    Args:
        ranked: the model whose candidates are ranked.
        decoder: its decoder.
        reranker: that was given.

    Raises:
        InputError: with what is needed.
    """
    name, folder = decoder.settings.reranker, shown(ranked.folder)
    if reranker is None:
        if name is not None:
            raise InputError(
                f"decoder {decoder.name}: reranker is {name}: give that model's bundle with"
                " --reranker"
            )
        return
    model, option = reranker.loaded, f"--reranker {shown(reranker.loaded.folder)}"
    if name is None:
        raise InputError(
            f"{option}: decoder {decoder.name} has no reranker: {folder} ranks its own candidates"
        )
    if (model.spec.training, model.spec.direction) != (name, ranked.spec.direction):
        raise InputError(
            f"{option}: is training {model.spec.training} of {model.spec.direction}, but decoder"
            f" {decoder.name} of {folder} needs {name} of {ranked.spec.direction}"
        )
    ours, theirs = (read_bytes(each.folder / VOCABULARY_FILE) for each in (model, ranked))
    if ours != theirs:
        raise InputError(f"{option}: its vocabulary is not that of {folder}")
    reads, needed = (each.spec.run.architecture.max_positions for each in (model, ranked))
    if reads < needed:
        raise InputError(f"{option}: reads at most {reads} tokens, {folder} up to {needed}")
