"""Families of masks and their distributions. Paper: definitions 2, 3, 6, 7, 8, 10.

A mask S is the set of positions that are predicted or resampled. A family of masks covers all
positions; its sets may overlap.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from padir.files import InputError
from padir.theory.enumeration import check_memory

# Largest k where the 2^k states of a block are enumerated for each sample or chain.
MAX_BLOCK = 14
Subsets = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Masks:
    """Sets S with p(S | x).

    Attributes:
        spins: number of positions N.
        sets: M sets of positions, stored as sorted tuples.
        weights: p(S), shape (M,); or p(S | x), shape (M, 2^N), for adaptive masks.
    """

    spins: int
    sets: Subsets
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
            raise InputError("the mask family lists a set twice")
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
            raise InputError(f"mask weights must sum to one: they deviate by {worst:.3g}")
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


def check_size(size: int, spins: int) -> None:
    """Raise InputError unless a block of k spins fits: k from 1 to N."""
    if not 1 <= size <= spins:
        raise InputError(f"k is {size}: allowed is 1 to {spins}")


def all_subsets(spins: int, size: int) -> Subsets:
    """All k-subsets of 0..N-1 in lexicographic order.

    Raises:
        InputError: k outside 1..N, or more subsets than memory should hold.
    """
    check_size(size, spins)
    check_memory(f"all masks of {size} among {spins}", math.comb(spins, size), size)
    return tuple(itertools.combinations(range(spins), size))


def uniform_masks(spins: int, size: int) -> Masks:
    """Uniform over all k-subsets: k-pseudolikelihood and k-Gibbs (definitions 3 and 10)."""
    sets = all_subsets(spins, size)
    return Masks(spins, sets, np.full(len(sets), 1 / len(sets)))


def adaptive_masks(spins: int, sets: Subsets, scores: np.ndarray) -> Masks:
    """Masks with p(S | x) the softmax of scores (2^N, M): definitions 7 and 8.

    The softmax keeps every mask possible, so no position is frozen.
    """
    return Masks(spins, sets, softmax(np.asarray(scores, dtype=np.float64), axis=1).T)


def random_adaptive_masks(rng: np.random.Generator, spins: int, sets: Subsets) -> Masks:
    """Adaptive masks whose scores are independent standard normal numbers."""
    return adaptive_masks(spins, sets, rng.standard_normal((2**spins, len(sets))))
