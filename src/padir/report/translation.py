"""The tables of the translation half: table 1, stutter, latency and data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from padir.report import beside, paper
from padir.report.estimate import Estimate
from padir.report.results import Group, Results, Row
from padir.report.selection import core_models, papers_model
from padir.report.tables import Cell, Column, Table
from padir.score.rating import NOT_RUN
from padir.score.significance import interval

PLACE = (Column("dataset", "Dataset"), Column("direction", "Direction"))
WHAT = (Column("model", "Model"), Column("targets", "Targets"), Column("decoding", "Decoding"))


def difference(row: Row, other: Row) -> tuple[float, float, float]:
    """BLEU of one row minus another's on the same test set: value, and 95% paired interval."""
    ours, theirs = row.bleu(), other.bleu()
    low, high = interval(ours.replicates - theirs.replicates)
    return ours.value - theirs.value, low, high


def baseline_row(results: Results, group: Group) -> Row | None:
    """The AR row that others are compared with: the baseline by beam search, else greedily."""
    model = results.config.evaluation.baseline
    return results.row(group, model, "beam") or results.row(group, model, "greedy")


def hypotheses_per_sentence(results: Results, model: str, decoding: str) -> int:
    """The paper's "# hyp.": beam width, or all starts of a parallel system; 1 for greedy."""
    settings = results.config.models[model].decoding
    if decoding == "greedy":
        return 1
    if decoding == "beam":
        return settings.beam
    return settings.length_candidates * settings.restarts


def trained_on(results: Results, model: str) -> str:
    """A model's targets, and whose encoder its training started from if not fresh."""
    run = results.config.models[model]
    start = run.training.warm_start
    return run.targets if start is None else f"{run.targets} (encoder of {start})"


def steps_of(decoding: str) -> str:
    """The paper's "steps": passes of a parallel decoding, N of a search."""
    return decoding[1:] if decoding.startswith("T") else "N"


def papers_number(
    results: Results, table: Mapping[Group, Mapping[paper.Row, float]], row: "Listed"
) -> float | None:
    """The paper's number beside a row: of its system, where this model stands for that."""
    group, model, decoding, _ = row
    system = results.config.models[model].system
    if papers_model(results.config, system) != model:
        return None
    return paper.printed(table, group).get((system, decoding))


# Test set, model, decoding, and the row; None where the paper has it and we have not run it.
Listed = tuple[Group, str, str, Row | None]


def listed(
    results: Results, models: Sequence[str], table: Mapping[Group, Mapping[paper.Row, float]]
) -> Iterator[Listed]:
    """What a table lists, in the config's order: all rows that are there, and those with a number
    of the paper's whether they are there or not.
    """
    for dataset, data in results.config.datasets.items():
        for direction in data.directions:
            for model in models:
                for decoding in results.config.models[model].decode:
                    group = (dataset, direction)
                    row = results.row(group, model, decoding)
                    found = (group, model, decoding, row)
                    if row is not None or papers_number(results, table, found) is not None:
                        yield found


def place(group: Group) -> dict[str, Cell]:
    """The leading cells of a row: its test set."""
    return {"dataset": group[0], "direction": group[1]}


def table1(results: Results) -> Table:
    """Table 1 of the paper: quality of each model at each number of passes."""
    columns = (
        *PLACE,
        Column("model", "Model"),
        Column("targets", "Targets"),
        Column("hypotheses", "# hyp."),
        Column("steps", "Steps"),
        Column("seeds", "Seeds"),
        Column("bleu", "BLEU", 2),
        Column("spread", "± seeds", 2),
        Column("interval", "95% interval", 2),
        Column("difference", "− baseline", 2),
        Column("difference_interval", "95% interval", 2),
        Column("p_value", "p", 4),
        Column("chrf", "chrF", 2),
        Column("validity", "Valid %", 1),
        *beside.PAPER,
        Column("signature", "Signature"),
    )
    entries = list(listed(results, core_models(results.config), paper.TABLE1))
    rows = [_table1_row(results, entry) for entry in entries]
    notes = [
        "BLEU: mean over seeds; ± standard deviation over seeds; intervals by bootstrap over"
        f" sentences ({results.config.evaluation.bootstrap_samples} resamples asked for).",
        f"− baseline: BLEU minus that of {results.config.evaluation.baseline}"
        " (beam where it was run), paired on the same resamples.",
        "p: paired approximate randomisation against the file named when scoring, the largest"
        " over seeds.",
    ]
    for group in results.groups():
        score = next(row for row in results.rows if row.group == group).scores[0]
        notes.append(
            f"{group[0]} {group[1]}: {score['sentences']} sentences, test set"
            f" {score['test_digest'][:12]}; BLEU {score['bleu']['signature']}; the paper's"
            f" {score['bleu']['paper_signature']}; chrF {score['chrf']['signature']}."
        )
    if any(row["paper"] is not None for row in rows):
        notes.append(
            "Paper: BLEU of the paper's table 1, at its own size and training data, beside the"
            f" baseline and the candidate. {beside.NOTE}"
        )
    # The signature is in the notes for readers, and in each line of the CSV for programs.
    shown = [{key: row[key] for key in row if key != "signature"} for row in rows]
    table = Table("table1", "Table 1: translation quality", columns[:-1], shown, notes)
    several = len({entry[0] for entry in entries}) > 1
    return Table("table1", table.title, columns, rows, notes) if several else table


