"""Plain files as a source: every way they can be wrong, and odd names that must not matter."""

import gzip
import hashlib
import json
import re

import pytest

from padir.commands.clean import main as clean
from padir.commands.extra_sources import main as extra_sources
from padir.commands.fetch import main as fetch
from padir.config.data import FilesSource
from padir.data.text import text_name, write_files_source
from padir.files import InputError, read_json, read_lines, write_json, write_lines


def source(folder, **changes):
    """A files source over {split}.{de,en} in a folder; `changes` replace file entries."""
    entries = {
        split: {"files": {"de": f"{split}.de", "en": f"{split}.en"}}
        for split in ("train", "valid", "test")
    }
    for key, value in changes.items():
        split, language = key.split("_")
        entries[split]["files"][language] = value
    return FilesSource(folder=str(folder), **entries)


@pytest.fixture
def given(tmp_path):
    folder = tmp_path / "given"
    folder.mkdir()
    for split, count in (("train", 3), ("valid", 2), ("test", 2)):
        for language in ("de", "en"):
            lines = [f"{split} {language} {i}\n" for i in range(count)]
            (folder / f"{split}.{language}").write_text("".join(lines))
    return folder


def refusal(source, folder):
    """The one-line message of an error, after which no file of the broken split's side is left."""
    with pytest.raises(InputError) as caught:
        write_files_source(source, folder)
    message = str(caught.value)
    assert "\n" not in message
    assert not list(folder.glob(".padir-*")) + list(folder.glob("*.download"))
    return message


def test_further_references_are_numbered_in_the_file_name():
    assert text_name("test", "en") == "test.en"
    assert text_name("test", "en", 2) == "test.en.2"


def test_files_are_copied_line_for_line(given, tmp_path):
    odd = "a\u2028b\x85c\r d\x0b \r\n\n\n"
    (given / "train.de").write_bytes(odd.encode())
    write_files_source(source(given), tmp_path / "raw")
    assert (tmp_path / "raw" / "train.de").read_bytes() == odd.encode()
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == sorted(
        f"{split}.{language}" for split in ("train", "valid", "test") for language in ("de", "en")
    )


def test_further_references_are_copied_and_must_be_aligned(given, tmp_path):
    (given / "other").write_text("a\nb\n")
    settings = source(given).model_dump()
    settings["test"]["references"] = {"en": ["other", "valid.en"]}
    write_files_source(FilesSource(**settings), tmp_path / "raw")
    assert read_lines(tmp_path / "raw" / "test.en.1") == ["a", "b"]
    assert read_lines(tmp_path / "raw" / "test.en.2") == ["valid en 0", "valid en 1"]
    (given / "other").write_text("a\n")
    message = refusal(FilesSource(**settings), tmp_path / "again")
    assert re.search(r"test: line counts differ: .*test\.de has 2, .*other has 1$", message)


def test_references_of_an_earlier_fetch_are_not_cleaned_as_those_of_a_later_one(given, tmp_path):
    dataset, raw = tmp_path / "dataset.json", tmp_path / "raw"
    settings = {"source": source(given).model_dump(mode="json"), "directions": ["de-en"]}
    command = ["--config-dataset", str(dataset)]
    for further in (["test.en", "test.en"], ["test.en"]):
        settings["source"]["test"]["references"] = {"en": further}
        write_json(dataset, settings)
        fetch([*command, "--out", str(raw)])
    with pytest.raises(InputError, match=r"raw/test\.en\.2: the dataset's settings have 1 further"):
        clean([*command, "--raw", str(raw), "--out", str(tmp_path / "data")])
    (raw / "test.en.2").unlink()
    assert clean([*command, "--raw", str(raw), "--out", str(tmp_path / "data")]) == 0
    kept = map(json.loads, read_lines(tmp_path / "data/test.references.en.jsonl"))
    assert list(kept) == [["test en 0"] * 2, ["test en 1"] * 2]


SYNTHETIC = {"kind": "synthetic", "train": 30, "valid": 5, "test": 5}
TFDS = {"kind": "tfds", "name": "wmt16_translate/ro-en"}


@pytest.mark.parametrize(
    ("settings", "pair", "file", "number"),
    [({**SYNTHETIC, "references": 2}, "xs-xt", "valid.xt.2", 1), (TFDS, "en-ro", "test.ro.1", 0)],
)
def test_generated_and_prepared_text_has_no_references_of_earlier_text(
    tmp_path, settings, pair, file, number
):
    dataset, raw = tmp_path / "dataset.json", tmp_path / "raw"
    command = ["--config-dataset", str(dataset)]
    write_json(dataset, {"source": {**SYNTHETIC, "references": 4}, "directions": ["xs-xt"]})
    fetch([*command, "--out", str(raw)])
    write_json(dataset, {"source": settings, "directions": [pair]})
    if settings["kind"] == "synthetic":
        fetch([*command, "--out", str(raw)])
        outputs = read_json(raw / "provenance.json")["outputs"]
        assert {"test.xt", "test.xt.1"} == {name for name in outputs if name.startswith("test.xt")}
    else:
        write_lines(raw / file, ["stale"])
    with pytest.raises(InputError, match=f"{file}: the dataset's settings have {number} further"):
        clean([*command, "--raw", str(raw), "--out", str(tmp_path / "data")])


