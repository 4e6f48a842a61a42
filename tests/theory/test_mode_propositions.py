"""Propositions E to G: exact probabilities on lumped and enumerated chains, and their claims."""

from dataclasses import replace

import numpy as np
import pytest

from padir.config.theory import CliquePanel, Errata, SeparationCase
from padir.theory import mode_propositions, regimes, unequal_fields
from padir.theory.experiments import errata, mode_reaching
from padir.theory.lumped import Clique, clique_gibbs, clique_parallel, hitting_curve

CURVES = [
    {
        "sampler": "parallel", "coupling": 0.5, "stay_exact": 0.12, "stay_chernoff": 0.63,
        "stay_hoeffding": 0.99,
    }
]  # fmt: skip
PANEL = CliquePanel().model_dump()


def cliques() -> list[unequal_fields.UnequalClique]:
    return unequal_fields.random_cliques(np.random.default_rng(0), 40)


def errata_claim(name: str) -> bool:
    claims = errata._bound_claims(Errata(), np.random.default_rng(0))
    return bool(next(claim.passed for claim in claims if claim.id == name))


def scaled(monkeypatch, function: str, factor: float) -> None:
    original = getattr(regimes, function)
    monkeypatch.setattr(regimes, function, lambda *a: factor * original(*a))


def test_random_cliques_satisfy_assumption_5_with_unequal_fields():
    models = cliques()
    assert all(regimes.field_gap(m) > 0 and regimes.coupling_margin(m) > 0 for m in models)
    assert all(len(set(m.fields)) == m.spins for m in models)
    assert any(m.fields[: m.clique].min() < 0 for m in models)
    assert {m.clique % 2 for m in models} == {0, 1}
    assert {m.spins for m in models} == {3, 4, 5, 6}
    assert {m.clique == m.spins for m in models} == {True, False}


def test_the_probability_to_leave_equals_step_by_step_absorption():
    model = Clique(12, 6, 0.5, 0.1)
    kernel, below = clique_parallel(model), np.arange(7) <= 2
    inner, stays = kernel[:3, :3], np.ones(3)
    for steps in range(6):
        leaves = regimes.leave_probability(kernel, below, steps)
        assert leaves == pytest.approx(1 - stays.min(), abs=1e-14)
        stays = inner @ stays
    one_step = pytest.approx(regimes.stay_failure_exact(model), rel=1e-12)
    assert regimes.leave_probability(kernel, below, 1) == one_step
    assert regimes.slow(model, kernel, below, 0.05).exact == one_step


def test_a_tiny_probability_to_leave_keeps_its_digits():
    kernel = np.array([[1.0, 1e-25], [0.5, 0.5]])
    leaves = regimes.leave_probability(kernel, np.array([True, False]), 10**12)
    assert leaves == pytest.approx(1e-13, rel=1e-6)


def test_the_models_of_the_corollary_are_promised_steps_and_stay_for_them():
    slow = mode_propositions.separation(SeparationCase())["slow"]
    assert (slow.hoeffding_steps, slow.steps) == (8, 255_689)
    assert slow.exact == pytest.approx(1.527e-9, rel=1e-3)
    # Within one step most chains are in the smaller mode, which is much harder to leave.
    assert slow.exact < slow.leave < 1.001 * slow.exact


@pytest.mark.parametrize(
    ("bound", "value"),
    [(None, None), ("hoeffding", 1.0), ("hoeffding", 1e-100), ("chernoff", 1e-100)],
)
def test_the_claim_on_slow_sampling_fails_with_a_wrong_bound(monkeypatch, bound, value):
    if bound:
        monkeypatch.setattr(regimes, f"stay_failure_{bound}", lambda model: value)
    cases = [mode_propositions.separation(SeparationCase())]
    claim = mode_propositions.slow_claim(CURVES, cases, cliques(), 0.05, "")
    assert bool(claim.passed) == (bound is None)


@pytest.mark.parametrize(
    ("models", "changes", "passed"),
    [
        ("corollary", {}, True),
        ("corollary", {"leave": 0.3}, False),
        ("corollary", {"steps": 0}, False),
        ("corollary", {"hoeffding": 1.0}, False),
        ("unequal fields", {}, True),
        ("unequal fields", {"leave": 0.06}, False),
        ("unequal fields", {"exact": 1.1}, False),
    ],
)
def test_the_claim_on_slow_sampling_needs_chains_that_stay(monkeypatch, models, changes, passed):
    case = mode_propositions.separation(SeparationCase(delta=0.2))
    if models == "corollary":
        case["slow"] = replace(case["slow"], **changes)
    else:
        monkeypatch.setattr(
            mode_propositions,
            "slow_enumerated",
            lambda *given: replace(unequal_fields.slow_enumerated(*given), **changes),
        )
    claim = mode_propositions.slow_claim(CURVES, [case], cliques(), 0.05, "")
    assert claim.passed == passed


@pytest.mark.parametrize(
    ("bound", "value"),
    [(None, None), ("hoeffding", 1e-100), ("chernoff", 1e-100), ("chernoff", 1.0)],
)
def test_the_claim_on_hoeffdings_rate_fails_with_a_wrong_bound(monkeypatch, bound, value):
    if bound:
        monkeypatch.setattr(regimes, f"stay_failure_{bound}", lambda model: value)
    assert errata_claim("hoeffding_rate") == (bound is None)


