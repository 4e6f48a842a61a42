"""Optimal mask distributions. Paper: section 2.2.2.

Over a fixed family of sets three criteria are convex or concave in the weights w:
    trace of H(w)^-1, with H(w) = sum_S w_S H_S: the asymptotic squared error (A-optimal design);
    smallest eigenvalue of I^(-1/2) H(w) I^(-1/2): the efficiency of the worst direction;
    spectral gap of sum_S w_S E_S: the speed of the block dynamics.
By theorem 6 the gap is at most the worst efficiency. Every search ends with a certificate: a
proven bound of the criterion over all weights on these sets.
"""

from dataclasses import dataclass

import numpy as np
import scipy.optimize

from padir.theory.covariance import hessian_by_mask, inverse_of_positive
from padir.theory.dynamics import mask_kernels
from padir.theory.enumeration import spin_count
from padir.theory.families import Family
from padir.theory.masks import Masks, Subsets

# Relative gaps to the proven bound that end a search: well within the 0.1% that the claims grant.
VARIANCE_TOLERANCE = 1e-6
EIGENVALUE_TOLERANCE = 1e-5
# Ends of a search that does not close its gap; the returned bound is proven all the same.
VARIANCE_ITERATIONS = 20_000
EIGENVALUE_ROUNDS = 400


@dataclass(frozen=True)
class Design:
    """Optimised weights, their criterion, and a proven bound of the criterion."""

    weights: np.ndarray
    value: float
    bound: float


def unit_hessians(family: Family, sets: Subsets) -> np.ndarray:
    """H_S of each set drawn with certainty, shape (M, P, P)."""
    uniform = Masks(family.spins, sets, np.full(len(sets), 1 / len(sets)))
    return hessian_by_mask(family, uniform) * len(sets)


def best_variance(hessians: np.ndarray) -> Design:
    """Weights with the smallest trace of H(w)^-1, by the multiplicative square-root rule.

    By convexity no weights go below 2 trace - max_S trace(H^-1 H_S H^-1).
    """
    weights = np.full(len(hessians), 1 / len(hessians))
    value = bound = 0.0
    for _ in range(VARIANCE_ITERATIONS):
        inverse = inverse_of_positive(np.einsum("s,spq->pq", weights, hessians))
        gains = np.einsum("pq,sqr,rp->s", inverse, hessians, inverse)
        value = float(np.trace(inverse))
        bound = 2 * value - float(gains.max())
        if value - bound < VARIANCE_TOLERANCE * value:
            break
        weights = weights * np.sqrt(np.maximum(gains, 0))
        weights /= weights.sum()
    return Design(weights, value, bound)


def best_smallest_eigenvalue(matrices: np.ndarray) -> Design:
    """Weights with the largest smallest eigenvalue of sum_S w_S A_S, by cutting planes.

    Each unit vector f gives a cut: the smallest eigenvalue is at most sum_S w_S <f, A_S f>. A
    linear programme over all cuts gives the proven upper bound.
    """
    count = len(matrices)
    cuts: list[np.ndarray] = []
    weights = np.full(count, 1 / count)
    best, best_weights, bound = -np.inf, weights, np.inf
    for _ in range(EIGENVALUE_ROUNDS):
        values, vectors = np.linalg.eigh(np.einsum("s,sxy->xy", weights, matrices))
        if values[0] > best:
            best, best_weights = float(values[0]), weights
        if bound - best < EIGENVALUE_TOLERANCE * best:
            break
        low = vectors[:, :4]
        cuts.extend(np.einsum("xf,sxf->fs", low, np.einsum("sxy,yf->sxf", matrices, low)))
        rows = np.concatenate([-np.array(cuts), np.ones((len(cuts), 1))], axis=1)
        solved = scipy.optimize.linprog(
            np.append(np.zeros(count), -1.0),
            A_ub=rows,
            b_ub=np.zeros(len(cuts)),
            A_eq=np.append(np.ones(count), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * count + [(None, None)],
        )
        bound = float(-solved.fun)
        # Halfway to the best weights so far: the corners of the programme oscillate.
        weights = 0.5 * solved.x[:count] + 0.5 * best_weights
        weights = np.maximum(weights, 0) / np.maximum(weights, 0).sum()
    return Design(best_weights, best, bound)


def gap_matrices(law: np.ndarray, sets: Subsets) -> np.ndarray:
    """1 - E_S for each set, in an orthonormal basis of L2(law), with eigenvalue 1 at constants.

    The smallest eigenvalue of their weighted sum is the spectral gap of the block dynamics.
    """
    uniform = Masks(spin_count(law), sets, np.full(len(sets), 1 / len(sets)))
    root = np.sqrt(law)
    projections = root[:, None] * mask_kernels(law, uniform) / root[None, :]
    return np.eye(law.size) - projections + np.outer(root, root)


def efficiency_matrices(hessians: np.ndarray, fisher: np.ndarray) -> np.ndarray:
    """I^(-1/2) H_S I^(-1/2) for each set.

    The smallest eigenvalue of their weighted sum is the efficiency of the worst parameter
    direction: 1 for maximum likelihood, never below the spectral gap.
    """
    inverse = np.linalg.inv(np.linalg.cholesky(fisher))
    return np.einsum("pq,sqr,tr->spt", inverse, hessians, inverse)
