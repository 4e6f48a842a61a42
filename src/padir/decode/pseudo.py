"""Pseudo-likelihood of whole hypotheses: how well a parallel model expects the text that it reads.

One pass reads a finished hypothesis, and the log-probability of each of its tokens is summed, given
ones included. A model that was trained on all positions expects a visible token that fits, and
another in the place of one that does not; a given word that is doubled beside itself scores low.
DisCo sees all tokens but the position's own. A model trained on hidden tokens alone
(`Objective.hidden_only`) makes no useful prediction at a visible one, so it has no such score.
"""

from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from padir.decode.candidates import Candidate
from padir.decode.predict import forbid, log_normaliser, predictable
from padir.decode.programs import CompiledModel
from padir.decode.rerank import target_rows
from padir.decode.translate import Translator
from padir.ids import PAD
from padir.model.transformer import Transformer
from padir.shapes import SourceTokens
from padir.tokens import is_piece


class PseudoLikelihood:
    """Scores candidates with the parallel model that made them.

    Args:
        translator: of that model.
    """

    def __init__(self, translator: Translator):
        loaded, easy_first = translator.loaded, translator.refiner.easy_first
        network = loaded.network(translator.decoder.settings.weights)
        self._compiled = CompiledModel(network, loaded.spec.run)
        allowed = predictable(self._compiled.table_size, loaded.vocabulary.size, eos=False)

        def score(
            model: Transformer, source: SourceTokens, targets: Int[Array, "B K L"]
        ) -> tuple[Float[Array, "B K"], Float[Array, "B K"]]:
            encoded = model.encode(source)
            if encoded.length_logits is None:
                raise ValueError("a causal model predicts no lengths")
            rows = targets.reshape(-1, targets.shape[2])
            visible = rows != PAD
            if easy_first:
                visible = visible[:, None, :] & ~jnp.eye(rows.shape[1], dtype=bool)[None]
            hidden, _ = model.hidden(rows, encoded.cross, visible)
            logits = forbid(model.logits(hidden), allowed)
            token_logits = jnp.take_along_axis(logits, rows[:, :, None], axis=2)[:, :, 0]
            scores = jnp.where(is_piece(rows), token_logits - log_normaliser(logits), 0.0)
            last = jnp.clip(jnp.sum(targets != PAD, axis=2) - 1, 0)
            lengths = jax.nn.log_softmax(encoded.length_logits, axis=-1)
            return (
                scores.sum(axis=1).reshape(targets.shape[:2]),
                jnp.take_along_axis(lengths, last, axis=1),
            )

        self._score = self._compiled.compiled(score, [True, True])

    def score(
        self, sources: Sequence[Sequence[int]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[list[Candidate]]:
        """The candidates with their pseudo-likelihood as log-probability, and their length's
        log-probability among all lengths.

        Args:
            sources: piece ids without EOS, none empty.
            candidates: of each source at least one.
        """
        result: list[list[Candidate]] = [[] for _ in sources]
        width = max(map(len, candidates))
        for batch, source in self._compiled.batches(sources):
            rows = [candidates[index] for index in batch.indices]
            targets = target_rows(self._compiled, batch, rows, width)
            scores = [np.asarray(each).tolist() for each in self._score(source, targets)]
            for index, row, *row_scores in zip(batch.indices, rows, *scores, strict=False):
                result[index] = [
                    replace(candidate, log_probability=total, length_log_probability=length)
                    for candidate, total, length in zip(row, *row_scores, strict=False)
                ]
        return result
