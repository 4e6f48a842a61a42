"""What k-Gibbs refuses: numbers out of range, models that do not fit."""

import jax
import pytest

from padir.decode.gibbs import Sampler, Sampling, hiding_tokens
from padir.files import InputError
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
