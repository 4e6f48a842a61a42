"""Remasking against the published code's masks; where ours departs on purpose, the test says how.

docs/departures.md names the departures: no circular stutter (D21), the number of the linear
schedule counts pieces without EOS and may be zero, ties go to the leftmost (D27).
"""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode.candidates import length_penalty
from padir.tokens import lowest, stutters
from tests.parity.golden import FIXTURES

DATA = dict(np.load(FIXTURES / "rejecters.npz"))
CASES = json.loads((FIXTURES / "remasking.json").read_text())
PROBABILITY = np.asarray(jax.nn.softmax(jnp.asarray(DATA["in/decoder_logits"])).max(-1))
SETS = ("unmasked", "masked", "stutter")
STEPS = [(passes, step) for passes in (1, 2, 4, 8) for step in range(passes)]


def published_remasking(key: str, tokens: np.ndarray) -> np.ndarray:
    return (DATA[key] == 0) & (tokens != 0)


def same_choice(ours: jax.Array, theirs: np.ndarray, scores: np.ndarray, real: np.ndarray) -> int:
    """Compare row by row; among equal scores the published code takes all, ours as many as asked.

    Returns:
        the number of rows without equal scores, where the choices are the same.
    """
    exact = 0
    for our_row, their_row, row, mask in zip(np.asarray(ours), theirs, scores, real, strict=True):
        # Rows with nothing to look at give equal scores up to rounding.
        if len(set(np.round(row[mask], 6))) == mask.sum():
            np.testing.assert_array_equal(our_row, their_row)
            exact += 1
        else:
            assert not np.any(our_row & ~their_row)
    return exact


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("passes", "step"), STEPS)
def test_linear_schedule_hides_the_same_tokens(name, passes, step):
    """With the published number - EOS counted, one at least - our choice is the published one."""
    tokens = DATA[f"in/output_tokens_{name}"]
    real = tokens != 0
    count = np.maximum(real.sum(1) * (passes - step - 1) // passes, 1)
    ours = lowest(jnp.asarray(PROBABILITY), jnp.asarray(real), jnp.asarray(count))
    theirs = published_remasking(f"linear/T{passes}/step{step}/{name}", tokens)
    assert same_choice(ours, theirs, PROBABILITY, real) >= 1


@pytest.mark.parametrize("name", SETS)
def test_constant_numbers_hide_the_same_tokens(name):
    tokens = DATA[f"in/output_tokens_{name}"]
    real = tokens != 0
    scores, real_array = jnp.asarray(PROBABILITY), jnp.asarray(real)
    for key, count in (("k3", np.full(3, 3)), ("percent30", real.sum(1) * 30 // 100)):
        ours = lowest(scores, real_array, jnp.asarray(np.maximum(count, 1)))
        theirs = published_remasking(f"constant_{key}/{name}", tokens)
        assert same_choice(ours, theirs, PROBABILITY, real) >= 1


@pytest.mark.parametrize("name", SETS)
def test_stutter_equals_the_published_mask_but_at_the_first_position(name):
    tokens = DATA[f"in/output_tokens_{name}"]
    ours = np.asarray(stutters(jnp.asarray(tokens)))
    theirs = published_remasking(f"stutter/{name}", tokens)
    np.testing.assert_array_equal(ours[:, 1:], theirs[:, 1:])
    assert not ours[:, 0].any()


def test_stutter_masks_by_hand():
    for case in CASES["stutter_mask"]:
        ours = np.asarray(stutters(jnp.asarray([case["tokens"]], jnp.int32)))[0]
        np.testing.assert_array_equal(ours[1:], np.asarray(case["mask"][1:], bool))


def test_the_lowest_scores_are_those_of_the_published_mask():
    for case in CASES["lowest_scores_mask"]:
        scores = np.asarray(case["scores"], np.float32)
        eligible = np.asarray(case["padding_mask"], bool)
        count = np.maximum(np.broadcast_to(case["num_to_mask"], len(scores)), 1)
        ours = lowest(jnp.asarray(scores), jnp.asarray(eligible), jnp.asarray(count))
        same_choice(ours, np.asarray(case["mask"], bool), scores, eligible)


def test_length_penalty_equals_the_published_values():
    for case in CASES["brevity_penalty"]:
        ours = length_penalty(case["length"], case["alpha"])
        assert ours == pytest.approx(case["value"], rel=1e-6)
