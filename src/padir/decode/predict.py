"""From logits to tokens: which ids may be predicted, and the likeliest with its log-probability."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from padir.vocab import EOS, FIRST_PIECE


def predictable(table_size: int, vocabulary_size: int, *, eos: bool) -> Bool[np.ndarray, " V"]:
    """True for the ids that a decoder may predict: pieces of text, and EOS if asked.

    Special and reserved ids, and rows of the table past the vocabulary, are never predicted.
    """
    ids = np.arange(table_size)
    allowed = (ids >= FIRST_PIECE) & (ids < vocabulary_size)
    return allowed | (ids == EOS) if eos else allowed


def forbid(
    logits: Float[Array, "*axes V"], allowed: Bool[np.ndarray, " V"]
) -> Float[Array, "*axes V"]:
    """The logits with -inf where prediction is not allowed."""
    mask = jnp.asarray(allowed).reshape(*[1] * (logits.ndim - 1), -1)
    return jnp.where(mask, logits, -jnp.inf)


def log_normaliser(logits: Float[Array, "*axes V"]) -> Float[Array, "*axes"]:
    """Logarithm of the sum of exponentials; -inf entries count nothing."""
    top = jnp.max(logits, axis=-1, keepdims=True)
    return jnp.log(jnp.sum(jnp.exp(logits - top), axis=-1)) + top[..., 0]


def most_likely(
    logits: Float[Array, "*axes V"], allowed: Bool[np.ndarray, " V"]
) -> tuple[Int[Array, "*axes"], Float[Array, "*axes"]]:
    """The likeliest allowed token and its log-probability among the allowed ones.

    Ties go to the lowest id. Maximum, first index that holds it, and normaliser are plain
    reductions, which the CPU compiler vectorises; its own arg-max is several times slower.
    """
    logits = forbid(logits, allowed)
    top = jnp.max(logits, axis=-1, keepdims=True)
    ids = jax.lax.broadcasted_iota(jnp.int32, logits.shape, logits.ndim - 1)
    token = jnp.min(jnp.where(logits == top, ids, logits.shape[-1]), axis=-1)
    return token, -jnp.log(jnp.sum(jnp.exp(logits - top), axis=-1))
