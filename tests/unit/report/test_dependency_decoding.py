"""The tables of decoders that mind dependence, by hand."""

import pytest

from padir.files import InputError
from padir.report.dependency_decoding import dependency_decoding_table, redundancy_table
from padir.report.results import load_results
from padir.score.redundancy import KINDS
from tests.unit.report.conftest import NOISE

PLAIN = {"decode": ["T1", "T4"], "seeds": [0, 1, 2]}


def add(made_up, stutter=2.0, bleu=(30.5, 31.0, 32.0), share=0.8, seeds=(0.0, 0.0, 0.0)):
    """A joint decoding of the parameters of `plain`, which stutters 5 times per 100 words, and on
    one seed so much more."""
    joint = {**PLAIN, "parameters": "plain", "decoding": {"joint": "neighbours"}}
    models = {"plain": {**PLAIN}, "joint": joint}
    made_up.settings["models"] = {**made_up.settings["models"], **models}
    made_up.settings["evaluation"] = {"dependency": ["joint"]}
    values = {"plain": ((30.0, 30.5, 31.5), 5.0, 0.75), "joint": (bleu, stutter, share)}
    for model, (several, per_100, valid) in values.items():
        for seed, value in enumerate(several):
            rate = per_100 + (seeds[seed] if model == "plain" else 0.0)
            rates = {"per_100": rate, "low": rate, "high": rate, "per_sentence": rate}
            kinds = {kind: {"per_100": number} for number, kind in enumerate(KINDS)}
            more = {
                "validity": {"share": valid, "low": valid, "high": valid},
                "redundancy": {
                    "related": "lexeme", "words": kinds, "length_ratio": 0.98,
                    "words_before_drop": {kind: {"per_100": rate} for kind in KINDS},
                    "dropped": {"per_100": 10 * rate},
                },
                "stutter": {"words": rates, "words_before_drop": rates},
                "replicates": {
                    "samples": 200, "seed": 12345, "bleu": list(value + NOISE),
                    "stutter": [rate] * 200, "stutter_before_drop": list(rate + NOISE / 2),
                    "validity": list(valid + NOISE / 100), "dropped": [10 * rate] * 200,
                },
            }  # fmt: skip
            made_up.score(model, "T4", seed, bleu=value, **more)


def timed(made_up, plain, joint, *times):
    rows = [
        {"model": model, "decoding": "T4", "p50_ms": time, "p90_ms": 9.0, "p99_ms": 9.0,
         "passes_mean": 4.0}
        for model, time in (("plain", plain), ("joint", joint))
    ]  # fmt: skip
    for row, single in zip(rows, times, strict=False):
        row["times_ms"] = single
    made_up.write("latency/toy/xs-xt/dependency.json", {"machine": {"cores": 1}, "rows": rows})


def line(made_up, model="joint"):
    table = dependency_decoding_table(load_results(made_up.folder, made_up.config))
    assert [(row["model"], row["steps"]) for row in table.rows] == [
        ("plain", "T4"), ("joint", "T4"),
    ]  # fmt: skip
    return next(row for row in table.rows if row["model"] == model)


def test_a_line_by_hand(made_up):
    add(made_up)
    timed(made_up, 5.0, 5.5)
    row = line(made_up)
    assert row["changed"] == "joint neighbours"
    assert row["bleu"] == pytest.approx((30.5 + 31 + 32) / 3)
    assert row["bleu_gap"] == pytest.approx(0.5)
    assert row["bleu_interval"] == pytest.approx((0.5, 0.5))
    assert (row["validity"], row["validity_gap"]) == pytest.approx((80, 5))
    assert (row["stutter"], row["stutter_gap"]) == pytest.approx((2, -3))
    assert (row["dropped"], row["dropped_gap"]) == pytest.approx((20, -30))
    assert (row["p50_ms"], row["time"]) == pytest.approx((5.5, 1.1))
    assert row["gain"] == "yes"
    plain = line(made_up, "plain")
    assert (plain["changed"], plain["gain"], plain["bleu_gap"]) == ("plain padir", None, None)


