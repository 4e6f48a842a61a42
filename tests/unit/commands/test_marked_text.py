"""A byte order mark at the start of a file is removed with a note, by every verb that decodes."""

import io
import sys
from types import SimpleNamespace

import pytest

from padir.commands import analyse, decode, latency, sample, trace, translate, tune
from padir.decode.candidates import LengthRule
from padir.files import InputError, read_json, read_jsonl, write_lines
from tests.decoding import LINES, run, tiny_decoder, write_decoder, write_tiny_bundle

MARK = "\ufeff".encode()
pytestmark = pytest.mark.usefixtures("no_set_up")
RULE = ["--length-alpha", 1, "--length-weight", 1]


@pytest.fixture
def place(tmp_path):
    """A model, and a source and a reference with and without a mark."""
    write_tiny_bundle(tmp_path / "padir", "padir")
    for name, lines in (("source", LINES), ("reference", [line[::-1] for line in LINES])):
        write_lines(tmp_path / f"plain.{name}", lines)
        content = (tmp_path / f"plain.{name}").read_bytes()
        (tmp_path / f"marked.{name}").write_bytes(MARK + content)
    return tmp_path


def notes(place, *names):
    return [f"{place}/marked.{n}: starts with a byte order mark, which was removed" for n in names]


def of_both(place, capsys, verb, *options, references=False):
    """What the verb writes for the plain text and for the marked one, and its notes."""
    for kind in ("plain", "marked"):
        given = ["--bundle", place / "padir", "--source", place / f"{kind}.source"]
        given += ["--references", place / f"{kind}.reference"] if references else []
        assert run(verb, *given, *options, "--out", place / kind) == 0
    return [each for each in capsys.readouterr().err.splitlines() if "byte order mark" in each]


def test_of_sources_that_are_decoded(place, capsys):
    options = [*RULE, "--passes", 2, "--text", place / "text"]
    assert of_both(place, capsys, decode, *options) == notes(place, "source")
    assert read_jsonl(place / "plain") == read_jsonl(place / "marked")
    options += ["--oracle-length"]
    said = of_both(place, capsys, decode, *options, references=True)
    assert said == notes(place, "source", "reference")
    assert read_jsonl(place / "plain") == read_jsonl(place / "marked")


def test_of_sources_that_are_traced(place, capsys):
    options = [*RULE, "--rows", "padir.T2"]
    assert of_both(place, capsys, trace, *options) == notes(place, "source")
    assert read_jsonl(place / "plain") == read_jsonl(place / "marked")
    said = of_both(place, capsys, trace, *options, references=True)
    assert said == notes(place, "source", "reference")
    assert read_jsonl(place / "plain") == read_jsonl(place / "marked")


def test_of_validation_text(place, capsys):
    said = of_both(place, capsys, tune, references=True)
    assert said == notes(place, "source", "reference")
    assert read_json(place / "plain") == read_json(place / "marked")


def test_of_a_source_that_is_sampled_timed_or_analysed(place, capsys):
    source = place / "marked.source"
    source.write_bytes(MARK)
    common = ["--source", source, "--out", place / "out"]
    assert run(sample, "--bundle", place / "padir", *common) == 0
    with pytest.raises(InputError, match="no line to translate"):
        run(latency, "--rows", f"{place / 'padir'}:padir.T2", *common)
    (place / "empty").touch()
    decoder = tiny_decoder("padir", LengthRule(1.0, 0.0))
    write_decoder(place / "padir" / "decoders" / "padir.json", decoder)
    given = ["--bundle", place / "padir", "--references", place / "empty"]
    with pytest.raises(InputError, match="0 sentences, at least 2 are needed"):
        run(analyse, *given, "--target-language", "xt", *common)
    said = capsys.readouterr().err.splitlines()
    assert [each for each in said if "byte order mark" in each] == notes(place, "source") * 3


@pytest.mark.parametrize("option", ["terms", "prefix"])
def test_of_given_text(place, capsys, monkeypatch, option):
    outputs = []
    for kind in ("plain", "marked"):
        stdin = SimpleNamespace(buffer=io.BytesIO(b"ba\nko\n"), isatty=lambda: False)
        monkeypatch.setattr(sys, "stdin", stdin)
        given = place / f"{kind}.given"
        given.write_bytes((MARK if kind == "marked" else b"") + b"su\nmi\n")
        assert run(translate, "--model", place / "padir", *RULE, f"--{option}", given) == 0
        outputs.append(capsys.readouterr())
    assert outputs[0].out == outputs[1].out
    assert (outputs[0].err, outputs[1].err.splitlines()) == ("", notes(place, "given"))
