"""Joint decoding: the likeliest sequence of a pass under a pairwise repetition penalty.

A parallel pass predicts each position on its own, so its joint distribution is a product (paper,
section 2.4.1). Where two translations compete at neighbouring positions, both may take the same
word: a stutter. Here the pass's probabilities are multiplied by one factor per pair of near
positions, exp(-penalty) where their tokens are equal, else 1. The result is a Markov chain, no
product. Its likeliest sequence is found exactly, without another pass of the decoder.

Near are neighbours (reach 1), or also positions with one between them (reach 2): a word that is
pushed out of its neighbour's place tends to come back one place further ("a man a").

The penalty of a pair is a constant, or that constant times the overlap of the two positions'
cross-attention, which the paper calls a promising measure of dependence (section 3.4, hypothesis
2).

Only the 2 reach + 1 likeliest tokens of each position can be in the result, whatever the
vocabulary: at most 2 reach tokens stand near a position, so one of those differs from them all, and
any other token is no likelier than that one and pays no smaller penalty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from padir.config.decoder import RefinementDecoder
from padir.decode.predict import entropy, log_normaliser, top_tokens
from padir.tokens import first_argmax


class TopTokens(NamedTuple):
    """The likeliest tokens of each position, best first, and their log-probabilities."""

    tokens: Int[Array, "B L C"]
    log_probability: Float[Array, "B L C"]


def top_k_tokens(logits: Float[Array, "B L V"], count: int) -> TopTokens:
    """The `count` likeliest tokens of each position; ties go to the lowest id.

    Args:
        logits: -inf where prediction is not allowed.
    """
    rows, length, size = logits.shape
    values, tokens = top_tokens(logits.reshape(-1, size), count)
    values = values.reshape(rows, length, -1) - log_normaliser(logits)[..., None]
    return TopTokens(tokens.reshape(rows, length, -1), values)


def shifted(values: Array, distance: int) -> Array:
    """Each row's values from `distance` positions before; 0 where there is none."""
    widths = [(0, 0)] * values.ndim
    widths[1] = (distance, 0)
    return jnp.pad(values, widths)[:, : values.shape[1]]


def overlap(weights: Float[Array, "B L S"], reach: int) -> Float[Array, "B L R"]:
    """Overlap of each position's weights with those of the position before it: 1 - total variation.

    Args:
        weights: attention weights or predictions, which sum to 1 over the last axis.
        reach: positions before (R), nearest first.

    Returns:
        0 (nothing in common, or no such position) to 1 (the same).
    """
    shared = [
        jnp.sum(jnp.minimum(weights, shifted(weights, distance)), axis=-1)
        for distance in range(1, reach + 1)
    ]
    return jnp.stack(shared, axis=-1)


def lesser_entropy(log_probability: Float[Array, "B L V"]) -> Float[Array, "B L 1"]:
    """The smaller entropy of each position's prediction and of its left neighbour's.

    Two positions share no more information than that.

    Args:
        log_probability: -inf where prediction is not allowed.

    Returns:
        nats, from 0 to log V; 0 at the first position.
    """
    entropies = entropy(log_probability)
    return jnp.minimum(entropies, shifted(entropies, 1))[..., None]


