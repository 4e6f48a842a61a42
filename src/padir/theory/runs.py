"""Every experiment by name, run to one JSON document."""

import importlib
from typing import Any

import pydantic

from padir.config import theory as settings
from padir.config.base import Settings
from padir.files import InputError
from padir.theory.claims import Outcome, plain

# Name -> settings class; the module of the same name has `run(settings, seed) -> Outcome`.
EXPERIMENTS: dict[str, type[Settings]] = {
    "estimation": settings.Estimation,
    "mode_reaching": settings.ModeReaching,
    "identities": settings.Identities,
    "tensorisation": settings.Tensorisation,
    "product_kernels": settings.ProductKernels,
    "mask_design": settings.MaskDesign,
    "dependent_blocks": settings.DependentBlocks,
    "errata": settings.Errata,
}


def check_settings(experiment: str, values: Any, where: str) -> Settings:
    """Validate one experiment's settings.

    Raises:
        InputError: one line per error, with `where` and the key.
    """
    if experiment not in EXPERIMENTS:
        raise InputError(
            f"no experiment {experiment!r}: allowed are {', '.join(sorted(EXPERIMENTS))}"
        )
    try:
        return EXPERIMENTS[experiment].model_validate(values)
    except pydantic.ValidationError as error:
        lines = [
            f"{where}: {'.'.join(map(str, item['loc'])) or experiment}: {item['msg']}"
            for item in error.errors()
        ]
        raise InputError("\n".join(lines)) from error


def run_experiment(experiment: str, values: Settings, seed: int) -> dict[str, Any]:
    """Run one experiment; returns its settings, regimes, series and claims as plain data."""
    module = importlib.import_module(f"padir.theory.experiments.{experiment}")
    outcome: Outcome = module.run(values, seed)
    return {
        "experiment": experiment,
        "seed": seed,
        "settings": values.model_dump(mode="json"),
        "regimes": plain(outcome.regimes),
        "series": plain(outcome.series),
        "claims": [plain(claim.as_json(seed)) for claim in outcome.claims],
    }
