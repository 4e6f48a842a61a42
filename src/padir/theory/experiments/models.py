"""From settings to models, and the constants that say which regime a model is in."""

from typing import Any

import numpy as np

from padir.config.theory import IsingModel
from padir.theory.dynamics import block_kernel, spectral_gap
from padir.theory.enumeration import MAX_KERNEL_SPINS, exact_law
from padir.theory.ising import GRAPHS, Ising, ising_on_graph
from padir.theory.masks import uniform_masks


def build(settings: IsingModel) -> Ising:
    """The Ising model that the settings describe."""
    if settings.graph == "edges":
        edges = [(edge[0], edge[1]) for edge in settings.edges]
    else:
        edges = GRAPHS[settings.graph](settings.spins)
    return ising_on_graph(settings.spins, edges, settings.coupling, settings.field)


def describe(settings: IsingModel) -> str:
    """One line for captions and claims."""
    return (
        f"{settings.graph} of {settings.spins} spins, J = {_shown(settings.coupling)},"
        f" h = {_shown(settings.field)}"
    )


def _shown(value: float | list[float]) -> str:
    return f"{value:g}" if isinstance(value, int | float) else ", ".join(f"{v:g}" for v in value)


def constants(model: Ising) -> dict[str, Any]:
    """Mode masses, field and coupling sums, smallest probability and the gap of 1-Gibbs."""
    law = exact_law(model)
    strengths = [model.coupling[edge] for edge in model.edges]
    found = {
        "spins": model.spins,
        "edges": len(model.edges),
        "all_plus": law[-1],
        "all_minus": law[0],
        "smallest_probability": law.min(),
        "field_sum": model.field.sum(),
        "field_norm": np.abs(model.field).sum(),
        "smallest_coupling": min(strengths, default=0.0),
        "largest_coupling": max(strengths, default=0.0),
    }
    if model.spins <= MAX_KERNEL_SPINS:
        found["gibbs_gap"] = spectral_gap(law, block_kernel(law, uniform_masks(model.spins, 1)))
    return found
