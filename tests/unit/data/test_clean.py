"""Cleaning: each rule with pairs at both sides of its limit; scored sets that stay whole."""

import random
import re

import pytest

from padir.config.data import Cleaning
from padir.data import clean as cleaning
from padir.data import distinct
from padir.data.clean import REASONS, clean
from padir.files import InputError, read_lines, sha256_file


@pytest.fixture
def run(tmp_path):
    """Clean the pairs of each split and return (kept training pairs, statistics)."""

    def run(train, settings=None, valid=(("v de", "v en"),), test=(("t de", "t en"),)):
        raw, out = tmp_path / "raw", tmp_path / "out"
        raw.mkdir(exist_ok=True)
        for split, pairs in (("train", train), ("valid", valid), ("test", test)):
            for side, language in enumerate(("de", "en")):
                lines = [pair[side] + "\n" for pair in pairs]
                (raw / f"{split}.{language}").write_bytes("".join(lines).encode())
        statistics = clean(settings or Cleaning(), "de-en", raw, out)
        kept = zip(read_lines(out / "train.de"), read_lines(out / "train.en"), strict=True)
        return list(kept), statistics

    return run


def counts(statistics):
    """The reasons that cost pairs, with their counts and line numbers."""
    dropped = statistics["splits"]["train"]["dropped"]
    assert list(dropped) == list(REASONS)
    return {r: (d["pairs"], d["first_lines"]) for r, d in dropped.items() if d["pairs"]}


def test_a_dropped_pair_counts_under_its_first_reason(run):
    train = [
        ("gut", "good"),
        ("x" * 20_001, "x"),
        ("", "x"),
        ("x", " \t"),
        ("w " * 251, "w " * 251),
        ("w " * 10, "w"),
        ("t de", "other"),
        ("other", "v en"),
        ("gut", "good"),
        ("gut", "well"),
    ]
    kept, statistics = run(train)
    assert kept == [("gut", "good"), ("gut", "well")]
    assert counts(statistics) == {
        "too_many_bytes": (1, [2]),
        "empty": (2, [3, 4]),
        "too_long": (1, [5]),
        "ratio": (1, [6]),
        "overlap": (2, [7, 8]),
        "duplicate": (1, [9]),
    }
    train = statistics["splits"]["train"]
    assert (train["pairs_read"], train["pairs_kept"]) == (10, 2)
    assert train["pairs_sharing_a_side_with"] == {"valid": 1, "test": 1}


@pytest.mark.parametrize(
    ("settings", "pair", "reason"),
    [
        ({"max_words": 3}, ("a b c", "a"), None),
        ({"max_words": 3}, ("a", "a b c d"), "too_long"),
        ({"min_words": 2}, ("a b", "a b"), None),
        ({"min_words": 2}, ("a b", "a"), "too_short"),
        ({"max_ratio": 1.5}, ("a b", "a b c"), None),
        ({"max_ratio": 1.4}, ("a b", "a b c"), "ratio"),
        ({"max_bytes": 16}, ("ä" * 8, "x" * 16), None),
        ({"max_bytes": 16}, ("ä" * 8 + "x", "x"), "too_many_bytes"),
        ({"max_bytes": 16}, ("x", "x" * 17), "too_many_bytes"),
        ({"drop_empty": False, "min_words": 0}, ("", "a"), None),
        ({"drop_empty": False, "min_words": 1}, ("", "a"), "too_short"),
        ({"drop_overlap": False}, ("t de", "v en"), None),
    ],
)
def test_a_pair_at_a_limit_stays_and_one_past_it_goes(run, settings, pair, reason):
    kept, statistics = run([("keep keep", "keep keep"), pair], Cleaning(**settings))
    assert counts(statistics) == ({} if reason is None else {reason: (1, [2])})
    assert (pair in kept) == (reason is None)


def test_duplicates_may_stay(run):
    train = [("a", "b"), ("a", "b")]
    assert run(train, Cleaning(drop_duplicates=False))[0] == train
    assert run(train)[0] == train[:1]


def test_a_duplicate_is_the_pair_not_its_concatenation(run):
    assert len(run([("a b", "c"), ("a", "b c"), ("a", "b")])[0]) == 3


def test_example_lines_are_the_first_five(run):
    _, statistics = run([("a", "b"), *[("", "x")] * 9])
    assert counts(statistics) == {"empty": (9, [2, 3, 4, 5, 6])}


def test_overlap_counts_pairs_that_are_dropped_for_another_reason(run):
    kept, statistics = run([("t de", ""), ("t de", "x y " * 40), ("a", "b")])
    assert kept == [("a", "b")]
    assert statistics["splits"]["train"]["pairs_sharing_a_side_with"]["test"] == 2


