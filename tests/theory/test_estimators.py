"""Fits: maximum likelihood at k = N, population minimisers, local conditionals, data."""

import numpy as np
import pytest

from padir.files import InputError
from padir.theory import covariance, enumeration, estimators, families, ising, local, masks

CYCLE = ising.ising_on_graph(6, ising.cycle_edges(6), 0.3, 0.2)


def test_k_equal_n_is_maximum_likelihood():
    family = families.ising_family(CYCLE)
    mask = masks.uniform_masks(6, 6)
    counts = estimators.draw_counts(np.random.default_rng(0), family.law(), mask, 500, 3)
    fitted = estimators.fit(family, mask, counts)
    assert fitted.converged.all()
    # Moment matching characterises maximum likelihood in an exponential family.
    for theta, count in zip(fitted.theta, counts[:, 0], strict=True):
        moments = family.law(theta) @ family.statistics
        np.testing.assert_allclose(moments, count @ family.statistics / 500, atol=1e-9)


def test_averaged_and_one_mask_agree_at_k_equal_n():
    family = families.ising_family(CYCLE)
    mask = masks.uniform_masks(6, 6)
    fits = [
        estimators.fit(
            family,
            mask,
            estimators.draw_counts(np.random.default_rng(4), family.law(), mask, 800, 2, scheme),
        ).theta
        for scheme in ("one_mask", "averaged")
    ]
    np.testing.assert_allclose(fits[0], fits[1], atol=1e-9)


def test_averaged_masks_count_each_sample_by_their_weights():
    law = families.ising_family(CYCLE).law()
    mask = masks.Masks(6, ((0, 1, 2), (3, 4, 5)), np.array([0.25, 0.75]))
    counts = estimators.draw_counts(np.random.default_rng(0), law, mask, 100, 2, "averaged")
    np.testing.assert_array_equal(counts[:, 1], 3 * counts[:, 0])
    np.testing.assert_allclose(counts.sum(axis=(1, 2)), 100)


@pytest.mark.parametrize("scheme", ["one_mask", "averaged"])
def test_only_ratios_of_the_law_count(scheme):
    law, mask = families.ising_family(CYCLE).law(), masks.uniform_masks(6, 5)
    whole, half = (
        estimators.draw_counts(np.random.default_rng(0), weights, mask, 100, 2, scheme)
        for weights in (law, law / 2)
    )
    np.testing.assert_array_equal(whole, half)


def test_steps_that_are_far_too_long_are_cut_short():
    # A known field of 5 that the parameter has to cancel: the loss is nearly straight at 0.
    family = families.Family(np.array([[-1.0], [1.0]]), np.array([-5.0, 5.0]), np.zeros(1))
    counts = np.array([[[50.0, 50.0]], [[1.0, np.exp(10)]]])
    fitted = estimators.fit(family, masks.uniform_masks(1, 1), counts)
    assert fitted.converged.all()
    np.testing.assert_allclose(fitted.theta[:, 0], [-5, 0], atol=1e-8)


def test_a_parameter_that_changes_nothing_stays_at_0():
    family = families.Family(np.array([[-1.0, 0.0], [1.0, 0.0]]), np.zeros(2), np.zeros(2))
    fitted = estimators.fit(family, masks.uniform_masks(1, 1), np.array([[[30.0, 70.0]]]))
    assert fitted.converged.all()
    assert fitted.theta[0] == pytest.approx([0.5 * np.log(7 / 3), 0], abs=1e-9)


def test_population_minimiser_is_the_truth_unless_the_mask_is_left_out():
    rng = np.random.default_rng(1)
    family = families.ising_family(ising.random_ising(rng, 3, ising.complete_edges(3)))
    adaptive = masks.random_adaptive_masks(rng, 3, masks.all_subsets(3, 2))
    counts = estimators.population_counts(family.law(), adaptive)
    correct = estimators.fit(family, adaptive, counts).theta[0]
    naive = estimators.fit(family, adaptive, counts, naive=True).theta[0]
    np.testing.assert_allclose(correct, family.truth, atol=1e-8)
    assert np.linalg.norm(naive - family.truth) > 1e-2


def test_masks_that_some_contexts_rule_out_change_nothing_of_the_fit():
    # p(S | x) = 0 for all x_S in some context, which definition 7 allows.
    family = families.ising_family(ising.ising_on_graph(3, ising.complete_edges(3), 0.3, 0.2))
    up = enumeration.all_states(3)[:, 2] > 0
    weights = np.stack([np.full(8, 0.5), 0.5 * up, 0.5 * ~up])
    mask = masks.Masks(3, ((0, 1, 2), (0, 1), (1, 2)), weights)
    counts = estimators.population_counts(family.law(), mask)
    loss = estimators.MaskedLoss(family, mask, counts)
    value, gradient, hessian = loss.derivatives(family.truth[None])
    assert np.isfinite(value).all() and np.abs(gradient).max() < 1e-12
    assert np.linalg.eigvalsh(hessian).min() > 0.1
    fitted = estimators.fit(family, mask, counts)
    assert fitted.converged.all()
    np.testing.assert_allclose(fitted.theta[0], family.truth, atol=1e-8)


