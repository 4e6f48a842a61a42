"""Asymptotic covariances of masked-prediction estimators, by exact enumeration.

With score s = grad log p at the truth and E_S f = E[f | x_{-S}]:

    I       = Cov(s)                                   Fisher information
    H       = E Cov(s | x_{-S}, S)                     Hessian = covariance of the gradient
    Gamma   = H^-1                                     one random mask per sample
    V       = Cov(sum_S p(S) (s - E_S s))              all masks averaged for every sample
    average = H^-1 V H^-1
    V_T     = V + (H - V) / T                          T masks per sample

Paper: lemmas 1 and 2, theorems 2, 6 and 8, appendices A, B and C.
"""

from dataclasses import dataclass

import numpy as np

from padir.files import InputError
from padir.theory.enumeration import conditional_mean
from padir.theory.families import Family
from padir.theory.masks import Masks


@dataclass(frozen=True)
class Information:
    """The matrices above, each (P, P)."""

    fisher: np.ndarray
    hessian: np.ndarray
    averaged: np.ndarray

    def asymptotic(self, masks_per_sample: float = 1.0) -> np.ndarray:
        """Limit covariance of sqrt(samples) * (estimate - truth); inf averages over all masks."""
        inverse = inverse_of_positive(self.hessian)
        shared = self.averaged + (self.hessian - self.averaged) / masks_per_sample
        return inverse @ shared @ inverse


def inverse_of_positive(matrix: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric positive definite matrix.

    Raises:
        InputError: the matrix is singular to working precision, so the loss does not identify the
            parameters. The paper's theorems need this condition and do not state it.
    """
    values, vectors = np.linalg.eigh(matrix)
    if values[0] <= 1e-12 * max(values[-1], 1e-300):
        raise InputError(
            f"the loss does not identify the parameters: smallest eigenvalue {values[0]:.3g} of"
            f" the Hessian, largest {values[-1]:.3g}"
        )
    return (vectors / values) @ vectors.T


def hessian_by_mask(family: Family, masks: Masks, law: np.ndarray | None = None) -> np.ndarray:
    """E[1{S} Cov(s | x_{-S}, S)] at the truth for every mask S, shape (M, P, P); they sum to H.

    Args:
        law: law of the data; by default the model's own. Another law gives the Hessian of the
            population loss for misspecified data.
    """
    model = family.law()
    data = model if law is None else law
    hessians = []
    for block, weight in zip(masks.sets, masks.given_state(), strict=True):
        joint = model * weight
        centred = family.statistics - conditional_mean(joint, family.statistics, block)
        # Mass of x_{-S} under the data times the model's conditional law of x_S.
        mass = joint / _block_total(joint, block) * _block_total(data * weight, block)
        hessians.append(centred.T @ (mass[:, None] * centred))
    return np.stack(hessians)


def _block_total(values: np.ndarray, block: tuple[int, ...]) -> np.ndarray:
    total = conditional_mean(np.ones_like(values), values, block) * 2.0 ** len(block)
    return np.where(total > 0, total, 1.0)


def gradient_covariance(
    family: Family, masks: Masks, theta: np.ndarray | None = None, law: np.ndarray | None = None
) -> np.ndarray:
    """Cov over (x, S) of the gradient of -log p_theta(x_S | x_{-S}, S), shape (P, P)."""
    model = family.law(theta)
    data = model if law is None else law
    second = np.zeros((family.parameters, family.parameters))
    first = np.zeros(family.parameters)
    for block, weight in zip(masks.sets, masks.given_state(), strict=True):
        step = family.statistics - conditional_mean(model * weight, family.statistics, block)
        second += step.T @ ((data * weight)[:, None] * step)
        first += (data * weight) @ step
    return second - np.outer(first, first)


def information(family: Family, masks: Masks) -> Information:
    """Fisher information, Hessian and covariance of the averaged gradient, at the truth."""
    law = family.law()
    score = family.statistics - law @ family.statistics
    averaged = np.zeros_like(score)
    for block, weight in zip(masks.sets, masks.given_state(), strict=True):
        centred = family.statistics - conditional_mean(law * weight, family.statistics, block)
        averaged += weight[:, None] * centred
    mean = law @ averaged
    return Information(
        fisher=score.T @ (law[:, None] * score),
        hessian=hessian_by_mask(family, masks).sum(axis=0),
        averaged=averaged.T @ (law[:, None] * averaged) - np.outer(mean, mean),
    )


def relative_eigenvalues(covariance: np.ndarray, fisher: np.ndarray) -> np.ndarray:
    """Eigenvalues of I^(1/2) Gamma I^(1/2) in rising order; 1 is maximum likelihood's."""
    root = np.linalg.cholesky(fisher)
    return np.linalg.eigvalsh(root.T @ covariance @ root)
