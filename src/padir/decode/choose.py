"""The token that a pass predicts at each position: the likeliest, or a draw.

A draw depends on the sentence, the pass and the position alone: not on the batch or its padding.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from padir.config.decoding import Decoding
from padir.decode.predict import forbid, log_normaliser, most_likely
from padir.tokens import draw

RowKeys = UInt32[Array, "B 2"]

# Folded into a position's key for what else is drawn there; its token takes the key itself.
_CHANCE = 1


def position_keys(keys: RowKeys, done: Int[Array, ""], length: int) -> Array:
    """A random key for each row and position [B, L] of one pass."""

    def row(key):
        key = jax.random.fold_in(jax.random.wrap_key_data(key, impl="threefry2x32"), done)
        return jax.vmap(lambda position: jax.random.fold_in(key, position))(jnp.arange(length))

    return jax.vmap(row)(keys)


def uniform(keys: Array) -> Float[Array, "B L"]:
    """A number on [0, 1) for each key."""
    return jax.vmap(jax.vmap(lambda key: jax.random.uniform(key)))(keys)


def chances(keys: Array) -> Float[Array, "B L"]:
    """A number on [0, 1) for each key, independent of the one that `choose` draws its token with.

    With one number for both, positions that take a draw with a small number would never take the
    tokens that stand for the large ones.
    """
    return uniform(jax.vmap(jax.vmap(lambda key: jax.random.fold_in(key, _CHANCE)))(keys))


def restricted(
    logits: Float[Array, "*axes V"], top_k: int, top_p: float
) -> Float[Array, "*axes V"]:
    """The logits with -inf outside the `top_k` likeliest and the least set that holds `top_p`.

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
    settings: Decoding,
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
