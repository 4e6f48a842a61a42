"""Reading results: averages by hand, what is not shown, and files that must not be believed."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from padir import layout
from padir.config.rows import Row
from padir.files import InputError
from padir.report.catalogue import part
from padir.report.results import difference, estimate
from padir.report.write import Report, absence_notes, make
from padir.score.bleu import bleu_counts, chrf_words_counts, is_of_installed_version

FOUR, BEAM = Row.parse("padir/padir/T4"), Row.parse("ar/beam")


def test_seeds_are_averaged_by_hand():
    mean = estimate([10.0, 14.0], [[9.0, 10.0, 11.0], [13.0, 14.0, 18.0]])
    assert mean.value == 12.0
    assert mean.spread == pytest.approx(np.sqrt(8.0))
    assert mean.replicates.tolist() == [11.0, 12.0, 14.5]
    assert (mean.low, mean.high) == (11.0, 14.5)
    assert estimate([3.0], [[3.0]]).spread is None


def test_rows_follow_the_config(made_up):
    results = made_up.load()
    labels = [row.row.label for row in results.rows.values()]
    assert labels[:3] == ["ar greedy", "ar beam", "padir_raw padir T1"]
    row = results.row(made_up.place, FOUR)
    assert row is not None and row.seeds == (0, 1)
    assert row.bleu().value == pytest.approx(39.6)
    assert row.bleu().spread == pytest.approx(0.2 / np.sqrt(2))


def test_a_paired_difference_has_no_common_noise(made_up):
    results = made_up.load("table1")
    four, beam = results.row(made_up.place, FOUR), results.baseline(made_up.place)
    assert beam is not None and beam.row == BEAM
    # Each alone spans two points; together they rise and fall and the difference does not move.
    assert four.bleu().high - four.bleu().low > 1.8
    assert difference(four, beam) == pytest.approx((-0.4, -0.4, -0.4))


def test_a_p_value_is_of_the_difference_beside_it(made_up):
    """A score document holds that of one seed against the baseline's first seed."""
    shown = {row["training"]: row for row in made_up.table("table1").rows}
    assert (shown["padir_raw"]["seeds"], shown["padir_raw"]["p_value"]) == (1, 0.01)
    assert (shown["padir"]["seeds"], shown["padir"]["p_value"]) == (2, None)
    assert shown["padir"]["difference"] is not None


def test_a_part_reads_what_it_declares_and_nothing_else(made_up):
    assert made_up.load("table1").latencies == made_up.load("table1").curves == {}
    assert made_up.load("training").rows == {}
    # A file that no part declares is never opened.
    folder = layout.run_folder(made_up.place, "padir", 9)
    made_up.write(f"{folder}/score/test.padir.T4.json", {})
    results = made_up.load("table1")
    assert results.absent == [] and results.row(made_up.place, FOUR).seeds == (0, 1)


def test_missing_scores_are_listed_with_their_command(made_up):
    path = made_up.score("padir/padir/T4", seed=1)
    path.unlink()
    results = made_up.load("table1")
    (absence,) = results.absent
    assert absence.reason == "missing"
    assert absence.artifact.path == str(path)
    assert results.row(made_up.place, FOUR).seeds == (0,)
    content = make(part(made_up.config, "table1"), results)
    assert f"- Not shown: {path}: missing; run: snakemake --cores all" in content.markdown()


def change_decoder(made_up):
    made_up.settings["decoders"] = {"padir": {"kind": "padir", "remask": "none"}}


def change_training(made_up):
    made_up.train(padir={**made_up.settings["trainings"]["padir"], "objective": {"stages": 1}})


def change_data(made_up):
    made_up.settings["datasets"]["toy"]["source"]["train"] = 77


def change_resamples(made_up):
    made_up.evaluate(bootstrap_samples=123)


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (change_decoder, {"ar"}),
        (change_training, {"ar", "padir_raw"}),
        (change_data, set()),
        (change_resamples, set()),
    ],
)
def test_scores_made_with_other_settings_are_not_shown(made_up, change, shown):
    assert made_up.load("table1").absent == []
    change(made_up)
    results = made_up.load("table1")
    assert {row.training for _, row in results.rows} == shown
    assert {absence.reason for absence in results.absent} == {"made with other settings"}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (change_training, "training"),
        (change_data, "training"),
        (change_training, "latency"),
        (change_data, "data"),
        (change_data, "distillation"),
    ],
)
def test_other_artifacts_made_with_other_settings_are_not_shown(made_up, change, name):
    before = made_up.load(name)
    assert before.absent == []
    change(made_up)
    results = made_up.load(name)
    assert "made with other settings" in {absence.reason for absence in results.absent}
    assert not results.latencies and not results.cards and not results.statistics
    assert not [key for key in results.curves if key[1] == "padir"]


def test_another_decoder_leaves_training_curves(made_up):
    change_decoder(made_up)
    assert made_up.load("training").absent == []


def test_theory_of_other_settings_is_not_shown(made_up):
    made_up.settings["theory"] = {"identities": {"models": 3}}
    results = made_up.load("theorems")
    absent = {absence.artifact.path: absence.reason for absence in results.absent}
    assert absent["results/theory/identities/seed0.json"] == "made with other settings"
    assert results.theory == {}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"test_digest": "other"},
         "test-set digest differs: abc123 in .*, other in .*padir.T4.json"),
        ({"sentences": 199}, "number of sentences differs: 200 in .*, 199 in"),
    ],
)  # fmt: skip
def test_unlike_scores_never_share_a_table(made_up, change, what):
    path = made_up.score("padir/padir/T4", seed=1)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=f"scores cannot share a table, {what}") as caught:
        made_up.load("table1")
    assert "\n" not in str(caught.value)
    # A part that does not read the score is not concerned.
    assert made_up.load("training").absent == []


