"""`padir decode --trace`: the first sentences, with provenance; options that exclude each other."""

import pytest

from padir.commands import decode
from padir.files import InputError, read_json, read_jsonl, write_lines
from tests.decoding import LINES, write_tiny_bundle

DIGESTS = {"data": "d", "training": "t"}


@pytest.fixture(autouse=True)
def no_set_up(monkeypatch):
    """JAX has started; its set-up is tested elsewhere."""
    monkeypatch.setattr(decode, "prepare", lambda threads: None)


@pytest.fixture
def run(tmp_path):
    """Runs the verb on a tiny model."""
    bundle = write_tiny_bundle(tmp_path / "padir", "padir", digests=DIGESTS)
    write_lines(tmp_path / "source", LINES)
    write_lines(tmp_path / "reference", [line[::-1] for line in LINES])

    def run(*options: str) -> int:
        named = ["--bundle", bundle, "--source", tmp_path / "source", "--passes", "2"]
        rule = ["--length-alpha", "1", "--length-weight", "1"]
        return decode.main([str(each) for each in (*named, *rule, *options)])

    return run


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
