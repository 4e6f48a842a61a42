"""Block approximate tensorisation of entropy. Paper: definition 9.

C_AT(q) is the least constant with
    KL(r || q) <= C_AT(q) * E over x ~ r, S ~ p(S | x) of KL(r(. | x_{-S}, S) || q(. | x_{-S}, S))
for all r. It belongs to q, the second argument: in theorem 4 that is the fitted model.
"""

import math

import numpy as np
import scipy.optimize
import scipy.special

from padir.theory.dynamics import block_kernel, poincare_constant, spectrum
from padir.theory.enumeration import block_sum, kl_divergence
from padir.theory.masks import Masks

STARTS = 12
"""Starts of the search for the largest ratio, which has local maxima: four tilts, else random."""


def _block_log_ratios(r: np.ndarray, q: np.ndarray, masks: Masks) -> np.ndarray:
    """sum_S p(S | x) log of R_S / Q_S, the ratio of block totals, shape (2^N,)."""
    total = np.zeros_like(q)
    for block, weight in zip(masks.sets, masks.given_state(), strict=True):
        above, below = block_sum(r * weight, block), block_sum(q * weight, block)
        seen = (above > 0) & (weight > 0)
        ratio = np.log(np.where(seen, above, 1.0) / np.where(seen, below, 1.0))
        total += weight * ratio
    return total


def conditional_divergence(r: np.ndarray, q: np.ndarray, masks: Masks) -> float:
    """E over x ~ r, S ~ p(S | x) of KL(r(. | x_{-S}, S) || q(. | x_{-S}, S)), in nats."""
    return kl_divergence(r, q) - float(r @ _block_log_ratios(r, q, masks))


def tensorisation_ratio(r: np.ndarray, q: np.ndarray, masks: Masks) -> float:
    """KL(r || q) over the conditional divergence: a lower bound of C_AT(q)."""
    return kl_divergence(r, q) / conditional_divergence(r, q, masks)


def tensorisation_lower_bound(
    q: np.ndarray, masks: Masks, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Largest ratio of a local search, a lower bound of C_AT(q), and the law that attains it.

    Starts: q tilted along the slowest eigenfunction, whose ratio tends to the Poincare constant,
    and random laws.
    """
    _, functions = spectrum(q, block_kernel(q, masks))
    slow = functions[:, 1]
    logits = [np.log(q) + tilt * slow for tilt in (0.3, -0.3, 1.5, -1.5)]
    while len(logits) < STARTS:
        logits.append(np.log(q) + rng.normal(0, 2.0, q.size))

    def negative(log_r: np.ndarray) -> tuple[float, np.ndarray]:
        r = scipy.special.softmax(log_r)
        ratio = np.log(r / q)
        blocks = _block_log_ratios(r, q, masks)
        whole, parts = float(r @ ratio), float(r @ (ratio - blocks))
        slope = ratio / whole - (ratio - blocks) / parts
        return -math.log(whole / parts), -r * (slope - r @ slope)

    best, argument = -math.inf, q
    for start in logits:
        result = scipy.optimize.minimize(
            negative,
            start - start.max(),
            jac=True,
            method="L-BFGS-B",
            bounds=[(-25.0, 25.0)] * q.size,
            options={"maxiter": 300},
        )
        if -result.fun > best:
            best, argument = -float(result.fun), scipy.special.softmax(result.x)
    return math.exp(best), argument


def tensorisation_upper_bound(q: np.ndarray, masks: Masks) -> float:
    """A proven bound of C_AT(q): C_P log(1 / q_min - 1) / (1 - 2 q_min).

    From Var sqrt(f) <= Ent f and Diaconis and Saloff-Coste's log-Sobolev constant of the star:
    KL(r || q) is at most that factor times Var_q sqrt(r / q), hence times C_P E(sqrt, sqrt),
    and the conditional variance of a root is at most the conditional entropy.
    """
    smallest = float(q.min())
    factor = 2.0 if smallest > 0.4999 else math.log(1 / smallest - 1) / (1 - 2 * smallest)
    return poincare_constant(q, block_kernel(q, masks)) * factor
