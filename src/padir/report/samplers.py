"""Table of the Gibbs samplers on text: quality, acceptance and energy."""

from collections.abc import Sequence

import numpy as np

from padir.report.results import Results
from padir.report.tables import Cell, Column, Table
from padir.report.translation import PLACE, place, trained_on


def samplers_table(results: Results) -> Table:
    """One line per entry of `evaluation.samplers` and test set. Paper: 2.3, 2.4, slides."""
    columns = (
        *PLACE,
        Column("name", "Sampler"),
        Column("model", "Model"),
        Column("targets", "Targets"),
        Column("block", "k"),
        Column("metropolis", "Metropolis-Hastings"),
        Column("chains", "Chains"),
        Column("steps", "Steps"),
        Column("temperature", "Temperature"),
        Column("acceptance", "Moves taken", 3),
        Column("start", "Energy at start", 2),
        Column("last", "at the last step", 2),
        Column("best", "at best", 2),
        Column("bleu", "BLEU", 2),
        Column("interval", "95% interval", 2),
        Column("validity", "Valid %", 1),
        Column("stutter", "Stutter", 2),
    )
    rows: list[dict[str, Cell]] = []
    for dataset, direction, name, score, lines in results.samples:
        settings = results.config.evaluation.samplers[name]
        chains = [chain for line in lines for chain in line["chains"]]
        cold, hot = settings.final_temperature, settings.temperature
        validity = score.get("validity")
        rows.append(
            {
                **place((dataset, direction)),
                "name": name,
                "model": settings.model,
                "targets": trained_on(results, settings.model),
                "block": settings.block,
                "metropolis": "yes" if settings.metropolis else "no",
                "chains": settings.chains,
                "steps": settings.steps,
                "temperature": f"{hot:g}" if cold == hot else f"{hot:g} to {cold:g}",
                "acceptance": mean([chain["acceptance"] for chain in chains]),
                "start": mean([chain["energies"][0] for chain in chains]),
                "last": mean([chain["energy"] for chain in chains]),
                "best": mean([chain["best_energy"] for chain in chains]),
                "bleu": score["bleu"]["score"],
                "interval": (score["bleu"]["low"], score["bleu"]["high"]),
                "validity": None if validity is None else 100 * validity["share"],
                "stutter": score["stutter"]["words"]["per_100"],
            }
        )
    notes = (
        "A step redraws k tokens in one decoder pass. Scored is each sentence's text of least"
        " energy among all states measured in any of its chains; nothing is dropped from it.",
        "Energy: minus the sum of each token's log-probability with that token alone hidden, mean"
        " over sentences and chains. Moves taken: always all without Metropolis-Hastings.",
    )
    return Table("samplers", "Gibbs sampling of translations", columns, rows, notes)


def mean(values: Sequence[float]) -> float | None:
    """Their mean; None of none."""
    return float(np.mean(values)) if values else None
