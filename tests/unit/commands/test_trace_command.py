"""`padir trace`: the first sentences under several decoders, with provenance."""

from pathlib import Path

import pytest

from padir.commands import trace
from padir.files import InputError, read_json, read_jsonl, write_lines
from tests.decoding import LINES, write_tiny_bundle


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the verb on a tiny model."""
    monkeypatch.setattr(trace, "prepare", lambda threads: None)
    digests = {"data": "d", "training": "t"}
    bundle = write_tiny_bundle(tmp_path / "padir", "padir", digests=digests)
    write_lines(tmp_path / "source", LINES)
    write_lines(tmp_path / "reference", [line[::-1] for line in LINES])

    def run(*options: str) -> int:
        named = ["--bundle", bundle, "--source", tmp_path / "source"]
        rule = ["--length-alpha", "1", "--length-weight", "1"]
        return trace.main([str(each) for each in (*named, *rule, *options)])

    return run


def test_a_trace_has_the_first_sentences_of_each_row_and_its_provenance(run, tmp_path):
    path = tmp_path / "trace.jsonl"
    references = ("--references", str(tmp_path / "reference"))
    rows = ("--rows", "padir.T2", "padir.T3")
    assert run(*rows, "--out", str(path), "--sentences", "3", *references) == 0
    records = read_jsonl(path)
    assert [(r["decoder"], r["passes"], r["id"]) for r in records] == [
        ("padir", passes, number) for passes in (2, 3) for number in range(3)
    ]
    assert [record["source"] for record in records[3:]] == list(LINES[:3])
    assert [record["reference"] for record in records[3:]] == [line[::-1] for line in LINES[:3]]
    provenance = read_json(path.with_name("trace.jsonl.provenance.json"))
    named = {Path(name).name for name in provenance["inputs"]}
    assert {"source", "reference"} <= named
    digests = provenance["digests"]
    assert digests.keys() == {"data", "training", "hypotheses/padir.T2", "hypotheses/padir.T3"}
    assert len(set(digests.values())) == 4
    assert provenance["labels"]["training"] == "tiny_padir"


def test_several_references_a_line_are_refused(run, tmp_path):
    path = tmp_path / "references.jsonl"
    path.write_text('["a", "b"]\n' * len(LINES))
    options = ("--rows", "padir.T2", "--references", str(path))
    with pytest.raises(InputError, match=r"references\.jsonl: several texts a line"):
        run("--out", str(tmp_path / "trace.jsonl"), *options)


def test_two_rerankers_of_one_training_are_refused(run, tmp_path):
    folders = [write_tiny_bundle(tmp_path / name, "ar") for name in ("ar", "again")]
    options = ("--rows", "padir.T2", "--reranker", *map(str, folders))
    with pytest.raises(InputError, match="tiny_ar, tiny_ar: allowed is one model of each training"):
        run("--out", str(tmp_path / "trace.jsonl"), *options)


def test_a_reranker_that_ranks_nothing_is_refused(run, tmp_path):
    reranker = write_tiny_bundle(tmp_path / "ar", "ar")
    options = ("--rows", "padir.T2", "--reranker", str(reranker))
    with pytest.raises(InputError, match="no decoder of --rows names tiny_ar"):
        run("--out", str(tmp_path / "trace.jsonl"), *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rows", "padir"), "passes"),
        (("--rows", "padir.4"), "--rows: 'padir.4': passes are '4'"),
        (("--rows", "nothing.T2"), "decoder nothing: no such file"),
        (("--rows", "padir.T2", "--sentences", "0"), "--sentences is 0"),
        (
            ("--rows", "padir.T2", "--digests", '{"hypotheses/padir.T2": "other"}'),
            "was made with other settings",
        ),
    ],
)
def test_a_row_that_cannot_be_traced_is_refused(run, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        run("--out", str(tmp_path / "trace.jsonl"), *options)
    assert not (tmp_path / "trace.jsonl").exists()
