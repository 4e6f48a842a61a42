"""Statistical tests on pairs of positions, clustered by sentence: contrasts between two groups,
and the discrimination of a score.

Pairs of one sentence are not independent, so intervals are bootstrapped over sentences, and the
permutation test exchanges labels within sentences only: it asks whether the stuttering pair stands
out among the pairs of its own sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import rankdata

from padir.score.significance import SEED, interval, resample_counts

PERMUTATIONS = 2000
TOP_SHARE = 0.1
"""Share of pairs that counts as strongly dependent by a continuous measure."""
FEWEST = 10
"""Smallest number of pairs of each kind for which an area under the ROC curve is reported."""


@dataclass(frozen=True)
class Contrasts:
    """Chosen pairs compared with all other pairs in F measures at once.

    Attributes:
        count, other_count: number of pairs in each group.
        mean, deviation, other_mean, other_deviation: mean and standard deviation (n - 1) over the
            pairs of each group.
        difference: mean of the chosen pairs minus mean of the others.
        effect: difference / pooled standard deviation (Cohen's d).
        within: mean over chosen pairs of their value minus the mean over all pairs of their
            sentence. Only sentences with pairs of both groups count. The sentence's mean includes
            the chosen pair, which brings `within` closer to 0.
        within_effect: within / the same pooled standard deviation.
        p_value: two-sided permutation test of `within`, labels permuted within sentences; 1 where
            no sentence has pairs of both groups.
        mixed_sentences: number of sentences with pairs of both groups.

    A name that ends in `_interval` is the 95% interval of a number, by bootstrap over sentences.
    """

    count: int
    other_count: int
    mean: Float[np.ndarray, " F"]
    deviation: Float[np.ndarray, " F"]
    other_mean: Float[np.ndarray, " F"]
    other_deviation: Float[np.ndarray, " F"]
    difference: Float[np.ndarray, " F"]
    difference_interval: Float[np.ndarray, "F 2"]
    effect: Float[np.ndarray, " F"]
    effect_interval: Float[np.ndarray, "F 2"]
    within: Float[np.ndarray, " F"]
    within_interval: Float[np.ndarray, "F 2"]
    within_effect: Float[np.ndarray, " F"]
    within_effect_interval: Float[np.ndarray, "F 2"]
    p_value: Float[np.ndarray, " F"]
    mixed_sentences: int


def _moments(count, total, square):
    """Means and standard deviations (n - 1)."""
    count = np.maximum(count, 1)[..., None]
    mean = total / count
    variance = np.maximum(square / count - mean**2, 0) * count / np.maximum(count - 1, 1)
    return mean, np.sqrt(variance)


def _differences(first, other):
    """Differences of means and pooled deviations, from counts, sums and sums of squares."""
    (n, total, square), (m, total_other, square_other) = first, other
    mean, deviation = _moments(n, total, square)
    mean_other, deviation_other = _moments(m, total_other, square_other)
    weights = np.maximum(n - 1, 0)[..., None], np.maximum(m - 1, 0)[..., None]
    pooled = weights[0] * deviation**2 + weights[1] * deviation_other**2
    return mean - mean_other, np.sqrt(pooled / np.maximum(weights[0] + weights[1], 1))


def _in_deviations(value, deviation):
    """Effect size in standard deviations; 0 where the deviation is 0."""
    return np.where(deviation > 0, value / np.where(deviation > 0, deviation, 1), 0.0)


def _intervals(drawn: Float[np.ndarray, "samples F"]) -> Float[np.ndarray, "F 2"]:
    return np.array([interval(column) for column in drawn.T])


def contrast(
    values: Float[np.ndarray, "P F"],
    chosen: Bool[np.ndarray, " P"],
    sentence: Int[np.ndarray, " P"],
    sentences: int,
    samples: int,
) -> Contrasts:
    """Compare a group of pairs with all others.

    Args:
        values: F numbers of each pair.
        chosen: the first group.
        sentence: of each pair, 0 up to `sentences`.
        sentences: of the test set.
        samples: bootstrap resamples.
    """
    # Centred, as a sum of squares would lose small deviations of large numbers.
    values = np.asarray(values, np.float64)
    centre = values.mean(axis=0) if len(values) else np.zeros(values.shape[1])
    centred = values - centre
    groups = []
    for group in (chosen, ~chosen):
        count = np.bincount(sentence[group], minlength=sentences).astype(np.float64)
        total = _by_sentence(centred[group], sentence[group], sentences)
        square = _by_sentence(centred[group] ** 2, sentence[group], sentences)
        groups.append((count, total, square))
    whole = [tuple(part.sum(axis=0) for part in group) for group in groups]
    difference, pooled = _differences(*whole)
    resamples = resample_counts(sentences, samples)
    drawn = [tuple(resamples @ part for part in group) for group in groups]
    drawn_difference, drawn_pooled = _differences(*drawn)
    means = [_moments(*group) for group in whole]
    excess, counts, p_value = within_sentences(
        centred, chosen, sentence, sentences, PERMUTATIONS, np.random.default_rng(SEED)
    )
    within = excess.sum(axis=0) / max(counts.sum(), 1)
    drawn_within = (resamples @ excess) / np.maximum(resamples @ counts, 1)[:, None]
    return Contrasts(
        count=int(chosen.sum()),
        other_count=int((~chosen).sum()),
        mean=means[0][0] + centre,
        deviation=means[0][1],
        other_mean=means[1][0] + centre,
        other_deviation=means[1][1],
        difference=difference,
        difference_interval=_intervals(drawn_difference),
        effect=_in_deviations(difference, pooled),
        effect_interval=_intervals(_in_deviations(drawn_difference, drawn_pooled)),
        within=within,
        within_interval=_intervals(drawn_within),
        within_effect=_in_deviations(within, pooled),
        within_effect_interval=_intervals(_in_deviations(drawn_within, drawn_pooled)),
        p_value=p_value,
        mixed_sentences=int(np.count_nonzero(counts)),
    )


def _by_sentence(values: np.ndarray, sentence: np.ndarray, sentences: int) -> np.ndarray:
    total = np.zeros((sentences, values.shape[1]))
    np.add.at(total, sentence, values)
    return total


def within_sentences(
    values: Float[np.ndarray, "P F"],
    chosen: Bool[np.ndarray, " P"],
    sentence: Int[np.ndarray, " P"],
    sentences: int,
    permutations: int,
    generator: np.random.Generator,
) -> tuple[Float[np.ndarray, "S F"], Float[np.ndarray, " S"], Float[np.ndarray, " F"]]:
    """Excess of chosen pairs over the mean of their sentence's pairs, with a permutation test.

    Returns:
        For each sentence the sum of the excess over its chosen pairs, and their number, both 0
        unless the sentence has pairs of both groups; and the p-values of labels permuted within
        sentences. Under permutation the total excess has mean 0. One is added to both counts of
        the p-value, so that it is never 0.
    """
    excess = np.zeros((sentences, values.shape[1]))
    counts = np.zeros(sentences)
    permuted = np.zeros((permutations, values.shape[1]))
    for members in _clusters(sentence):
        labels = chosen[members]
        if labels.all() or not labels.any():
            continue
        above = values[members] - values[members].mean(axis=0)
        excess[sentence[members[0]]] = above[labels].sum(axis=0)
        counts[sentence[members[0]]] = labels.sum()
        order = np.argsort(generator.random((permutations, len(members))), axis=1)
        permuted += (order < labels.sum()).astype(np.float64) @ above
    observed = np.abs(excess.sum(axis=0))
    # Sums of the same numbers in another order may differ in the last digits.
    beyond = np.abs(permuted) >= observed - 1e-9 * (1 + observed)
    return excess, counts, (beyond.sum(axis=0) + 1) / (permutations + 1)


def _clusters(sentence: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(sentence, kind="stable")
    cuts = np.flatnonzero(np.diff(sentence[order])) + 1
    return np.split(order, cuts) if len(order) else []


def strongest(values: Float[np.ndarray, " P"]) -> Bool[np.ndarray, " P"]:
    """The `TOP_SHARE` of pairs with the largest values, values of 0 or less excluded; ties go to
    the first."""
    count = round(TOP_SHARE * len(values))
    top = np.zeros(len(values), bool)
    top[np.argsort(-values, kind="stable")[:count]] = True
    return top & (values > 0)


@dataclass(frozen=True)
class Discrimination:
    """Area under the ROC curve: the chance that a positive pair has the larger score, ties
    counting half. None where one kind has fewer than `FEWEST` pairs."""

    auc: float | None
    interval: tuple[float, float] | None
    positives: int
    negatives: int


def discrimination(
    score: Float[np.ndarray, " P"],
    positive: Bool[np.ndarray, " P"],
    sentence: Int[np.ndarray, " P"],
    resamples: Float[np.ndarray, "samples sentences"],
) -> Discrimination:
    """Area under the ROC curve of a score for positive against other pairs.

    Args:
        score: of each pair.
        positive: of each pair.
        sentence: of each pair.
        resamples: from `resample_counts`, of as many sentences as there are.
    """
    positives, negatives = int(positive.sum()), int((~positive).sum())
    if min(positives, negatives) < FEWEST:
        return Discrimination(None, None, positives, negatives)
    sentences = resamples.shape[1]
    won = concordance(score, positive, sentence, sentences)
    first = np.bincount(sentence[positive], minlength=sentences).astype(np.float64)
    other = np.bincount(sentence[~positive], minlength=sentences).astype(np.float64)
    drawn = np.einsum("rs,rs->r", resamples @ won, resamples)
    size = (resamples @ first) * (resamples @ other)
    drawn = drawn[size > 0] / size[size > 0]
    return Discrimination(
        float(won.sum() / (positives * negatives)), interval(drawn), positives, negatives
    )


def concordance(
    score: Float[np.ndarray, " P"],
    positive: Bool[np.ndarray, " P"],
    sentence: Int[np.ndarray, " P"],
    sentences: int,
) -> Float[np.ndarray, "S S"]:
    """Wins plus half of the ties of one sentence's positive pairs against another's other pairs."""
    high, owner = score[positive], sentence[positive]
    won = np.zeros((sentences, sentences))
    low, low_owner = score[~positive], sentence[~positive]
    order = np.lexsort((low, low_owner))
    low, low_owner = low[order], low_owner[order]
    edges = np.searchsorted(low_owner, np.arange(sentences + 1))
    for other in np.unique(low_owner):
        scores = low[edges[other] : edges[other + 1]]
        below = np.searchsorted(scores, high, side="left")
        up_to = np.searchsorted(scores, high, side="right")
        won[:, other] = np.bincount(owner, (below + up_to) / 2, minlength=sentences)
    return won


def rank_correlation(
    first: Float[np.ndarray, " P"],
    second: Float[np.ndarray, " P"],
    sentence: Int[np.ndarray, " P"],
    resamples: Float[np.ndarray, "samples sentences"],
) -> tuple[float, tuple[float, float]]:
    """Spearman's correlation with its interval; ranks are taken once, among all pairs."""
    x, y = rankdata(first), rankdata(second)
    x, y = x - x.mean(), y - y.mean()
    columns = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
    sums = _by_sentence(columns, sentence, resamples.shape[1])
    value = _pearson(sums.sum(axis=0)[None])[0]
    return float(value), interval(_pearson(resamples @ sums))


def _pearson(sums: np.ndarray) -> np.ndarray:
    n, x, y, xx, yy, xy = sums.T
    spread = np.sqrt(np.maximum(xx - x * x / n, 0) * np.maximum(yy - y * y / n, 0))
    return np.where(spread > 0, (xy - x * y / n) / np.where(spread > 0, spread, 1), 0.0)


def oriented(values: Sequence[float] | np.ndarray, sign: int) -> np.ndarray:
    """The measure as float64, its sign chosen so that larger means more dependence."""
    return sign * np.asarray(values, np.float64)
