"""Distance from product laws: closed forms and bounds derived in docs/theory.md."""

import numpy as np
import pytest

from padir.theory import dynamics, enumeration, ising, masks, product_kernels


@pytest.mark.parametrize(("coupling", "expected"), [(0.5, 0.2092), (1.0, 0.3273), (-0.5, 0.2092)])
def test_distance_of_two_spins_has_its_closed_form(coupling, expected):
    law = enumeration.exact_law(ising.ising_on_graph(2, [(0, 1)], coupling, 0.0))
    distance, up = product_kernels.nearest_product(law, np.random.default_rng(0))
    agreement = 1 / (1 + np.exp(-2 * coupling))
    assert distance == pytest.approx(expected, abs=5e-5)
    assert distance == pytest.approx(product_kernels.two_spin_distance(agreement), abs=1e-9)
    # The best product law is not the product of marginals, which is further away.
    assert abs(up[0] - 0.5) > 0.05
    assert product_kernels.product_distance(law, np.full(2, 0.5)) == pytest.approx(
        abs(agreement - 0.5)
    )


@pytest.mark.parametrize(("spins", "expected"), [(2, 0.4142), (3, 0.4912), (4, 0.49936)])
def test_distance_of_two_opposite_states_has_its_closed_form(spins, expected):
    law = np.zeros(2**spins)
    law[[0, -1]] = 0.5
    distance, _ = product_kernels.nearest_product(law, np.random.default_rng(0))
    closed_form = 0.5 - (1 - 2 ** (-1 / spins)) ** spins
    assert closed_form == pytest.approx(expected, abs=5e-5)
    assert distance == pytest.approx(closed_form, abs=1e-8)
    assert product_kernels.two_point_bound(law) == pytest.approx(distance, abs=2e-4)


def test_best_coordinate_minimises_the_distance():
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
    distance, nearest = product_kernels.nearest_product(law, np.random.default_rng(0))
    assert distance < 1e-9
    np.testing.assert_allclose(nearest, up, atol=1e-8)
    assert product_kernels.two_point_bound(law) == 0.0


def test_proven_bounds_never_exceed_the_searched_distance():
    rng = np.random.default_rng(0)
    for _ in range(10):
        law = rng.dirichlet(np.full(8, 0.4))
        distance, _ = product_kernels.nearest_product(law, rng)
        assert product_kernels.two_point_bound(law) <= distance + 1e-9


def test_averaged_single_spin_kernel_is_no_product():
    law = enumeration.exact_law(ising.ising_on_graph(3, [], 0.0, 0.1))
    kernel = dynamics.block_kernel(law, masks.uniform_masks(3, 1))
    distances = [
        product_kernels.nearest_product(row, np.random.default_rng(0))[0] for row in kernel
    ]
    bounds = [product_kernels.moves_bound(kernel, state) for state in range(8)]
    assert max(distances) == pytest.approx(0.128, abs=5e-4)
    assert max(bounds) > 0.02
    assert all(0 < b <= d for b, d in zip(bounds, distances, strict=True))
    given = dynamics.mask_kernels(law, masks.uniform_masks(3, 1))[0]
    assert product_kernels.nearest_product(given[3], np.random.default_rng(0))[0] < 1e-9


@pytest.mark.parametrize("flip", [0.1, 0.3, 0.45])
def test_the_bound_from_single_moves_is_proven_and_close(flip):
    kernel = np.array([[1 - 2 * flip, flip, flip, 0.0]])
    # Smallest at f1 = flip, where f1 f2 = flip - f2.
    exact = flip**2 / (1 + flip)
    assert exact - 1 / 200 <= product_kernels.moves_bound(kernel, 0) <= exact
