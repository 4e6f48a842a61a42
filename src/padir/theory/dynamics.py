"""Markov chains as exact transition matrices: kernels, Dirichlet forms, spectra, hitting times.

Paper: definitions 4, 5, 6, 8, 10 and 11, proposition C.3. Poincare inequalities are for functions
of x. On pairs (x, S) the block chain is not reversible, and the printed form E Var(f | x_{-S}, S)
vanishes for every function of S.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from padir.theory.enumeration import (
    MAX_KERNEL_SPINS,
    all_states,
    block_sum,
    check_enumerable,
    check_memory,
    conditional_mean,
    exact_law,
    spin_count,
)
from padir.theory.ising import Ising
from padir.theory.masks import Masks, uniform_masks


def _conditional_kernels(law: np.ndarray, masks: Masks) -> Iterator[np.ndarray]:
    """For each mask the kernel x -> y that resamples x_S given x_{-S} and S, shape (X, X)."""
    spins = spin_count(law)
    check_enumerable(spins, MAX_KERNEL_SPINS)
    numbers = np.arange(law.size)
    for block, weight in zip(masks.sets, masks.given_state(), strict=True):
        rest = numbers & ~sum(1 << (spins - 1 - i) for i in block)
        joint = law * weight
        total = block_sum(joint, block)
        conditional = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
        yield np.where(rest[:, None] == rest[None, :], conditional[None, :], 0.0)


def mask_kernels(law: np.ndarray, masks: Masks) -> np.ndarray:
    """The conditional kernels of all masks, shape (M, X, X)."""
    count = len(masks.sets)
    check_memory(
        f"{count} masks' transition matrices of {spin_count(law)} spins", count, law.size, law.size
    )
    return np.stack(list(_conditional_kernels(law, masks)))


def block_kernel(law: np.ndarray, masks: Masks) -> np.ndarray:
    """(Adaptive) weighted block dynamics on x, shape (X, X): draw S from p(S | x), resample x_S.

    Reversible with respect to the law, and positive semidefinite. Definitions 6 and 8.
    """
    kernel = np.zeros((law.size, law.size))
    for weight, step in zip(masks.given_state(), _conditional_kernels(law, masks), strict=True):
        kernel += weight[:, None] * step
    return kernel


def pair_kernel(law: np.ndarray, masks: Masks) -> np.ndarray:
    """Block dynamics on pairs (S, x), shape (M X, M X): resample x_S, then draw S' given x'."""
    given = masks.given_state()
    count, states = given.shape
    check_memory(f"the chain on pairs of {count} masks and {states} states", *given.shape * 2)
    steps = mask_kernels(law, masks)
    return np.einsum("mxy,ny->mxny", steps, given).reshape(count * states, count * states)


def pair_law(law: np.ndarray, masks: Masks) -> np.ndarray:
    """p(x) p(S | x) in the order of `pair_kernel`, shape (M X,)."""
    return (masks.given_state() * law).ravel()


def parallel_kernel(model: Ising) -> np.ndarray:
    """Independent parallel sampling: every spin from p(x_i | x_{-i}) at once. Definition 11."""
    check_enumerable(model.spins, MAX_KERNEL_SPINS)
    states = all_states(model.spins).astype(np.float64)
    local = model.local_field(states)
    log_normaliser = np.logaddexp(local, -local).sum(axis=1)
    return np.exp(local @ states.T - log_normaliser[:, None])


def parallel_law(model: Ising) -> np.ndarray:
    """Stationary law of independent parallel sampling: exp(h.x) prod_i cosh(local field i).

    The chain is Little's, reversible because J is symmetric. It answers footnote 13.
    """
    states = all_states(model.spins).astype(np.float64)
    local = model.local_field(states)
    log_weight = states @ model.field + (np.logaddexp(local, -local)).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    return weight / weight.sum()


def reversibility_defect(law: np.ndarray, kernel: np.ndarray) -> float:
    """Largest violation of detailed balance, |pi(x) P(x, y) - pi(y) P(y, x)|."""
    flow = law[:, None] * kernel
    return float(np.abs(flow - flow.T).max())


def stationarity_defect(law: np.ndarray, kernel: np.ndarray) -> float:
    """Largest entry of |pi P - pi|."""
    return float(np.abs(law @ kernel - law).max())


def dirichlet_form(
    law: np.ndarray, kernel: np.ndarray, f: np.ndarray, g: np.ndarray | None = None
) -> float:
    """1/2 sum_xy pi(x) P(x, y) (f(x) - f(y)) (g(x) - g(y)). Definition 4."""
    g = f if g is None else g
    steps = (f[:, None] - f[None, :]) * (g[:, None] - g[None, :])
    return 0.5 * float(np.sum(law[:, None] * kernel * steps))


def block_dirichlet_form(
    law: np.ndarray, masks: Masks, f: np.ndarray, g: np.ndarray | None = None
) -> float:
    """E over x and S of Cov(f, g | x_{-S}, S), for functions of x. Proposition C.3."""
    g = f if g is None else g
    total = 0.0
    for block, weight in zip(masks.sets, masks.given_state(), strict=True):
        joint = law * weight
        f_rest = f - conditional_mean(joint, f, block)
        g_rest = g - conditional_mean(joint, g, block)
        total += float(np.sum(joint * f_rest * g_rest))
    return total


def variance(law: np.ndarray, f: np.ndarray) -> float:
    """Var f under the law."""
    centred = f - law @ f
    return float(law @ centred**2)


def spectrum(law: np.ndarray, kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a reversible kernel, falling, and its eigenfunctions as columns (X, X).

    Eigenfunctions are orthonormal in L2 of the law.
    """
    root = np.sqrt(law)
    symmetric = root[:, None] * kernel / root[None, :]
    values, vectors = np.linalg.eigh((symmetric + symmetric.T) / 2)
    return values[::-1], vectors[:, ::-1] / root[:, None]


