"""Table of the Gibbs samplers on text: quality, acceptance and energy."""

from padir.report.columns import INTERVAL, PLACE, percent, shown_targets
from padir.report.results import Results, mean_if_known
from padir.report.tables import Cell, Column, Table


def samplers_table(results: Results) -> Table:
    """One line per entry of `evaluation.samplers` and test set. Paper: 2.4, slides."""
    columns = (
        *PLACE,
        Column("name", "Sampler"),
        Column("training", "Training"),
        Column("targets", "Targets"),
        Column("block", "k"),
        Column("metropolis", "Metropolis-Hastings"),
        Column("chains", "Chains"),
        Column("steps", "Steps"),
        Column("temperature", "Temperature"),
        Column("acceptance", "Moves accepted", 3),
        Column("start", "Energy at start", 2),
        Column("last", "at the last step", 2),
        Column("best", "at best", 2),
        Column("bleu", "BLEU", 2),
        Column("interval", INTERVAL, 2),
        Column("validity", "Valid %", 1),
        Column("stutter", "Stutter", 2),
    )
    rows: list[dict[str, Cell]] = []
    for (place, name), (score, lines) in results.samples.items():
        settings = results.config.evaluation.samplers[name]
        chains = [chain for line in lines for chain in line["chains"]]
        first, last = settings.temperature, settings.final_temperature
        validity = score.get("validity")
        rows.append(
            {
                **place._asdict(),
                "name": name,
                "training": settings.training,
                "targets": shown_targets(results.config, place, settings.training),
                "block": settings.block,
                "metropolis": "yes" if settings.metropolis else "no",
                "chains": settings.chains,
                "steps": settings.steps,
                "temperature": f"{first:g}" if first == last else f"{first:g} to {last:g}",
                "acceptance": mean_if_known(chain["acceptance"] for chain in chains),
                "start": mean_if_known(chain["energies"][0] for chain in chains),
                "last": mean_if_known(chain["energy"] for chain in chains),
                "best": mean_if_known(chain["best_energy"] for chain in chains),
                "bleu": score["bleu"]["score"],
                "interval": (score["bleu"]["low"], score["bleu"]["high"]),
                "validity": percent(validity and validity["share"]),
                "stutter": score["stutter"]["words"]["per_100"],
            }
        )
    notes = (
        "A step redraws k tokens in one decoder pass. Scored is each sentence's text of least"
        " energy among all states measured in any of its chains; nothing is dropped from it.",
        "Energy: minus the sum of each token's log-probability with that token alone masked, mean"
        " over sentences and chains. Without Metropolis-Hastings every move is accepted.",
    )
    return Table("samplers", "Gibbs sampling of translations", columns, rows, notes)