def test_the_estimate_of_one_free_spin_is_half_its_log_odds():
    # One free spin: the estimate is the log-odds over two.
    family = families.Family(np.array([[-1.0], [1.0]]), np.zeros(2), np.zeros(1))
    mask = masks.uniform_masks(1, 1)
    fitted = estimators.fit(family, mask, np.array([[[30.0, 70.0]]]))
    assert fitted.theta[0, 0] == pytest.approx(0.5 * np.log(7 / 3), abs=1e-9)
    # Its next step would be short, but its gradient has not vanished.
    near = estimators.fit(family, mask, np.array([[[30.0, 70.0]]]), max_iterations=2)
    assert near.gradient_norm[0] < 1e-3 and not near.converged.any()


def test_mean_error_matches_the_asymptotic_trace():
    family = families.ising_family(CYCLE)
    samples, trials = 8000, 400
    for k in (1, 3):
        mask = masks.uniform_masks(6, k)
        counts = estimators.draw_counts(
            np.random.default_rng(k), family.law(), mask, samples, trials
        )
        error = np.sum((estimators.fit(family, mask, counts).theta - family.truth) ** 2, axis=1)
        theory = np.trace(covariance.information(family, mask).asymptotic()) / samples
        noise = error.std(ddof=1) / trials**0.5
        # Four standard errors, and 3% for the bias that vanishes with the sample size.
        assert abs(error.mean() - theory) < 4 * noise + 0.03 * theory


def test_separable_data_are_reported_as_not_converged():
    family = families.Family(np.array([[-1.0], [1.0]]), np.zeros(2), np.zeros(1))
    mask = masks.uniform_masks(1, 1)
    counts = np.array([[[0.0, 10.0]]])
    for iterations in (5, 60):
        fitted = estimators.fit(family, mask, counts, max_iterations=iterations)
        assert not fitted.converged.any()


def test_the_loss_is_convex_at_random_parameters():
    rng = np.random.default_rng(6)
    for _ in range(10):
        model = ising.random_ising(rng, 4, ising.complete_edges(4))
        family = families.ising_family(model)
        for mask in (
            masks.uniform_masks(4, 2),
            masks.random_adaptive_masks(rng, 4, masks.all_subsets(4, 2)),
        ):
            counts = estimators.draw_counts(rng, family.law(), mask, 100, 3)
            loss = estimators.MaskedLoss(family, mask, counts)
            theta = rng.normal(0, 1.5, (3, family.parameters))
            value, gradient, hessian = loss.derivatives(theta)
            assert np.linalg.eigvalsh(hessian).min() > -1e-10
            # Independent of the Hessian: the loss lies above its tangent.
            other = theta + rng.normal(0, 1.0, theta.shape)
            tangent = value + np.einsum("tp,tp->t", gradient, other - theta)
            assert np.all(loss.value(other) >= tangent - 1e-12)


def test_bad_data_are_refused():
    family = families.ising_family(CYCLE)
    mask = masks.uniform_masks(6, 1)
    for samples, trials in ((0, 1), (1, 0)):
        with pytest.raises(InputError, match=f"samples {samples} and trials {trials} must be at"):
            estimators.draw_counts(np.random.default_rng(0), family.law(), mask, samples, trials)
    with pytest.raises(InputError, match="without samples"):
        estimators.fit(family, mask, np.stack([np.zeros((6, 64)), np.ones((6, 64))]))
    wide = families.Family(np.zeros((4096, 400)), np.zeros(4096), np.zeros(400))
    with pytest.raises(InputError, match=r"products of 400 statistics .* need 4\.883 GiB"):
        estimators.MaskedLoss(wide, masks.uniform_masks(12, 12), np.ones((1, 1, 4096)))
    adaptive = masks.random_adaptive_masks(np.random.default_rng(0), 6, mask.sets)
    with pytest.raises(InputError, match="independent of the state"):
        estimators.draw_counts(np.random.default_rng(0), family.law(), adaptive, 10, 1, "averaged")


def local_case(k, samples=300):
    rng = np.random.default_rng(k)
    model = ising.random_ising(rng, 6, ising.cycle_edges(6), 0.4, 0.3)
    spins = enumeration.exact_sample(rng, enumeration.exact_law(model), samples)
    return model, spins, local.random_subsets(rng, samples, 6, k)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_local_loss_equals_the_enumerated_one(k):
    model, spins, chosen = local_case(k)
    family = families.ising_family(model)
    mask = masks.uniform_masks(6, k)
    rows = [mask.sets.index(tuple(block)) for block in chosen.tolist()]
    counts = np.zeros((1, len(mask.sets), 64))
    states = (spins > 0) @ (2 ** np.arange(5, -1, -1))
    np.add.at(counts[0], (rows, states), 1)
    theta = family.truth + 0.2
    value, gradient = local.LocalLoss(spins, chosen, model.edges)(theta)
    expected, slope, _ = estimators.MaskedLoss(family, mask, counts).derivatives(theta[None])
    assert value == pytest.approx(expected[0], abs=1e-12)
    np.testing.assert_allclose(gradient, slope[0], atol=1e-12)
    if k > 1:
        fitted = local.fit_local(spins, chosen, model.edges)
        direct = estimators.fit(family, mask, counts).theta[0]
        theta = np.concatenate([fitted.field, fitted.coupling])
        np.testing.assert_allclose(theta, direct, atol=1e-4)


