"""Approximate tensorisation and finite-sample bounds. Numbers: derived in docs/theory.md."""

import numpy as np
import pytest

from padir.files import InputError
from padir.theory import dynamics, enumeration, generalisation, ising, masks, tensorisation
from padir.theory.experiments.tensorisation import truth_outside


def complete_law(n, coupling, field):
    return enumeration.exact_law(ising.ising_on_graph(n, ising.complete_edges(n), coupling, field))


@pytest.mark.parametrize(
    ("n", "coupling", "field", "k", "poincare", "searched", "proven"),
    [
        (2, 0.5, 0.0, 1, 3.718, 3.718, 9.47),
        (3, 0.5, 0.3, 1, 10.40, 12.10, 39.4),
        (3, 0.5, 0.3, 2, 3.297, 3.669, 12.5),
    ],
)
def test_the_searched_constant_lies_between_poincare_and_the_proven_one(
    n, coupling, field, k, poincare, searched, proven
):
    law, mask = complete_law(n, coupling, field), masks.uniform_masks(n, k)
    constant = dynamics.poincare_constant(law, dynamics.block_kernel(law, mask))
    assert constant == pytest.approx(poincare, abs=6e-3)
    lower, argument = tensorisation.tensorisation_lower_bound(law, mask, np.random.default_rng(0))
    assert lower == pytest.approx(searched, abs=6e-3)
    ratio = tensorisation.tensorisation_ratio(argument, law, mask)
    assert ratio == pytest.approx(lower, rel=1e-6)
    assert tensorisation.tensorisation_upper_bound(law, mask) == pytest.approx(proven, abs=5e-2)


def test_conditional_divergence_by_brute_force():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(8), 2)
    mask = masks.random_adaptive_masks(rng, 3, masks.all_subsets(3, 2))
    states = enumeration.all_states(3)
    expected = 0.0
    for block, given in zip(mask.sets, mask.weights, strict=True):
        rest = [i for i in range(3) if i not in block]
        for value in (-1, 1):
            here = states[:, rest[0]] == value
            joint_p, joint_q = (p * given)[here], (q * given)[here]
            expected += joint_p.sum() * enumeration.kl_divergence(
                joint_p / joint_p.sum(), joint_q / joint_q.sum()
            )
    divergence = tensorisation.conditional_divergence(p, q, mask)
    assert divergence == pytest.approx(expected, abs=1e-14)


def test_conditional_divergence_of_a_law_at_one_state():
    q = np.random.default_rng(0).dirichlet(np.ones(4))
    mask = masks.Masks(2, ((0,), (1,)), np.array([0.3, 0.7]))
    # State 1 is (-, +): given its second spin state 3 is the other, given its first state 0.
    expected = -0.3 * np.log(q[1] / (q[1] + q[3])) - 0.7 * np.log(q[1] / (q[1] + q[0]))
    divergence = tensorisation.conditional_divergence(np.eye(4)[1], q, mask)
    assert divergence == pytest.approx(expected, rel=1e-12)


def test_the_proven_constant_of_one_spin_is_continuous_at_a_fair_one():
    # One step forgets everything, so that the Poincare constant is 1.
    mask = masks.uniform_masks(1, 1)
    for up in (0.5, 0.49995, 0.4999, 0.499):
        bound = tensorisation.tensorisation_upper_bound(np.array([up, 1 - up]), mask)
        assert bound == pytest.approx(2, abs=1e-4)


def test_product_laws_attain_n_over_k():
    law = complete_law(3, 0.0, 0.4)
    for k in (1, 2):
        mask = masks.uniform_masks(3, k)
        lower, _ = tensorisation.tensorisation_lower_bound(law, mask, np.random.default_rng(0))
        assert lower == pytest.approx(3 / k, rel=1e-4)


