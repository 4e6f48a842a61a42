"""Table 2 and what belongs to it, by hand."""

import json

import pytest

from padir.config.rows import Row
from padir.report.columns import hypotheses_per_sentence
from padir.report.systems import padir_row
from tests.unit.report.conftest import CORE, NOISE, line


@pytest.fixture
def with_cmlm(made_up):
    """A CMLM beside the others; T2 nobody else has."""
    made_up.train(cmlm={"system": "cmlm", "targets": "own"})
    made_up.settings["decoders"] = {"wide": {"kind": "cmlm", "length_candidates": 3, "restarts": 2}}
    cmlm = {"trainings": ["cmlm"], "decoders": ["wide"], "passes": [2, 4, 8]}
    made_up.evaluate(core=[*CORE, cmlm])
    for passes, bleu in ((2, 30.0), (4, 38.0), (8, 38.5)):
        made_up.score(f"cmlm/wide/T{passes}", bleu=bleu, decoder_passes=3.5)
    return made_up


def timed(made_up, timing="core", **single):
    """A timing run; `single` holds times of decoders and passes, such as padir_T4."""
    path = made_up.latency(timing, sentences=5, T2=2.0, T8=8.0)
    document = json.loads(path.read_text())
    for row in document["rows"]:
        row["times_ms"] = single.get(f"{row['training']}_T{row['passes']}", row["times_ms"])
    path.write_text(json.dumps(document))


def test_a_line_has_the_gap_to_padir_and_its_interval_by_hand(with_cmlm):
    table = with_cmlm.table("table2")
    row = line(table, "cmlm", "wide", "4")
    assert (row["targets"], row["seeds"]) == ("own", 1)
    assert (row["passes"], row["bleu"], row["spread"]) == (3.5, 38.0, None)
    # PaDIR's two seeds are at 39.5 and 39.7, of which CMLM has the first; the common noise cancels
    # out.
    assert row["difference"] == pytest.approx(38.0 - 39.5)
    assert row["difference_interval"] == pytest.approx((-1.5, -1.5))
    assert (row["validity"], row["stutter"], row["final"]) == (75.0, 5.0, 0.2)
    assert row["validity_interval"] == pytest.approx((70.0, 80.0))
    # Half of the noise, whose middle 95% is from -0.95 to 0.95, around 5.
    assert row["stutter_interval"] == pytest.approx((4.525, 5.475), abs=0.01)
    # The timing run is of before there was a CMLM: no time of it stands in the table.
    assert row["p50_ms"] is None
    assert line(table, "cmlm", "wide", "2")["difference"] is None
    timed(with_cmlm)
    table = with_cmlm.table("table2")
    padir = line(table, "padir", "padir", "4")
    assert (padir["difference"], padir["p50_ms"], padir["seeds"]) == (None, 4.0, 2)
    # BLEU 39.5 and 39.7, and the middle 95% of the noise around their mean.
    assert padir["spread"] == pytest.approx(0.2 / 2**0.5)
    assert padir["interval"] == pytest.approx((38.65, 40.55), abs=0.01)
    # Eight minutes a seed; of CMLM no training is recorded.
    assert padir["training_seconds"] == pytest.approx(480.0) and row["training_seconds"] is None
    search = line(table, "ar", "beam", "N")
    assert (search["stutter"], search["final"], search["p50_ms"]) == (None, 0.5, 12.0)


def test_passes_and_median_latency_have_intervals_over_sentences(with_cmlm):
    # The middle 95% of the common noise, which lies evenly from -1 to 1, on each seed's mean.
    for seed, mean in ((0, 4.0), (1, 5.0)):
        path = with_cmlm.score("padir/padir/T4", seed, decoder_passes=mean)
        document = json.loads(path.read_text())
        document["replicates"]["decoder_passes"] = [mean + 0.5 * float(x) for x in NOISE]
        path.write_text(json.dumps(document))
    timed(with_cmlm, padir_T4=[1.0, 4.0, 4.0, 4.0, 7.0])
    table = with_cmlm.table("table2")
    row = line(table, "padir", "padir", "4")
    assert row["passes"] == 4.5
    assert row["passes_interval"] == pytest.approx((4.025, 4.975), abs=0.01)
    # Three or more of five draws are the 1 in 5.8% of the resamples, and the 7 in as many.
    assert (row["p50_ms"], row["p50_interval"]) == (4.0, (1.0, 7.0))
    # Passes of each resample are optional.
    other = line(table, "padir", "padir", "10")
    assert (other["passes"], other["passes_interval"]) == (4.0, None)
    assert (other["p50_ms"], other["p50_interval"]) == (9.0, (9.0, 9.0))


