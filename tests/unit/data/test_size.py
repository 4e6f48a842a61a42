"""How much text there is: counted where it lies, else by what the settings state."""

import pytest

from padir.config.data import Dataset, VocabularySettings
from padir.data.size import Corpus, SideSize, sample
from padir.files import InputError, write_lines
from padir.vocab import train_vocabulary

TFDS = {"kind": "tfds", "name": "wmt16_translate/ro-en"}


def corpus(tmp_path, source, direction="ro-en", **changes):
    settings = Dataset.model_validate({"source": source, "directions": [direction], **changes})
    return Corpus(tmp_path / "results", "wmt", settings)


def test_without_text_the_stated_pairs_count(tmp_path):
    text = corpus(tmp_path, {**TFDS, "pairs": {"train": 1000, "valid": None}})
    # 160 bytes a line; five to a piece, and EOS.
    assert text.side("train", "ro") == SideSize(1000, 160_000, counted=False)
    assert text.tokens("train", "ro") == 33.0
    for split in ("valid", "test"):
        assert text.side(split, "en") is None
        assert text.tokens(split, "en") is None


def test_synthetic_text_is_as_large_as_its_settings_say(tmp_path):
    text = corpus(tmp_path, {"kind": "synthetic", "train": 200, "test": 7}, "xs-xt")
    assert text.side("train", "xs") == SideSize(200, 10_400, counted=False)
    assert text.side("test", "xt") == SideSize(7, 364, counted=False)
    assert text.tokens("test", "xt") == pytest.approx(1 + 52 / 5)


def test_local_files_count_before_they_are_cleaned(tmp_path):
    write_lines(tmp_path / "texts/a.de", ["ein Satz", "zwei"])
    split = {"files": {"de": "a.de", "en": "a.en"}}
    packed = {"files": {"de": "a.de.gz", "en": {"url": "http://x/a", "sha256": "0" * 64}}}
    (tmp_path / "texts/a.de.gz").write_bytes(b"packed")
    given = {"kind": "files", "folder": str(tmp_path / "texts"), "train": split, "valid": packed}
    text = corpus(tmp_path, {**given, "test": split}, "de-en")
    assert text.side("train", "de") == SideSize(2, 14, counted=False)
    assert text.side("train", "en") is None
    assert (text.side("valid", "de"), text.side("valid", "en")) == (None, None)


def test_extra_sources_count_before_and_after_they_are_cleaned(tmp_path):
    write_lines(tmp_path / "texts/extra.de", ["ein Satz", "zwei"])
    split = {"files": {"de": "a.de", "en": "a.en"}}
    given = {"kind": "files", "folder": str(tmp_path / "texts")}
    given |= {"train": split, "valid": split, "test": split}
    for files, size in (
        ({"de": "extra.de"}, SideSize(2, 14, counted=False)),
        ({"de": "absent.de"}, None),
        ({"de": "extra.de.gz"}, None),
        ({"de": {"url": "http://x/a", "sha256": "0" * 64}}, None),
        ({"en": "extra.de"}, None),
    ):
        text = corpus(tmp_path, given, "de-en", extra_sources={"files": files})
        assert text.side("extra", "de") == size
    write_lines(text.path("extra", "de"), ["zwei"])
    text = corpus(tmp_path, given, "de-en", extra_sources={"files": {"de": "extra.de"}})
    assert text.side("extra", "de") == SideSize(1, 5, counted=True)
    assert text.tokens("extra", "de") == 2.0


def test_text_that_is_there_is_counted_and_its_own_pieces_too(tmp_path):
    text = corpus(tmp_path, {**TFDS, "pairs": {"train": 1000}}, vocabularies={"small": {}})
    lines = ["o pisică", "un câine", "", "o pisică"]
    write_lines(text.path("train", "ro"), lines)
    # Letters with marks take two bytes.
    assert text.side("train", "ro") == SideSize(4, 31, counted=True)
    assert text.side("train", "en") == SideSize(1000, 160_000, counted=False)
    assert text.tokens("train", "ro") == pytest.approx(1 + 31 / 4 / 5)

    words = tmp_path / "results/vocab/wmt/en-ro/small/spm.model"
    settings = {"kind": "word", "size": 16}
    train_vocabulary(lines, VocabularySettings.model_validate(settings), words)
    # Six words in four lines, and EOS in each.
    assert text.tokens("train", "ro", "small") == pytest.approx(1 + 6 / 4)
    # An empty line is its EOS.
    write_lines(text.path("valid", "ro"), [])
    assert text.tokens("valid", "ro") == 1
    # The dataset's own is not learnt yet.
    assert text.tokens("train", "ro") == pytest.approx(1 + 31 / 4 / 5)


def test_a_sample_is_spread_over_the_file_and_has_whole_lines(tmp_path):
    lines = [f"line {number:05d}" for number in range(10_000)]
    write_lines(tmp_path / "text", lines)
    sampled = sample(tmp_path / "text", 100)
    assert len(sampled) == 100
    numbers = [lines.index(line) for line in sampled]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 0 and numbers[-1] >= 9_890
    # Of a small file each line once.
    write_lines(tmp_path / "small", ["one", "", "three"])
    assert sample(tmp_path / "small", 100) == ["one", "", "three"]
    write_lines(tmp_path / "none", [])
    assert sample(tmp_path / "none", 100) == []


def test_text_that_is_no_text_is_named(tmp_path):
    text = corpus(tmp_path, {**TFDS, "pairs": {"train": 1000}})
    write_lines(text.path("train", "ro"), ["a"])
    pieces = tmp_path / "results/vocab/wmt/en-ro/spm.model"
    pieces.parent.mkdir(parents=True)
    pieces.write_bytes(b"none")
    with pytest.raises(InputError, match=r"spm\.model: damaged or not a SentencePiece model"):
        text.tokens("train", "ro")