def test_no_law_breaks_the_proven_constant_and_steps_contract():
    rng = np.random.default_rng(1)
    for adaptive in (False, True):
        for _ in range(60):
            law = enumeration.exact_law(ising.random_ising(rng, 3, ising.complete_edges(3)))
            sets = masks.all_subsets(3, 2)
            mask = (
                masks.random_adaptive_masks(rng, 3, sets)
                if adaptive
                else masks.Masks(3, sets, rng.dirichlet(np.ones(3)))
            )
            kernel = dynamics.block_kernel(law, mask)
            upper = tensorisation.tensorisation_upper_bound(law, mask)
            r = rng.dirichlet(np.full(8, 0.3)) + 1e-9
            r /= r.sum()
            assert tensorisation.tensorisation_ratio(r, law, mask) <= upper
            before = enumeration.kl_divergence(r, law)
            assert enumeration.kl_divergence(r @ kernel, law) <= (1 - 1 / upper) * before


@pytest.fixture(name="laws", scope="module")
def grid_laws():
    return np.stack(
        [complete_law(3, j, h) for j in np.linspace(0, 0.5, 6) for h in (-0.2, 0.0, 0.2)]
    )


def test_kl_form_of_the_loss_by_brute_force(laws):
    rng = np.random.default_rng(0)
    grid = generalisation.Grid(laws, masks.uniform_masks(3, 2))
    drawn = grid.draw(rng, laws[4], 40, 2)
    empirical = drawn.sum(axis=0) / drawn.sum()
    expected = 0.0
    for row, block in enumerate(grid.masks.sets):
        for x in range(8):
            rest = [i for i in range(3) if i not in block]
            states = enumeration.all_states(3)
            here = np.all(states[:, rest] == states[x, rest], axis=1)
            p, q = empirical * here, laws[7] * here
            if drawn[row, x]:
                expected += drawn[row, x] * enumeration.kl_divergence(p / p.sum(), q / q.sum())
    assert grid.losses(drawn)[1][7] == pytest.approx(expected / drawn.sum(), abs=1e-13)


def test_every_sample_is_drawn_with_as_many_masks_by_their_weights(laws):
    mask = masks.Masks(3, ((0, 1), (1, 2)), np.array([0.25, 0.75]))
    drawn = generalisation.Grid(laws, mask).draw(np.random.default_rng(0), laws[4], 2000, 3)
    assert drawn.sum() == 6000
    assert not np.any(drawn.sum(axis=0) % 3)
    # Four standard deviations of a share of 6,000 draws.
    assert drawn[0].sum() / 6000 == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 6000))


def test_log_loss_counts_every_drawn_mask(laws):
    grid = generalisation.Grid(laws, masks.uniform_masks(3, 1))
    drawn = np.zeros((3, 8))
    drawn[1, 5] = 2.0
    conditional = laws[:, 5] / (laws[:, 5] + laws[:, 7])
    np.testing.assert_allclose(grid.losses(drawn)[0], -np.log(conditional), rtol=1e-12)


def test_bounds_cover_and_fall_with_samples(laws):
    grid = generalisation.Grid(laws, masks.uniform_masks(3, 2))
    outside = complete_law(3, 0.3, 0.35)
    means = []
    for samples in (500, 50_000):
        for truth, realizable in ((laws[10], True), (outside, False)):
            result = generalisation.coverage(
                np.random.default_rng(0), grid, truth, samples, 4, 0.1, 200
            )
            assert result.covered["model_free"] >= 0.9
            assert result.covered["uniform"] >= 0.9
            assert result.covered["paper"] >= 0.9
            if realizable:
                assert result.covered["realizable"] >= 0.9
                means.append(result.model_free.mean())
                assert result.paper.min() > 1
    assert means[1] < means[0]
    assert means[1] < 1


