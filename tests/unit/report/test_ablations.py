"""The table of ablations and the claims it decides, by hand."""

import math

import pytest

from padir.config.experiment import Ablation
from padir.report import claims
from padir.report.ablations import ablations_table, differing_settings
from padir.report.results import load_results
from padir.report.selection import compared_decoding

# Student's t of 2 degrees: its 97.5% point, from tables; its two tails have a closed form.
T_2 = 4.3027
# The smallest two-sided p of 200 resamples.
LEAST_P = 2 / 201


def two_tails(t: float) -> float:
    return 1 - t / math.sqrt(2 + t * t)


def load(made_up):
    return load_results(made_up.folder, made_up.config)


def lines(made_up) -> dict:
    return {str(row["name"]): row for row in ablations_table(load(made_up)).rows}


def record(made_up, claim: str) -> dict:
    return next(entry for entry in claims.decide(load(made_up)) if entry["id"] == claim)


def asked(made_up, *entries: dict) -> None:
    made_up.settings["evaluation"] = {"ablations": list(entries)}


def test_a_line_by_hand(made_up):
    made_up.pair()
    line = lines(made_up)["second_stage"]
    assert (line["base"], line["variant"], line["decoding"]) == ("whole", "one_stage", "T4")
    assert line["settings"] == "objective.stages 2 | 1"
    assert (line["seeds"], line["over"]) == ("0, 1, 2", "sentences and seeds")
    assert (line["base_bleu"], line["variant_bleu"]) == (31.0, 28.5)
    # Differences 2, 2.5 and 3: standard deviation 0.5; the noise of the sentences cancels out.
    half = T_2 * 0.5 / math.sqrt(3)
    assert line["difference"] == pytest.approx(2.5)
    assert line["difference_interval"] == pytest.approx((2.5 - half, 2.5 + half), abs=0.1)
    # Before the drop 3 against 5 at every seed; after it 0.2 for both.
    assert line["stutter"] == pytest.approx(-2.0)
    assert line["stutter_interval"] == pytest.approx((-2.0, -2.0))
    assert line["final"] == pytest.approx(0.0)
    assert line["verdict"] == "helps"


def test_p_values_are_corrected_over_the_whole_table(made_up):
    made_up.pair()
    table = lines(made_up)
    # Two lines have the least p there is, thrice that after correction; none may be below it.
    assert [row["p_value"] for row in table.values()] == pytest.approx([3 * LEAST_P] * 3)
    asked(made_up, made_up.settings["evaluation"]["ablations"][0])
    alone = lines(made_up)["second_stage"]
    assert alone["p_value"] == pytest.approx(two_tails(2.5 / (0.5 / math.sqrt(3))), abs=0.004)


def test_fewer_than_three_common_seeds_decide_nothing(made_up):
    made_up.pair()
    table = lines(made_up)
    seeds = {name: row["seeds"] for name, row in table.items()}
    assert seeds == {"second_stage": "0, 1, 2", "distillation": "0", "less_known": "0, 1"}
    one = table["distillation"]
    # Seed 0 alone: 39.5 - 24, not the mean of both seeds.
    assert one["difference"] == pytest.approx(15.5)
    assert (one["over"], one["verdict"]) == ("sentences only", "not decided: fewer than 3 seeds")
    assert table["less_known"]["difference"] == pytest.approx((30 - 39.5 + 31 - 39.7) / 2)
    assert table["less_known"]["verdict"] == "not decided: fewer than 3 seeds"


@pytest.mark.parametrize(
    ("variant", "verdict"),
    [
        ((28.0, 28.5, 29.0), "helps"),
        ((32.0, 33.5, 35.0), "hurts"),
        # Agreeing in sign, as three seeds do by chance one time in four: 2.5, 1, 0.2.
        ((27.5, 30.0, 31.8), "no difference seen"),
    ],
)
def test_the_verdict_follows_the_seeds(made_up, variant, verdict):
    made_up.pair(one_stage=variant)
    asked(made_up, {"name": "second_stage", "base": "whole", "variant": "one_stage"})
    assert lines(made_up)["second_stage"]["verdict"] == verdict
    said = "reproduced" if verdict == "helps" else "not reproduced"
    assert record(made_up, "second_stage")["verdict"] == said


def test_sentences_count_beside_seeds(made_up):
    made_up.pair()
    asked(made_up, {"name": "second_stage", "base": "whole", "variant": "one_stage"})
    wide = [28.5 + 4 * (-1) ** number for number in range(200)]
    for seed, value in enumerate((28.0, 28.5, 29.0)):
        replicates = {
            "samples": 200, "seed": 12345, "bleu": wide, "stutter": [0.2] * 200,
            "stutter_before_drop": [5.0] * 200,
        }  # fmt: skip
        made_up.score("one_stage", "T4", seed, bleu=value, replicates=replicates)
    line = lines(made_up)["second_stage"]
    # Half of the resamples say 31 - 24.5, the other half 31 - 32.5.
    assert line["difference_interval"][0] < -1.5 and line["difference_interval"][1] > 6.5
    assert line["verdict"] == "no difference seen"


