"""How strongly two target positions hang together: what one pass of the model shows of it.

Attention. Paper: 3.4, L.5. Self-attention is read in both directions. Cross-attention of the two
positions is compared by total variation (half the sum of absolute differences), cosine distance
(1 - cosine) and Jensen-Shannon divergence (nats).

Predictions. Entropy, confidence, and the overlap sum_v min(p_i(v), p_j(v)): at 1 the two positions
predict the same words.

The probe. What the others are judged against: the token that the pass reads at position i is
replaced by v, v being one of the k likeliest there in the pass's own view, with weights w_v, its
probabilities made to sum to 1. The probe is

    sum_v w_v KL(p_j(. | v) || sum_u w_u p_j(. | u)),

the mutual information (nats) of a draw at i and the model's answer at j, all else that is read
staying as it is: at the first pass a start hypothesis, later the previous pass's hypothesis. A
decoder that draws both at once treats it as 0. It is at most the entropy of w.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import xlogy
from jaxtyping import Array, Float, Int

from padir.model.decoder import Attentions

FEW = 3
"""Keys that count as the first few in `Ranks`."""

HeadNumbers = Float[Array, "B layer H L"]
PairNumbers = Float[Array, "B L"]


class Measures(NamedTuple):
    """Of each position i and its right neighbour j at one distance, by layer and head.

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
    """Of each position and its right neighbour: shares of layers and heads (and directions).

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
    """Positions, and for each the one so far to the right; the last where there is none."""
    left = jnp.arange(length)
    return left, jnp.minimum(left + distance, length - 1)


def measures(attentions: Attentions, distance: int) -> Measures:
    """Compare the attention of all pairs of positions at one distance."""
    own, source = attentions
    left, right = neighbours(own.shape[-1], distance)
    other = source[..., right, :]
    middle = (source + other) / 2
    product = jnp.sum(source * other, axis=-1)
    norms = jnp.sqrt(jnp.sum(source**2, axis=-1) * jnp.sum(other**2, axis=-1))
    information = xlogy(source, source) + xlogy(other, other) - 2 * xlogy(middle, middle)
    return Measures(
        self_right=own[..., left, right],
        self_left=own[..., right, left],
        total_variation=jnp.sum(jnp.abs(source - other), axis=-1) / 2,
        cosine=1 - product / norms,
        # Rounding may leave a number below 0 where the two are equal.
        jensen_shannon=jnp.maximum(jnp.sum(information, axis=-1) / 2, 0),
    )


def ranks(attentions: Attentions) -> Ranks:
    """Which keys come first for adjacent positions."""
    own, source = attentions
    length = own.shape[-1]
    left, right = neighbours(length, 1)
    others = jnp.where(jnp.eye(length, dtype=bool), -1.0, own)

    def rank(query, key):
        found = others[..., query, key][..., None]
        return jnp.sum(others[..., query, :] > found, axis=-1)

    places = (rank(left, right), rank(right, left))
    mean = jnp.mean(source, axis=(1, 2), keepdims=True)
    _, same, inside, common = _first_keys(source, left, right)
    _, same_mean, inside_mean, _ = _first_keys(mean, left, right)
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
    """First keys of each position; and shares of heads, as in `Ranks`."""
    few = min(FEW, source.shape[-1])
    keys = jax.lax.top_k(source, few)[1]
    first, other = keys[..., left, :], keys[..., right, :]
    equal = first[..., :, None] == other[..., None, :]
    same = _heads(equal[..., 0, 0])
    inside = _heads((jnp.any(equal[..., 0, :], -1) + 0.0 + jnp.any(equal[..., :, 0], -1)) / 2)
    return keys, same, inside, _heads(jnp.sum(equal, axis=(-1, -2)) / few)


def entropy(log_probability: Float[Array, "*axes V"]) -> Float[Array, "*axes"]:
    """In nats; tokens of probability 0 add nothing."""
    probability = jnp.exp(log_probability)
    return -jnp.sum(jnp.where(probability > 0, probability * log_probability, 0.0), axis=-1)


def overlap(log_probability: Float[Array, "B L V"], distance: int) -> PairNumbers:
    """Probability that two positions' predictions share."""
    probability = jnp.exp(log_probability)
    _, right = neighbours(probability.shape[1], distance)
    return jnp.sum(jnp.minimum(probability, probability[:, right]), axis=-1)


def information(
    answers: Float[Array, "B K L V"], weights: Float[Array, "B K"]
) -> Float[Array, "B L"]:
    """The probe: weighted mean KL of answers from their mixture, in nats.

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
    return jnp.maximum(of_mixture - inside, 0.0)
