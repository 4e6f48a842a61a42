"""Closing formulas and tokenizers. Numbers marked so are from sacreBLEU's tests (Apache-2.0)."""

import numpy as np
import pytest

from padir.files import InputError
from padir.score import bleu


def sums(hypothesis: int, reference: int, matched: list[int], total: list[int]) -> np.ndarray:
    return np.array([[hypothesis, reference, *matched, *total]], np.float64)


def test_bleu_by_hand():
    # Precisions 1/2, 1/2, 1/2, 1/2 and equal lengths: exactly 50.
    assert bleu.bleu_formula(sums(8, 8, [4, 3, 2, 1], [8, 6, 4, 2]))[0] == pytest.approx(50.0)


def test_brevity_penalty_by_hand():
    # Perfect precision at half the length: exp(1 - 2).
    value = bleu.bleu_formula(sums(4, 8, [4, 3, 2, 1], [4, 3, 2, 1]))[0]
    assert value == pytest.approx(100 * np.exp(-1.0))


def test_long_output_has_no_bonus():
    value = bleu.bleu_formula(sums(9, 8, [4, 3, 2, 1], [4, 3, 2, 1]))[0]
    assert value == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("matched", "total", "lengths", "expected"),
    [
        # sacreBLEU, test_case_scoring.
        ([9, 7, 5, 3], [10, 8, 6, 4], (11, 11), 83.75922397),
        # sacreBLEU, test_case_degenerate_stats: nothing matches, or an order is empty.
        ([0, 0, 0, 0], [4, 4, 2, 1], (0, 1), 0.0),
        ([0, 0, 0, 0], [10, 11, 12, 0], (14, 10), 0.0),
        ([0, 0, 0, 0], [0, 0, 0, 0], (0, 0), 0.0),
        # BLEU.corpus_score of sacreBLEU 2.6.0 for two words against themselves.
        ([2, 1, 0, 0], [2, 1, 0, 0], (2, 2), 0.0),
        # BLEU.compute_bleu of sacreBLEU 2.6.0 for a single match.
        ([1, 0, 0, 0], [4, 3, 2, 1], (4, 4), 15.97357761),
    ],
)
def test_bleu_of_counts_equals_sacrebleus_cases(matched, total, lengths, expected):
    assert bleu.bleu_formula(sums(*lengths, matched, total))[0] == pytest.approx(expected, abs=1e-6)


def test_exponential_smoothing_halves_per_empty_order():
    # Orders 3 and 4 match nothing: 1/2 and then 1/4 of a match.
    value = bleu.bleu_formula(sums(4, 4, [4, 3, 0, 0], [4, 3, 2, 1]))[0]
    assert value == pytest.approx(100 * (1 * 1 * (0.5 / 2) * (0.25 / 1)) ** 0.25)


def test_chrf_by_hand():
    # One order present, precision 1/2, recall 1: F2 = 5 * .5 / (4 * .5 + 1).
    row = np.zeros((1, 18))
    row[0, :3] = (4, 2, 2)
    assert bleu.chrf_formula(row)[0] == pytest.approx(100 * 2.5 / 3)
    assert bleu.chrf_formula(np.zeros((1, 18)))[0] == 0.0


def test_bleu_with_two_references_equals_sacrebleus_case():
    # sacreBLEU, test_corpus_bleu_cases.
    references = [
        ["The dog bit the man.", "It was not unexpected.", "The man bit him first."],
        ["The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."],
    ]
    output = ["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."]
    counts = bleu.bleu_counts(output, references, "en")
    assert counts.score() == pytest.approx(48.530827, abs=1e-5)
    assert "nrefs:2" in counts.signature and "tok:13a" in counts.signature
    assert bleu.bleu_counts(["", "", ""], references, "en").score() == 0.0


@pytest.mark.parametrize("block", [1, 2, 3, 7])
def test_streamed_counts_give_the_same_score(monkeypatch, block):
    monkeypatch.setattr(bleu, "BLOCK_SENTENCES", block)
    words = ["the", "dog", "bit", "a", "man", "who", "had", "not", "been", "expected", "there"]
    output = [" ".join(words[i % 3 : 4 + i]) for i in range(7)]
    references = [[" ".join(words[i % 2 : 5 + i]) for i in range(7)], ["the dog bit a man"] * 7]
    whole = bleu.bleu_counts(output, references, "en")
    streamed = bleu.streamed_bleu_counts(zip(output, *references, strict=True), "en")
    assert streamed.score() == whole.score() > 10
    assert streamed.signature == whole.signature
    assert len(streamed.statistics) == -(-7 // block)


def test_streamed_counts_of_no_sentence_are_refused():
    with pytest.raises(ValueError, match="no sentence"):
        bleu.streamed_bleu_counts([], "en")


def test_repeated_bleu_is_that_of_each_corpus():
    # Positions whose text stays, changes, comes back, and is another position's.
    references = [
        ["the dog bit the man", "a man had a red dog", "it was not expected"],
        ["the dog had bit the man", "a man with a red dog", "nobody expected that"],
    ]
    several = [
        ["the dog bit a man", "a man had a dog", "it was not expected at all"],
        ["the dog bit a man", "a man had a red dog today", "it was not expected at all"],
        ["a man had a dog", "the dog bit a man", "it was not expected at all"],
        ["the dog bit a man", "a man had a dog", "nobody expected that"],
        ["", "", ""],
    ]
    repeated = bleu.RepeatedBleu(references, "en")
    scores = [repeated(output) for output in [*several, *several]]
    alone = [bleu.bleu_counts(output, references, "en").score() for output in several]
    assert scores == [*alone, *alone]
    assert len(set(alone)) == len(several)


def test_chinese_is_scored_by_character():
    counts = bleu.bleu_counts(["我爱北京天安门"], [["我爱北京天安门"]], "zh")
    assert "tok:zh" in counts.signature
    assert counts.score() == pytest.approx(100.0)
    assert bleu.paper_signature("zh") == "BLEU+c.mixed+#.1+s.exp+tok.zh+v.1.3.0"
    assert bleu.paper_signature("de") == "BLEU+c.mixed+#.1+s.exp+tok.13a+v.1.3.0"


def test_missing_tokenizer_is_one_line(monkeypatch):
    def broken(**_):
        raise RuntimeError("no MeCab\nsecond line")

    monkeypatch.setattr(bleu, "BLEU", broken)
    with pytest.raises(InputError, match=r"target language ja: .* install .*sacrebleu\[ja\]"):
        bleu.bleu_counts(["a"], [["a"]], "ja")
