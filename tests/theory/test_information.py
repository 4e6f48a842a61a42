"""Information matrices and the order in k. Numbers: derived in docs/theory.md, checked by hand."""

import itertools

import numpy as np
import pytest

from padir.files import InputError
from padir.theory import covariance, dynamics, enumeration, estimators, families, ising, masks


def family_of(model, free="all"):
    return families.ising_family(model, free)


@pytest.fixture(name="case")
def random_case():
    rng = np.random.default_rng(3)
    family = family_of(ising.random_ising(rng, 4, ising.complete_edges(4), 0.5, 0.5))
    sets = tuple(block for k in (1, 2, 3, 4) for block in masks.all_subsets(4, k))
    fixed = masks.Masks(4, sets, rng.dirichlet(np.ones(len(sets))))
    return family, fixed, masks.random_adaptive_masks(rng, 4, sets)


def population_loss(family, mask, naive=False, law=None):
    counts = estimators.population_counts(family.law() if law is None else law, mask)
    return estimators.MaskedLoss(family, mask, counts, naive)


def test_gradient_and_hessian_by_finite_differences(case):
    family, fixed, adaptive = case
    theta = family.truth + 0.1
    eye = np.eye(family.parameters)
    for mask in (fixed, adaptive):
        loss = population_loss(family, mask)
        _, gradient, hessian = loss.derivatives(theta[None])
        step = 1e-5
        slopes = np.array(
            [
                (loss.value((theta + step * e)[None]) - loss.value((theta - step * e)[None]))[0]
                / (2 * step)
                for e in eye
            ]
        )
        bends = np.array(
            [
                (
                    loss.derivatives((theta + step * e)[None])[1]
                    - loss.derivatives((theta - step * e)[None])[1]
                )[0]
                / (2 * step)
                for e in eye
            ]
        )
        np.testing.assert_allclose(gradient[0], slopes, atol=1e-9)
        np.testing.assert_allclose(hessian[0], bends, atol=1e-8)


def test_gradient_vanishes_at_the_truth_only_with_the_mask(case):
    family, fixed, adaptive = case
    for mask in (fixed, adaptive):
        gradient = population_loss(family, mask).derivatives(family.truth[None])[1]
        assert np.abs(gradient).max() < 1e-12
    naive = population_loss(family, adaptive, naive=True).derivatives(family.truth[None])[1]
    assert np.abs(naive).max() > 1e-2


def test_information_matrix_equality_and_where_it_fails(case):
    family, fixed, adaptive = case
    for mask in (fixed, adaptive):
        hessian = population_loss(family, mask).derivatives(family.truth[None])[2][0]
        by_gradient = covariance.gradient_covariance(family, mask)
        by_formula = covariance.hessian_by_mask(family, mask).sum(axis=0)
        np.testing.assert_allclose(by_gradient, hessian, atol=1e-12)
        np.testing.assert_allclose(by_formula, hessian, atol=1e-12)
        # Negative controls: wrong parameters, and data from outside the family.
        theta = family.truth + 0.4
        elsewhere = population_loss(family, mask).derivatives(theta[None])[2][0]
        assert (
            np.abs(
                elsewhere - covariance.gradient_covariance(family, mask, theta, family.law())
            ).max()
            > 1e-3
        )
        other = np.random.default_rng(0).dirichlet(np.ones(16))
        misfit = population_loss(family, mask, law=other).derivatives(family.truth[None])[2][0]
        assert (
            np.abs(misfit - covariance.gradient_covariance(family, mask, family.truth, other)).max()
            > 1e-3
        )
        np.testing.assert_allclose(
            misfit, covariance.hessian_by_mask(family, mask, law=other).sum(axis=0), atol=1e-12
        )  # fmt: skip


def test_hessian_by_brute_force():
    family = family_of(ising.ising_on_graph(3, ising.complete_edges(3), [0.3, -0.2, 0.5], 0.1))
    mask = masks.Masks(3, ((0, 2), (1,)), np.array([0.3, 0.7]))
    law = family.law()
    score = family.statistics - law @ family.statistics
    states = enumeration.all_states(3)
    expected = np.zeros((6, 6))
    for block, weight in zip(mask.sets, mask.weights, strict=True):
        rest = [i for i in range(3) if i not in block]
        for x in range(8):
            same = np.all(states[:, rest] == states[x, rest], axis=1)
            conditional = law * same / (law @ same)
            centred = score - conditional @ score
            expected += weight * law[x] * (centred.T * conditional) @ centred
    hessian = covariance.hessian_by_mask(family, mask).sum(axis=0)
    np.testing.assert_allclose(hessian, expected, atol=1e-14)


