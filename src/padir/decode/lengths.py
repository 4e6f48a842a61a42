"""Target lengths that parallel decoding tries. Paper: L.1.1."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from padir.model.decoder import CrossMemory
from padir.model.length import top_lengths, window_lengths
from padir.model.transformer import Transformer
from padir.shapes import LengthLogits, SourceTokens

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


def encoded_lengths(
    model: Transformer, source: SourceTokens, count: int, longest: int, search: str
) -> tuple[CrossMemory, Int[Array, "B K"], Float[Array, "B K"]]:
    """Encoded sources, their length candidates and the log-probabilities of these lengths.

    Raises:
        ValueError: a causal model, which predicts no lengths.
    """
    encoded = model.encode(source)
    if encoded.length_logits is None:
        raise ValueError("a causal model predicts no lengths")
    return encoded.cross, *length_candidates(encoded.length_logits, count, longest, search)
