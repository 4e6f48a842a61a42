"""Finite-sample total-variation bounds. Paper: section 2.3, theorem 4, appendix D.

A finite parameter grid has covering error 0 and covering number its size. Each data set has n
samples with m masks each. Bounds:
    model_free    holds for every theta of the grid at once, realizable or not;
    realizable    for the minimiser of the log-loss when the truth is in the grid;
    paper         along the paper's proof (Chebyshev over all masked sequences); vacuous at any
                  toy size.
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
    """Sizes and constants of the bounds.

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
        """Along the paper's proof, with the constants reconstructed in docs/theory.md."""
        cells = 2.0 ** (3 * self.spins) * self.states * self.cells
        chebyshev = math.sqrt(cells / (self.masks_per_sample * self.delta))
        hoeffding = math.sqrt(math.log(8 * self.cells / self.delta) / (2 * self.samples))
        data = math.sqrt(self.states**3 / (8 * self.delta * self.samples))
        fluctuation = self.log_margin * (chebyshev + hoeffding)
        return np.sqrt(0.5 * np.asarray(constant) * (np.asarray(loss) + fluctuation)) + data


class Grid:
    """A finite family of positive laws (cells, 2^N): the losses and constants of theorem 4.

    Raises:
        InputError: masks that depend on the state.
    """

    def __init__(self, laws: np.ndarray, masks: Masks) -> None:
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
        """Empirical log-loss and KL form of every law, each (cells,).

        In the KL form a drawn mask contributes KL(empirical(. | x_{-S}) || p_theta(. | x_{-S})).

        Args:
            drawn: counts of (mask, state) over all samples and masks, shape (M, 2^N).
        """
        total = drawn.sum()
        log_loss = -np.einsum("mx,cmx->c", drawn, self.log_conditional) / total
        # The sum over masks is proportional to the empirical law of the samples.
        empirical = drawn.sum(axis=0) / total
        kl_loss = np.zeros(len(self.laws))
        for row, block in enumerate(self.masks.sets):
            rest = block_sum(empirical, block)
            conditional = np.divide(empirical, rest, out=np.zeros_like(rest), where=rest > 0)
            seen = conditional > 0
            negentropy = np.where(seen, conditional * np.log(np.where(seen, conditional, 1.0)), 0.0)
            cross_entropy = conditional * self.log_conditional[:, row]
            divergence = block_sum((negentropy - cross_entropy).T, block)
            kl_loss += drawn[row] @ divergence / total
        return log_loss, kl_loss

    def draw(
        self, rng: np.random.Generator, law: np.ndarray, samples: int, masks_per_sample: int
    ) -> np.ndarray:
        """Counts (M, 2^N) of masks on sequences for one data set."""
        counts = rng.multinomial(samples, law / law.sum())
        return rng.multinomial(counts * masks_per_sample, self.masks.weights).T.astype(np.float64)


@dataclass(frozen=True)
class Coverage:
    """Distances and bounds over repeated data sets, each shape (trials,).

    `uniform` says whether `model_free` held for all parameters at once.
    """

    distance: np.ndarray
    loss: np.ndarray
    model_free: np.ndarray
    realizable: np.ndarray
    paper: np.ndarray
    uniform: np.ndarray

    @property
    def covered(self) -> dict[str, float]:
        """Share of data sets in which each bound held."""
        shares = {
            name: float(np.mean(self.distance <= getattr(self, name)))
            for name in ("model_free", "realizable", "paper")
        }
        return {**shares, "uniform": float(np.mean(self.uniform))}


def coverage(
    rng: np.random.Generator,
    grid: Grid,
    truth: np.ndarray,
    samples: int,
    masks_per_sample: int,
    delta: float,
    trials: int,
) -> Coverage:
    """Fit repeated data sets by exhaustive search on the grid and evaluate the bounds."""
    setting = Setting(
        samples, masks_per_sample, delta, grid.log_margin, len(grid.laws), truth.size, grid.spins
    )
    distances = 0.5 * np.abs(grid.laws - truth).sum(axis=1)
    rows = []
    for _ in range(trials):
        log_loss, kl_loss = grid.losses(grid.draw(rng, truth, samples, masks_per_sample))
        best = int(np.argmin(log_loss))
        constant, loss = grid.constants[best], kl_loss[best]
        rows.append(
            (
                distances[best],
                loss,
                setting.model_free(constant, loss),
                setting.realizable(constant),
                setting.paper(constant, loss),
                np.all(distances <= setting.model_free(grid.constants, kl_loss)),
            )
        )
    return Coverage(*np.array(rows).T)