def test_a_larger_k_gives_a_larger_hessian_on_random_models():
    rng = np.random.default_rng(5)
    for _ in range(10):
        family = family_of(ising.random_ising(rng, 4, ising.complete_edges(4), 0.8, 0.5))
        hessians = [
            covariance.hessian_by_mask(family, masks.uniform_masks(4, k)).sum(axis=0)
            for k in (1, 2, 3, 4)
        ]
        for before, after in itertools.pairwise(hessians):
            assert np.linalg.eigvalsh(after - before)[0] > -1e-12
        fisher = covariance.information(family, masks.uniform_masks(4, 1)).fisher
        np.testing.assert_allclose(hessians[-1], fisher, atol=1e-13)


def test_order_for_adaptive_masks_that_add_a_position():
    # S' = S plus a uniform element from outside S, drawn independently of x given S.
    rng = np.random.default_rng(8)
    n = 3
    small = masks.all_subsets(n, 1)
    first = masks.random_adaptive_masks(rng, n, small)
    large = masks.all_subsets(n, 2)
    weights = np.zeros((len(large), 2**n))
    for row, block in enumerate(small):
        for other in range(n):
            if other not in block:
                target = large.index(tuple(sorted((*block, other))))
                weights[target] += first.weights[row] / (n - 1)
    second = masks.Masks(n, large, weights)
    family = family_of(ising.random_ising(rng, n, ising.complete_edges(n)))
    # The theorem compares E Cov(s | x_-S, S) along the coupling S in S', so S stays known.
    before = covariance.hessian_by_mask(family, first).sum(axis=0)
    after = covariance.hessian_by_mask(family, second).sum(axis=0)
    assert np.linalg.eigvalsh(after - before)[0] > -1e-12


@pytest.mark.parametrize(
    ("coupling", "field", "traces", "averaged"),
    [
        (0.3, 0.2, [74.4, 37.8, 25.9, 20.4, 16.1], [16.50, 16.14]),
        (1.0, 0.1, [346.7, 162.4, 104.4, 78.4, 64.0], None),
    ],
)
def test_the_traces_of_figures_1_and_2_fall_with_k(coupling, field, traces, averaged):
    family = family_of(ising.ising_on_graph(6, ising.cycle_edges(6), coupling, field))
    matrices = [covariance.information(family, masks.uniform_masks(6, k)) for k in (1, 2, 3, 4, 6)]
    assert [round(float(np.trace(m.asymptotic())), 1) for m in matrices] == traces
    if averaged:
        ends = [float(np.trace(matrices[i].asymptotic(np.inf))) for i in (0, -1)]
        assert [round(v, 2) for v in ends] == averaged


def test_tied_family_isolates_the_dependence_effect():
    family = family_of(ising.ising_on_graph(6, ising.cycle_edges(6), 1.0, 0.1), "tied")
    matrices = [covariance.information(family, masks.uniform_masks(6, k)) for k in (1, 2, 3, 4, 6)]
    averaged = [float(np.trace(m.asymptotic(np.inf))) / 4000 * 1e4 for m in matrices]
    assert [round(v, 2) for v in averaged] == [2.40, 1.81, 1.37, 1.13, 1.09]
    one_mask = [float(np.trace(m.asymptotic())) / 4000 * 1e4 for m in matrices]
    assert (round(one_mask[0], 1), round(one_mask[-1], 2)) == (27.5, 1.09)


def test_the_three_estimators_are_ordered_and_kantorovich_holds(case):
    family, fixed, _ = case
    matrices = covariance.information(family, fixed)
    inverse = np.linalg.inv(matrices.fisher)
    chain = [inverse, matrices.asymptotic(np.inf), matrices.asymptotic(3.0), matrices.asymptotic()]
    for better, worse in itertools.pairwise(chain):
        assert np.linalg.eigvalsh(worse - better)[0] > -1e-10
    gap = dynamics.spectral_gap(family.law(), dynamics.block_kernel(family.law(), fixed))
    bound = (1 + gap) ** 2 / (4 * gap)
    assert np.linalg.eigvalsh(bound * inverse - chain[1])[0] > -1e-10


def test_two_masks_per_sample_equal_the_sum_over_all_pairs(case):
    family, fixed, _ = case
    law = family.law()
    steps = np.stack(
        [
            family.statistics - enumeration.conditional_mean(law, family.statistics, block)
            for block in fixed.sets
        ]
    )
    expected = np.zeros((family.parameters, family.parameters))
    for a, weight_a in enumerate(fixed.weights):
        for b, weight_b in enumerate(fixed.weights):
            mean = (steps[a] + steps[b]) / 2
            expected += weight_a * weight_b * mean.T @ (law[:, None] * mean)
    matrices = covariance.information(family, fixed)
    inverse = np.linalg.inv(matrices.hessian)
    np.testing.assert_allclose(matrices.asymptotic(2.0), inverse @ expected @ inverse, rtol=1e-10)


