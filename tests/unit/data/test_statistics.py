"""Statistics of one side, counted by hand."""

import pytest

from padir.data.statistics import SideStatistics, fingerprint, line_length


def test_lengths():
    assert line_length("ein  kleiner\tTest ", "de") == 3
    assert line_length("我 喜欢 你。", "zh") == 5
    assert line_length("", "de") == line_length(" ", "zh") == 0


def test_summary_by_hand():
    side = SideStatistics("de")
    for line in ["ja ja nein", "", "nein", "nein"]:
        side.add(line)
    assert side.summary() == {
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


def test_characters_of_chinese():
    side = SideStatistics("zh")
    side.add("人人 爱")
    found = side.summary()
    assert (found["length_unit"], found["length_total"]) == ("characters", 3)
    assert (found["equal_neighbours"], found["distinct_words"]) == (1, 2)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [(range(1, 101), (50, 90, 99)), (range(1, 11), (5, 9, 10)), ([7], (7, 7, 7))],
)
def test_quantiles(lengths, expected):
    side = SideStatistics("de")
    for length in lengths:
        side.add(" ".join(["w"] * length))
    assert tuple(side.summary()["length_quantiles"].values()) == expected


def test_no_lines():
    found = SideStatistics("de").summary()
    assert (found["lines"], found["length_mean"], found["length_max"]) == (0, None, None)


def test_fingerprints_tell_lines_apart():
    assert fingerprint("a") == fingerprint("a") != fingerprint("b")
    assert len(fingerprint("a" * 1000)) == 16
