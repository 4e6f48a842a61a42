"""Draws from a model's distribution: as often as they should be, and the sentence's own."""

import jax
import jax.numpy as jnp
import numpy as np

from padir.config.decoding import Decoding
from padir.decode.choose import choose, position_keys, restricted

ALLOWED = np.arange(12) >= 8
LOGITS = np.array([0, 0, 0, 0, 0, 0, 0, 50.0, 1.0, 0.0, 2.0, -1.0], np.float32)


def keys(rows: int, length: int, done: int = 0) -> jax.Array:
    raw = np.random.default_rng(0).integers(0, 2**32, (rows, 2)).astype(np.uint32)
    return position_keys(jnp.asarray(raw), jnp.int32(done), length)


def drawn(**settings) -> tuple[np.ndarray, np.ndarray]:
    logits = jnp.broadcast_to(jnp.asarray(LOGITS), (300, 40, 12))
    token, score = choose(logits, ALLOWED, keys(300, 40), Decoding(stop="fixed", **settings))
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
    found = restricted(jnp.asarray([[1.0, 1.0, 0.0, 1.0]]), 2, 1.0)
    np.testing.assert_array_equal(np.isfinite(found), [[True, True, False, True]])


def test_a_draw_depends_on_row_pass_and_position_alone():
    logits = jnp.asarray(np.random.default_rng(1).normal(size=(5, 9, 12)), jnp.float32)
    settings = Decoding(temperature=1.0, stop="fixed")
    whole = choose(logits, ALLOWED, keys(5, 9), settings)[0]
    part = choose(logits[:, :4], ALLOWED, keys(5, 4), settings)[0]
    np.testing.assert_array_equal(whole[:, :4], part)
    later = choose(logits, ALLOWED, keys(5, 9, done=1), settings)[0]
    assert np.any(np.asarray(whole) != np.asarray(later))
