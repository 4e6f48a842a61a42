"""Corruption policies: which target tokens are hidden in training, and the tokens in their place.

Two policies make up a corruption: an entry of `HIDING` chooses the hidden positions, one of
`FILLERS` proposes a token for every position, of which those at hidden positions are used. A new
policy is a function and an entry of its mapping: `padir.config.objective` reads the names that
settings allow from the mappings. Worked example: CONTRIBUTING.md. EOS always stands in its place
and padding stays padding, at every stage and in decoding alike.

Paper: L.1.2 and footnotes 24, 25 (fixed rate); the other policies name their source below.
"""

from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from padir.config.objective import Objective
from padir.ids import EOS, FIRST_PIECE, MASK
from padir.shapes import Mask, Tokens
from padir.tokens import is_piece, lowest, stutters


class Draws(NamedTuple):
    """Independent uniform numbers on [0, 1) for the choice of hidden positions; 0 occurs."""

    sentence: Float[Array, " B"]
    position: Float[Array, "B L"]


Hidden = tuple[Mask, Float[Array, " B"]]
"""The positions to hide among those of pieces, and the weight of each sentence's loss: finite for
every draw, even where nothing is hidden, or the gradient is not a number."""


def fixed_rate(draws: Draws, piece: Mask, objective: Objective) -> Hidden:
    """Hide each piece with probability 1 - unmasking_rate."""
    hidden = piece & (draws.position >= objective.unmasking_rate)
    return hidden, jnp.ones_like(draws.sentence)


def uniform_rate(draws: Draws, piece: Mask, objective: Objective) -> Hidden:
    """Hide each piece at a rate uniform on [0, 1) per sentence. Source: Savinov et al. 2022."""
    hidden = piece & (draws.position < draws.sentence[:, None])
    return hidden, jnp.ones_like(draws.sentence)


def uniform_count(draws: Draws, piece: Mask, objective: Objective) -> Hidden:
    """Hide n pieces, n uniform from 1 to all.

    Source: Ghazvininejad et al. 2019, with the fully masked input that decoding starts from.
    """
    pieces = jnp.sum(piece, axis=1)
    count = 1 + jnp.floor(draws.sentence * pieces).astype(jnp.int32)
    hidden = lowest(draws.position, piece, jnp.minimum(count, pieces))
    return hidden, jnp.ones_like(draws.sentence)


def diffusion_time(draws: Draws, piece: Mask, objective: Objective) -> Hidden:
    """Hide each piece with probability t / steps, t uniform from 1. Source: Zheng et al. 2023."""
    steps = objective.diffusion_steps
    time = 1 + jnp.floor(draws.sentence * steps)
    weights = {
        "none": jnp.ones_like(time),
        "linear": 1 - (time - 1) / steps,
        "reciprocal": 1 / time,
    }
    return piece & (draws.position < time[:, None] / steps), weights[objective.time_weight]


def hidden_context(draws: Draws, piece: Mask, objective: Objective) -> Hidden:
    """Hide no token: attention hides the context instead (`contexts`). Source: Kasai et al. 2020"""
    return jnp.zeros_like(piece), jnp.ones_like(draws.sentence)


@runtime_checkable
class HidingPolicy(Protocol):
    """Chooses the positions to hide among those of pieces."""

    def __call__(self, draws: Draws, piece: Mask, objective: Objective) -> Hidden: ...


HIDING: dict[str, HidingPolicy] = {
    "rate": fixed_rate,
    "uniform_rate": uniform_rate,
    "uniform_count": uniform_count,
    "time": diffusion_time,
    "context": hidden_context,
}


def random_pieces(key: PRNGKeyArray, shape: tuple[int, int], vocabulary_size: int) -> Tokens:
    """Pieces uniform over the vocabulary, special ids left out."""
    return jax.random.randint(key, shape, FIRST_PIECE, vocabulary_size, jnp.int32)


def mask_token(key: PRNGKeyArray, shape: tuple[int, int], vocabulary_size: int) -> Tokens:
    """The mask token everywhere."""
    return jnp.full(shape, MASK, jnp.int32)


def position_masks(key: PRNGKeyArray, shape: tuple[int, int], vocabulary_size: int) -> Tokens:
    """A mask token for each position: the rows of the embedding table past the vocabulary."""
    return jnp.broadcast_to(vocabulary_size + jnp.arange(shape[1], dtype=jnp.int32), shape)


def pieces_or_mask(key: PRNGKeyArray, shape: tuple[int, int], vocabulary_size: int) -> Tokens:
    """Per sentence random pieces or the mask token, with equal chance."""
    pieces = random_pieces(key, shape, vocabulary_size)
    masked = jax.random.bernoulli(jax.random.fold_in(key, 1), 0.5, (shape[0], 1))
    return jnp.where(masked, MASK, pieces)


@runtime_checkable
class Filler(Protocol):
    """Proposes a token for every position."""

    def __call__(
        self, key: PRNGKeyArray, shape: tuple[int, int], vocabulary_size: int
    ) -> Tokens: ...


FILLERS: dict[str, Filler] = {
    "random": random_pieces,
    "mask": mask_token,
    "position_mask": position_masks,
    "mixed": pieces_or_mask,
}


class CorruptedTargets(NamedTuple):
    """The input of stage 1.

    Attributes:
        tokens: what the decoder reads.
        hidden: positions whose target token was replaced, by chance perhaps with itself.
        weight: of each sentence's loss; 1 but for diffusion times.
    """

    tokens: Tokens
    hidden: Mask
    weight: Float[Array, " B"]


def first_hypothesis(
    key: PRNGKeyArray,
    target: Tokens,
    objective: Objective,
    vocabulary_size: int,
    second: bool = False,
) -> CorruptedTargets:
    """Corrupt a batch of targets by the policies that the objective names.

    Args:
        key: one per batch.
        target: ids with EOS, then padding 0.
        objective: names the policies.
        vocabulary_size: ids in use.
        second: draws the second of two coupled times. Positions keep their own draws, so that the
            smaller hidden set lies within the larger one.
    """
    hidden_key, filler_key = jax.random.split(key)
    sentence_key, position_key = jax.random.split(hidden_key)
    if second:
        sentence_key = jax.random.fold_in(sentence_key, 1)
    shape = target.shape[0], target.shape[1]
    draws = Draws(
        jax.random.uniform(sentence_key, shape[:1]), jax.random.uniform(position_key, shape)
    )
    hidden, weight = HIDING[objective.hiding](draws, is_piece(target), objective)
    filler = FILLERS[objective.corruption](filler_key, shape, vocabulary_size)
    return CorruptedTargets(jnp.where(hidden, filler, target), hidden, weight)


def contexts(key: PRNGKeyArray, target: Tokens) -> Bool[Array, "B L L"]:
    """Which positions each position sees in DisCo training: a random subset without itself.

    Position i sees the first n_i other pieces of a random order of its own, n_i uniform from 0 to
    all. Every position sees EOS, whose place is given in decoding too. Source: Kasai et al. 2020,
    section 3.1.
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
    visible = lowest(scores.reshape(rows), others.reshape(rows), count.reshape(-1))
    return visible.reshape(batch, length, length) | (target == EOS)[:, None, :]


def next_hypothesis(predicted: Tokens, start: Tokens, piece: Mask, hide_stutter: bool) -> Tokens:
    """The input of a later training stage.

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
