"""Chains as matrices: forms, spectra, stationary laws. Numbers: derived in docs/theory.md."""

from fractions import Fraction

import numpy as np
import pytest

from padir.files import InputError
from padir.theory import covariance, dynamics, enumeration, families, ising, lumped, masks


@pytest.fixture(name="case")
def random_case():
    rng = np.random.default_rng(11)
    law = enumeration.exact_law(ising.random_ising(rng, 3, ising.complete_edges(3), 0.5, 0.5))
    sets = (*masks.all_subsets(3, 1), *masks.all_subsets(3, 2))
    fixed = masks.Masks(3, sets, rng.dirichlet(np.ones(len(sets))))
    return law, fixed, masks.random_adaptive_masks(rng, 3, sets), rng


def test_single_spin_kernel_by_hand():
    law = np.array([0.1, 0.2, 0.3, 0.4])
    kernel = dynamics.block_kernel(law, masks.uniform_masks(2, 1))
    # From (-,-): resample spin 0 (to states 0 or 2) or spin 1 (to 0 or 1), each with 1/2.
    expected = [0.5 * (0.25 + 1 / 3), 0.5 * 2 / 3, 0.5 * 0.75, 0.0]
    np.testing.assert_allclose(kernel[0], expected)


def test_block_kernel_is_stochastic_reversible_and_positive(case):
    law, fixed, adaptive, _ = case
    for mask in (fixed, adaptive):
        kernel = dynamics.block_kernel(law, mask)
        np.testing.assert_allclose(kernel.sum(axis=1), 1, atol=1e-14)
        assert dynamics.stationarity_defect(law, kernel) < 1e-14
        assert dynamics.reversibility_defect(law, kernel) < 1e-15
        values, functions = dynamics.spectrum(law, kernel)
        assert values[0] == pytest.approx(1, abs=1e-12)
        assert values[-1] > -1e-12
        np.testing.assert_allclose(functions.T @ (law[:, None] * functions), np.eye(8), atol=1e-10)
        np.testing.assert_allclose(kernel @ functions, functions * values, atol=1e-10)


def test_dirichlet_form_is_the_mean_conditional_covariance(case):
    law, fixed, adaptive, rng = case
    for mask in (fixed, adaptive):
        f, g = rng.standard_normal((2, 8))
        kernel = dynamics.block_kernel(law, mask)
        defined = dynamics.dirichlet_form(law, kernel, f, g)
        assert dynamics.block_dirichlet_form(law, mask, f, g) == pytest.approx(defined, abs=1e-12)
        through_kernel = law @ (f * (g - kernel @ g))
        assert defined == pytest.approx(through_kernel, abs=1e-12)


def test_poincare_inequality_and_its_best_function(case):
    law, fixed, adaptive, rng = case
    for mask in (fixed, adaptive):
        kernel = dynamics.block_kernel(law, mask)
        constant = dynamics.poincare_constant(law, kernel)
        for _ in range(50):
            f = rng.standard_normal(8)
            energy = dynamics.dirichlet_form(law, kernel, f)
            assert dynamics.variance(law, f) <= constant * energy + 1e-12
        slow = dynamics.spectrum(law, kernel)[1][:, 1]
        ratio = dynamics.variance(law, slow) / dynamics.dirichlet_form(law, kernel, slow)
        assert ratio == pytest.approx(constant, rel=1e-10)


def test_pair_chain_is_stationary_but_not_reversible(case):
    law, fixed, adaptive, _ = case
    for mask in (fixed, adaptive):
        kernel, weights = dynamics.pair_kernel(law, mask), dynamics.pair_law(law, mask)
        np.testing.assert_allclose(kernel.sum(axis=1), 1, atol=1e-14)
        assert dynamics.stationarity_defect(weights, kernel) < 1e-14
        assert dynamics.reversibility_defect(weights, kernel) > 1e-3


def test_pair_chain_shares_the_spectrum_of_the_chain_on_states(case):
    law, _, adaptive, _ = case
    long = np.linalg.eigvals(dynamics.pair_kernel(law, adaptive))
    long = np.sort(long[np.argsort(-np.abs(long))][:8].real)
    short = dynamics.spectrum(law, dynamics.block_kernel(law, adaptive))[0][::-1]
    np.testing.assert_allclose(long, short, atol=1e-8)


