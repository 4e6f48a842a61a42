"""Intervals, tests and areas against exhaustive and literal twins."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from padir.analysis import contrasts
from padir.score.significance import interval, resample_counts


@pytest.fixture
def sample():
    """Pairs of 12 sentences: two numbers each, some chosen."""
    generator = np.random.default_rng(3)
    sentence = np.repeat(np.arange(12), generator.integers(1, 7, size=12))
    chosen = generator.random(len(sentence)) < 0.3
    values = generator.normal(size=(len(sentence), 2)) + chosen[:, None] * [1.0, 0.0] + 50
    return values, chosen, sentence


def test_contrast_is_what_numpy_says(sample):
    values, chosen, sentence = sample
    measured = contrasts.contrast(values, chosen, sentence, 12, samples=200)
    yes, no = values[chosen], values[~chosen]
    np.testing.assert_allclose(measured.mean, yes.mean(axis=0))
    np.testing.assert_allclose(measured.other_mean, no.mean(axis=0))
    np.testing.assert_allclose(measured.deviation, yes.std(axis=0, ddof=1))
    np.testing.assert_allclose(measured.other_deviation, no.std(axis=0, ddof=1))
    n, m = len(yes), len(no)
    pooled = np.sqrt(
        ((n - 1) * yes.var(axis=0, ddof=1) + (m - 1) * no.var(axis=0, ddof=1)) / (n + m - 2)
    )
    np.testing.assert_allclose(measured.effect, (yes.mean(axis=0) - no.mean(axis=0)) / pooled)
    assert (measured.count, measured.other_count) == (n, m)
    mixed = [s for s in range(12) if len(set(chosen[sentence == s])) == 2]
    above = [
        values[pair] - values[sentence == s].mean(axis=0)
        for s in mixed
        for pair in np.flatnonzero(chosen & (sentence == s))
    ]
    assert measured.mixed_sentences == len(mixed) < len(above)
    np.testing.assert_allclose(measured.within, np.mean(above, axis=0))
    np.testing.assert_allclose(measured.within_effect, np.mean(above, axis=0) / pooled)


def test_numbers_that_do_not_vary_have_no_deviation_and_no_effect():
    # Here rounding leaves the mean of the squares below the square of the mean.
    chosen = np.arange(9) < 3
    values = np.where(chosen, 0.1, 0.7)[:, None]
    measured = contrasts.contrast(values, chosen, np.arange(9), 9, samples=40)
    assert measured.difference[0] == pytest.approx(-0.6)
    assert measured.deviation[0] == pytest.approx(0, abs=1e-7)
    assert measured.other_deviation[0] == pytest.approx(0, abs=1e-7)
    two = np.arange(4) < 2
    halves = contrasts.contrast(np.where(two, 2.0, 1.0)[:, None], two, np.arange(4), 4, samples=40)
    assert (halves.difference[0], halves.effect[0]) == (1, 0)


def test_intervals_are_those_of_resampled_sentences(sample):
    values, chosen, sentence = sample
    measured = contrasts.contrast(values, chosen, sentence, 12, samples=100)
    differences, effects, within, shares = [], [], [], []
    for counts in resample_counts(12, 100):
        rows = np.concatenate(
            [np.tile(np.flatnonzero(sentence == s), int(counts[s])) for s in range(12)]
        )
        chosen_here = chosen[rows]
        yes, no = values[rows][chosen_here], values[rows][~chosen_here]
        differences.append(yes.mean(axis=0) - no.mean(axis=0))
        total, number = np.zeros(2), 0
        for s in range(12):
            members = np.flatnonzero(sentence == s)
            labels = chosen[members]
            if labels.any() and not labels.all():
                above = values[members] - values[members].mean(axis=0)
                total += counts[s] * above[labels].sum(axis=0)
                number += counts[s] * labels.sum()
        within.append(total / number)
        (n, first), (m, other) = ((len(v), v.var(axis=0, ddof=1)) for v in (yes, no))
        pooled = np.sqrt(((n - 1) * first + (m - 1) * other) / (n + m - 2))
        effects.append(differences[-1] / pooled)
        shares.append(within[-1] / pooled)
    for column in range(2):
        assert measured.difference_interval[column] == pytest.approx(
            interval(np.array(differences)[:, column])
        )
        assert measured.effect_interval[column] == pytest.approx(
            interval(np.array(effects)[:, column])
        )
        assert measured.within_interval[column] == pytest.approx(
            interval(np.array(within)[:, column]), abs=1e-9
        )
        assert measured.within_effect_interval[column] == pytest.approx(
            interval(np.array(shares)[:, column]), abs=1e-9
        )


def test_labels_are_exchanged_within_sentences_alone():
    """The p-value against every way to choose as many pairs of each sentence."""
    sentence = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 3])
    chosen = np.array([1, 0, 0, 0, 1, 1, 0, 0, 0, 1], bool)
    values = np.array([3.0, 1.0, 0.5, 1.0, 2.0, 2.5, 0.0, 9.0, 9.0, -40.0])[:, None]
    excess, counts, p_value = contrasts.within_sentences(
        values, chosen, sentence, 4, 20_000, np.random.default_rng(0)
    )
    above = values[:, 0].copy()
    for s in range(4):
        above[sentence == s] -= above[sentence == s].mean()
    observed = sum(above[[0, 4, 5]])
    ways = product(combinations([0, 1, 2], 1), combinations([3, 4, 5, 6], 2))
    sums = [sum(above[list(a + b)]) for a, b in ways]
    exact = np.mean([abs(permuted) >= abs(observed) - 1e-9 for permuted in sums])
    assert counts.tolist() == [1, 2, 0, 0]
    assert excess.sum() == pytest.approx(observed)
    # Four standard deviations of a share of 20,000 draws.
    assert p_value[0] == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))


def test_the_p_value_is_two_sided():
    values, chosen = np.array([[3.0], [1.0], [-1.0], [-3.0]]), np.array([1, 1, 0, 0], bool)
    _, _, p_value = contrasts.within_sentences(
        values, chosen, np.zeros(4, int), 1, 4000, np.random.default_rng(0)
    )
    # Of six pairs of values one has the sum 4 and one -4.
    assert p_value[0] == pytest.approx(1 / 3, abs=4 * np.sqrt(2 / 9 / 4000))


def test_equal_values_have_a_p_value_of_one():
    chosen = np.array([True, False, False, True, False])
    drawn = 99, np.random.default_rng(0)
    _, _, p_value = contrasts.within_sentences(
        np.full((5, 1), 2.0), chosen, np.array([0, 0, 0, 1, 1]), 2, *drawn
    )
    assert p_value[0] == 1


def test_sums_that_are_equal_but_for_rounding_count_as_equal():
    values = 0.7 * np.arange(1, 7)[:, None]
    for first in range(3):
        # Each of the three pairs is as far above the mean as below it.
        chosen = np.isin(np.arange(6), (first, 5 - first))
        drawn = 99, np.random.default_rng(0)
        _, _, p_value = contrasts.within_sentences(values, chosen, np.zeros(6, int), 1, *drawn)
        assert p_value[0] == 1


def test_a_p_value_is_never_0():
    chosen = np.arange(1000) < 1
    drawn = 9, np.random.default_rng(0)
    _, _, p_value = contrasts.within_sentences(
        chosen[:, None].astype(float), chosen, np.zeros(1000, int), 1, *drawn
    )
    assert p_value[0] == 1 / 10


def test_the_area_counts_ties_half_and_its_interval_resamples_sentences():
    generator = np.random.default_rng(5)
    sentence = np.repeat(np.arange(10), 6)
    score = generator.integers(0, 5, size=60).astype(float)
    positive = generator.random(60) < 0.2 + 0.1 * score

    def area(rows):
        high, low = score[rows][positive[rows]], score[rows][~positive[rows]]
        return ((high[:, None] > low) + (high[:, None] == low) / 2).mean()

    resamples = resample_counts(10, 60)
    discrimination = contrasts.discrimination(score, positive, sentence, resamples)
    assert discrimination.auc == pytest.approx(area(np.arange(60)))
    drawn = [
        area(np.concatenate([np.tile(np.flatnonzero(sentence == s), int(c[s])) for s in range(10)]))
        for c in resamples
    ]
    assert discrimination.interval == pytest.approx(interval(np.array(drawn)))
    assert (discrimination.positives, discrimination.negatives) == (
        positive.sum(),
        (~positive).sum(),
    )
    for count in (0, contrasts.FEWEST - 1, 60 - contrasts.FEWEST + 1, 60):
        nothing = contrasts.discrimination(score, np.arange(60) < count, sentence, resamples)
        assert nothing.auc is None and nothing.interval is None
        assert (nothing.positives, nothing.negatives) == (count, 60 - count)
    for count in (contrasts.FEWEST, 60 - contrasts.FEWEST):
        told = contrasts.discrimination(score, np.arange(60) < count, sentence, resamples)
        assert told.auc is not None


def test_resamples_that_lack_one_kind_of_pairs_have_no_area():
    sentence, score = np.repeat(np.arange(3), 12), np.arange(36.0) % 7
    positive, areas = sentence == 0, []
    resamples = resample_counts(3, 200)
    for counts in resamples:
        rows = np.repeat(np.arange(36), counts[sentence].astype(int))
        high, low = score[rows][positive[rows]], score[rows][~positive[rows]]
        if len(high) and len(low):
            areas.append(((high[:, None] > low) + (high[:, None] == low) / 2).mean())
    assert 0 < len(areas) < 200
    told = contrasts.discrimination(score, positive, sentence, resamples)
    assert told.interval == pytest.approx(interval(np.array(areas)))


def test_a_resample_without_a_sentence_of_both_groups_shows_no_excess():
    values, chosen = np.array([[3.0], [1.0], [2.0], [2.0]]), np.arange(4) < 1
    measured = contrasts.contrast(values, chosen, np.array([0, 0, 1, 2]), 3, samples=200)
    assert (measured.mixed_sentences, measured.within[0]) == (1, 1)
    assert measured.within_interval.tolist() == [[0, 1]]


def test_without_pairs_nothing_differs():
    nothing = np.zeros(0, int)
    measured = contrasts.contrast(np.zeros((0, 2)), nothing > 0, nothing, 5, samples=40)
    assert (measured.count, measured.other_count, measured.mixed_sentences) == (0, 0, 0)
    assert measured.mean.tolist() == measured.other_mean.tolist() == [0, 0]
    assert measured.effect.tolist() == measured.within.tolist() == [0, 0]
    assert measured.effect_interval.tolist() == [[0, 0], [0, 0]]
    assert measured.p_value.tolist() == [1, 1]


def test_rank_correlation_is_spearmans():
    generator = np.random.default_rng(7)
    x = generator.integers(0, 6, size=80).astype(float)
    y = x + generator.normal(size=80) * 3
    sentence = np.repeat(np.arange(20), 4)
    resamples = resample_counts(20, 100)
    value, ends = contrasts.rank_correlation(x, y, sentence, resamples)
    assert value == pytest.approx(spearmanr(x, y).statistic)
    ranks = np.stack([rankdata(x), rankdata(y)])
    drawn = [
        np.corrcoef(np.repeat(ranks, np.repeat(counts, 4).astype(int), axis=1))
        for counts in resamples
    ]
    assert ends == pytest.approx(interval(np.array(drawn)[:, 0, 1]))


def test_the_strongest_share_is_exact_and_nothing_is_never_strong():
    values = np.array([0.0, 3.0, 3.0, 1.0, 3.0] + [0.0] * 15)
    assert np.flatnonzero(contrasts.strongest(values)).tolist() == [1, 2]
    # Nothing at all is not strong, even where that leaves fewer than the share.
    assert np.flatnonzero(contrasts.strongest(np.array([0.0, 3.0] + [0.0] * 18))).tolist() == [1]
    assert not contrasts.strongest(np.zeros(20)).any()
    # The share is of the nearest whole number of pairs.
    assert [contrasts.strongest(np.ones(pairs)).sum() for pairs in (14, 16)] == [1, 2]
