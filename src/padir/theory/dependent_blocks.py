"""Dependency-aware blocks: masks chosen by the dependence between spins. Paper: slides, end.

The slides leave open how to measure dependence. Here the measure is |J|, or the correlations of
samples. Joint resampling gains from dependent spins in one block, which then change together.
Independent draws, as in parallel decoding, gain from nearly independent spins in one block: their
error is the dependence within it.
"""

from collections import Counter

import numpy as np

from padir.files import InputError
from padir.theory.dynamics import mask_kernels
from padir.theory.enumeration import all_states, spin_count, total_variation
from padir.theory.ising import Ising
from padir.theory.masks import Masks, check_size


def correlations(samples: np.ndarray) -> np.ndarray:
    """|correlation| of each pair of spins, shape (N, N), zero diagonal; samples (count, N).

    A spin that never changes in the samples has correlation 0.
    """
    centred = samples - samples.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    joint = np.abs(centred.T @ centred) / len(samples)
    scale = np.outer(spread, spread)
    correlation = np.divide(joint, scale, out=np.zeros_like(joint), where=scale > 0)
    np.fill_diagonal(correlation, 0.0)
    return correlation


def grown_blocks(dependence: np.ndarray, size: int, *, together: bool) -> Masks:
    """One block grown from each spin, each with probability 1 / N.

    Args:
        dependence: strength of each pair, at least 0, shape (N, N).
        size: spins per block (k).
        together: whether to add the spin with the largest total dependence on the block, else the
            smallest. Ties go to the next spin in cyclic order.

    Raises:
        InputError: k outside 1..N.
    """
    spins = len(dependence)
    check_size(size, spins)
    sign = 1.0 if together else -1.0
    weights: Counter[tuple[int, ...]] = Counter()
    for first in range(spins):
        block = [first]
        while len(block) < size:
            others = [(first + step) % spins for step in range(1, spins)]
            outside = [i for i in others if i not in block]
            block.append(max(outside, key=lambda i: sign * dependence[i, block].sum()))
        weights[tuple(sorted(block))] += 1
    sets = tuple(sorted(weights))
    return Masks(spins, sets, np.array([weights[block] / spins for block in sets]))


def parallel_block_kernels(model: Ising, masks: Masks) -> np.ndarray:
    """For each mask the kernel that draws every spin of S from p(x_i | x_{-i}) at once, (M, X, X).

    Definition 11 restricted to a block.
    """
    states = all_states(model.spins).astype(np.float64)
    local = model.local_field(states)
    up = 1 / (1 + np.exp(-2 * local))
    kernels = np.ones((len(masks.sets), len(states), len(states)))
    for row, block in enumerate(masks.sets):
        for i in range(model.spins):
            same = states[:, None, i] == states[None, :, i]
            drawn = np.where(states[None, :, i] > 0, up[:, None, i], 1 - up[:, None, i])
            kernels[row] *= drawn if i in block else same
    return kernels


def average_kernel(kernels: np.ndarray, masks: Masks) -> np.ndarray:
    """Average of mask kernels (M, X, X) over masks independent of the state."""
    return np.einsum("m,mxy->xy", masks.weights, kernels)


def stationary_law(kernel: np.ndarray) -> np.ndarray:
    """The stationary law of an irreducible kernel."""
    states = len(kernel)
    equations = np.vstack([kernel.T - np.eye(states), np.ones(states)])
    law = np.linalg.lstsq(equations, np.append(np.zeros(states), 1.0), rcond=None)[0]
    law = np.maximum(law, 0)
    return law / law.sum()


def step_error(law: np.ndarray, model: Ising, masks: Masks) -> float:
    """Mean total variation between the joint and the independent draw of a block.

    The mean is over masks and over states of the model's law.
    """
    if spin_count(law) != model.spins:
        raise InputError(f"law of {spin_count(law)} spins, model of {model.spins}")
    exact, parallel = mask_kernels(law, masks), parallel_block_kernels(model, masks)
    distance = 0.5 * np.abs(exact - parallel).sum(axis=2)
    return float(masks.weights @ (distance @ law))


def bias(law: np.ndarray, model: Ising, masks: Masks) -> float:
    """Total variation between the law and the stationary law of independent draws within blocks."""
    kernel = average_kernel(parallel_block_kernels(model, masks), masks)
    return total_variation(law, stationary_law(kernel))
