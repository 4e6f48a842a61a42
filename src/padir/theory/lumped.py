"""Exact chains for hundreds of spins: clique count times outside count.

With equal fields on the clique and equal fields outside, every sampler of section 2.4 commutes
with permutations of the clique and of the outside, so (a, b) = (plus spins in the clique, plus
spins outside) is itself a Markov chain; and the clique's count alone is one too, as the clique
is independent of the rest. Used for figure 3 and wherever enumeration ends.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.special
import scipy.stats

from padir.files import InputError


@dataclass(frozen=True)
class Clique:
    """Equation 6 with equal fields.

    Attributes:
        spins: N.
        clique: m, the clique's size, 2 to N.
        coupling: J inside the clique.
        field: h on the clique.
        outside_field: h outside.
    """

    spins: int
    clique: int
    coupling: float
    field: float
    outside_field: float = 0.0

    def __post_init__(self) -> None:
        if not 2 <= self.clique <= self.spins:
            raise InputError(
                f"clique of {self.clique} among {self.spins} spins: allowed is 2 to {self.spins}"
            )
        for name in ("coupling", "field", "outside_field"):
            if not math.isfinite(getattr(self, name)):
                raise InputError(f"{name} is {getattr(self, name)}: must be finite")

    def log_energy(self, plus: np.ndarray) -> np.ndarray:
        """Log-weight of one clique configuration with that many plus spins."""
        total = 2.0 * np.asarray(plus) - self.clique
        return self.coupling * (total**2 - self.clique) / 2 + self.field * total

    def law(self) -> np.ndarray:
        """Law of the clique's number of plus spins, shape (m + 1,)."""
        plus = np.arange(self.clique + 1)
        return scipy.special.softmax(self.log_energy(plus) + log_binomial(self.clique, plus))


def log_binomial(n: int | np.ndarray, k: np.ndarray | int) -> np.ndarray:
    """log C(n, k); -inf outside 0 <= k <= n."""
    n, k = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64))
    inside = (k >= 0) & (k <= n)
    safe = np.where(inside, k, 0.0)
    value = (
        scipy.special.gammaln(n + 1)
        - scipy.special.gammaln(safe + 1)
        - scipy.special.gammaln(n - safe + 1)
    )
    return np.where(inside, value, -np.inf)


def selected_in_clique(spins: int, clique: int, size: int) -> np.ndarray:
    """P(|S and clique| = s) for a uniform k-subset S, shape (m + 1,)."""
    if not 1 <= size <= spins:
        raise InputError(f"k is {size}: allowed is 1 to {spins}")
    s = np.arange(clique + 1)
    return np.exp(
        log_binomial(clique, s) + log_binomial(spins - clique, size - s) - log_binomial(spins, size)
    )


def _hypergeometric(population: int, marked: int, drawn: int) -> np.ndarray:
    """P(u marked among the drawn) for u = 0..drawn."""
    u = np.arange(drawn + 1)
    return np.exp(
        log_binomial(marked, u)
        + log_binomial(population - marked, drawn - u)
        - log_binomial(population, drawn)
    )


def clique_block_update(model: Clique, selected: int) -> np.ndarray:
    """Resample s uniformly chosen clique spins jointly: kernel on the plus count, (m+1, m+1)."""
    m = model.clique
    kernel = np.zeros((m + 1, m + 1))
    for plus in range(m + 1):
        for u, weight in enumerate(_hypergeometric(m, plus, selected)):
            if weight == 0:
                continue
            v = np.arange(selected + 1)
            new = plus - u + v
            kernel[plus, new] += weight * scipy.special.softmax(
                model.log_energy(new) + log_binomial(selected, v)
            )
    return kernel


def clique_gibbs(model: Clique, size: int) -> np.ndarray:
    """k-Gibbs as a chain of the clique's plus count, shape (m+1, m+1)."""
    weights = selected_in_clique(model.spins, model.clique, size)
    return sum(
        (w * clique_block_update(model, s) for s, w in enumerate(weights) if w > 0),
        np.zeros((model.clique + 1, model.clique + 1)),
    )


