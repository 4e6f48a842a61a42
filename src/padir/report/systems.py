"""Table 2: the systems side by side, at the same numbers of passes."""

import numpy as np

from padir.report import beside, paper
from padir.report.results import Results, Row
from padir.report.selection import TABLE2_DECODINGS, compared_systems, reference_system
from padir.report.tables import Cell, Column, Table
from padir.report.translation import (
    PLACE,
    Listed,
    difference,
    latency_row,
    listed,
    papers_number,
    place,
    trained_on,
)
from padir.score.rating import NOT_RUN
from padir.score.significance import median_interval


def table2(results: Results) -> Table:
    """Table 2: quality, stutter, passes and latency of every system.

    The paper sets its own results beside other papers'; here all systems have the same data,
    vocabulary, size and scorer.
    """
    columns = (
        *PLACE,
        Column("model", "Model"),
        Column("system", "System"),
        Column("targets", "Targets"),
        Column("steps", "Steps"),
        Column("seeds", "Seeds"),
        Column("training", "Training, s", 0),
        Column("passes", "Passes", 2),
        Column("passes_interval", "95% interval", 2),
        Column("bleu", "BLEU", 2),
        Column("spread", "± seeds", 2),
        Column("interval", "95% interval", 2),
        Column("difference", "− reference", 2),
        Column("difference_interval", "95% interval", 2),
        Column("validity", "Valid %", 1),
        Column("validity_interval", "95% interval", 1),
        Column("stutter", "Stutter before drop", 2),
        Column("stutter_interval", "95% interval", 2),
        Column("final", "Stutter final", 2),
        Column("p50_ms", "p50 ms", 2),
        Column("p50_interval", "95% interval", 2),
        *beside.PAPER,
        Column("signature", "Signature"),
    )
    models, reference = compared_systems(results.config), reference_system(results.config)
    # Without its reference there is nothing to compare, as long as only the core has been run; what
    # the paper has is listed in any case.
    waiting = reference is not None and all(row.model != reference for row in results.rows)
    entries = [
        entry
        for entry in listed(results, models, paper.TABLE2)
        if entry[2] in TABLE2_DECODINGS
        and not (waiting and papers_number(results, paper.TABLE2, entry) is None)
    ]
    rows = [_cells(results, entry) for entry in entries]
    if len({entry[0] for entry in entries}) <= 1:
        columns = columns[:-1]
        rows = [{key: row[key] for key in row if key != "signature"} for row in rows]
    notes = [
        "BLEU: mean over seeds; ± standard deviation over seeds; intervals by bootstrap over"
        " sentences, of validity the mean of the seeds' own.",
        "No interval covers what another training would give: ± says how far seeds lie apart. A"
        " system with one seed has none: rankings of such systems are of these trainings only.",
        f"− reference: BLEU minus that of {reference} with as many steps, paired"
        " on the same resamples.",
        "Steps: decoder passes allowed, or the search of AR. Passes: those made, mean over"
        " sentences and seeds; of AR, one per token.",
        "Stutters per 100 words, before and after the final drop of repeats. p50: median latency"
        " at batch size 1, text to text, first seed; its interval is over the timed sentences of"
        " one run, not over runs.",
        "Training: processor seconds of one seed's training, mean over seeds; with compilation,"
        " where another run had not compiled the same already; of borrowed parameters those of"
        " their owner. Not in it: the training of a teacher or of an encoder that training starts"
        " from, and what a resumed training had done before.",
        "Not here: models that evaluation.systems leaves out; see table 1 and the ablations.",
    ]
    if any(row["paper"] is not None for row in rows):
        notes.append(
            "Paper: its table 2, which sets other papers' numbers beside its own in a measure that"
            " is not sacreBLEU: − paper is no comparison of like with like, and has no verdict."
        )
    return Table("table2", "Table 2: all systems", columns, rows, notes)


def training_seconds(results: Results, row: Row) -> float | None:
    """Processor seconds that training took, mean over seeds; None where a run did not record it.

    A resumed training counts from where it went on.
    """
    owner = results.config.models[row.model].parameters or row.model
    runs = [results.curves.get((*row.group, owner, seed)) for seed in row.seeds]
    times = [lines[-1].get("cpu_seconds") if lines else None for lines in runs]
    return None if None in times else float(np.mean(np.array(times, float)))


def _cells(results: Results, entry: Listed) -> dict[str, Cell]:
    group, model, decoding, row = entry
    run = results.config.models[model]
    known = bool(paper.printed(paper.TABLE2, group))
    number = papers_number(results, paper.TABLE2, entry)
    cells: dict[str, Cell] = {
        **place(group),
        "model": model,
        "system": run.system,
        "targets": trained_on(results, model),
        "steps": decoding[1:] if run.parallel else decoding,
        **(_missing() if row is None else _measured(results, row)),
    }
    bleu = None if row is None else row.bleu()
    cells |= beside.beside(bleu, number, known, same_measure=False)
    return cells


def _missing() -> dict[str, Cell]:
    """A row that the paper has and we have not run."""
    keys = ("training", "passes", "passes_interval", "spread", "interval", "difference")
    keys += ("difference_interval", "validity", "validity_interval", "stutter", "stutter_interval")
    keys += ("final", "p50_ms", "p50_interval")
    return {**dict.fromkeys(keys), "seeds": 0, "bleu": NOT_RUN, "signature": None}


def _measured(results: Results, row: Row) -> dict[str, Cell]:
    bleu = row.bleu()
    before, final = row.stutter(before_drop=True), row.stutter(before_drop=False)
    reference = reference_system(results.config)
    same_steps = None
    if reference is not None and reference != row.model:
        same_steps = results.row(row.group, reference, row.decoding)
    gap = None if same_steps is None else difference(row, same_steps)
    validity = row.mean("validity", "share")
    low, high = row.mean("validity", "low"), row.mean("validity", "high")
    passes = row.measured("decoder_passes", "decoder_passes")
    timed = latency_row(results.system_latency, row.group, row.model, row.decoding)
    times = None if timed is None else timed.get("times_ms")
    samples = results.config.evaluation.bootstrap_samples
    return {
        "seeds": len(row.seeds),
        "training": training_seconds(results, row),
        "passes": row.mean("decoder_passes"),
        "passes_interval": passes and (passes.low, passes.high),
        "bleu": bleu.value,
        "spread": bleu.spread,
        "interval": (bleu.low, bleu.high),
        "difference": None if gap is None else gap[0],
        "difference_interval": None if gap is None else gap[1:],
        "validity": None if validity is None else 100 * validity,
        "validity_interval": None if low is None or high is None else (100 * low, 100 * high),
        "stutter": before and before.value,
        "stutter_interval": before and (before.low, before.high),
        "final": final and final.value,
        "p50_ms": None if timed is None else timed["p50_ms"],
        # Not all files of older versions hold single times, or passes on each resample.
        "p50_interval": median_interval(times, samples) if times else None,
        "signature": row.scores[0]["bleu"]["signature"],
    }
