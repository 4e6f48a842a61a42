"""Distance from product laws: closed forms and bounds derived in docs/theory.md."""

import numpy as np
import pytest

from padir.theory import dynamics, enumeration, ising, masks, product_kernels


@pytest.mark.parametrize(("coupling", "expected"), [(0.5, 0.2092), (1.0, 0.3273)])
def test_two_spins(coupling, expected):
    law = enumeration.exact_law(ising.ising_on_graph(2, [(0, 1)], coupling, 0.0))
    found, up = product_kernels.nearest_product(law, np.random.default_rng(0))
    agreement = 1 / (1 + np.exp(-2 * coupling))
    assert found == pytest.approx(expected, abs=5e-5)
    assert found == pytest.approx(product_kernels.two_spin_distance(agreement), abs=1e-9)
    # The best product law is not the product of marginals, which is further away.
    assert abs(up[0] - 0.5) > 0.05
    assert product_kernels.product_distance(law, np.full(2, 0.5)) == pytest.approx(agreement - 0.5)


@pytest.mark.parametrize(("spins", "expected"), [(2, 0.4142), (3, 0.4912), (4, 0.49936)])
def test_all_plus_or_all_minus(spins, expected):
    law = np.zeros(2**spins)
    law[[0, -1]] = 0.5
    found, _ = product_kernels.nearest_product(law, np.random.default_rng(0))
    assert product_kernels.two_point_distance(spins) == pytest.approx(expected, abs=5e-5)
    assert found == pytest.approx(product_kernels.two_point_distance(spins), abs=1e-8)
    assert product_kernels.two_point_bound(law) == pytest.approx(found, abs=2e-4)


def test_each_coordinate_is_set_to_its_best_value():
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, 2001)
    for _ in range(10):
        law, up = rng.dirichlet(np.full(8, 0.6)), rng.random((1, 3))
        best = product_kernels.best_coordinate(law, up, 1)
        rows = np.repeat(up, len(grid), axis=0)
        rows[:, 1] = grid
        up[0, 1] = best[0]
        least = product_kernels.product_distance(law, rows).min()
        assert product_kernels.product_distance(law, up)[0] <= least + 1e-12


def test_product_laws_have_distance_zero():
    up = np.array([0.2, 0.7, 0.9])
    law = product_kernels.product_law(up)
    assert law.sum() == pytest.approx(1)
    assert law[0b011] == pytest.approx(0.8 * 0.7 * 0.9)
    found, at = product_kernels.nearest_product(law, np.random.default_rng(0))
    assert found < 1e-9
    np.testing.assert_allclose(at, up, atol=1e-8)
    assert product_kernels.two_point_bound(law) == 0.0


def test_bounds_never_exceed_what_the_search_finds():
    rng = np.random.default_rng(0)
    for _ in range(10):
        law = rng.dirichlet(np.full(8, 0.4))
        found, _ = product_kernels.nearest_product(law, rng)
        assert product_kernels.two_point_bound(law) <= found + 1e-9


def test_averaged_single_spin_kernel_is_no_product():
    law = enumeration.exact_law(ising.ising_on_graph(3, [], 0.0, 0.1))
    kernel = dynamics.block_kernel(law, masks.uniform_masks(3, 1))
    found = [product_kernels.nearest_product(row, np.random.default_rng(0))[0] for row in kernel]
    bounds = [product_kernels.moves_bound(kernel, state) for state in range(8)]
    assert max(found) == pytest.approx(0.128, abs=5e-4)
    assert max(bounds) > 0.02
    assert all(0 < b <= f for b, f in zip(bounds, found, strict=True))
    given = dynamics.mask_kernels(law, masks.uniform_masks(3, 1))[0]
    assert product_kernels.nearest_product(given[3], np.random.default_rng(0))[0] < 1e-9
