"""Which settings an output depends on, and inputs that other settings made."""

import json

import pytest

from padir.commands import decode
from padir.config.decoder import decoder_digest
from padir.config.rows import with_hypotheses
from padir.decode.candidates import LengthRule
from padir.files import InputError, read_json, write_lines
from padir.provenance import checked_digests
from tests.decoding import LINES, run, tiny_decoder, write_decoder, write_tiny_bundle

DIGESTS = {"data": "d", "training": "t"}


pytestmark = pytest.mark.usefixtures("no_set_up")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with bundles of both systems, their tuned decoders and sources."""
    folder = tmp_path_factory.mktemp("digests")
    write_lines(folder / "source", LINES)
    for system, kind in (("ar", "beam"), ("padir", "padir")):
        write_tiny_bundle(folder / system, system, digests=DIGESTS)
        decoder = tiny_decoder(kind, LengthRule(1.0, 0.0))
        digests = {**DIGESTS, "decoder": decoder_digest(decoder.settings)}
        path = folder / system / "decoders" / f"{kind}.json"
        write_decoder(path, decoder, digests=digests)
    return folder


def decoding(place, name):
    """Options of a model and one of its decoders; T2 is PaDIR's."""
    bundle = ["--bundle", place / ("padir" if name == "T2" else "ar")]
    return [*bundle, "--source", place / "source", *(["--passes", 2] if name == "T2" else [])]


@pytest.mark.parametrize("name", ["T2", "beam"])
def test_provenance_names_training_decoder_and_digests(place, tmp_path, name):
    out = tmp_path / "out.jsonl"
    arguments = [*decoding(place, name), "--out", out, "--text", tmp_path / "t"]
    assert run(decode, *arguments, "--split", "valid") == 0
    system, kind, passes = ("padir", "padir", 2) if name == "T2" else ("ar", "beam", None)
    provenance = read_json(tmp_path / "out.jsonl.provenance.json")
    assert provenance["labels"] == {
        **{"dataset": "toy", "direction": "xs-xt", "training": f"tiny_{system}"},
        **{"system": system, "targets": "raw", "seed": 2},
        **{"decoder": kind, "passes": passes, "split": "valid"},
    }
    settings = tiny_decoder(kind).settings
    digests = {**DIGESTS, "decoder": decoder_digest(settings)}
    assert provenance["digests"] == with_hypotheses(digests, 2, passes)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (
            {"data": "d", "training": "x"},
            r"model\.safetensors: was trained with other settings \(training t, the config has x\)"
            r": run snakemake --force .*padir/model\.safetensors with the options of its run$",
        ),
        ({"decoder": "x"}, r"decoders/padir\.json: was made with other settings \(decoder "),
        ({"hypotheses": "x"}, r"was made with other settings \(hypotheses "),
    ],
)
def test_inputs_of_other_settings_are_refused(place, tmp_path, expected, message):
    arguments = [*decoding(place, "T2"), "--out", tmp_path / "o", "--text", tmp_path / "t"]
    with pytest.raises(InputError, match=message) as refused:
        run(decode, *arguments, "--digests", json.dumps(expected))
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("out", "text", "named"), [("source", "t", "--source"), ("x", "x", "--text")]
)
def test_decode_writes_over_nothing_that_it_reads_or_writes(place, tmp_path, out, text, named):
    folder = place if out == "source" else tmp_path
    arguments = [*decoding(place, "T2"), "--out", folder / out, "--text", tmp_path / text]
    before = (place / "source").read_bytes()
    with pytest.raises(
        InputError, match=f"^--out .*{out}: is a file of {named}, allowed is another"
    ):
        run(decode, *arguments)
    assert (place / "source").read_bytes() == before


def test_a_decoder_tuned_for_an_earlier_training_is_named(place, tmp_path, capsys):
    words = [*decoding(place, "T2"), "--out", tmp_path / "o", "--text", tmp_path / "t"]
    assert run(decode, *words) == 0
    assert "tuned" not in capsys.readouterr().err
    tuned = tiny_decoder("padir", LengthRule(1.0, 0.0))
    write_decoder(tmp_path / "padir.json", tuned, digests={**DIGESTS, "training": "earlier"})
    assert run(decode, *words, "--decoder", tmp_path / "padir.json") == 0
    told = capsys.readouterr().err
    assert "padir.json: was tuned for another training than that of" in told


def test_only_stages_that_both_name_are_compared():
    checked_digests({"data": "a", "score": "b"}, {"data": "a", "training": "c"}, "file")
    checked_digests({}, {"data": "a"}, "file")


@pytest.mark.parametrize("text", ["{", "[]", '{"data": 1}'])
def test_digests_that_are_no_object_of_texts_are_refused(place, text):
    with pytest.raises(InputError, match=r"^--digests: (not JSON|found)"):
        run(decode, *decoding(place, "T2"), "--out", "o", "--text", "t", "--digests", text)
