"""The table of ablations and the claims it decides, by hand."""

import math
from pathlib import Path

import pytest

from padir.config.read import load_config
from padir.config.rows import Row
from padir.report.ablations import differing_settings
from padir.report.claim_list import CLAIMS
from tests.unit.report.conftest import PAIR_BLEU

ROOT = Path(__file__).resolve().parents[3]
PAIR = {"base": "whole/padir/T4", "variant": "one_stage/padir/T4"}
# Student's t of 2 degrees: its 97.5% point, from tables; its two tails have a closed form.
T_2 = 4.3027
# The smallest two-sided p of 200 resamples.
LEAST_P = 2 / 201


def two_tails(t: float) -> float:
    return 1 - t / math.sqrt(2 + t * t)


def lines(made_up) -> dict:
    return {str(row["name"]): row for row in made_up.table("ablations").rows}


def record(made_up, claim: str) -> dict:
    return next(entry for entry in made_up.claims() if entry["id"] == claim)


def asked(made_up, *entries: dict) -> None:
    made_up.evaluate(ablations=list(entries))


def test_a_line_has_the_mean_difference_and_its_interval_by_hand(made_up):
    made_up.pair()
    line = lines(made_up)["second_stage"]
    assert (line["base"], line["variant"]) == ("whole/padir/T4", "one_stage/padir/T4")
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
    assert (line["final"], *line["final_interval"]) == pytest.approx((0, 0, 0))
    assert line["verdict"] == "helps"


def test_p_values_are_corrected_over_the_whole_table(made_up):
    made_up.pair()
    table = lines(made_up)
    # Two lines have the least p there is, thrice that after correction; none may be below it.
    assert [row["p_value"] for row in table.values()] == pytest.approx([3 * LEAST_P] * 3)
    asked(made_up, made_up.settings["evaluation"]["ablations"][0])
    alone = lines(made_up)["second_stage"]
    assert alone["p_value"] == pytest.approx(two_tails(2.5 / (0.5 / math.sqrt(3))), abs=0.004)


def test_one_comparison_under_two_names_is_corrected_once(made_up):
    made_up.pair()
    entry = made_up.settings["evaluation"]["ablations"][0]
    asked(made_up, entry)
    (alone,) = lines(made_up).values()
    turned = {"name": "turned", "base": entry["variant"], "variant": entry["base"]}
    asked(made_up, entry, {**entry, "name": "again"}, turned)
    table = lines(made_up)
    assert len(table) == 3
    assert {row["p_value"] for row in table.values()} == {alone["p_value"]}
    (note,) = (note for note in made_up.table("ablations").notes if note.startswith("p: "))
    assert "Holm's method for the number of pairs of rows that this table compares, 1." in note


def test_fewer_than_three_common_seeds_decide_nothing(made_up):
    made_up.pair()
    table = lines(made_up)
    seeds = {name: row["seeds"] for name, row in table.items()}
    assert seeds == {"second_stage": "0, 1, 2", "distillation": "0", "less_known": "0, 1"}
    row = table["distillation"]
    # Seed 0 alone: 39.5 - 24, not the mean of both seeds.
    assert row["difference"] == pytest.approx(15.5)
    assert (row["over"], row["verdict"]) == ("sentences only", "not decided: fewer than 3 seeds")
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
    asked(made_up, {"name": "second_stage", **PAIR})
    assert lines(made_up)["second_stage"]["verdict"] == verdict
    said = "reproduced" if verdict == "helps" else "not reproduced"
    assert record(made_up, "second_stage")["verdict"] == said


def test_noise_of_the_sentences_widens_the_interval_over_seeds(made_up):
    made_up.pair()
    asked(made_up, {"name": "second_stage", **PAIR})
    wide = [28.5 + 4 * (-1) ** number for number in range(200)]
    for seed, value in enumerate((28.0, 28.5, 29.0)):
        replicates = {
            "samples": 200, "seed": 12345, "bleu": wide, "stutter": [0.2] * 200,
            "stutter_before_drop": [5.0] * 200,
        }  # fmt: skip
        made_up.score("one_stage/padir/T4", seed, bleu=value, replicates=replicates)
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
    entry = {
        "name": "remasking",
        "base": "whole/padir/T4",
        "variant": "one_stage/padir/T4",
        "helps": False,
    }
    asked(made_up, entry)
    assert record(made_up, "remasking")["verdict"] == verdict


def test_a_claims_test_says_which_entry_decides_it():
    says = {claim.id: claim.test.__doc__ for claim in CLAIMS if claim.part == "ablations"}
    # Claims with an `entry` of another name than their id.
    entries = {"custom_vocabulary": "vocabulary"}
    asked = load_config([ROOT / "config/config.yaml"]).evaluation.ablations
    helps = {entry.name: entry.helps for entry in asked}
    assert helps["second_stage"] and not helps["remasking"]
    for claim, text in says.items():
        name = entries.get(claim, claim)
        assert f"every entry {name} of evaluation.ablations" in text
        assert name not in helps or ("within 1 of 0" in text) == (not helps[name])