def _table1_row(results: Results, entry: Listed) -> dict[str, Cell]:
    group, model, decoding, row = entry
    bleu = None if row is None else row.bleu()
    base = baseline_row(results, group)
    gap = None
    if row is not None and base is not None and base != row:
        gap = difference(row, base)
    scores = () if row is None else row.scores
    p_values = [score["paired"]["p_value"] for score in scores if score.get("paired")]
    validity = None if row is None else row.mean("validity", "share")
    known = bool(paper.printed(paper.TABLE1, group))
    return {
        **place(group),
        "model": model,
        "targets": trained_on(results, model),
        "hypotheses": hypotheses_per_sentence(results, model, decoding),
        "steps": steps_of(decoding),
        "seeds": len(scores),
        "bleu": NOT_RUN if bleu is None else bleu.value,
        "spread": bleu and bleu.spread,
        "interval": bleu and (bleu.low, bleu.high),
        "difference": gap and gap[0],
        "difference_interval": gap and gap[1:],
        "p_value": max(p_values) if gap and len(p_values) == len(scores) else None,
        "chrf": None if row is None else row.mean("chrf", "score"),
        "validity": None if validity is None else 100 * validity,
        **beside.beside(bleu, papers_number(results, paper.TABLE1, entry), known),
        "signature": scores[0]["bleu"]["signature"] if scores else None,
    }


def stutter_table(results: Results) -> Table:
    """Stutter of each row, before and after the final drop of repeats."""
    columns = (
        *PLACE,
        *WHAT,
        Column("unit", "Unit"),
        Column("seeds", "Seeds"),
        Column("before", "Before drop", 2),
        Column("before_interval", "95% interval", 2),
        Column("final", "Final", 2),
        Column("final_interval", "95% interval", 2),
        Column("excess", "Excess", 2),
        Column("excess_interval", "95% interval", 2),
        Column("reference", "Reference", 2),
        Column("sentences", "Sentences %", 1),
        Column("tokens_before", "Tokens before", 2),
        Column("tokens", "Tokens final", 2),
        Column("runs", "Runs of 2/3/4+"),
    )
    rows: list[dict[str, Cell]] = []
    for row in results.core_rows():
        before, final = row.stutter(before_drop=True), row.stutter(before_drop=False)
        key = "words" if before is None else "words_before_drop"
        share = row.mean("stutter", key, "sentences_share")
        excess = row.mean("stutter", key, "excess_low"), row.mean("stutter", key, "excess_high")
        rows.append(
            {
                **place(row.group),
                "model": row.model,
                "targets": trained_on(results, row.model),
                "decoding": row.decoding,
                "unit": row.scores[0]["stutter"]["unit"],
                "seeds": len(row.seeds),
                "before": before and before.value,
                "before_interval": before and (before.low, before.high),
                "final": final and final.value,
                "final_interval": final and (final.low, final.high),
                "excess": row.mean("stutter", key, "excess_per_100"),
                "excess_interval": None if None in excess else excess,  # pyright: ignore
                "reference": row.mean("stutter", "words", "reference_per_100"),
                "sentences": None if share is None else 100 * share,
                "tokens_before": row.mean("stutter", "tokens_before_drop", "per_100"),
                "tokens": row.mean("stutter", "tokens", "per_100"),
                "runs": _runs(row, before is not None),
            }
        )
    notes = (
        "Stutters per 100 words (characters for Chinese and Japanese): a word equal to the one"
        " before it, beyond what a reference has. Before and after the final drop of repeats.",
        "Excess, sentences with a stutter, and runs are of the text before the drop where there"
        " is one. Excess: the output's repeats per 100 words minus the references' own.",
        "Tokens: equal neighbours per 100 vocabulary tokens, references not considered.",
        "Runs: how many runs of 2, 3, and 4 or more equal words, all seeds together.",
    )
    return Table("stutter", "Stutter", columns, rows, notes)


