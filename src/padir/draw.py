"""Draws from categorical distributions, with one random number each.

Adding Gumbel noise to every logit takes a random number and two logarithms an entry, which on CPUs
costs more than a small decoder. Here the cumulative distribution is inverted, in two levels: the
sums of blocks first, then the entries of one block, as cumulative sums are slow there too.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def draw(logits: Float[Array, "*axes V"], uniform: Float[Array, "*axes"]) -> Int[Array, "*axes"]:
    """An index for each row, with the probabilities softmax(logits).

    Args:
        logits: at least one a row finite; an entry of -inf, or so far below the largest that its
            exponential is 0, is never drawn.
        uniform: from [0, 1), one for each draw.
    """
    size = logits.shape[-1]
    width = 2 ** math.ceil(math.log2(size) / 2)
    blocks = math.ceil(size / width)
    weights = jnp.exp(logits - jnp.max(logits, axis=-1, keepdims=True))
    weights = jnp.pad(weights, [(0, 0)] * (weights.ndim - 1) + [(0, blocks * width - size)])
    weights = weights.reshape(*weights.shape[:-1], blocks, width)
    upto = jnp.cumsum(jnp.sum(weights, axis=-1), axis=-1)
    # From (0, 1]: zero would draw the first entry even where it has no weight.
    level = (1 - uniform) * upto[..., -1]
    block = jnp.sum(upto < level[..., None], axis=-1, dtype=jnp.int32)
    at = block[..., None]
    below = jnp.take_along_axis(upto, jnp.maximum(at - 1, 0), axis=-1)[..., 0]
    rest = level - jnp.where(block > 0, below, 0.0)
    inside = jnp.take_along_axis(weights, at[..., None], axis=-2)[..., 0, :]
    mass = jnp.cumsum(inside, axis=-1)
    # Rounding may leave a rest above the block's own sum.
    rest = jnp.minimum(rest, mass[..., -1])
    return block * width + jnp.sum(mass < rest[..., None], axis=-1, dtype=jnp.int32)
