"""Length candidates: distinct, in range, likeliest first."""

import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode.lengths import length_candidates


def test_length_one_and_lengths_too_long_are_never_tried():
    logits = jnp.array([[9.0, 1, 3, 2, 8, 8]])
    lengths, scores = length_candidates(logits, 3, 4)
    assert lengths.tolist() == [[3, 4, 2]]
    expected = np.array([3.0, 2, 1]) - np.log(np.exp([1, 3, 2]).sum())
    np.testing.assert_allclose(scores[0], expected, atol=1e-6)


def test_ties_go_to_the_shorter():
    assert length_candidates(jnp.zeros((1, 6)), 3, 6)[0].tolist() == [[2, 3, 4]]


def test_more_candidates_than_lengths_are_refused():
    with pytest.raises(ValueError, match="7 asked, at most 6"):
        length_candidates(jnp.zeros((1, 6)), 7, 6)
