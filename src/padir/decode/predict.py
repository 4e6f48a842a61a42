"""From logits to tokens: which ids may be predicted, and the likeliest with its log-probability."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from padir.ids import EOS, FIRST_PIECE
from padir.tokens import first_argmax

GROUP = 64
"""Ids per group in `top_tokens`."""


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
    penalty = np.where(allowed, 0.0, -np.inf).astype(np.float32)
    return logits + penalty.reshape(*[1] * (logits.ndim - 1), -1)


def log_normaliser(logits: Float[Array, "*axes V"]) -> Float[Array, "*axes"]:
    """Logarithm of the sum of exponentials; -inf entries count nothing."""
    top = jnp.max(logits, axis=-1, keepdims=True)
    return jnp.log(jnp.sum(jnp.exp(logits - top), axis=-1)) + top[..., 0]


def entropy(log_probability: Float[Array, "*axes V"]) -> Float[Array, "*axes"]:
    """In nats; tokens of probability 0 add nothing."""
    probability = jnp.exp(log_probability)
    return -jnp.sum(jnp.where(probability > 0, probability * log_probability, 0.0), axis=-1)


def most_likely(
    logits: Float[Array, "*axes V"], allowed: Bool[np.ndarray, " V"]
) -> tuple[Int[Array, "*axes"], Float[Array, "*axes"]]:
    """The likeliest allowed token and its log-probability among the allowed ones.

    Ties go to the lowest id.
    """
    logits = forbid(logits, allowed)
    top = jnp.max(logits, axis=-1, keepdims=True)
    return first_argmax(logits), -jnp.log(jnp.sum(jnp.exp(logits - top), axis=-1))


def top_tokens(
    logits: Float[Array, "B V"], count: int
) -> tuple[Float[Array, "B C"], Int[Array, "B C"]]:
    """The `count` largest logits, best first, and their ids; ties go to the lowest id.

    What `jax.lax.top_k` gives, in less time for large vocabularies: ids are cut into groups, and
    only the groups with the `count` largest maxima can hold any of the results.
    """
    rows, size = logits.shape
    groups = -(-size // GROUP)
    if groups <= 2 * count:
        values, ids = jax.lax.top_k(logits, count)
        return values, ids
    padding = ((0, 0), (0, groups * GROUP - size))
    grouped = jnp.pad(logits, padding, constant_values=-jnp.inf).reshape(rows, groups, GROUP)
    _, chosen = jax.lax.top_k(grouped.max(axis=2), count)
    # In the order of ids, so that ties between groups go to the lowest id as well.
    chosen = jnp.sort(chosen, axis=1)
    members = jnp.take_along_axis(grouped, chosen[:, :, None], axis=1)
    values, place = jax.lax.top_k(members.reshape(rows, count * GROUP), count)
    group = jnp.take_along_axis(chosen, place // GROUP, axis=1)
    return values, group * GROUP + place % GROUP
