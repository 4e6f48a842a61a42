"""Exponential families over all 2^N states.

Paper: definition 12 and assumption 2 (realizability). Beyond assumptions 1 and 2 the asymptotic
statements need a non-singular Hessian, which `covariance` checks.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from padir.files import InputError
from padir.theory.enumeration import all_states, log_sum_exp
from padir.theory.ising import Ising

Free = Literal["all", "tied", "couplings", "fields", "tied_coupling", "tied_field"]


@dataclass(frozen=True)
class Family:
    """p_theta(x) proportional to exp(base(x) + theta . statistics(x)).

    Attributes:
        statistics: shape (2^N, P) for P parameters.
        base: the fixed part of the log-weight, shape (2^N,).
        truth: parameters of the true model, shape (P,).
    """

    statistics: np.ndarray
    base: np.ndarray
    truth: np.ndarray

    @property
    def spins(self) -> int:
        """Number of spins N."""
        return int(self.base.size).bit_length() - 1

    @property
    def parameters(self) -> int:
        """Number of parameters P."""
        return self.statistics.shape[1]

    def log_weight(self, theta: np.ndarray) -> np.ndarray:
        """Unnormalised log-probabilities; theta (..., P) gives shape (..., 2^N)."""
        return np.asarray(theta) @ self.statistics.T + self.base

    def law(self, theta: np.ndarray | None = None) -> np.ndarray:
        """Probabilities (..., 2^N) at theta, by default at the truth."""
        log_weight = self.log_weight(self.truth if theta is None else theta)
        return np.exp(log_weight - log_sum_exp(log_weight, -1))


def ising_family(model: Ising, free: Free = "all") -> Family:
    """The family of Ising models on the graph of `model`, whose parameters are the truth.

    Args:
        free: "all": every field and every edge's coupling. "tied": one shared field and one shared
            coupling. "couplings" or "fields": these are free, the others known. "tied_coupling" or
            "tied_field": one shared number, the others known.

    Raises:
        InputError: shared parameters that differ in `model`.
    """
    states = all_states(model.spins).astype(np.float64)
    first, second = np.array(model.edges, dtype=np.intp).reshape(-1, 2).T
    pairs = states[:, first] * states[:, second]
    field, coupling = model.field, np.array([model.coupling[edge] for edge in model.edges])
    known_field, known_pairs = states @ field, pairs @ coupling
    if free in ("tied", "tied_coupling"):
        if np.ptp(coupling) > 0:
            raise InputError(f"free is {free!r}: the model's couplings must be equal")
        pairs, coupling = pairs.sum(axis=1, keepdims=True), coupling[:1]
    if free in ("tied", "tied_field"):
        if np.ptp(field) > 0:
            raise InputError(f"free is {free!r}: the model's fields must be equal")
        states, field = states.sum(axis=1, keepdims=True), field[:1]
    if free in ("couplings", "tied_coupling"):
        return Family(pairs, known_field, coupling)
    if free in ("fields", "tied_field"):
        return Family(states, known_pairs, field)
    truth = np.concatenate([field, coupling])
    return Family(np.concatenate([states, pairs], axis=1), np.zeros(len(states)), truth)
