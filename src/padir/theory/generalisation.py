"""Finite-sample total-variation bounds. Paper: section 2.3, theorem 4, appendix D.

A finite parameter grid has covering error 0 and covering number its size. Each data set has n
samples with m masks each. Bounds:
    model_free    holds for every theta of the grid at once, realizable or not;
    realizable    for the minimiser of the log-loss when the truth is in the grid;
    paper         the proof's own route (Chebyshev over all masked sequences); vacuous at any
                  toy size, evaluated to say so.
"""

import math
from dataclasses import dataclass

import numpy as np

from padir.files import InputError
from padir.theory.enumeration import block_sum, spin_count
from padir.theory.masks import Masks
from padir.theory.tensorisation import tensorisation_upper_bound

Values = float | np.ndarray


@dataclass(frozen=True)
class Setting:
    """What the bounds need: sizes, failure probability and the models' constants.

    Attributes:
        samples: n; masks_per_sample: m; delta: failure probability.
        log_margin: log(1 / beta), beta the smallest conditional probability (assumption 3).
        cells: size of the grid (assumption 4 with covering error 0).
        states: number of sequences, |Omega|^N; spins: N.
    """

    samples: int
    masks_per_sample: int
    delta: float
    log_margin: float
    cells: int
    states: int
    spins: int

    def model_free(self, constant: Values, loss: Values) -> Values:
        """sqrt(C/2 (loss + mask fluctuation)) + distance of the empirical law from the truth."""
        draws = self.samples * self.masks_per_sample
        masks = self.log_margin * math.sqrt(math.log(2 * self.cells / self.delta) / (2 * draws))
        data = 0.5 * math.sqrt(self.states / self.samples)
        data += math.sqrt(math.log(2 / self.delta) / (2 * self.samples))
        return np.sqrt(0.5 * np.asarray(constant) * (np.asarray(loss) + masks)) + data

    def realizable(self, constant: Values) -> Values:
        """No term in the number of sequences; for the log-loss minimiser."""
        excess = math.sqrt(math.log(2 * self.cells / self.delta) / (2 * self.samples))
        return np.sqrt(0.5 * np.asarray(constant) * 2 * self.log_margin * excess)

    def paper(self, constant: Values, loss: Values) -> Values:
        """The proof's route, constants as reconstructed in docs/theory.md."""
        chebyshev = math.sqrt(
            2.0 ** (3 * self.spins)
            * self.states
            * self.cells
            / (self.masks_per_sample * self.delta)
        )
        hoeffding = math.sqrt(math.log(8 * self.cells / self.delta) / (2 * self.samples))
        data = math.sqrt(self.states**3 / (8 * self.delta * self.samples))
        fluctuation = self.log_margin * (chebyshev + hoeffding)
        return np.sqrt(0.5 * np.asarray(constant) * (np.asarray(loss) + fluctuation)) + data


class Grid:
    """A finite family of laws with masks: the losses and constants that theorem 4 compares."""

    def __init__(self, laws: np.ndarray, masks: Masks) -> None:
        """laws has shape (cells, 2^N), all positive; masks must not depend on the state."""
        if masks.adaptive:
            raise InputError("the grid's losses are written for masks independent of the state")
        self.laws = laws
        self.masks = masks
        self.spins = spin_count(laws[0])
        self.log_conditional = np.stack(
            [np.log(laws / block_sum(laws.T, block).T) for block in masks.sets], axis=1
        )
        self.constants = np.array([tensorisation_upper_bound(law, masks) for law in laws])

    @property
    def log_margin(self) -> float:
        """log(1 / beta) over the whole grid."""
        return float(-self.log_conditional.min())

    def losses(self, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Empirical losses of every law, from counts of (mask, state): shapes (cells,), (cells,).

        Args:
            drawn: shape (M, 2^N), how often each mask fell on each sample's sequence, over all
                samples and masks.

        Returns:
            Log-loss; and KL form, in which each drawn mask contributes
            KL(empirical(. | x_{-S}) || p_theta(. | x_{-S})).
        """
        total = drawn.sum()
        log_loss = -np.einsum("mx,cmx->c", drawn, self.log_conditional) / total
        return log_loss, self._kl_form(drawn, total)

    def _kl_form(self, drawn: np.ndarray, total: float) -> np.ndarray:
        # drawn summed over masks is proportional to the empirical law of the samples.
        empirical = drawn.sum(axis=0) / total
        loss = np.zeros(len(self.laws))
        for row, block in enumerate(self.masks.sets):
            rest = block_sum(empirical, block)
            conditional = np.divide(empirical, rest, out=np.zeros_like(rest), where=rest > 0)
            seen = conditional > 0
            own = np.where(seen, conditional * np.log(np.where(seen, conditional, 1.0)), 0.0)
            divergence = block_sum((own - conditional * self.log_conditional[:, row]).T, block)
            loss += drawn[row] @ divergence / total
        return loss

    def draw(
        self, rng: np.random.Generator, law: np.ndarray, samples: int, masks_per_sample: int
    ) -> np.ndarray:
        """Counts (M, 2^N) of masks on sequences for one data set."""
        counts = rng.multinomial(samples, law / law.sum())
        return rng.multinomial(counts * masks_per_sample, self.masks.weights).T.astype(np.float64)


@dataclass(frozen=True)
class Coverage:
    """Distances and bounds over repeated data sets, each shape (trials,)."""

    distance: np.ndarray
    loss: np.ndarray
    model_free: np.ndarray
    realizable: np.ndarray
    paper: np.ndarray
    uniform: np.ndarray

    @property
    def covered(self) -> dict[str, float]:
        """Share of data sets in which each bound held; `uniform`: for all theta at once."""
        return {
            "model_free": float(np.mean(self.distance <= self.model_free)),
            "realizable": float(np.mean(self.distance <= self.realizable)),
            "paper": float(np.mean(self.distance <= self.paper)),
            "uniform": float(np.mean(self.uniform)),
        }


def coverage(
    rng: np.random.Generator,
    grid: Grid,
    truth: np.ndarray,
    samples: int,
    masks_per_sample: int,
    delta: float,
    trials: int,
) -> Coverage:
    """Fit by exhaustive search on the grid, repeatedly, and compare with the bounds."""
    setting = Setting(
        samples, masks_per_sample, delta, grid.log_margin, len(grid.laws), truth.size, grid.spins
    )
    distances = 0.5 * np.abs(grid.laws - truth).sum(axis=1)
    rows = []
    for _ in range(trials):
        log_loss, kl_loss = grid.losses(grid.draw(rng, truth, samples, masks_per_sample))
        best = int(np.argmin(log_loss))
        constant = grid.constants[best]
        everywhere = bool(np.all(distances <= setting.model_free(grid.constants, kl_loss)))
        rows.append(
            (
                distances[best],
                kl_loss[best],
                float(setting.model_free(constant, kl_loss[best])),
                float(setting.realizable(constant)),
                float(setting.paper(constant, kl_loss[best])),
                float(everywhere),
            )
        )
    return Coverage(*np.array(rows).T)
