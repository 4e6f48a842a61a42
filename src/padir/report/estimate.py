"""A mean over seeds with its interval over sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from padir.score.significance import interval


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds.

    Attributes:
        value: mean over seeds.
        low, high: 95% bootstrap interval over sentences, of the mean over these seeds.
        spread: standard deviation over seeds (n - 1); None with one seed.
        replicates: the mean over seeds on each resample; pairs within a test set.
    """

    value: float
    low: float
    high: float
    spread: float | None
    replicates: np.ndarray


def estimate(values: Sequence[float], replicates: Sequence[Sequence[float]]) -> Estimate:
    """Average seeds: one value and one list of replicates each."""
    mean = np.mean(np.array(replicates, np.float64), axis=0)
    low, high = interval(mean)
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Estimate(float(np.mean(values)), low, high, spread, mean)
