"""Tokens of one pass chosen together: the likeliest sequence in which neighbours agree.

A parallel pass predicts each position for itself, so its joint law is a product (paper, section 2.4
and appendix F), and where two translations compete at neighbouring positions both may take the same
word: a stutter. Here the pass's own probabilities are multiplied with one factor per pair of
neighbours, exp(-cost) where their tokens are equal, else 1. That is a chain, no product, and its
likeliest sequence is found exactly, without another pass of the decoder.

The cost of a pair is a constant, or that constant times how far the two positions look at the same
source tokens, which the paper names as the promising measure of dependence between target
positions (section 3.4, hypothesis 2): a word that the source says twice is looked at in two places.

Only the three likeliest tokens of each position can be in the result, whatever the vocabulary:
a position has two neighbours, so one of its three differs from both, and any token beyond them is
no likelier than that one and pays nothing less.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from padir.config.decoding import Decoding
from padir.decode.predict import log_normaliser, top_tokens
from padir.loss import first_argmax

CANDIDATES = 3
"""Tokens of a position among which the best chain is found over the whole vocabulary."""


class Candidates(NamedTuple):
    """The likeliest tokens of each position, best first, and their log-probabilities."""

    tokens: Int[Array, "B L C"]
    log_probability: Float[Array, "B L C"]


def likeliest(logits: Float[Array, "B L V"]) -> Candidates:
    """The `CANDIDATES` likeliest tokens of each position; ties go to the lowest id.

    Args:
        logits: -inf where prediction is not allowed.
    """
    rows, length, size = logits.shape
    values, tokens = top_tokens(logits.reshape(-1, size), CANDIDATES)
    values = values.reshape(rows, length, -1) - log_normaliser(logits)[..., None]
    return Candidates(tokens.reshape(rows, length, -1), values)


def overlap(weights: Float[Array, "B L S"]) -> Float[Array, "B L"]:
    """How far each position attends as its left neighbour does: 1 - total variation distance.

    Args:
        weights: attention weights, which sum to 1 over the last axis.

    Returns:
        0 (nothing in common) to 1 (the same); 0 at the first position.
    """
    shared = jnp.sum(jnp.minimum(weights[:, 1:], weights[:, :-1]), axis=-1)
    return jnp.pad(shared, ((0, 0), (1, 0)))


def best_chain(
    candidates: Candidates, cost: Float[Array, "B L"]
) -> tuple[Int[Array, "B L"], Float[Array, "B L"]]:
    """The sequence with the greatest sum of log-probabilities less the costs of equal neighbours.

    Args:
        candidates: of each position; a position that keeps its token has that one, the others
            with log-probability -inf.
        cost: of position i being equal to position i - 1, in nats, at least 0. That of position 0
            is not read.

    Returns:
        tokens, and the log-probability of each. Ties go to the likelier candidate, decided from
        the right.
    """
    tokens, scores = (jnp.swapaxes(array, 0, 1) for array in candidates)

    def forward(carry, step):
        best, left = carry
        own, score, price = step
        equal = own[:, :, None] == left[:, None, :]
        through = best[:, None, :] - jnp.where(equal, price[:, None, None], 0.0)
        origin = first_argmax(through)
        best = score + jnp.max(through, axis=-1)
        return (best, own), origin

    steps = (tokens[1:], scores[1:], jnp.swapaxes(cost, 0, 1)[1:])
    (best, _), origins = jax.lax.scan(forward, (scores[0], tokens[0]), steps)

    def backward(slot, origin):
        return jnp.take_along_axis(origin, slot[:, None], axis=1)[:, 0], slot

    first, later = jax.lax.scan(backward, first_argmax(best), origins, reverse=True)
    slots = jnp.concatenate([first[None], later])[..., None]
    chosen = (jnp.take_along_axis(array, slots, axis=-1)[..., 0] for array in (tokens, scores))
    token, score = (jnp.swapaxes(array, 0, 1) for array in chosen)
    return token, score


@dataclass(frozen=True)
class Neighbours:
    """Chooses a pass's tokens together, equal neighbours being made less likely.

    Attributes:
        cost: of a pair of equal neighbours, in nats.
        coupled: whether each pair costs that times its `overlap`; else all pairs cost the same.
    """

    cost: float
    coupled: bool

    def __call__(
        self,
        candidates: Candidates,
        kept: Int[Array, "B L"],
        taken: Bool[Array, "B L"],
        coupling: Float[Array, "B L"] | None = None,
        may_repeat: Bool[Array, " B"] | None = None,
    ) -> tuple[Int[Array, "B L"], Float[Array, "B L"]]:
        """The best chain in which some positions keep what they hold.

        Args:
            candidates: of each position.
            kept: tokens that stay where `taken` is False.
            taken: positions that take a new token.
            coupling: `overlap` of each position with its left neighbour, where `coupled`.
            may_repeat: rows in which equal neighbours cost nothing; none by default.

        Returns:
            tokens, and the log-probability of each; 0 where a token stays.

        Raises:
            ValueError: `coupled` without `coupling`.
        """
        cost = jnp.full(kept.shape, self.cost, jnp.float32)
        if self.coupled:
            if coupling is None:
                raise ValueError("costs that follow the coupling need it")
            cost = cost * coupling
        if may_repeat is not None:
            cost = jnp.where(may_repeat[:, None], 0.0, cost)
        only = jnp.where(jnp.arange(CANDIDATES) == 0, 0.0, -jnp.inf)
        tokens = jnp.where(taken[..., None], candidates.tokens, kept[..., None])
        scores = jnp.where(taken[..., None], candidates.log_probability, only)
        clash = (tokens[:, 1:, 0] == tokens[:, :-1, 0]) & (taken[:, 1:] | taken[:, :-1])
        # Where no position's likeliest token is its neighbour's, no chain is better.
        return jax.lax.cond(
            jnp.any(clash),
            lambda: best_chain(Candidates(tokens, scores), cost),
            lambda: (tokens[..., 0], scores[..., 0]),
        )


JOINTS: dict[str, Callable[[Decoding], Neighbours | None]] = {
    "none": lambda settings: None,
    "neighbours": lambda settings: Neighbours(settings.joint_cost, coupled=False),
    "attention": lambda settings: Neighbours(settings.joint_cost, coupled=True),
}
