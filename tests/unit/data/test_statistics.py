"""Statistics of one side, counted by hand."""

import pytest

from padir.data.statistics import SideStatistics, count_lines, fingerprint, line_length


def summary(language, folder, *blocks):
    """Statistics of lines that came in some blocks."""
    side = SideStatistics(language, folder)
    for lines in blocks:
        side.add(count_lines(lines, language))
    return side.summary()


def test_lengths_are_words_or_chinese_characters():
    assert line_length("ein  kleiner\tTest ", "de") == 3
    assert line_length("我 喜欢 你。", "zh") == 5
    assert line_length("", "de") == line_length(" ", "zh") == 0


@pytest.mark.parametrize("cut", range(5))
def test_summary_by_hand(tmp_path, cut):
    lines = ["ja ja nein", "", "nein", "nein"]
    assert summary("de", tmp_path, lines[:cut], lines[cut:]) == {
        "lines": 4,
        "empty_lines": 1,
        "repeated_lines": 1,
        "characters": 18,
        "length_unit": "words",
        "length_total": 5,
        "length_mean": 1.25,
        "length_quantiles": {"p50": 1, "p90": 3, "p99": 3},
        "length_max": 3,
        "lengths": {"0": 1, "1": 2, "3": 1},
        "distinct_words": 2,
        "equal_neighbours": 1,
    }


def test_statistics_of_chinese_count_characters(tmp_path):
    counts = summary("zh", tmp_path, ["人人 爱", "爱人。"])
    assert (counts["length_unit"], counts["length_total"]) == ("characters", 6)
    assert (counts["equal_neighbours"], counts["distinct_words"]) == (1, 3)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [(range(1, 101), (50, 90, 99)), (range(1, 11), (5, 9, 10)), ([7], (7, 7, 7))],
)
def test_quantiles_of_lengths_are_those_by_hand(tmp_path, lengths, expected):
    counts = summary("de", tmp_path, [" ".join(["w"] * length) for length in lengths])
    assert tuple(counts["length_quantiles"].values()) == expected


def test_statistics_of_no_lines_have_no_mean(tmp_path):
    counts = summary("de", tmp_path)
    assert (counts["lines"], counts["length_mean"], counts["length_max"]) == (0, None, None)


def test_fingerprints_tell_lines_apart():
    assert fingerprint("a") == fingerprint("a") != fingerprint("b")
    assert len(fingerprint("a" * 1000)) == 16
