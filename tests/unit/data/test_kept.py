"""What cleaning keeps of a text, and what is said of the rest."""

from padir.config.data import Cleaning
from padir.data import clean
from padir.data.clean import REASONS
from padir.data.kept import KeptText, most_dropped
from padir.files import write_lines


def files(folder, split, german, english):
    """A split of two files, by language."""
    written = {"de": folder / f"{split}.de", "en": folder / f"{split}.en"}
    for path, lines in zip(written.values(), (german, english), strict=True):
        write_lines(path, lines)
    return written


def test_pairs_of_all_blocks_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(clean, "BLOCK_LINES", 2)
    german, english = ["a", "b", "", "c", "d", "a", "e"], ["1", "2", "3", "4", "", "1", "7"]
    text = KeptText.of(Cleaning(), files(tmp_path, "train", german, english))
    assert list(text) == [("a", "1"), ("b", "2"), ("c", "4"), ("e", "7")]
    assert text.dropped == (
        "3 of 7 pairs: empty 2 (cleaning.drop_empty), duplicate 1 (cleaning.drop_duplicates)"
    )


def test_pairs_that_share_a_side_with_a_scored_split_are_not_kept_and_blank_sides_are_none(
    tmp_path,
):
    train = files(tmp_path, "train", ["a", " ", "b", "x"], ["1", "2", "3", "4"])
    scored = {
        "valid": files(tmp_path, "valid", ["a\r", " "], ["8", "9"]),
        "test": files(tmp_path, "test", ["y"], ["3"]),
    }
    settings = Cleaning(drop_empty=False, min_words=0)
    assert list(KeptText.of(settings, train, scored)) == [(" ", "2"), ("x", "4")]
    assert len(list(KeptText.of(settings, train))) == 4


def test_what_is_dropped_is_said_from_more_than_a_fifth_on_with_the_setting_of_each_reason():
    assert most_dropped(10, {"empty": 2, "duplicate": 0}) is None
    assert most_dropped(10, {"empty": 3, "duplicate": 0}) == (
        "3 of 10 pairs: empty 3 (cleaning.drop_empty)"
    )
    assert most_dropped(10_000, dict.fromkeys(REASONS, 1_000)) == (
        "7,000 of 10,000 pairs: too_many_bytes 1,000 (cleaning.max_bytes), empty 1,000"
        " (cleaning.drop_empty), too_short 1,000 (cleaning.min_words), too_long 1,000"
        " (cleaning.max_words), ratio 1,000 (cleaning.max_ratio), overlap 1,000"
        " (cleaning.drop_overlap), duplicate 1,000 (cleaning.drop_duplicates)"
    )
