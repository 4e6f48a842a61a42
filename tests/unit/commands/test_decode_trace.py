"""`padir decode --trace`: the first sentences, with provenance; options that exclude each other."""

import pytest

from padir.commands import decode
from padir.files import InputError, read_json, read_jsonl
from tests.decoding import LINES, traced_bundle


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the verb on a tiny model."""
    return traced_bundle(tmp_path, decode, monkeypatch, "--passes", "2")


def test_a_trace_has_the_first_sentences_and_its_provenance(run, tmp_path):
    path = tmp_path / "trace.jsonl"
    references = ("--references", str(tmp_path / "reference"))
    assert run("--trace", str(path), "--trace-sentences", "3", *references) == 0
    records = read_jsonl(path)
    assert [record["source"] for record in records] == list(LINES[:3])
    assert [record["reference"] for record in records] == [line[::-1] for line in LINES[:3]]
    provenance = read_json(path.with_name("trace.jsonl.provenance.json"))
    assert provenance["digests"].keys() == {"data", "training", "decoder", "hypotheses"}
    assert provenance["labels"]["passes"] == 2
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".txt"] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "what to write is missing: name --out and --text, or --trace"),
        (("--out", "o"), "what to write is missing"),
        (("--trace", "t", "--text", "x"), "--trace stands instead of --out and --text"),
        (("--out", "o", "--text", "x", "--trace-sentences", "2"), "needs --trace"),
        (("--trace", "t", "--trace-sentences", "0"), "--trace-sentences is 0"),
    ],
)
def test_what_to_write_is_said_once(run, options, message):
    with pytest.raises(InputError, match=message):
        run(*options)