def test_claims_come_from_the_lines(made_up):
    made_up.pair()
    claim = record(made_up, "second_stage")
    assert (claim["verdict"], claim["seeds"]) == ("reproduced", [0, 1, 2])
    assert "whole/padir/T4 against one_stage/padir/T4: BLEU 31.00 and 28.50" in claim["measured"]
    assert claim["interval"] == pytest.approx([1.26, 3.74], abs=0.1)
    assert claim["test"] == "padir.report.ablations.claim_test"
    few = record(made_up, "distillation")
    assert few["verdict"] == "not run" and "fewer than 3 seeds" in few["measured"]
    absent = record(made_up, "unmasking")
    assert absent["verdict"] == "not run" and absent["command"].endswith("everything")
    assert absent["measured"] == "no entry unmasking under evaluation.ablations"
    # A question that the paper does not ask is in the table alone.
    assert "less_known" in lines(made_up)
    assert "less_known" not in {entry["id"] for entry in made_up.claims()}


def test_a_claim_of_several_entries_needs_them_all(made_up):
    made_up.pair()
    for training, values in PAIR_BLEU.items():
        for seed, bleu in enumerate(values):
            made_up.score(f"{training}/padir/T8", seed, bleu=bleu)
    again = {"base": "whole/padir/T8", "variant": "one_stage/padir/T8", "name": "second_stage"}
    there = {"name": "second_stage", **PAIR}
    back = {"name": "second_stage", "base": "one_stage/padir/T4", "variant": "whole/padir/T4"}
    few = {"name": "second_stage", "base": "whole/padir/T4", "variant": "padir_raw/padir/T4"}
    for entries, verdict in (
        ((there, again), "reproduced"),
        ((there, back), "not reproduced"),
        ((there, few), "not run"),
    ):
        asked(made_up, *entries)
        assert record(made_up, "second_stage")["verdict"] == verdict


def test_a_useless_base_decides_nothing_and_a_useless_variant_does(made_up):
    for whole, verdict in ((9.9, "not run"), (10.1, "reproduced")):
        made_up.pair(whole=(whole,) * 3, one_stage=(1.0, 1.1, 1.2))
        asked(made_up, {"name": "second_stage", **PAIR})
        claim = record(made_up, "second_stage")
        assert (claim["verdict"], claim["seeds"]) == (verdict, [0, 1, 2])
        assert ("below 10 nothing is decided" in claim["measured"]) == (verdict == "not run")


def test_an_entry_that_contradicts_its_claim_decides_nothing(made_up):
    made_up.pair()
    entry = {
        "name": "second_stage",
        "base": "whole/padir/T4",
        "variant": "one_stage/padir/T4",
        "helps": False,
    }
    asked(made_up, entry)
    claim = record(made_up, "second_stage")
    assert (claim["verdict"], claim["interval"]) == ("not run", None)
    assert claim["measured"].endswith("must say helps: true")


def test_a_missing_comparison_has_a_line(made_up):
    made_up.pair()
    asked(
        made_up,
        {"name": "searched", "base": "ar/beam", "variant": "whole/padir/T4"},
        {"name": "unscored", "base": "whole/padir/T4", "variant": "one_stage/padir/T1"},
        {"name": "elsewhere", "base": "padir_raw/padir/T4", "variant": "padir/padir/T4"},
    )
    path = made_up.score("padir/padir/T4", 0)
    path.unlink()
    table = lines(made_up)
    assert table["searched"]["verdict"] == "not decided: fewer than 3 seeds"
    assert {table[name]["verdict"] for name in ("unscored", "elsewhere")} == {"not run"}
    assert table["unscored"]["p_value"] is None


def test_rows_of_one_training_differ_in_decoder_and_passes(made_up):
    made_up.settings["decoders"] = {"kept": {"remask": "none", "drop_repeats": "tokens"}}
    rows = (Row.parse(text) for text in ("padir/padir/T4", "padir/kept/T8"))
    assert differing_settings(made_up.config, *rows) == {
        "decoder.remask": ("stutter", "none"),
        "decoder.drop_repeats": ("words", "tokens"),
        "passes": (4, 8),
    }


def test_a_setting_that_is_left_out_of_what_is_dumped_has_its_value(made_up):
    made_up.train(
        other=made_up.settings["trainings"]["padir"] | {"objective": {"consistency": 0.5}}
    )
    made_up.settings["decoders"] = {"rounded": {"weights": "bfloat16"}}
    rows = (Row.parse(text) for text in ("padir/padir/T4", "other/rounded/T4"))
    assert differing_settings(made_up.config, *rows) == {
        "objective.consistency": (0.0, 0.5),
        "decoder.weights": ("float32", "bfloat16"),
    }


@pytest.mark.parametrize("swapped", [False, True])
def test_another_vocabulary_differs_by_its_name(made_up, swapped):
    made_up.settings["datasets"]["toy"]["vocabularies"] = {"generic": {}}
    made_up.train(other=made_up.settings["trainings"]["padir"] | {"vocabulary": "generic"})
    base, variant = ("other", "padir") if swapped else ("padir", "other")
    asked(
        made_up,
        {"name": "vocabulary", "base": f"{base}/padir/T4", "variant": f"{variant}/padir/T4"},
    )
    made_up.all()
    shown = "vocabulary generic | null" if swapped else "vocabulary null | generic"
    assert lines(made_up)["vocabulary"]["settings"] == shown
