"""Bootstrap intervals, paired bootstrap, and paired approximate randomisation.

Resampling is over sentences; `over_seeds` adds training seeds. A resample depends on the number of
sentences and of resamples only, as the seed is always `SEED` (0 for ratios of percentiles): the
replicates of two systems on one test set are paired. sacreBLEU 2 with its default seed gives the
same indices, percentiles and p-values (`--confidence`, `--paired-bs`, `--paired-ar`).

Sources: Koehn 2004 (paired bootstrap), Riezler & Maxwell 2005 (approximate randomisation), Holm
1979 (several tests).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from padir.score.bleu import CorpusCounts

SEED = 12345
RANDOMISATION_TRIALS = 10_000
FEWEST_SEEDS = 3
SEED_DRAWS = 20_000
FEWEST_BEYOND = 10
"""Sentences expected beyond a percentile, below which it has no interval."""
_CHUNK_CELLS = 4_000_000


@dataclass(frozen=True)
class PairedResult:
    """A comparison of a system with a baseline on the same sentences.

    Attributes:
        difference: system minus baseline.
        low, high: 95% interval of the difference, paired bootstrap.
        p_value: two-sided, paired approximate randomisation.
        p_value_bootstrap: paired bootstrap as sacreBLEU has it, which centres the difference's
            absolute value: about half of a two-sided p-value. No verdict uses it.
    """

    difference: float
    low: float
    high: float
    p_value: float
    p_value_bootstrap: float


def resample_counts(sentences: int, samples: int) -> np.ndarray:
    """How often each bootstrap resample holds each sentence.

    Returns:
        float64 [samples, sentences]; each row sums to `sentences`.
    """
    rng = np.random.default_rng(SEED)
    counts = np.empty((samples, sentences))
    rows = max(1, _CHUNK_CELLS // sentences)
    for start in range(0, samples, rows):
        drawn = rng.choice(sentences, size=(min(rows, samples - start), sentences), replace=True)
        drawn += sentences * np.arange(len(drawn))[:, None]
        flat = np.bincount(drawn.ravel(), minlength=drawn.size)
        counts[start : start + len(drawn)] = flat.reshape(drawn.shape)
    return counts


def interval(replicates: np.ndarray) -> tuple[float, float]:
    """The 95% percentile interval: one fortieth of the replicates is left out at each end."""
    ordered = np.sort(replicates)
    out = len(ordered) // 40
    return float(ordered[out]), float(ordered[len(ordered) - out - 1])


def median_interval(values: Sequence[float], samples: int) -> tuple[float, float]:
    """95% percentile interval of the median, by bootstrap over sentences.

    Args:
        values: one per sentence, at least one; the interval is in their unit.
        samples: resamples, the same as for any other score of as many sentences.
    """
    order = np.argsort(values)
    ordered = np.asarray(values, np.float64)[order]
    # Draws up to each value, by rising value; a median is the mean of the two middle draws, which
    # coincide where the number is odd.
    upto = np.cumsum(resample_counts(len(ordered), samples)[:, order], axis=1)
    middle = (len(ordered) + 1) // 2, len(ordered) // 2 + 1
    lower, upper = (ordered[np.argmax(upto >= rank, axis=1)] for rank in middle)
    return interval((lower + upper) / 2)


def percentile_ratio_interval(
    above: Sequence[float], below: Sequence[float], percent: int
) -> tuple[float, float] | None:
    """95% percentile interval of a ratio of percentiles: paired bootstrap, 1000 resamples.

    None where fewer than `FEWEST_BEYOND` sentences are expected beyond the percentile. The 99th
    percentile of 150 sentences rests on the few largest values, which resamples only repeat: with
    log-normal times the interval would hold the true ratio in 88% of cases, of 60 in 75%.

    Args:
        above, below: numerator and denominator, one number per sentence.
        percent: the percentile, 50 to 100.
    """
    both = np.array([above, below])
    if both.shape[1] * (100 - percent) < 100 * FEWEST_BEYOND:
        return None
    drawn = np.random.default_rng(0).integers(both.shape[1], size=(1000, both.shape[1]))
    top, bottom = np.percentile(both[:, drawn], percent, axis=-1)
    return interval(top / bottom)


def replicates(metric: CorpusCounts, counts: np.ndarray) -> np.ndarray:
    """The metric's score on each resample: [samples]. `counts` is from `resample_counts`."""
    return metric.formula(counts @ metric.statistics)


def scored(metric: CorpusCounts, spread: np.ndarray) -> dict[str, Any]:
    """Score, 95% interval and signature, as documents have them; `spread` is from `replicates`."""
    low, high = interval(spread)
    return {"score": metric.score(), "low": low, "high": high, "signature": metric.signature}


