"""Stutter, counted by hand."""

import numpy as np
import pytest

from padir.score import significance, stutter


@pytest.mark.parametrize(
    ("line", "language", "units"),
    [
        ("A man, a man.", "en", ["a", "man", None, "a", "man", None]),
        ("no , no", "en", ["no", None, "no"]),
        ("«Ja» ja", "de", [None, "ja", None, "ja"]),
        ("e-mail don't 3.5%", "en", ["e-mail", "don't", "3.5", None]),
        ("1 + 1 = 2 €", "en", ["1", None, "1", None, "2", None]),
        ("  ", "en", []),
        ("STRASSE straße", "de", ["strasse", "strasse"]),
        ("e\u0301 \u00e9", "fr", ["é", "é"]),
        ("我 我看ABC abc。好", "zh", ["我", "我", "看", "abc", "abc", None, "好"]),
        ("ab、cd我ef", "zh", ["ab", None, "cd", "我", "ef"]),
        ("かか2024年", "ja", ["か", "か", "2024", "年"]),
        ("コーヒーー ｶｶﾞ 人々々", "ja", [*"コーヒーー", *"ｶｶﾞ", *"人々々"]),
        ("पानी पानी", "hi", ["पानी", "पानी"]),
    ],
)
def test_words_are_lower_case_and_punctuation_separates_them(line, language, units):
    assert stutter.words(line, language) == units


def rate(hypothesis: str, *references: str, language: str = "en") -> float:
    counts = stutter.word_counts([hypothesis], [[r] for r in references], language)
    return float(counts.stutters.sum())


def test_a_repeat_that_no_reference_has_is_a_stutter():
    assert rate("the the man", "the man") == 1
    assert rate("the the the man", "the man") == 2
    assert rate("The the man", "the man") == 1
    assert rate("the, the man", "the man") == 0
    assert rate("the , . man", "the man") == 0


def test_a_repeat_that_the_reference_has_is_not_stutter():
    assert rate("he had had enough", "he had had it") == 0
    assert rate("he had had had enough", "he had had it") == 1
    assert rate("very very good", "good", "very very good") == 0
    # The most of any one reference counts, not their sum.
    assert rate("very very very good", "very very good", "very very good") == 1
    # Another word's repeat does not excuse this one.
    assert rate("the the man", "had had") == 1


def test_chinese_counts_characters():
    assert rate("我我爱天天", "我爱天天", language="zh") == 1


@pytest.mark.parametrize(
    ("hypothesis", "reference", "stutters", "runs"),
    [
        ("他们他们很高兴高兴在公园公园。", "他们很高兴在公园。", 3, {2: 3}),
        ("他们他们他们", "他们", 2, {3: 1}),
        # Longer words contain the repeats of shorter ones, which count.
        ("的的的的", "的", 3, {4: 1}),
        ("他们他们们", "他们", 2, {2: 2}),
        ("研究研究", "研究研究", 0, {2: 1}),
        ("研究、研究", "研究", 0, {}),
        ("人工智能人工智能", "人工智能", 1, {2: 1}),
        ("第二次世界第二次世界", "第二次世界", 0, {}),
    ],
)
def test_chinese_counts_words_of_several_characters(hypothesis, reference, stutters, runs):
    counts = stutter.word_counts([hypothesis], [[reference]], "zh")
    assert counts.stutters.tolist() == [stutters]
    assert counts.runs == runs


def test_runs_of_one_word_are_told_apart():
    assert stutter.run_lengths("aabaaa") == {2: 1, 3: 1}


def test_words_of_other_languages_repeat_alone():
    assert rate("a man a man", "a man") == 0


def test_japanese_counts_long_vowels_and_half_width_kana():
    references = [["コーヒー です", "カ"]]
    counts = stutter.word_counts(["コーヒーーー です", "ｶｶ"], references, "ja")
    assert counts.stutters.tolist() == [2, 1]


def test_rates_by_hand():
    hypotheses = ["a a, b b", "c d", "e e e f g h."]
    references = [["a b", "c c, d d", "e e f!"]]
    counts = stutter.word_counts(hypotheses, references, "en")
    assert counts.stutters.tolist() == [2, 0, 1]
    assert counts.runs == {2: 2, 3: 1}
    resamples = significance.resample_counts(3, 200)
    summary = stutter.summary(counts, resamples, has_reference=True)
    assert summary["per_100"] == pytest.approx(100 * 3 / 12)
    assert summary["per_sentence"] == pytest.approx(1.0)
    assert summary["sentences_share"] == pytest.approx(2 / 3)
    assert summary["reference_per_100"] == pytest.approx(100 * 3 / 9)
    assert summary["excess_per_100"] == pytest.approx(100 * (4 / 12 - 3 / 9))
    assert summary["low"] == pytest.approx(0.0)
    assert summary["high"] == pytest.approx(50.0)
    output = (resamples @ [2, 0, 2]) / (resamples @ [4, 2, 6])
    drawn = 100 * (output - (resamples @ [0, 2, 1]) / (resamples @ [2, 4, 3]))
    excess = summary["excess_low"], summary["excess_high"]
    assert excess == pytest.approx(significance.interval(drawn))


def test_tokens_by_hand():
    counts = stutter.token_counts([[5, 5, 5, 9], [7], []])
    assert counts.stutters.tolist() == counts.repeats.tolist() == [2, 0, 0]
    assert counts.units.tolist() == [4, 1, 0]
    assert counts.runs == {3: 1}
    summary = stutter.summary(counts, np.ones((40, 3)), has_reference=False)
    assert summary["per_100"] == pytest.approx(40.0)
    assert "excess_per_100" not in summary


def test_empty_output_has_rate_zero():
    counts = stutter.word_counts(["", ""], [["a", "b"]], "en")
    assert stutter.summary(counts, np.ones((40, 2)), has_reference=True)["per_100"] == 0.0
