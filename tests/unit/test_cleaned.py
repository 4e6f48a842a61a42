"""Cleaned text that was damaged since is refused by what reads it, in one line."""

import itertools
import json
import os
import re

import pytest

from padir.cleaned import check_cleaned
from padir.cli import main
from padir.commands.distill import join
from padir.config.data import Dataset, FilesSource, VocabularySettings
from padir.files import InputError, read_lines, write_json, write_lines
from padir.provenance import check_written
from tests.training import tiny_spec, train_arguments, write_toy


@pytest.fixture
def cleaned(tmp_path):
    """A folder that `padir clean` wrote."""
    raw = tmp_path / "raw"
    for split in ("train", "valid", "test"):
        for language in ("de", "en"):
            lines = [f"{split} {language} line {n} ba ko" for n in range(40)]
            write_lines(raw / f"{split}.{language}", lines)
    sides = {
        split: {"files": {language: str(raw / f"{split}.{language}") for language in ("de", "en")}}
        for split in ("train", "valid", "test")
    }
    dataset = Dataset(source=FilesSource(**sides), directions=["de-en"])
    write_json(tmp_path / "dataset.json", dataset.model_dump(mode="json"))
    given = ["--config-dataset", str(tmp_path / "dataset.json"), "--raw", str(raw)]
    assert main(["clean", *given, "--out", str(tmp_path / "data"), "--threads", "1"]) == 0
    return tmp_path / "data"


def flip(path):
    path.write_bytes(path.read_bytes().replace(b"line 7", b"line 8"))


def test_whole_text_is_read_and_damaged_text_named(cleaned):
    paths = sorted(cleaned.glob("*.de")) + sorted(cleaned.glob("*.en"))
    assert len(paths) == 6
    check_cleaned(*paths)
    flip(cleaned / "valid.en")
    message = rf"{re.escape(str(cleaned))}/valid.en: is not what padir clean wrote: .* clean again"
    with pytest.raises(InputError, match=message):
        check_cleaned(*paths)


@pytest.mark.parametrize("content", [None, "no JSON", "[]", '{"splits": {"train": 3}}', "{}"])
def test_text_without_statistics_that_name_it_is_not_checked(tmp_path, content):
    write_lines(tmp_path / "train.de", ["a"])
    if content is not None:
        (tmp_path / "statistics.json").write_text(content)
    check_cleaned(tmp_path / "train.de")


def test_a_vocabulary_is_not_learnt_from_damaged_text(cleaned, tmp_path, capsys):
    settings = VocabularySettings(kind="word", size=100)
    write_json(tmp_path / "settings.json", settings.model_dump(mode="json"))
    texts = [str(cleaned / f"train.{language}") for language in ("de", "en")]
    command = ["vocab", "--settings", str(tmp_path / "settings.json"), "--text", *texts]
    command += ["--out", str(tmp_path / "spm.model")]
    assert main(command) == 0
    (tmp_path / "spm.model").unlink()
    flip(cleaned / "train.en")
    capsys.readouterr()
    assert main(command) == 2
    assert "train.en: is not what padir clean wrote" in capsys.readouterr().err
    assert not (tmp_path / "spm.model").exists()


def test_damaged_text_is_not_taken_with_ready_made_translations(cleaned, tmp_path, capsys):
    flip(cleaned / "train.de")
    command = ["distill", "--ready", str(cleaned / "train.en")]
    command += ["--source", str(cleaned / "train.de"), "--out", str(tmp_path / "out.en")]
    assert main(command) == 2
    assert "train.de: is not what padir clean wrote" in capsys.readouterr().err


def test_extra_sources_are_not_compared_with_damaged_text(cleaned, tmp_path, capsys):
    """Or a line of the test set could pass."""
    text = {split: {"files": {"de": "t.de", "en": "t.en"}} for split in ("train", "valid", "test")}
    source = {"kind": "files", **text}
    extra = {"files": {"de": str(cleaned / "train.de")}}
    dataset = {"source": source, "directions": ["de-en"], "extra_sources": extra}
    write_json(tmp_path / "dataset.json", dataset)
    damaged = cleaned / "test.references.de.jsonl"
    flip(damaged)
    command = ["extra-sources", "--config-dataset", str(tmp_path / "dataset.json")]
    command += ["--language", "de", "--train", str(cleaned / "train.de"), "--out", str(tmp_path)]
    command += ["--valid", str(cleaned / "valid.references.de.jsonl"), "--test", str(damaged)]
    assert main(command) == 2
    assert "test.references.de.jsonl: is not what padir clean wrote" in capsys.readouterr().err


def test_translations_of_damaged_text_are_not_bought(cleaned, tmp_path, capsys):
    flip(cleaned / "train.de")
    write_json(tmp_path / "teacher.json", {"ledger": str(tmp_path / "ledger.sqlite")})
    command = ["distill-cloud", "--teacher", str(tmp_path / "teacher.json"), "--max-usd", "1"]
    command += ["--source", str(cleaned / "train.de"), "--out", str(tmp_path / "out.en")]
    assert main([*command, "--source-language", "de", "--target-language", "en"]) == 2
    assert "train.de: is not what padir clean wrote" in capsys.readouterr().err
    assert not (tmp_path / "ledger.sqlite").exists()


