"""A pass's tokens chosen together: against every sequence over the whole vocabulary."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode.joint import CANDIDATES, Candidates, Neighbours, best_chain, likeliest, overlap

VOCABULARY, LENGTH = 5, 5
SEQUENCES = np.array(list(itertools.product(range(VOCABULARY), repeat=LENGTH)))


def random_logits(rows, seed=0):
    return np.random.default_rng(seed).normal(0, 2, (rows, LENGTH, VOCABULARY)).astype(np.float32)


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def worth(log_probability, cost, sequences):
    """Of each sequence: its log-probability less the costs of its equal neighbours."""
    own = log_probability[np.arange(LENGTH), sequences].sum(axis=1)
    equal = sequences[:, 1:] == sequences[:, :-1]
    return own - (equal * cost[1:]).sum(axis=1)


@pytest.mark.parametrize("kept_share", [0.0, 0.4])
@pytest.mark.parametrize("cost", [0.5, 1.0, 5.0, 100.0])
def test_the_best_of_all_sequences_is_found(cost, kept_share):
    """Three tokens a position are enough, whatever the costs of the pairs."""
    random = np.random.default_rng(1)
    logits = random_logits(200)
    coupling = random.random((200, LENGTH)).astype(np.float32)
    taken = random.random((200, LENGTH)) >= kept_share
    kept = random.integers(0, VOCABULARY, (200, LENGTH)).astype(np.int32)
    tokens, scores = Neighbours(cost, coupled=True)(
        likeliest(jnp.asarray(logits)),
        jnp.asarray(kept),
        jnp.asarray(taken),
        jnp.asarray(coupling),
    )
    log_probability = log_softmax(logits)
    differs = 0
    for row in range(200):
        own = np.where(taken[row][:, None], log_probability[row], 0.0)
        possible = SEQUENCES[np.all(taken[row] | (kept[row] == SEQUENCES), axis=1)]
        every = worth(own, cost * coupling[row], possible)
        best = possible[np.argmax(every)]
        np.testing.assert_array_equal(tokens[row], best)
        np.testing.assert_allclose(scores[row], own[np.arange(LENGTH), best], atol=1e-5)
        differs += not np.array_equal(best, np.where(taken[row], own.argmax(axis=1), kept[row]))
    assert differs > 5  # the costs decide something


def test_two_candidates_would_not_be_enough():
    """Between two neighbours that hold its first and second choice a position takes its third."""
    scores = jnp.log(jnp.array([[[0.98, 0.01, 0.01], [0.5, 0.3, 0.2], [0.98, 0.01, 0.01]]]))
    tokens = jnp.array([[[0, 1, 2], [0, 1, 2], [1, 0, 2]]])
    found, _ = best_chain(Candidates(tokens, scores), jnp.full((1, 3), 50.0))
    assert found.tolist() == [[0, 2, 1]]


def test_likeliest_are_the_first_of_a_sort():
    logits = random_logits(7)
    logits[0, 0, 2] = -np.inf
    found = likeliest(jnp.asarray(logits))
    order = np.argsort(-logits, axis=-1, kind="stable")[..., :CANDIDATES]
    np.testing.assert_array_equal(found.tokens, order)
    expected = np.take_along_axis(log_softmax(logits), order, axis=-1)
    np.testing.assert_allclose(found.log_probability, expected, atol=1e-5)


def test_without_equal_neighbours_every_position_has_its_likeliest_token():
    logits = np.full((1, LENGTH, VOCABULARY), 0.0, np.float32)
    logits[0, np.arange(LENGTH), [0, 1, 0, 1, 0]] = 1e-3  # hardly any surer
    taken, kept = jnp.ones((1, LENGTH), bool), jnp.zeros((1, LENGTH), jnp.int32)
    tokens, _ = Neighbours(100.0, coupled=False)(likeliest(jnp.asarray(logits)), kept, taken)
    assert tokens.tolist() == [[0, 1, 0, 1, 0]]


def test_rows_that_may_repeat_are_left_alone():
    logits = np.zeros((2, LENGTH, VOCABULARY), np.float32)
    logits[..., 3] = 2.0
    taken, kept = jnp.ones((2, LENGTH), bool), jnp.zeros((2, LENGTH), jnp.int32)
    tokens, _ = Neighbours(9.0, coupled=False)(
        likeliest(jnp.asarray(logits)), kept, taken, None, jnp.array([True, False])
    )
    assert tokens[0].tolist() == [3] * LENGTH
    assert not np.any(np.asarray(tokens[1, 1:]) == np.asarray(tokens[1, :-1]))


def test_overlap_is_one_less_total_variation():
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.ones(4), (3, 6)).astype(np.float32)
    weights[0, 2] = weights[0, 1]
    found = overlap(jnp.asarray(weights))
    distance = 0.5 * np.abs(weights[:, 1:] - weights[:, :-1]).sum(axis=-1)
    np.testing.assert_allclose(found[:, 1:], 1 - distance, atol=1e-6)
    assert np.all(np.asarray(found[:, 0]) == 0)
    assert float(found[0, 2]) == pytest.approx(1)


def test_costs_that_follow_the_coupling_need_it():
    candidates = likeliest(jnp.asarray(random_logits(1)))
    taken, kept = jnp.ones((1, LENGTH), bool), jnp.zeros((1, LENGTH), jnp.int32)
    with pytest.raises(ValueError, match="coupling"):
        Neighbours(1.0, coupled=True)(candidates, kept, taken)