def test_product_family_gains_n_over_k():
    family = families.Family(
        enumeration.all_states(4).astype(float), np.zeros(16), np.array([0.3, -0.2, 0.1, 0.5])
    )
    for k in (1, 2, 3):
        matrices = covariance.information(family, masks.uniform_masks(4, k))
        inverse = np.linalg.inv(matrices.fisher)
        np.testing.assert_allclose(matrices.asymptotic(), 4 / k * inverse, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(matrices.asymptotic(np.inf), inverse, rtol=1e-12, atol=1e-12)


def test_complete_graph_averages_to_maximum_likelihood_from_n_minus_2():
    rng = np.random.default_rng(2)
    family = family_of(ising.random_ising(rng, 5, ising.complete_edges(5), 0.4, 0.4))
    for k, exact in ((2, False), (3, True), (4, True)):
        matrices = covariance.information(family, masks.uniform_masks(5, k))
        excess = np.trace(matrices.asymptotic(np.inf) @ matrices.fisher) - family.parameters
        assert (abs(excess) < 1e-8) == exact


def test_singular_hessian_is_refused():
    family = families.Family(np.ones((4, 1)), np.zeros(4), np.zeros(1))
    with pytest.raises(InputError, match="does not identify the parameters"):
        covariance.information(family, masks.uniform_masks(2, 1)).asymptotic()


def test_a_hessian_that_is_singular_to_working_precision_is_refused():
    up = np.array([-1.0, 1.0])
    other = np.array([1.0, 1.0]) + 1e-8 * up
    matrix = np.outer(other, other) + 1e-15 * np.outer(up, up)
    assert np.linalg.eigvalsh(matrix)[0] > 0
    with pytest.raises(InputError, match="does not identify the parameters"):
        covariance.inverse_of_positive(matrix)
    near = np.outer(other, other) + 1e-9 * np.outer(up, up)
    np.testing.assert_allclose(covariance.inverse_of_positive(near) @ near, np.eye(2), atol=1e-5)


def test_the_gradient_has_its_covariance_also_where_its_mean_is_not_zero(case):
    family, fixed, adaptive = case
    theta = family.truth + 0.4
    for mask in (fixed, adaptive):
        gradients, weights = [], []
        for row, block in enumerate(mask.sets):
            given = mask.given_state()[row]
            for x in range(16):
                same = enumeration.block_sum(np.eye(16)[x], block) * given * family.law(theta)
                mean = same @ family.statistics / same.sum()
                gradients.append(mean - family.statistics[x])
                weights.append(family.law()[x] * given[x])
        expected = np.cov(np.array(gradients).T, aweights=weights, ddof=0)
        measured = covariance.gradient_covariance(family, mask, theta, family.law())
        np.testing.assert_allclose(measured, expected, atol=1e-13)
        assert np.abs(np.array(weights) @ gradients).max() > 0.01


def test_contexts_that_rule_a_mask_out_leave_the_hessian_finite():
    family = family_of(ising.ising_on_graph(3, ising.complete_edges(3), 0.3, 0.2))
    up = enumeration.all_states(3)[:, 2] > 0
    weights = np.stack([np.full(8, 0.5), 0.5 * up, 0.5 * ~up])
    mask = masks.Masks(3, ((0, 1, 2), (0, 1), (1, 2)), weights)
    hessian = population_loss(family, mask).derivatives(family.truth[None])[2][0]
    by_formula = covariance.hessian_by_mask(family, mask).sum(axis=0)
    np.testing.assert_allclose(by_formula, hessian, atol=1e-13)


@pytest.mark.parametrize(
    "free", ["all", "tied", "couplings", "fields", "tied_coupling", "tied_field"]
)
def test_every_family_holds_its_model(free):
    model = ising.ising_on_graph(4, ising.cycle_edges(4), 0.4, 0.15)
    family = families.ising_family(model, free)
    counts = {"all": 8, "tied": 2, "couplings": 4, "fields": 4}
    assert family.parameters == len(family.truth) == counts.get(free, 1)
    np.testing.assert_allclose(family.law(), enumeration.exact_law(model), rtol=1e-13)


@pytest.mark.parametrize(
    ("free", "coupling", "field", "shared"),
    [
        ("tied", [0.1, 0.2], 0.0, "couplings"),
        ("tied_coupling", [0.1, 0.2], 0.0, "couplings"),
        ("tied", 0.1, [0.1, 0.2, 0.1], "fields"),
        ("tied_field", 0.1, [0.1, 0.2, 0.1], "fields"),
    ],
)
def test_unequal_numbers_cannot_be_tied(free, coupling, field, shared):
    model = ising.ising_on_graph(3, ising.path_edges(3), coupling, field)
    with pytest.raises(InputError, match=f"free is '{free}': the model's {shared} must be equal"):
        families.ising_family(model, free)