def test_the_variance_bound_holds_on_a_random_model_of_five_spins():
    rng = np.random.default_rng(0)
    model = ising.random_ising(rng, 5, ising.complete_edges(5), 0.5, 0.4)
    family = families.ising_family(model)
    for k in range(1, 6):
        mask = masks.uniform_masks(5, k)
        matrices = covariance.information(family, mask)
        values = covariance.relative_eigenvalues(matrices.asymptotic(), matrices.fisher)
        kernel = dynamics.block_kernel(family.law(), mask)
        constant = dynamics.poincare_constant(family.law(), kernel)
        assert values[0] > 1 - 1e-9
        assert values[-1] < constant * (1 + 1e-9)


def test_variance_bound_is_attained_by_two_spins():
    model = ising.ising_on_graph(2, [(0, 1)], 0.5, 0.0)
    family = families.ising_family(model, "tied_field")
    mask = masks.uniform_masks(2, 1)
    matrices = covariance.information(family, mask)
    relative = covariance.relative_eigenvalues(matrices.asymptotic(), matrices.fisher)[-1]
    kernel = dynamics.block_kernel(family.law(), mask)
    constant = dynamics.poincare_constant(family.law(), kernel)
    assert relative == pytest.approx(3.7183, abs=5e-5)
    assert constant == pytest.approx(2 / (1 - np.tanh(0.5)), abs=1e-12)
    assert relative == pytest.approx(constant, abs=1e-10)


def test_the_gap_grows_faster_than_k_on_the_complete_graph():
    law = enumeration.exact_law(ising.ising_on_graph(6, ising.complete_edges(6), 0.5, 0.0))
    gaps = [
        dynamics.spectral_gap(law, dynamics.block_kernel(law, masks.uniform_masks(6, k)))
        for k in range(1, 7)
    ]
    ratios = [gap / (k * gaps[0]) for k, gap in enumerate(gaps, 1)]
    expected = [1, 1.39, 2.13, 5.34, 10.5, 325]
    np.testing.assert_allclose(ratios, expected, rtol=4e-3)


def test_the_gap_bound_holds_on_random_laws_and_is_attained_by_products():
    rng = np.random.default_rng(0)
    for _ in range(10):
        law = rng.dirichlet(np.full(16, 0.5)) + 1e-4
        law /= law.sum()
        single = dynamics.spectral_gap(law, dynamics.block_kernel(law, masks.uniform_masks(4, 1)))
        for k in (2, 3, 4):
            gap = dynamics.spectral_gap(law, dynamics.block_kernel(law, masks.uniform_masks(4, k)))
            bound = dynamics.block_gap_bound(4, k, single)
            assert gap >= bound - 1e-12
            assert bound >= k * single - 1e-12
    product = enumeration.exact_law(
        ising.ising_on_graph(4, ising.path_edges(4), 0.0, [0.1, 0.5, -0.2, 0.3])
    )
    for k in (1, 2, 3, 4):
        gap = dynamics.spectral_gap(
            product, dynamics.block_kernel(product, masks.uniform_masks(4, k))
        )
        assert gap == pytest.approx(dynamics.block_gap_bound(4, k, 0.25), abs=1e-12)
        assert gap == pytest.approx(k / 4, abs=1e-12)


def test_independent_parallel_chain_has_littles_law():
    model = ising.ising_on_graph(6, ising.complete_edges(6), 0.5, 0.1)
    kernel, law = dynamics.parallel_kernel(model), dynamics.parallel_law(model)
    np.testing.assert_allclose(kernel.sum(axis=1), 1, atol=1e-13)
    assert dynamics.reversibility_defect(law, kernel) < 1e-16
    assert kernel.min() > 0
    target = enumeration.exact_law(model)
    assert [round(float(v), 3) for v in (law[-1], law[0], target[-1], target[0])] == [
        0.878, 0.081, 0.737, 0.222,
    ]  # fmt: skip
    # The model's law is not stationary under this chain.
    assert dynamics.stationarity_defect(target, kernel) > 1e-3


def test_parallel_kernel_by_hand():
    model = ising.ising_on_graph(2, [(0, 1)], 0.5, 0.0)
    up = 1 / (1 + np.exp(-1.0))
    expected = [up * up, up * (1 - up), up * (1 - up), (1 - up) ** 2]
    np.testing.assert_allclose(dynamics.parallel_kernel(model)[0], expected)


