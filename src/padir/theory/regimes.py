"""Regimes of section 2.4.2, with the bounds of the paper's propositions.

Assumptions 5 to 7, propositions E (modes), F (k-Gibbs is fast), G (independent parallel sampling is
slow) and the separation corollary H, for equation 6: a clique of m spins with coupling J > 0 and
fields h, the other spins independent. docs/theory.md derives the constants, which the paper leaves
open.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.optimize

from padir.files import InputError
from padir.theory.lumped import Clique, clique_parallel, log_binomial
from padir.theory.masks import check_size


@dataclass(frozen=True)
class UnequalClique:
    """Equation 6 with any fields.

    Attributes:
        clique: m, the size of the clique, which is on the first spins.
        coupling: J inside the clique.
        fields: h, shape (N,).
    """

    clique: int
    coupling: float
    fields: np.ndarray

    @property
    def spins(self) -> int:
        """Number of spins N."""
        return len(self.fields)


AnyClique = Clique | UnequalClique


@dataclass(frozen=True)
class Regime:
    """Constants of one model, for one k, failure probability and step budget.

    Attributes:
        field_gap: h_G, the sum of the clique's fields (assumption 5 asks for > 0).
        coupling_margin: J_0 = (m - 1) J - |h|_1 over all spins (assumption 5 asks for > 0).
        covers_clique: P(clique inside S) for a uniform k-subset, 0 if k < m.
        stay_failure: bound of the probability per step that independent parallel sampling leaves
            sum(x_C) <= -2.
        assumption_5, assumption_6, assumption_7: whether each holds.
    """

    spins: int
    clique: int
    size: int
    delta: float
    steps: int
    field_gap: float
    coupling_margin: float
    covers_clique: float
    stay_failure: float
    assumption_5: bool
    assumption_6: bool
    assumption_7: bool


def field_gap(model: AnyClique) -> float:
    """h_G: the sum of the clique's fields."""
    return float(model.fields[: model.clique].sum())


def coupling_margin(model: AnyClique) -> float:
    """J_0 = (m - 1) J - |h|_1, with the fields of all spins."""
    return (model.clique - 1) * model.coupling - float(np.abs(model.fields).sum())


def covers_clique(spins: int, clique: int, size: int) -> float:
    """P(clique inside S) = C(N-m, k-m) / C(N, k). Equation F.40."""
    check_size(size, spins)
    log_share = log_binomial(spins - clique, size - clique) - log_binomial(spins, size)
    return float(np.exp(log_share))


def fast_step_probability(model: AnyClique, size: int) -> float:
    """Proposition F: from any state one k-Gibbs step lands in R1 with at least this probability.

    Raises:
        InputError: k < m, where the proposition is empty, or assumption 5 fails.
    """
    if size < model.clique:
        raise InputError(
            f"k is {size}: the bound needs k of at least the clique's {model.clique}, as no"
            " smaller block can resample the clique jointly"
        )
    gap, margin = field_gap(model), coupling_margin(model)
    if gap <= 0 or margin <= 0:
        raise InputError(f"assumption 5 fails: h_G is {gap:.4g}, J_0 is {margin:.4g}, both > 0")
    crowd = math.exp(math.log(2**model.clique - 2) - 2 * margin)
    return covers_clique(model.spins, model.clique, size) / (1 + math.exp(-2 * gap) + crowd)


def steps_with_confidence(step_probability: float, delta: float) -> int:
    """Steps after which an event of that probability per step has happened with 1 - delta."""
    if step_probability >= 1:
        return 1
    return math.ceil(math.log(delta) / math.log1p(-step_probability))


def stay_failure_hoeffding(model: AnyClique) -> float:
    """Proposition G's route: exp(-(tau - 2)^2 / (2 m)) with tau = sum tanh(J - h_i); 1 if vacuous.

    Never below exp(-m / 2), however strong the coupling.
    """
    tau = float(np.tanh(model.coupling - model.fields[: model.clique]).sum())
    return math.exp(-((tau - 2) ** 2) / (2 * model.clique)) if tau > 2 else 1.0


