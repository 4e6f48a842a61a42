"""The final drop of repeats: what goes, what survives, and what it damages."""

import pytest

from padir.decode.candidates import drop_repeats

PIECES = {10: "▁the", 11: "▁very", 12: "▁good", 13: "▁play", 14: "ing", 15: "▁playing", 16: ".",
          17: "▁sehr", 18: "▁gut", 19: "▁had", 20: "n", 21: ",", 22: "▁ing"}  # fmt: skip
PLAIN_SOURCE, REPEATING_SOURCE = [17, 18], [17, 17, 18]


def drop(tokens, source=PLAIN_SOURCE, mode="words"):
    return list(drop_repeats(tokens, source, mode, PIECES.__getitem__))


def test_repeated_words_go():
    assert drop([10, 10, 12]) == [10, 12]
    assert drop([10, 10, 10, 10, 12, 12]) == [10, 12]


def test_words_spelt_with_other_pieces_count_as_repeats():
    assert drop([13, 14, 15, 12]) == [13, 14, 12]


def test_a_piece_after_a_space_alone_is_part_of_its_word():
    spelt = ["\u2581", "gut", "er"]
    word = [0, 1, 2]
    assert drop_repeats([*word, *word], [1], "words", spelt.__getitem__) == (*word,)


def test_a_word_before_punctuation_is_still_a_repeat():
    assert drop([15, 15, 16]) == [15, 16]


def test_a_piece_after_punctuation_begins_a_word():
    assert drop([10, 21, 14, 22, 12]) == [10, 21, 14, 12]


def test_a_repeated_piece_inside_a_word_survives_in_words_and_goes_in_tokens():
    assert drop([10, 20, 20, 12]) == [10, 20, 20, 12]
    assert drop([10, 20, 20, 12], mode="tokens") == [10, 20, 12]


def test_repeats_that_the_source_has_survive():
    assert drop([11, 11, 12], REPEATING_SOURCE) == [11, 11, 12]
    assert drop([11, 11, 12], REPEATING_SOURCE, "tokens") == [11, 11, 12]


def test_repeats_of_the_source_are_counted_in_the_same_unit():
    spelt_twice = [15, 13, 14]
    assert drop([11, 11, 12], spelt_twice) == [11, 11, 12]
    assert drop([11, 11, 12], spelt_twice, "tokens") == [11, 12]
    assert drop([11, 11, 12], []) == [11, 12]


def test_longer_runs_than_the_source_has_are_cut_to_its_longest():
    assert drop([11, 11, 11, 11, 12], REPEATING_SOURCE) == [11, 11, 12]


def test_characters_spelt_in_bytes_are_dropped_whole():
    # U+4000 is E4 80 80: its last two bytes are no repeat.
    spelt = ["▁", "<0xE4>", "<0x80>", "<0x80>"]
    for mode in ("words", "tokens"):
        for tokens, kept in (([0, 1, 2, 3], 4), ([0, *[1, 2, 3] * 3], 4), ([0, 1, 2], 3)):
            assert drop_repeats(tokens, [0], mode, spelt.__getitem__) == tuple(tokens[:kept])


def test_a_letter_in_bytes_is_part_of_its_word():
    spelt = ["▁gut", "▁b", "<0xC5>", "<0x91>", "r"]
    word = [1, 2, 3, 4]
    assert drop_repeats([0, *word, *word], [0], "words", spelt.__getitem__) == (0, *word)


def test_a_repeat_of_the_target_language_alone_is_damaged():
    """ "had had" is right English, but looks like stutter: the price of the rule."""
    assert drop([19, 19, 12]) == [19, 12]


def test_equal_words_apart_survive():
    assert drop([10, 12, 10, 12]) == [10, 12, 10, 12]


@pytest.mark.parametrize("mode", ["none", "words", "tokens"])
def test_nothing_in_nothing_out(mode):
    assert drop([], [], mode) == []


def test_none_keeps_all():
    assert drop([10, 10, 10], mode="none") == [10, 10, 10]


CHINESE = {30: "▁我", 31: "们", 32: "喜欢", 33: "。", 34: "▁NA", 35: "SA", 36: "ラーメン", 37: "▁"}


def test_pieces_of_chinese_and_japanese_are_words():
    def drop_chinese(tokens, source):
        return list(drop_repeats(tokens, source, "words", {**PIECES, **CHINESE}.__getitem__))

    plain = PLAIN_SOURCE
    assert drop_chinese([30, 31, 31, 32, 32, 32, 33], plain) == [30, 31, 32, 33]
    assert drop_chinese([37, 36, 36, 34, 35, 34, 35, 33], plain) == [37, 36, 34, 35, 33]
    # What the source repeats may stay, whichever language it is in.
    assert drop_chinese([31, 31, 31, 33], [32, 32, 33]) == [31, 31, 33]
    assert drop_chinese([11, 11, 12], [32, 32, 33]) == [11, 11, 12]