def _runs(row: Row, before: bool) -> str:
    counts = [0, 0, 0]
    for score in row.scores:
        runs = score["stutter"]["run_lengths_before_drop" if before else "run_lengths"]
        for length, number in runs.items():
            counts[min(int(length), 4) - 2] += number
    return "/".join(map(str, counts))


def latency_row(
    timings: Mapping[Group, Mapping[str, Any]], group: Group, model: str, decoding: str
) -> Mapping[str, Any] | None:
    """One line of a test set's timing run."""
    for row in timings.get(group, {}).get("rows", ()):
        if (row["model"], row["decoding"]) == (model, decoding):
            return row
    return None


def latency_table(results: Results) -> Table:
    """Batch-1 latency and speedups over AR within the same timing run."""
    columns = (
        *PLACE,
        Column("model", "Model"),
        Column("decoding", "Decoding"),
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
    rows: list[dict[str, Cell]] = []
    notes = [
        f"× greedy, × beam: time of {results.config.evaluation.baseline} by that decoding over"
        " this row's time, same run; above 1 this row is faster. Batch size 1, text to text, warm;"
        " compile time apart.",
    ]
    for group, document in results.latency.items():
        for row in document["rows"]:
            rows.append(_latency_cells(results, group, row))
        machine = document["machine"]
        words = ", ".join(f"{key} {value}" for key, value in machine.items())
        notes.append(f"{group[0]} {group[1]}: {document.get('sentences')} sentences; {words}.")
    return Table("latency", "Latency at batch size 1", columns, rows, notes)


def _latency_cells(results: Results, group: Group, row: Mapping[str, Any]) -> dict[str, Cell]:
    cells: dict[str, Cell] = {
        **place(group),
        "model": row["model"],
        "decoding": row["decoding"],
        "p50_ms": row["p50_ms"],
        "p90_ms": row["p90_ms"],
        "p99_ms": row["p99_ms"],
        "mean_ms": row.get("mean_ms"),
        "passes": row["passes_mean"],
        "tokens": row.get("tokens_mean"),
        "compile_s": row.get("compile_s"),
    }
    for decoding in ("greedy", "beam"):
        base = latency_row(results.latency, group, results.config.evaluation.baseline, decoding)
        for point in ("p50", "p99"):
            ratio = None if base is None else base[f"{point}_ms"] / row[f"{point}_ms"]
            cells[f"{decoding}_{point}"] = ratio
    scored = results.row(group, row["model"], row["decoding"])
    cells["bleu"] = None if scored is None else scored.bleu().value
    return cells


def data_table(results: Results) -> Table:
    """What cleaning kept and dropped in each split."""
    columns = (
        Column("dataset", "Dataset"),
        Column("pair", "Pair"),
        Column("split", "Split"),
        Column("read", "Pairs read"),
        Column("kept", "Kept"),
        Column("dropped", "Dropped, by reason"),
        Column("lengths", "Mean length"),
    )
    rows = [
        {
            "dataset": dataset,
            "pair": pair,
            "split": split,
            "read": counts["pairs_read"],
            "kept": counts["pairs_kept"],
            # Only training pairs are ever dropped.
            "dropped": _dropped(counts.get("dropped", {})),
            "lengths": "; ".join(
                f"{side['file']} {side['length_mean']:.1f} {side['length_unit']}"
                for side in counts["files"]
            ),
        }
        for dataset, pair, statistics in results.statistics
        for split, counts in statistics["splits"].items()
    ]
    notes = ("Digests, length histograms and line numbers: statistics.json of each dataset.",)
    return Table("data", "Data", columns, rows, notes)


def _dropped(reasons: Mapping[str, Any]) -> str:
    found = [
        f"{name.replace('_', ' ')} {reason['pairs']}"
        for name, reason in reasons.items()
        if reason["pairs"]
    ]
    return ", ".join(found) or "none"


def estimate_text(estimate: Estimate, digits: int = 2) -> str:
    """Such as `26.10 [25.02, 27.31]`."""
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
