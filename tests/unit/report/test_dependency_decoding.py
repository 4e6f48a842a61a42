"""The tables of dependency-aware decoding, by hand."""

import json

import pytest

from padir.config.read import check_config
from padir.config.rows import Row
from padir.files import InputError
from padir.report.dependency_decoding import _compared
from padir.score.redundancy import REDUNDANCY_KINDS
from tests.unit.config.small import changed
from tests.unit.report.conftest import NOISE, line

THREE = {"seeds": [0, 1, 2]}
JOINT = {"trainings": ["plain"], "decoders": ["joint"], "passes": [4]}


def add(made_up, stutter=2.0, bleu=(30.5, 31.0, 32.0), share=0.8, seeds=(0.0, 0.0, 0.0)):
    """A joint decoder of `plain`, which stutters 5 times per 100 words, and on one seed so much
    more."""
    made_up.train(plain=THREE)
    made_up.settings["decoders"] = {"joint": {"joint": "neighbours"}}
    made_up.evaluate(dependency=[JOINT])
    values = {"padir": ((30.0, 30.5, 31.5), 5.0, 0.75), "joint": (bleu, stutter, share)}
    for decoder, (scores, per_100, valid) in values.items():
        for seed, value in enumerate(scores):
            rate = per_100 + (seeds[seed] if decoder == "padir" else 0.0)
            rates = {"per_100": rate, "low": rate, "high": rate, "per_sentence": rate}
            kinds = {kind: {"per_100": number} for number, kind in enumerate(REDUNDANCY_KINDS)}
            more = {
                "validity": {"share": valid, "low": valid, "high": valid},
                "decoder_passes": 3.25,
                "redundancy": {
                    "related": "lexeme", "words": kinds, "length_ratio": 0.98,
                    "words_before_drop": {kind: {"per_100": rate} for kind in REDUNDANCY_KINDS},
                    "dropped": {"per_100": 10 * rate},
                },
                "stutter": {
                    "unit": "word", "words": rates, "words_before_drop": rates,
                    "run_lengths": {}, "run_lengths_before_drop": {},
                },
                "replicates": {
                    "samples": 200, "seed": 12345, "bleu": list(value + NOISE),
                    "stutter": [rate] * 200, "stutter_before_drop": list(rate + NOISE / 2),
                    "validity": list(valid + NOISE / 100), "dropped": [10 * rate] * 200,
                },
            }  # fmt: skip
            made_up.score(f"plain/{decoder}/T4", seed, bleu=value, **more)


def timed(made_up, plain, joint, *times):
    path = made_up.latency("dependency")
    document = json.loads(path.read_text())
    for row, p50, single in zip(
        document["rows"], (plain, joint), times or ([plain] * 20, [joint] * 20), strict=True
    ):
        row |= {"p50_ms": p50, "times_ms": single}
    path.write_text(json.dumps(document))


def row_of(made_up, decoder="joint"):
    table = made_up.table("dependency_decoding")
    assert [(row["training"], row["decoder"], row["T"]) for row in table.rows] == [
        ("plain", "padir", "4"), ("plain", "joint", "4"),
    ]  # fmt: skip
    return line(table, "plain", decoder, "4")


def test_gaps_to_the_plain_row_are_those_by_hand(made_up):
    add(made_up)
    timed(made_up, 5.0, 5.5)
    row = row_of(made_up)
    assert row["changed"] == "joint neighbours"
    assert row["bleu"] == pytest.approx((30.5 + 31 + 32) / 3)
    assert row["bleu_gap"] == pytest.approx(0.5)
    assert row["bleu_interval"] == pytest.approx((0.5, 0.5))
    assert (row["validity"], row["validity_gap"]) == pytest.approx((80, 5))
    assert (row["stutter"], row["stutter_gap"]) == pytest.approx((2, -3))
    assert (row["dropped"], row["dropped_gap"]) == pytest.approx((20, -30))
    assert (row["p50_ms"], row["time"]) == pytest.approx((5.5, 1.1))
    assert (row["gain"], row["passes"], row["seeds"]) == ("yes", 3.25, 3)
    plain = row_of(made_up, "padir")
    assert (plain["changed"], plain["gain"], plain["bleu_gap"]) == ("plain padir", None, None)


def test_p_values_of_gaps_are_those_by_hand(made_up):
    """Gaps are the same on every resample: seeds alone decide."""
    add(made_up, bleu=(30.0, 31.0, 32.0), share=0.75)
    row = row_of(made_up)
    # Student's t of the gaps 0, 0.5 and 0.5 is 2, with 2 degrees of freedom.
    assert row["bleu_p"] == pytest.approx(1 - 2 / 6**0.5, abs=0.01)
    assert row["validity_p"] == 1
    assert row["stutter_p"] == row["dropped_p"] == pytest.approx(2 / 20_001)


