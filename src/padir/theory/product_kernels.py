"""Distance from a k-Gibbs step to the nearest product law. Paper: section 2.4.1, appendix I.

One pass of parallel decoding draws all positions independently given the current state. A k-Gibbs
step given its block S is a product law exactly if the spins of S are conditionally independent.
Averaged over S it is no product law for N > 1, even at k = 1, because no step moves two spins. The
search for the nearest product law is not convex and gives an upper bound of the distance;
`two_point_bound` is a proven lower bound. They meet for two spins.
"""

import math

import numpy as np
import scipy.optimize

from padir.theory.enumeration import all_states, spin_count

SWEEPS = 30
"""Most sweeps of a descent over the spins, should it not come to rest before."""


def product_law(up: np.ndarray) -> np.ndarray:
    """Law of independent spins; up (..., N) holds P(x_i = 1), the result (..., 2^N)."""
    states = all_states(up.shape[-1])
    law = np.ones((*up.shape[:-1], len(states)))
    for i in range(up.shape[-1]):
        law = law * np.where(states[:, i] > 0, up[..., i : i + 1], 1 - up[..., i : i + 1])
    return law


def product_distance(law: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Total variation between a law (2^N,) and product laws (..., N)."""
    return np.asarray(0.5 * np.abs(product_law(up) - law).sum(axis=-1))


def best_coordinate(law: np.ndarray, up: np.ndarray, i: int) -> np.ndarray:
    """Best a = P(x_i = 1) for each row of up (rows, N), the others fixed: a weighted median.

    Where the others have probability r, the distance is r / 2 times |law(+)/r - a| plus
    |law(-)/r - (1 - a)|: piecewise linear in a, with breaks at law(+)/r and 1 - law(-)/r.
    """
    spins = up.shape[1]
    weight = product_law(np.delete(up, i, axis=1)) if spins > 1 else np.ones((len(up), 1))
    cube = np.moveaxis(law.reshape((2,) * spins), i, -1).reshape(-1, 2)
    safe = np.maximum(weight, 1e-300)
    points = np.concatenate([cube[:, 1] / safe, 1 - cube[:, 0] / safe], axis=1)
    weights = np.concatenate([weight, weight], axis=1)
    order = np.argsort(points, axis=1)
    reached = np.cumsum(np.take_along_axis(weights, order, 1), axis=1)
    median = np.argmax(reached >= reached[:, -1:] / 2, axis=1)
    index = np.take_along_axis(order, median[:, None], 1)
    return np.clip(np.take_along_axis(points, index, 1)[:, 0], 0, 1)


def nearest_product(
    law: np.ndarray, rng: np.random.Generator, starts: int = 48
) -> tuple[float, np.ndarray]:
    """Total variation to the nearest product law of a search, and that law's P(x_i = 1).

    Coordinate descent with exact weighted medians from many starts; Nelder-Mead polishes the two
    best results, because the descent can stop at a ridge.
    """
    spins = spin_count(law)
    up = rng.random((starts, spins))
    up[0] = law @ (all_states(spins) > 0)
    up[1 : 1 + min(spins, starts - 2)] = np.clip(up[0] + 0.2, 0, 1)
    for _ in range(SWEEPS):
        before = up.copy()
        for i in range(spins):
            up[:, i] = best_coordinate(law, up, i)
        if np.abs(up - before).max() < 1e-12:
            break
    distance = product_distance(law, up)
    best = int(np.argmin(distance))
    value, argument = float(distance[best]), up[best]
    for row in np.argsort(distance)[:2]:
        result = scipy.optimize.minimize(
            lambda a: float(product_distance(law, np.clip(a, 0, 1))),
            up[row],
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-12, "maxfev": 200 * spins, "adaptive": True},
        )
        if result.fun < value:
            value, argument = float(result.fun), np.clip(result.x, 0, 1)
    return value, argument


def two_point_bound(law: np.ndarray) -> float:
    """Proven lower bound of the total variation to every product law, from two opposite states.

    A product law that gives A to a state and B to its mirror image has A^(1/N) + B^(1/N) <= 1
    (Hoelder). With masses u and v there, TV >= min over t of (u - t^N)^+ + (v - (1 - t)^N)^+. The
    bound is the largest value over mirror pairs.
    """
    spins = spin_count(law)
    t = np.linspace(0, 1, 20001)
    best = 0.0
    for index in range(law.size // 2):
        u, v = law[index], law[law.size - 1 - index]
        excess = np.maximum(u - t**spins, 0) + np.maximum(v - (1 - t) ** spins, 0)
        # The slope is at most N, so the grid's minimum is at most N half steps too high.
        best = max(best, float(excess.min()) - spins * 0.5 / 20000)
    return max(0.0, best)


def moves_bound(kernel: np.ndarray, state: int) -> float:
    """Proven lower bound of the distance for a kernel that never changes two spins at once.

    Let the kernel flip its two likeliest spins with q1 and q2, and a product law with f1 and f2.
    The product law flips both with f1 f2, the kernel never; and it flips a single spin with at most
    f1 or f2. So the distance is at least min over f of max(f1 f2, (q1 - f1)^+ + (q2 - f2)^+),
    evaluated on a grid less the grid's error.
    """
    spins = spin_count(kernel[state])
    first, second = np.sort([kernel[state, state ^ (1 << i)] for i in range(spins)])[:-3:-1]
    f = np.linspace(0, 1, 401)
    missing = np.maximum(first - f, 0)[:, None] + np.maximum(second - f, 0)[None, :]
    return float(np.maximum(f[:, None] * f[None, :], missing).min()) - 1 / 400


def two_spin_distance(agreement: float) -> float:
    """Exact smallest distance for two spins without fields that agree with probability r.

    Turning one spin swaps r and 1 - r and leaves product laws product laws, so the larger counts.
    """
    return math.sqrt(2 * max(agreement, 1 - agreement)) - 1
