"""Masked-prediction estimators on enumerable models, many trials at once.

Three estimators:
    one random mask per sample (definitions 2, 3 and 7, read literally);
    all masks averaged for every sample (Huang and Ogata's generalised pseudolikelihood);
    maximum likelihood, which both become at k = N.

The loss is convex in the natural parameters (appendix K), so Newton steps with a halving line
search reach the minimum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from padir.files import InputError
from padir.theory.enumeration import check_memory, log_sum_exp
from padir.theory.families import Family
from padir.theory.masks import Masks

Scheme = Literal["one_mask", "averaged"]
GRADIENT_BOUND = 1e-8
STEP_BOUND = 1e-3


@dataclass(frozen=True)
class Fit:
    """Estimates of T independent trials.

    Attributes:
        theta: shape (T, P).
        gradient_norm: largest absolute entry of the gradient at theta, shape (T,).
        converged: gradient norm below GRADIENT_BOUND and next Newton step below STEP_BOUND, shape
            (T,). False for separable data, whose minimum lies at infinity: the gradient vanishes
            there, the steps do not.
    """

    theta: np.ndarray
    gradient_norm: np.ndarray
    converged: np.ndarray


def check_counts(trials: int, masks: int, spins: int) -> None:
    """Raise InputError if counts of (trial, mask, state) exceed the memory limit."""
    check_memory(
        f"counts of {trials} trials, {masks} masks and 2^{spins} states", trials, masks, 2**spins
    )


def draw_counts(
    rng: np.random.Generator,
    law: np.ndarray,
    masks: Masks,
    samples: int,
    trials: int,
    scheme: Scheme = "one_mask",
) -> np.ndarray:
    """How often each (mask, state) occurs among the samples: shape (T, M, 2^N).

    Counts of independent samples are multinomial. With "averaged" every sample contributes p(S)
    to each mask.
    """
    if samples < 1 or trials < 1:
        raise InputError(f"samples {samples} and trials {trials} must be at least 1")
    check_counts(trials, len(masks.sets), masks.spins)
    if scheme == "averaged":
        if masks.adaptive:
            raise InputError("the averaged estimator is defined for masks independent of the state")
        counts = rng.multinomial(samples, law / law.sum(), size=trials)
        return counts[:, None, :] * masks.weights[None, :, None]
    joint = (masks.given_state() * law).ravel()
    counts = rng.multinomial(samples, joint / joint.sum(), size=trials)
    return counts.reshape(trials, len(masks.sets), law.size).astype(np.float64)


class MaskedLoss:
    """The average of -log p_theta(x_S | x_{-S}, S), its gradient and Hessian, for T data sets.

    An adaptive mask distribution enters the conditional; `naive` leaves it out, the mistake of
    remark 3.
    """

    def __init__(self, family: Family, masks: Masks, counts: np.ndarray, naive: bool = False):
        self.family = family
        total = counts.sum(axis=(1, 2))
        if np.any(total <= 0):
            raise InputError("a data set without samples cannot be fitted")
        self.counts = counts / total[:, None, None]
        self.log_given = np.zeros((len(masks.sets), 1))
        if masks.adaptive and not naive:
            with np.errstate(divide="ignore"):
                self.log_given = np.log(masks.weights)
        check_memory(
            f"products of {family.parameters} statistics over 2^{family.spins} states",
            *(family.base.size, family.parameters, family.parameters),
        )
        self.orders = _orders_by_size(family.spins, masks.sets)
        self.products = np.einsum("xp,xq->xpq", family.statistics, family.statistics).reshape(
            len(family.base), -1
        )

    def value(self, theta: np.ndarray) -> np.ndarray:
        """Loss per trial; theta (T, P) gives shape (T,)."""
        return self._evaluate(theta, False)[0]

    def derivatives(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Loss (T,), gradient (T, P), Hessian (T, P, P)."""
        return self._evaluate(theta, True)

    def _evaluate(self, theta: np.ndarray, second: bool):
        trials, parameters = theta.shape
        log_weight = self.family.log_weight(theta)
        predicted = np.zeros_like(log_weight)
        value = np.zeros(trials)
        hessian = np.zeros((trials, parameters, parameters))
        for rows, order in self.orders:
            given = np.broadcast_to(self.log_given[rows], (len(rows), log_weight.shape[1]))
            flat = order.reshape(len(rows), -1)
            logits = log_weight[:, order] + np.take_along_axis(given, flat, 1).reshape(order.shape)
            counts = np.take_along_axis(self.counts[:, rows], flat[None], 2)
            counts = counts.reshape((trials, *order.shape))
            # A block that its mask never resamples here has no conditional, and no counts.
            never = np.isneginf(logits).all(axis=-1, keepdims=True)
            logits = np.where(never, 0.0, logits)
            normaliser = log_sum_exp(logits, -1)
            log_conditional = logits - normaliser
            seen = counts > 0
            value -= np.where(seen, counts * np.where(seen, log_conditional, 0.0), 0.0).sum(
                axis=(1, 2, 3)
            )
            group = counts.sum(axis=-1)
            conditional = np.exp(log_conditional)
            mass = group[..., None] * conditional
            scattered = np.zeros((trials, len(rows), log_weight.shape[1]))
            np.put_along_axis(scattered, flat[None], mass.reshape(trials, len(rows), -1), 2)
            predicted += scattered.sum(axis=1)
            if second:
                mean = np.einsum("tmgk,mgkp->tmgp", conditional, self.family.statistics[order])
                mean = (np.sqrt(group)[..., None] * mean).reshape(trials, -1, parameters)
                hessian -= np.matmul(mean.transpose(0, 2, 1), mean)
        gradient = (predicted - self.counts.sum(axis=1)) @ self.family.statistics
        if second:
            hessian += (predicted @ self.products).reshape(hessian.shape)
        return value, gradient, hessian


