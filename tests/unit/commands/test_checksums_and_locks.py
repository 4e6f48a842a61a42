"""Damaged decoders and hypotheses are refused; a second distillation waits for the first."""

import hashlib
import io
import json
import shutil
import sys
import threading
import time

import pytest

from padir.commands import decode, distill, options, score, train, tune
from padir.decode.load import find_decoder, load
from padir.decode.translate import Translator
from padir.files import InputError, read_json, write_json, write_lines
from padir.locks import Lock
from padir.training import loop
from tests.decoding import LINES, run, tiny_decoder, write_decoder, write_tiny_bundle
from tests.training import tiny_spec, train_arguments, write_toy

pytestmark = pytest.mark.usefixtures("no_set_up")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a bundle, its tuned decoder, sources and references."""
    folder = tmp_path_factory.mktemp("checksums")
    write_lines(folder / "source", LINES)
    write_lines(folder / "reference", [line[::-1] for line in LINES])
    write_tiny_bundle(folder / "padir", "padir")
    write_tiny_bundle(folder / "ar", "ar")
    write_decoder(folder / "padir.json", tiny_decoder("padir", length_alphas=[0.0, 1.0]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tune, "prepare", lambda threads: None)
        arguments = [*decoding(folder)[:4], "--decoder", folder / "padir.json"]
        arguments += ["--references", folder / "reference"]
        assert run(tune, *arguments, "--out", folder / "padir/decoders/padir.json") == 0
    return folder


def decoding(place, system="padir"):
    """Options of a model and sources, and of its decoder."""
    options = ["--bundle", place / system, "--source", place / "source"]
    return [*options, *(["--passes", 2] if system == "padir" else ["--decoder", "greedy"])]


def test_a_damaged_decoder_is_refused_and_one_without_its_checksum_is_read(place, tmp_path):
    bundle = shutil.copytree(place / "padir", tmp_path / "bundle")
    path = bundle / "decoders" / "padir.json"
    content = read_json(path)
    assert find_decoder(load(bundle), "padir").name == "padir"
    content["length_rule"]["alpha"] += 1
    write_json(path, content)
    with pytest.raises(InputError, match=r"padir\.json: damaged or edited: its checksum is not"):
        find_decoder(load(bundle), "padir")
    del content["checksum"]
    write_json(path, content)
    rule = find_decoder(load(bundle), "padir").rule
    assert rule is not None and rule.alpha == content["length_rule"]["alpha"]


@pytest.mark.parametrize("damaged", ["out.txt", "out.jsonl"])
def test_damaged_hypotheses_are_not_scored(place, tmp_path, capsys, damaged):
    out, text = tmp_path / "out.jsonl", tmp_path / "out.txt"
    assert run(decode, *decoding(place), "--out", out, "--text", text) == 0
    arguments = ["--hypotheses", text, "--references", place / "reference", "--decode", out]
    arguments += ["--target-language", "en", "--samples", 40]
    provenance = ["--provenance", tmp_path / "out.jsonl.provenance.json"]
    assert run(score, *arguments, *provenance) == 0
    content = (tmp_path / damaged).read_bytes()
    (tmp_path / damaged).write_bytes(content.replace(b"\n", b" \n", 1))
    with pytest.raises(
        InputError, match=rf"{damaged}: damaged or edited: .* run snakemake --force"
    ):
        run(score, *arguments, *provenance)


def test_scores_are_not_compared_with_a_damaged_baseline(place, tmp_path):
    out, text = tmp_path / "out.jsonl", tmp_path / "out.txt"
    assert run(decode, *decoding(place), "--out", out, "--text", text) == 0
    baseline = tmp_path / "baseline/out.txt"
    baseline.parent.mkdir()
    baseline.write_bytes(text.read_bytes())
    arguments = ["--hypotheses", text, "--references", place / "reference", "--baseline", baseline]
    arguments += ["--target-language", "en", "--samples", 40]
    provenance = ["--baseline-provenance", tmp_path / "out.jsonl.provenance.json"]
    assert run(score, *arguments, *provenance) == 0
    baseline.write_bytes(text.read_bytes().replace(b"\n", b" \n", 1))
    with pytest.raises(
        InputError, match=r"baseline/out.txt: damaged or edited: .* without --baseline-provenance"
    ):
        run(score, *arguments, *provenance)


def test_a_training_that_outlived_its_settings_overwrites_no_bundle(tmp_path, monkeypatch):
    write_toy(tmp_path)
    arguments = train_arguments(tmp_path, tiny_spec("ar", steps=3))
    finish = loop.train

    def other_settings_meanwhile(*given, **named):
        trained = finish(*given, **named)
        spec = tiny_spec("ar", steps=4).model_dump(mode="json")
        (tmp_path / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        return trained

    monkeypatch.setattr(loop, "train", other_settings_meanwhile)
    with pytest.raises(InputError, match=r"/spec\.json: changed while the training ran: "):
        run(train, *arguments)
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("name", ["train.source", "valid.target", "spm.model"])
def test_a_bundle_is_not_written_over_text_that_changed_while_it_was_trained(
    tmp_path, monkeypatch, name
):
    write_toy(tmp_path)
    arguments = train_arguments(tmp_path, tiny_spec("ar", steps=3))
    path = tmp_path / name
    content, finish = path.read_bytes(), loop.Run.train

    def edited_meanwhile(self):
        path.write_bytes(content + b"ba\n")
        return finish(self)

    monkeypatch.setattr(loop.Run, "train", edited_meanwhile)
    with pytest.raises(InputError, match=rf"/{name}: changed while the training ran: "):
        run(train, *arguments)
    assert not (tmp_path / "bundle").exists()
    # Nothing is lost, nor trained again.
    path.write_bytes(content)
    monkeypatch.setattr(loop.Run, "train", finish)
    monkeypatch.setattr(loop.Trainer, "steps", None)
    assert run(train, *arguments) == 0
    inputs = read_json(tmp_path / "provenance.json")["inputs"]
    assert inputs[str(path)] == hashlib.sha256(content).hexdigest()


def test_provenance_of_hypotheses_names_the_text_that_was_translated(place, tmp_path, monkeypatch):
    source = tmp_path / "source"
    write_lines(source, LINES)
    before, translate = hashlib.sha256(source.read_bytes()).hexdigest(), Translator.translate

    def edited_meanwhile(self, *given, **named):
        write_lines(source, LINES[::-1])
        return translate(self, *given, **named)

    monkeypatch.setattr(Translator, "translate", edited_meanwhile)
    out = tmp_path / "out.jsonl"
    arguments = [*decoding(place, "ar"), "--source", source, "--out", out]
    assert run(decode, *arguments, "--text", tmp_path / "out.txt") == 0
    assert read_json(tmp_path / "out.jsonl.provenance.json")["inputs"][str(source)] == before


def test_a_second_distillation_waits_and_takes_what_the_first_wrote(place, tmp_path, monkeypatch):
    out = tmp_path / "out"
    arguments = [*decoding(place, "ar"), "--out", out]
    assert run(distill, *arguments) == 0
    written = out.read_bytes()
    monkeypatch.setattr("padir.distill.teacher.distill", None)  # A call would fail.
    said, statuses = io.StringIO(), []
    monkeypatch.setattr(sys, "stderr", said)
    with Lock(tmp_path / "out.parts" / "lock", "the first one"):
        second = threading.Thread(target=lambda: statuses.append(run(distill, *arguments)))
        second.start()
        deadline = time.monotonic() + 60
        while "waiting for it to end" not in said.getvalue():
            assert time.monotonic() < deadline and second.is_alive()
            time.sleep(0.01)
    second.join(60)
    assert statuses == [0] and out.read_bytes() == written
    assert "another distillation is using this folder (process " in said.getvalue()
    assert not (tmp_path / "out.parts").exists()


def test_a_distillation_takes_what_another_one_wrote_while_it_loaded(place, tmp_path, monkeypatch):
    out = tmp_path / "out"
    arguments = [*decoding(place, "ar"), "--out", out]
    assert run(distill, *arguments) == 0
    written = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr("padir.distill.teacher.distill", None)  # A call would fail.
    # What was there before is made again.
    with pytest.raises(TypeError):
        run(distill, *arguments)
    for path in written:
        path.unlink()
    open_bundle = options.open_bundle

    def ended_meanwhile(*given):
        for path, content in written.items():
            path.write_bytes(content)
        return open_bundle(*given)

    monkeypatch.setattr(options, "open_bundle", ended_meanwhile)
    assert run(distill, *arguments) == 0
    assert not (tmp_path / "out.parts").exists()
