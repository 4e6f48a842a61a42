"""Tables 1 to 3 beside the paper's: differences and statuses by hand, and what has not been run."""

import os
import re
from collections import Counter

import numpy as np
import pytest

from padir import layout
from padir.config import identity
from padir.config.rows import Row
from padir.files import InputError
from padir.report import paper
from padir.report.catalogue import artifacts, parts
from padir.report.load import command_for
from padir.report.paper import beside
from padir.report.results import Estimate
from tests.unit.report.conftest import CORE, NOISE, TRAININGS

SIGNATURE = "BLEURT|BLEURT-20|x"


def rate(made_up, text: str, score: float | None, seed: int = 0, **more):
    config, place, row = made_up.config, made_up.place, Row.parse(text)
    document = {
        **place._asdict(), "training": row.training, "decoder": row.decoding.decoder,
        "passes": row.decoding.passes, "seed": seed, "split": "test", "scorer": "bleurt",
        "status": "run", "reason": None, "score": score, "low": 0, "high": 100,
        "signature": SIGNATURE, "test_digest": "abc", "sentences": 200,
        "replicates": {"samples": 200, "seed": 12345, "score": list((score or 0.0) + NOISE)},
        "digests": identity.rating_digests(config, *place, row, seed, "bleurt"),
    }  # fmt: skip
    if score is None:
        document |= {"status": "not run", "reason": "no folder BLEURT-20"}
    path = layout.rating_path(place, row, seed, "test", "bleurt")
    return made_up.write(path, document | more)


def line(table, direction: str, training: str, T: str) -> dict:
    wanted = (direction, training, T)
    rows = [r for r in table.rows if (r["direction"], r["training"], r["T"]) == wanted]
    # Of AR's two searches the beam.
    return rows[-1]


def near(value: float, half: float = 1.0) -> Estimate:
    return Estimate(value, value - half, value + half, None, *np.zeros((3, 1)))


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
def test_the_status_says_where_the_paper_lies(ours, printed, same, status, gap):
    cells = beside(ours, printed, known=True, same_measure=same)
    assert cells["status"] == status and cells["paper"] == printed
    assert cells["paper_difference"] == gap
    if gap is not None:
        assert cells["paper_interval"] == pytest.approx((gap - 1, gap + 1))
    assert set(beside(ours, printed, known=False).values()) == {None}


def test_the_papers_tables_have_its_printed_numbers():
    assert paper.TABLE1["wmt17", "en-zh"]["padir", "T10"] == 32.68
    assert paper.TABLE2["wmt16", "en-ro"]["cmlm", "T4"] == 33.67
    assert ("sundae", "T4") not in paper.TABLE2["wmt16", "ro-en"]
    assert paper.TABLE3["wmt14", "en-de"]["ar", "beam"] == 74.97
    assert paper.printed(paper.TABLE1, ("wmt14_small", "de-en"))["ar", "beam"] == 33.50
    assert not paper.printed(paper.TABLE1, ("toy", "de-en"))
    assert min(paper.gaps_to_ar(paper.TABLE1, "T4")) == pytest.approx(-1.35)


def test_table_1_has_every_row_of_the_papers_and_says_what_was_not_run(wmt):
    table = wmt.table("table1")
    row = line(table, "de-en", "padir", "4")
    assert (row["paper"], row["status"]) == (33.49, "above the paper")
    assert row["paper_difference"] == pytest.approx(39.6 - 33.49)
    assert row["signature"] == "BLEU|x"
    # The candidate stands for PaDIR, not the training on raw targets.
    assert line(table, "de-en", "padir_raw", "4")["paper"] is None
    assert line(table, "de-en", "padir_raw", "4")["status"] == "run; not in the paper"
    other = [row for row in table.rows if row["direction"] == "en-de"]
    assert [(row["training"], row["T"]) for row in other] == [
        *(("ar", "N"), ("padir", "4"), ("padir", "10")),
    ]
    assert {row["bleu"] for row in other} == {row["status"] for row in other} == {"not run"}
    assert [row["paper"] for row in other] == [29.54, 28.61, 28.58]
    markdown = table.markdown()
    assert "| not run | – |" in markdown and "---: | ---: |" in markdown


def test_claims_about_a_direction_without_scores_are_not_run(wmt):
    near = [claim for claim in wmt.claims() if claim["id"] == "near_ar"]
    assert {claim["dataset"].split()[-1]: claim["verdict"] for claim in near} == {
        "de-en": "reproduced",
        "en-de": "not run",
    }


def test_the_papers_numbers_are_not_set_beside_scores_of_validation_data(wmt):
    wmt.evaluate(split="valid")
    wmt.all()
    table = wmt.table("table1")
    assert table.rows and {row["paper"] for row in table.rows} == {None}
    assert {row["status"] for row in table.rows} == {None}
    assert any("200 sentences, validation set abc123" in note for note in table.notes)


