"""Romanian letters in one way, whatever they were before."""

import pytest

from padir.config.data import Cleaning
from padir.config.read import check_config
from padir.data.clean import LETTERS, clean, write_letters
from padir.files import InputError, read_lines
from tests.unit.config.small import changed, set_value

COMMA, CEDILLA = "Știți Țara, și ați ȘTIUT ȚĂRILE", "Ştiţi Ţara, şi aţi ŞTIUT ŢĂRILE"


def test_letters_change_in_both_directions():
    assert [hex(ord(letter)) for letter in LETTERS["comma"]] == ["0x218", "0x219", "0x21a", "0x21b"]
    assert [hex(ord(c)) for c in LETTERS["cedilla"]] == ["0x15e", "0x15f", "0x162", "0x163"]
    assert write_letters(CEDILLA, "comma") == COMMA
    assert write_letters(COMMA, "cedilla") == CEDILLA
    assert write_letters(COMMA, "comma") == COMMA


@pytest.mark.parametrize("mark", ["\u0326", "\u0327"])
def test_decomposed_letters_are_composed(mark):
    assert write_letters(f"S{mark}s{mark}T{mark}t{mark}", "comma") == LETTERS["comma"]
    assert write_letters(f"c{mark}a", "comma") == f"c{mark}a"


def test_other_letters_and_marks_stay():
    line = "â ă î Â Ă Î ç Ç ģ \u0327 s t \u2028"
    assert write_letters(line, "comma") == write_letters(line, "cedilla") == line


@pytest.mark.parametrize("style", ["comma", "cedilla", None])
def test_in_cleaning_all_splits_are_written_so(tmp_path, style):
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.ro").write_text(f"{split} {COMMA}\n{split} {CEDILLA}\n")
        (tmp_path / f"{split}.en").write_text(f"{split} {COMMA}\n{split} {CEDILLA}\n")
    statistics = clean(Cleaning(romanian_letters=style), "en-ro", tmp_path, tmp_path / "out")
    expected = {"comma": [COMMA] * 2, "cedilla": [CEDILLA] * 2, None: [COMMA, CEDILLA]}[style]
    for split in ("train", "valid", "test"):
        cleaned = read_lines(tmp_path / "out" / f"{split}.ro")
        assert cleaned == [f"{split} {line}" for line in expected]
        # English text is left alone.
        english = read_lines(tmp_path / "out" / f"{split}.en")
        assert english == [f"{split} {COMMA}", f"{split} {CEDILLA}"]
        counts = [f.get("romanian_lines_changed") for f in statistics["splits"][split]["files"]]
        assert counts == [None, None if style is None else 1]


def test_duplicates_are_seen_after_the_letters_are_written(tmp_path):
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.ro").write_text(f"{split} şi\n{split} și\n")
        (tmp_path / f"{split}.en").write_text(f"{split} and\n{split} and\n")
    clean(Cleaning(), "en-ro", tmp_path, tmp_path / "as_is")
    assert len(read_lines(tmp_path / "as_is" / "train.ro")) == 2
    clean(Cleaning(romanian_letters="comma"), "en-ro", tmp_path, tmp_path / "out")
    assert read_lines(tmp_path / "out" / "train.ro") == ["train și"]


@pytest.mark.parametrize("code", ["ron", "rum"])
def test_romanian_by_any_code_is_rewritten(tmp_path, code):
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.{code}").write_text(f"{split} {CEDILLA}\n")
        (tmp_path / f"{split}.en").write_text(f"{split}\n")
    settings = Cleaning(romanian_letters="comma", max_ratio=100)
    clean(settings, f"en-{code}", tmp_path, tmp_path / "out")
    for split in ("train", "valid", "test"):
        assert read_lines(tmp_path / "out" / f"{split}.{code}") == [f"{split} {COMMA}"]


def test_romanian_letters_of_a_pair_without_romanian_are_refused():
    with_letters = changed("datasets.toy.cleaning.romanian_letters", "comma")
    with pytest.raises(InputError) as caught:
        check_config(with_letters)
    assert str(caught.value) == (
        "config: datasets.toy: cleaning.romanian_letters is 'comma', which is for Romanian (ro, ron"
        " or rum); found the pair xs-xt"
    )
    set_value(with_letters, "datasets.toy.cleaning.romanian_letters", None)
    check_config(with_letters)