def spectral_gap(law: np.ndarray, kernel: np.ndarray) -> float:
    """1 - second eigenvalue. The Poincare constant (definition 5) is its reciprocal."""
    return float(1.0 - spectrum(law, kernel)[0][1])


def poincare_constant(law: np.ndarray, kernel: np.ndarray) -> float:
    """Smallest C with Var f <= C E(f, f) for all functions f of x."""
    return 1.0 / spectral_gap(law, kernel)


def block_gap_bound(spins: int, size: int, single_gap: float) -> float:
    """Lower bound of the gap of k-Gibbs from the gap of 1-Gibbs; at least k times the latter.

    With C_1 = 1 / (N gap_1), removing one of j coordinates contracts Var E[f | x_R] by
    1 - 1 / (C_1 j); the bound is the product over j = N-k+1..N.
    """
    remaining = 1.0
    for j in range(spins - size + 1, spins + 1):
        remaining *= 1.0 - single_gap * spins / j
    return 1.0 - remaining


def constants(model: Ising) -> dict[str, Any]:
    """Mode masses, field and coupling sums, smallest probability and the gap of 1-Gibbs."""
    law = exact_law(model)
    strengths = [model.coupling[edge] for edge in model.edges]
    values = {
        "spins": model.spins,
        "edges": len(model.edges),
        "all_plus": law[-1],
        "all_minus": law[0],
        "smallest_probability": law.min(),
        "field_sum": model.field.sum(),
        "field_norm": np.abs(model.field).sum(),
        "smallest_coupling": min(strengths, default=0.0),
        "largest_coupling": max(strengths, default=0.0),
    }
    if model.spins <= MAX_KERNEL_SPINS:
        values["gibbs_gap"] = spectral_gap(law, block_kernel(law, uniform_masks(model.spins, 1)))
    return values


def mean_hitting_time(kernel: np.ndarray, start: int, target: int | np.ndarray) -> float:
    """Exact mean steps from `start` until the first visit of a target, without subtractions.

    A linear solve loses all digits once the time passes about 1e12. Eliminating one state at a
    time with sums of positive terms only (Grassmann, Taksar and Heyman) keeps them.

    Args:
        kernel: transition matrix, shape (X, X).
        target: one state, or whether each state is a target, shape (X,).

    Returns:
        Infinity where double precision holds no way to a target.
    """
    reached = np.zeros(len(kernel), dtype=bool)
    reached[target] = True
    if reached[start]:
        return 0.0
    rest = np.flatnonzero(~reached)
    order = np.concatenate([[start], rest[rest != start]])
    # The targets are one state, the first: the states that are left are always a leading slice.
    move = np.zeros((len(order) + 1, len(order) + 1))
    move[1:, 0] = kernel[order][:, reached].sum(axis=1)
    move[1:, 1:] = kernel[np.ix_(order, order)]
    wait = np.ones(len(move))
    with np.errstate(divide="ignore", over="ignore"):
        for state in range(len(order), 1, -1):
            enter, leave = move[:state, state], move[state, :state].sum()
            entered = enter > 0
            wait[:state][entered] += enter[entered] * (wait[state] / leave)
            if leave > 0:
                move[:state, :state] += np.outer(enter, move[state, :state] / leave)
        return float(wait[1] / move[1, 0])
