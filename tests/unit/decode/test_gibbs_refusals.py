"""The tokens with which k-Gibbs hides positions; numbers and models that it refuses."""

import jax
import numpy as np
import pytest

from padir.decode.gibbs import Sampler, Sampling, hiding_tokens
from padir.decode.policies import mask_start, position_mask_start
from padir.files import InputError
from padir.ids import FIRST_PIECE
from tests.decoding import tiny_model


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"steps": 0}, "steps is 0: allowed are 1 and more"),
        ({"block": 0}, "block is 0"),
        ({"energy_every": 0}, "energy_every is 0"),
        ({"temperature": 0.0}, r"temperature is 0\.0: allowed are numbers from 1e-06 to 1,000,000"),
        ({"final_temperature": float("nan")}, "final_temperature is nan"),
    ],
)
def test_numbers_out_of_range_are_refused(changed, message):
    with pytest.raises(InputError, match=message):
        Sampling(**{"steps": 3} | changed)


def test_positions_are_hidden_as_in_decoding_and_training():
    keys = jax.random.split(jax.random.key(0, impl="threefry2x32"), 40)
    for kind, start in (("mask", mask_start), ("position_mask", position_mask_start)):
        np.testing.assert_array_equal(hiding_tokens(kind, 20, keys, 30), start(0, 20, [], 40, 30))
    pieces = np.asarray(hiding_tokens("random", 20, keys, 30))
    assert set(np.unique(pieces)) == set(range(FIRST_PIECE, 20))
    # Whatever stands beside it, and however long the row is.
    np.testing.assert_array_equal(hiding_tokens("random", 20, keys[3:5], 7), pieces[3:5, :7])
    assert len(np.unique(pieces, axis=0)) == 40 and len(np.unique(pieces, axis=1).T) == 30


def test_a_filler_that_it_does_not_know_is_refused():
    keys = jax.random.split(jax.random.key(0, impl="threefry2x32"), 2)
    with pytest.raises(InputError, match=r"^k-Gibbs hides by mask, .*: corruption is own_mask$"):
        hiding_tokens("own_mask", 20, keys, 3)


def test_models_and_numbers_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(InputError, match="needs a parallel system, not ar"):
        Sampler(tiny_model(tmp_path / "ar", "ar"), Sampling(3), 0)
    loaded = tiny_model(tmp_path / "padir", "padir")
    with pytest.raises(InputError, match="0 chains: allowed are 1 and more"):
        Sampler(loaded, Sampling(3), 0, 0)


def test_chains_run_in_groups_of_whole_sentences(tmp_path):
    loaded = tiny_model(tmp_path / "padir", "padir")
    for chains, sentences, together in ((1, 2, 2), (8, 64, 4), (9, 64, 3), (32, 64, 1), (40, 2, 1)):
        sampler = Sampler(loaded, Sampling(3), 0, chains, sentences)
        assert sampler._compiled.sentences == together


def test_a_model_that_predicts_no_length_has_no_chains(tmp_path):
    loaded = tiny_model(tmp_path / "padir", "padir")
    loaded.model.length_oracle = True
    with pytest.raises(InputError, match="length_predictor oracle predicts no length for chains"):
        Sampler(loaded, Sampling(3), 0)
