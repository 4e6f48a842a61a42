"""Table 2: comparison of systems at equal numbers of passes."""

from padir.config.experiment import Config
from padir.config.rows import Row
from padir.layout import Place, timing_of_systems
from padir.report import paper
from padir.report.columns import INTERVAL, ROW, estimated, percent, row_cells, with_interval
from padir.report.results import Results, ScoredRow, difference, mean_if_known
from padir.report.tables import Cell, Column, Table
from padir.score.rating import NOT_RUN
from padir.score.significance import median_interval

COLUMNS = (
    *ROW,
    Column("seeds", "Seeds"),
    Column("training_seconds", "Training, s", 0),
    *with_interval("passes", "Passes", 2),
    Column("bleu", "BLEU", 2),
    Column("spread", "± seeds", 2),
    Column("interval", INTERVAL, 2),
    *with_interval("difference", "− PaDIR", 2),
    *with_interval("validity", "Valid %", 1),
    *with_interval("stutter", "Stutter before drop", 2),
    Column("final", "Stutter final", 2),
    Column("p50_ms", "p50 ms", 2),
    Column("p50_interval", INTERVAL, 2),
    *paper.COLUMNS,
    Column("signature", "Signature"),
)


def padir_row(config: Config) -> Row | None:
    """The row that table 2 compares the others with, at as many passes: the candidate where table 2
    has its training, else the first PaDIR there."""
    rows = [row for row in config.system_rows() if config.trainings[row.training].system == "padir"]
    candidate = config.candidate()
    if candidate and any(row.training == candidate.training for row in rows):
        return candidate
    return rows[0] if rows else None


def table2(results: Results) -> Table:
    """Table 2: quality, stutter, passes and latency of every system.

    The paper sets its own results beside other papers'; here all systems have the same data,
    vocabulary, size and scorer.
    """
    config = results.config
    listed = list(paper.listed(results, config.system_rows(), paper.TABLE2))
    rows = [_cells(results, *entry) for entry in listed]
    compared = padir_row(config)
    notes = [
        "BLEU: mean over seeds; ± standard deviation over seeds; intervals by bootstrap over"
        " sentences, of validity the mean of the seeds' own.",
        "No interval covers what another training would give: ± says how far seeds lie apart. A"
        " system with one seed has none: rankings of such systems are of these trainings only.",
        f"− PaDIR: BLEU minus that of {compared.training if compared else 'no PaDIR row'}"
        " with as many passes, paired on the same resamples; over the seeds that both have, if"
        " any.",
        "T: decoder passes allowed; N, one per token, for AR. Passes: those made, mean over"
        " sentences and seeds.",
        "Stutters per 100 words, before and after the final drop of repeats. p50: median latency"
        " at batch size 1, text to text, first seed; its interval is over the timed sentences of"
        " one run, not over runs.",
        "Training, s: processor seconds of one seed's training, mean over seeds; with compilation,"
        " where another run had not compiled the same already. Not in it: the training of a teacher"
        " or of an encoder that training starts from, and work that a kill lost.",
        "Not here: trainings that evaluation.systems leaves out; see table 1 and the ablations.",
    ]
    if any(row["paper"] is not None for row in rows):
        notes.append(
            "Paper: its table 2, which sets other papers' numbers beside its own in a measure that"
            " is not sacreBLEU: − paper is no comparison of like with like, and has no verdict."
        )
    table = Table("table2", "Table 2: all systems", COLUMNS, rows, notes)
    return table if len({place for place, _, _ in listed}) > 1 else table.without("signature")


def training_seconds(results: Results, row: ScoredRow) -> float | None:
    """Processor seconds that training took, mean over seeds; None where a run did not record it.

    A resumed training counts up to the checkpoint that it resumed from, and from there on.
    """
    curves = [results.curves.get((row.place, row.row.training, seed)) for seed in row.seeds]
    times = [lines[-1].get("cpu_seconds") if lines else None for lines in curves]
    return mean_if_known(times)


def _cells(results: Results, place: Place, row: Row, scored: ScoredRow | None) -> dict[str, Cell]:
    number = paper.number_for(results.config, paper.TABLE2, place, row)
    bleu, known = scored and scored.bleu(), paper.has(results.config, paper.TABLE2, place)
    cells: dict[str, Cell] = {column.key: None for column in COLUMNS}
    cells |= {"seeds": 0, "bleu": NOT_RUN}
    cells |= row_cells(results.config, place, row)
    cells |= {} if scored is None else _measured(results, scored)
    return cells | paper.beside(bleu, number, known, same_measure=False)


def _measured(results: Results, row: ScoredRow) -> dict[str, Cell]:
    config, bleu, gap = results.config, row.bleu(), None
    padir = padir_row(config)
    if padir is not None and padir.training != row.row.training:
        decoding = padir.decoding._replace(passes=row.row.decoding.passes)
        compared = results.row(row.place, Row(padir.training, decoding))
        if compared is not None:
            common = {*row.seeds} & {*compared.seeds} or {*row.seeds, *compared.seeds}
            gap = difference(row.with_seeds(common), compared.with_seeds(common))
    low, high = (percent(row.mean("validity", end)) for end in ("low", "high"))
    passes = row.measured("decoder_passes", "decoder_passes")
    timed = results.timed(row.place, timing_of_systems(config), row.row)
    final = row.stutter(before_drop=False)
    return {
        "seeds": len(row.seeds),
        "training_seconds": training_seconds(results, row),
        "passes": row.mean("decoder_passes"),
        "passes_interval": passes and passes.ends,
        "bleu": bleu.value,
        "spread": bleu.spread,
        "interval": bleu.ends,
        "difference": gap and gap[0],
        "difference_interval": gap and gap[1:],
        "validity": percent(row.mean("validity", "share")),
        "validity_interval": None if low is None or high is None else (low, high),
        **estimated("stutter", row.stutter(before_drop=True)),
        "final": final and final.value,
        "p50_ms": None if timed is None else timed["p50_ms"],
        "p50_interval": None
        if timed is None
        else median_interval(timed["times_ms"], config.evaluation.bootstrap_samples),
        "signature": row.scores[0]["bleu"]["signature"],
    }
