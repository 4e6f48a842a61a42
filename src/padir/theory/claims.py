"""Claims of the paper with verdicts that follow from a stated test on computed numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Claim:
    """One statement and whether it was reproduced.

    Attributes:
        id: stable name; `.printed` and `.holds` mark the two halves of a corrected statement.
        section: where the paper says it.
        statement: what it says, in our words.
        paper: the paper's number or wording of strength; its text at hand lost the formulas.
        measured: our numbers, in one line.
        test: the condition that decides, in words.
        passed: the condition's value.
        dataset: the models it was computed on.
        interval: 95% interval of the number that decides, if it is a Monte-Carlo estimate.
    """

    id: str
    section: str
    statement: str
    paper: str
    measured: str
    test: str
    passed: bool
    dataset: str
    interval: tuple[float, float] | None = None

    def as_json(self, seed: int) -> dict[str, Any]:
        """The record that the report reads."""
        return {
            "id": f"theory.{self.id}",
            "section": self.section,
            "statement": self.statement,
            "paper": self.paper,
            "measured": self.measured,
            "verdict": "reproduced" if self.passed else "not reproduced",
            "test": self.test,
            "seeds": [seed],
            "interval": None if self.interval is None else [float(v) for v in self.interval],
            "dataset": self.dataset,
        }


@dataclass(frozen=True)
class Outcome:
    """What an experiment hands back: constants of its models, series of its figures, claims."""

    regimes: dict[str, Any]
    series: dict[str, Any]
    claims: Sequence[Claim]


def plain(value: Any) -> Any:
    """The same data in types that JSON knows; numbers that it lacks become null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value


def mean_interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean over the first axis with its normal 95% interval: (mean, low, high) of a vector."""
    mean = float(values.mean())
    half = 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5
    return mean, mean - half, mean + half


def share_interval(hits: int, trials: int) -> tuple[float, float]:
    """Wilson's 95% interval of a probability."""
    z = 1.96
    centre = (hits + z * z / 2) / (trials + z * z)
    share = hits / trials
    half = z / (trials + z * z) * (trials * share * (1 - share) + z * z / 4) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)