def paired(system: CorpusCounts, baseline: CorpusCounts, samples: int) -> PairedResult:
    """Compare two systems on the same sentences.

    Args:
        system, baseline: counts of one metric over the same sentences, in the same order.
        samples: bootstrap resamples.

    Raises:
        ValueError: signatures or numbers of sentences differ.
    """
    if system.signature != baseline.signature:
        raise ValueError(
            f"signatures differ: system {system.signature}, baseline {baseline.signature}"
        )
    if len(system.statistics) != len(baseline.statistics):
        raise ValueError(
            f"sentences differ: system {len(system.statistics)},"
            f" baseline {len(baseline.statistics)}"
        )
    difference = system.score() - baseline.score()
    counts = resample_counts(len(system.statistics), samples)
    spread = replicates(system, counts) - replicates(baseline, counts)
    low, high = interval(spread)
    centred = np.abs(spread) - np.abs(spread).mean()
    same = np.array_equal(system.statistics, baseline.statistics)
    return PairedResult(
        difference=difference,
        low=low,
        high=high,
        p_value=randomisation_p_value(system, baseline, RANDOMISATION_TRIALS),
        p_value_bootstrap=1.0 if same else _p_value(centred, abs(difference)),
    )


def randomisation_p_value(system: CorpusCounts, baseline: CorpusCounts, trials: int) -> float:
    """Two-sided p-value of exchanging the systems' outputs sentence by sentence at random.

    An exchange with the same difference counts, so that p is 1 where all counts are equal, and
    1/2 at least where two sentences differ. sacreBLEU counts strictly larger differences alone,
    which is the same where many sentences differ, and gives far too small p-values where few do.
    """
    both = system.statistics + baseline.statistics
    observed = abs(system.score() - baseline.score())
    sentences = len(both)
    swaps = np.random.default_rng(SEED).integers(2, size=(trials, sentences), dtype=bool)
    total = both.sum(axis=0)
    differences = np.empty(trials)
    rows = max(1, _CHUNK_CELLS // sentences)
    for start in range(0, trials, rows):
        chunk = swaps[start : start + rows].astype(np.float64)
        # The exchange is linear: the second pseudo-system is the remainder.
        first = chunk @ baseline.statistics + (1.0 - chunk) @ system.statistics
        second = total - first
        differences[start : start + len(chunk)] = np.abs(
            system.formula(first) - system.formula(second)
        )
    # Equal differences may differ by rounding.
    return _p_value(differences, observed * (1 - 1e-9) - 1e-12)


def _p_value(statistics: np.ndarray, observed: float) -> float:
    # One is added to both, so p is never 0.
    return float((np.count_nonzero(statistics > observed) + 1) / (len(statistics) + 1))


def share_interval(successes: int, total: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share; unlike the bootstrap's, it has width at 0 and 1."""
    z = 1.959963984540054
    share = successes / total
    centre = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * np.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    half /= 1 + z * z / total
    return float(max(0.0, centre - half)), float(min(1.0, centre + half))


@dataclass(frozen=True)
class Contrast:
    """Difference between two models' scores over their common seeds.

    Attributes:
        difference: mean over seeds.
        low, high: 95% interval of the mean.
        p_value: two-sided.
        seeds_resampled: whether interval and p-value cover other seeds too, or sentences only.
    """

    difference: float
    low: float
    high: float
    p_value: float
    seeds_resampled: bool


def over_seeds(differences: Sequence[float], replicates: np.ndarray) -> Contrast:
    """Interval and test of a mean difference, over sentences and, with 3 seeds or more, seeds.

    A two-level bootstrap. A replicate over sentences is the mean over seeds on one resample, the
    same for all seeds and both models. A draw for the seeds is added: their standard error times
    Student's t with n - 1 degrees of freedom. Resampling few seeds would be overconfident: three
    that agree in sign, which happens by chance one time in four, would look certain.

    Args:
        differences: one per seed, on all sentences.
        replicates: differences on each resample, [seeds, samples].
    """
    values = np.asarray(differences, np.float64)
    spread = replicates.mean(axis=0)
    count = len(values)
    resample_seeds = count >= FEWEST_SEEDS
    if resample_seeds:
        spread = np.tile(spread, -(-SEED_DRAWS // len(spread)))
        drawn = np.random.default_rng(SEED).standard_t(count - 1, size=len(spread))
        spread = spread + drawn * values.std(ddof=1) / np.sqrt(count)
    low, high = interval(spread)
    tail = min(np.count_nonzero(spread <= 0), np.count_nonzero(spread >= 0))
    p_value = min(1.0, 2.0 * (tail + 1) / (len(spread) + 1))
    return Contrast(float(values.mean()), low, high, p_value, resample_seeds)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for multiple tests by Holm's step-down method, in the order given.

    The k-th smallest of m is multiplied by m - k + 1, at most 1, and never below a smaller one's.
    """
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    stepped = np.minimum(np.arange(len(values), 0, -1) * values[order], 1.0)
    corrected = np.empty(len(values))
    corrected[order] = np.maximum.accumulate(stepped)
    return corrected.tolist()
