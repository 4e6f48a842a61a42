"""k-pseudolikelihood for hundreds of spins: only the 2^k states of each mask are enumerated.

Paper: section 2.1, on conditionals of small sets. Exact samples come from transfer matrices.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.optimize
import scipy.special

from padir.files import InputError
from padir.theory.ising import check_edges
from padir.theory.masks import MAX_BLOCK, check_size

GRADIENT_BOUND = 1e-6
"""Largest entry of the gradient at a minimum: far below the sampling error of the gradient."""


@dataclass(frozen=True)
class LocalFit:
    """Estimate of fields (N,) and couplings (edges,), and the largest entry of the gradient."""

    field: np.ndarray
    coupling: np.ndarray
    gradient_norm: float


def random_subsets(rng: np.random.Generator, count: int, spins: int, size: int) -> np.ndarray:
    """Uniform k-subsets, one per row, shape (count, k), sorted.

    Raises:
        InputError: k outside 1..N.
    """
    check_size(size, spins)
    subsets = np.argpartition(rng.random((count, spins)), size - 1, axis=1)[:, :size]
    return np.sort(subsets, axis=1)


class LocalLoss:
    """Average over samples of -log p_theta(x_S | x_{-S}), one mask S per sample.

    Parameters are the N fields, then one coupling per edge. Cost: samples * (2^k k^2 + N^2).

    Raises:
        InputError: k too large, samples other than -1 and 1, masks or edges outside 0..N-1,
            self-loops, an edge twice, a spin twice in a mask.
    """

    def __init__(self, samples: np.ndarray, masks: np.ndarray, edges: Sequence[tuple[int, int]]):
        count, spins = samples.shape
        size = masks.shape[1]
        if size > MAX_BLOCK:
            raise InputError(
                f"k is {size}: each sample would need 2^{size} local states; allowed is up to"
                f" {MAX_BLOCK}"
            )
        wrong = samples[np.abs(samples) != 1]
        if wrong.size:
            raise InputError(f"samples: found {wrong[0]:g}; allowed are -1 and 1")
        if masks.size and not (masks.min() >= 0 and masks.max() < spins):
            raise InputError(
                f"masks name spins {masks.min()} to {masks.max()}: allowed are 0 to {spins - 1}"
            )
        if not np.all(np.diff(np.sort(masks, axis=1), axis=1)):
            raise InputError("masks: one names a spin twice; allowed are sets of spins")
        check_edges(spins, edges)
        self.spins = spins
        self.edge_i = np.array([i for i, _ in edges], dtype=np.int64)
        self.edge_j = np.array([j for _, j in edges], dtype=np.int64)
        self.samples = samples.astype(np.float64)
        self.masks = masks
        self.rows = np.arange(count)[:, None]
        self.inside = self.samples[self.rows, masks]
        self.outside = self.samples.copy()
        self.outside[self.rows, masks] = 0.0
        self.local = ((np.arange(2**size)[:, None] >> np.arange(size)) & 1) * 2.0 - 1.0
        self.a, self.b = np.triu_indices(size, 1)
        self.local_pairs = self.local[:, self.a] * self.local[:, self.b]
        self.inside_pairs = self.inside[:, self.a] * self.inside[:, self.b]

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss and its gradient at theta, shape (N + edges,)."""
        count = len(self.samples)
        matrix = np.zeros((self.spins, self.spins))
        matrix[self.edge_i, self.edge_j] = theta[self.spins :]
        matrix += matrix.T
        field = (theta[: self.spins] + self.outside @ matrix)[self.rows, self.masks]
        strength = matrix[self.masks[:, self.a], self.masks[:, self.b]]
        logits = field @ self.local.T + strength @ self.local_pairs.T
        seen = np.sum(field * self.inside, axis=1) + np.sum(strength * self.inside_pairs, axis=1)
        value = np.mean(scipy.special.logsumexp(logits, axis=1) - seen)
        conditional = scipy.special.softmax(logits, axis=1)
        residual = np.zeros_like(self.samples)
        residual[self.rows, self.masks] = conditional @ self.local - self.inside
        cross = residual.T @ self.outside
        within = np.zeros((self.spins, self.spins))
        pair_residual = conditional @ self.local_pairs - self.inside_pairs
        np.add.at(within, (self.masks[:, self.a], self.masks[:, self.b]), pair_residual)
        total = cross + cross.T + within + within.T
        gradient = np.concatenate([residual.sum(axis=0), total[self.edge_i, self.edge_j]])
        return float(value), gradient / count


