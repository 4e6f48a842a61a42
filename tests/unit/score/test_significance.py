"""Resampling: hand-worked answers, pairing, and the size of the tests."""

import itertools

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap, norm

from padir.score import significance
from padir.score.bleu import CorpusCounts


def mean_metric(values, signature: str = "mean") -> CorpusCounts:
    """A metric whose corpus score is 100 times the mean: easy to check by hand."""
    table = np.stack([np.asarray(values, np.float64), np.ones(len(values))], axis=1)
    return CorpusCounts(table, lambda sums: 100 * sums[:, 0] / sums[:, 1], signature)


def test_each_resample_has_as_many_sentences():
    counts = significance.resample_counts(17, 50)
    assert counts.shape == (50, 17)
    assert (counts.sum(axis=1) == 17).all()
    assert np.array_equal(counts, significance.resample_counts(17, 50))


def test_chunks_do_not_change_the_draw(monkeypatch):
    whole = significance.resample_counts(31, 20)
    monkeypatch.setattr(significance, "_CHUNK_CELLS", 31 * 3)
    assert np.array_equal(whole, significance.resample_counts(31, 20))


def test_chunks_do_not_change_the_p_value(monkeypatch):
    rng = np.random.default_rng(0)
    pair = mean_metric(rng.random(30) + 0.1), mean_metric(rng.random(30))
    whole = significance.randomisation_p_value(*pair, 200)
    monkeypatch.setattr(significance, "_CHUNK_CELLS", 30 * 7)
    assert significance.randomisation_p_value(*pair, 200) == whole


def test_interval_leaves_out_a_fortieth():
    assert significance.interval(np.arange(80.0)) == (2.0, 77.0)
    assert significance.interval(np.array([3.0])) == (3.0, 3.0)


def test_bootstrap_interval_has_the_width_of_theory():
    values = np.random.default_rng(0).random(400) < 0.3
    metric = mean_metric(values)
    counts = significance.resample_counts(400, 4000)
    low, high = significance.interval(significance.replicates(metric, counts))
    share = values.mean()
    expected = 2 * 1.96 * 100 * np.sqrt(share * (1 - share) / 400)
    # The percentiles of 4000 replicates scatter by about 2.5% of the width.
    assert high - low == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("size", [1, 2, 7, 8])
def test_the_interval_of_a_median_is_that_of_numpy_s_medians(size):
    values = np.random.default_rng(1).random(size).round(1)
    resamples = significance.resample_counts(size, 200)
    medians = [np.median(np.repeat(values, counts.astype(int))) for counts in resamples]
    interval = significance.median_interval(values.tolist(), 200)
    assert interval == pytest.approx(significance.interval(np.array(medians)))