@pytest.mark.parametrize(
    ("constant", "factor"), [("field_gap", 1), ("field_gap", 1.01), ("coupling_margin", 1.02)]
)
def test_the_claim_on_modes_fails_with_a_larger_constant(monkeypatch, constant, factor):
    scaled(monkeypatch, constant, factor)
    assert errata_claim("modes") == (factor == 1)


def test_the_larger_mode_is_as_much_likelier_as_its_fields_say():
    for model in cliques():
        to_rest, to_smaller = unequal_fields.mode_slack(model)
        assert to_rest > 0
        assert to_smaller == pytest.approx(0, abs=1e-13)


FAST = {
    "sampler": "6-Gibbs", "coupling": 0.5, "step_bound": 0.9, "exact_step": 0.95,
    "steps_bound": 2, "steps_exact": 2, "exact": np.array([0.0, 0.5, 0.96, 0.99]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "passed"),
    [
        ({}, True),
        ({"steps_exact": None, "exact": np.array([0.0, 0.1, 0.2, 0.3])}, False),
        ({"exact_step": 0.85}, False),
        # A bound beyond the curve's last step cannot be compared with it.
        ({"steps_bound": 9}, True),
    ],
)
def test_the_claim_on_fast_sampling_fails_if_the_bound_is_violated(changed, passed):
    claim = mode_propositions.fast_claim([{**FAST, **changed}], cliques(), 0.05, "")
    assert claim.passed == passed


def test_without_a_curve_the_claim_on_fast_sampling_is_not_reproduced():
    claim = mode_propositions.fast_claim(CURVES, cliques(), 0.05, "")
    assert not claim.passed
    assert claim.measured.startswith("no curve satisfies assumption 5;")


@pytest.mark.parametrize(("steps", "said"), [(2, "exact 2;"), (None, "exact more than 3;")])
def test_the_claim_on_fast_sampling_says_how_far_the_curve_was_computed(steps, said):
    claim = mode_propositions.fast_claim([FAST | {"steps_exact": steps}], cliques(), 0.05, "")
    assert f"6-Gibbs J=0.5: bound 2 steps, {said}" in claim.measured


def test_the_claim_on_fast_sampling_covers_unequal_fields(monkeypatch):
    scaled(monkeypatch, "covers_clique", 1.001)
    assert not mode_propositions.fast_claim([FAST], cliques(), 0.05, "").passed


def test_the_mean_time_is_that_of_covering_the_clique_at_strong_coupling_only():
    share = mode_reaching._share_of_covering
    assert share(PANEL, 0.02, 9) == pytest.approx(30.51 / 296.82, rel=1e-3)
    assert share(PANEL, 0.7, 9) == pytest.approx(14.02 / 14.39, rel=1e-3)
    assert share(PANEL, 3.0, 9) == pytest.approx(1, abs=1e-5)
    assert share(PANEL, 0.02, 12) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(("factor", "passed"), [(1, True), (1.01, False), (0.98, False)])
def test_the_claim_on_peaky_models_compares_with_the_covering_time(monkeypatch, factor, passed):
    curves = [
        {"sampler": "k", "k": 6, "coupling": j, "mean_time": time}
        for j, time in ((0.3, 25.3), (0.5, 172.0), (0.7, 738.0))
    ]
    scaled(monkeypatch, "covers_clique", factor)
    claim = mode_reaching._coupling_claims([{"curves": curves, "settings": PANEL}])[1]
    assert claim.passed == passed


@pytest.mark.parametrize(
    ("changes", "passed"),
    [
        ({}, True),
        *(({f"assumption_{number}": False}, False) for number in (5, 6, 7)),
        ({"one_step": 0.89}, False),
        ({"parallel_from_worst": 0.11}, False),
        # From the mode alone it is no corollary about every start.
        ({"parallel_from_mode": 0.11}, True),
    ],
)
def test_the_corollary_needs_its_assumptions_and_both_probabilities(changes, passed):
    case = {
        "spins": 300, "clique": 12, "size": 299, "steps": 9, "coupling": 2.0, "field": 0.1,
        "delta": 0.2, "one_step": 0.9, "parallel_from_mode": 0.0, "parallel_from_worst": 0.1,
        "assumption_5": True, "assumption_6": True, "assumption_7": True,
    }  # fmt: skip
    claim = mode_propositions.separation_claim([case, case | changes])
    assert claim.passed == passed


def test_the_corollary_s_probabilities_are_those_of_the_worst_starts():
    case = SeparationCase(spins=8, clique=4, block_size=6, coupling=0.5, steps=3)
    made = mode_propositions.separation(case)
    model = Clique(8, 4, 0.5, case.field)
    parallel, gibbs = clique_parallel(model), clique_gibbs(model, 6)
    for name, start in (("parallel_from_mode", 0), ("parallel_from_worst", 1)):
        assert made[name] == hitting_curve(parallel, np.eye(5)[start], 4, 3)[-1]
    assert made["one_step"] == min(gibbs[:, 4]) < max(gibbs[:, 4])
    assert made["parallel_from_mode"] < made["parallel_from_worst"]
