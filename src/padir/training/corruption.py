"""Which target tokens the decoder sees in training, and what stands in place of the rest.

Each function draws for one batch; `first_hypothesis` puts them together as the objective says. EOS
always stands in its place and padding stays padding, at every stage and in decoding alike.
Paper: L.1.2 and footnotes 24, 25 (rate); the other ways of hiding name their source below.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from padir.config.objective import Objective
from padir.ids import EOS, FIRST_PIECE, MASK
from padir.shapes import Mask, Tokens
from padir.tokens import is_piece, lowest, stutters


class Corrupted(NamedTuple):
    """The input of stage 1.

    Attributes:
        tokens: what the decoder reads.
        hidden: positions whose target token was replaced, by chance perhaps with itself.
        weight: of each sentence's loss; 1 but for diffusion times.
    """

    tokens: Tokens
    hidden: Mask
    weight: Float[Array, " B"]


def fillers(
    key: PRNGKeyArray, shape: tuple[int, int], corruption: str, vocabulary_size: int
) -> Tokens:
    """What stands at hidden positions.

    Args:
        key: one per batch.
        shape: of the batch, [B, L].
        corruption: random, mask, position_mask (rows of the table past the vocabulary, one per
            position), or mixed: per sentence random or mask with equal chance.
        vocabulary_size: random pieces are uniform over ids 8 to this, exclusive.
    """
    if corruption == "mask":
        return jnp.full(shape, MASK, jnp.int32)
    if corruption == "position_mask":
        return jnp.broadcast_to(vocabulary_size + jnp.arange(shape[1], dtype=jnp.int32), shape)
    pieces = jax.random.randint(key, shape, FIRST_PIECE, vocabulary_size, jnp.int32)
    if corruption == "random":
        return pieces
    masked = jax.random.bernoulli(jax.random.fold_in(key, 1), 0.5, (shape[0], 1))
    return jnp.where(masked, MASK, pieces)


def hidden_positions(
    key: PRNGKeyArray, piece: Mask, objective: Objective, second: bool = False
) -> tuple[Mask, Float[Array, " B"]]:
    """Positions to hide, and each sentence's weight.

    rate: each piece with probability 1 - unmasking_rate. uniform_rate: each at a rate uniform on
    [0, 1) drawn per sentence (Savinov et al. 2022). uniform_count: n of them, n uniform from 1 to
    all (Ghazvininejad et al. 2019, with the fully masked input that decoding starts from). time:
    each with probability t / diffusion_steps, t uniform from 1 (Zheng et al. 2023). context: none.

    `second` draws the other one of two coupled times: every position keeps its own chance, so that
    the smaller set lies within the larger one.
    """
    sentences = piece.shape[0]
    ones = jnp.ones(sentences)
    drawn_key, token_key = jax.random.split(key)
    if second:
        drawn_key = jax.random.fold_in(drawn_key, 1)
    chance = jax.random.uniform(token_key, piece.shape)
    if objective.hiding == "context":
        return jnp.zeros_like(piece), ones
    if objective.hiding == "rate":
        return piece & (chance >= objective.unmasking_rate), ones
    drawn = jax.random.uniform(drawn_key, (sentences,))
    if objective.hiding == "uniform_rate":
        return piece & (chance < drawn[:, None]), ones
    if objective.hiding == "uniform_count":
        pieces = jnp.sum(piece, axis=1)
        count = 1 + jnp.floor(drawn * pieces).astype(jnp.int32)
        return lowest(chance, piece, jnp.minimum(count, pieces)), ones
    steps = objective.diffusion_steps
    time = 1 + jnp.floor(drawn * steps)
    weight = {"none": ones, "linear": 1 - (time - 1) / steps, "reciprocal": 1 / time}
    return piece & (chance < time[:, None] / steps), weight[objective.time_weight]


def first_hypothesis(
    key: PRNGKeyArray,
    target: Tokens,
    objective: Objective,
    vocabulary_size: int,
    second: bool = False,
) -> Corrupted:
    """What stage 1 reads.

    Args:
        key: one per batch.
        target: with EOS, then padding 0.
        objective: says what is hidden, and behind what.
        vocabulary_size: ids in use.
        second: whether this is the other one of two coupled times.
    """
    hidden_key, filler_key = jax.random.split(key)
    hidden, weight = hidden_positions(hidden_key, is_piece(target), objective, second)
    shape = target.shape[0], target.shape[1]
    filler = fillers(filler_key, shape, objective.corruption, vocabulary_size)
    return Corrupted(jnp.where(hidden, filler, target), hidden, weight)


def contexts(key: PRNGKeyArray, target: Tokens) -> Bool[Array, "B L L"]:
    """Which positions each position sees in DisCo training: a random subset without itself.

    Position i sees the n_i other pieces that come first in a random order of its own, n_i uniform
    from 0 to all of them. Every position sees EOS, as its place is given in decoding. Source:
    Kasai et al. 2020, section 3.1.
    """
    batch, length = target.shape
    count_key, order_key = jax.random.split(key)
    piece = is_piece(target)
    others = piece[:, None, :] & ~jnp.eye(length, dtype=bool)[None]
    available = jnp.sum(others, axis=2)
    share = jax.random.uniform(count_key, (batch, length))
    count = jnp.floor(share * (available + 1)).astype(jnp.int32)
    scores = jax.random.uniform(order_key, (batch, length, length))
    rows = (batch * length, length)
    seen = lowest(scores.reshape(rows), others.reshape(rows), count.reshape(-1))
    return seen.reshape(batch, length, length) | (target == EOS)[:, None, :]


def next_hypothesis(predicted: Tokens, start: Tokens, piece: Mask, hide_stutter: bool) -> Tokens:
    """What a later training stage reads.

    Args:
        predicted: the pieces chosen at every position.
        start: the first hypothesis; stuttering positions fall back to it.
        piece: True at the positions that change: neither EOS nor padding.
        hide_stutter: whether a token equal to its left neighbour is replaced.
    """
    hypothesis = jnp.where(piece, predicted, start)
    if not hide_stutter:
        return hypothesis
    return jnp.where(stutters(hypothesis) & piece, start, hypothesis)
