"""The two claims, with data on each side of the decision."""

import pytest

from padir.analysis.verdicts import FEWEST, claims_of


def analysis(mixed=FEWEST, **changes):
    contrast = {
        "mean": 0.1, "other_mean": 0.2, "effect": -0.3, "effect_interval": [-0.4, -0.2],
        "difference_interval": [-0.2, -0.1], "p_value": 0.01, "within": -0.05,
        "within_effect": -0.2, "within_effect_interval": [-0.5, 0.05],
    }  # fmt: skip
    names = ("self_attention mean", "total_variation mean", "cosine mean")
    contrasts = {name: contrast | changes.get(name.split()[0], {}) for name in names}
    return {
        "pass": 1, "mixed_sentences": mixed, "stuttering": 30, "other": 300, "contrasts": contrasts
    }  # fmt: skip


def verdicts(**changes):
    return [claim["verdict"] for claim in claims_of(analysis(**changes))]


def test_clear_differences_reproduce_both_claims():
    assert verdicts() == ["reproduced", "reproduced"]


@pytest.mark.parametrize(
    "change",
    [
        {"effect_interval": [0.01, 0.1]},
        {"effect_interval": [-0.1, 0.21]},
        {"within_effect_interval": [0.001, 0.1]},
        {"within_effect_interval": [-0.1, 0.21]},
    ],
)
def test_larger_self_attention_or_too_little_data_speaks_against_the_first(change):
    assert verdicts(self_attention=change) == ["not reproduced", "reproduced"]


@pytest.mark.parametrize("name", ["effect_interval", "within_effect_interval"])
@pytest.mark.parametrize(
    ("ends", "verdict"),
    [([0.0, 0.19], "reproduced"), ([-0.1, 0.2], "not reproduced")],
)
def test_an_interval_from_0_does_not_lie_above_it_nor_one_up_to_the_margin_below(
    name, ends, verdict
):
    assert verdicts(self_attention={name: ends}) == [verdict, "reproduced"]


@pytest.mark.parametrize("name", ["total_variation", "cosine"])
@pytest.mark.parametrize(
    "change", [{"difference_interval": [-0.2, 0.0]}, {"p_value": 0.05}, {"within": 0.0}]
)
def test_both_distances_have_to_pass_both_tests(name, change):
    assert verdicts(**{name: change}) == ["reproduced", "not reproduced"]


def test_claims_state_the_numbers_that_decide_them():
    first, second = claims_of(
        analysis(
            self_attention={"mean": 0.31, "other_mean": 0.42, "effect_interval": [-0.6, -0.5]},
            total_variation={"mean": 0.13, "other_mean": 0.23, "difference_interval": [-0.2, -0.1]},
            cosine={"mean": 0.07, "other_mean": 0.08, "difference_interval": [-0.02, -0.01]},
        )
    )
    assert "pass 1: 0.310 against 0.420" in first["measured"]
    assert "30 stuttering pairs, 300 others" in first["measured"]
    assert "total variation 0.130 against 0.230" in second["measured"]
    assert "cosine 0.070 against 0.080" in second["measured"]
    assert (first["interval"], second["interval"]) == ([-0.6, -0.5], [-0.2, -0.1])


def test_few_stutters_decide_nothing():
    for claim in claims_of(analysis(mixed=FEWEST - 1)):
        assert claim["verdict"] == "not run"
        assert claim["interval"] is None
        assert "19 sentences with a stutter at pass 1; 20 are needed" in claim["measured"]


def test_each_number_of_a_claim_stands_at_its_word():
    numbers = {
        "mean": 0.31, "other_mean": 0.42, "effect": 0.11, "effect_interval": [-0.06, 0.07],
        "within": 0.0123, "within_effect": 0.13, "within_effect_interval": [-0.08, 0.09],
        "p_value": 0.0456, "difference_interval": [-0.02, -0.01],
    }  # fmt: skip
    cosine = {"effect": -0.21, "within": -0.0321, "p_value": 0.0765}
    first, second = claims_of(
        analysis(self_attention=numbers, total_variation=numbers, cosine=numbers | cosine)
    )
    assert first["measured"] == (
        "pass 1: 0.310 against 0.420 (mean over layers, heads and directions), effect 0.11; above"
        " the mean of the own sentence by 0.0123, which is 0.13 [-0.08, 0.09] deviations,"
        " permutation p 0.0456; 30 stuttering pairs, 300 others"
    )
    assert second["measured"] == (
        "pass 1: total variation 0.310 against 0.420, effect 0.11, difference within sentences"
        " 0.0123, permutation p 0.0456; cosine 0.310 against 0.420, effect -0.21, difference within"
        " sentences -0.0321, permutation p 0.0765; 30 stuttering pairs"
    )
    assert first["test"].endswith(" do not lie above 0 and lie below 0.2")
    assert second["test"].endswith(" p < 0.05")
