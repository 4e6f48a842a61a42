"""Assumptions 5 to 7 and the propositions of appendices E to H. Numbers: derived in
docs/theory.md."""

import numpy as np
import pytest

from padir.files import InputError
from padir.theory import dynamics, enumeration, ising, lumped, regimes


def test_the_margins_of_the_modes_proposition_hold_on_an_enumerated_model():
    n, m, j, h = 6, 4, 0.8, 0.2
    law = enumeration.exact_law(ising.clique_model(n, m, j, h, -0.1))
    states = enumeration.all_states(n)
    total = states[:, :m].sum(axis=1)
    modes, rest = np.abs(total) == m, np.abs(total) < m
    ratio = np.log(law[modes].min() / law[rest].max())
    model = lumped.Clique(n, m, j, h, -0.1)
    assert 2 * regimes.coupling_margin(model) == pytest.approx(2.8)
    # 3.6 from the clique alone, less 0.4 between the best and the worst outside spins.
    assert ratio == pytest.approx(3.2)
    plus, minus = law[total == m], law[total == -m]
    np.testing.assert_allclose(plus / minus, np.exp(2 * regimes.field_gap(model)))
    assert regimes.field_gap(model) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("model", "k", "step", "bound", "exact"),
    [
        ((10, 4, 1.0, 0.1), 7, 0.1092, 26, 24),
        ((20, 8, 0.6, 0.05), 14, 0.0151, 197, 179),
        ((30, 10, 0.4, 0.05), 25, 0.0316, 94, 36),
    ],
)
def test_steps_of_the_bound_suffice_to_reach_the_mode(model, k, step, bound, exact):
    clique = lumped.Clique(*model)
    probability = regimes.fast_step_probability(clique, k)
    assert probability == pytest.approx(step, abs=5e-5)
    assert regimes.steps_with_confidence(probability, 0.05) == bound
    kernel = lumped.clique_gibbs(clique, k)
    assert kernel[:, clique.clique].min() >= probability
    curve = lumped.hitting_curve(kernel, np.eye(clique.clique + 1)[0], clique.clique, bound)
    assert int(np.argmax(curve >= 0.95)) == exact


def test_a_certain_step_is_one_step():
    probability = regimes.fast_step_probability(lumped.Clique(6, 6, 10.0, 4.0), 6)
    assert probability == 1
    assert regimes.steps_with_confidence(probability, 0.05) == 1


def test_cover_probability_by_counting():
    assert regimes.covers_clique(6, 2, 3) == pytest.approx(4 / 20)
    assert regimes.covers_clique(6, 4, 3) == 0.0


def test_blocks_smaller_than_the_clique_are_rejected():
    with pytest.raises(InputError, match=r"k is 3: .*at least the clique's 4"):
        regimes.fast_step_probability(lumped.Clique(10, 4, 1.0, 0.1), 3)
    with pytest.raises(InputError, match="assumption 5 fails"):
        regimes.fast_step_probability(lumped.Clique(10, 4, 1.0, -0.1), 7)
    with pytest.raises(InputError, match=r"h_G is 4, J_0 is -3\.7, both > 0"):
        regimes.fast_step_probability(lumped.Clique(10, 4, 0.1, 1.0), 7)


@pytest.mark.parametrize(
    ("m", "j", "h", "hoeffding", "tight", "sech", "exact"),
    [
        (8, 1.0, 0.1, 0.419, 0.128, 0.0562, 0.00199),
        (12, 2.0, 0.16, 0.0250, 0.0044, 7.8e-7, 1.5e-9),
        (24, 2.0, 0.1, 1.1e-4, 1.7e-5, 1.6e-13, 1.6e-19),
    ],
)
def test_bounds_on_leaving_are_ordered_above_the_exact_probability(
    m, j, h, hoeffding, tight, sech, exact
):
    model = lumped.Clique(m, m, j, h)
    # For even m the sum must reach 0 to leave, which sharpens Hoeffding's bound.
    tau = m * np.tanh(j - h)
    bounds = [
        regimes.stay_failure_hoeffding(model),
        np.exp(-(tau**2) / (2 * m)),
        regimes.stay_failure_chernoff(model),
        regimes.stay_failure_exact(model),
    ]
    assert bounds == pytest.approx([hoeffding, tight, sech, exact], rel=0.03)
    assert 1 / np.cosh(j - h) ** m == pytest.approx(bounds[2], rel=1e-9)
    assert sorted(bounds, reverse=True) == bounds


@pytest.mark.parametrize(("m", "j", "h"), [(3, 0.5, 0.1), (5, 0.8, 0.0), (7, 1.0, -0.2)])
def test_chernoffs_bound_of_an_odd_clique_has_its_closed_form(m, j, h):
    # The others sum to -2 at most: each spin has the field w = h - 2 J, and the sum has to be -1.
    # The best rate has m tanh(w + rate) = -1.
    w = h - 2 * j
    rate = -w - np.arctanh(1 / m)
    expected = (np.cosh(w + rate) / np.cosh(w)) ** m * np.exp(rate)
    bound = regimes.stay_failure_chernoff(lumped.Clique(m, m, j, h))
    assert bound == pytest.approx(expected, rel=1e-6)


def test_without_a_drift_the_bounds_on_leaving_are_1():
    model = lumped.Clique(6, 6, 0.1, 1.0)
    assert regimes.stay_failure_hoeffding(model) == regimes.stay_failure_chernoff(model) == 1
    # A drift of 0.8 does not keep a sum of -2 from being left.
    assert regimes.stay_failure_hoeffding(lumped.Clique(4, 4, 0.5, 0.3)) == 1


@pytest.mark.parametrize(
    ("failure", "steps"), [(0.02, 2), (0.06, 0), (1e-300, 10**15), (0.0, 10**15)]
)
def test_promised_steps_are_whole_and_finite(failure, steps):
    assert regimes.slow_steps(failure, 0.05) == steps


