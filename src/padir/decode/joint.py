"""Tokens of one pass chosen together: the likeliest sequence that repeats nothing nearby.

A parallel pass predicts each position for itself, so its joint law is a product (paper, section
2.4.1), and where two translations compete at neighbouring positions both may take the same word: a
stutter. Here the pass's own probabilities are multiplied with one factor per pair of near
positions, exp(-cost) where their tokens are equal, else 1. That is a Markov chain, no product, and
its likeliest sequence is found exactly, without another pass of the decoder.

Near are neighbours (reach 1), or also those with one position between them (reach 2): pushed out of
its neighbour's place, a word likes to come back one place further ("a man a").

The cost of a pair is a constant, or that constant times how far the two positions look at the same
source tokens, which the paper calls a promising measure of dependence (section 3.4, hypothesis 2).

Only the 2 reach + 1 likeliest tokens of each position can be in the result, whatever the
vocabulary: at most 2 reach tokens stand near a position, so one of those differs from them all, and
any other token is no likelier than that one and pays nothing less.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from padir.config.decoding import Decoding
from padir.decode.predict import entropy, log_normaliser, top_tokens
from padir.tokens import first_argmax


class Candidates(NamedTuple):
    """The likeliest tokens of each position, best first, and their log-probabilities."""

    tokens: Int[Array, "B L C"]
    log_probability: Float[Array, "B L C"]


def likeliest(logits: Float[Array, "B L V"], count: int) -> Candidates:
    """The `count` likeliest tokens of each position; ties go to the lowest id.

    Args:
        logits: -inf where prediction is not allowed.
    """
    rows, length, size = logits.shape
    values, tokens = top_tokens(logits.reshape(-1, size), count)
    values = values.reshape(rows, length, -1) - log_normaliser(logits)[..., None]
    return Candidates(tokens.reshape(rows, length, -1), values)


def shifted(values: Array, distance: int) -> Array:
    """Each row's values from `distance` positions before; 0 where there is none."""
    widths = [(0, 0)] * values.ndim
    widths[1] = (distance, 0)
    return jnp.pad(values, widths)[:, : values.shape[1]]


def overlap(weights: Float[Array, "B L S"], reach: int) -> Float[Array, "B L R"]:
    """How far each position's weights are those of the ones before it: 1 - total variation.

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
    own = entropy(log_probability)
    return jnp.minimum(own, shifted(own, 1))[..., None]


def best_chain(
    candidates: Candidates, costs: Float[Array, "B L 2"]
) -> tuple[Int[Array, "B L"], Float[Array, "B L"]]:
    """The sequence with the greatest sum of log-probabilities less the costs of equal tokens.

    Viterbi's search over pairs of neighbours.

    Args:
        candidates: of each position; a position that keeps its token has that one, the others
            with log-probability -inf.
        costs: of equality with the position before, and with the one before that, in nats.
            Those of positions that do not exist are not read.

    Returns:
        tokens, and the log-probability of each.
    """
    tokens, scores = (jnp.swapaxes(array, 0, 1) for array in candidates)
    rows, count = tokens.shape[1:]

    def equal(one: Int[Array, "B X"], other: Int[Array, "B Y"], cost: Float[Array, " B"]):
        return jnp.where(one[:, :, None] == other[:, None, :], cost[:, None, None], 0.0)

    def forward(carry, step):
        best, before, left = carry  # best by candidate of the position before the left, and of it
        own, score, (near, far) = step
        through = jnp.swapaxes(best, 1, 2)[:, :, None, :] - equal(own, before, far)[:, None]
        origin = first_argmax(through)
        best = jnp.max(through, axis=-1) - equal(left, own, near) + score[:, None, :]
        return (best, left, own), origin

    def backward(slots, origin):
        left, own = slots
        line = jnp.take_along_axis(origin, left[:, None, None], axis=1)[:, 0]
        return (jnp.take_along_axis(line, own[:, None], axis=1)[:, 0], left), own

    # Before the first position stands one candidate that nothing equals.
    nothing = jnp.full((rows, count), -1)
    alone = jnp.where(jnp.arange(count) == 0, 0.0, -jnp.inf)
    first = jnp.broadcast_to(alone[None, :, None], (rows, count, count)) + scores[0][:, None, :]
    near, far = costs[:, 1:, 0].T, costs[:, 1:, 1].T
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
class NoRepeat:
    """Chooses a pass's tokens together, equal tokens nearby being made less likely.

    Attributes:
        cost: of a pair of equal tokens, in nats.
        coupled: whether each pair costs that times its `overlap`; else all pairs cost the same.
        reach: how far apart a pair may be, 1 or 2.
    """

    cost: float
    coupled: bool
    reach: int

    @property
    def candidates(self) -> int:
        """Tokens of a position among which the best chain over the whole vocabulary is."""
        return 2 * self.reach + 1

    def __call__(
        self,
        candidates: Candidates,
        kept: Int[Array, "B L"],
        taken: Bool[Array, "B L"],
        coupling: Float[Array, "B L D"] | None = None,
        may_repeat: Bool[Array, "B R"] | None = None,
    ) -> tuple[Int[Array, "B L"], Float[Array, "B L"]]:
        """The best chain in which some positions keep what they hold.

        Args:
            candidates: of each position.
            kept: tokens that stay where `taken` is False.
            taken: positions that take a new token.
            coupling: `overlap`, where `coupled`; of as many positions as the reach, or more.
            may_repeat: rows in which equal tokens cost nothing, for each distance; none by default.

        Returns:
            tokens, and the log-probability of each; 0 where a token stays.

        Raises:
            ValueError: `coupled` without `coupling`.
        """
        costs = jnp.full((*kept.shape, self.reach), self.cost, jnp.float32)
        if self.coupled:
            if coupling is None:
                raise ValueError("costs that follow the coupling need it")
            costs = costs * coupling[:, :, : self.reach]
        if may_repeat is not None:
            costs = jnp.where(may_repeat[:, None, :], 0.0, costs)
        costs = jnp.pad(costs, ((0, 0), (0, 0), (0, 2 - self.reach)))
        only = jnp.where(jnp.arange(self.candidates) == 0, 0.0, -jnp.inf)
        tokens = jnp.where(taken[..., None], candidates.tokens, kept[..., None])
        scores = jnp.where(taken[..., None], candidates.log_probability, only)
        likeliest = tokens[..., 0]
        clash = jnp.zeros((), bool)
        for distance in range(1, self.reach + 1):
            same = likeliest[:, distance:] == likeliest[:, :-distance]
            clash |= jnp.any(same & (taken[:, distance:] | taken[:, :-distance]))
        # Where no position's likeliest token is that of one nearby, no chain is better.
        return jax.lax.cond(
            clash,
            lambda: best_chain(Candidates(tokens, scores), costs),
            lambda: (likeliest, scores[..., 0]),
        )


def joint_choice(settings: Decoding) -> NoRepeat | None:
    """What the settings ask for; None where each position chooses for itself."""
    if settings.joint == "none":
        return None
    return NoRepeat(settings.joint_cost, settings.joint == "attention", settings.joint_reach)
