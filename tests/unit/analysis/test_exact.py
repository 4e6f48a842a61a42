"""The exact dependence against enumeration word by word, and against drawn translations."""

import random
from collections import Counter
from itertools import product
from math import log

import numpy as np
import pytest

from padir.analysis import exact
from padir.config.data import SyntheticSource
from padir.data.grammar import MODES
from padir.data.synthetic import draw_mode, draw_sentence, make_grammar, mode_probability

SETTINGS = SyntheticSource(kind="synthetic", train=10, valid=2, test=2)


def encoder():
    ids: dict[str, int] = {}
    return lambda lines: [[ids.setdefault(w, 8 + len(ids)) for w in line.split()] for line in lines]


def enumerated(distribution, i, j):
    """Mutual information by going through all pairs of words."""
    joint, left, right = Counter(), Counter(), Counter()
    for sequence, probability in distribution.items():
        joint[sequence[i], sequence[j]] += probability
        left[sequence[i]] += probability
        right[sequence[j]] += probability
    return sum(p * log(p / (left[a] * right[b])) for (a, b), p in joint.items())


def test_two_words_that_go_together_and_one_that_does_not():
    distribution = {(1, 1, 5): 0.25, (2, 2, 5): 0.75}
    information = exact.dependence(distribution)
    entropy = -(0.25 * log(0.25) + 0.75 * log(0.75))
    assert information[0, 1] == pytest.approx(entropy)
    assert information[0, 2] == 0
    assert information[0, 0] == 0
    # Also where rounding says otherwise in the last digits.
    first, second = {1: 0.1, 2: 0.9}, {1: 0.3, 2: 0.7}
    apart = {(a, b): p * q for a, p in first.items() for b, q in second.items()}
    assert not exact.dependence(apart).any()


def test_the_distribution_of_a_sentence_equals_enumeration():
    grammar, generator, encode = make_grammar(SETTINGS), random.Random(4), encoder()
    dependent = 0
    for _ in range(30):
        source = grammar.source(draw_sentence(generator, SETTINGS))
        distribution = exact.target_distribution(grammar, source, 0.6, encode)
        assert sum(distribution.values()) == pytest.approx(1)
        lengths = Counter()
        for sequence, probability in distribution.items():
            lengths[len(sequence)] += probability
        given = exact.at_likeliest_length(distribution)
        (length,) = {len(sequence) for sequence in given}
        assert lengths[length] == pytest.approx(max(lengths.values()))
        assert sum(given.values()) == pytest.approx(1)
        computed = exact.dependence(given)
        for i, j in product(range(length), repeat=2):
            if i != j:
                information = enumerated(given, i, j)
                assert computed[i, j] == pytest.approx(information, abs=1e-9)
                dependent += information > 1e-9
    assert dependent > 0


def test_the_smaller_of_two_lengths_as_likely_is_taken():
    distribution = {(1, 2): 0.25, (1, 3): 0.25, (4, 5, 6): 0.5}
    assert exact.at_likeliest_length(distribution) == {(1, 2): 0.5, (1, 3): 0.5}
    # 0.1 + 0.2 is a little more than 0.3, which decides nothing.
    tied = {(1, 2): 0.3, (1, 2, 3): 0.1, (4, 5, 6): 0.2, (1,): 0.2, (1, 2, 3, 4): 0.2}
    assert list(exact.at_likeliest_length(tied)) == [(1, 2)]


def test_a_strength_of_0_leaves_one_translation():
    grammar, encode = make_grammar(SETTINGS), encoder()
    source = grammar.source(draw_sentence(random.Random(1), SETTINGS))
    given = exact.at_likeliest_length(exact.target_distribution(grammar, source, 0.0, encode))
    assert list(given.values()) == [1.0]
    assert not exact.dependence(given).any()


def test_probabilities_of_modes_are_those_of_the_draw():
    generator, draws = random.Random(2), 20_000
    counts = Counter(draw_mode(generator, 0.6) for _ in range(draws))
    for mode in MODES:
        expected = mode_probability(mode, 0.6)
        # Four standard deviations.
        within = 4 * np.sqrt(expected * (1 - expected) / draws)
        assert counts[mode] / draws == pytest.approx(expected, abs=within)
    assert sum(mode_probability(mode, 0.6) for mode in MODES) == pytest.approx(1)
