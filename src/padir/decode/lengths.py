"""Length candidates: which target lengths are tried, and which candidates are kept.

Paper: 3.2, length prediction.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from padir.decode.candidates import length_rule_score
from padir.decode.refine import Refinement
from padir.model.length import top_lengths, window_lengths
from padir.shapes import LengthLogits

SHORTEST = 2
"""Least target length tried for a source that is not empty: one piece and EOS."""


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
    search_lengths = {"top": top_lengths, "window": window_lengths}[search]
    return search_lengths(jnp.where(possible, logits, -jnp.inf), count)


def best_candidates(
    state: Refinement,
    lengths: Int[Array, "B K"],
    length_scores: Float[Array, "B K"],
    alpha: Float[Array, ""],
    weight: Float[Array, ""],
    keep: int,
) -> Int[Array, " G"]:
    """Rows of the best candidates of each sentence, rising.

    Args:
        state: of rows [B * K], after a pass.
        lengths, length_scores: of the candidates, and their log-probabilities.
        alpha, weight: of the length rule that ranks them; the first of equals is better.
        keep: candidates of a sentence.
    """
    sentences, candidates = lengths.shape
    total = state.log_probability.sum(axis=1).reshape(sentences, candidates)
    scores = length_rule_score(total, lengths, length_scores, alpha, weight)
    _, best = jax.lax.top_k(scores, keep)
    first = jnp.arange(sentences)[:, None] * candidates
    return (jnp.sort(best, axis=1) + first).reshape(-1)