def test_constants_of_a_model_by_hand():
    model = ising.ising_on_graph(3, ising.path_edges(3), [0.5, -0.2], [0.3, -0.1, 0.05])
    states = enumeration.all_states(3)
    weights = [np.exp(x @ model.field + 0.5 * x[0] * x[1] - 0.2 * x[1] * x[2]) for x in states]
    stated = dynamics.constants(model)
    gap = stated.pop("gibbs_gap")
    assert stated == pytest.approx(
        {
            "spins": 3, "edges": 2, "all_plus": weights[-1] / sum(weights),
            "all_minus": weights[0] / sum(weights), "field_sum": 0.25, "field_norm": 0.45,
            "smallest_probability": min(weights) / sum(weights),
            "smallest_coupling": -0.2, "largest_coupling": 0.5,
        }
    )  # fmt: skip
    kernel = dynamics.block_kernel(enumeration.exact_law(model), masks.uniform_masks(3, 1))
    assert gap == pytest.approx(1 - np.sort(np.linalg.eigvals(kernel).real)[-2])
    # Without an edge no coupling; beyond the transition matrices no gap.
    alone = dynamics.constants(ising.ising_on_graph(13, [], 0.0, 0.1))
    assert (alone["smallest_coupling"], alone["largest_coupling"]) == (0, 0)
    assert "gibbs_gap" not in alone


def test_kernels_of_too_many_spins_are_refused():
    with pytest.raises(InputError, match="13 spins are too many"):
        dynamics.block_kernel(np.full(2**13, 2.0**-13), masks.uniform_masks(13, 1))


def rational_hitting_times(kernel, reached):
    """Mean steps to the targets from every other state, by Gauss-Jordan on fractions."""
    rest = np.flatnonzero(~reached)
    rows = [[Fraction(-float(kernel[i, j])) for j in rest] + [Fraction(1)] for i in rest]
    for row, i in enumerate(rest):
        # Rounding leaves the row's sum beside 1; what moves a state defines the chain.
        rows[row][row] = sum(Fraction(float(kernel[i, j])) for j in range(len(kernel)) if j != i)
    for pivot in range(len(rest)):
        rows[pivot] = [value / rows[pivot][pivot] for value in rows[pivot]]
        for other in set(range(len(rest))) - {pivot}:
            factor = rows[other][pivot]
            rows[other] = [a - factor * b for a, b in zip(rows[other], rows[pivot], strict=True)]
    return [float(row[-1]) for row in rows]


@pytest.mark.parametrize("coupling", [0.5, 6.0, 12.0])
def test_hitting_times_equal_rational_arithmetic(coupling):
    law = enumeration.exact_law(ising.ising_on_graph(3, ising.complete_edges(3), coupling, 0.1))
    kernel = dynamics.block_kernel(law, masks.uniform_masks(3, 1))
    reached = enumeration.all_states(3)[:, :2].sum(axis=1) == 2
    expected = rational_hitting_times(kernel, reached)
    times = [dynamics.mean_hitting_time(kernel, int(i), reached) for i in np.flatnonzero(~reached)]
    assert times == pytest.approx(expected, rel=1e-12)
    assert dynamics.mean_hitting_time(kernel, 7, reached) == 0.0


@pytest.mark.parametrize(("coupling", "expected"), [(2.5, 7.26e16), (3.0, 2.176e20)])
def test_hitting_times_past_the_digits_of_a_solve(coupling, expected):
    law = enumeration.exact_law(ising.ising_on_graph(6, ising.complete_edges(6), coupling, 0.1))
    kernel = dynamics.block_kernel(law, masks.uniform_masks(6, 2))
    time = dynamics.mean_hitting_time(kernel, 0, np.arange(64) == 63)
    assert time == pytest.approx(expected, rel=1e-3)
    count = lumped.clique_gibbs(lumped.Clique(6, 6, coupling, 0.1), 2)
    assert time == pytest.approx(dynamics.mean_hitting_time(count, 0, 6), rel=1e-10)


def test_targets_out_of_reach_take_forever():
    # State 2 is a trap; state 3 cannot enter it, nor can state 1.
    kernel = np.array([[0.5, 0.2, 0.3, 0], [0, 0.5, 0, 0.5], [0, 0, 1, 0], [0, 0.5, 0, 0.5]])
    assert dynamics.mean_hitting_time(kernel, 0, 1) == np.inf
    assert dynamics.mean_hitting_time(kernel, 2, 1) == np.inf
    assert dynamics.mean_hitting_time(kernel, 3, 1) == pytest.approx(2)
    assert dynamics.mean_hitting_time(kernel, 1, 3) == pytest.approx(2)
