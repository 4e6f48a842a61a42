"""Masked-prediction estimators on enumerable models, many trials at once.

Three estimators, which the paper's text does not always keep apart:
    one random mask per sample (definitions 2, 3 and 7, read literally);
    all masks averaged over for every sample (Huang & Ogata's generalised pseudolikelihood);
    maximum likelihood, which is either of them at k = N.

The loss is convex in the natural parameters (appendix K), so Newton steps with a halving line
search reach the minimum; the gradient norm at the end is returned and compared with a bound.
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
        converged: gradient_norm below GRADIENT_BOUND and the next Newton step below STEP_BOUND,
            shape (T,). False where the minimum lies at infinity (separable data): the gradient
            vanishes there too, but the steps do not.
        iterations: Newton steps of the slowest trial.
    """

    theta: np.ndarray
    gradient_norm: np.ndarray
    converged: np.ndarray
    iterations: int


def check_counts(trials: int, masks: int, spins: int) -> None:
    """Refuse more counts of (trial, mask, state) than memory should hold."""
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

    Counts of independent samples are multinomial, so no sample is drawn singly. With "averaged"
    every sample contributes p(S) to each of its masks.
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

    The mask distribution enters only if it is adaptive; `naive` leaves it out, which is the
    mistake that the paper's remark 3 warns of.
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
    found = []
    for size in sorted({len(block) for block in sets}):
        rows = np.array([r for r, block in enumerate(sets) if len(block) == size])
        orders = [
            numbers.transpose(*[i for i in range(spins) if i not in sets[r]], *sets[r]).reshape(
                -1, 2**size
            )
            for r in rows
        ]
        found.append((rows, np.stack(orders)))
    return found


def fit(
    family: Family,
    masks: Masks,
    counts: np.ndarray,
    start: np.ndarray | None = None,
    ridge: float = 0.0,
    max_iterations: int = 60,
    naive: bool = False,
) -> Fit:
    """Minimise the masked loss for every trial.

    Args:
        counts: from `draw_counts`, or exact probabilities (1, M, 2^N) for the population loss.
        start: shape (P,); zero by default.
        ridge: adds ridge * |theta|^2 / 2, for separable data.
    """
    loss = MaskedLoss(family, masks, counts, naive)
    trials = counts.shape[0]
    theta = np.zeros((trials, family.parameters))
    if start is not None:
        theta += start
    eye = np.eye(family.parameters)
    iterations = 0
    while True:
        value, gradient, hessian = loss.derivatives(theta)
        value = value + 0.5 * ridge * (theta**2).sum(axis=1)
        gradient = gradient + ridge * theta
        norm = np.abs(gradient).max(axis=1)
        # The tiny multiple of the identity keeps a flat direction solvable; it moves no minimum.
        curvature = hessian + (ridge + 1e-14) * eye
        step = -np.linalg.solve(curvature, gradient[..., None])[..., 0]
        size = np.abs(step).max(axis=1)
        done = (norm < 1e-2 * GRADIENT_BOUND) & (size < STEP_BOUND)
        if np.all(done) or iterations == max_iterations:
            break
        iterations += 1
        slope = np.einsum("tp,tp->t", gradient, step)
        length = np.where(done, 0.0, 1.0)
        for _ in range(40):
            proposal = theta + length[:, None] * step
            reached = loss.value(proposal) + 0.5 * ridge * (proposal**2).sum(axis=1)
            # Near the minimum the decrease drowns in rounding, hence the slack.
            worse = reached > value + 1e-4 * length * slope + 1e-13
            if not worse.any():
                break
            length = np.where(worse, length / 2, length)
        theta = theta + length[:, None] * step
    return Fit(theta, norm, (norm < GRADIENT_BOUND) & (size < STEP_BOUND), iterations)


def population_counts(law: np.ndarray, masks: Masks) -> np.ndarray:
    """Exact probabilities of (mask, state) in the shape that `fit` takes: (1, M, 2^N)."""
    return (masks.given_state() * law)[None]
