"""Tables of the core rows: quality (table 1), stutter and latency."""

from padir.config.rows import Row
from padir.layout import Place
from padir.report import paper
from padir.report.columns import (
    INTERVAL,
    ROW,
    estimated,
    hypotheses_per_sentence,
    percent,
    row_cells,
    with_interval,
)
from padir.report.results import (
    Document,
    Results,
    ScoredRow,
    difference,
    search_row,
    timed_row,
)
from padir.report.tables import Cell, Column, Table
from padir.score.rating import NOT_RUN
from padir.score.stutter import LONGEST_WORD


def table1(results: Results) -> Table:
    """Table 1 of the paper: quality of each training and decoder at each number of passes."""
    columns = (
        *ROW,
        Column("hypotheses", "# hyp."),
        Column("seeds", "Seeds"),
        Column("bleu", "BLEU", 2),
        Column("spread", "± seeds", 2),
        Column("interval", INTERVAL, 2),
        *with_interval("difference", "− baseline", 2),
        Column("p_value", "p", 4),
        Column("chrf", "chrF", 2),
        Column("validity", "Valid %", 1),
        *paper.COLUMNS,
        Column("signature", "Signature"),
    )
    config = results.config
    listed = list(paper.listed(results, config.core_rows(), paper.TABLE1))
    rows = [_quality_cells(results, *entry) for entry in listed]
    baseline = config.baseline()
    notes = [
        "BLEU: mean over seeds; ± standard deviation over seeds; intervals by bootstrap over"
        f" sentences ({config.evaluation.bootstrap_samples} resamples asked for).",
        f"− baseline: BLEU minus that of {baseline.label if baseline else 'no AR row'}, paired on"
        " the same resamples.",
    ]
    if any(row["p_value"] is not None for row in rows):
        notes.append(
            "p: paired approximate randomisation, where row and baseline have one seed each."
        )
    scored_set = {"test": "test set", "valid": "validation set"}[config.evaluation.split]
    for place in results.places():
        score = next(row for row in results.rows.values() if row.place == place).scores[0]
        notes.append(
            f"{' '.join(place)}: {score['sentences']} sentences, {scored_set}"
            f" {score['test_digest'][:12]}; BLEU {score['bleu']['signature']}; the paper's"
            f" {score['bleu']['paper_signature']}; chrF {score['chrf']['signature']}."
        )
    if any(row["paper"] is not None for row in rows):
        notes.append(
            "Paper: BLEU of the paper's table 1, at its own size and training data, beside the"
            f" baseline and the candidate. {paper.NOTE}"
        )
    table = Table("table1", "Table 1: translation quality", columns, rows, notes)
    # For one test set the signature is in the notes alone; else in each line of the CSV too.
    return table if len({place for place, _, _ in listed}) > 1 else table.without("signature")


def _quality_cells(
    results: Results, place: Place, row: Row, scored: ScoredRow | None
) -> dict[str, Cell]:
    bleu = scored and scored.bleu()
    baseline = results.baseline(place)
    gap = difference(scored, baseline) if scored and baseline and scored != baseline else None
    scores = scored.scores if scored else ()
    # A score document is compared with one output of the baseline, that of its first seed.
    one_pair = gap and baseline and len(scores) == len(baseline.seeds) == 1
    paired = scores[0].get("paired") if one_pair and scores else None
    number = paper.number_for(results.config, paper.TABLE1, place, row)
    return {
        **row_cells(results.config, place, row),
        "hypotheses": hypotheses_per_sentence(results.config, row),
        "seeds": len(scores),
        "bleu": NOT_RUN if bleu is None else bleu.value,
        "spread": bleu and bleu.spread,
        "interval": bleu and bleu.ends,
        "difference": gap and gap[0],
        "difference_interval": gap and gap[1:],
        "p_value": paired and paired["p_value"],
        "chrf": scored and scored.mean("chrf", "score"),
        "validity": percent(scored.mean("validity", "share")) if scored else None,
        **paper.beside(bleu, number, paper.has(results.config, paper.TABLE1, place)),
        "signature": scores[0]["bleu"]["signature"] if scores else None,
    }


