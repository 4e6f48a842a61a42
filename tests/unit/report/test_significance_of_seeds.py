"""Corrected p-values, and intervals over seeds and sentences, against hand-worked answers."""

import numpy as np
import pytest

from padir.score.significance import SEED_DRAWS, holm, over_seeds


def holm_by_definition(p_values):
    """The least level at which Holm's step-down procedure rejects each hypothesis."""
    contrasts = []
    for p_value in p_values:
        # Rejected at a level if it and all smaller ones pass their own step.
        steps = [
            (len(p_values) - rank) * p for rank, p in enumerate(sorted(p_values)) if p <= p_value
        ]
        contrasts.append(min(1.0, max(steps)))
    return contrasts


def test_holm_by_hand():
    # Sorted .005 .01 .03 .04: times 4, 3, 2, 1 gives .02 .03 .06 .04, and the last must not fall.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_holm_by_its_definition():
    rng = np.random.default_rng(0)
    for count in (2, 5, 11):
        p_values = (rng.random(count) ** 3).tolist()
        assert holm(p_values) == pytest.approx(holm_by_definition(p_values))


def test_two_seeds_leave_the_seeds_out():
    contrast = over_seeds([1.0, 9.0], np.linspace([0, 8], [2, 10], 81).T)
    assert (contrast.difference, contrast.seeds_resampled) == (5.0, False)
    # Means from 4 to 6 in steps of 1/40; two of 81 are left out at either end.
    assert (contrast.low, contrast.high) == pytest.approx((4.05, 5.95))
    assert contrast.p_value == pytest.approx(2 / 82)


def test_differences_of_seeds_are_averaged():
    differences = [0.0, 0.0, 6.0]
    contrast = over_seeds(differences, np.repeat([differences], 40, axis=0).T)
    assert contrast.difference == 2
    # The draws for the seeds are symmetric around the mean.
    assert (contrast.low + contrast.high) / 2 == pytest.approx(2, abs=0.4)


def test_more_resamples_than_draws_for_the_seeds_are_all_kept():
    replicates = np.linspace(-8.0, 8.0, SEED_DRAWS + 1) + np.zeros((3, 1))
    contrast = over_seeds([0.0] * 3, replicates)
    # The seeds agree, so that the resamples alone make the interval.
    assert (contrast.low, contrast.high) == pytest.approx((-7.6, 7.6), abs=0.01)


def test_nothing_differs_from_itself():
    for count in (1, 3):
        contrast = over_seeds([0.0] * count, np.zeros((count, 100)))
        assert (contrast.low, contrast.high, contrast.p_value) == (0.0, 0.0, 1.0)


def test_three_seeds_widen_the_interval_by_students_t():
    contrast = over_seeds([1.0, 2.0, 3.0], np.repeat([[1.0], [2.0], [3.0]], 100, axis=1))
    half = 4.3027 / np.sqrt(3)
    assert (contrast.low, contrast.high) == pytest.approx((2 - half, 2 + half), abs=0.15)
    # t = 2 sqrt(3) with 2 degrees.
    assert contrast.p_value == pytest.approx(1 - np.sqrt(12 / 14), abs=0.01)
    assert contrast.seeds_resampled


def test_false_positive_rate_is_at_most_the_level_of_the_test():
    rng = np.random.default_rng(1)
    false = 0
    for _ in range(300):
        effects, common = rng.normal(0, 1, 3), rng.normal(0, 0.1)
        noise = rng.normal(0, 0.1, 200)
        contrast = over_seeds((effects + common).tolist(), (effects + common)[:, None] + noise)
        false += contrast.p_value < 0.05
    # Under a rate of 5%, more than 27 of 300 happen one time in a thousand.
    assert false <= 27
