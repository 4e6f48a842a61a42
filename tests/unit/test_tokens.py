"""Draws against plain inversion of the cumulative distribution."""

import jax.numpy as jnp
import numpy as np
import pytest

from padir.tokens import draw


@pytest.mark.parametrize("size", [1, 2, 7, 64, 65, 993, 5000])
def test_it_inverts_the_cumulative_distribution(size):
    rng = np.random.default_rng(size)
    logits = (4 * rng.normal(size=(2000, size))).astype(np.float32)
    uniform = rng.random(2000).astype(np.float32)
    drawn = np.asarray(draw(jnp.asarray(logits), jnp.asarray(uniform)))
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    mass = np.cumsum(weights, axis=-1) / weights.sum(axis=-1, keepdims=True)
    level = 1 - uniform.astype(np.float64)
    # The first entry at which the cumulative weight reaches the level.
    expected = np.array(
        [np.flatnonzero(row >= threshold)[0] for row, threshold in zip(mass, level, strict=True)]
    )
    different = np.flatnonzero(drawn != expected)
    assert len(different) < 10
    # Levels within a rounding of an edge may fall on its other side.
    edge = mass[different, np.minimum(drawn, expected)[different]]
    np.testing.assert_allclose(edge, level[different], atol=1e-5)


def test_tokens_of_probability_zero_are_never_drawn():
    rng = np.random.default_rng(0)
    logits = np.full((4000, 300), -np.inf, np.float32)
    kept = rng.random(logits.shape) < 0.02
    kept[:, 150] = True
    logits[kept] = 5 * rng.normal(size=kept.sum())
    ends = np.array([0.0, np.nextafter(np.float32(1), np.float32(0))], np.float32)
    uniform = np.concatenate([rng.random(2000).astype(np.float32), np.tile(ends, 1000)])
    drawn = np.asarray(draw(jnp.asarray(logits), jnp.asarray(uniform)))
    assert kept[np.arange(4000), drawn].all()


def test_shares_are_the_probabilities():
    logits = np.random.default_rng(1).normal(size=50).astype(np.float32)
    share = np.exp(logits) / np.exp(logits).sum()
    uniform = np.random.default_rng(2).random(200_000).astype(np.float32)
    rows = jnp.broadcast_to(jnp.asarray(logits), (len(uniform), 50))
    counts = np.bincount(np.asarray(draw(rows, jnp.asarray(uniform))), minlength=50)
    # Five standard errors.
    spread = np.sqrt(share * (1 - share) / len(uniform))
    assert np.all(np.abs(counts / len(uniform) - share) <= 5 * spread)