def test_a_local_fit_of_two_hundred_spins_is_as_precise_as_its_samples_allow():
    rng = np.random.default_rng(0)
    n, samples = 200, 1500
    spins = local.sample_cycle(rng, np.full(n, 0.1), np.full(n, 0.2), samples)
    fitted = local.fit_local(spins, local.random_subsets(rng, samples, n, 10), ising.cycle_edges(n))
    assert fitted.gradient_norm < 1e-6
    # Each field is predicted 75 times, each time worth less than 4 units of variance.
    assert np.sum((fitted.field - 0.1) ** 2) < n * 4 / 75


def test_blocks_too_large_and_separable_data_are_refused():
    with pytest.raises(InputError, match="k is 7: allowed is 1 to 6"):
        local.random_subsets(np.random.default_rng(0), 5, 6, 7)
    spins = np.ones((3, 20), dtype=np.int8)
    with pytest.raises(InputError, match=r"2\^15 local states"):
        local.LocalLoss(spins, np.tile(np.arange(15), (3, 1)), ising.cycle_edges(20))
    largest = local.LocalLoss(spins, np.tile(np.arange(14), (3, 1)), ising.cycle_edges(20))
    assert len(largest.local) == 2**14
    separable = np.ones((50, 6), dtype=np.int8)
    chosen = local.random_subsets(np.random.default_rng(0), 50, 6, 2)
    with pytest.raises(InputError, match="separable"):
        local.fit_local(separable, chosen, ising.cycle_edges(6))


def test_a_local_fit_that_stops_short_of_its_bound_is_refused(monkeypatch):
    model, spins, chosen = local_case(3)
    monkeypatch.setattr(local, "GRADIENT_BOUND", 1e-30)
    with pytest.raises(InputError, match=r"no minimum \(gradient .*, allowed 1e-30\)"):
        local.fit_local(spins, chosen, model.edges)


def test_random_subsets_are_uniform():
    chosen = local.random_subsets(np.random.default_rng(0), 60_000, 5, 2)
    counts = np.unique(chosen @ np.array([10, 1]), return_counts=True)[1]
    assert len(counts) == 10
    assert np.all(np.abs(counts - 6000) < 5 * np.sqrt(6000))


def test_chain_samples_follow_the_law():
    rng = np.random.default_rng(0)
    field, bonds = rng.normal(0, 0.4, 4), rng.normal(0, 0.6, 4)
    edges = [(0, 1), (1, 2), (2, 3), (0, 3)]
    law = enumeration.exact_law(ising.ising_on_graph(4, edges, bonds.tolist(), field.tolist()))
    size = 200_000
    counts = np.bincount(
        (local.sample_cycle(rng, field, bonds, size) > 0) @ np.array([8, 4, 2, 1]), minlength=16
    )
    assert np.all(np.abs(counts - size * law) < 5 * np.sqrt(size * law))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 0)], "self-loops"),
        ([(0, 1), (1, 0)], "is listed twice"),
        ([(0, 7)], "vertices are 0 to 3"),
    ],
)
def test_local_loss_refuses_edges_of_no_simple_graph(edges: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        local.LocalLoss(np.ones((2, 4)), np.zeros((2, 1), dtype=int), edges)


def test_local_loss_refuses_bad_samples_and_masks() -> None:
    for wrong in (np.nan, np.inf, 0.0, 2.0):
        one_wrong = np.ones((2, 4))
        one_wrong[1, 2] = wrong
        with pytest.raises(InputError, match=f"samples: found {wrong:g}; allowed are -1 and 1"):
            local.LocalLoss(one_wrong, np.zeros((2, 1), dtype=int), [(0, 1)])
    with pytest.raises(InputError, match="masks: one names a spin twice"):
        local.LocalLoss(np.ones((2, 4)), np.array([[0, 1], [3, 3]]), [(0, 1)])
    for outside, named in ((4, "0 to 4"), (-1, "-1 to 0")):
        with pytest.raises(InputError, match=f"masks name spins {named}: allowed are 0 to 3"):
            local.LocalLoss(np.ones((2, 4)), np.array([[0], [outside]]), [(0, 1)])
    with pytest.raises(InputError, match=r"coupling is .*: must be 3 finite numbers"):
        local.sample_cycle(np.random.default_rng(0), np.zeros(3), np.array([1.0, np.inf, 0.0]), 2)
    with pytest.raises(InputError, match=r"coupling is \[1.0, 1.0\]: must be 3 finite numbers"):
        local.sample_cycle(np.random.default_rng(0), np.zeros(3), np.ones(2), 2)
