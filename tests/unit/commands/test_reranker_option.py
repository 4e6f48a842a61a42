"""`--reranker` of decode, tune, translate, distill and latency, from files to files."""

import io
import sys
from types import SimpleNamespace

import pytest

from padir.commands import decode, distill, latency, translate, tune
from padir.decode.candidates import LengthRule
from padir.decode.rerank import Reranker
from padir.files import InputError, read_json, read_lines, write_lines
from tests.decoding import LINES, run, tiny_decoder, write_decoder, write_tiny_bundle

pytestmark = pytest.mark.usefixtures("no_set_up")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An AR bundle, and a parallel one whose decoders have it as reranker or have none."""
    folder = tmp_path_factory.mktemp("commands")
    write_lines(folder / "source", LINES)
    write_tiny_bundle(folder / "ar", "ar", seed=4)
    write_tiny_bundle(folder / "padir", "padir")
    for name, reranker in (("padir", None), ("reranked", "tiny_ar")):
        decoder = tiny_decoder("padir", LengthRule(1.0), name, reranker=reranker)
        write_decoder(folder / "padir" / "decoders" / f"{name}.json", decoder)
    return folder


def decoding(place, decoder):
    return ["--bundle", place / "padir", "--decoder", decoder, "--source", place / "source"]


def decoded(place, tmp_path, decoder, *reranker):
    out, text = tmp_path / "out.jsonl", tmp_path / "out.txt"
    arguments = [*decoding(place, decoder), "--passes", 2]
    assert run(decode, *arguments, "--out", out, "--text", text, *reranker) == 0
    return read_lines(text)


def test_decode_translate_and_distill_agree(place, tmp_path, monkeypatch, capfd):
    given = ["--reranker", place / "ar"]
    lines = decoded(place, tmp_path, "reranked", *given)
    assert lines != decoded(place, tmp_path, "padir")
    content = "".join(f"{line}\n" for line in LINES).encode()
    stdin = SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    capfd.readouterr()
    model = ["--model", place / "padir", "--decoder", "reranked"]
    assert run(translate, *model, "--steps", 2, *given) == 0
    assert capfd.readouterr().out.split("\n")[:-1] == lines
    arguments = [*decoding(place, "reranked"), "--passes", 2]
    assert run(distill, *arguments, *given, "--out", tmp_path / "distilled") == 0
    assert read_lines(tmp_path / "distilled") == lines


def test_tune_and_decode_record_the_reranker(place, tmp_path):
    given = ["--reranker", place / "ar"]
    decoded(place, tmp_path, "reranked", *given)
    arguments = decoding(place, "reranked")
    arguments += ["--references", place / "source", "--out", tmp_path / "decoder.json"]
    assert run(tune, *arguments, *given) == 0
    for name in ("out.jsonl", "decoder.json"):
        provenance = (tmp_path / f"{name}.provenance.json").read_text()
        assert str(place / "ar" / "model.safetensors") in provenance


@pytest.mark.parametrize("module", [tune, translate, decode, distill, latency])
def test_every_verb_refuses_to_leave_the_reranker_out(place, tmp_path, module):
    shared, out = decoding(place, "reranked"), ["--out", tmp_path / "out"]
    row = f"{place}/padir:reranked.T2"
    arguments = {
        tune: [*shared, "--references", place / "source", *out],
        translate: ["--model", place / "padir", "--decoder", "reranked"],
        decode: [*shared, "--passes", 2, *out],
        distill: [*shared, "--passes", 2, *out],
        latency: ["--rows", row, "--source", place / "source", *out],
    }[module]
    arguments += ["--text", tmp_path / "text"] if module is decode else []
    with pytest.raises(InputError, match="is tiny_ar: give that model's bundle with --reranker"):
        run(module, *arguments)
    assert not (tmp_path / "out").exists()


def test_latency_times_the_reranker_for_those_that_name_it(place, tmp_path, monkeypatch):
    monkeypatch.setattr("padir.decode.latency.PEAK_SIZE", 64)
    called = []
    rerank = Reranker.rerank
    monkeypatch.setattr(
        Reranker, "rerank", lambda self, *given: called.append(1) or rerank(self, *given)
    )
    names = ["ar:greedy", *(f"padir:{d}.T{t}" for d in ("padir", "reranked") for t in (1, 3))]
    arguments = ["--rows", *(f"{place}/{name}" for name in names), "--source", place / "source"]
    arguments += ["--sentences", 3, "--repeats", 2, "--out", tmp_path / "latency.json"]
    assert run(latency, *arguments, "--reranker", place / "ar") == 0
    rows = read_json(tmp_path / "latency.json")["rows"]
    assert len(rows) == 5 and all(row["recompiled"] == 0 for row in rows)
    # Each sentence once to compile, by T1 for T3 too, and twice by each of them.
    assert len(called) == 3 * (1 + 2 * 2)
    assert rows[4]["passes_mean"] == rows[2]["passes_mean"]  # its own pass is not counted


def test_latency_refuses_a_reranker_that_ranks_nothing(place, tmp_path):
    arguments = ["--rows", f"{place}/padir:padir.T1", "--source", place / "source"]
    with pytest.raises(InputError, match="no decoder of --rows names tiny_ar"):
        run(latency, *arguments, "--out", tmp_path / "o", "--reranker", place / "ar")


def test_ready_made_translations_take_no_option_of_decoding(place, tmp_path):
    ready = ["--ready", place / "source", "--source", place / "source", "--out", tmp_path / "out"]
    for option, value in (
        ("--reranker", place / "ar"),
        ("--decoder", "beam"),
        ("--passes", 2),
        ("--work", tmp_path / "work"),
        ("--batch-sentences", 2),
        ("--threads", 1),
    ):
        with pytest.raises(InputError, match=f"^{option}: nothing is decoded with --ready$"):
            run(distill, *ready, option, value)
    assert not (tmp_path / "out").exists()
