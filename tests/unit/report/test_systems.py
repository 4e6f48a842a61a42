"""Table 2 and what belongs to it, by hand."""

import json
from pathlib import Path

import pytest

from padir.report.figures import quality_latency, quality_passes, training_curve
from padir.report.results import load_results
from padir.report.selection import candidate, compared_systems, core_models
from padir.report.systems import table2
from padir.report.translation import hypotheses_per_sentence, stutter_table, table1
from tests.unit.report.conftest import NOISE


@pytest.fixture
def with_cmlm(made_up):
    """A CMLM beside the others: T8 is no part of table 2; T2 nobody else has."""
    made_up.settings["models"] = made_up.settings["models"] | {
        "cmlm": {
            **{"system": "cmlm", "targets": "own", "decode": ["T2", "T4", "T8"]},
            "decoding": {"length_candidates": 3, "restarts": 2},
        },
    }
    for decoding, bleu in (("T2", 30.0), ("T4", 38.0), ("T8", 38.5)):
        made_up.score("cmlm", decoding, bleu=bleu, decoder_passes=3.5)
    return made_up


def loaded(made_up):
    return load_results(made_up.folder, made_up.config)


def line(table, model: str, steps: str) -> dict:
    (found,) = [r for r in table.rows if (r["model"], r["steps"]) == (model, steps)]
    return found


def test_a_system_by_hand(with_cmlm):
    with_cmlm.latency()
    table = table2(loaded(with_cmlm))
    found = line(table, "cmlm", "4")
    assert (found["system"], found["targets"], found["seeds"]) == ("cmlm", "own", 1)
    assert (found["passes"], found["bleu"], found["spread"]) == (3.5, 38.0, None)
    # PaDIR's two seeds are at 39.5 and 39.7; the common noise cancels out.
    assert found["difference"] == pytest.approx(38.0 - 39.6)
    assert found["difference_interval"] == pytest.approx((-1.6, -1.6))
    assert (found["validity"], found["stutter"], found["final"]) == (75.0, 5.0, 0.2)
    assert found["validity_interval"] == pytest.approx((70.0, 80.0))
    # Half of the noise, whose middle 95% is from -0.95 to 0.95, around 5.
    assert found["stutter_interval"] == pytest.approx((4.525, 5.475), abs=0.01)
    assert found["p50_ms"] is None
    assert line(table, "cmlm", "2")["difference"] is None
    own = line(table, "padir", "4")
    assert (own["difference"], own["p50_ms"], own["seeds"]) == (None, 4.0, 2)
    # PaDIR's seeds took half a second each; of CMLM no training is recorded.
    assert own["training"] == pytest.approx(0.5) and found["training"] is None
    search = line(table, "ar", "beam")
    assert (search["stutter"], search["final"], search["p50_ms"]) == (None, 0.5, 12.0)


def test_passes_and_median_latency_have_intervals_over_sentences(with_cmlm):
    # The middle 95% of the common noise, which lies evenly from -1 to 1, on each seed's mean.
    for seed, mean in ((0, 4.0), (1, 5.0)):
        path = with_cmlm.score("padir", "T4", seed, decoder_passes=mean)
        document = json.loads(path.read_text())
        document["replicates"]["decoder_passes"] = [mean + 0.5 * float(x) for x in NOISE]
        path.write_text(json.dumps(document))
    path = with_cmlm.latency()
    document = json.loads(path.read_text())
    for row in document["rows"]:
        if (row["model"], row["decoding"]) == ("padir", "T4"):
            row["times_ms"] = [1.0, 4.0, 4.0, 4.0, 7.0]
    path.write_text(json.dumps(document))
    table = table2(loaded(with_cmlm))
    found = line(table, "padir", "4")
    assert found["passes"] == 4.5
    assert found["passes_interval"] == pytest.approx((4.025, 4.975), abs=0.01)
    # Three or more of five draws are the 1 in 5.8% of the resamples, and the 7 in as many.
    assert (found["p50_ms"], found["p50_interval"]) == (4.0, (1.0, 7.0))
    # Files from before there were single times and passes of each resample.
    other = line(table, "padir", "10")
    assert (other["passes"], other["passes_interval"]) == (4.0, None)
    assert (other["p50_ms"], other["p50_interval"]) == (9.0, None)


def test_the_table_says_what_its_intervals_leave_out(with_cmlm):
    (note,) = [note for note in table2(loaded(with_cmlm)).notes if "another training" in note]
    assert "A system with one seed has none: rankings of such systems are of these" in note


def test_only_the_stated_numbers_of_passes(with_cmlm):
    steps = [row["steps"] for row in table2(loaded(with_cmlm)).rows if row["model"] == "cmlm"]
    assert steps == ["2", "4"]


