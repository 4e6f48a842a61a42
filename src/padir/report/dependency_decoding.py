"""Tables of dependency-aware decoding against the system's plain decoder. Paper: 3.4.

Every row is compared with the same training under its system's own decoder, at the same number of
passes: only the decoder differs, and the length rule that validation data chose for it. The plain
row of another system is compared with plain PaDIR of like training cost.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from padir.config.experiment import Config
from padir.config.rows import Decoding, Row
from padir.report.ablations import contrast
from padir.report.columns import INTERVAL, ROW, row_cells
from padir.report.results import Document, Estimate, Results, ScoredRow, estimate
from padir.report.tables import Cell, Column, Table
from padir.score.redundancy import REDUNDANCY_KINDS
from padir.score.significance import Contrast, over_seeds, percentile_ratio_interval

LEAST_CUT, MOST_TIME = 0.5, 1.2
# A loss that an interval has to exclude: of BLEU, and of valid sentences in percent.
MARGINS = {"bleu": 1.0, "validity": 2.0}


def validity(row: ScoredRow) -> Estimate | None:
    """Share of valid sentences, in percent; None on real text."""
    share = row.measured("validity", "validity", "share")
    if share is None:
        return None
    return estimate((100 * share.by_seed).tolist(), 100 * share.replicates_by_seed)


def stutter(row: ScoredRow) -> Estimate | None:
    """Stutter per 100 words before the final drop of repeats."""
    return row.stutter(before_drop=True)


def dropped(row: ScoredRow) -> Estimate | None:
    """Dropped lexemes per 100 of the source; None on real text."""
    return row.measured("dropped", "redundancy", "dropped", "per_100")


MEASURES: dict[str, Callable[[ScoredRow], Estimate | None]] = {
    "bleu": ScoredRow.bleu,
    "validity": validity,
    "stutter": stutter,
    "dropped": dropped,
}


def comparison_table(results: Results) -> Table:
    """Quality, stutter, dropped words and latency of each row against the plain decoder."""
    columns = (
        *ROW,
        Column("changed", "Decoder's settings"),
        Column("seeds", "Seeds"),
        Column("passes", "Passes", 2),
        *_columns("bleu", "BLEU", 2),
        *_columns("validity", "Valid %", 1),
        *_columns("stutter", "Stutter before drop", 2),
        *_columns("dropped", "Dropped words", 2),
        Column("p50_ms", "p50 ms", 2),
        Column("time", "× plain", 2),
        Column("time_interval", INTERVAL, 2),
        Column("gain", "Gain"),
    )
    notes = (
        "Plain: the same training under its system's own decoder. The plain row of another system"
        " is compared with the PaDIR with the same targets whose training made most nearly as many"
        " decoder passes with a gradient. Same seeds, same T. − plain: the difference to it,"
        " with its 95% interval and two-sided p, by bootstrap over"
        " sentences, paired on the same resamples, with three seeds or more also over seeds.",
        "Stutters per 100 words before the final drop of repeats. Dropped words: lexemes of the"
        " source that the output lacks, per 100 (synthetic data). p50: median latency at batch"
        " size 1, text to text, first seed; × plain: over plain's, its interval over the timed"
        " sentences, paired.",
        f"Gain: stutter at most {LEAST_CUT:g} of plain's, seed by seed, no loss of"
        f" {MARGINS['bleu']:g} BLEU or {MARGINS['validity']:g}% of valid sentences, and median"
        f" latency at most {MOST_TIME:g} of plain's, each by its interval's worse end. Open: the"
        " interval holds both answers.",
        "Every row has the length rule that validation data chose for it. p-values are not"
        " corrected for the number of comparisons; no gain is decided by them.",
    )
    rows = [_cells(results, row) for row in results.scored(results.config.dependency_rows())]
    return Table("dependency_decoding", "Dependency-aware decoding", columns, rows, notes)


def redundancy_table(results: Results) -> Table:
    """Redundancy before and after the final drop, and dropped words, of the same rows."""
    columns = (
        *ROW,
        Column("seeds", "Seeds"),
        Column("related", "Synonym is"),
        *(
            Column(f"{kind}_{when}", f"{kind.replace('_', ' ').capitalize()} {when}", 2)
            for kind in REDUNDANCY_KINDS
            for when in ("before", "final")
        ),
        Column("dropped", "Dropped words", 2),
        Column("ratio", "Length ratio", 3),
    )
    notes = (
        "Per 100 words of the output, beyond the references' own, before and after the final drop"
        " of repeats (final). Kinds after Wang et al. 2024 (arXiv 2405.02673). Synonym is: another"
        " word of the same lexeme, or on real text another ending of the same stem.",
        "The drop removes continuous repetition and leaves the rest: a source word that a repeat"
        " stands for stays dropped. Length ratio: words for each word of a reference, final.",
    )
    rows = [_redundant(results, row) for row in results.scored(results.config.dependency_rows())]
    return Table("redundancy", "Redundancy and dropped words", columns, rows, notes)


def _columns(key: str, heading: str, digits: int) -> tuple[Column, ...]:
    return (
        Column(key, heading, digits),
        Column(f"{key}_gap", "− plain", digits),
        Column(f"{key}_interval", INTERVAL, digits),
        Column(f"{key}_p", "p", 4),
    )


def _cells(results: Results, row: ScoredRow) -> dict[str, Cell]:
    plain = _plain(results, row)
    gaps = {
        key: None if plain is None else contrast(row, plain, measure)
        for key, measure in MEASURES.items()
    }
    timed, timed_plain = (
        results.timed(row.place, "dependency", timed_row)
        for timed_row in (row.row, plain and plain.row)
    )
    time = _time(timed, timed_plain)
    cells: dict[str, Cell] = {
        **row_cells(results.config, row.place, row.row),
        "changed": _changed(results.config, row.row),
        "seeds": len(row.seeds),
        "passes": row.mean("decoder_passes"),
        "p50_ms": None if timed is None else timed["p50_ms"],
        "time": time and time.ratio,
        "time_interval": time and time.ends,
        "gain": None if plain is None else _gain(row, plain, gaps, time),
    }
    for key, measure in MEASURES.items():
        value, gap = measure(row), gaps[key]
        cells[key] = value and value.value
        cells[f"{key}_gap"] = gap and gap.difference
        cells[f"{key}_interval"] = gap and (gap.low, gap.high)
        cells[f"{key}_p"] = gap and gap.p_value
    return cells


def _training_passes(config: Config, training: str) -> int:
    """Decoder passes of a training, which its cost is proportional to."""
    run = config.trainings[training]
    return run.training.steps * run.decoder_passes


def _compared(config: Config, row: Row) -> list[Row]:
    """Rows that a row may be compared with, in order of preference."""
    plain = config.plain_row(row)
    if plain != row:
        return [plain]
    run = config.trainings[row.training]
    if run.system == "padir":
        return []
    cost = _training_passes(config, row.training)
    trainings = dict.fromkeys(other.training for other in config.dependency_rows())
    like = [
        name
        for name in trainings
        if config.trainings[name].system == "padir"
        and config.trainings[name].targets == run.targets
    ]
    like.sort(key=lambda name: abs(_training_passes(config, name) - cost))
    return [Row(name, Decoding("padir", row.decoding.passes)) for name in like]


def _plain(results: Results, row: ScoredRow) -> ScoredRow | None:
    """The row that a row is compared with, cut down to its seeds; None where there is none."""
    for compared in _compared(results.config, row.row):
        plain = results.row(row.place, compared)
        if plain is not None and set(plain.seeds) >= set(row.seeds):
            return plain.with_seeds(set(row.seeds))
    return None


def _changed(config: Config, row: Row) -> str:
    """Settings in which a row's decoder differs from its system's own."""
    plain = config.plain_row(row)
    ours, theirs = (
        config.decoders[entry.decoding.decoder].model_dump(mode="json") for entry in (row, plain)
    )
    changed = ", ".join(f"{key} {ours[key]}" for key in ours if ours[key] != theirs[key])
    return changed or f"plain {config.trainings[row.training].system}"


def relative_stutter(row: ScoredRow, plain: ScoredRow) -> Contrast | None:
    """Stutter as a share of the plain decoder's, seed by seed, as seeds may differ much.

    None where either has no measure, or plain no stutter on a seed or on a resample.
    """
    ours, base = stutter(row), stutter(plain)
    if ours is None or base is None:
        return None
    if base.by_seed.min() <= 0 or base.replicates_by_seed.min() <= 0:
        return None
    return over_seeds(
        [a / b for a, b in zip(ours.by_seed, base.by_seed, strict=True)],
        ours.replicates_by_seed / base.replicates_by_seed,
    )


class Time(NamedTuple):
    """Median latency over another.

    Attributes:
        ratio: of the two medians.
        ends: of its interval; None where too few sentences were timed.
    """

    ratio: float
    ends: tuple[float, float] | None


def _time(timed: Document | None, plain: Document | None) -> Time | None:
    if timed is None or plain is None:
        return None
    ends = percentile_ratio_interval(timed["times_ms"], plain["times_ms"], 50)
    return Time(timed["p50_ms"] / plain["p50_ms"], ends)


def _gain(
    row: ScoredRow, plain: ScoredRow, gaps: dict[str, Contrast | None], time: Time | None
) -> str | None:
    stutter_ratio = relative_stutter(row, plain)
    if stutter_ratio is None:
        return None
    failed, undecided = [], []
    for key, margin in MARGINS.items():
        gap = gaps[key]
        if gap is not None and gap.high < -margin:
            failed.append(f"{key} worse")
        elif gap is not None and gap.low < -margin:
            undecided.append(key)
    if stutter_ratio.low > LEAST_CUT:
        failed.append("stutter not halved")
    elif stutter_ratio.high > LEAST_CUT:
        undecided.append("stutter")
    if time is not None:
        least, most = time.ends or (0.0, math.inf)
        if least > MOST_TIME:
            failed.append("too slow")
        elif most > MOST_TIME:
            undecided.append("time")
    if failed:
        return "no: " + ", ".join(failed)
    if undecided:
        return "open: " + ", ".join(undecided)
    return "yes" if time is not None else "yes, but not timed"


def _redundant(results: Results, row: ScoredRow) -> dict[str, Cell]:
    redundancy = row.scores[0].get("redundancy")
    omitted = dropped(row)
    cells: dict[str, Cell] = {
        **row_cells(results.config, row.place, row.row),
        "seeds": len(row.seeds),
        "related": redundancy and redundancy["related"],
        "dropped": omitted and omitted.value,
        "ratio": row.mean("redundancy", "length_ratio"),
    }
    for kind in REDUNDANCY_KINDS:
        cells[f"{kind}_before"] = row.mean("redundancy", "words_before_drop", kind, "per_100")
        cells[f"{kind}_final"] = row.mean("redundancy", "words", kind, "per_100")
    return cells