def test_another_system_is_set_against_plain_padir_of_like_cost_and_the_same_seeds(made_up):
    add(made_up)
    # Plain makes two stages a step: twice as many steps of one stage are like it.
    for model in ("plain", "joint"):
        made_up.settings["models"][model] |= {"training": {"steps": 100_000}}
    longer = {**PLAIN, "training": {"steps": 300_000}}
    shorter = {**PLAIN, "training": {"steps": 50_000}}
    other = {**PLAIN, "system": "rdm", "training": {"steps": 200_000}}
    unlike = {**PLAIN, "targets": "own"}
    fewer = {**PLAIN, "seeds": [0], "training": {"steps": 100_000}}
    models = made_up.settings["models"]
    made_up.settings["models"] = {
        "unlike": unlike, "fewer": fewer, "longer": longer, "shorter": shorter, **models,
        "other": other, "once": {**other, "seeds": [1]},
    }  # fmt: skip
    made_up.settings["evaluation"]["dependency"] = [
        "unlike", "fewer", "longer", "shorter", "joint", "other", "once",
    ]  # fmt: skip
    several = {
        "unlike": 20.0, "fewer": 10.0, "longer": 40.0, "shorter": 5.0, "other": 28.0, "once": 27.0,
    }  # fmt: skip
    for model, value in several.items():
        for seed in made_up.settings["models"][model]["seeds"]:
            made_up.score(model, "T4", seed, bleu=value + seed)
    table = dependency_decoding_table(load_results(made_up.folder, made_up.config))
    gaps = {row["model"]: row["bleu_gap"] for row in table.rows}
    assert gaps == {
        "unlike": None, "fewer": None, "longer": None, "shorter": None, "plain": None,
        "joint": pytest.approx(0.5),
        "other": pytest.approx(29.0 - (30 + 30.5 + 31.5) / 3), "once": pytest.approx(28.0 - 30.5),
    }  # fmt: skip


def test_targets_and_a_warm_start_are_said_wherever_a_model_stands(made_up):
    add(made_up)
    warm = {**PLAIN, "targets": "own", "training": {"warm_start": "ar"}}
    models = made_up.settings["models"]
    made_up.settings["models"] = {**models, "other": {**warm, "system": "rdm"}}
    made_up.settings["evaluation"]["dependency"] = ["joint", "other"]
    for seed in (0, 1, 2):
        made_up.score("other", "T4", seed, bleu=30.0)
    results = load_results(made_up.folder, made_up.config)
    for table in (dependency_decoding_table(results), redundancy_table(results)):
        targets = {row["model"]: row["targets"] for row in table.rows}
        assert targets == {"plain": "raw", "joint": "raw", "other": "own (encoder of ar)"}


@pytest.mark.parametrize(
    ("change", "joint_ms", "gain"),
    [
        ({}, None, "yes, but not timed"),
        ({}, 6.1, "no: too slow"),
        ({"stutter": 3.5}, 5.0, "no: stutter not halved"),
        # More than half is left, but not surely so.
        ({"stutter": 2.6}, 5.0, "open: stutter"),
        ({"bleu": (29.0, 29.5, 30.5)}, 5.0, "no: bleu worse"),
        # Three seeds that do not agree decide nothing.
        ({"bleu": (25.0, 30.5, 35.0)}, 5.0, "open: bleu"),
        ({"share": 0.7}, 5.0, "no: validity worse"),
        # Seeds of plain lie apart: each is cut by far more than half, or one of them is not.
        ({"stutter": 0.1, "seeds": (-3.0, 0.0, 3.0)}, 5.0, "yes"),
        ({"stutter": 1.5, "seeds": (-3.0, 0.0, 3.0)}, 5.0, "open: stutter"),
        # A resample on which plain does not stutter leaves nothing to take a share of.
        ({"stutter": 0.1, "seeds": (-4.8, -4.8, -4.8)}, 5.0, None),
    ],
)
def test_a_gain_has_to_hold_in_every_measure(made_up, change, joint_ms, gain):
    add(made_up, **change)
    if joint_ms is not None:
        timed(made_up, 5.0, joint_ms)
    assert line(made_up)["gain"] == gain


@pytest.mark.parametrize(
    ("factors", "gain"),
    [
        # Every sentence a tenth slower than plain: sure, though sentences differ much.
        ((1.1, 1.1, 1.1), "yes"),
        ((1.1, 1.1, 1.3), "open: time"),
        ((1.1, 1.3, 1.1), "open: time"),
        ((1.3, 1.3, 1.3), "no: too slow"),
    ],
)
def test_the_time_has_an_interval_over_the_same_sentences(made_up, factors, gain):
    add(made_up)
    plain = [2.0, 5.0, 9.0] * 5
    joint = [time * factor for time, factor in zip(plain, factors * 5, strict=True)]
    timed(made_up, 5.0, 5.0 * factors[1], plain, joint)
    row = line(made_up)
    assert row["gain"] == gain
    low, high = row["time_interval"]
    assert low <= row["time"] <= high
    if len(set(factors)) == 1:
        assert (low, high) == pytest.approx((factors[0], factors[0]))


def test_redundancy_before_and_after_the_drop(made_up):
    add(made_up)
    table = redundancy_table(load_results(made_up.folder, made_up.config))
    row = next(row for row in table.rows if row["model"] == "joint")
    assert [row[f"{kind}_final"] for kind in KINDS] == [0, 1, 2, 3]
    assert [row[f"{kind}_before"] for kind in KINDS] == [2.0] * 4
    assert (row["related"], row["dropped"], row["ratio"]) == ("lexeme", 20.0, 0.98)


def test_models_of_the_table_must_be_there(made_up):
    made_up.settings["evaluation"] = {"dependency": ["none_such"]}
    with pytest.raises(InputError, match=r"evaluation\.dependency holds 'none_such'"):
        assert made_up.config
