"""Exact enumeration of all 2^N states. Limits are checked before memory is allocated.

States are numbered so that a vector of length 2^N, reshaped to (2,) * N, has one axis per spin,
with index 0 for -1 and 1 for +1. Summing over the axes of a set S is then the sum over x_S.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np

from padir.files import InputError
from padir.theory.ising import Ising

MAX_SPINS = 16
MAX_KERNEL_SPINS = 12
MAX_BYTES = 2**30


def check_enumerable(spins: int, limit: int = MAX_SPINS) -> None:
    """Raise InputError, with the memory needed, if `spins` exceeds `limit`."""
    if spins > limit:
        exponent = 3 + spins if limit == MAX_SPINS else 3 + 2 * spins
        what = "one number per state" if limit == MAX_SPINS else "one number per pair of states"
        raise InputError(
            f"{spins} spins are too many to enumerate: {what} alone needs"
            f" 2^{exponent} bytes = {2.0 ** (exponent - 30):.4g} GiB; allowed are up to {limit}"
        )


def check_memory(what: str, *shape: int) -> None:
    """Raise InputError if an array of 8-byte numbers of this shape exceeds MAX_BYTES."""
    needed = 8 * math.prod(shape)
    if needed > MAX_BYTES:
        raise InputError(
            f"{what} would need {needed / 2**30:.4g} GiB; allowed are {MAX_BYTES / 2**30:g} GiB"
        )


@functools.lru_cache(maxsize=32)
def all_states(spins: int) -> np.ndarray:
    """All states, shape (2^N, N), int8 values -1 and 1; read-only."""
    check_enumerable(spins)
    numbers = np.arange(2**spins)[:, None]
    states = ((numbers >> np.arange(spins - 1, -1, -1)) & 1).astype(np.int8) * 2 - 1
    states.setflags(write=False)
    return states


def spin_count(vector: np.ndarray) -> int:
    """N of a vector over all 2^N states."""
    spins = int(vector.shape[0]).bit_length() - 1
    if 2**spins != vector.shape[0]:
        raise InputError(f"{vector.shape[0]} entries: a law over spins has 2^N")
    return spins


def log_sum_exp(values: np.ndarray, axis: int) -> np.ndarray:
    """Stable log of a sum of exponentials along one axis, which is kept."""
    top = values.max(axis=axis, keepdims=True)
    return top + np.log(np.exp(values - top).sum(axis=axis, keepdims=True))


def exact_law(model: Ising) -> np.ndarray:
    """Probabilities of all states, shape (2^N,), summing to one."""
    log_weight = model.log_weight(all_states(model.spins))
    return np.exp(log_weight - log_sum_exp(log_weight, 0))


def exact_sample(rng: np.random.Generator, law: np.ndarray, size: int) -> np.ndarray:
    """Independent exact samples, as spins of shape (size, N), int8."""
    edges = np.cumsum(law)
    picks = np.searchsorted(edges, rng.random(size) * edges[-1], side="right")
    return all_states(spin_count(law))[picks]


def block_sum(values: np.ndarray, block: Sequence[int]) -> np.ndarray:
    """Sum over x_S given x_{-S}, repeated along x_S: shape (2^N, ...) like `values`."""
    spins = spin_count(values)
    rest = values.shape[1:]
    cube = values.reshape((2,) * spins + rest)
    summed = cube.sum(axis=tuple(block), keepdims=True)
    return np.broadcast_to(summed, cube.shape).reshape(values.shape)


def conditional_mean(law: np.ndarray, values: np.ndarray, block: Sequence[int]) -> np.ndarray:
    """E[values | x_{-S}] under a measure (2^N,) of any total mass; 0 where it has no mass."""
    weight = law.reshape(law.shape + (1,) * (values.ndim - 1))
    total = block_sum(weight, block)
    return block_sum(weight * values, block) / np.where(total > 0, total, 1.0)


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """Half the L1 distance of two laws."""
    return 0.5 * float(np.abs(p - q).sum())


def kl_divergence(p: np.ndarray, q: np.ndarray) -> float:
    """KL(p || q) in nats; p may have zeros, q may not where p has mass."""
    inside = p > 0
    return float(np.sum(p[inside] * np.log(p[inside] / q[inside])))
