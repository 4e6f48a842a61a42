"""Tables 1 to 3 beside the paper's: differences and statuses by hand, and what has not been run."""

import json

import numpy as np
import pytest

from padir.files import InputError
from padir.report import paper
from padir.report.beside import beside
from padir.report.estimate import Estimate
from padir.report.further_scores import table3
from padir.report.results import load_results
from padir.report.systems import table2
from padir.report.translation import table1
from tests.unit.report.conftest import BLEU, NOISE

FILES = {"de": "f.de", "en": "f.en"}
SOURCE = {"kind": "files", **{name: {"files": FILES} for name in ("train", "valid", "test")}}


@pytest.fixture
def wmt(made_up):
    """The made-up results as those of WMT14, both directions, of which only one has been run."""
    scorers = {"bleurt": {"kind": "bleurt", "checkpoint": "BLEURT-20"}}
    made_up.settings |= {
        "datasets": {"wmt14": {"source": SOURCE, "directions": ["de-en", "en-de"]}},
        "evaluation": {"scorers": scorers},
    }
    old = made_up.folder / "runs/toy/xs-xt"
    for path in sorted(old.glob("*/seed*/score/*.json")):
        document = json.loads(path.read_text()) | {"dataset": "wmt14", "direction": "de-en"}
        made_up.write(f"runs/wmt14/de-en/{path.relative_to(old)}", document)
    return made_up


def rate(made_up, model: str, decoding: str, score: float | None, seed: int = 0, **more):
    document = {
        "dataset": "wmt14", "direction": "de-en", "model": model, "seed": seed, "split": "test",
        "decoding": decoding, "scorer": "bleurt", "status": "run", "reason": None, "score": score,
        "low": 0, "high": 100, "signature": "BLEURT|x", "test_digest": "abc", "sentences": 200,
        "replicates": {"samples": 200, "seed": 12345, "score": list((score or 0.0) + NOISE)},
    }  # fmt: skip
    if score is None:
        document |= {"status": "not run", "reason": "no folder BLEURT-20"}
    place = f"runs/wmt14/de-en/{model}/seed{seed}/rate/test.{decoding}.bleurt.json"
    return made_up.write(place, document | more)


def loaded(made_up):
    return load_results(made_up.folder, made_up.config)


def line(table, direction: str, model: str, steps: str) -> dict:
    wanted = (direction, model, steps)
    rows = [r for r in table.rows if (r["direction"], r["model"], r["steps"]) == wanted]
    # Of AR's two searches the beam.
    return rows[-1]


def near(value: float, half: float = 1.0) -> Estimate:
    return Estimate(value, value - half, value + half, None, np.zeros(1))


@pytest.mark.parametrize(
    ("ours", "printed", "same", "status", "gap"),
    [
        (near(30.5), 30.0, True, "paper in interval", 0.5),
        (near(31.5), 30.0, True, "above the paper", 1.5),
        (near(28.0), 30.0, True, "below the paper", -2.0),
        (near(31.5), 30.0, False, "run; other measure", 1.5),
        (near(31.5), None, True, "run; not in the paper", None),
        (None, 30.0, True, "not run", None),
    ],
)
def test_status_and_difference(ours, printed, same, status, gap):
    cells = beside(ours, printed, known=True, same_measure=same)
    assert cells["status"] == status and cells["paper"] == printed
    assert cells["paper_difference"] == gap
    if gap is not None:
        assert cells["paper_interval"] == pytest.approx((gap - 1, gap + 1))
    assert set(beside(ours, printed, known=False).values()) == {None}


def test_the_papers_tables_by_some_of_their_numbers():
    assert paper.TABLE1["wmt17", "en-zh"]["padir", "T10"] == 32.68
    assert paper.TABLE2["wmt16", "en-ro"]["cmlm", "T4"] == 33.67
    assert ("sundae", "T4") not in paper.TABLE2["wmt16", "ro-en"]
    assert paper.TABLE3["wmt14", "en-de"]["ar", "beam"] == 74.97
    assert paper.printed(paper.TABLE1, ("wmt14_small", "de-en"))["ar", "beam"] == 33.50
    assert not paper.printed(paper.TABLE1, ("toy", "de-en"))
    assert min(paper.gaps_to_ar("T4")) == pytest.approx(-1.35)


