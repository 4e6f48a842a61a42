"""Start tokens and stutter."""

import jax.numpy as jnp
import numpy as np

from padir.decode.policies import MaskStart, PassView, RandomStart, StutterRemask
from padir.ids import FIRST_PIECE, MASK


def test_random_start_is_a_function_of_seed_sentence_candidate_and_position():
    start = RandomStart(seed=3, vocabulary_size=50)
    five = start.tokens([9, 10, 11], 5, 30)
    np.testing.assert_array_equal(five[:2], start.tokens([9, 10, 11], 2, 30))
    assert not np.array_equal(five[0], five[1])
    assert not np.array_equal(five, start.tokens([9, 10, 12], 5, 30))
    assert not np.array_equal(five, RandomStart(4, 50).tokens([9, 10, 11], 5, 30))


def test_random_start_holds_these_tokens():
    """Recorded from this function; a change of the draw changes every PaDIR output."""
    drawn = RandomStart(seed=0, vocabulary_size=1000).tokens([8, 9], 1, 6)
    assert drawn.tolist() == [[108, 888, 915, 415, 276, 965]]


def test_random_start_is_uniform_over_pieces():
    """Counts of 40 pieces in 40,000 draws: chi-square within 5 standard deviations of its mean."""
    draws = np.concatenate([RandomStart(0, 48).tokens([8 + i], 4, 100).ravel() for i in range(100)])
    counts = np.bincount(draws, minlength=48)
    assert counts[:FIRST_PIECE].sum() == 0
    chi_square = float(((counts[FIRST_PIECE:] - 1000.0) ** 2 / 1000.0).sum())
    assert abs(chi_square - 39) < 5 * np.sqrt(2 * 39)


def test_mask_start():
    assert MaskStart(0, 50).tokens([9], 2, 3).tolist() == [[MASK] * 3] * 2


def test_stutter_is_not_circular_and_keeps_the_first_of_a_run():
    predicted = jnp.array([[9, 9, 9, 10, 9, 1, 0, 0], [9, 10, 10, 11, 10, 12, 10, 9]])
    pieces = jnp.array([[True] * 5 + [False] * 3, [True] * 8])
    view = PassView(predicted, jnp.zeros((2, 8)), pieces, jnp.int32(0), jnp.int32(2))
    hidden = StutterRemask()(view)
    # Position 0 equals the last piece of its row, and padding repeats: neither is stutter.
    assert np.flatnonzero(hidden[0]).tolist() == [1, 2]
    assert np.flatnonzero(hidden[1]).tolist() == [2]
