"""Optimal mask distributions: certificates against random weights and direct evaluation."""

import numpy as np
import pytest

from padir.theory import covariance, design, dynamics, families, ising, masks

MODEL = ising.ising_on_graph(4, ising.path_edges(4), [1.5, 0.2, 1.5], 0.1)
SETS = masks.all_subsets(4, 2)


@pytest.fixture(name="family", scope="module")
def chain_family():
    return families.ising_family(MODEL)


def test_weighted_unit_hessians_sum_to_the_hessian(family):
    weights = np.random.default_rng(0).dirichlet(np.ones(6))
    mask = masks.Masks(4, SETS, weights)
    expected = covariance.hessian_by_mask(family, mask).sum(axis=0)
    summed = np.einsum("s,spq->pq", weights, design.unit_hessians(family, SETS))
    np.testing.assert_allclose(summed, expected, atol=1e-14)


def test_best_trace_is_certified_and_beats_random_weights(family):
    hessians = design.unit_hessians(family, SETS)
    best = design.best_variance(hessians)
    assert 0 <= best.value - best.bound < 1e-5 * best.value
    rng = np.random.default_rng(0)
    for weights in [np.full(6, 1 / 6), *rng.dirichlet(np.ones(6), 200)]:
        trace = np.trace(np.linalg.inv(np.einsum("s,spq->pq", weights, hessians)))
        assert trace > best.bound


def test_largest_gap_is_certified_and_attained(family):
    law = family.law()
    best = design.best_smallest_eigenvalue(design.gap_matrices(law, SETS))
    assert 0 <= best.bound - best.value < 1e-4 * best.value
    mask = masks.Masks(4, SETS, best.weights)
    gap = dynamics.spectral_gap(law, dynamics.block_kernel(law, mask))
    assert gap == pytest.approx(best.value, abs=1e-9)
    uniform = dynamics.spectral_gap(law, dynamics.block_kernel(law, masks.uniform_masks(4, 2)))
    assert best.value > 2 * uniform
    # The two strong pairs carry the weight.
    assert best.weights[SETS.index((0, 1))] + best.weights[SETS.index((2, 3))] > 0.95
    rng = np.random.default_rng(0)
    for weights in rng.dirichlet(np.full(6, 0.3), 50):
        kernel = dynamics.block_kernel(law, masks.Masks(4, SETS, weights))
        assert dynamics.spectral_gap(law, kernel) <= best.bound + 1e-9


def test_gap_never_exceeds_the_worst_efficiency(family):
    hessians = design.unit_hessians(family, SETS)
    fisher = covariance.information(family, masks.uniform_masks(4, 2)).fisher
    efficiency = design.efficiency_matrices(hessians, fisher)
    gaps = design.gap_matrices(family.law(), SETS)
    for weights in np.random.default_rng(0).dirichlet(np.ones(6), 30):
        slow = np.linalg.eigvalsh(np.einsum("s,sxy->xy", weights, gaps))[0]
        worst = np.linalg.eigvalsh(np.einsum("s,spq->pq", weights, efficiency))[0]
        assert slow <= worst + 1e-12