def stay_failure_chernoff(model: AnyClique) -> float:
    """inf over lambda of E exp(lambda (sum - threshold)), at the largest local fields.

    With m even the sum is even: the other spins sum to -1 at most, and leaving means sum >= 0. With
    m odd the sum is at most -3, the others sum to -2 at most, and leaving means sum >= -1.
    """
    odd = model.clique % 2
    worst = model.fields[: model.clique] - (1 + odd) * model.coupling
    threshold = -float(odd)

    def exponent(rate: float) -> float:
        growth = np.logaddexp(worst + rate, -worst - rate) - np.logaddexp(worst, -worst)
        return float(growth.sum()) - rate * threshold

    best = scipy.optimize.minimize_scalar(
        exponent,
        bounds=(0.0, 2 * float(np.abs(worst).max()) + 1),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return math.exp(min(0.0, float(best.fun)))


def stay_failure_exact(model: Clique) -> float:
    """Probability to leave sum <= -2 in one step from its worst state (equal fields)."""
    worst = (model.clique - 2) // 2
    return float(clique_parallel(model)[worst, worst + 1 :].sum())


def slow_steps(stay_failure: float, delta: float) -> int:
    """Steps for which sum <= -2 persists with probability 1 - delta (proposition G)."""
    return math.floor(min(delta / stay_failure, 1e15)) if stay_failure > 0 else 10**15


def leave_probability(kernel: np.ndarray, inside: np.ndarray, steps: int) -> float:
    """P(a chain leaves a set within so many steps) from the worst start in the set.

    The powers are sums of positive terms only, so that a small probability keeps its digits.

    Args:
        kernel: transition matrix, shape (X, X).
        inside: whether each state is in the set, shape (X,).
    """
    left = kernel[np.ix_(inside, ~inside)].sum(axis=1)
    absorbing = np.block([[kernel[np.ix_(inside, inside)], left[:, None]], [0 * left, 1.0]])
    return float(np.linalg.matrix_power(absorbing, steps)[:-1, -1].max())


@dataclass(frozen=True)
class Slow:
    """Proposition G on one model.

    Attributes:
        exact: probability to leave sum(x_C) <= -2 in one step, from the worst start.
        chernoff, hoeffding: bounds of it.
        steps, hoeffding_steps: steps T that Chernoff's bound promises, and Hoeffding's.
        leave: exact probability to leave within `steps`, from the worst start.
    """

    exact: float
    chernoff: float
    hoeffding: float
    steps: int
    hoeffding_steps: int
    leave: float


def slow(model: AnyClique, kernel: np.ndarray, below: np.ndarray, delta: float) -> Slow:
    """Proposition G against an exact chain.

    Args:
        kernel: transition matrix of independent parallel sampling, shape (X, X).
        below: whether sum(x_C) <= -2 in each state, shape (X,).
    """
    chernoff, hoeffding = stay_failure_chernoff(model), stay_failure_hoeffding(model)
    steps = slow_steps(chernoff, delta)
    return Slow(
        exact=leave_probability(kernel, below, 1),
        chernoff=chernoff,
        hoeffding=hoeffding,
        steps=steps,
        hoeffding_steps=slow_steps(hoeffding, delta),
        leave=leave_probability(kernel, below, steps),
    )


def regime(model: Clique, size: int, delta: float, steps: int) -> Regime:
    """Constants of a model and which of assumptions 5 to 7 it satisfies."""
    gap, margin = field_gap(model), coupling_margin(model)
    failure = stay_failure_chernoff(model)
    cover = covers_clique(model.spins, model.clique, size)
    # A capped exponent is far above delta / 8 all the same.
    crowd = math.exp(min(700.0, math.log(2**model.clique - 2) - 2 * margin))
    smaller_mode = math.exp(min(700.0, -2 * gap))
    strong = max(smaller_mode, crowd) <= delta / 8 and steps * failure <= delta / 2
    return Regime(
        spins=model.spins,
        clique=model.clique,
        size=size,
        delta=delta,
        steps=steps,
        field_gap=gap,
        coupling_margin=margin,
        covers_clique=cover,
        stay_failure=failure,
        assumption_5=gap > 0 and margin > 0,
        assumption_6=strong,
        assumption_7=cover >= 1 - delta / 4,
    )
