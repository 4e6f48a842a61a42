"""Which target tokens the decoder sees in training, and what stands in place of the rest.

PaDIR starts from random tokens: each target token is shown with probability `unmasking_rate`
and otherwise replaced by a uniformly random piece. EOS always stands in its place and padding
stays padding, at every stage and in decoding alike. Paper: L.1.2 and footnotes 24, 25.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from padir.ids import EOS, FIRST_PIECE, PAD
from padir.shapes import Mask, Tokens


def random_tokens(
    key: PRNGKeyArray, target: Tokens, unmasking_rate: float, vocabulary_size: int
) -> Tokens:
    """The first hypothesis of training: random pieces with some target tokens shown.

    Args:
        key: one per batch.
        target: with EOS, then padding 0.
        unmasking_rate: probability that a position keeps its target token.
        vocabulary_size: random pieces are uniform over ids 8 to this, exclusive.
    """
    shown_key, token_key = jax.random.split(key)
    noise = jax.random.randint(token_key, target.shape, FIRST_PIECE, vocabulary_size)
    shown = jax.random.bernoulli(shown_key, unmasking_rate, target.shape)
    fixed = shown | (target == EOS) | (target == PAD)
    return jnp.where(fixed, target, noise.astype(target.dtype))


def stutters(tokens: Tokens) -> Mask:
    """True where a token equals its left neighbour; never at padding.

    Position 0 has no left neighbour (the published code compares it with the last position).
    """
    same = tokens[:, 1:] == tokens[:, :-1]
    first = jnp.zeros((tokens.shape[0], 1), bool)
    return jnp.concatenate([first, same], axis=1) & (tokens != PAD)


def next_hypothesis(
    predicted: Int[Array, "B L"],
    start: Tokens,
    is_token: Bool[Array, "B L"],
    remask_stutter: bool,
) -> Tokens:
    """What a later stage, or a later decoding pass, reads.

    Args:
        predicted: the pieces chosen at every position.
        start: the first hypothesis; stuttering positions fall back to it.
        is_token: True at the positions that change: neither EOS nor padding.
        remask_stutter: whether a token equal to its left neighbour is replaced.
    """
    hypothesis = jnp.where(is_token, predicted, start)
    if not remask_stutter:
        return hypothesis
    return jnp.where(stutters(hypothesis) & is_token, start, hypothesis)
