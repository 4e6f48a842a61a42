"""One step of every sampler against its exact transition matrix, and long runs against the law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.files import InputError
from padir.theory import dynamics, enumeration, ising, lumped, masks, samplers
from padir.theory.samplers import first_visits

CHAINS = 1 << 15
MODEL = ising.ising_on_graph(
    4, ising.complete_edges(4), [0.5, -0.3, 0.2, 0.7, 0.1, 0.4], [0.1, -0.2, 0.3, 0.0]
)
LAW = enumeration.exact_law(MODEL)


def step_law(sampler, spins, start):
    n = spins.shape[1]
    state = jnp.tile(jnp.asarray(spins[start])[None], (CHAINS, 1))
    new, changed = jax.jit(type(sampler).step)(sampler, jax.random.key(7), state)
    numbers = (np.asarray(new) > 0) @ (2 ** np.arange(n - 1, -1, -1))
    expected = np.sum(np.asarray(new) != spins[start], axis=1)
    np.testing.assert_array_equal(np.asarray(changed), expected)
    return np.bincount(numbers, minlength=2**n)


def agrees(counts, expected):
    """Every count within 5 standard deviations of its binomial law, and none where none may be."""
    noise = np.sqrt(CHAINS * expected * (1 - expected))
    return bool(np.all(np.abs(counts - CHAINS * expected) <= 5 * noise + 1e-6))


CASES = {
    "1-Gibbs": (
        lambda: samplers.k_gibbs(MODEL, 1),
        lambda: dynamics.block_kernel(LAW, masks.uniform_masks(4, 1)),
    ),
    "3-Gibbs": (
        lambda: samplers.k_gibbs(MODEL, 3),
        lambda: dynamics.block_kernel(LAW, masks.uniform_masks(4, 3)),
    ),
    "independent parallel": (
        lambda: samplers.independent_parallel(MODEL),
        lambda: dynamics.parallel_kernel(MODEL),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_step_follows_the_transition_matrix(name):
    make, kernel = CASES[name]
    exact = kernel()
    for start in (0, 5):
        counts = step_law(make(), enumeration.all_states(4), start)
        assert agrees(counts, exact[start])
        # Negative control: another start's row does not fit.
        assert not agrees(counts, exact[15 - start])


@pytest.mark.parametrize("k", [2, 6])
def test_clique_sampler_follows_the_transition_matrix(k):
    law = enumeration.exact_law(ising.clique_model(6, 4, 0.4, 0.1, 0.2))
    exact = dynamics.block_kernel(law, masks.uniform_masks(6, k))
    sampler = samplers.clique_gibbs_sampler(lumped.Clique(6, 4, 0.4, 0.1, 0.2), k)
    for start in (5, 40):
        assert agrees(step_law(sampler, enumeration.all_states(6), start), exact[start])


def test_ranks_by_counting_and_by_sorting_agree():
    scores = jax.random.uniform(jax.random.key(0), (3, 80))
    ranks = jax.jit(samplers.ranks)
    long = np.asarray(ranks(scores))
    np.testing.assert_array_equal(np.sort(long, axis=1), np.tile(np.arange(80), (3, 1)))
    short = np.asarray(ranks(scores[:, :40]))
    expected = np.argsort(np.argsort(np.asarray(scores[:, :40]), axis=1), axis=1)
    np.testing.assert_array_equal(short, expected)
    ties = jnp.array([[0.5, 0.5, 0.1, 0.5]])
    np.testing.assert_array_equal(np.asarray(samplers.ranks(ties)), [[1, 2, 0, 3]])


def test_first_visits_match_the_exact_curve():
    model = lumped.Clique(8, 4, 0.4, 0.1)
    sampler = samplers.clique_gibbs_sampler(model, 4)
    chains, steps = 4000, 40
    start = -jnp.ones((chains, 8), jnp.int8)
    run = jax.jit(first_visits, static_argnames=("clique", "steps"))
    first = np.asarray(run(sampler, jax.random.key(0), start, clique=4, steps=steps))
    exact = lumped.hitting_curve(lumped.clique_gibbs(model, 4), np.eye(5)[0], 4, steps)
    for t in (1, 5, 20, 40):
        share = np.mean(first <= t)
        assert abs(share - exact[t]) < 5 * np.sqrt(exact[t] * (1 - exact[t]) / chains)
    assert first.min() >= 1
    assert first.max() == steps + 1


def test_a_chain_that_starts_in_the_mode_was_there_at_step_0():
    sampler = samplers.clique_gibbs_sampler(lumped.Clique(4, 3, 0.4, 0.1), 2)
    start = jnp.array([[1, 1, 1, -1], [1, 1, -1, 1]], jnp.int8)
    first = np.asarray(first_visits(sampler, jax.random.key(0), start, clique=3, steps=2))
    assert first[0] == 0 and first[1] >= 1


def test_chains_start_from_independent_fair_spins():
    start = np.asarray(samplers.k_gibbs(MODEL, 1).init(jax.random.key(1), CHAINS))
    assert np.unique(start).tolist() == [-1, 1]
    numbers = (start > 0) @ np.array([8, 4, 2, 1])
    assert agrees(np.bincount(numbers, minlength=16), np.full(16, 1 / 16))


def test_many_categories_are_drawn_in_two_stages():
    logits = np.linspace(-2, 2, 200, dtype=np.float32)
    draws = jax.jit(samplers.choose)(jax.random.key(0), jnp.tile(jnp.asarray(logits), (CHAINS, 1)))
    expected = np.exp(logits) / np.exp(logits).sum()
    assert agrees(np.bincount(np.asarray(draws), minlength=200), expected)


def test_random_subsets_are_uniform():
    chosen = np.sort(np.asarray(samplers.random_subsets(jax.random.key(0), CHAINS, 5, 3)), axis=1)
    subsets, counts = np.unique(chosen, axis=0, return_counts=True)
    assert len(subsets) == 10
    assert agrees(counts, np.full(10, 0.1))


def test_every_spin_of_many_is_in_as_many_subsets():
    spins = samplers.GROUP + 6
    chosen = np.asarray(samplers.random_subsets(jax.random.key(0), CHAINS, spins, 2))
    assert np.all(chosen[:, 0] != chosen[:, 1])
    assert agrees(np.bincount(chosen.ravel(), minlength=spins), np.full(spins, 2 / spins))


def test_equal_keys_give_equal_chains():
    sampler = samplers.k_gibbs(MODEL, 2)
    start = sampler.init(jax.random.key(0), 16)
    step = jax.jit(sampler.step)
    first, _ = step(jax.random.key(3), start)
    repeated, _ = step(jax.random.key(3), start)
    other, _ = step(jax.random.key(4), start)
    np.testing.assert_array_equal(np.asarray(first), np.asarray(repeated))
    assert np.any(np.asarray(first) != np.asarray(other))


def test_bad_samplers_are_refused():
    with pytest.raises(InputError, match="k is 5: allowed is 1 to 4"):
        samplers.k_gibbs(MODEL, 5)
    big = ising.ising_on_graph(20, ising.path_edges(20), 0.1, 0.0)
    with pytest.raises(InputError, match=r"2\^15 block states"):
        samplers.k_gibbs(big, 15)
    assert samplers.k_gibbs(big, 14).size == 14
    with pytest.raises(InputError, match="chains is 0"):
        samplers.k_gibbs(MODEL, 1).init(jax.random.key(0), 0)
    with pytest.raises(InputError, match="k is 9"):
        samplers.clique_gibbs_sampler(lumped.Clique(8, 4, 0.4, 0.1), 9)
