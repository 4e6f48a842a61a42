"""Choosing tokens from logits: masks, ties, exactness of the grouped top-k."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode.predict import most_likely, predictable, top_tokens
from padir.ids import EOS, FIRST_PIECE
from padir.training.objective import best_pieces


def test_special_ids_and_rows_past_the_vocabulary_are_never_predicted():
    allowed = predictable(14, 11, eos=False)
    assert np.flatnonzero(allowed).tolist() == [8, 9, 10]
    assert np.flatnonzero(predictable(14, 11, eos=True)).tolist() == [EOS, 8, 9, 10]


def test_the_likeliest_allowed_token_wins_and_ties_go_to_the_first():
    logits = jnp.array([[9.0, 9, 9, 9, 9, 9, 9, 9, 1, 3, 3, 50]])
    token, score = most_likely(logits, predictable(12, 11, eos=False))
    assert int(token[0]) == 9  # the first of the tie at 9 and 10, not 11 with its 50
    assert float(score[0]) == pytest.approx(3 - np.log(np.exp(1) + 2 * np.exp(3)), abs=1e-6)


def test_most_likely_equals_argmax_and_log_softmax():
    logits = jax.random.normal(jax.random.key(0), (3, 5, 40))
    token, score = most_likely(logits, predictable(40, 40, eos=False))
    expected = jax.nn.log_softmax(logits[..., FIRST_PIECE:])
    np.testing.assert_array_equal(token, expected.argmax(-1) + FIRST_PIECE)
    np.testing.assert_allclose(score, expected.max(-1), atol=1e-6)


def test_training_stages_and_decoding_passes_choose_the_same_tokens():
    logits = jnp.asarray(np.random.default_rng(0).integers(0, 4, (6, 7, 40)), jnp.float32)
    token, _ = most_likely(logits, predictable(40, 33, eos=False))
    np.testing.assert_array_equal(token, best_pieces(logits, 33))


@pytest.mark.parametrize("levels", [3, 50, 10_000])
def test_top_tokens_equals_top_k(levels):
    """Few levels make many ties, within groups and between them."""
    random = np.random.default_rng(levels)
    logits = random.integers(0, levels, (6, 1000)).astype(np.float32)
    values, ids = top_tokens(jnp.asarray(logits), 6)
    expected_values, expected_ids = jax.lax.top_k(jnp.asarray(logits), 6)
    np.testing.assert_array_equal(values, expected_values)
    np.testing.assert_array_equal(ids, expected_ids)


def test_top_tokens_takes_the_lowest_id_of_a_tie_between_groups():
    logits = np.zeros((1, 1000), np.float32)
    logits[0, [70, 300]] = 5.0  # the tie
    logits[0, [71, 301]] = 9.0, 10.0  # the later group comes first by its maximum
    values, ids = top_tokens(jnp.asarray(logits), 3)
    assert ids.tolist() == [[301, 71, 70]]
    assert values.tolist() == [[10.0, 9.0, 5.0]]