@pytest.mark.parametrize("percent", [50, 99])
def test_the_interval_of_a_ratio_of_percentiles_is_scipys(percent):
    draw = np.random.default_rng(5)
    theirs = draw.lognormal(2, 0.4, 1_000)
    ours = theirs / draw.lognormal(0.7, 0.1, 1_000)
    found = significance.percentile_ratio_interval(theirs.tolist(), ours.tolist(), percent)

    def ratio(above, below):
        return np.percentile(above, percent) / np.percentile(below, percent)

    expected = bootstrap(
        (theirs, ours),
        ratio,
        n_resamples=4_000,
        paired=True,
        vectorized=False,
        method="percentile",
        rng=np.random.default_rng(6),
    ).confidence_interval
    assert found == pytest.approx(tuple(expected), rel=0.02)
    # Paired: a sentence's two times are drawn together.
    twice = (2 * theirs).tolist(), theirs.tolist()
    doubled = significance.percentile_ratio_interval(*twice, percent)
    assert doubled == pytest.approx((2, 2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sentences", "percent", "low", "high"),
    [(60, 99, 0.65, 0.85), (150, 99, 0.8, 0.92), (1_000, 99, 0.92, 1.0), (60, 50, 0.92, 1.0)],
)
def test_high_percentiles_of_few_sentences_are_covered_too_seldom(
    monkeypatch, sentences, percent, low, high
):
    """The share of 300 data sets whose interval holds the true ratio: 0.75, 0.88, 0.96, 0.97."""
    monkeypatch.setattr(significance, "FEWEST_BEYOND", 0)
    draw = np.random.default_rng(11)
    spread = np.array([0.5, 0.2])[:, None]
    above, below = np.exp(spread[:, 0] * norm.ppf(percent / 100))
    held = 0
    for _ in range(300):
        times = np.exp(spread * draw.standard_normal((2, sentences))).tolist()
        start, end = significance.percentile_ratio_interval(*times, percent)
        held += start <= above / below <= end
    assert low < held / 300 < high


@pytest.mark.parametrize(("percent", "fewest"), [(50, 20), (90, 100), (99, 1_000)])
def test_a_percentile_beyond_which_few_sentences_lie_has_no_interval(percent, fewest):
    times = np.random.default_rng(7).lognormal(2, 0.4, fewest).tolist()
    assert significance.percentile_ratio_interval(times, times, percent) == (1, 1)
    assert significance.percentile_ratio_interval(times[1:], times[1:], percent) is None


def test_a_constant_difference_has_an_interval_of_no_width():
    # The system is better by exactly one half on every sentence: no spread at all.
    base = np.arange(10.0)
    result = significance.paired(mean_metric(base + 0.5), mean_metric(base), samples=100)
    assert (result.difference, result.low, result.high) == pytest.approx((50.0, 50.0, 50.0))
    worse = significance.paired(mean_metric(base), mean_metric(base + 0.5), samples=100)
    assert worse.difference == pytest.approx(-50.0)


def test_a_system_against_itself_is_not_significant():
    metric = mean_metric([1.0, 0.0, 1.0])
    result = significance.paired(metric, metric, samples=100)
    assert (result.p_value, result.p_value_bootstrap) == (1.0, 1.0)


def test_randomisation_by_hand():
    # Two sentences: of the four exchanges two have the difference 1 again, as -1 or 1.
    system, baseline = mean_metric([1.0, 1.0]), mean_metric([0.0, 0.0])
    p_value = significance.randomisation_p_value(system, baseline, 4000)
    assert p_value == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / 4000))
    # A difference of 0 between unlike outputs is reached by every exchange.
    system, baseline = mean_metric([1.0, 0.0]), mean_metric([0.0, 1.0])
    assert significance.randomisation_p_value(system, baseline, 99) == 1.0


@pytest.mark.parametrize("changed", range(8))
def test_randomisation_of_few_changed_sentences_is_that_of_all_exchanges(changed):
    rng = np.random.default_rng(changed)
    baseline = rng.random(30)
    gains = np.where(np.arange(30) < changed, rng.integers(1, 4, size=30) / 4, 0.0)
    gains[1] *= -1
    exchanges = [gains[:changed] @ signs for signs in itertools.product((-1, 1), repeat=changed)]
    exact = np.mean(np.abs(exchanges) >= abs(gains.sum()) - 1e-9)
    p_value = significance.randomisation_p_value(
        mean_metric(baseline + gains), mean_metric(baseline), 4000
    )
    assert p_value == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 4000))


def test_p_values_are_uniform_under_the_null():
    rng = np.random.default_rng(3)
    small = [
        significance.randomisation_p_value(
            mean_metric(rng.random(60)), mean_metric(rng.random(60)), 400
        )
        <= 0.1
        for _ in range(200)
    ]
    # Binomial(200, .1): 20 expected, four standard deviations are 17.
    assert 3 <= sum(small) <= 37


def test_other_signature_or_size_is_refused():
    metric, other = mean_metric([1.0, 2.0], "BLEU|a"), mean_metric([1.0, 2.0], "BLEU|b")
    with pytest.raises(ValueError, match=r"signatures differ: system BLEU\|a, baseline BLEU\|b"):
        significance.paired(metric, other, samples=50)
    with pytest.raises(ValueError, match="sentences differ: system 2, baseline 1"):
        significance.paired(metric, mean_metric([1.0], "BLEU|a"), samples=50)


def test_wilson_by_hand():
    low, high = significance.share_interval(0, 10)
    assert low == pytest.approx(0.0, abs=1e-12)
    z = 1.959963984540054**2
    assert high == pytest.approx(z / (10 + z))
    assert significance.share_interval(10, 10)[1] == pytest.approx(1.0)


def test_wilson_is_scipys():
    theirs = binomtest(50, 100).proportion_ci(method="wilson")
    assert significance.share_interval(50, 100) == pytest.approx((theirs.low, theirs.high))