def test_the_worst_start_is_the_one_next_to_leaving():
    rng = np.random.default_rng(0)
    for _ in range(40):
        m = int(rng.integers(3, 13))
        model = lumped.Clique(m, m, float(rng.uniform(0.1, 2)), float(rng.uniform(0, 0.1)))
        kernel = lumped.clique_parallel(model)
        worst = (m - 2) // 2
        escapes = [kernel[a, worst + 1 :].sum() for a in range(worst + 1)]
        assert max(escapes) == pytest.approx(regimes.stay_failure_exact(model))
        assert regimes.stay_failure_exact(model) <= regimes.stay_failure_chernoff(model) + 1e-12


def test_stay_failure_bounds_cover_the_enumerated_chain():
    rng = np.random.default_rng(1)
    for _ in range(15):
        m, h = int(rng.integers(3, 7)), float(rng.uniform(-0.2, 0.3))
        j = float(rng.uniform(0.4, 1.2))
        model = lumped.Clique(m, m, j, h)
        kernel = dynamics.parallel_kernel(ising.clique_model(m, m, j, h))
        leaves = enumeration.all_states(m).sum(axis=1) > -2
        worst = kernel[np.ix_(~leaves, leaves)].sum(axis=1).max()
        assert worst <= regimes.stay_failure_chernoff(model) + 1e-12
        assert worst <= regimes.stay_failure_hoeffding(model) + 1e-12


def test_in_the_separation_regime_blocks_reach_the_mode_and_parallel_updates_do_not():
    model = lumped.Clique(300, 12, 2.0, 0.16)
    regime = regimes.regime(model, 299, 0.2, 1000)
    assert (regime.assumption_5, regime.assumption_6, regime.assumption_7) == (True, True, True)
    assert 1000 * regime.stay_failure == pytest.approx(7.8e-4, rel=0.01)
    assert lumped.clique_gibbs(model, 299)[:, 12].min() == pytest.approx(0.940, abs=5e-4)
    kernel = lumped.clique_parallel(model)
    assert lumped.hitting_curve(kernel, np.eye(13)[0], 12, 1000)[-1] < 1e-97
    assert lumped.hitting_curve(kernel, np.eye(13)[5], 12, 1000)[-1] < 2e-9


@pytest.mark.parametrize(
    ("coupling", "field", "steps", "holds"),
    [
        (2.0, 0.16, 100_000, True),
        (2.0, 0.16, 200_000, False),  # steps * epsilon passes delta / 2
        (2.0, 0.15, 1000, False),  # e^(-2 h_G) passes delta / 8
        (0.7, 0.16, 0, False),  # (2^m - 2) e^(-2 J_0) passes delta / 8
        (0.8, 0.16, 0, True),
    ],
)
def test_each_condition_of_assumption_6_can_fail(coupling, field, steps, holds):
    model = lumped.Clique(300, 12, coupling, field)
    regime = regimes.regime(model, 299, 0.2, steps)
    assert regime.assumption_5
    assert regime.assumption_6 == holds


@pytest.mark.parametrize(("delta", "holds"), [(0.41, True), (0.39, False)])
def test_assumption_7_asks_for_one_minus_a_quarter_of_delta(delta, holds):
    # One spin of 20 stays out of the block: it is in the clique of 2 with probability 0.1.
    regime = regimes.regime(lumped.Clique(20, 2, 2.0, 0.1), 19, delta, 1)
    assert regime.covers_clique == pytest.approx(0.9)
    assert regime.assumption_7 == holds


@pytest.mark.parametrize(
    ("coupling", "field", "holds"), [(2.0, 0.1, True), (2.0, -0.1, False), (0.1, 1.0, False)]
)
def test_assumption_5_asks_for_a_gap_and_a_margin(coupling, field, holds):
    regime = regimes.regime(lumped.Clique(6, 6, coupling, field), 6, 0.1, 1)
    assert regime.assumption_5 == holds


def test_a_strongly_negative_field_fails_assumptions_5_and_6():
    regime = regimes.regime(lumped.Clique(200, 100, 0.3, -4.0), 150, 0.05, 10)
    assert regime.field_gap == pytest.approx(-400)
    assert (regime.assumption_5, regime.assumption_6) == (False, False)


def test_hoeffdings_bound_has_a_separation_regime_too():
    model = lumped.Clique(1000, 40, 1.5, 0.05)
    assert 1000 * regimes.stay_failure_hoeffding(model) == pytest.approx(6e-4, rel=0.05)
    assert regimes.regime(model, 999, 0.2, 1000).assumption_7
    assert lumped.clique_gibbs(model, 999)[:, 40].min() == pytest.approx(0.943, abs=5e-4)


def test_assumption_7_forces_nearly_exact_sampling():
    small = regimes.regime(lumped.Clique(30, 12, 2.0, 0.16), 29, 0.2, 1000)
    assert small.covers_clique == pytest.approx(1 - 12 / 30)
    assert not small.assumption_7
    assert regimes.regime(lumped.Clique(30, 12, 2.0, 0.16), 30, 0.2, 1000).assumption_7


def test_bad_models_and_sizes_are_refused():
    for k in (0, 31):
        with pytest.raises(InputError, match=f"k is {k}: allowed is 1 to 30"):
            regimes.regime(lumped.Clique(30, 12, 2.0, 0.16), k, 0.2, 1000)
    with pytest.raises(InputError, match="coupling is nan: must be finite"):
        lumped.Clique(30, 12, float("nan"), 0.16)
    with pytest.raises(InputError, match="outside_field is inf: must be finite"):
        lumped.Clique(30, 12, 2.0, 0.16, float("inf"))
