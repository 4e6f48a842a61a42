"""Turns logits into tokens: allowed ids, likeliest tokens, and sampling.

A draw depends on the sentence, the pass and the position alone: not on the batch or its padding.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from padir.config.decoder import RefinementDecoder
from padir.ids import EOS, FIRST_PIECE
from padir.tokens import draw, first_argmax

GROUP = 64
"""Ids per group in `top_tokens`."""
RowKeys = UInt32[Array, "B 2"]

# Folded into a position's key for what else is drawn there; its token takes the key itself.
UPDATE_DRAW, REMASK_DRAW = 1, 2


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
    """Entropy in nats; tokens of probability 0 add nothing."""
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


def position_keys(keys: RowKeys, done: Int[Array, ""], length: int) -> Array:
    """A random key for each row and position [B, L] of one pass."""

    def row(key):
        key = jax.random.fold_in(jax.random.wrap_key_data(key, impl="threefry2x32"), done)
        return jax.vmap(lambda position: jax.random.fold_in(key, position))(jnp.arange(length))

    return jax.vmap(row)(keys)


def uniform(keys: Array) -> Float[Array, "B L"]:
    """A uniform number on [0, 1) for each key."""
    return jax.vmap(jax.vmap(lambda key: jax.random.uniform(key)))(keys)


def chances(keys: Array, number: int) -> Float[Array, "B L"]:
    """A uniform number on [0, 1) for each key, independent of the draw of `choose`.

    With one number for both, positions that take a draw with a small number would never take the
    tokens that stand for the large ones.

    Args:
        keys: of each position, from `position_keys`.
        number: `UPDATE_DRAW` or `REMASK_DRAW`, whose numbers are independent of each other, too:
            else a random share that is remasked would be that which was updated.
    """
    return uniform(jax.vmap(jax.vmap(lambda key: jax.random.fold_in(key, number)))(keys))


def restricted(
    logits: Float[Array, "*axes V"], top_k: int, top_p: float
) -> Float[Array, "*axes V"]:
    """The logits with -inf outside the `top_k` likeliest and the smallest set of mass `top_p`.

    Tokens as likely as the last one kept are kept too.

    Args:
        logits: after temperature.
        top_k: 0 keeps all.
        top_p: 1 keeps all.
    """
    if top_k and top_k < logits.shape[-1]:
        least = jax.lax.top_k(logits, top_k)[0][..., -1:]
        logits = jnp.where(logits >= least, logits, -jnp.inf)
    if top_p < 1:
        ordered = jnp.sort(logits, axis=-1, descending=True)
        probability = jax.nn.softmax(ordered, axis=-1)
        before = jnp.cumsum(probability, axis=-1) - probability
        least = jnp.min(jnp.where(before < top_p, ordered, jnp.inf), axis=-1, keepdims=True)
        logits = jnp.where(logits >= least, logits, -jnp.inf)
    return logits


def choose(
    logits: Float[Array, "B L V"],
    allowed: Bool[np.ndarray, " V"],
    keys: Array,
    settings: RefinementDecoder,
) -> tuple[Int[Array, "B L"], Float[Array, "B L"]]:
    """Tokens and their log-probability among the allowed ones, before temperature.

    Args:
        logits: of one pass.
        allowed: ids that may be predicted.
        keys: of each position, from `position_keys`; read where temperature is above 0.
        settings: temperature, top_k, top_p.
    """
    if settings.temperature == 0:
        return most_likely(logits, allowed)
    logits = forbid(logits, allowed)
    scaled = restricted(logits / settings.temperature, settings.top_k, settings.top_p)
    token = draw(scaled, uniform(keys))
    chosen = jnp.take_along_axis(logits, token[..., None], axis=-1)[..., 0]
    return token, chosen - log_normaliser(logits)
