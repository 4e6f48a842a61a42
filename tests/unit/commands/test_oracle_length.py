"""padir decode --oracle-length, with tiny random models."""

import json

import pytest

from padir.commands import decode
from padir.decode.candidates import LengthRule
from padir.files import InputError, read_json, read_jsonl, write_lines
from tests.decoding import (
    LINES,
    decoding,
    run,
    tiny_decoder,
    write_decoder,
    write_tiny_bundle,
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with bundles of both systems, their decoders, sources and references."""
    monkeypatch.setattr(decode, "prepare", lambda threads: None)
    for system, kind in (("ar", "beam"), ("padir", "padir")):
        bundle = write_tiny_bundle(tmp_path / system, system, digests={"training": "t"})
        decoder = tiny_decoder(kind, LengthRule(0.6, 0.0))
        write_decoder(bundle / "decoders" / f"{kind}.json", decoder)
    write_lines(tmp_path / "source", LINES)
    write_lines(tmp_path / "reference", [line[::-1] for line in LINES])
    return tmp_path


def test_an_oracle_length_is_that_of_the_reference_and_no_system(place, tmp_path):
    out, text = tmp_path / "out.jsonl", tmp_path / "out.txt"
    write_lines(tmp_path / "references", [line + " ba" for line in LINES])
    oracle = ["--oracle-length", "--references", tmp_path / "references"]
    provenance = {}
    for options in ([], oracle):
        run(decode, *decoding(place, "T2"), *options, "--out", out, "--text", text)
        provenance[bool(options)] = read_json(tmp_path / "out.jsonl.provenance.json")
    written = [record for record in read_jsonl(out) if record["length"]]
    assert [record["length"] for record in written] == [len(x.split()) + 2 for x in LINES if x]
    assert {record["candidates"] for record in written} == {1}
    assert provenance[True]["labels"] == {**provenance[False]["labels"], "lengths": "references"}
    assert str(tmp_path / "references") in provenance[True]["inputs"]
    predicted, taken = provenance[False]["digests"], provenance[True]["digests"]
    assert predicted.keys() == taken.keys()
    assert {key for key in taken if taken[key] != predicted[key]} == {"decoder", "hypotheses"}
    asked = ["--digests", json.dumps(predicted), "--out", out, "--text", text]
    with pytest.raises(InputError, match="was made with other settings"):
        run(decode, *decoding(place, "T2"), *oracle, *asked)


def test_an_oracle_length_needs_references_and_a_decoder_of_lengths(place, tmp_path):
    written = ["--oracle-length", "--out", tmp_path / "o", "--text", tmp_path / "t"]
    with pytest.raises(InputError, match="name the references"):
        run(decode, *decoding(place, "T2"), *written)
    references = ["--references", place / "reference"]
    with pytest.raises(InputError, match="beam predicts no lengths"):
        run(decode, *decoding(place, "beam"), *written, *references)
