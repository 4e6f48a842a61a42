"""Runs experiments by name; the claims that they return.

A verdict follows from a stated test on computed numbers.
"""

import importlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from padir.config.base import Settings
from padir.files import InputError


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and whether it was reproduced.

    Attributes:
        id: stable name; `.printed` and `.holds` are the two halves of a corrected statement.
        section: section of the paper.
        statement: the statement in our words.
        paper: the paper's number or wording; the text at hand lacks most formulas.
        measured: our numbers, in one line.
        test: the condition that decides, in words.
        passed: value of that condition.
        dataset: the models of the computation; by default those of the experiment.
        interval: 95% interval of the last of the numbers in `measured`, if it is a Monte-Carlo
            estimate.
    """

    id: str
    section: str
    statement: str
    paper: str
    measured: str
    test: str
    passed: bool | np.bool_
    dataset: str = ""
    interval: tuple[float, float] | None = None

    def as_json(self, seed: int) -> dict[str, Any]:
        """The record that the report reads."""
        record = {**asdict(self), "id": f"theory.{self.id}", "seeds": [seed]}
        record["verdict"] = "reproduced" if record.pop("passed") else "not reproduced"
        keys = ("id", "section", "statement", "paper", "measured", "verdict", "test", "seeds")
        return {key: record[key] for key in (*keys, "interval", "dataset")}


@dataclass(frozen=True)
class Outcome:
    """An experiment's result: constants of its models, series of its figures, claims, and the
    models that most claims are about."""

    regimes: dict[str, Any]
    series: dict[str, Any]
    claims: Sequence[Claim]
    dataset: str = ""


def plain(value: Any) -> Any:
    """The same data in JSON types; numbers that are not finite become null."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value


def mean_interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean of a vector with Student's 95% interval: (mean, low, high)."""
    mean = float(values.mean())
    quantile = float(stdtrit(len(values) - 1, 0.975))
    half = quantile * float(values.std(ddof=1)) / len(values) ** 0.5
    return mean, mean - half, mean + half


def share_interval(hits: int, trials: int) -> tuple[float, float]:
    """Wilson's 95% interval of a probability."""
    z = 1.96
    centre = (hits + z * z / 2) / (trials + z * z)
    share = hits / trials
    half = z / (trials + z * z) * (trials * share * (1 - share) + z * z / 4) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)


def run_experiment(experiment: str, values: Settings, seed: int) -> dict[str, Any]:
    """Run one experiment; returns its settings, regimes, series and claims as plain data.

    Raises:
        InputError: double precision does not hold the probabilities of its models.
    """
    module = importlib.import_module(f"padir.theory.experiments.{experiment}")
    try:
        outcome: Outcome = module.run(values, seed)
    except (np.linalg.LinAlgError, ZeroDivisionError) as error:
        raise InputError(
            f"{experiment}: some probabilities are too small for double precision ({error}):"
            " choose couplings and fields nearer to 0"
        ) from error
    claims = [replace(claim, dataset=claim.dataset or outcome.dataset) for claim in outcome.claims]
    return {
        "experiment": experiment,
        "seed": seed,
        "settings": values.model_dump(mode="json"),
        "regimes": plain(outcome.regimes),
        "series": plain(outcome.series),
        "claims": [plain(claim.as_json(seed)) for claim in claims],
    }