def best_sequence(
    top_tokens: TopTokens, penalties: Float[Array, "B L 2"]
) -> tuple[Int[Array, "B L"], Float[Array, "B L"]]:
    """The sequence with the greatest sum of log-probabilities less the penalties of equal tokens.

    Viterbi's search over pairs of neighbours.

    Args:
        top_tokens: of each position; a position that keeps its token has that one, the others
            with log-probability -inf.
        penalties: of equality with the position before, and with the one before that, in nats.
            Those of positions that do not exist are not read.

    Returns:
        tokens, and the log-probability of each.
    """
    tokens, scores = (jnp.swapaxes(array, 0, 1) for array in top_tokens)
    rows, count = tokens.shape[1:]

    def paid(left: Int[Array, "B X"], right: Int[Array, "B Y"], penalty: Float[Array, " B"]):
        return jnp.where(left[:, :, None] == right[:, None, :], penalty[:, None, None], 0.0)

    def forward(carry, step):
        best, second, left = carry  # best by token of the second position before, and of the left
        current, score, (near, far) = step
        through = jnp.swapaxes(best, 1, 2)[:, :, None, :] - paid(current, second, far)[:, None]
        origin = first_argmax(through)
        best = jnp.max(through, axis=-1) - paid(left, current, near) + score[:, None, :]
        return (best, left, current), origin

    def backward(slots, origin):
        left, current = slots
        line = jnp.take_along_axis(origin, left[:, None, None], axis=1)[:, 0]
        return (jnp.take_along_axis(line, current[:, None], axis=1)[:, 0], left), current

    # Before the first position stands one token that nothing equals.
    nothing = jnp.full((rows, count), -1)
    alone = jnp.where(jnp.arange(count) == 0, 0.0, -jnp.inf)
    first = jnp.broadcast_to(alone[None, :, None], (rows, count, count)) + scores[0][:, None, :]
    near, far = penalties[:, 1:, 0].T, penalties[:, 1:, 1].T
    steps = (tokens[1:], scores[1:], (near, far))
    (best, _, _), origins = jax.lax.scan(forward, (first, nothing, tokens[0]), steps)
    last = first_argmax(best.reshape(rows, -1))
    (_, opening), later = jax.lax.scan(
        backward, (last // count, last % count), origins, reverse=True
    )
    slots = jnp.concatenate([opening[None], later])[..., None]
    chosen = (jnp.take_along_axis(array, slots, axis=-1)[..., 0] for array in (tokens, scores))
    token, score = (jnp.swapaxes(array, 0, 1) for array in chosen)
    return token, score


@dataclass(frozen=True)
class PairwiseRepetitionPenalty:
    """Chooses a pass's tokens jointly, with a penalty for equal tokens nearby.

    Attributes:
        penalty: of a pair of equal tokens, in nats.
        coupled: whether a pair's penalty is scaled by its `overlap`.
        reach: largest distance of a penalised pair, 1 or 2.
    """

    penalty: float
    coupled: bool
    reach: int

    @property
    def top_k(self) -> int:
        """Number of top-k tokens per position that is enough for the search to be exact."""
        return 2 * self.reach + 1

    def __call__(
        self,
        top_tokens: TopTokens,
        kept: Int[Array, "B L"],
        taken: Bool[Array, "B L"],
        coupling: Float[Array, "B L D"] | None = None,
        may_repeat: Bool[Array, "B R"] | None = None,
    ) -> tuple[Int[Array, "B L"], Float[Array, "B L"]]:
        """The likeliest sequence with the tokens of some positions fixed.

        Args:
            top_tokens: of each position, the `top_k` likeliest.
            kept: tokens that stay where `taken` is False.
            taken: positions that take a new token.
            coupling: `overlap`, where `coupled`; of as many positions as the reach, or more.
            may_repeat: rows in which equal tokens have no penalty, for each distance; none by
                default.

        Returns:
            tokens, and the log-probability of each; 0 where a token stays.

        Raises:
            ValueError: `coupled` without `coupling`.
        """
        penalties = jnp.full((*kept.shape, self.reach), self.penalty, jnp.float32)
        if self.coupled:
            if coupling is None:
                raise ValueError("penalties scaled by the coupling need it")
            penalties = penalties * coupling[:, :, : self.reach]
        if may_repeat is not None:
            penalties = jnp.where(may_repeat[:, None, :], 0.0, penalties)
        penalties = jnp.pad(penalties, ((0, 0), (0, 0), (0, 2 - self.reach)))
        only = jnp.where(jnp.arange(self.top_k) == 0, 0.0, -jnp.inf)
        tokens = jnp.where(taken[..., None], top_tokens.tokens, kept[..., None])
        scores = jnp.where(taken[..., None], top_tokens.log_probability, only)
        likeliest = tokens[..., 0]
        clash = jnp.zeros((), bool)
        for distance in range(1, self.reach + 1):
            same = likeliest[:, distance:] == likeliest[:, :-distance]
            clash |= jnp.any(same & (taken[:, distance:] | taken[:, :-distance]))
        # Where no position's likeliest token is that of one nearby, no sequence is better.
        return jax.lax.cond(
            clash,
            lambda: best_sequence(TopTokens(tokens, scores), penalties),
            lambda: (likeliest, scores[..., 0]),
        )


def joint_choice(settings: RefinementDecoder) -> PairwiseRepetitionPenalty | None:
    """The joint decoding that the settings name; None where tokens are chosen independently."""
    if settings.joint == "none":
        return None
    return PairwiseRepetitionPenalty(
        settings.joint_penalty, settings.joint == "attention", settings.joint_reach
    )


def repeats_within(source: Sequence[int], reach: int) -> bool:
    """Whether a token occurs again at most `reach` positions later."""
    apart = range(1, reach + 1)
    return any(a == b for step in apart for a, b in zip(source, source[step:], strict=False))