def _sum_of_binomials(first: int, p: float, second: int, q: float) -> np.ndarray:
    one = scipy.stats.binom.pmf(np.arange(first + 1), first, p)
    two = scipy.stats.binom.pmf(np.arange(second + 1), second, q)
    return np.convolve(one, two)


def clique_parallel(model: Clique) -> np.ndarray:
    """Independent parallel sampling as a chain of the clique's plus count, shape (m+1, m+1)."""
    m = model.clique
    kernel = np.zeros((m + 1, m + 1))
    for plus in range(m + 1):
        # A plus spin sees a - 1 plus neighbours, a minus spin sees a.
        stay = scipy.special.expit(2 * (model.coupling * (2 * plus - m - 1) + model.field))
        rise = scipy.special.expit(2 * (model.coupling * (2 * plus - m + 1) + model.field))
        kernel[plus] = _sum_of_binomials(plus, stay, m - plus, rise)
    return kernel


def outside_update(model: Clique, selected: int) -> np.ndarray:
    """Resample that many outside spins: kernel on the outside plus count, (r+1, r+1)."""
    rest = model.spins - model.clique
    up = scipy.special.expit(2 * model.outside_field)
    kernel = np.zeros((rest + 1, rest + 1))
    fresh = scipy.stats.binom.pmf(np.arange(selected + 1), selected, up)
    for plus in range(rest + 1):
        for u, weight in enumerate(_hypergeometric(rest, plus, selected)):
            if weight > 0:
                kernel[plus, plus - u : plus - u + selected + 1] += weight * fresh
    return kernel


def joint_gibbs(model: Clique, size: int) -> np.ndarray:
    """k-Gibbs on (clique count, outside count), shape ((m+1)(r+1),) * 2, clique count slowest."""
    weights = selected_in_clique(model.spins, model.clique, size)
    states = (model.clique + 1) * (model.spins - model.clique + 1)
    kernel = np.zeros((states, states))
    for s, weight in enumerate(weights):
        if weight > 0:
            kernel += weight * np.kron(
                clique_block_update(model, s), outside_update(model, size - s)
            )
    return kernel


def joint_parallel(model: Clique) -> np.ndarray:
    """Independent parallel sampling on (clique count, outside count)."""
    return np.kron(clique_parallel(model), outside_update(model, model.spins - model.clique))


def hitting_curve(kernel: np.ndarray, start: np.ndarray, target: int, steps: int) -> np.ndarray:
    """P(first visit of `target` <= t) for t = 0..steps, shape (steps + 1,).

    Args:
        start: initial law.
    """
    absorbing = kernel.copy()
    absorbing[target] = 0.0
    absorbing[target, target] = 1.0
    law = np.asarray(start, dtype=np.float64).copy()
    curve = np.empty(steps + 1)
    curve[0] = law[target]
    for t in range(1, steps + 1):
        law = law @ absorbing
        curve[t] = law[target]
    return curve


def mean_hitting_time(kernel: np.ndarray, start: int, target: int) -> float:
    """Mean steps until the first visit of `target`, by elimination without subtractions.

    A linear solve loses all digits once the time passes about 1e12; eliminating one state at a
    time with sums of positive terms only (Grassmann, Taksar & Heyman) keeps them.
    """
    if start == target:
        return 0.0
    order = [start, *(i for i in range(len(kernel)) if i not in (start, target)), target]
    move = kernel[np.ix_(order, order)].copy()
    wait = np.ones(len(order))
    # State 0 is the start, the last one the target; both stay, the others are eliminated.
    keep = [0, len(order) - 1]
    for gone in range(len(order) - 2, 0, -1):
        others = [*range(gone), len(order) - 1]
        leave = move[gone, others].sum()
        into = move[others, gone].copy()
        move[np.ix_(others, others)] += np.outer(into / leave, move[gone, others])
        wait[others] += into * wait[gone] / leave
    return float(wait[0] / move[0, keep[1]])