def test_each_trial_is_judged_by_its_own_fit(laws):
    samples, delta, truth, mask = 300, 0.1, laws[0], masks.uniform_masks(3, 1)
    grid = generalisation.Grid(laws, mask)
    # Small constants, so that laws far from the truth break the bound.
    grid.constants *= 1e-3
    result = generalisation.coverage(np.random.default_rng(3), grid, truth, samples, 2, delta, 20)
    setting = generalisation.Setting(samples, 2, delta, grid.log_margin, len(laws), 8, 3)
    constants = [1e-3 * tensorisation.tensorisation_upper_bound(law, mask) for law in laws]
    distances = [enumeration.total_variation(law, truth) for law in laws]
    rng, best_by_kl, held = np.random.default_rng(3), 0, []
    for trial in range(20):
        log_loss, kl_loss = grid.losses(grid.draw(rng, truth, samples, 2))
        best = min(range(len(laws)), key=lambda cell: log_loss[cell])
        best_by_kl += best == np.argmin(kl_loss)
        assert result.distance[trial] == pytest.approx(distances[best])
        assert result.loss[trial] == kl_loss[best]
        bounds = [setting.model_free(c, loss) for c, loss in zip(constants, kl_loss, strict=True)]
        assert result.model_free[trial] == pytest.approx(bounds[best])
        assert result.realizable[trial] == pytest.approx(setting.realizable(constants[best]))
        assert result.paper[trial] == pytest.approx(setting.paper(constants[best], kl_loss[best]))
        held.append(all(d <= bound for d, bound in zip(distances, bounds, strict=True)))
        assert result.uniform[trial] == held[-1]
    assert best_by_kl < 20
    assert result.covered["model_free"] == 1 > result.covered["uniform"] == np.mean(held)


def test_generalisation_bounds_equal_those_by_hand():
    # 1000 samples with 4 masks, delta 0.1, 99 cells, 3 spins, beta = 1/e: logs of 1980 and 7920.
    setting = generalisation.Setting(1000, 4, 0.1, 1.0, 99, 8, 3)
    masks_term = np.sqrt(np.log(1980) / 8000)
    data_term = 0.5 * np.sqrt(0.008) + np.sqrt(np.log(20) / 2000)
    expected = np.sqrt(2 * (0.05 + masks_term)) + data_term
    assert setting.model_free(4.0, 0.05) == pytest.approx(expected, rel=1e-14)
    assert setting.realizable(4.0) == pytest.approx(np.sqrt(4 * np.sqrt(np.log(1980) / 2000)))
    fluctuation = np.sqrt(512 * 8 * 99 / 0.4) + np.sqrt(np.log(7920) / 2000)
    paper = np.sqrt(2 * (0.05 + fluctuation)) + np.sqrt(512 / 800)
    assert setting.paper(4.0, 0.05) == pytest.approx(paper, rel=1e-14)
    # All fluctuations scale with log(1 / beta).
    wider = generalisation.Setting(1000, 4, 0.1, 2.0, 99, 8, 3)
    assert wider.realizable(4.0) == pytest.approx(np.sqrt(2) * setting.realizable(4.0))


def test_a_bound_without_its_fluctuation_would_fail(laws):
    # Negative control: the loss alone does not cover, so coverage is not free.
    grid = generalisation.Grid(laws, masks.uniform_masks(3, 2))
    result = generalisation.coverage(np.random.default_rng(0), grid, laws[10], 200, 1, 0.1, 200)
    assert np.mean(result.distance <= np.sqrt(0.5 * result.loss)) < 0.9


def test_adaptive_grids_are_refused(laws):
    mask = masks.random_adaptive_masks(np.random.default_rng(0), 3, masks.all_subsets(3, 1))
    with pytest.raises(InputError, match="independent of the state"):
        generalisation.Grid(laws, mask)


@pytest.mark.parametrize("spins", [2, 3, 4])
def test_no_grid_holds_the_truth_outside(spins):
    truth = enumeration.exact_law(truth_outside(spins, 0.4))
    edges = ising.complete_edges(spins)
    distances = [
        enumeration.total_variation(
            truth, enumeration.exact_law(ising.ising_on_graph(spins, edges, coupling, field))
        )
        for coupling in (*np.linspace(-1, 1, 41), *np.linspace(0.1, 0.6, len(edges)))
        for field in np.linspace(-1, 1, 41)
    ]
    assert min(distances) > 0.01
