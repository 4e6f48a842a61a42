"""Length candidates: distinct, in range, likeliest first."""

import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode.candidates import LengthRule
from padir.decode.lengths import length_candidates
from tests.decoding import tiny_translator


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


def test_lengths_of_references_are_those_that_the_model_can_write(tmp_path):
    refiner = tiny_translator(tmp_path, "padir", 1, LengthRule(), restarts=2).refiner
    sources = [[8, 9], [9, 8], [9, 9]]
    ((_, hypotheses, scores),) = refiner.initial(sources, 1, lengths=[1, 99, 5])
    # An empty reference, one that is too long, one that fits, and a row that fills the batch up.
    assert hypotheses.lengths.tolist() == [[2, 2], [12, 12], [5, 5], [1, 1]]
    assert scores.tolist() == [[0.0, 0.0]] * 4
