"""Lumped chains against full ones, hitting times, and the published-size numbers that they give.

Numbers: derived in docs/theory.md.
"""

import numpy as np
import pytest

from padir.files import InputError
from padir.theory import dynamics, enumeration, ising, lumped, masks


def lump(kernel, n, m):
    """Law of the clique's next plus count from every state, and every state's plus count."""
    plus = (enumeration.all_states(n)[:, :m] > 0).sum(axis=1)
    return np.array([np.bincount(plus, row, minlength=m + 1) for row in kernel]), plus


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_lumped_k_gibbs_equals_the_full_chain(k):
    model = lumped.Clique(6, 4, 0.5, 0.2, -0.1)
    law = enumeration.exact_law(ising.clique_model(6, 4, 0.5, 0.2, -0.1))
    full, plus = lump(dynamics.block_kernel(law, masks.uniform_masks(6, k)), 6, 4)
    np.testing.assert_allclose(lumped.clique_gibbs(model, k)[plus], full, atol=1e-14)


def test_lumped_parallel_equals_the_full_chain():
    model = lumped.Clique(6, 4, 0.5, 0.2, -0.1)
    full, plus = lump(dynamics.parallel_kernel(ising.clique_model(6, 4, 0.5, 0.2, -0.1)), 6, 4)
    np.testing.assert_allclose(lumped.clique_parallel(model)[plus], full, atol=1e-14)


def test_clique_law_is_stationary():
    model = lumped.Clique(9, 5, 0.3, 0.1, 0.4)
    for k in (1, 4, 9):
        kernel = lumped.clique_gibbs(model, k)
        np.testing.assert_allclose(kernel.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(model.law() @ kernel, model.law(), atol=1e-14)


HITS = [
    (12, 6, 0.3, 0.1, None, 1.00, 5e-3),
    (12, 6, 0.3, 0.1, 1, 0.825, 5e-4),
    (12, 6, 0.5, 0.1, None, 0.18, 5e-3),
    (12, 6, 0.5, 0.1, 1, 0.099, 5e-4),
    (12, 6, 0.5, 0.1, 3, 0.378, 5e-4),
    (12, 6, 0.5, 0.1, 6, 0.948, 5e-4),
    (12, 6, 0.7, 0.1, None, 9e-4, 5e-5),
    (12, 6, 0.7, 0.1, 1, 0.0039, 5e-5),
    (12, 6, 0.7, 0.1, 6, 0.492, 5e-4),
    (20, 8, 0.5, 0.05, None, 7e-6, 5e-7),
    (20, 8, 0.5, 0.05, 8, 0.022, 5e-4),
    (30, 12, 0.3, 0.05, None, 1.6e-8, 1e-9),
    (30, 12, 0.3, 0.05, 21, 0.795, 5e-4),
]


@pytest.mark.parametrize(("n", "m", "j", "h", "k", "expected", "tolerance"), HITS)
def test_the_probability_of_a_hit_within_500_steps_is_as_documented(
    n, m, j, h, k, expected, tolerance
):
    model = lumped.Clique(n, m, j, h)
    kernel = lumped.clique_parallel(model) if k is None else lumped.clique_gibbs(model, k)
    curve = lumped.hitting_curve(kernel, np.eye(m + 1)[0], m, 500)
    assert curve[-1] == pytest.approx(expected, abs=tolerance)
    assert np.all(np.diff(curve) >= -1e-15)


def test_who_starts_at_the_target_has_arrived():
    kernel = lumped.clique_gibbs(lumped.Clique(4, 2, 0.3, 0.1), 1)
    mixed = lumped.hitting_curve(kernel, np.array([0.75, 0.0, 0.25]), 2, 2)
    from_below = lumped.hitting_curve(kernel, np.array([1.0, 0.0, 0.0]), 2, 2)
    assert (from_below[0], from_below[1]) == (0, kernel[0, 2])
    assert mixed == pytest.approx(0.25 + 0.75 * from_below)


def test_larger_blocks_hit_sooner_within_200_steps():
    model, start = lumped.Clique(12, 6, 0.5, 0.1), np.eye(7)[0]
    kernels = [lumped.clique_parallel(model), *(lumped.clique_gibbs(model, k) for k in (2, 6, 9))]
    shares = [lumped.hitting_curve(kernel, start, 6, 200)[-1] for kernel in kernels]
    assert shares == pytest.approx([0.075, 0.093, 0.689, 1.0], abs=6e-4)


def test_mean_hitting_time_equals_the_linear_solve_where_that_works():
    model = lumped.Clique(8, 4, 0.3, 0.1)
    for kernel in (lumped.clique_gibbs(model, 2), lumped.clique_parallel(model)):
        inner = kernel[:4, :4]
        expected = np.linalg.solve(np.eye(4) - inner, np.ones(4))[0]
        assert dynamics.mean_hitting_time(kernel, 0, 4) == pytest.approx(expected, rel=1e-10)
    assert dynamics.mean_hitting_time(kernel, 4, 4) == 0.0


def test_mean_hitting_time_stays_positive_where_a_solve_loses_its_digits():
    model = lumped.Clique(40, 24, 1.0, 0.1)
    time = dynamics.mean_hitting_time(lumped.clique_parallel(model), 0, 24)
    assert time > 1e30


def test_parallel_sampling_overtakes_small_blocks_at_weak_coupling():
    model = lumped.Clique(12, 6, 0.02, 0.1)
    start = np.eye(7)[0]
    parallel = lumped.hitting_curve(lumped.clique_parallel(model), start, 6, 10)[-1]
    gibbs = {
        k: lumped.hitting_curve(lumped.clique_gibbs(model, k), start, 6, 10)[-1]
        for k in (1, 3, 6, 9)
    }
    assert parallel == pytest.approx(0.246, abs=6e-4)
    assert [gibbs[k] for k in (1, 3, 6, 9)] == pytest.approx(
        [0.0006, 0.054, 0.181, 0.261], abs=6e-4
    )
    assert gibbs[6] < parallel < gibbs[9]


def test_bad_cliques_are_refused():
    with pytest.raises(InputError, match="clique of 7 among 6"):
        lumped.Clique(6, 7, 0.5, 0.1)
    with pytest.raises(InputError, match="k is 0: allowed is 1 to 6"):
        lumped.clique_gibbs(lumped.Clique(6, 4, 0.5, 0.1), 0)