@pytest.mark.parametrize("measure", ["bleu", "chrf"])
def test_a_score_of_another_version_of_sacrebleu_is_absent(made_up, measure):
    path = made_up.score("padir/padir/T4", seed=1)
    document = json.loads(path.read_text())
    document[measure]["signature"] = "earlier"
    path.write_text(json.dumps(document))
    os.utime(path, (1, 1))
    results = made_up.load("table1")
    assert results.row(made_up.place, FOUR).seeds == (0,)
    (note,) = absence_notes(results)
    reason = "made with another version of sacreBLEU"
    assert note == f"Not shown: {path}: {reason}; run: snakemake --cores all --force {path}"
    report = Report(made_up.config, "core")
    assert report.absence().endswith("run: snakemake --cores all core --forcerun score")


@pytest.mark.parametrize("installed", [BEAM, FOUR])
def test_the_installed_sacrebleu_decides_whatever_the_dates(made_up, installed):
    """Copies may have lost the dates of their files."""
    for row in (BEAM, FOUR):
        version = sacrebleu.__version__ if row == installed else "0.0.1"
        for seed in layout.seeds(made_up.config, row):
            path = made_up.score(row.name, seed)
            document = json.loads(path.read_text())
            for measure in ("bleu", "chrf"):
                document[measure]["signature"] = f"nrefs:1|version:{version}"
            path.write_text(json.dumps(document))
            os.utime(path, (1, 1) if row == installed else None)
    results = made_up.load("table1")
    assert [row.row for row in results.rows.values()] == [installed]
    assert {a.reason for a in results.absent} == {"made with another version of sacreBLEU"}


def test_the_signature_names_the_installed_sacrebleu():
    for counts in (bleu_counts(["a"], [["a"]], "en"), chrf_words_counts(["a"], [["a"]])):
        assert is_of_installed_version(counts.signature)
    assert not is_of_installed_version("BLEURT|BLEURT-20|refs:1|sha256:0123456789abcdef")


@pytest.mark.parametrize(
    ("label", "value", "expected"),
    [
        ("dataset", "other", "toy"), ("direction", "xt-xs", "xs-xt"), ("training", "ar", "padir"),
        ("system", "cmlm", "padir"), ("decoder", "joint", "padir"), ("passes", 1, 4),
        ("seed", 1, 0), ("split", "valid", "test"),
    ],
)  # fmt: skip
def test_a_score_in_another_place_is_refused(made_up, label, value, expected):
    path = Path(layout.score_path(made_up.place, FOUR, 0, "test"))
    made_up.write(str(path), json.loads(path.read_text()) | {label: value})
    said = f"{path}: {label} is {value!r}; the path and config say {expected!r}"
    with pytest.raises(InputError, match=said):
        made_up.load()


def test_a_score_outlives_a_new_name_of_its_teacher(made_up):
    before = made_up.load().absent
    made_up.score("padir/padir/T4", targets="earlier_name")
    assert made_up.load().absent == before


@pytest.mark.parametrize(
    ("path", "changes", "message"),
    [
        ("runs/toy/xs-xt/ar/seed0/score/test.beam.json", {"dataset": None},
         "dataset is None; the path and config say 'toy'"),
        ("runs/toy/xs-xt/ar/seed0/score/test.beam.json", {"chrf": None},
         "key chrf is missing or null"),
        ("runs/toy/xs-xt/ar/seed0/score/test.beam.json", None, "not a JSON object"),
        ("latency/toy/xs-xt/core.json", {"rows": [{"training": "ar"}]},
         "key rows.0.decoder is missing"),
        ("theory/identities/seed0.json", {"claims": [{"id": "x"}]},
         "key claims.0.statement is missing"),
        ("theory/identities/seed0.json", {"experiment": "estimation"},
         "experiment is 'estimation'; the path and config say 'identities'"),
        ("theory/identities/seed0.json", {"seed": 1}, "seed is 1; the path and config say 0"),
        ("runs/toy/xs-xt/ar/seed0/score/test.beam.json", {"bleu": [40.0]},
         r"key bleu: found \[40.0\], allowed: "),
        ("runs/toy/xs-xt/ar/seed0/score/test.beam.json", {"bleu": {"score": "40"}},
         'key bleu.score: found "40", allowed: number; damaged, or of another version of padir'),
    ],
)  # fmt: skip
def test_a_broken_file_is_named(made_up, path, changes, message):
    path = f"{layout.RESULTS}/{path}"
    document = json.loads(Path(path).read_text())
    made_up.write(path, [] if changes is None else document | changes)
    with pytest.raises(InputError, match=f"{path}: {message}"):
        made_up.load()


@pytest.mark.parametrize("planted", ["stranger", "idle"])
def test_a_planted_card_gets_no_row(made_up, planted):
    """Of a teacher that the config does not name, or of one that teaches nobody."""
    made_up.settings["teachers"]["idle"] = {"kind": "files", "train": "x", "valid": "y"}
    before = made_up.table("distillation").rows
    assert [row["teacher"] for row in before] == ["own"]
    card = json.loads(made_up.card().read_text())
    for seed in (0, 1):
        path = layout.card_path(made_up.place, planted, seed)
        made_up.write(path, {**card, "teacher": planted, "row": f"{planted}/beam"})
    assert made_up.table("distillation").rows == before
    assert list(made_up.load().cards) == [(made_up.place, "own", 0)]
    assert planted not in made_up.table("distillation").markdown()