def test_a_timing_of_another_model_is_not_shown(with_cmlm):
    """Whatever digests the file as a whole carries: each of its rows says what it timed."""
    timed(with_cmlm)
    path = with_cmlm.latency(T2=2.0, T8=8.0)
    assert line(with_cmlm.table("table2"), "ar", "beam", "N")["p50_ms"] == 12.0
    document = json.loads(path.read_text())
    document["rows"][-1]["digests"]["hypotheses"] = "another"
    path.write_text(json.dumps(document))
    results = with_cmlm.load("table2")
    assert not results.latencies
    (absence,) = [a for a in results.absent if "/latency/" in a.artifact.path]
    assert absence.reason == "made with other settings"


def test_the_table_says_what_its_intervals_leave_out(with_cmlm):
    notes = with_cmlm.table("table2").notes
    (note,) = [note for note in notes if "another training" in note]
    assert "A system with one seed has none: rankings of such systems are of these" in note


def test_the_core_and_the_systems_are_separate(with_cmlm):
    padir = {"trainings": ["padir"], "decoders": ["padir"], "passes": [1, 4]}
    cmlm = {"trainings": ["cmlm"], "decoders": ["wide"], "passes": [2, 4]}
    with_cmlm.evaluate(core=[CORE[0], padir], systems=[CORE[0], cmlm, padir])
    for name, trainings in (
        ("table1", {"ar", "padir"}),
        ("stutter", {"ar", "padir"}),
        ("table2", {"ar", "cmlm", "padir"}),
    ):
        assert {row["training"] for row in with_cmlm.table(name).rows} == trainings
    (panel,) = with_cmlm.table("quality_passes").panels
    assert {series.name for series in panel.series} == {"padir padir"}
    (panel,) = with_cmlm.table("training").panels
    assert {series.name.split(",")[0] for series in panel.series} == {"ar", "padir"}
    steps = [row["T"] for row in with_cmlm.table("table2").rows if row["training"] == "cmlm"]
    assert steps == ["2", "4"]
    # A training of table 2 is no part of the core: it has a timing run of its own.
    timed(with_cmlm)
    assert line(with_cmlm.table("table2"), "ar", "beam", "N")["p50_ms"] is None
    timed(with_cmlm, "systems")
    assert line(with_cmlm.table("table2"), "ar", "beam", "N")["p50_ms"] == 12.0


def test_the_reference_is_the_candidate_or_the_first_padir_of_the_table(with_cmlm):
    assert padir_row(with_cmlm.config) == Row.parse("padir/padir/T4")
    with_cmlm.evaluate(systems=[{"trainings": ["padir_raw"], "decoders": ["padir"], "passes": [4]}])
    assert padir_row(with_cmlm.config) == Row.parse("padir_raw/padir/T4")
    with_cmlm.evaluate(systems=[{"trainings": ["cmlm"], "decoders": ["wide"], "passes": [4]}])
    assert padir_row(with_cmlm.config) is None


def test_table_2_notes_missing_rows(with_cmlm):
    scored = [*with_cmlm.load("table2").rows]
    for row in ("padir/padir/T1", "padir/padir/T4", "padir/padir/T10"):
        for seed in (0, 1):
            with_cmlm.score(row, seed).unlink()
    results = with_cmlm.load("table2")
    assert len(results.rows) == len(scored) - 3
    scores = [a.artifact.path for a in results.absent if "/score/" in a.artifact.path]
    assert len(scores) == 6 and all("/padir/seed" in path for path in scores)


def test_a_warm_start_is_shown_beside_the_targets(made_up):
    warm = {"training": {"warm_start": "ar"}}
    made_up.train(padir=made_up.settings["trainings"]["padir"] | warm)
    made_up.all()
    for name in ("table1", "table2"):
        row = line(made_up.table(name), "padir", "padir", "4")
        assert row["targets"] == "own (encoder of ar)"


def test_every_parallel_system_is_a_sweep_of_passes(with_cmlm):
    timed(with_cmlm)
    (panel,) = with_cmlm.table("quality_passes").panels
    swept = {series.name: [point.x for point in series.points] for series in panel.series}
    assert swept["cmlm wide"] == [2.0, 4.0, 8.0] and "ar" not in swept
    (panel,) = with_cmlm.table("quality_latency").panels
    assert {series.name: series.joined for series in panel.series}["ar"] is False
    # Three lengths, two starts each; AR's beam as ever.
    config = with_cmlm.config
    assert hypotheses_per_sentence(config, Row.parse("cmlm/wide/T4")) == 6
    assert hypotheses_per_sentence(config, Row.parse("ar/beam")) == 5
    assert hypotheses_per_sentence(config, Row.parse("ar/greedy")) == 1
    assert line(with_cmlm.table("table1"), "cmlm", "wide", "8")["hypotheses"] == 6