def fit_local(samples: np.ndarray, masks: np.ndarray, edges: Sequence[tuple[int, int]]) -> LocalFit:
    """Minimise the local loss with L-BFGS (Wolfe line search).

    Args:
        samples: spins, shape (samples, N).
        masks: one k-subset per sample, shape (samples, k).
        edges: the known graph.

    Raises:
        InputError: the gradient's largest entry stays above `GRADIENT_BOUND`, or the loss still
            falls when all parameters are doubled, so that its minimum lies at infinity (separable
            data).
    """
    loss = LocalLoss(samples, masks, edges)
    result = scipy.optimize.minimize(
        loss,
        np.zeros(loss.spins + len(edges)),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": 2000,
            "maxfun": 4000,
            "gtol": GRADIENT_BOUND / 10,
            "ftol": 1e-16,
            "maxcor": 20,
        },
    )
    norm = float(np.abs(result.jac).max())
    # The gradient also vanishes on the way to a minimum at infinity.
    if norm > GRADIENT_BOUND or loss(2 * result.x)[0] < result.fun:
        raise InputError(
            f"the local fit reached no minimum (gradient {norm:.3g}, allowed"
            f" {GRADIENT_BOUND:.3g}): the data are separable or nearly so; draw more samples"
        )
    return LocalFit(result.x[: loss.spins], result.x[loss.spins :], norm)


def sample_cycle(
    rng: np.random.Generator, field: np.ndarray, coupling: np.ndarray, count: int
) -> np.ndarray:
    """Exact samples of the closed chain of N spins, shape (count, N), int8.

    Args:
        field: shape (N,).
        coupling: of the edges (0, 1), ..., (N-2, N-1), (N-1, 0), shape (N,); a zero last entry
            gives the open chain.

    Raises:
        InputError: parameters that are not N finite numbers.

    Method: transfer matrices backwards for each value of spin 0, then sampling forwards.
    """
    spins = field.size
    for name, numbers in (("field", field), ("coupling", coupling)):
        if numbers.shape != (spins,) or not np.all(np.isfinite(numbers)):
            raise InputError(f"{name} is {numbers.tolist()}: must be {spins} finite numbers")
    values = np.array([-1.0, 1.0])
    # messages[i, s0, s]: log-sum over spins i+1.. given x_i = s and x_0 = s0, closing edge included
    messages = np.zeros((spins, 2, 2))
    messages[-1] = coupling[-1] * np.outer(values, values)
    for i in range(spins - 2, -1, -1):
        step = coupling[i] * np.outer(values, values) + field[i + 1] * values[None, :]
        messages[i] = scipy.special.logsumexp(step[None] + messages[i + 1][:, None, :], axis=2)
    first = field[0] * values + np.diag(messages[0])
    up = scipy.special.expit(first[1] - first[0])
    states = np.zeros((count, spins), dtype=np.int64)
    states[:, 0] = rng.random(count) < up
    start = states[:, 0]
    for i in range(1, spins):
        before = values[states[:, i - 1]]
        difference = (
            2 * coupling[i - 1] * before
            + 2 * field[i]
            + messages[i][start, 1]
            - messages[i][start, 0]
        )
        states[:, i] = rng.random(count) < scipy.special.expit(difference)
    return (2 * states - 1).astype(np.int8)
