"""Traces on the page, and the titles of its claims."""

import json
import re

import pytest

from padir import layout
from padir.report import claims, titles, viewer
from padir.report.claim_list import CLAIMS, Claim
from padir.report.load import Reader


def loaded(made_up):
    return Reader(made_up.config).load(layout.traces(made_up.config, "everything"))


def test_the_page_holds_every_trace(made_up, tmp_path):
    made_up.traces()
    made_up.write("config.json", made_up.config.model_dump(mode="json"))
    from padir import cli

    assert cli.main(["report", "--config", "config.json", "--out", "report", "--only", "page"]) == 0
    text = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    (inside,) = re.findall(r'<script type="application/json" id="traces">(.*?)</script>', text)
    assert "<" not in inside
    shown = json.loads(inside)
    assert (shown["recorded"], shown["shown"]) == (3, 3)
    rows = [(row["training"], row["decoder"], row["passes"]) for row in shown["rows"]]
    # Beam search of AR, and of each training the row with most passes.
    assert rows == [("ar", "beam", None), ("padir_raw", "padir", 10), ("padir", "padir", 10)]
    assert [row["baseline"] for row in shown["rows"]] == [True, False, False]
    record = shown["rows"][1]["sentences"][2]
    assert record["hypothesis"] == "one two three <four>"
    assert record["candidates"][1]["states"][4]["tokens"][3] == "\u2581<four>"
    assert 'href="#viewer"' in text


def test_a_page_without_traces_has_no_viewer_and_names_them(made_up, tmp_path):
    results = loaded(made_up)
    assert viewer.payload(results) == ""
    assert len(results.absent) == 3
    assert results.absent[0].artifact.path.endswith("/ar/seed0/trace/test.core.jsonl")


def test_a_trace_of_other_settings_is_not_shown(made_up):
    path, *_ = made_up.traces()
    made_up.write(f"{path}.provenance.json", {"digests": {"hypotheses": "other"}})
    results = loaded(made_up)
    assert len(results.traces) == 2
    assert [absence.reason for absence in results.absent] == ["made with other settings"]


@pytest.mark.parametrize(
    ("share", "shown", "rows"), [(1.0, 3, 3), (0.8, 2, 3), (0.45, 1, 3), (0.25, 1, 2)]
)
def test_as_many_sentences_and_then_rows_as_fit_are_shown(made_up, monkeypatch, share, shown, rows):
    made_up.traces()
    limit = int(share * len(viewer.payload(loaded(made_up)).encode()))
    monkeypatch.setattr(viewer, "LIMIT", limit)
    text = viewer.payload(loaded(made_up))
    assert len(text.encode()) <= limit
    document = json.loads(text)
    assert (document["recorded"], document["shown"]) == (3, shown)
    assert (len(document["rows"]), document["left_off"]) == (rows, 3 - rows)
    assert {len(row["sentences"]) for row in document["rows"]} == {shown}


def test_a_limit_below_one_row_shows_none(made_up, monkeypatch):
    made_up.traces()
    monkeypatch.setattr(viewer, "LIMIT", 100)
    assert viewer.payload(loaded(made_up)) == ""


def test_everything_traces_each_training_and_decoder_of_any_table_once(made_up):
    systems = [{"trainings": ["cmlm"], "decoders": ["cmlm"], "passes": [2, 10, 4]}]
    made_up.train(cmlm={"system": "cmlm", "seeds": [1, 3]})
    made_up.settings["decoders"] = {"joint": {"kind": "padir", "joint": "neighbours"}}
    joint = [{"trainings": ["padir"], "decoders": ["joint"], "passes": [4]}]
    made_up.evaluate(systems=systems, dependency=joint)
    core, everything = (layout.traces(made_up.config, s) for s in ("core", "everything"))
    further = [artifact.path for artifact in everything if artifact not in core]
    runs = f"{layout.RESULTS}/runs/toy/xs-xt"
    # One file per training, of its first seed.
    assert further == [
        f"{runs}/{n}/trace/test.further.jsonl" for n in ("cmlm/seed1", "padir/seed0")
    ]
    made_up.traces()
    rows = json.loads(viewer.payload(loaded(made_up)))["rows"]
    assert [(row["training"], row["decoder"], row["passes"]) for row in rows] == [
        *(("ar", "beam", None), ("padir_raw", "padir", 10), ("padir", "padir", 10)),
        *(("cmlm", "cmlm", 10), ("padir", "joint", 4)),
    ]
    assert "decoder" not in rows[-1]["sentences"][0]


def test_every_claim_has_a_short_title_of_its_own_and_a_group():
    assert len({claim.title for claim in CLAIMS}) == len(CLAIMS)
    assert max(len(claim.title) for claim in CLAIMS) < 64
    assert titles.HEADINGS.keys() <= {claim.group for claim in CLAIMS} <= titles.GROUPS.keys()
    assert set(titles.HEADLINES) <= {claim.id for claim in CLAIMS}


def test_a_claim_is_one_entry_of_the_list(made_up, monkeypatch):
    better = Claim(
        id="better_than_cmlm",
        title="Better than CMLM",
        section="ours",
        statement="PaDIR is above CMLM in BLEU.",
        paper="no number",
        part="table2",
    )
    for module in (claims, titles):
        monkeypatch.setattr(module, "CLAIMS", (better,))
    (record,) = titles.anchored(claims.decide(made_up.config, {}), made_up.config)
    assert (record["title"], titles.GROUPS[record["group"]]) == ("Better than CMLM", "Systems")
    # The core has no table 2.
    assert record["command"] == "snakemake --cores all everything"


def test_records_of_one_claim_have_anchors_of_their_own(made_up):
    record = {"id": "theory.convexity.small", "statement": "s", "verdict": "reproduced"}
    first, second = titles.anchored([record, record], made_up.config)
    assert first["anchor"] == "claim-theory.convexity.small"
    assert second["anchor"] == "claim-theory.convexity.small-1"
    assert (first["title"], first["group"]) == ("s", "theory")


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["reproduced", "reproduced"], "reproduced"),
        (["reproduced", "not run"], "reproduced"),
        (["reproduced", "not reproduced"], "not reproduced"),
        (["not run"], "not run"),
    ],
)
def test_a_card_is_reproduced_where_every_decided_record_is(made_up, verdicts, expected):
    records = [
        {"id": "near_ar", "statement": "", "verdict": verdict, "measured": "numbers"}
        for verdict in verdicts
    ]
    config = made_up.config
    (card,) = titles.cards(list(titles.anchored(records, config)), config)
    assert (card.verdict, card.anchor) == (expected, "claim-near_ar")
    assert card.title == "Near AR with 4 passes"
    assert card.lines == ["numbers"] * len(verdicts)