@pytest.mark.parametrize(
    ("variant", "verdict"),
    [
        # Differences -0.05, 0, 0.05 reach 0.12; -0.5, 0, 0.5 reach 1.24, with the same mean.
        ((30.05, 31.0, 31.95), "reproduced"),
        ((30.5, 31.0, 31.5), "not reproduced"),
        # Surely other than 0, and surely within the margin.
        ((29.79, 30.8, 31.81), "reproduced"),
        ((28.79, 29.8, 30.81), "not reproduced"),
        ((31.19, 32.2, 33.21), "not reproduced"),
    ],
)
def test_hardly_matters_is_an_interval_within_one_point(made_up, variant, verdict):
    made_up.pair(one_stage=variant)
    entry = {"name": "remasking", "base": "whole", "variant": "one_stage", "helps": False}
    asked(made_up, entry)
    assert record(made_up, "remasking")["verdict"] == verdict


def test_claims_come_from_the_lines(made_up):
    made_up.pair()
    found = record(made_up, "second_stage")
    assert (found["verdict"], found["seeds"]) == ("reproduced", [0, 1, 2])
    assert "whole against one_stage, T4: BLEU 31.00 and 28.50" in found["measured"]
    assert found["interval"] == pytest.approx([1.26, 3.74], abs=0.1)
    assert found["test"] == "padir.report.ablations.second_stage_helps"
    few = record(made_up, "distillation")
    assert few["verdict"] == "not run" and "fewer than 3 seeds" in few["measured"]
    absent = record(made_up, "unmasking")
    assert absent["verdict"] == "not run" and absent["command"].endswith("ablations claims")
    assert absent["measured"] == "no entry unmasking under evaluation.ablations"
    # A question that the paper does not ask is in the table alone.
    assert "less_known" in lines(made_up)
    assert "less_known" not in {entry["id"] for entry in claims.decide(load(made_up))}


def test_a_claim_of_several_entries_needs_them_all(made_up):
    made_up.pair()
    there = {"name": "second_stage", "base": "whole", "variant": "one_stage"}
    back = {"name": "second_stage", "base": "one_stage", "variant": "whole"}
    few = {"name": "second_stage", "base": "whole", "variant": "padir_raw"}
    for entries, verdict in (
        ((there, there), "reproduced"),
        ((there, back), "not reproduced"),
        ((there, few), "not run"),
    ):
        asked(made_up, *entries)
        assert record(made_up, "second_stage")["verdict"] == verdict


def test_an_entry_that_contradicts_its_claim_decides_nothing(made_up):
    made_up.pair()
    entry = {"name": "second_stage", "base": "whole", "variant": "one_stage", "helps": False}
    asked(made_up, entry)
    found = record(made_up, "second_stage")
    assert (found["verdict"], found["interval"]) == ("not run", None)
    assert found["measured"].endswith("must say helps: true")


def test_what_is_not_there_is_a_line_too(made_up):
    made_up.pair()
    asked(
        made_up,
        {"name": "searched", "base": "ar", "variant": "whole"},
        {"name": "unscored", "base": "whole", "variant": "one_stage", "decoding": "T1"},
    )
    for seed in range(3):
        made_up.score("whole", "T1", seed, bleu=1.0).unlink()
    table = lines(made_up)
    assert {row["verdict"] for row in table.values()} == {"not run"}
    assert table["searched"]["decoding"] is None
    assert (table["unscored"]["decoding"], table["unscored"]["p_value"]) == ("T1", None)


@pytest.mark.parametrize(
    ("base", "variant", "given", "expected"),
    [
        (["T1", "T2", "T8"], ["T8", "T2", "T1", "T4"], None, "T2"),
        (["T8", "T10"], ["T10", "T8"], None, "T10"),
        (["beam", "greedy"], ["greedy", "beam"], None, "beam"),
        (["T1"], ["T2"], None, None),
        (["T1", "T10"], ["T1", "T10"], "T10", "T10"),
    ],
)
def test_the_decoding_compared(made_up, base, variant, given, expected):
    system = "ar" if "beam" in base else "padir"
    made_up.settings["models"] = made_up.settings["models"] | {
        "one": {"system": system, "decode": base},
        "other": {"system": system, "decode": variant},
    }
    entry = Ablation(name="x", base="one", variant="other", decoding=given)
    assert compared_decoding(made_up.config, entry) == expected


def test_settings_that_only_say_what_to_run_do_not_differ(made_up):
    made_up.settings["models"] = made_up.settings["models"] | {
        "borrowed": {
            **{"targets": "own", "decode": ["T4"], "seeds": [0], "parameters": "padir"},
            "decoding": {"remask": "none", "drop_repeats": "tokens"},
        },
    }
    models = made_up.config.models
    assert differing_settings(models["padir"], models["borrowed"]) == {
        "decoding.remask": ("stutter", "none"),
        "decoding.drop_repeats": ("words", "tokens"),
    }


@pytest.mark.parametrize("swapped", [False, True])
def test_another_vocabulary_differs_by_its_name(made_up, swapped):
    made_up.settings["datasets"]["toy"]["vocabularies"] = {"generic": {}}
    padir = made_up.settings["models"]["padir"]
    made_up.settings["models"] = made_up.settings["models"] | {
        "other": padir | {"vocabulary": "generic"}
    }
    base, variant = ("other", "padir") if swapped else ("padir", "other")
    asked(made_up, {"name": "vocabulary", "base": base, "variant": variant})
    shown = "vocabulary generic | null" if swapped else "vocabulary null | generic"
    assert lines(made_up)["vocabulary"]["settings"] == shown
