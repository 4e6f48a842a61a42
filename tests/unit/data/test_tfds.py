"""TensorFlow Datasets as a source: small copies by the real writer, read as users read them."""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import tensorflow_datasets as tfds
from pydantic import ValidationError

from padir.cli import main
from padir.config.data import Cleaning, Dataset, TfdsSource
from padir.data import tfds as reading
from padir.data.card import data_card
from padir.data.clean import clean
from padir.data.tfds import write_tfds_source
from padir.files import InputError, read_json, read_lines, write_json
from tests.tfds_copies import SPLITS, invented_pairs, write_copy

PAPER = {
    "de-en": "wmt14_translate/de-en",
    "en-ro": "wmt16_translate/ro-en",
    "en-zh": "wmt17_translate/zh-en",
}
SIZES = {"train": 30, "validation": 3, "test": 4}
TFRECORD = Path(__file__).resolve().parents[2] / "fixtures" / "tfds"


def splits(pair, sizes=SIZES):
    first, second = pair.split("-")
    return {split: invented_pairs(first, second, split, n) for split, n in sizes.items()}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A data_dir with small copies of the paper's three datasets."""
    folder = tmp_path_factory.mktemp("tfds")
    for pair, name in PAPER.items():
        write_copy(name, folder, splits(pair))
    return folder


@pytest.fixture
def copy(prepared, tmp_path):
    """(data_dir, folder of the copy) of a Romanian copy that a test may break."""
    shutil.copytree(prepared / "wmt16_translate", tmp_path / "dd" / "wmt16_translate")
    return tmp_path / "dd", tmp_path / "dd" / "wmt16_translate" / "ro-en" / "1.0.0"


def source(data_dir, name="wmt16_translate/ro-en", **changes):
    return TfdsSource(name=name, data_dir=str(data_dir), **changes)


def refusal(given, out, pair="en-ro"):
    """The one-line message of an error, after which nothing half written is left."""
    with pytest.raises(InputError) as caught:
        write_tfds_source(given, pair, out)
    message = str(caught.value)
    assert "\n" not in message
    assert not list(out.glob(".padir-*"))
    return message


def pairs_of(folder, split, pair):
    sides = (read_lines(folder / f"{split}.{language}") for language in pair.split("-"))
    return list(zip(*sides, strict=True))


@pytest.mark.parametrize("pair", PAPER)
def test_the_papers_datasets_read_as_tfds_reads_them(prepared, tmp_path, pair):
    described = write_tfds_source(source(prepared, PAPER[pair]), pair, tmp_path)
    assert described == prepared / PAPER[pair] / "1.0.0" / "dataset_info.json"
    for ours, theirs in zip(("train", "valid", "test"), SPLITS, strict=True):
        pairs = pairs_of(tmp_path, ours, pair)
        # The same copy through TFDS's own reader, and the pairs that were written.
        direct = tfds.data_source(PAPER[pair], data_dir=prepared, split=theirs)
        languages = pair.split("-")
        assert pairs == [tuple(e[c].decode() for c in languages) for e in direct]
        written = [tuple(e[c] for c in languages) for e in splits(pair)[theirs]]
        assert sorted(pairs) == sorted(written)