def test_another_system_is_compared_with_padir_of_like_cost_and_the_same_seeds(made_up):
    add(made_up)
    # Plain makes two stages a step: twice as many steps of one stage are like it.
    other = {**THREE, "system": "rdm", "training": {"steps": 200_000}}
    trainings = {
        "unlike": {**THREE, "targets": "own", "training": {"steps": 100_000}},
        "fewer": {"seeds": [0], "training": {"steps": 100_000}},
        "longer": {**THREE, "training": {"steps": 300_000}},
        "shorter": {**THREE, "training": {"steps": 50_000}},
        "plain": {**THREE, "training": {"steps": 100_000}},
        "other": other,
        "once": {**other, "seeds": [1]},
    }
    made_up.train(**trainings)
    groups = [{"trainings": [name], "decoders": ["padir"], "passes": [4]} for name in trainings]
    for group, name in zip(groups, trainings, strict=True):
        group["decoders"] = ["rdm"] if name in ("other", "once") else ["padir"]
    made_up.evaluate(dependency=[*groups, JOINT])
    scores = {
        "unlike": 20.0, "fewer": 10.0, "longer": 40.0, "shorter": 5.0, "other": 28.0, "once": 27.0,
    }  # fmt: skip
    for name, value in scores.items():
        decoder = "rdm" if name in ("other", "once") else "padir"
        for seed in trainings[name]["seeds"]:
            made_up.score(f"{name}/{decoder}/T4", seed, bleu=value + seed)
    for decoder, values in (("padir", (30.0, 30.5, 31.5)), ("joint", (30.5, 31.0, 32.0))):
        for seed, value in enumerate(values):
            made_up.score(f"plain/{decoder}/T4", seed, bleu=value)
    gaps = {
        (row["training"], row["decoder"]): row["bleu_gap"]
        for row in made_up.table("dependency_decoding").rows
    }
    assert gaps == {
        **{(name, "padir"): None for name in ("unlike", "fewer", "longer", "shorter", "plain")},
        ("plain", "joint"): pytest.approx(0.5),
        ("other", "rdm"): pytest.approx(29.0 - (30 + 30.5 + 31.5) / 3),
        ("once", "rdm"): pytest.approx(28.0 - 30.5),
    }


def test_targets_and_warm_start_are_shown_in_every_row(made_up):
    add(made_up)
    warm = {**THREE, "targets": "own", "training": {"warm_start": "ar"}}
    made_up.train(other={**warm, "system": "rdm"})
    rdm = {"trainings": ["other"], "decoders": ["rdm"], "passes": [4]}
    made_up.evaluate(dependency=[JOINT, rdm])
    for seed in (0, 1, 2):
        made_up.score("other/rdm/T4", seed, bleu=30.0)
    for name in ("dependency_decoding", "redundancy"):
        targets = {row["training"]: row["targets"] for row in made_up.table(name).rows}
        assert targets == {"plain": "raw", "other": "own (encoder of ar)"}


@pytest.mark.parametrize(
    ("change", "joint_ms", "gain"),
    [
        ({}, None, "yes, but not timed"),
        ({}, 6.1, "no: too slow"),
        ({"stutter": 3.5}, 5.0, "no: stutter not halved"),
        # More than half is left, but not surely so.
        ({"stutter": 2.6}, 5.0, "open: stutter"),
        ({"bleu": (28.5, 29.0, 30.0)}, 5.0, "no: bleu worse"),
        # Surely a loss, and surely a small one.
        ({"bleu": (29.5, 30.0, 31.0)}, 5.0, "yes"),
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
    assert row_of(made_up)["gain"] == gain


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
    plain = [2.0, 5.0, 9.0] * 7
    joint = [time * factor for time, factor in zip(plain, factors * 7, strict=True)]
    timed(made_up, 5.0, 5.0 * factors[1], plain, joint)
    row = row_of(made_up)
    assert row["gain"] == gain
    low, high = row["time_interval"]
    assert low <= row["time"] <= high
    if len(set(factors)) == 1:
        assert (low, high) == pytest.approx((factors[0], factors[0]))


@pytest.mark.parametrize("factor", [1.1, 1.3])
def test_too_few_sentences_for_an_interval_leave_the_time_open(made_up, factor):
    add(made_up)
    timed(made_up, 5.0, 5.0 * factor, [5.0] * 15, [5.0 * factor] * 15)
    row = row_of(made_up)
    assert (row["gain"], row["time_interval"]) == ("open: time", None)


def test_redundancy_is_shown_before_and_after_the_drop(made_up):
    add(made_up)
    row = line(made_up.table("redundancy"), "plain", "joint", "4")
    assert [row[f"{kind}_final"] for kind in REDUNDANCY_KINDS] == [0, 1, 2, 3]
    assert [row[f"{kind}_before"] for kind in REDUNDANCY_KINDS] == [2.0] * 4
    assert (row["related"], row["dropped"], row["ratio"]) == ("lexeme", 20.0, 0.98)


def test_rows_of_the_table_must_be_there(made_up):
    made_up.evaluate(dependency=[JOINT])
    named = r"evaluation\.dependency: the training of plain/joint/T4 is 'plain'"
    with pytest.raises(InputError, match=named):
        assert made_up.config


def test_without_rows_there_is_no_such_table(made_up):
    with pytest.raises(InputError, match="redundancy: the config has no such part"):
        made_up.table("redundancy")


def test_diffusion_times_count_as_training_cost():
    times = {"hiding": "time", "coupled_times": True, "stages": 1, "loss_on": "hidden"}
    given = {
        "short": {"system": "padir", "training": {"steps": 100}},
        "long": {"system": "padir", "training": {"steps": 200}},
        "rdm": {"system": "rdm", "objective": times, "training": {"steps": 200}},
    }
    config = changed("trainings", {"ar": {"system": "ar"}, **given})
    config["evaluation"] = {
        "dependency": [
            {"trainings": ["short", "long"], "decoders": ["padir"], "passes": [4]},
            {"trainings": ["rdm"], "decoders": ["rdm"], "passes": [4]},
        ]
    }
    # 200 and 400 passes in two stages; 400 at two times, where one time would have 200.
    compared = _compared(check_config(config), Row.parse("rdm/rdm/T4"))
    assert [row.training for row in compared] == ["long", "short"]