def _orders_by_size(
    spins: int, sets: Sequence[tuple[int, ...]]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each mask size: the masks' rows, and state numbers of shape (masks, rests, 2^k)."""
    numbers = np.arange(2**spins).reshape((2,) * spins)
    groups = []
    for size in sorted({len(block) for block in sets}):
        rows = np.array([r for r, block in enumerate(sets) if len(block) == size])
        orders = [
            numbers.transpose(*[i for i in range(spins) if i not in sets[r]], *sets[r]).reshape(
                -1, 2**size
            )
            for r in rows
        ]
        groups.append((rows, np.stack(orders)))
    return groups


def fit(
    family: Family,
    masks: Masks,
    counts: np.ndarray,
    max_iterations: int = 60,
    naive: bool = False,
) -> Fit:
    """Minimise the masked loss of every trial by Newton steps from zero.

    Args:
        counts: from `draw_counts`, or exact probabilities (1, M, 2^N) for the population loss.
        naive: leave adaptive mask probabilities out of the loss.
    """
    loss = MaskedLoss(family, masks, counts, naive)
    theta = np.zeros((counts.shape[0], family.parameters))
    iterations = 0
    while True:
        value, gradient, hessian = loss.derivatives(theta)
        norm = np.abs(gradient).max(axis=1)
        # A tiny multiple of the identity keeps a flat direction solvable and moves no minimum.
        curvature = hessian + 1e-14 * np.eye(family.parameters)
        step = -np.linalg.solve(curvature, gradient[..., None])[..., 0]
        size = np.abs(step).max(axis=1)
        done = (norm < 1e-2 * GRADIENT_BOUND) & (size < STEP_BOUND)
        if np.all(done) or iterations == max_iterations:
            break
        iterations += 1
        slope = np.einsum("tp,tp->t", gradient, step)
        length = np.where(done, 0.0, 1.0)
        for _ in range(40):
            # The slack covers rounding, which exceeds the decrease near the minimum.
            limit = value + 1e-4 * length * slope + 1e-13
            worse = loss.value(theta + length[:, None] * step) > limit
            if not worse.any():
                break
            length = np.where(worse, length / 2, length)
        theta = theta + length[:, None] * step
    return Fit(theta, norm, (norm < GRADIENT_BOUND) & (size < STEP_BOUND))


def population_counts(law: np.ndarray, masks: Masks) -> np.ndarray:
    """Exact probabilities of (mask, state) in the shape that `fit` takes: (1, M, 2^N)."""
    return (masks.given_state() * law)[None]