def test_processes_change_nothing(prepared, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK_PAIRS", 3)
    write_tfds_source(source(prepared), "en-ro", tmp_path / "one", workers=1)
    write_tfds_source(source(prepared), "en-ro", tmp_path / "two", workers=2)
    monkeypatch.undo()
    write_tfds_source(source(prepared), "en-ro", tmp_path / "whole")
    for name in ("train.ro", "train.en", "test.ro"):
        expected = (tmp_path / "whole" / name).read_bytes()
        assert expected == (tmp_path / "one" / name).read_bytes()
        assert expected == (tmp_path / "two" / name).read_bytes()


def test_slices_are_those_of_the_whole_and_sizes_are_checked(prepared, tmp_path):
    given = source(prepared, train="train[:10]", valid="train[90%:]", pairs={"train": 10})
    write_tfds_source(given, "en-ro", tmp_path)
    write_tfds_source(source(prepared), "en-ro", tmp_path / "whole")
    whole = pairs_of(tmp_path / "whole", "train", "en-ro")
    assert pairs_of(tmp_path, "train", "en-ro") == whole[:10]
    assert pairs_of(tmp_path, "valid", "en-ro") == whole[27:]


def test_newlines_nul_and_byte_order_marks_are_replaced_and_counted(tmp_path, capsys):
    given = splits("en-ro")
    given["test"] = [
        {"en": "a\nb", "ro": "\ufeffx"},
        {"en": "c\0d", "ro": "y\u2028z\r"},
        {"en": "", "ro": "w"},
    ]
    write_copy("wmt16_translate/ro-en", tmp_path, given)
    write_tfds_source(source(tmp_path), "en-ro", tmp_path / "out")
    pairs = pairs_of(tmp_path / "out", "test", "en-ro")
    assert sorted(pairs) == [("", "w"), ("a b", "x"), ("c d", "y\u2028z\r")]
    message = "padir fetch: test: 3 sentences held a newline, NUL or byte order mark"
    assert message in capsys.readouterr().err


def test_a_copy_goes_from_fetch_to_cleaned_text(prepared, tmp_path):
    settings = Dataset(source=source(prepared), directions=["ro-en"])
    write_json(tmp_path / "dataset.json", settings.model_dump(mode="json"))
    fetch = ["fetch", "--config-dataset", str(tmp_path / "dataset.json")]
    assert main([*fetch, "--out", str(tmp_path / "raw"), "--threads", "1"]) == 0
    assert "dataset_info.json" in (tmp_path / "raw" / "provenance.json").read_text()
    statistics = clean(Cleaning(), "en-ro", tmp_path / "raw", tmp_path / "data")
    assert statistics["splits"]["train"]["pairs_kept"] == 30
    assert "`wmt16_translate/ro-en`" in data_card(settings, statistics)


# Bad input


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "wmt16_translate/ro-de"}, "wmt16_translate has no config 'ro-de'; it has cs-en,"),
        ({"name": "wmt61_translate/ro-en"}, r"TFDS \S+ has no such dataset; the paper's are wmt14"),
        ({"name": "wmt16_translate/ro-en:0.0.3"}, "cannot be loaded at version 0.0.3, only: 1.0.0"),
        ({"name": "wmt_translate"}, "can only be instantiated with the config"),
        ({"name": "wmt14_translate/de-en"}, "its languages are de, en; the directions need en, ro"),
        ({"train": "trian"}, "'trian', but there are the splits train, validation, test"),
        ({"train": "train[:x]"}, r"source.train is 'train\[:x\]', but there are the splits"),
        ({"test": "test[4:]"}, r"split test\[4:\] is empty"),
        ({"pairs": {"test": 1999}}, "split test has 4 pairs, source.pairs.test says 1999"),
        ({"leave_out": ["casia2015"]}, "leave_out names casia2015; its training text has europarl"),
        ({"leave_out": ["europarl_v8_16", "setimes_2"]}, "leave_out leaves no training text"),
        (
            {"name": "opus/medical", "leave_out": ["casia2015"]},
            "source.leave_out is for WMT datasets only",
        ),
    ],
)
def test_what_is_asked_for_is_not_there(prepared, tmp_path, changes, message):
    assert re.search(message, refusal(source(prepared, **changes), tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wmt16_translate/ro-de", "wmt16_translate has no config 'ro-de'; it has cs-en,"),
        ("wmt14_translate/de-en", "its languages are de, en; the directions need en, ro"),
        ("mnist", "no dataset of translations: its examples hold image, label"),
        ("ted_multi_translate", "no dataset of translations: its examples hold talk_name, tran"),
    ],
)
def test_nothing_is_downloaded_of_another_dataset(tmp_path, monkeypatch, name, message):
    downloads = []
    monkeypatch.setattr(reading, "prepare", lambda builder, source: downloads.append(source))
    assert message in refusal(source(tmp_path / "dd", name, download=True), tmp_path / "out")
    assert not downloads
    # The spy sees downloads of what is asked for.
    given = source(tmp_path / "dd", download=True)
    with pytest.raises(InputError):
        write_tfds_source(given, "en-ro", tmp_path / "out")
    assert downloads == [given]


