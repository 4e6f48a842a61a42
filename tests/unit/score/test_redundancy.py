"""Redundancy and dropped words, by hand, and on translations whose words are all known."""

import numpy as np
import pytest

from padir.config.data import SyntheticSource
from padir.data.grammar import MODES, Clause, Grammar, NounPhrase
from padir.data.lexicon import draw_lexicon, lexeme_maps
from padir.score.redundancy import (
    REDUNDANCY_KINDS,
    DroppedCounts,
    Lexemes,
    common_stem,
    dropped_counts,
    length_ratio,
    redundancy_counts,
    redundant_units,
    summary,
)
from padir.score.significance import interval, resample_counts
from padir.score.stutter import word_counts, words


def totals(line, *references):
    counts = redundancy_counts([line], [[reference] for reference in references], "en")
    return dict(zip(REDUNDANCY_KINDS, counts.events[0].tolist(), strict=True))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("a man man runs", "continuous_repetition"),
        ("a man, man runs", "discontinuous_repetition"),
        ("a man runs with man", "discontinuous_repetition"),
        ("they play playing ball", "continuous_synonym"),
        ("they play ball playing", "discontinuous_synonym"),
    ],
)
def test_each_kind_of_redundancy_is_told_from_the_others(line, kind):
    assert totals(line) == {name: float(name == kind) for name in REDUNDANCY_KINDS}


def test_what_a_reference_has_is_not_redundant():
    assert totals("the man and the dog", "the cat and the cow") == dict.fromkeys(
        REDUNDANCY_KINDS, 0.0
    )
    more = totals("the man and the dog and the", "the cat and the cow")
    # Another "the", and an "and" that the reference says once.
    assert more["discontinuous_repetition"] == 2
    # The most of any one reference counts, not their sum.
    assert totals("no no no", "no no", "no no")["continuous_repetition"] == 1


def test_each_word_counts_once_however_often_it_was_said():
    events = redundant_units(words("no no no", "en"), common_stem)
    assert events == {("continuous_repetition", "no"): 2}


@pytest.mark.parametrize(
    ("word", "other", "stem"),
    [
        ("young", "younger", "youn"),
        ("street", "streets", "stre"),
        ("walking", "walked", "walk"),
        ("there", "therefore", None),  # four letters more
        ("man", "men", None),
        ("ball", "tall", None),
    ],
)
def test_words_with_one_stem_differ_in_a_short_ending_alone(word, other, stem):
    assert common_stem(word, other) == common_stem(other, word) == stem


@pytest.fixture(scope="module")
def grammar():
    return Grammar(draw_lexicon(SyntheticSource()))


def sentences(grammar, count=60):
    random = np.random.default_rng(0)
    sizes = grammar.lexicon

    def phrase():
        adjectives = tuple(random.integers(0, len(sizes.adjectives), random.integers(0, 3)))
        return NounPhrase(int(random.integers(len(sizes.nouns))), bool(random.integers(2)),
                          tuple(map(int, adjectives)))  # fmt: skip

    for _ in range(count):
        yield (Clause(phrase(), phrase(), int(random.integers(len(sizes.verbs))), (), 0),)


def test_a_valid_translation_drops_nothing_and_says_nothing_twice(grammar):
    lexemes = Lexemes(*lexeme_maps(grammar.lexicon))
    for sentence in sentences(grammar):
        source = grammar.source(sentence)
        answers = [grammar.translate(sentence, mode) for mode in MODES]
        for answer in answers:
            lost = dropped_counts([source], [answer], "xt", lexemes)
            assert lost.dropped.tolist() == [0.0] and lost.expected[0] == len(source.split())
            counts = redundancy_counts([answer], [[a] for a in answers], "xt", lexemes)
            assert not counts.events.any()


def test_a_word_taken_out_is_dropped_and_its_other_form_is_a_synonym(grammar):
    lexemes = Lexemes(*lexeme_maps(grammar.lexicon))
    index, adverb = next((i, a) for i, a in enumerate(grammar.lexicon.adverbs) if len(a.forms) > 1)
    sentence = (Clause(NounPhrase(0), NounPhrase(1), 0, (), index),)
    source = grammar.source(sentence)
    answers = [grammar.translate(sentence, mode) for mode in MODES]
    said = answers[0].split()
    place = said.index(adverb.forms[0])
    without = " ".join(said[:place] + said[place + 1 :])
    assert dropped_counts([source], [without], "xt", lexemes).dropped.tolist() == [1.0]
    # A source that is left as it stands translates none of its words.
    copied = dropped_counts([source], [source], "xt", lexemes)
    assert copied.dropped.tolist() == copied.expected.tolist()
    both = " ".join([*said[: place + 1], adverb.forms[1], *said[place + 1 :]])
    counts = redundancy_counts([both], [[a] for a in answers], "xt", lexemes)
    assert counts.events[0].tolist() == [0, 0, 1, 0]


def test_dropped_words_are_counted_per_word_of_the_source():
    counts = DroppedCounts(np.array([1.0, 0.0]), np.array([2.0, 3.0]))
    assert counts.replicates(np.array([[1.0, 1.0], [2.0, 0.0]])).tolist() == [20, 50]


def test_without_words_every_rate_is_zero():
    nothing = np.zeros(2)
    assert DroppedCounts(nothing, nothing).replicates(np.ones((3, 2))).tolist() == [0, 0, 0]
    made = summary(redundancy_counts(["", "?"], [["a", "b"]], "en"), np.ones((40, 2)))
    assert list(made.values()) == [{"per_100": 0, "low": 0, "high": 0}] * len(REDUNDANCY_KINDS)


def test_punctuation_is_no_word():
    counts = redundancy_counts(["no, no: yes!", "?"], [["no", "yes"]], "en")
    assert counts.units.tolist() == [3, 0]
    # Without a word of the references there is no ratio to them: the output's words are told.
    assert length_ratio(counts, np.zeros(2), 1) == 3


def test_maps_know_each_word_once(grammar):
    source, target = lexeme_maps(grammar.lexicon)
    assert set(source.values()) == set(target.values()) - {"article"}
    assert not source.keys() & target.keys()


def test_continuous_repetition_is_stutter():
    lines = ["a a b", "b b b c", "c a c"]
    references = [["a a b", "b", "c"], ["x", "b b", "y"]]
    counts = redundancy_counts(lines, references, "en")
    stutter = word_counts(lines, references, "en")
    np.testing.assert_array_equal(counts.events[:, 0], stutter.stutters)
    resamples = resample_counts(3, 40)
    made = summary(counts, resamples)["continuous_repetition"]
    assert made["per_100"] == pytest.approx(100 * 1 / 10)
    drawn = 100 * (resamples @ [0, 1, 0]) / (resamples @ [3, 4, 3])
    assert (made["low"], made["high"]) == pytest.approx(interval(drawn))
    assert length_ratio(counts, stutter.reference_units, 2) == pytest.approx(10 / (9 / 2))