def test_the_papers_numbers_stand_beside_its_own_decoder_alone(wmt):
    wmt.settings["decoders"] = {"joint": {"joint": "neighbours"}}
    joint = {"trainings": ["padir"], "decoders": ["joint"], "passes": [4]}
    wmt.evaluate(core=[*CORE, joint], candidate="padir/padir/T4")
    for seed in (0, 1):
        wmt.score("padir/joint/T4", seed, bleu=39.0)
    numbers = {
        (row["training"], row["decoder"], row["T"]): row["paper"]
        for row in wmt.table("table1").rows
        if row["direction"] == "de-en"
    }
    assert {key for key, number in numbers.items() if number is not None} == {
        *(("ar", "beam", "N"), ("padir", "padir", "4"), ("padir", "padir", "10")),
    }
    assert ("padir", "joint", "4") in numbers


def test_table_2_sets_other_measures_side_by_side_without_a_verdict(wmt):
    wmt.train(cmlm={"system": "cmlm", "targets": "own"})
    cmlm = {"trainings": ["cmlm"], "decoders": ["cmlm"], "passes": [4, 10]}
    wmt.evaluate(systems=[*CORE, cmlm])
    table = wmt.table("table2")
    row = line(table, "de-en", "padir", "10")
    assert (row["paper"], row["status"]) == (34.33, "run; other measure")
    missing = line(table, "de-en", "cmlm", "4")
    assert (missing["bleu"], missing["paper"], missing["status"]) == ("not run", 30.75, "not run")
    assert any("not sacreBLEU" in note for note in table.notes)


def test_table_3_by_hand_and_never_blank(wmt):
    for seed in (0, 1):
        rate(wmt, "padir/padir/T4", 71.0 + seed, seed)
    rate(wmt, "ar/beam", None)
    table = wmt.table("table3")
    row = line(table, "de-en", "padir", "4")
    assert (row["score"], row["paper"], row["seeds"]) == (71.5, 71.26, 2)
    assert row["spread"] == pytest.approx(0.5**0.5)
    assert row["interval"] == pytest.approx((70.55, 72.45), abs=0.01)
    assert (row["status"], row["signature"]) == ("paper in interval", SIGNATURE)
    for missing in (line(table, "de-en", "ar", "N"), line(table, "en-de", "padir", "10")):
        assert missing["score"] == missing["status"] == "not run"
    assert "not run: no folder BLEURT-20." in table.notes
    scores = {row["score"] for row in table.rows}
    assert None not in scores and 0 not in scores


def test_only_the_papers_checkpoint_is_above_or_below_the_paper(wmt):
    for signature, status in (
        (SIGNATURE, "above the paper"),
        ("BLEURT|bleurt-tiny|x", "run; other measure"),
    ):
        for seed in (0, 1):
            rate(wmt, "padir/padir/T4", 80.0, seed, signature=signature)
        row = line(wmt.table("table3"), "de-en", "padir", "4")
        assert (row["paper"], row["status"]) == (71.26, status)


def test_table_3_asks_for_scores_and_ratings(wmt):
    paths = [artifact.path for artifact in artifacts(wmt.config, "table3")]
    # 2 rows of AR, 3 of one seed and 3 of two seeds, in two directions; one scorer.
    hypotheses = 2 * (2 + 3 + 3 * 2)
    kinds = Counter(re.findall(r"/(score|rate)/", " ".join(paths)))
    assert kinds == {"score": hypotheses, "rate": hypotheses}
    assert len(paths) == len(set(paths)) == 2 * hypotheses
    rows = wmt.config.core_rows()
    expected = {
        made(place, row, seed)
        for place in layout.places(wmt.config)
        for row in rows
        for seed in layout.seeds(wmt.config, row)
        for made in (
            lambda place, row, seed: layout.score_path(place, row, seed, "test"),
            lambda place, row, seed: layout.rating_path(place, row, seed, "test", "bleurt"),
        )
    }
    assert set(paths) == expected


def test_without_a_scorer_there_is_no_table_3(made_up):
    assert "table3" not in {part.name for part in parts(made_up.config)}
    made_up.evaluate(scorers={"chrf": {"kind": "chrf++"}})
    table = made_up.table("table3")
    assert len(table.rows) == len(made_up.config.core_rows())
    assert {row["score"] for row in table.rows} == {row["status"] for row in table.rows}
    assert {row["score"] for row in table.rows} == {"not run"}
    assert any("names no checkpoint" in note for note in table.notes)


