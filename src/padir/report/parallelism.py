"""Quality averaged over budgets of passes or time: one number per system."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from padir.layout import timing_of_systems
from padir.report.columns import PLACE, estimated, shown_targets, with_interval
from padir.report.figures import sweeps
from padir.report.results import Estimate, Results, ScoredRow, estimate
from padir.report.tables import Cell, Column, Table

COLUMNS = (
    *PLACE,
    Column("training", "Training"),
    Column("decoders", "Decoders"),
    Column("passes", "T"),
    Column("targets", "Targets"),
    *with_interval("best", "Best BLEU", 2),
    *with_interval("by_passes", "BLEU over pass budgets", 2),
    *with_interval("by_time", "BLEU over time budgets", 2),
)


class Budgets(NamedTuple):
    """Range of budgets, distributed uniformly in the logarithm."""

    least: float
    most: float


def mean_quality(costs: Sequence[float], qualities: Sequence[float], budgets: Budgets) -> float:
    """Quality that a system reaches on average over budgets: of all its rows that cost no more than
    the budget, the best; 0 where none does.

    Equal to the area under the best quality against the logarithm of the budget, by its width.

    Args:
        costs: of each row, positive.
        qualities: of each row.
        budgets: both ends positive, the least below the most.
    """
    edges, levels, best = [budgets.least], [], 0.0
    for cost, quality in sorted(zip(costs, qualities, strict=True)):
        edges.append(min(max(cost, budgets.least), budgets.most))
        levels.append(best)
        best = max(best, quality)
    widths = np.diff(np.log([*edges, budgets.most]))
    return float(widths @ np.array([*levels, best]) / np.log(budgets.most / budgets.least))


def parallelism(results: Results) -> Table:
    """Each system's BLEU averaged over budgets of passes, and of median time."""
    config, rows = results.config, []
    for place in results.places():
        swept = [sweep for _, sweep, _ in sweeps(results, place, config.system_rows())]
        passes, times = _pass_budgets(swept), _time_budgets(results, swept)
        for sweep in swept:
            first, bleus = sweep[0].row, [row.bleu() for row in sweep]
            steps = dict.fromkeys(row.row.decoding.steps for row in sweep)
            cells: dict[str, Cell] = {
                **place._asdict(),
                "training": first.training,
                "decoders": ", ".join(dict.fromkeys(row.row.decoding.decoder for row in sweep)),
                "passes": ", ".join(steps),
                "targets": shown_targets(config, place, first.training),
                **estimated("best", max(bleus, key=lambda bleu: bleu.value)),
                **estimated("by_passes", _over(bleus, _passes_made(sweep), passes)),
                **estimated("by_time", _over(bleus, _times(results, sweep), times)),
            }
            rows.append(cells)
    notes = [
        "BLEU over budgets: a budget is drawn, the system takes the best of its rows that keep to"
        " it, and scores 0 where none does; the mean over budgets whose logarithm is uniform"
        " (docs/concepts.md). Intervals by bootstrap over sentences; costs are taken as they are.",
        "Pass budgets: from one pass to as many as AR makes, one per token. AR reaches its"
        " quality with the largest budgets alone, so it is near 0. Time budgets: from the fastest"
        " row of the table to the slowest, median latency at batch size 1.",
        "Best BLEU: of the rows shown, chosen on the test set itself.",
    ]
    return Table("parallelism", "Quality under parallelism", COLUMNS, rows, notes)


def _over(
    bleus: Sequence[Estimate], costs: Sequence[float] | None, budgets: Budgets | None
) -> Estimate | None:
    if costs is None or budgets is None:
        return None
    value = mean_quality(costs, [bleu.value for bleu in bleus], budgets)
    resampled = zip(*(bleu.replicates for bleu in bleus), strict=True)
    return estimate([value], [[mean_quality(costs, sample, budgets) for sample in resampled]])


def _passes_made(sweep: Iterable[ScoredRow]) -> list[float] | None:
    return _complete(row.mean("decoder_passes") for row in sweep)


def _times(results: Results, sweep: Iterable[ScoredRow]) -> list[float] | None:
    timing = timing_of_systems(results.config)
    timed = [results.timed(row.place, timing, row.row) for row in sweep]
    return _complete(None if line is None else float(line["p50_ms"]) for line in timed)


def _complete(values: Iterable[float | None]) -> list[float] | None:
    """The values, or None where one is not known."""
    known = []
    for value in values:
        if value is None:
            return None
        known.append(value)
    return known


def _pass_budgets(swept: Iterable[Sequence[ScoredRow]]) -> Budgets | None:
    searches = (row for sweep in swept for row in sweep if row.row.decoding.passes is None)
    most = max((row.mean("decoder_passes") or 0.0 for row in searches), default=0.0)
    return Budgets(1.0, most) if most > 1.0 else None


def _time_budgets(results: Results, swept: Iterable[Sequence[ScoredRow]]) -> Budgets | None:
    times = [time for sweep in swept for time in _times(results, sweep) or ()]
    return Budgets(min(times), max(times)) if times and min(times) < max(times) else None