def test_overlap_is_of_the_same_language(run):
    # The German line stands in the test set's English side only.
    kept, statistics = run([("t en", "x"), ("t de", "x")])
    assert kept == [("t en", "x")]
    assert statistics["splits"]["train"]["pairs_sharing_a_side_with"]["test"] == 1


def test_empty_test_lines_are_no_overlap(run):
    settings = Cleaning(drop_empty=False, min_words=0)
    kept, _ = run([("", "x")], settings, test=[("", "y")])
    assert kept == [("", "x")]


def test_scored_sets_stay_whole(run, tmp_path):
    test = [("a", "b"), ("a", "b"), ("", "x"), ("w " * 300, "w"), ("v de", "z")]
    _, statistics = run([("c", "d")], test=test)
    for side, language in enumerate(("de", "en")):
        assert read_lines(tmp_path / "out" / f"test.{language}") == [pair[side] for pair in test]
    test = statistics["splits"]["test"]
    assert (test["pairs_read"], test["pairs_kept"]) == (5, 5)
    german = test["files"][0]
    assert (german["empty_lines"], german["repeated_lines"]) == (1, 1)
    assert statistics["lines_shared_by_valid_and_test"] == 1


def test_a_line_over_max_bytes_in_a_scored_set_is_an_error(run):
    with pytest.raises(InputError) as caught:
        run([("a", "b")], valid=[("a", "b"), ("a", "ä" * 10_001)])
    assert re.fullmatch(
        r".*/raw/valid\.en: line 2: 20002 bytes; at most 20000 are allowed"
        r" \(cleaning\.max_bytes\), and no line of the valid split may be dropped",
        str(caught.value),
    )


def test_a_megabyte_line_is_dropped_from_training(run):
    kept, statistics = run([("a", "b"), ("x " * (1 << 19), "x")])
    assert kept == [("a", "b")]
    assert counts(statistics) == {"too_many_bytes": (1, [2])}


def test_carriage_returns_are_removed_and_counted(run, tmp_path):
    kept, statistics = run(
        [("a\r", "b"), ("c\rd\r\r", "e"), ("\r", "x")], test=[("t\r", "u\r"), ("t\r", "u\r")]
    )
    # One at the end of a line goes; a line of nothing else is empty.
    assert kept == [("a", "b"), ("c\rd\r", "e")]
    assert counts(statistics) == {"empty": (1, [3])}
    assert read_lines(tmp_path / "out" / "test.de") == ["t", "t"]
    removed = {
        file["file"]: file["carriage_returns_removed"]
        for split in statistics["splits"].values()
        for file in split["files"]
    }
    assert removed["train.de"] == 3
    assert removed["train.en"] == 0
    assert removed["test.de"] == removed["test.en"] == 2


def test_no_line_begins_with_a_byte_order_mark(run, tmp_path):
    # The first line is dropped, so that the second becomes the first.
    train = [("", "x"), ("\ufeff\ufeffa\r", "b"), ("c\ufeffd", "e"), ("\ufeff", "y")]
    kept, statistics = run(train, test=[("t", "u"), ("t", "\ufeffu")])
    assert kept == [("a", "b"), ("c\ufeffd", "e")]
    assert counts(statistics) == {"empty": (2, [1, 4])}
    assert read_lines(tmp_path / "out" / "test.en") == ["u", "u"]
    removed = {
        file["file"]: file["byte_order_marks_removed"]
        for split in statistics["splits"].values()
        for file in split["files"]
        if "byte_order_marks_removed" in file
    }
    assert removed == {"train.de": 2, "test.en": 1}


def test_unicode_line_separators_stay_inside(run):
    pairs = [("a\u2028b\x85c", "d\x0ce\u2029f"), ("g", "h")]
    assert run(pairs)[0] == pairs


def test_references_are_kept_in_step(run, tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "test.en.1").write_text("other\r\n")
    _, statistics = run([("a", "b")])
    assert read_lines(tmp_path / "out" / "test.en.1") == ["other"]
    assert [file["file"] for file in statistics["splits"]["test"]["files"]] == [
        "test.de",
        "test.en",
        "test.en.1",
    ]
    (tmp_path / "raw" / "test.en.1").write_text("one\ntwo\n")
    with pytest.raises(InputError, match=r"test\.de has 1, .*test\.en has 1, .*en\.1 has 2$"):
        run([("a", "b")])


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_an_empty_raw_file_is_refused(run, split):
    pairs = {"train": [("a", "b")], "valid": [("a", "b")], "test": [("a", "b")], split: []}
    with pytest.raises(InputError, match=rf"raw/{split}\.de: empty: there is no sentence in it"):
        run(**pairs)


