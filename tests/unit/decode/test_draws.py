"""Draws from a model's distribution: as often as they should be, and the sentence's own."""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.config.decoder import RefinementDecoder
from padir.decode.predict import (
    REMASK_DRAW,
    UPDATE_DRAW,
    chances,
    choose,
    position_keys,
    restricted,
    uniform,
)
from padir.decode.refine import Prediction, refine
from padir.decode.refiner import policies_of

ALLOWED = np.arange(12) >= 8
LOGITS = np.array([0, 0, 0, 0, 0, 0, 0, 50.0, 1.0, 0.0, 2.0, -1.0], np.float32)


def keys(rows: int, length: int, done: int = 0) -> jax.Array:
    raw = np.random.default_rng(0).integers(0, 2**32, (rows, 2)).astype(np.uint32)
    return position_keys(jnp.asarray(raw), jnp.int32(done), length)


def drawn(**settings) -> tuple[np.ndarray, np.ndarray]:
    logits = jnp.broadcast_to(jnp.asarray(LOGITS), (300, 40, 12))
    token, score = choose(
        logits, ALLOWED, keys(300, 40), RefinementDecoder(stop="fixed", **settings)
    )
    return np.asarray(token).ravel(), np.asarray(score).ravel()


def test_draws_follow_the_tempered_distribution_and_score_the_plain_one():
    token, score = drawn(temperature=0.5)
    share = np.bincount(token, minlength=12) / len(token)
    expected = np.where(ALLOWED, np.exp(LOGITS / 0.5), 0)
    expected /= expected.sum()
    # 12,000 draws: five standard errors.
    assert np.all(np.abs(share - expected) <= 5 * np.sqrt(expected * (1 - expected) / 12_000))
    plain = np.where(ALLOWED, LOGITS, -np.inf)
    plain -= np.log(np.exp(plain).sum())
    np.testing.assert_allclose(score, plain[token], atol=1e-5)


def test_top_k_and_top_p_leave_the_rest_out():
    assert set(drawn(temperature=1.0, top_k=2)[0]) == {8, 10}
    # Probabilities .64, .24, .09, .03: the least sets that hold .6, .7 and .9.
    for top_p, kept in ((0.6, {10}), (0.7, {10, 8}), (0.9, {10, 8, 9})):
        assert set(drawn(temperature=1.0, top_p=top_p)[0]) == kept


def test_restricted_keeps_equals_of_the_last():
    logits = restricted(jnp.asarray([[1.0, 1.0, 0.0, 1.0]]), 2, 1.0)
    np.testing.assert_array_equal(np.isfinite(logits), [[True, True, False, True]])


def test_a_draw_depends_on_row_pass_and_position_alone():
    logits = jnp.asarray(np.random.default_rng(1).normal(size=(5, 9, 12)), jnp.float32)
    settings = RefinementDecoder(temperature=1.0, stop="fixed")
    whole = choose(logits, ALLOWED, keys(5, 9), settings)[0]
    part = choose(logits[:, :4], ALLOWED, keys(5, 4), settings)[0]
    np.testing.assert_array_equal(whole[:, :4], part)
    later = choose(logits, ALLOWED, keys(5, 9, done=1), settings)[0]
    assert np.any(np.asarray(whole) != np.asarray(later))


def updated_and_remasked(keys):
    return (chances(keys, number) for number in (UPDATE_DRAW, REMASK_DRAW))


def test_what_a_position_draws_in_a_pass_is_independent():
    """12,000 pairs of numbers: their correlation, and the means of one over halves of the other."""
    here = keys(300, 40)
    draws = [np.asarray(part).ravel() for part in (uniform(here), *updated_and_remasked(here))]
    for other, ours in combinations(draws, 2):
        assert ours.min() >= 0 and ours.max() < 1
        assert abs(np.corrcoef(ours, other)[0, 1]) < 5 / 12_000**0.5
        for half in (other < 0.5, other >= 0.5):
            assert abs(ours[half].mean() - 0.5) < 5 * (1 / 12 / half.sum()) ** 0.5
    for part, whole in zip(updated_and_remasked(keys(300, 7)), draws[1:], strict=True):
        np.testing.assert_array_equal(part, whole.reshape(300, 40)[:, :7])


@pytest.mark.parametrize("passes", [1, 2, 4, 10])
def test_tokens_that_a_random_share_takes_are_drawn_like_all_others(passes):
    """Four equally likely tokens stay so, however often positions take a new one or keep theirs."""
    settings = RefinementDecoder(
        remask="none", temperature=1.0, update="share", update_share=0.7, stop="fixed"
    )
    logits = jnp.where(jnp.asarray(ALLOWED), 0.0, -50.0)

    def predict(tokens, visible, keys):
        spread = jnp.broadcast_to(logits, (*tokens.shape, 12))
        token, score = choose(spread, ALLOWED, keys, settings)
        return Prediction(token, score, jnp.ones(score.shape))

    state = refine(
        predict,
        jnp.full((1000, 11), 8, jnp.int32),
        jnp.full(1000, 11, jnp.int32),
        jnp.int32(passes),
        policies_of(settings),
        jnp.asarray(np.random.default_rng(0).integers(0, 2**32, (1000, 2)), jnp.uint32),
    )
    share = np.bincount(np.asarray(state.tokens[:, :10]).ravel(), minlength=12)[8:] / 10_000
    # 10,000 positions: five standard errors.
    assert np.all(np.abs(share - 0.25) < 5 * (0.25 * 0.75 / 10_000) ** 0.5), share
