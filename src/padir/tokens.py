"""Functions on tokens and positions, shared by training and decoding."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from padir.ids import EOS, PAD, START
from padir.shapes import Mask, Tokens

GROUP, FEW_GROUPS = 64, 16
"""Most entries of a group of `first_argmax`, and how many groups there have to be to use them."""


def is_piece(target: Tokens) -> Mask:
    """True at pieces of text: neither EOS nor padding."""
    return (target != PAD) & (target != EOS)


def shifted(target: Tokens) -> Tokens:
    """The input of a causal decoder: START, then the target without its last token."""
    first = jnp.full((target.shape[0], 1), START, target.dtype)
    return jnp.concatenate([first, target[:, :-1]], axis=1)


def stutters(tokens: Tokens) -> Mask:
    """True where a token equals its left neighbour; never at padding.

    Position 0 has no left neighbour (the published code compares it with the last position).
    """
    same = tokens[:, 1:] == tokens[:, :-1]
    first = jnp.zeros((tokens.shape[0], 1), bool)
    return jnp.concatenate([first, same], axis=1) & (tokens != PAD)


def lowest(scores: Float[Array, "B L"], eligible: Mask, count: Int[Array, " B"]) -> Mask:
    """True at the `count` eligible positions of each row with the smallest scores.

    Ties go to the leftmost. Where fewer are eligible, all of them.
    """
    keyed = jnp.where(eligible, scores, jnp.inf)
    order = jnp.argsort(keyed, axis=1, stable=True)
    rank = jnp.argsort(order, axis=1, stable=True)
    return (rank < count[:, None]) & eligible


def first_argmax(logits: Float[Array, "*axes V"]) -> Int[Array, "*axes"]:
    """Index of the largest entry, the lowest index among equals.

    The largest of each group is found first, then the first largest group, then the entry in it:
    on CPUs, finding a maximum is several times faster than finding its place.

    Args:
        logits: no NaN.
    """
    size = logits.shape[-1]
    # Where groups divide the entries evenly, nothing is copied.
    width = next((each for each in range(GROUP, GROUP // 2, -1) if size % each == 0), GROUP)
    groups = size // width
    if groups < FEW_GROUPS:
        return _place_of_first(logits)
    largest = logits[..., : groups * width].reshape(*logits.shape[:-1], groups, width).max(axis=-1)
    if size % width:
        rest = jnp.max(logits[..., groups * width :], axis=-1, keepdims=True)
        largest = jnp.concatenate([largest, rest], axis=-1)
    group = _place_of_first(largest)
    within = jax.lax.broadcasted_iota(jnp.int32, (*group.shape, width), group.ndim)
    indices = jnp.minimum(group[..., None] * width + within, size - 1)
    return group * width + _place_of_first(jnp.take_along_axis(logits, indices, axis=-1))


def _place_of_first(logits: Float[Array, "*axes V"]) -> Int[Array, "*axes"]:
    """`first_argmax` in one level.

    A maximum, and a minimum over indices as floats, are plain reductions that the CPU compiler
    vectorises; its own arg-max, and a reduction of whole numbers, are several times slower.
    Indices stay exact up to 2 ** 24.
    """
    best = jnp.max(logits, axis=-1, keepdims=True)
    index = jax.lax.broadcasted_iota(jnp.float32, logits.shape, logits.ndim - 1)
    first = jnp.min(jnp.where(logits == best, index, float(logits.shape[-1])), axis=-1)
    return first.astype(jnp.int32)


def draw(logits: Float[Array, "*axes V"], uniform: Float[Array, "*axes"]) -> Int[Array, "*axes"]:
    """An index for each row, with the probabilities softmax(logits).

    The cumulative distribution is inverted, in two levels: the sums of blocks first, then the
    entries of one block, as cumulative sums are slow on CPUs. Gumbel noise would take a random
    number and two logarithms an entry, which there costs more than a small decoder.

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
