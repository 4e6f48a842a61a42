"""Families of masks and their distributions. Paper: definitions 2, 3, 6, 7, 8, 10.

A mask S is the set of positions that are predicted (or resampled), not the visible rest. A
family must cover all positions; its sets may overlap, as all k-subsets do.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from padir.files import InputError
from padir.theory.enumeration import all_states, check_memory


@dataclass(frozen=True)
class Masks:
    """Sets S with p(S | x).

    Attributes:
        spins: number of positions N.
        sets: M sorted tuples of positions.
        weights: p(S), shape (M,); or p(S | x), shape (M, 2^N), if masks depend on the state.
    """

    spins: int
    sets: tuple[tuple[int, ...], ...]
    weights: np.ndarray

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=np.float64)
        sets = tuple(tuple(sorted(int(i) for i in block)) for block in self.sets)
        if not sets:
            raise InputError("the mask family is empty: at least one set is needed")
        for block in sets:
            if not block or len(set(block)) != len(block):
                raise InputError(f"mask {block}: must be a non-empty set of different positions")
            if block[0] < 0 or block[-1] >= self.spins:
                raise InputError(f"mask {block}: positions are 0 to {self.spins - 1}")
        if len(set(sets)) != len(sets):
            raise InputError("the mask family names a set twice")
        missing = sorted(set(range(self.spins)) - {i for block in sets for i in block})
        if missing:
            raise InputError(f"the mask family never covers position {missing[0]}")
        if weights.shape not in ((len(sets),), (len(sets), 2**self.spins)):
            raise InputError(
                f"mask weights: shape {weights.shape}, allowed are ({len(sets)},) and"
                f" ({len(sets)}, {2**self.spins})"
            )
        if not np.all(np.isfinite(weights)) or weights.min() < 0:
            raise InputError("mask weights must be finite and not negative")
        worst = float(np.abs(weights.sum(axis=0) - 1).max())
        if worst > 1e-9:
            raise InputError(f"mask weights must sum to one, found a deviation of {worst:.3g}")
        object.__setattr__(self, "sets", sets)
        object.__setattr__(self, "weights", weights)

    @property
    def adaptive(self) -> bool:
        """Whether p(S | x) depends on the state."""
        return self.weights.ndim == 2

    def given_state(self) -> np.ndarray:
        """p(S | x) as an array of shape (M, 2^N)."""
        if self.adaptive:
            return self.weights
        return np.broadcast_to(self.weights[:, None], (len(self.sets), 2**self.spins))


def all_subsets(spins: int, size: int) -> tuple[tuple[int, ...], ...]:
    """All k-subsets of 0..N-1 in lexicographic order.

    Raises:
        InputError: k outside 1..N, or more subsets than memory should hold.
    """
    if not 1 <= size <= spins:
        raise InputError(f"k is {size}: allowed is 1 to {spins}")
    check_memory(f"all masks of {size} among {spins}", math.comb(spins, size), size)
    return tuple(itertools.combinations(range(spins), size))


def uniform_masks(spins: int, size: int) -> Masks:
    """Uniform over all k-subsets: k-pseudolikelihood and k-Gibbs (definitions 3 and 10)."""
    sets = all_subsets(spins, size)
    return Masks(spins, sets, np.full(len(sets), 1 / len(sets)))


def weighted_masks(
    spins: int, sets: Sequence[Sequence[int]], weights: Sequence[float] | np.ndarray
) -> Masks:
    """Masks drawn independently of the state (definitions 2 and 6)."""
    return Masks(spins, tuple(tuple(s) for s in sets), np.asarray(weights, dtype=np.float64))


def adaptive_masks(
    spins: int, sets: Sequence[Sequence[int]], score: Callable[[np.ndarray], np.ndarray]
) -> Masks:
    """Masks that depend on the state: p(S | x) is the softmax of a score (definitions 7 and 8).

    Args:
        score: maps all states (2^N, N) to scores of shape (2^N, M); the softmax keeps every mask
            possible, so that no position is frozen.
    """
    scores = np.asarray(score(all_states(spins).astype(np.float64)), dtype=np.float64)
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = (scores / scores.sum(axis=1, keepdims=True)).T
    return Masks(spins, tuple(tuple(s) for s in sets), weights)


def random_adaptive_masks(
    rng: np.random.Generator, spins: int, sets: Sequence[Sequence[int]], scale: float = 1.0
) -> Masks:
    """Masks whose scores are independent normal numbers for every state."""
    scores = scale * rng.standard_normal((2**spins, len(sets)))
    return adaptive_masks(spins, sets, lambda _: scores)