@pytest.mark.parametrize(
    ("changes", "directions", "message"),
    [
        ({"name": "wmt61_translate/ro-en"}, "ro-en", "has no such dataset; the paper's are wmt14"),
        ({"name": "wmt16_translate/ro-de"}, "ro-de", "has no config 'ro-de'; it has cs-en"),
        ({}, "de-en", "its languages are en, ro; the directions need de, en"),
        ({"pairs": {"train": 610_320}}, "ro-en", "has 30 pairs, source.pairs.train says 610320"),
        ({"data_dir": "none"}, "ro-en", "nothing is prepared there; set source.download to true"),
    ],
)
def test_fetch_reports_tfds_errors_in_one_line(
    prepared, tmp_path, capsys, monkeypatch, changes, directions, message
):
    monkeypatch.chdir(tmp_path)
    given = source(prepared).model_dump(mode="json") | changes
    write_json(tmp_path / "dataset.json", {"source": given, "directions": [directions]})
    fetch = ["fetch", "--config-dataset", "dataset.json", "--out", "raw", "--threads", "1"]
    assert main(fetch) == 2
    error = capsys.readouterr().err
    assert error.startswith("padir fetch: error: ") and error.count("\n") == 1
    assert message in error


def test_a_size_that_is_lifted_is_not_checked(prepared, tmp_path):
    given = source(prepared, pairs={"train": None, "test": 4})
    write_tfds_source(given, "en-ro", tmp_path)
    assert len(read_lines(tmp_path / "train.ro")) == 30


def test_a_copy_without_some_parts_is_not_the_whole(prepared, tmp_path):
    """The whole dataset's copy does not stand in for one without a part."""
    message = refusal(source(prepared, leave_out=["setimes_2"]), tmp_path)
    assert "wmt_translate/ro-en.wmt16_translate-without-setimes_2/1.0.0: nothing is" in message


def test_an_empty_split_is_refused(copy, tmp_path):
    """TFDS's writer makes none, but a copy may say that it has one."""
    data_dir, folder = copy
    info = read_json(folder / "dataset_info.json")
    info["splits"][2]["shardLengths"] = []
    write_json(folder / "dataset_info.json", info)
    assert "split test is empty" in refusal(source(data_dir), tmp_path / "out")


def test_a_missing_split_is_named_with_those_there_are(tmp_path):
    given = splits("en-ro")
    del given["test"]
    write_copy("wmt16_translate/ro-en", tmp_path, given)
    message = refusal(source(tmp_path), tmp_path / "out")
    assert message.endswith("source.test is 'test', but there are the splits train, validation")


def test_a_half_prepared_folder_is_refused(copy, tmp_path):
    data_dir, folder = copy
    shard = folder / "wmt16_translate-train.array_record-00000-of-00001"
    content = shard.read_bytes()
    shard.write_bytes(b"")
    message = refusal(source(data_dir), tmp_path / "out")
    assert f"{folder}: half prepared: {shard.name} is empty; delete the folder" in message
    shard.unlink()
    assert f"{shard.name} is missing" in refusal(source(data_dir), tmp_path / "out")
    shard.write_bytes(content)
    features = (folder / "features.json").read_bytes()
    (folder / "features.json").unlink()
    message = refusal(source(data_dir), tmp_path / "out")
    assert f"{folder}: half prepared: features.json is missing; delete" in message
    (folder / "features.json").write_bytes(features)
    (folder / "dataset_info.json").unlink()
    message = refusal(source(data_dir), tmp_path / "out")
    assert f"{folder}: half prepared: dataset_info.json is missing; delete" in message
    folder.rename(folder.with_name("incomplete.ABC_1.0.0"))
    message = refusal(source(data_dir), tmp_path / "out")
    assert "an unfinished preparation lies in" in message
    assert "incomplete.ABC_1.0.0; set source.download to true" in message