@pytest.mark.parametrize("damaged", ["train.en", "valid.references.en.jsonl", "train.de"])
def test_a_teacher_is_not_judged_by_damaged_text(cleaned, tmp_path, capsys, damaged):
    command = ["distill-card", "--teacher", "ar", "--row", "ar/beam", "--target-language", "en"]
    for option, text in (("train", "train.en"), ("valid", "valid.en")):
        write_lines(tmp_path / text, read_lines(cleaned / text))
        command += [f"--{option}", str(tmp_path / text)]
    command += ["--train-reference", str(cleaned / "train.en")]
    command += ["--valid-references", str(cleaned / "valid.references.en.jsonl")]
    command += ["--out", str(tmp_path / "card.json")]
    assert main(command) == 0
    (tmp_path / "card.json").unlink()
    # Sources are for validity, by a grammar, which is read later.
    command += ["--grammar", str(tmp_path / "none.json"), "--sources", str(cleaned / "train.de")]
    flip(cleaned / damaged)
    capsys.readouterr()
    assert main(command) == 2
    assert f"{damaged}: is not what padir clean wrote" in capsys.readouterr().err
    assert not (tmp_path / "card.json").exists()


@pytest.mark.parametrize(
    ("verb", "damaged"),
    [
        *itertools.product(
            ["decode", "tune", "trace", "analyse"], ["valid.de", "valid.references.en.jsonl"]
        ),
        # Hypotheses are no cleaned text.
        ("score", "valid.references.en.jsonl"),
    ],
)
def test_what_reads_validation_or_test_text_refuses_damaged_text(cleaned, capsys, verb, damaged):
    """Before it opens the model: here is none."""
    source, references = str(cleaned / "valid.de"), str(cleaned / "valid.references.en.jsonl")
    model = ["--bundle", str(cleaned / "none"), "--decoder", "beam"]
    text = ["--source", source, "--references", references]
    out = str(cleaned / "out")
    command = {
        "decode": [*model, *text, "--out", out, "--text", out + ".txt"],
        "tune": [*model, *text, "--out", out],
        "trace": [*model[:2], "--rows", "beam", *text, "--out", out],
        "analyse": [*model, *text, "--target-language", "en", "--out", out],
        "score": ["--hypotheses", source, "--references", references, "--target-language", "en"],
    }[verb]
    path = cleaned / damaged
    times = path.stat()
    flip(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert main([verb, *command]) == 2
    assert f"{damaged}: is not what padir clean wrote" in capsys.readouterr().err
    assert not (cleaned / "out").exists()


@pytest.mark.parametrize("verb", ["sample", "latency"])
def test_what_reads_sources_alone_refuses_damaged_sources(cleaned, capsys, verb):
    flip(cleaned / "test.de")
    rows = ["--bundle", str(cleaned / "none")] if verb == "sample" else ["--rows", "none:beam"]
    command = [verb, *rows, "--source", str(cleaned / "test.de"), "--out", str(cleaned / "out")]
    assert main(command) == 2
    assert "test.de: is not what padir clean wrote" in capsys.readouterr().err


def test_a_training_does_not_begin_with_a_damaged_vocabulary(tmp_path, capsys):
    write_toy(tmp_path)
    settings = VocabularySettings(kind="word", size=100)
    write_json(tmp_path / "settings.json", settings.model_dump(mode="json"))
    vocabulary = tmp_path / "spm.model"
    texts = [str(tmp_path / f"train.{side}") for side in ("source", "target")]
    command = ["vocab", "--settings", str(tmp_path / "settings.json"), "--text", *texts]
    assert main([*command, "--out", str(vocabulary)]) == 0
    content = bytearray(vocabulary.read_bytes())
    content[len(content) // 2] ^= 1
    vocabulary.write_bytes(content)
    assert main(["train", *train_arguments(tmp_path, tiny_spec("ar"))]) == 2
    assert "spm.model: damaged or edited: its SHA-256 is not the one" in capsys.readouterr().err


def test_a_training_does_not_begin_with_damaged_text(tmp_path, capsys):
    write_toy(tmp_path)
    entry = {"file": "valid.target", "sha256": "0" * 64}
    statistics = {"splits": {"valid": {"files": [entry]}}}
    (tmp_path / "statistics.json").write_text(json.dumps(statistics))
    assert main(["train", *train_arguments(tmp_path, tiny_spec("ar"))]) == 2
    assert "valid.target: is not what padir clean wrote" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()


def test_a_training_does_not_begin_with_damaged_distilled_text(tmp_path, capsys):
    """Each way in which text is distilled without a model, and the joined parts of one."""
    write_toy(tmp_path)
    target = tmp_path / "train.target"
    ready = target.rename(tmp_path / "ready")
    command = ["distill", "--ready", str(ready), "--source", str(tmp_path / "train.source")]
    for written in ("taken", "joined"):
        if written == "taken":
            assert main([*command, "--out", str(target)]) == 0
        else:
            join([ready], target)
        content = target.read_bytes()
        damaged = bytearray(content)
        damaged[5] ^= 1
        target.write_bytes(damaged)
        capsys.readouterr()
        assert main(["train", *train_arguments(tmp_path, tiny_spec("ar"))]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "train.target: damaged or edited: its SHA-256 is not the one" in line
        assert "train.target.provenance.json to use it as it is" in line
        assert not (tmp_path / "work").exists()
        target.write_bytes(content)
        check_written(target)


def test_a_damaged_part_is_not_joined(tmp_path):
    parts = [tmp_path / name for name in ("1", "2")]
    for part in parts:
        write_lines(part, ["ba ko"])
        join([part], tmp_path / f"{part.name}.of2")
    parts = [tmp_path / f"{part.name}.of2" for part in parts]
    join(parts, tmp_path / "whole")
    assert read_lines(tmp_path / "whole") == ["ba ko", "ba ko"]
    parts[1].write_text("ba kn\n")
    with pytest.raises(InputError, match=r"2\.of2: damaged or edited"):
        join(parts, tmp_path / "whole")
