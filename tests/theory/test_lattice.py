"""The packed lattice sampler against plain NumPy, and its random words against JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32

from padir.files import InputError
from padir.theory import enumeration, ising, lattice


def test_threefry_with_twenty_rounds_equals_jaxs_generator():
    key = lattice.key_words(jax.random.key(3))
    counter = jnp.arange(8, dtype=jnp.uint32)
    left, right = lattice.threefry_words(key, counter, 5, 20)
    expected = threefry_2x32(key, jnp.concatenate([counter, jnp.full(8, 5, jnp.uint32)]))
    np.testing.assert_array_equal(np.concatenate([left, right]), np.asarray(expected))


def test_threefry_with_thirteen_rounds_is_balanced():
    key = lattice.key_words(jax.random.key(0))
    words = np.concatenate(lattice.threefry_words(key, jnp.arange(1 << 15, dtype=jnp.uint32), 0))
    bits = (words[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    count = len(words)
    assert np.all(np.abs(bits.sum(axis=0) - count / 2) < 5 * np.sqrt(count / 4))
    # Neighbouring counters differ in half of their bits.
    flips = (bits[1:] != bits[:-1]).mean()
    assert abs(flips - 0.5) < 5 * 0.5 / np.sqrt(32 * count)


def plain_neighbours(grid):
    """Sum of the four neighbours on the torus; grid (B, rows, columns)."""
    return sum(np.roll(grid, shift, axis) for shift in (1, -1) for axis in (1, 2))


def test_conditional_probabilities_and_flip_count():
    sampler = lattice.LatticeGibbs(16, 12, 0.3, 0.1)
    state = sampler.init(jax.random.key(2), 256)
    new, info = jax.jit(sampler.step)(jax.random.key(3), state)
    before = np.asarray(sampler.spins(state)).astype(int)
    after = np.asarray(sampler.spins(new)).astype(int)
    assert int(info.changed) == np.sum(before != after)
    rows, columns = np.indices((16, 12))
    even = np.broadcast_to((rows + columns) % 2 == 0, before.shape)
    # The first colour sees the old neighbours, the second the first colour's new ones.
    for sites, total in ((even, plain_neighbours(before)), (~even, plain_neighbours(after))):
        for count in (-4, -2, 0, 2, 4):
            chosen = sites & (total == count)
            expected = 1 / (1 + np.exp(-2 * (0.3 * count + 0.1)))
            noise = np.sqrt(expected * (1 - expected) / chosen.sum())
            assert abs((after[chosen] > 0).mean() - expected) < 5 * noise


def test_small_torus_reaches_its_law():
    rows = columns = 4
    sampler = lattice.LatticeGibbs(rows, columns, 0.2, 0.05)

    @jax.jit
    def run(key, state):
        def advance(state, key):
            state, info = sampler.step(key, state)
            return state, info.changed

        return jax.lax.scan(advance, state, jax.random.split(key, 60))

    chains = 1 << 14
    state, changed = run(jax.random.key(1), sampler.init(jax.random.key(0), chains))
    spins = np.asarray(sampler.spins(state)).reshape(chains, -1).astype(float)
    edges = {
        tuple(sorted((4 * r + c, 4 * ((r + i) % 4) + (c + j) % 4)))
        for r in range(4)
        for c in range(4)
        for i, j in ((0, 1), (1, 0))
    }
    model = ising.ising_on_graph(16, sorted(edges), 0.2, 0.05)
    law = enumeration.exact_law(model)
    states = enumeration.all_states(16).astype(float)
    energy = states @ model.coupling[0] * states[:, 0]
    for values, sampled in (
        (states.sum(axis=1), spins.sum(axis=1)),
        (energy, spins @ model.coupling[0] * spins[:, 0]),
    ):
        mean = law @ values
        noise = np.sqrt((law @ (values - mean) ** 2) / chains)
        assert abs(sampled.mean() - mean) < 5 * noise
    assert int(changed[-1]) > 0


def test_bad_lattices_are_refused():
    with pytest.raises(InputError, match="rows is 5: must be even"):
        lattice.LatticeGibbs(5, 6, 0.1)
    with pytest.raises(InputError, match="coupling is nan: must be finite"):
        lattice.LatticeGibbs(4, 6, float("nan"))
    with pytest.raises(InputError, match="chains is 40: must be a positive multiple of 32"):
        lattice.LatticeGibbs(4, 6, 0.1).init(jax.random.key(0), 40)
