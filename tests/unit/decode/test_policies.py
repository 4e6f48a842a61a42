"""Start tokens, and which positions the policies choose, by hand."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from padir.config.decoder import RefinementDecoder
from padir.decode.policies import (
    REMASKS,
    PassView,
    constant_count,
    constant_share,
    coupled_remask,
    critic_remask,
    decaying_schedule,
    least_confident_share,
    mask_start,
    position_mask_start,
    random_share,
    random_start,
    stop_confident,
    stutter_remask,
    weaker_stutter_remask,
)
from padir.ids import FIRST_PIECE, MASK


def test_random_start_is_a_function_of_seed_sentence_candidate_and_position():
    start = partial(random_start, 3, 50)
    five = start([9, 10, 11], 5, 30)
    np.testing.assert_array_equal(five[:2], start([9, 10, 11], 2, 30))
    assert not np.array_equal(five[0], five[1])
    assert not np.array_equal(five, start([9, 10, 12], 5, 30))
    assert not np.array_equal(five, random_start(4, 50, [9, 10, 11], 5, 30))


def test_random_start_holds_these_tokens():
    """Recorded from this function; a change of the draw changes every PaDIR output."""
    drawn = random_start(0, 1000, [8, 9], 1, 6)
    assert drawn.tolist() == [[108, 888, 915, 415, 276, 965]]


def test_random_start_is_uniform_over_pieces():
    """Counts of 40 pieces in 40,000 draws: chi-square within 5 standard deviations of its mean."""
    draws = np.concatenate([random_start(0, 48, [8 + i], 4, 100).ravel() for i in range(100)])
    counts = np.bincount(draws, minlength=48)
    assert counts[:FIRST_PIECE].sum() == 0
    chi_square = float(((counts[FIRST_PIECE:] - 1000.0) ** 2 / 1000.0).sum())
    assert abs(chi_square - 39) < 5 * np.sqrt(2 * 39)


def test_decoding_from_masks_starts_with_masks_alone():
    assert mask_start(0, 50, [9], 2, 3).tolist() == [[MASK] * 3] * 2


def test_position_masks_are_rows_past_the_vocabulary():
    assert position_mask_start(0, 50, [9], 2, 3).tolist() == [[50, 51, 52]] * 2


def seen(tokens, pieces, scores=None, done=0, passes=4, critic=None, chance=None):
    """A view of a pass; what is not named is zero."""
    tokens = jnp.asarray(tokens, jnp.int32)
    zeros = jnp.zeros(tokens.shape)
    return PassView(
        inputs=tokens,
        hidden=jnp.asarray(pieces, bool),
        tokens=tokens,
        log_probability=zeros if scores is None else jnp.asarray(scores, jnp.float32),
        critic_probability=zeros if critic is None else jnp.asarray(critic, jnp.float32),
        is_piece=jnp.asarray(pieces, bool),
        passes_done=jnp.int32(done),
        passes=jnp.int32(passes),
        chance=zeros if chance is None else jnp.asarray(chance, jnp.float32),
    )


def test_stutter_is_not_circular_and_keeps_the_first_of_a_run():
    tokens = [[9, 9, 9, 10, 9, 1, 0, 0], [9, 10, 10, 11, 10, 12, 10, 9]]
    pieces = [[True] * 5 + [False] * 3, [True] * 8]
    hidden = stutter_remask(seen(tokens, pieces))
    # Position 0 equals the last piece of its row, and padding repeats: neither is stutter.
    assert np.flatnonzero(hidden[0]).tolist() == [1, 2]
    assert np.flatnonzero(hidden[1]).tolist() == [2]


TEN = ([[9] * 10], [[True] * 10], [[-1, -5, -2, -9, -3, -3, -8, -4, -7, -6]])


def test_linear_and_cosine_numbers_by_hand():
    """Of ten pieces after passes 1 to 4 of 4: 7, 5, 2, 0 and 9, 7, 3, 0, the least probable."""
    for cosine, numbers in ((False, [7, 5, 2, 0]), (True, [9, 7, 3, 0])):
        for done, number in enumerate(numbers):
            hidden = decaying_schedule(seen(*TEN, done=done), cosine)[0]
            assert set(np.flatnonzero(hidden)) == set(np.argsort(TEN[2][0], kind="stable")[:number])


def test_a_share_that_rounding_makes_too_small_counts_whole():
    # In float32, ten times 1 - 4 / 5 is less than 2.
    assert decaying_schedule(seen(*TEN, done=3, passes=5), False).sum() == 2
    assert decaying_schedule(seen(*TEN, done=4, passes=5), False).sum() == 0


def test_shares_by_hand():
    worst = [3, 6, 8]
    assert sorted(np.flatnonzero(constant_share(seen(*TEN), 0.3)[0])) == worst
    assert sorted(np.flatnonzero(constant_count(seen(*TEN), 3)[0])) == worst
    assert constant_count(seen(*TEN), 99)[0].sum() == len(TEN[2][0])
    assert sorted(np.flatnonzero(least_confident_share(seen(*TEN, done=1), 0.3)[0])) == worst
    assert np.all(least_confident_share(seen(*TEN, done=0), 0.3))
    chance = [[0.1, 0.5] * 5]
    assert np.flatnonzero(random_share(seen(*TEN, done=1, chance=chance), 0.2)[0]).tolist() == [
        *(0, 2, 4, 6, 8)
    ]


def test_critic_remasks_tokens_that_it_rejects():
    view = seen([[9, 9, 1]], [[True, True, False]], critic=[[0.4, 0.5, 0.1]])
    np.testing.assert_array_equal(critic_remask(view), [[True, False, False]])


def test_weaker_stutter_remasks_the_less_confident_of_two_equal_neighbours():
    view = seen(
        [[9, 9, 10, 10, 11, 11, 1, 0]],
        [[True, True, True, True, False, True, False, False]],
        scores=[[-2.0, -1.0, -1.0, -1.0, 0.0, -5.0, 0.0, 0.0]],
    )
    # The left one is less sure; of equals the right one goes; a given token is no part of a pair.
    assert np.flatnonzero(weaker_stutter_remask(view)[0]).tolist() == [0, 3]


def test_weaker_stutter_keeps_the_most_confident_tokens_of_a_run():
    view = seen([[9, 9, 9, 1]], [[True] * 3 + [False]], scores=[[-2.0, -1.0, -3.0, 0.0]])
    assert np.flatnonzero(weaker_stutter_remask(view)[0]).tolist() == [0, 2]


def test_coupled_remasks_the_less_confident_of_coupled_neighbours():
    coupling = jnp.array([[0.9, 0.6, 0.59, 1.0, 1.0]])
    view = seen([[9, 10, 11, 12, 1]], [[True] * 4 + [False]], scores=[[-2.0, -1.0, -3.0, -4.0, 0]])
    hidden = coupled_remask(view._replace(coupling=coupling), 0.6)
    # No position has a left neighbour at 0, nor a partner in EOS.
    assert np.flatnonzero(hidden[0]).tolist() == [0, 3]
    with pytest.raises(ValueError, match="coupling"):
        coupled_remask(view, 0.6)


@pytest.mark.parametrize(
    ("scores", "hidden"),
    [
        ([-1.0, -2.0, -3.0, -4.0], [3]),
        ([-4.0, -3.0, -2.0, -1.0], [0]),
        ([-2.0, -1.0, -3.0, -2.5], [0, 2]),
        ([-1.0, -1.0, -1.0, -1.0], [3]),
    ],
)
def test_coupled_never_remasks_two_neighbours(scores, hidden):
    view = seen([[9, 10, 11, 12, 1]], [[True] * 4 + [False]], scores=[[*scores, 0.0]])
    remasked = coupled_remask(view._replace(coupling=jnp.ones((1, 5))), 0.6)
    assert np.flatnonzero(remasked[0]).tolist() == hidden


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_coupled_remasks_at_least_one_position_of_each_run(data):
    length = data.draw(st.integers(1, 12))
    draws = st.lists(st.sampled_from([-3.0, -2.0, -1.0]), min_size=length, max_size=length)
    flags = st.lists(st.booleans(), min_size=length, max_size=length)
    coupled, predicted = np.array(data.draw(flags)), np.array(data.draw(flags))
    view = seen([[9] * length], predicted[None], scores=[data.draw(draws)])
    remasked = coupled_remask(view._replace(coupling=jnp.asarray(coupled[None], jnp.float32)), 0.6)
    gone = np.flatnonzero(remasked[0])
    pairs = [i for i in range(1, length) if coupled[i] and predicted[i] and predicted[i - 1]]
    assert not any(i in gone and i - 1 in gone for i in pairs)
    runs: list[set[int]] = []
    for i in pairs:
        if runs and i - 1 in runs[-1]:
            runs[-1].add(i)
        else:
            runs.append({i - 1, i})
    assert all(run & set(gone) for run in runs)
    assert set(gone) <= set().union(*runs)


CHANGING = {"hidden", "passes_done", "passes", "chance"}
"""Of a view: may differ between two passes that read the same input."""


def read_by(policy):
    """Names of the view's fields that a policy's choice is computed from."""
    view = seen([[9, 9, 10, 1]], [[True] * 3 + [False]])._replace(coupling=jnp.ones((1, 4)))
    program = jax.make_jaxpr(policy)(view).jaxpr
    read = {id(part) for step in program.eqns for part in step.invars} | {*map(id, program.outvars)}
    given = [name for name, value in view._asdict().items() if value is not None]
    return {name for name, part in zip(given, program.invars, strict=True) if id(part) in read}


@pytest.mark.parametrize("name", REMASKS)
def test_a_choice_that_changes_from_pass_to_pass_is_refused_with_stop_unchanged(name):
    """`changing` of padir/config/decoder.py names it: the next pass need not repeat the last."""
    policy = REMASKS[name](RefinementDecoder(remask=name, stop="fixed"))
    try:
        RefinementDecoder(remask=name, stop="unchanged")
    except ValidationError as error:
        assert f"with remask: {name} it need not" in str(error)
        assert read_by(policy) & CHANGING
    else:
        assert not read_by(policy) & CHANGING


@pytest.mark.parametrize(
    ("policy", "read"),
    [
        (lambda view: view.log_probability < -0.1 * view.passes_done, "passes_done"),
        (lambda view: stutter_remask(view) & (view.passes_done < 5), "passes_done"),
        (lambda view: view.critic_probability * (1 - 1 / view.passes) > 1, "passes"),
        (lambda view: view.chance < 0, "chance"),
        (lambda view: ~view.hidden, "hidden"),
        (lambda view: view.hidden, "hidden"),
    ],
)
def test_what_a_choice_is_computed_from_does_not_depend_on_the_numbers_of_a_view(policy, read):
    assert read_by(policy) & CHANGING == {read}


def test_confidence_stop_needs_every_token():
    tokens = jnp.zeros((2, 3), jnp.int32)
    scores = jnp.log(jnp.asarray([[0.95, 0.91, 1.0], [0.95, 0.89, 1.0]]))
    np.testing.assert_array_equal(stop_confident(tokens, tokens, scores, 0.9), [True, False])
    # "At least": certain tokens, such as given ones, are enough for 1.
    assert np.all(stop_confident(tokens, tokens, jnp.zeros((2, 3)), 1.0))