def stutter_table(results: Results) -> Table:
    """Stutter of each row, before and after the final drop of repeats."""
    columns = (
        *ROW,
        Column("unit", "Unit"),
        Column("seeds", "Seeds"),
        *with_interval("before", "Before drop", 2),
        *with_interval("final", "Final", 2),
        *with_interval("excess", "Excess", 2),
        Column("reference", "Reference", 2),
        Column("sentences", "Sentences %", 1),
        Column("tokens_before", "Tokens before", 2),
        Column("tokens", "Tokens final", 2),
        Column("runs", "Runs of 2/3/4+"),
    )
    notes = (
        "Stutters per 100 words (characters for Chinese and Japanese, where a word is up to"
        f" {LONGEST_WORD}): a word equal to the one before it, beyond what a reference has. Before"
        " and after the final drop of repeats.",
        "Excess, sentences with a stutter, and runs are of the text before the drop where there"
        " is one. Excess: the output's repeats per 100 words minus the references' own; the ends of"
        " its interval are the means of the seeds' own.",
        "Tokens: equal neighbours per 100 vocabulary tokens, references not considered.",
        "Runs: how many runs of 2, 3, and 4 or more equal words, all seeds together.",
    )
    rows = [_stutter_cells(results, row) for row in results.scored(results.config.core_rows())]
    return Table("stutter", "Stutter", columns, rows, notes)


def _stutter_cells(results: Results, row: ScoredRow) -> dict[str, Cell]:
    before = row.stutter(before_drop=True)
    key = "words" if before is None else "words_before_drop"
    low, high = (row.mean("stutter", key, f"excess_{end}") for end in ("low", "high"))
    return {
        **row_cells(results.config, row.place, row.row),
        "unit": row.scores[0]["stutter"]["unit"],
        "seeds": len(row.seeds),
        **estimated("before", before),
        **estimated("final", row.stutter(before_drop=False)),
        "excess": row.mean("stutter", key, "excess_per_100"),
        "excess_interval": None if low is None or high is None else (low, high),
        "reference": row.mean("stutter", "words", "reference_per_100"),
        "sentences": percent(row.mean("stutter", key, "sentences_share")),
        "tokens_before": row.mean("stutter", "tokens_before_drop", "per_100"),
        "tokens": row.mean("stutter", "tokens", "per_100"),
        "runs": _runs(row, before is not None),
    }


def _runs(row: ScoredRow, before: bool) -> str:
    counts = [0, 0, 0]
    for score in row.scores:
        runs = score["stutter"]["run_lengths_before_drop" if before else "run_lengths"]
        for length, number in runs.items():
            counts[min(int(length), 4) - 2] += number
    return "/".join(map(str, counts))


def latency_table(results: Results) -> Table:
    """Batch-1 latency and speed-ups over AR within the same timing run."""
    columns = (
        *ROW,
        Column("p50_ms", "p50 ms", 2),
        Column("p90_ms", "p90 ms", 2),
        Column("p99_ms", "p99 ms", 2),
        Column("mean_ms", "Mean ms", 2),
        Column("passes", "Passes", 1),
        Column("tokens", "Tokens", 1),
        Column("compile_s", "Compile s", 1),
        Column("greedy_p50", "× greedy p50", 2),
        Column("greedy_p99", "× greedy p99", 2),
        Column("beam_p50", "× beam p50", 2),
        Column("beam_p99", "× beam p99", 2),
        Column("bleu", "BLEU", 2),
    )
    baseline = results.config.baseline()
    notes = [
        f"× greedy, × beam: time of {baseline.training if baseline else 'AR'} by that decoder over"
        " this row's time, same run; above 1 this row is faster. Batch size 1, text to text, warm;"
        " compile time apart.",
    ]
    rows: list[dict[str, Cell]] = []
    for (place, timing), document in results.latencies.items():
        if timing == "core":
            rows += [_latency_cells(results, place, line) for line in document["rows"]]
            machine = ", ".join(f"{key} {value}" for key, value in document["machine"].items())
            notes.append(f"{' '.join(place)}: {document.get('sentences')} sentences; {machine}.")
    return Table("latency", "Latency at batch size 1", columns, rows, notes)


def _latency_cells(results: Results, place: Place, line: Document) -> dict[str, Cell]:
    row = timed_row(line)
    scored = results.row(place, row)
    cells: dict[str, Cell] = {
        **row_cells(results.config, place, row),
        "p50_ms": line["p50_ms"],
        "p90_ms": line["p90_ms"],
        "p99_ms": line["p99_ms"],
        "mean_ms": line.get("mean_ms"),
        "passes": line["passes_mean"],
        "tokens": line.get("tokens_mean"),
        "compile_s": line.get("compile_s"),
        "bleu": scored and scored.bleu().value,
    }
    for kind in ("greedy", "beam"):
        search = results.timed(place, "core", search_row(results.config, kind))
        for point in ("p50_ms", "p99_ms"):
            ratio = search[point] / line[point] if search else None
            cells[f"{kind}_{point.removesuffix('_ms')}"] = ratio
    return cells
