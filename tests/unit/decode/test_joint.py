"""A pass's tokens chosen jointly: against every sequence over the whole vocabulary."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode.candidates import LengthRule
from padir.decode.joint import (
    PairwiseRepetitionPenalty,
    TopTokens,
    best_sequence,
    overlap,
    repeats_within,
    top_k_tokens,
)
from tests.decoding import tiny_translator

VOCABULARY, LENGTH = 6, 5
SEQUENCES = np.array(list(itertools.product(range(VOCABULARY), repeat=LENGTH)))


def random_logits(rows, seed=0):
    return np.random.default_rng(seed).normal(0, 2, (rows, LENGTH, VOCABULARY)).astype(np.float32)


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def worth(log_probability, penalties, sequences):
    """Log-probability of each sequence less the penalties of its equal tokens nearby."""
    total = log_probability[np.arange(LENGTH), sequences].sum(axis=1)
    for step in range(1, penalties.shape[1] + 1):
        equal = sequences[:, step:] == sequences[:, :-step]
        total = total - (equal * penalties[step:, step - 1]).sum(axis=1)
    return total


@pytest.mark.parametrize("reach", [1, 2])
@pytest.mark.parametrize("kept_share", [0.0, 0.4])
@pytest.mark.parametrize("penalty", [0.5, 5.0, 100.0])
def test_joint_decoding_equals_exhaustive_search(penalty, kept_share, reach):
    """Three tokens a position are enough, or five, whatever the penalties."""
    rows, random = 150, np.random.default_rng(1)
    logits = random_logits(rows)
    coupling = random.random((rows, LENGTH, reach)).astype(np.float32)
    taken = random.random((rows, LENGTH)) >= kept_share
    kept = random.integers(0, VOCABULARY, (rows, LENGTH)).astype(np.int32)
    choice = PairwiseRepetitionPenalty(penalty, True, reach)
    tokens, scores = choice(
        top_k_tokens(jnp.asarray(logits), choice.top_k),
        jnp.asarray(kept),
        jnp.asarray(taken),
        jnp.asarray(coupling),
    )
    log_probability = log_softmax(logits)
    differs = 0
    for row in range(rows):
        chosen = np.where(taken[row][:, None], log_probability[row], 0.0)
        possible = SEQUENCES[np.all(taken[row] | (kept[row] == SEQUENCES), axis=1)]
        every = worth(chosen, penalty * coupling[row], possible)
        best = possible[np.argmax(every)]
        np.testing.assert_array_equal(tokens[row], best)
        np.testing.assert_allclose(scores[row], chosen[np.arange(LENGTH), best], atol=1e-5)
        differs += not np.array_equal(best, np.where(taken[row], chosen.argmax(axis=1), kept[row]))
    assert differs > 5  # the penalties decide something


def test_two_tokens_per_position_would_not_be_enough():
    """Between two neighbours that hold its first and second choice a position takes its third."""
    scores = jnp.log(jnp.array([[[0.98, 0.01, 0.01], [0.5, 0.3, 0.2], [0.98, 0.01, 0.01]]]))
    tokens = jnp.array([[[0, 1, 2], [0, 1, 2], [1, 0, 2]]])
    penalties = jnp.tile(jnp.array([50.0, 0.0]), (1, 3, 1))
    sequence, _ = best_sequence(TopTokens(tokens, scores), penalties)
    assert sequence.tolist() == [[0, 2, 1]]


def test_top_k_tokens_are_the_first_of_a_stable_sort():
    logits = random_logits(7)
    logits[0, 0, 2] = -np.inf
    top = top_k_tokens(jnp.asarray(logits), 3)
    order = np.argsort(-logits, axis=-1, kind="stable")[..., :3]
    np.testing.assert_array_equal(top.tokens, order)
    expected = np.take_along_axis(log_softmax(logits), order, axis=-1)
    np.testing.assert_allclose(top.log_probability, expected, atol=1e-5)


def everywhere(logits, choice, may_repeat=None):
    """The choice where every position takes a new token."""
    rows = len(logits)
    taken, kept = jnp.ones((rows, LENGTH), bool), jnp.zeros((rows, LENGTH), jnp.int32)
    top = top_k_tokens(jnp.asarray(logits), choice.top_k)
    return np.asarray(choice(top, kept, taken, None, may_repeat)[0])


def test_a_word_pushed_aside_comes_back_one_place_further_unless_the_reach_is_two():
    logits = np.zeros((1, LENGTH, VOCABULARY), np.float32)
    logits[0, np.arange(LENGTH), [2, 2, 3, 4, 5]] = 5.0
    logits[0, 0, 2], logits[0, 2, 2] = 6.0, 4.0
    logits[0, 1, 3] = 4.0
    near, far = (
        everywhere(logits, PairwiseRepetitionPenalty(9.0, False, reach))[0] for reach in (1, 2)
    )
    assert near.tolist() == [2, 3, 2, 4, 5]
    assert far[0] == 2 and far[2:].tolist() == [3, 4, 5] and far[1] not in (2, 3, 4)


def test_without_equal_tokens_nearby_every_position_has_its_likeliest_token():
    logits = np.zeros((1, LENGTH, VOCABULARY), np.float32)
    logits[0, np.arange(LENGTH), [0, 1, 0, 1, 0]] = 1e-3  # hardly more likely
    assert everywhere(logits, PairwiseRepetitionPenalty(100.0, False, 1)).tolist() == [
        [0, 1, 0, 1, 0]
    ]


def test_rows_that_may_repeat_are_left_alone():
    logits = np.zeros((2, LENGTH, VOCABULARY), np.float32)
    logits[..., 3] = 2.0
    tokens = everywhere(
        logits, PairwiseRepetitionPenalty(9.0, False, 1), jnp.array([[True], [False]])
    )
    assert tokens[0].tolist() == [3] * LENGTH
    assert not np.any(tokens[1, 1:] == tokens[1, :-1])


def test_a_row_may_repeat_at_a_distance_alone():
    logits = np.zeros((1, LENGTH, VOCABULARY), np.float32)
    logits[..., 3], logits[..., 4] = 3.0, 2.0
    chosen = everywhere(
        logits, PairwiseRepetitionPenalty(9.0, False, 2), jnp.array([[False, True]])
    )
    assert chosen.tolist() == [[3, 4, 3, 4, 3]]


@pytest.mark.parametrize(
    ("source", "near", "far"),
    [
        ([9, 8, 7], False, False),
        ([9, 9, 7], True, True),
        ([9, 8, 9], False, True),
        ([], False, False),
    ],
)
def test_a_repeat_in_the_source_is_seen_within_its_distance(source, near, far):
    assert (repeats_within(source, 1), repeats_within(source, 2)) == (near, far)


def test_overlap_is_one_less_total_variation():
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.ones(4), (3, 6)).astype(np.float32)
    weights[0, 2] = weights[0, 1]
    overlaps = overlap(jnp.asarray(weights), 2)
    for step in (1, 2):
        distance = 0.5 * np.abs(weights[:, step:] - weights[:, :-step]).sum(axis=-1)
        np.testing.assert_allclose(overlaps[:, step:, step - 1], 1 - distance, atol=1e-6)
        assert np.all(np.asarray(overlaps[:, :step, step - 1]) == 0)
    assert float(overlaps[0, 2, 0]) == pytest.approx(1)


def test_penalties_scaled_by_the_coupling_need_it():
    with pytest.raises(ValueError, match="coupling"):
        everywhere(random_logits(1), PairwiseRepetitionPenalty(1.0, True, 1))


def test_each_distance_looks_for_its_repeats_in_the_source(tmp_path):
    settings = {"joint": "neighbours", "joint_reach": 2}
    refiner = tiny_translator(tmp_path, "padir", 1, LengthRule(), **settings).refiner
    _, may_repeat = refiner.draws_and_repeats([[9, 8, 9], [9, 9, 7], [9, 8, 7]], 4)
    assert may_repeat.tolist() == [[False, True], [True, True], [False, False], [False, False]]
