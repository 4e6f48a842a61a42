"""Exact chains for hundreds of spins, on the number of plus spins in the clique.

With equal fields on the clique, every sampler of section 2.4 commutes with permutations of the
clique, which is independent of the other spins; so the clique's count is itself a Markov chain.
Used for figure 3 and beyond the reach of enumeration.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.special
import scipy.stats

from padir.files import InputError
from padir.theory.masks import check_size


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

    @property
    def fields(self) -> np.ndarray:
        """h of every spin, those of the clique first, shape (N,)."""
        return np.repeat([self.field, self.outside_field], [self.clique, self.spins - self.clique])

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
    check_size(size, spins)
    return _hypergeometric(spins, clique, size, np.arange(clique + 1))


def _hypergeometric(population: int, marked: int, drawn: int, u: np.ndarray) -> np.ndarray:
    """P(u marked among the drawn)."""
    return np.exp(
        log_binomial(marked, u)
        + log_binomial(population - marked, drawn - u)
        - log_binomial(population, drawn)
    )


def clique_block_update(model: Clique, selected: int) -> np.ndarray:
    """Resample s uniformly chosen clique spins jointly: kernel on the plus count, (m+1, m+1)."""
    m = model.clique
    kernel = np.zeros((m + 1, m + 1))
    v = np.arange(selected + 1)
    for plus in range(m + 1):
        for u, weight in enumerate(_hypergeometric(m, plus, selected, v)):
            if weight == 0:
                continue
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


def clique_parallel(model: Clique) -> np.ndarray:
    """Independent parallel sampling as a chain of the clique's plus count, shape (m+1, m+1)."""
    m = model.clique
    kernel = np.zeros((m + 1, m + 1))
    for plus in range(m + 1):
        # A plus spin has a - 1 plus neighbours, a minus spin has a.
        stay = scipy.special.expit(2 * (model.coupling * (2 * plus - m - 1) + model.field))
        rise = scipy.special.expit(2 * (model.coupling * (2 * plus - m + 1) + model.field))
        staying = scipy.stats.binom.pmf(np.arange(plus + 1), plus, stay)
        rising = scipy.stats.binom.pmf(np.arange(m - plus + 1), m - plus, rise)
        kernel[plus] = np.convolve(staying, rising)
    return kernel


def hitting_curve(kernel: np.ndarray, start: np.ndarray, target: int, steps: int) -> np.ndarray:
    """P(first visit of `target` <= t) from the initial law `start`, for t = 0..steps."""
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
