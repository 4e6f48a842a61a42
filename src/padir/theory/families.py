"""Exponential families over all 2^N states: what the parameters of a fitted model are.

Paper: definition 12, and assumption 2 (realizability). Beyond the paper's assumptions 1 and 2,
the asymptotic statements need a non-singular Hessian, which `covariance` checks.
"""

from collections.abc import Sequence
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
        truth: the parameters of the model that the family was made from, shape (P,).
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


def ising_family(
    model: Ising, free: Free = "all", edges: Sequence[tuple[int, int]] | None = None
) -> Family:
    """The family of Ising models with the graph of `model`, which is its truth.

    Args:
        free: "all": every field and every edge's coupling. "tied": one field and one coupling
            shared by all (the model must have equal ones). "couplings": every edge's coupling,
            fields known. "fields": the reverse. "tied_coupling", "tied_field": one shared number,
            the rest known.
        edges: the graph, if it should hold edges whose true coupling is zero.
    """
    states = all_states(model.spins).astype(np.float64)
    edges = model.edges if edges is None else list(edges)
    pairs = np.stack([states[:, i] * states[:, j] for i, j in edges], axis=1)
    strengths = np.array([model.coupling[i, j] for i, j in edges])
    if free in ("tied", "tied_coupling") and np.ptp(strengths) > 0:
        raise InputError(f"free is {free!r}: the model's couplings must be equal")
    if free in ("tied", "tied_field") and np.ptp(model.field) > 0:
        raise InputError(f"free is {free!r}: the model's fields must be equal")
    known_field = states @ model.field
    known_pairs = pairs @ strengths
    nothing = np.zeros(len(states))
    if free == "all":
        return Family(
            np.concatenate([states, pairs], axis=1),
            nothing,
            np.concatenate([model.field, strengths]),
        )
    if free == "tied":
        both = np.stack([states.sum(axis=1), pairs.sum(axis=1)], axis=1)
        return Family(both, nothing, np.array([model.field[0], strengths[0]]))
    if free == "couplings":
        return Family(pairs, known_field, strengths)
    if free == "fields":
        return Family(states, known_pairs, model.field.copy())
    if free == "tied_field":
        return Family(states.sum(axis=1, keepdims=True), known_pairs, model.field[:1].copy())
    return Family(pairs.sum(axis=1, keepdims=True), known_field, strengths[:1].copy())