def near_ar_in_bleurt(wmt) -> dict:
    claims = (claim for claim in wmt.claims() if claim["id"] == "near_ar_bleurt")
    return next(claim for claim in claims if claim["dataset"] == "wmt14 de-en")


def test_near_ar_in_bleurt_needs_every_seed_and_flips_at_its_margin(wmt):
    rate(wmt, "ar/beam", 73.0)
    rate(wmt, "padir/padir/T4", 70.2, 0)
    assert near_ar_in_bleurt(wmt)["measured"] == "padir padir T4 not rated by bleurt"
    rate(wmt, "padir/padir/T4", None, 1)
    assert near_ar_in_bleurt(wmt)["measured"].endswith("by bleurt: no folder BLEURT-20")
    for score, verdict in ((70.2, "reproduced"), (69.8, "not reproduced")):
        for seed in (0, 1):
            rate(wmt, "padir/padir/T4", score, seed)
        claim = near_ar_in_bleurt(wmt)
        assert claim["verdict"] == verdict
        assert claim["interval"] == pytest.approx([score - 73.0] * 2)
    assert min(paper.gaps_to_ar(paper.TABLE3, "T4")) == pytest.approx(-2.98)


def test_near_ar_in_bleurt_is_over_the_seeds_of_both(wmt):
    wmt.train(ar={**TRAININGS["ar"], "seeds": [0, 1, 2]})
    wmt.train(padir={**TRAININGS["padir"], "seeds": [0, 1, 2, 3, 4]})
    for seed in range(5):
        scores = 37.0, 38.5, 38.6, 45.0, 45.0
        wmt.score("padir/padir/T4", seed, bleu=scores[seed])
        rate(wmt, "padir/padir/T4", scores[seed], seed)
    for seed in range(3):
        wmt.score("ar/beam", seed, bleu=40.0)
        rate(wmt, "ar/beam", 40.0, seed)
    claim = near_ar_in_bleurt(wmt)
    assert (claim["verdict"], claim["seeds"]) == ("not reproduced", [0, 1, 2])
    assert "difference -1.97; interval over sentences and 3 seeds" in claim["measured"]


@pytest.mark.parametrize("useless", ["padir/padir/T4", "ar/beam"])
def test_nothing_is_near_in_bleurt_that_translates_nothing(wmt, useless):
    rate(wmt, "ar/beam", 73.0)
    for seed in (0, 1):
        rate(wmt, "padir/padir/T4", 73.0, seed)
    assert near_ar_in_bleurt(wmt)["verdict"] == "reproduced"
    for seed in layout.seeds(wmt.config, Row.parse(useless)):
        wmt.score(useless, seed, bleu=9.9)
    claim = near_ar_in_bleurt(wmt)
    assert claim["verdict"] == "not run"
    assert claim["measured"].endswith("has 9.90 BLEU: below 10 nothing is decided")


def test_a_row_that_one_seed_lacks_is_not_run(wmt):
    rate(wmt, "padir/padir/T4", 71.0, 0)
    rate(wmt, "padir/padir/T4", None, 1)
    assert line(wmt.table("table3"), "de-en", "padir", "4")["score"] == "not run"


def test_a_rating_of_another_version_of_the_scorer_is_absent(wmt):
    old = rate(wmt, "ar/beam", 73.0, signature="BLEURT|BLEURT-20|y")
    rate(wmt, "padir/padir/T4", 71.0, 0)
    other = rate(wmt, "padir/padir/T4", None, 1)
    os.utime(old, (1, 1))
    results = wmt.load("table3")
    absent = {a.artifact.path: a.reason for a in results.absent if a.reason != "missing"}
    reason = "made with another version of the scorer"
    assert absent == {str(old): reason}
    assert [row.name for _, row, _ in results.ratings] == ["padir/padir/T4"]
    command = command_for("table3", results.absent)
    assert command == "snakemake --cores all table3 --forcerun rate"
    # One that did not run has no version.
    assert other.is_file() and str(other) not in absent


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"test_digest": "other"}, "test-set digest differs"),
        ({"replicates": {"samples": 9, "seed": 12345, "score": [1.0] * 9}}, "number of resamples"),
        ({"replicates": {"samples": 200, "seed": 1, "score": [1.0] * 200}}, "resampling seed"),
        ({"split": "valid"}, "split is 'valid'; the path and config say 'test'"),
        ({"signature": None}, "key signature is missing or null"),
        ({"status": "fine"}, "not a document of padir rate"),
    ],
)
def test_ratings_that_cannot_stand_together(wmt, more, message):
    rate(wmt, "ar/beam", 73.0)
    rate(wmt, "padir/padir/T4", 71.0, **more)
    with pytest.raises(InputError, match=message.replace("|", "\\|")):
        wmt.load("table3")
