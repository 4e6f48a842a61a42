"""Decoders that mind the dependence between target positions, against plain ones. Paper: 3.4.

Every model is set against the one whose parameters it takes, at the same number of passes: what
differs is the decoding, and the length rule that validation data chose for it. Another system, with
parameters of its own, is set against plain PaDIR of like training cost.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from padir.config.training import TrainingRun
from padir.report.ablations import contrast
from padir.report.results import Estimate, Results, Row
from padir.report.selection import DEPENDENCY_DECODINGS, dependency_models
from padir.report.tables import Cell, Column, Table
from padir.report.translation import PLACE, latency_row, place, trained_on
from padir.score.redundancy import KINDS
from padir.score.significance import Contrast, over_seeds, percentile_ratio_interval

LEAST_CUT, MOST_TIME = 0.5, 1.2
# A loss that an interval has to exclude: of BLEU, and of valid sentences in percent.
MARGINS = {"bleu": 1.0, "validity": 2.0}
Measure = Callable[[Row], Estimate | None]


def bleu(row: Row) -> Estimate:
    """BLEU."""
    return row.bleu()


def validity(row: Row) -> Estimate | None:
    """Share of valid sentences, in percent; None on real text."""
    found = row.measured("validity", "validity", "share")
    if found is None:
        return None
    spread = None if found.spread is None else 100 * found.spread
    return Estimate(
        100 * found.value, 100 * found.low, 100 * found.high, spread, 100 * found.replicates
    )


def stutter(row: Row) -> Estimate | None:
    """Stutter per 100 words before the final drop of repeats."""
    return row.stutter(before_drop=True)


def dropped(row: Row) -> Estimate | None:
    """Dropped lexemes per 100 of the source; None on real text."""
    return row.measured("dropped", "redundancy", "dropped", "per_100")


def dependency_decoding_table(results: Results) -> Table:
    """System by number of passes: quality, stutter, dropped words and latency."""
    columns = (
        *PLACE,
        Column("model", "Model"),
        Column("targets", "Targets"),
        Column("changed", "Decoding"),
        Column("steps", "Steps"),
        Column("seeds", "Seeds"),
        Column("passes", "Passes", 2),
        Column("bleu", "BLEU", 2),
        *_columns("bleu", 2),
        Column("validity", "Valid %", 1),
        *_columns("validity", 1),
        Column("stutter", "Stutter before drop", 2),
        *_columns("stutter", 2),
        Column("dropped", "Dropped words", 2),
        *_columns("dropped", 2),
        Column("p50_ms", "p50 ms", 2),
        Column("time", "x plain", 2),
        Column("time_interval", "95% interval", 2),
        Column("gain", "Gain"),
    )
    notes = (
        "Plain: the model whose parameters it takes; for another system the PaDIR with the same"
        " targets whose training made most nearly as many decoder passes (steps times stages); of"
        " the same seeds, with as many steps. −"
        " plain: the difference to it, with its 95% interval and two-sided p, by bootstrap over"
        " sentences, paired on the same resamples, with three seeds or more also over seeds.",
        "Stutters per 100 words before the final drop of repeats. Dropped words: lexemes of the"
        " source that the output lacks, per 100 (synthetic data). p50: median latency at batch"
        " size 1, text to text, first seed; x plain: over plain's, its interval over the timed"
        " sentences, paired.",
        f"Gain: stutter at most {LEAST_CUT:g} of plain's, seed by seed, no loss of"
        f" {MARGINS['bleu']:g} BLEU or {MARGINS['validity']:g}% of valid sentences, and median"
        f" latency at most {MOST_TIME:g} of plain's, each by its interval's worse end. Open: the"
        " interval holds both answers.",
        "Every model has the length rule that validation data chose for it. p-values are not"
        " corrected for the number of comparisons; no gain is decided by them.",
    )
    rows = [_cells(results, row) for row in _rows(results)]
    return Table("dependency_decoding", "Decoders that mind dependence", columns, rows, notes)


def redundancy_table(results: Results) -> Table:
    """The same rows: what is said twice, before and after the final drop, and what is not said."""
    columns = (
        *PLACE,
        Column("model", "Model"),
        Column("targets", "Targets"),
        Column("steps", "Steps"),
        Column("seeds", "Seeds"),
        Column("related", "Synonym is"),
        *(
            Column(f"{kind}_{when}", f"{kind.replace('_', ' ').capitalize()} {when}", 2)
            for kind in KINDS
            for when in ("before", "final")
        ),
        Column("dropped", "Dropped words", 2),
        Column("ratio", "Length ratio", 3),
    )
    notes = (
        "Per 100 words of the output, beyond the references' own, before and after the final drop"
        " of repeats (final). Kinds after Wang et al. 2024 (arXiv 2405.02673). Synonym is: another"
        " word of the same lexeme, or on real text another ending of the same stem.",
        "The drop takes continuous repetition away and leaves the rest: a word that the repeat"
        " stands for stays dropped. Length ratio: words for each word of a reference, final.",
    )
    rows = [_redundant(results, row) for row in _rows(results)]
    return Table("redundancy", "Said twice, or not at all", columns, rows, notes)


def _columns(key: str, digits: int) -> tuple[Column, ...]:
    return (
        Column(f"{key}_gap", "− plain", digits),
        Column(f"{key}_interval", "95% interval", digits),
        Column(f"{key}_p", "p", 4),
    )


def _rows(results: Results) -> list[Row]:
    models = dependency_models(results.config)
    return [
        row for row in results.rows
        if row.model in models and row.decoding in DEPENDENCY_DECODINGS
    ]  # fmt: skip


def _cells(results: Results, row: Row) -> dict[str, Cell]:
    plain = _plain(results, row)
    measures: dict[str, Measure] = {
        "bleu": bleu, "validity": validity, "stutter": stutter, "dropped": dropped,
    }  # fmt: skip
    values = {key: measure(row) for key, measure in measures.items()}
    gaps = {
        key: None if plain is None else contrast(row, plain, measure)
        for key, measure in measures.items()
    }
    timed, reference = (
        None if one is None else latency_row(
            results.dependency_latency, one.group, one.model, one.decoding
        )
        for one in (row, plain)
    )  # fmt: skip
    time = _time(timed, reference)
    cells: dict[str, Cell] = {
        **place(row.group),
        "model": row.model,
        "targets": trained_on(results, row.model),
        "changed": _changed(results, row.model),
        "steps": row.decoding,
        "seeds": len(row.seeds),
        "passes": row.mean("decoder_passes"),
        "p50_ms": None if timed is None else timed["p50_ms"],
        "time": time and time.ratio,
        "time_interval": time and time.ends,
        "gain": None if plain is None else _gain(row, plain, gaps, time),
    }
    for key, value in values.items():
        gap = gaps[key]
        cells[key] = None if value is None else value.value
        cells[f"{key}_gap"] = None if gap is None else gap.difference
        cells[f"{key}_interval"] = None if gap is None else (gap.low, gap.high)
        cells[f"{key}_p"] = None if gap is None else gap.p_value
    return cells


def _training_passes(run: TrainingRun) -> int:
    """Decoder passes of a training: what its cost goes with."""
    return run.training.steps * run.objective.stages


def _plain(results: Results, row: Row) -> Row | None:
    """What a row is compared with: as many steps, the row's seeds; None where there is no such.

    Of several that another system could be compared with, the one of most alike training cost.
    """
    models = results.config.models
    run = models[row.model]
    if run.parameters is not None:
        names = [run.parameters]
    elif run.system == "padir":
        names = []
    else:
        names = [
            name for name in dependency_models(results.config)
            if models[name].parameters is None and models[name].system == "padir"
            and models[name].targets == run.targets
        ]  # fmt: skip
        names.sort(key=lambda name: abs(_training_passes(models[name]) - _training_passes(run)))
    rows = [results.row(row.group, name, row.decoding) for name in names]
    for one in rows:
        if one is not None and set(one.seeds) >= set(row.seeds):
            return replace(one, scores=tuple(s for s in one.scores if s["seed"] in row.seeds))
    return None


def _changed(results: Results, model: str) -> str:
    """Settings of decoding in which a model differs from the owner of its parameters."""
    run = results.config.models[model]
    if run.parameters is None:
        return f"plain {run.system}"
    own, owners = (
        one.decoding.model_dump(mode="json") for one in (run, results.config.models[run.parameters])
    )
    return ", ".join(f"{key} {own[key]}" for key in own if own[key] != owners[key]) or "plain"


def stutter_left(row: Row, plain: Row) -> Contrast | None:
    """The share of plain's stutter that is left, seed by seed: seeds of plain may lie far apart.

    None where either has no measure, or plain no stutter on a seed or on a resample.
    """
    values, replicates = [], []
    for ours, theirs in zip(row.scores, plain.scores, strict=True):
        one, other = (stutter(replace(at, scores=(s,))) for at, s in ((row, ours), (plain, theirs)))
        if one is None or other is None or min(other.value, *other.replicates) <= 0:
            return None
        values.append(one.value / other.value)
        replicates.append(one.replicates / other.replicates)
    return over_seeds(values, np.array(replicates))


class Time(NamedTuple):
    """Median latency over another, and its interval where single times were kept."""

    ratio: float
    ends: tuple[float, float] | None


def _time(timed: Mapping[str, Any] | None, reference: Mapping[str, Any] | None) -> Time | None:
    if timed is None or reference is None:
        return None
    ends = None
    if "times_ms" in timed and "times_ms" in reference:
        ends = percentile_ratio_interval(timed["times_ms"], reference["times_ms"], 50)
    return Time(timed["p50_ms"] / reference["p50_ms"], ends)


def _gain(row: Row, plain: Row, gaps: dict[str, Contrast | None], time: Time | None) -> str | None:
    left = stutter_left(row, plain)
    if left is None:
        return None
    missed, unsure = [], []
    for key, margin in MARGINS.items():
        found = gaps[key]
        if found is not None and found.high < 0:
            missed.append(f"{key} worse")
        elif found is not None and found.low < -margin:
            unsure.append(key)
    if left.low > LEAST_CUT:
        missed.append("stutter not halved")
    elif left.high > LEAST_CUT:
        unsure.append("stutter")
    if time is not None:
        least, most = time.ends or (time.ratio, time.ratio)
        if least > MOST_TIME:
            missed.append("too slow")
        elif most > MOST_TIME:
            unsure.append("time")
    if missed:
        return "no: " + ", ".join(missed)
    if unsure:
        return "open: " + ", ".join(unsure)
    return "yes" if time is not None else "yes, but not timed"


def _redundant(results: Results, row: Row) -> dict[str, Cell]:
    first = row.scores[0].get("redundancy")
    lost = dropped(row)
    cells: dict[str, Cell] = {
        **place(row.group),
        "model": row.model,
        "targets": trained_on(results, row.model),
        "steps": row.decoding,
        "seeds": len(row.seeds),
        "related": None if first is None else first["related"],
        "dropped": None if lost is None else lost.value,
        "ratio": row.mean("redundancy", "length_ratio"),
    }
    for kind in KINDS:
        cells[f"{kind}_before"] = row.mean("redundancy", "words_before_drop", kind, "per_100")
        cells[f"{kind}_final"] = row.mean("redundancy", "words", kind, "per_100")
    return cells