def test_models_of_the_ablations_alone_are_left_out(made_up):
    made_up.pair()
    # padir_raw and padir are named there too: the first of its system, and the candidate.
    assert candidate(made_up.config) == "padir"
    assert compared_systems(made_up.config) == ["ar", "padir_raw", "padir"]
    assert {row["model"] for row in table2(loaded(made_up)).rows} == {"ar", "padir_raw", "padir"}
    made_up.settings["evaluation"] = {"ablations": [], "candidate": "whole"}
    assert compared_systems(made_up.config) == list(made_up.config.models)


def test_the_core_and_the_systems_are_told_apart(with_cmlm):
    with_cmlm.settings["evaluation"] = {"core": ["ar", "padir"], "systems": ["ar", "cmlm", "padir"]}
    results = loaded(with_cmlm)
    assert core_models(with_cmlm.config) == ["ar", "padir"]
    assert {row["model"] for row in table1(results).rows} == {"ar", "padir"}
    assert {row["model"] for row in stutter_table(results).rows} == {"ar", "padir"}
    (panel,) = quality_passes(results).panels
    assert {series.name for series in panel.series} == {"padir"}
    (panel,) = training_curve(results).panels
    assert {series.name.split(",")[0] for series in panel.series} == {"ar", "padir"}
    assert {row["model"] for row in table2(results).rows} == {"ar", "cmlm", "padir"}
    # One of table 2's models is no part of the core: a timing run of their own, not there yet.
    assert line(table2(results), "ar", "beam")["p50_ms"] is None
    with_cmlm.latency().rename(with_cmlm.folder / "latency/toy/xs-xt/systems.json")
    results = loaded(with_cmlm)
    assert line(table2(results), "ar", "beam")["p50_ms"] == 12.0 and results.latency == {}


def test_table_2_waits_for_its_reference_and_missing_scores_are_the_cores(with_cmlm):
    with_cmlm.settings["evaluation"] = {"core": ["ar", "padir_raw"], "systems": ["ar", "padir"]}
    assert loaded(with_cmlm).missing == ()
    for path in with_cmlm.folder.glob("runs/toy/xs-xt/padir*/seed*/score/*.json"):
        path.unlink()
    results = loaded(with_cmlm)
    assert table2(results).rows == []
    assert {Path(path).parts[3] for path in results.missing} == {"padir_raw"}


def test_a_warm_start_is_said_beside_the_targets(made_up):
    made_up.settings["models"]["padir"] = {
        **made_up.settings["models"]["padir"],
        "training": {"warm_start": "ar"},
    }
    results = loaded(made_up)
    targets = {row["targets"] for row in table1(results).rows if row["model"] == "padir"}
    assert targets == {"own (encoder of ar)"}
    assert line(table2(results), "padir", "4")["targets"] == "own (encoder of ar)"


def test_every_parallel_system_is_a_sweep_of_passes(with_cmlm):
    results = loaded(with_cmlm)
    row = results.row(("toy", "xs-xt"), "cmlm", "T8")
    assert row is not None and row.steps == 8
    (panel,) = quality_passes(results).panels
    swept = {series.name: [point.x for point in series.points] for series in panel.series}
    assert swept["cmlm"] == [2.0, 4.0, 8.0] and "ar" not in swept
    (panel,) = quality_latency(results).panels
    assert {series.name: series.joined for series in panel.series}["ar"] is False
    # Three lengths, two starts each; AR's beam as ever.
    assert hypotheses_per_sentence(results, "cmlm", "T4") == 6
    assert hypotheses_per_sentence(results, "ar", "beam") == 5
    shown = next(r for r in table1(results).rows if (r["model"], r["steps"]) == ("cmlm", "8"))
    assert shown["hypotheses"] == 6


def test_the_papers_numbers_stand_beside_its_own_systems_alone(with_cmlm):
    files = {"de": "f.de", "en": "f.en"}
    source = {"kind": "files", **{name: {"files": files} for name in ("train", "valid", "test")}}
    with_cmlm.settings["datasets"] = {"wmt14": {"source": source, "directions": ["de-en"]}}
    old = with_cmlm.folder / "runs/toy/xs-xt"
    for path in sorted(old.glob("*/seed*/score/*.json")):
        document = json.loads(path.read_text()) | {"dataset": "wmt14", "direction": "de-en"}
        with_cmlm.write(f"runs/wmt14/de-en/{path.relative_to(old)}", document)
    found = {(r["model"], r["steps"]): r["paper"] for r in table1(loaded(with_cmlm)).rows}
    assert found["padir", "4"] == 33.49 and found["cmlm", "4"] is None