def damaged(content: bytes) -> dict[str, bytes]:
    """A shard cut at some places, and with one byte of its packed text changed."""
    middle = len(content[: len(content) // 2].rstrip(b"\0")) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]
    cuts = {f"cut {n}": content[:n] for n in (10, len(content) // 2, len(content) - 1)}
    return {"flipped": flipped, **cuts}


def test_a_damaged_shard_is_refused(copy, tmp_path):
    data_dir, folder = copy
    shard = folder / "wmt16_translate-train.array_record-00000-of-00001"
    for what, content in damaged(shard.read_bytes()).items():
        shard.write_bytes(content)
        assert "split train is damaged: " in refusal(source(data_dir), tmp_path / "out"), what


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"30"', '"31"', "has 30 pairs, dataset_info.json says 31; delete the folder"),
        (
            '"30"',
            '"29"',
            " is damaged: wmt16_translate-train.array_record-00000-of-00001 has 30 pairs,"
            " dataset_info.json says 29; delete the folder and prepare it again",
        ),
        ('"fileFormat": "array_record"', '"fileFormat": "riegeli"', "riegeli"),
        ('"citation": "', '"citation": ', "its description cannot be read"),
    ],
)
def test_a_description_that_contradicts_the_data_is_refused(copy, tmp_path, old, new, message):
    data_dir, folder = copy
    text = (folder / "dataset_info.json").read_text()
    assert old in text
    (folder / "dataset_info.json").write_text(text.replace(old, new))
    assert message in refusal(source(data_dir), tmp_path / "out")
    assert message in refusal(source(data_dir, train="train[:10]"), tmp_path / "out")


@pytest.mark.parametrize("version", ["", ":1.0.0"])
@pytest.mark.parametrize("file", ["dataset_info.json", "features.json"])
@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"{", b"3", b'{"nam": 3}'])
def test_an_unreadable_description_is_one_line(copy, tmp_path, content, file, version):
    data_dir, folder = copy
    (folder / file).write_bytes(content)
    message = refusal(source(data_dir, f"wmt16_translate/ro-en{version}"), tmp_path / "out")
    assert str(data_dir) in message
    assert "cannot be read: " in message or f"{file}: line 1: not " in message
    # Without what TFDS was called with.
    assert "builder_kwargs" not in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "../x"},
        {"name": "wmt16_translate/../../x"},
        {"name": "wmt16_translate/.."},
        {"name": "Wmt16"},
        {"data_dir": ""},
        {"pairs": {"train": 0}},
        {"pairs": {"validation": 3}},
        {"leave_out": ["a/b"]},
    ],
)
def test_names_outside_the_folder_and_unknown_splits_are_refused(changes):
    with pytest.raises(ValidationError):
        TfdsSource(**{"name": "wmt16_translate/ro-en", **changes})


# TFRecord


def tfrecord_source(tmp_path):
    shutil.copytree(TFRECORD, tmp_path / "dd")
    return source(tmp_path / "dd")


def test_a_tfrecord_copy_without_tensorflow_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "find_spec", lambda name: None)
    message = refusal(tfrecord_source(tmp_path), tmp_path / "out")
    assert "a copy in TFRecord, which only TensorFlow reads: install the extra tf" in message


@pytest.mark.skipif(find_spec("tensorflow") is None, reason="needs the extra tf")
def test_a_tfrecord_copy_gives_the_pairs_that_tfds_reads(tmp_path, monkeypatch):
    given = tfrecord_source(tmp_path)
    write_tfds_source(given, "en-ro", tmp_path / "out")
    for ours, theirs in zip(("train", "valid", "test"), SPLITS, strict=True):
        direct = tfds.load(given.name, data_dir=given.data_dir, split=theirs, download=False)
        pairs = pairs_of(tmp_path / "out", ours, "en-ro")
        assert pairs == [(e["en"].decode(), e["ro"].decode()) for e in direct.as_numpy_iterator()]
        written = [(e["en"], e["ro"]) for e in splits("en-ro")[theirs]]
        assert sorted(pairs) == sorted(written)
    monkeypatch.setattr(reading, "BLOCK_PAIRS", 7)
    # As old versions of TFDS left it.
    next((tmp_path / "dd").rglob("features.json")).unlink()
    write_tfds_source(given, "en-ro", tmp_path / "blocks")
    expected = (tmp_path / "out" / "train.ro").read_bytes()
    assert (tmp_path / "blocks" / "train.ro").read_bytes() == expected
    shard = next((tmp_path / "dd").rglob("*train.tfrecord*"))
    content = shard.read_bytes()
    shard.write_bytes(content[:-5])
    assert "split train is damaged: " in refusal(given, tmp_path / "cut")
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]
    shard.write_bytes(flipped)
    assert "split train is damaged: " in refusal(given, tmp_path / "flipped")