def test_no_text_of_ones_own_is_overwritten(given, tmp_path):
    dataset, other = tmp_path / "dataset.json", tmp_path / "other.json"
    settings = source(given).model_dump(mode="json")
    write_json(dataset, {"source": settings, "directions": ["de-en"]})
    # What is called train.de is its validation text.
    for split, name in (("train", "valid"), ("valid", "train")):
        settings[split]["files"] = {each: f"{name}.{each}" for each in ("de", "en")}
    write_json(other, {"source": settings, "directions": ["de-en"]})
    before = {path: path.read_bytes() for path in given.iterdir()}
    assert fetch(["--config-dataset", str(dataset), "--out", str(tmp_path / "raw")]) == 0
    (tmp_path / "link").symlink_to(given)
    written = [
        (fetch, ["--config-dataset", str(other), "--out", str(given)]),
        (fetch, ["--config-dataset", str(other), "--out", str(tmp_path / "link")]),
        (
            clean,
            ["--config-dataset", str(dataset), "--raw", str(tmp_path / "raw"), "--out", str(given)],
        ),
    ]
    for command, words in written:
        with pytest.raises(InputError, match="is one of your own text files and is not overwr"):
            command(words)
        assert {path: path.read_bytes() for path in given.iterdir()} == before


def test_no_extra_text_of_ones_own_is_overwritten(given, tmp_path):
    dataset, own = tmp_path / "dataset.json", given / "extra.de"
    files = source(given).model_dump(mode="json")
    own.write_text("ein Hund\n")
    read = ["--train", "train.de", "--valid", "valid", "--test", "test"]
    words = ["--config-dataset", str(dataset), "--language", "de", *read, "--out", str(given)]
    for name in ("extra.de", "train.de"):
        # What is called extra.de may also be training text.
        files["train"]["files"]["de"] = "extra.de" if name == "train.de" else "train.de"
        extra = {"files": {"de": name}}
        write_json(dataset, {"source": files, "directions": ["de-en"], "extra_sources": extra})
        with pytest.raises(InputError, match=f"{own}: is one of your own text files and is not o"):
            extra_sources(words)
        assert own.read_text() == "ein Hund\n"


def test_unequal_line_counts_name_both_files(given, tmp_path):
    (given / "train.en").write_text("a\nb\n")
    message = refusal(source(given), tmp_path / "raw")
    expected = f"train: line counts differ: {given}/train.de has 3, {given}/train.en has 2"
    assert message == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a\nb\xff\nc\n", "line 2, byte 2: not valid UTF-8"),
        ("\ufeffa\nb\nc\n".encode(), "line 1: starts with a byte order mark"),
        (b"a\nb\nc\0\n", "line 3: holds a NUL character"),
        ("a\nb\nc\n".encode("utf-16"), "line 1, byte 1: not valid UTF-8"),
    ],
)
def test_an_undecodable_file_is_named_by_the_users_path(given, tmp_path, content, problem):
    (given / "train.en").write_bytes(content)
    message = refusal(source(given), tmp_path / "raw")
    assert message.startswith(f"{given}/train.en: {problem}")
    with gzip.open(given / "packed.gz", "wb") as file:
        file.write(content)
    message = refusal(source(given, train_en="packed.gz"), tmp_path / "raw")
    assert message.startswith(f"{given}/packed.gz: {problem}")


def test_a_missing_file_is_named(given, tmp_path):
    (given / "valid.de").unlink()
    expected = f"{given}/valid.de: cannot read: No such file or directory"
    assert refusal(source(given), tmp_path / "raw") == expected


@pytest.mark.parametrize(
    "name", ["a b", "a;touch x", 'it\'s "q"', "a -n", "$(x)", "../given/x", "ä", "a.gz.b"]
)
def test_odd_file_names_are_read(given, tmp_path, name):
    (given / name).write_text("a\nb\nc\n")
    write_files_source(source(given, train_de=name), tmp_path / "raw")
    assert read_lines(tmp_path / "raw" / "train.de") == ["a", "b", "c"]
    (given / name).write_text("a\n")
    assert "has 1, " in refusal(source(given, train_de=name), tmp_path / "raw")


def test_packed_files_are_unpacked_and_damaged_ones_refused(given, tmp_path):
    content = gzip.compress(b"a\nb\nc\n")
    (given / "train.de.gz").write_bytes(content)
    write_files_source(source(given, train_de="train.de.gz"), tmp_path / "raw")
    assert read_lines(tmp_path / "raw" / "train.de") == ["a", "b", "c"]
    (given / "train.de.gz").write_bytes(content[:-12])
    message = refusal(source(given, train_de="train.de.gz"), tmp_path / "raw")
    assert message.startswith(f"{given}/train.de.gz: damaged or cut short")
    (given / "train.de.gz").write_bytes(content[:10] + b"\xff" * 8 + content[18:])
    message = refusal(source(given, train_de="train.de.gz"), tmp_path / "raw")
    assert message.startswith(f"{given}/train.de.gz: damaged or cut short")
    (given / "train.de.gz").write_bytes(b"a\nb\nc\n")
    message = refusal(source(given, train_de="train.de.gz"), tmp_path / "raw")
    assert message.startswith(f"{given}/train.de.gz: not a gzip file")


def test_a_file_is_fetched_from_its_address_only_with_the_right_digest(given, tmp_path):
    packed = given / "train.gz"
    packed.write_bytes(gzip.compress(b"a\nb\nc\n"))
    right = hashlib.sha256(packed.read_bytes()).hexdigest()
    remote = {"url": packed.as_uri(), "sha256": right}
    write_files_source(source(given, train_de=remote), tmp_path / "raw")
    assert read_lines(tmp_path / "raw" / "train.de") == ["a", "b", "c"]
    assert not list((tmp_path / "raw").glob("*.download"))
    wrong = {"url": packed.as_uri(), "sha256": "0" * 64}
    message = refusal(source(given, train_de=wrong), tmp_path / "other")
    assert message == f"{packed.as_uri()}: SHA-256 is {right}, expected {'0' * 64}"
    assert not (tmp_path / "other" / "train.de").exists()