def test_table_1_has_every_row_of_the_paper_s_and_says_what_was_not_run(wmt):
    table = table1(loaded(wmt))
    found = line(table, "de-en", "padir", "4")
    assert (found["paper"], found["status"]) == (33.49, "above the paper")
    assert found["paper_difference"] == pytest.approx(39.6 - 33.49)
    assert found["signature"] == "BLEU|x"
    # The candidate stands for PaDIR, not the model on raw targets.
    assert line(table, "de-en", "padir_raw", "4")["paper"] is None
    assert line(table, "de-en", "padir_raw", "4")["status"] == "run; not in the paper"
    other = [row for row in table.rows if row["direction"] == "en-de"]
    assert [(row["model"], row["steps"]) for row in other] == [
        *(("ar", "N"), ("padir", "4"), ("padir", "10")),
    ]
    assert {row["bleu"] for row in other} == {row["status"] for row in other} == {"not run"}
    assert [row["paper"] for row in other] == [29.54, 28.61, 28.58]
    markdown = table.markdown()
    assert "| not run | – |" in markdown and "---: | ---: |" in markdown


def test_table_2_sets_other_measures_side_by_side_without_a_verdict(wmt):
    wmt.settings["models"] = wmt.settings["models"] | {
        "cmlm": {"system": "cmlm", "targets": "own", "decode": ["T4", "T10"]},
    }
    table = table2(loaded(wmt))
    found = line(table, "de-en", "padir", "10")
    assert (found["paper"], found["status"]) == (34.33, "run; other measure")
    missing = line(table, "de-en", "cmlm", "4")
    assert (missing["bleu"], missing["paper"], missing["status"]) == ("not run", 30.75, "not run")
    assert any("not sacreBLEU" in note for note in table.notes)


def test_table_3_by_hand_and_never_blank(wmt):
    for seed in (0, 1):
        rate(wmt, "padir", "T4", 71.0 + seed, seed)
    rate(wmt, "ar", "beam", None)
    table = table3(loaded(wmt))
    found = line(table, "de-en", "padir", "4")
    assert (found["score"], found["paper"], found["seeds"]) == (71.5, 71.26, 2)
    assert (found["status"], found["signature"]) == ("paper in interval", "BLEURT|x")
    for missing in (line(table, "de-en", "ar", "N"), line(table, "en-de", "padir", "10")):
        assert missing["score"] == missing["status"] == "not run"
    assert "not run: no folder BLEURT-20." in table.notes
    scores = {row["score"] for row in table.rows}
    assert None not in scores and 0 not in scores


def test_table_3_without_any_scorer_still_says_so(made_up):
    table = table3(loaded(made_up))
    assert len(table.rows) == len(BLEU)
    assert {row["score"] for row in table.rows} == {row["status"] for row in table.rows}
    assert {row["score"] for row in table.rows} == {"not run"}
    assert any("names no checkpoint" in note for note in table.notes)


def test_a_row_that_one_seed_lacks_is_not_run(wmt):
    rate(wmt, "padir", "T4", 71.0, 0)
    rate(wmt, "padir", "T4", None, 1)
    assert line(table3(loaded(wmt)), "de-en", "padir", "4")["score"] == "not run"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"signature": "BLEURT|y"}, "signature differs: BLEURT|x in"),
        ({"test_digest": "other"}, "test-set digest differs"),
        ({"replicates": {"samples": 9, "seed": 12345, "score": [1.0]}}, "number of resamples"),
        ({"split": "valid"}, "split is 'valid'; the path and config say 'test'"),
        ({"signature": None}, "key signature is missing or null"),
        ({"status": "fine"}, "no document of padir rate"),
    ],
)
def test_ratings_that_cannot_stand_together(wmt, more, message):
    rate(wmt, "ar", "beam", 73.0)
    rate(wmt, "padir", "T4", 71.0, **more)
    with pytest.raises(InputError, match=message.replace("|", "\\|")):
        loaded(wmt)
