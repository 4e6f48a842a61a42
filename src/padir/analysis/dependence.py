"""Measures of the dependence between two target positions under the model: attention,
predictions and a probe.

Attention. Paper: 3.4, L.5. Self-attention is read in both directions. Cross-attention of the two
positions is compared by total variation (half the sum of absolute differences), cosine distance
(1 - cosine) and Jensen-Shannon divergence (nats).

Predictions. Entropy, confidence, and the overlap sum_v min(p_i(v), p_j(v)): at 1 the two positions
predict the same words.

The probe, the measure that the others are evaluated against. The input token at position i is
replaced by each v of the k likeliest tokens of this pass at i, with weights w_v, their normalised
probabilities. The probe is

    sum_v w_v KL(p_j(. | v) || sum_u w_u p_j(. | u)),

the mutual information (nats) of a draw at i and the model's answer at j, all else that is read
staying as it is: at the first pass a start hypothesis, later the previous pass's hypothesis. A
decoder that draws both at once treats it as 0. It is at most the entropy of w. What is not above
`FLOOR` is 0.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax.nn import one_hot
from jax.scipy.special import xlogy
from jaxtyping import Array, Float, Int

from padir.model.decoder import Attentions
from padir.tokens import first_argmax

FEW = 3
"""Keys that count as the first few in `Ranks`."""
FLOOR = 1e-6
"""Nats; a probe up to here is the rounding of the float32 entropies whose difference it is: of a
few nats each, they are off by some 1e-7. A decoder that reads nothing, as DisCo's at its first
pass, gives up to 2.4e-7."""

HeadNumbers = Float[Array, "B layer H L"]
PairNumbers = Float[Array, "B L"]


class Measures(NamedTuple):
    """Attention measures of each position i and the position j at a distance to its right, by layer
    and head.

    Attributes:
        self_right: attention of i to j.
        self_left: attention of j to i.
        total_variation, cosine, jensen_shannon: between the two cross-attentions.

    Values at positions without such a neighbour mean nothing.
    """

    self_right: HeadNumbers
    self_left: HeadNumbers
    total_variation: HeadNumbers
    cosine: HeadNumbers
    jensen_shannon: HeadNumbers


class Ranks(NamedTuple):
    """Agreement of the most attended keys of each position and its right neighbour: shares of
    layers and heads (and directions).

    What the last two columns of the paper's tables 4 and 5 may be; their headings are lost.

    Attributes:
        self_first, self_few: where the neighbour is the first, or among the first three, of the
            other positions by attention.
        same_first: where the two attend most to the same source token.
        first_in_few: where the source token that one attends to most is among the other's three.
        few_common: share of the first three source tokens that the two have in common.
        same_first_mean, first_in_few_mean: the same of the mean over layers and heads: 0 or 1 (or a
            half, where it holds in one direction).
    """

    self_first: PairNumbers
    self_few: PairNumbers
    same_first: PairNumbers
    first_in_few: PairNumbers
    few_common: PairNumbers
    same_first_mean: PairNumbers
    first_in_few_mean: PairNumbers


def neighbours(length: int, distance: int) -> tuple[Int[Array, " L"], Int[Array, " L"]]:
    """Each position and the one at this distance to its right, or else the last position."""
    left = jnp.arange(length)
    return left, jnp.minimum(left + distance, length - 1)


def measures(attentions: Attentions, distance: int) -> Measures:
    """Compare the attention of all pairs of positions at one distance."""
    attention, source = attentions
    left, right = neighbours(attention.shape[-1], distance)
    other = source[..., right, :]
    middle = (source + other) / 2
    product = jnp.sum(source * other, axis=-1)
    # Per position, not per pair: one program serves all distances, and logarithms dominate the
    # cost.
    square = jnp.sum(source**2, axis=-1)
    information = jnp.sum(xlogy(source, source), axis=-1)
    mixed = jnp.sum(xlogy(middle, middle), axis=-1)
    return Measures(
        self_right=attention[..., left, right],
        self_left=attention[..., right, left],
        total_variation=jnp.sum(jnp.abs(source - other), axis=-1) / 2,
        cosine=1 - product / jnp.sqrt(square * square[..., right]),
        # Rounding may leave a number below 0 where the two are equal.
        jensen_shannon=jnp.maximum((information + information[..., right]) / 2 - mixed, 0),
    )


def ranks(attentions: Attentions) -> Ranks:
    """Compare the most attended keys of adjacent positions."""
    attention, source = attentions
    length = attention.shape[-1]
    left, right = neighbours(length, 1)
    others = jnp.where(jnp.eye(length, dtype=bool), -1.0, attention)

    def rank(query, key):
        weight = others[..., query, key][..., None]
        return jnp.sum(others[..., query, :] > weight, axis=-1)

    places = (rank(left, right), rank(right, left))
    mean = jnp.mean(source, axis=(1, 2), keepdims=True)
    same, inside, common = _first_keys(source, left, right)
    same_mean, inside_mean, _ = _first_keys(mean, left, right)
    return Ranks(
        self_first=_heads(sum((place < 1) / 2 for place in places)),
        self_few=_heads(sum((place < FEW) / 2 for place in places)),
        same_first=same,
        first_in_few=inside,
        few_common=common,
        same_first_mean=same_mean,
        first_in_few_mean=inside_mean,
    )


def _heads(values) -> PairNumbers:
    return jnp.mean(jnp.asarray(values, jnp.float32), axis=(1, 2))


def _first_keys(source: Float[Array, "B layer H L S"], left, right):
    """From the most attended keys of each position, the shares of heads `same_first`,
    `first_in_few` and `few_common` of `Ranks`.
    """
    few = min(FEW, source.shape[-1])
    # jax.lax.top_k sorts all keys; a few maxima are found in as many passes over them.
    first_keys, rest = [], source
    for _ in range(few):
        first_keys.append(first_argmax(rest))
        rest = jnp.where(one_hot(first_keys[-1], source.shape[-1], dtype=bool), -1.0, rest)
    keys = jnp.stack(first_keys, axis=-1)
    first, other = keys[..., left, :], keys[..., right, :]
    equal = first[..., :, None] == other[..., None, :]
    same = _heads(equal[..., 0, 0])
    inside = _heads((jnp.any(equal[..., 0, :], -1) + 0.0 + jnp.any(equal[..., :, 0], -1)) / 2)
    return same, inside, _heads(jnp.sum(equal, axis=(-1, -2)) / few)


def overlap(log_probability: Float[Array, "B L V"], distance: int) -> PairNumbers:
    """Overlap of two positions' predictions: probability mass that both share."""
    probability = jnp.exp(log_probability)
    _, right = neighbours(probability.shape[1], distance)
    return jnp.sum(jnp.minimum(probability, probability[:, right]), axis=-1)


def information(
    answers: Float[Array, "B K L V"], weights: Float[Array, "B K"]
) -> Float[Array, "B L"]:
    """The probe: weighted mean KL of answers from their mixture, in nats; 0 up to `FLOOR`.

    Args:
        answers: logits at every position after each of K interventions, all finite.
        weights: of the interventions; they sum to 1.
    """
    # One exponential for each logit: this is the dearest step of the whole analysis.
    logits = answers - jnp.max(answers, axis=-1, keepdims=True)
    share = jnp.exp(logits)
    total = jnp.sum(share, axis=-1)
    entropies = jnp.log(total) - jnp.sum(share * logits, axis=-1) / total
    scale = weights[:, :, None] / total
    mixture = jnp.einsum("bklv,bkl->blv", share, scale)
    of_mixture = -jnp.sum(xlogy(mixture, mixture), axis=-1)
    inside = jnp.sum(weights[:, :, None] * entropies, axis=1)
    divergence = of_mixture - inside
    return jnp.where(divergence > FLOOR, divergence, 0.0)