def test_cleaning_that_leaves_no_pair_is_refused(run, tmp_path):
    with pytest.raises(InputError, match="train: cleaning leaves no pair at all"):
        run([("", "")])
    assert not (tmp_path / "out" / "train.de").exists()
    assert not list((tmp_path / "out").glob(".padir-*"))


def test_raw_files_of_unequal_length_are_refused(run, tmp_path):
    run([("a", "b"), ("c", "d")])
    (tmp_path / "raw" / "train.en").write_text("b\n")
    with pytest.raises(InputError, match=r"train\.de has 2, .*train\.en has 1$"):
        clean(Cleaning(), "de-en", tmp_path / "raw", tmp_path / "again")
    assert not (tmp_path / "again" / "train.de").exists()


def test_statistics_carry_the_digests_of_files_and_the_settings(run, tmp_path):
    _, statistics = run([("a", "b")])
    for split in statistics["splits"].values():
        for file in split["files"]:
            assert file["sha256"] == sha256_file(tmp_path / "out" / file["file"])
    assert statistics["cleaning"] == Cleaning().model_dump()
    assert run([("a", "b")])[1] == statistics


def test_chinese_lengths_are_characters(tmp_path):
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.en").write_text(f"{split} one\n{split} two\n")
        mark = {"train": "人", "valid": "好", "test": "爱"}[split]
        (tmp_path / f"{split}.zh").write_text(f"{mark}我喜欢你们\n{mark}我们好\n")
    statistics = clean(Cleaning(max_words=5), "en-zh", tmp_path, tmp_path / "out")
    assert counts(statistics) == {"too_long": (1, [1])}
    assert read_lines(tmp_path / "out" / "train.zh") == ["人我们好"]


def by_hand(train, scored, max_words):
    """The rules in a few lines over whole lists: kept pairs and how many each reason cost."""
    kept, dropped, seen = [], dict.fromkeys(REASONS, 0), set()
    for pair in train:
        lengths = [len(line.split()) for line in pair]
        if not min(lengths):
            reason = "empty"
        elif max(lengths) > max_words:
            reason = "too_long"
        elif max(lengths) > 2 * min(lengths):
            reason = "ratio"
        elif any((side, line) in scored for side, line in enumerate(pair)):
            reason = "overlap"
        elif pair in seen:
            reason = "duplicate"
        else:
            kept.append(pair)
            seen.add(pair)
            continue
        dropped[reason] += 1
    return kept, dropped


def drawn_pairs(count):
    generator = random.Random(count)
    sides = [[" ".join("abc"[: generator.randrange(4)]) for _ in range(count)] for _ in "de"]
    return [(f"{a}{generator.choice(['', ' x'])}", b) for a, b in zip(*sides, strict=True)]


@pytest.mark.parametrize("block_lines", [1, 7, 1000])
def test_blocks_of_any_size_keep_the_pairs_that_plain_code_keeps(run, monkeypatch, block_lines):
    monkeypatch.setattr(cleaning, "BLOCK_LINES", block_lines)
    monkeypatch.setattr(distinct, "BUFFER_ROWS", 5)
    train, test = drawn_pairs(300), [("a b", "t en"), ("t de", "a x")]
    scored = {(side, line) for pair in test for side, line in enumerate(pair)}
    kept, statistics = run(train, Cleaning(max_words=3, max_ratio=2), test=test)
    expected, dropped = by_hand(train, scored, 3)
    assert kept == expected
    counted = statistics["splits"]["train"]["dropped"]
    assert {reason: each["pairs"] for reason, each in counted.items()} == dropped
    assert dropped["duplicate"] > 50
    german = statistics["splits"]["train"]["files"][0]
    assert german["distinct_words"] == len({w for a, _ in kept for w in a.split()})
    assert german["repeated_lines"] == len(kept) - len({a for a, _ in kept})


def test_processes_change_nothing(run, monkeypatch, tmp_path):
    _, statistics = run(drawn_pairs(200))
    monkeypatch.setattr(cleaning, "BLOCK_LINES", 10)
    again = clean(Cleaning(), "de-en", tmp_path / "raw", tmp_path / "two", workers=2)
    assert again == statistics
    for name in ("train.de", "train.en", "test.de"):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_errors_in_processes_are_lines(run, monkeypatch, tmp_path):
    run(drawn_pairs(200))
    (tmp_path / "raw" / "train.en").write_bytes(b"a\n" * 150 + b"\xff\n" + b"a\n" * 49)
    monkeypatch.setattr(cleaning, "BLOCK_LINES", 10)
    with pytest.raises(InputError, match=r"train\.en: line 151, byte 1: not valid UTF-8"):
        clean(Cleaning(), "de-en", tmp_path / "raw", tmp_path / "two", workers=2)
    assert not list((tmp_path / "two").glob(".padir-*"))
