"""Claims of propositions F (k-Gibbs is fast), G (independent parallel sampling is slow) and of
corollary H (separation). Paper: section 2.4.2."""

from typing import Any

import numpy as np

from padir.config.theory import SeparationCase
from padir.theory import regimes
from padir.theory.lumped import Clique, clique_gibbs, clique_parallel, hitting_curve
from padir.theory.regimes import UnequalClique
from padir.theory.runs import Claim, plain
from padir.theory.unequal_fields import fast_ratio, slow_enumerated

ROUNDING = 1 + 1e-9
Curves = list[dict[str, Any]]


def separation(case: SeparationCase) -> dict[str, Any]:
    """Exact probabilities of proposition G and corollary H, from the lumped chains."""
    model = Clique(case.spins, case.clique, case.coupling, case.field)
    kernel = clique_parallel(model)
    worst = (case.clique - 2) // 2
    starts = np.eye(case.clique + 1)
    return {
        **plain(regimes.regime(model, case.block_size, case.delta, case.steps)),
        "coupling": case.coupling,
        "field": case.field,
        "one_step": clique_gibbs(model, case.block_size)[:, case.clique].min(),
        "parallel_from_mode": hitting_curve(kernel, starts[0], case.clique, case.steps)[-1],
        "parallel_from_worst": hitting_curve(kernel, starts[worst], case.clique, case.steps)[-1],
        "slow": regimes.slow(model, kernel, np.arange(case.clique + 1) <= worst, case.delta),
    }


def fast_claim(curves: Curves, unequal: list[UnequalClique], delta: float, dataset: str) -> Claim:
    """Proposition F on the curves of figure 3 and on models with unequal fields."""
    fast = [c for c in curves if "step_bound" in c]
    below = all(c["step_bound"] <= c["exact_step"] + 1e-12 for c in fast)
    # A bound beyond the curve's last step cannot be compared with it.
    reached = all(
        c["steps_bound"] >= len(c["exact"]) or c["exact"][c["steps_bound"]] >= 1 - delta
        for c in fast
    )
    steps = "; ".join(
        f"{c['sampler']} J={c['coupling']:g}: bound {c['steps_bound']} steps, exact"
        f" {_exact_steps(c)}"
        for c in fast
    )
    ratio = min(map(fast_ratio, unequal))
    return Claim(
        "k_gibbs_is_fast",
        "2.4.2, appendix F",
        "With k at least the clique's size, k-Gibbs is in the larger mode within T steps with"
        f" probability 1 - delta (delta = {delta:g}).",
        "proposition in appendix F",
        f"{steps or 'no curve satisfies assumption 5'}; unequal fields: exact probability per step"
        f" over its bound at least {ratio:.6f}",
        "the bound per step is at most the exact worst case, also with unequal fields; wherever T"
        " is within the simulated steps, the exact probability at T is at least 1 - delta",
        bool(fast) and below and reached and ratio * ROUNDING >= 1,
        _with_unequal(dataset, unequal),
    )


def _exact_steps(curve: dict[str, Any]) -> str:
    """Steps until the exact curve is at 1 - delta, as far as it was computed."""
    steps = curve["steps_exact"]
    return f"more than {len(curve['exact']) - 1}" if steps is None else str(steps)


def slow_claim(
    curves: Curves,
    cases: list[dict[str, Any]],
    unequal: list[UnequalClique],
    delta: float,
    dataset: str,
) -> Claim:
    """Proposition G on the models of corollary H, whose promises are of a step or more, and on
    models with unequal fields; its bounds on the curves of figure 3, too."""
    parallel = [c for c in curves if "stay_exact" in c]
    enumerated = [slow_enumerated(model, delta) for model in unequal]
    lumped = [case["slow"] for case in cases]
    bounds = [
        *((s.exact, s.chernoff, s.hoeffding) for s in (*enumerated, *lumped)),
        *((c["stay_exact"], c["stay_chernoff"], c["stay_hoeffding"]) for c in parallel),
    ]
    return Claim(
        "independent_parallel_is_slow",
        "2.4.2, appendix G",
        "From sum(x_C) <= -2, independent parallel sampling stays there for T = delta / epsilon"
        " steps with probability 1 - delta.",
        "proposition in appendix G",
        "; ".join(
            f"N={c['spins']}, m={c['clique']}, J={c['coupling']:g}, delta={c['delta']:g}: T ="
            f" {s.hoeffding_steps} by Hoeffding's epsilon, {s.steps} by Chernoff's; leaves within"
            f" the latter with probability {s.leave:.2g}"
            for c, s in zip(cases, lumped, strict=True)
        )
        + f"; unequal fields, delta={delta:g}: T up to {max(s.steps for s in enumerated)}, leaves"
        f" with probability {max(s.leave for s in enumerated):.2g} at most; figure 3, epsilon"
        " exact, Chernoff, Hoeffding: "
        + ", ".join(
            f"J={c['coupling']:g} {c['stay_exact']:.2g}, {c['stay_chernoff']:.2g},"
            f" {c['stay_hoeffding']:.2g}"
            for c in parallel
        ),
        "T is 1 step or more by Chernoff's bound, and Hoeffding's epsilon below 1, in each model of"
        " the corollary; there and with unequal fields the exact probability to leave within T"
        " steps from the worst start is at most delta; in all models exact epsilon <= Chernoff's"
        " <= Hoeffding's",
        all(s.steps >= 1 and s.hoeffding < 1 for s in lumped)
        and all(s.leave <= c["delta"] for c, s in zip(cases, lumped, strict=True))
        and all(s.leave <= delta for s in enumerated)
        and all(
            exact <= chernoff * ROUNDING and chernoff <= hoeffding * ROUNDING
            for exact, chernoff, hoeffding in bounds
        ),
        _with_unequal(
            "; ".join(f"clique of {c['clique']} among {c['spins']} spins" for c in cases)
            + f"; {dataset}",
            unequal,
        ),
    )


def _with_unequal(dataset: str, unequal: list[UnequalClique]) -> str:
    return f"{dataset}; {len(unequal)} random models of 3 to 6 spins with unequal fields"


def separation_claim(cases: list[dict[str, Any]]) -> Claim:
    """Corollary H."""
    return Claim(
        "separation",
        "2.4.2, appendix H",
        "Under assumptions 5 to 7, with probability 1 - delta, k-Gibbs is in the larger mode after"
        " one step and independent parallel sampling does not visit it in M steps.",
        "corollary in appendix H",
        "; ".join(
            f"N={c['spins']}, m={c['clique']}, k={c['size']}: one step {c['one_step']:.4f},"
            f" parallel in {c['steps']} steps {c['parallel_from_mode']:.1g} (worst start"
            f" {c['parallel_from_worst']:.1g})"
            for c in cases
        ),
        "all assumptions hold; exact one-step probability at least 1 - delta/2 and exact visiting"
        " probability at most delta/2, from the worst start",
        all(
            c["assumption_5"]
            and c["assumption_6"]
            and c["assumption_7"]
            and c["one_step"] >= 1 - c["delta"] / 2
            and c["parallel_from_worst"] <= c["delta"] / 2
            for c in cases
        ),
        "; ".join(
            f"J = {c['coupling']:g}, h = {c['field']:g}, delta = {c['delta']:g}" for c in cases
        ),
    )
