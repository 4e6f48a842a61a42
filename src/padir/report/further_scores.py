"""Table 3: what other scorers than BLEU say of the same outputs, BLEURT first."""

from collections.abc import Mapping

from padir.config.experiment import BleurtScorer
from padir.report import beside, paper
from padir.report.results import Group, Results
from padir.report.selection import core_models
from padir.report.tables import Cell, Column, Table
from padir.report.translation import (
    PLACE,
    Listed,
    hypotheses_per_sentence,
    listed,
    papers_number,
    place,
    steps_of,
    trained_on,
)
from padir.score.rating import NOT_RUN


def table3(results: Results) -> Table:
    """Table 3: a line per row and scorer; BLEURT has its lines whether it was asked or not."""
    columns = (
        *PLACE,
        Column("scorer", "Scorer"),
        Column("model", "Model"),
        Column("targets", "Targets"),
        Column("hypotheses", "# hyp."),
        Column("steps", "Steps"),
        Column("seeds", "Seeds"),
        Column("score", "Score", 2),
        Column("spread", "± seeds", 2),
        Column("interval", "95% interval", 2),
        *beside.PAPER,
        Column("signature", "Signature"),
    )
    entries = list(listed(results, core_models(results.config), paper.TABLE3))
    scorers = results.config.evaluation.scorers
    learned = [name for name, scorer in scorers.items() if isinstance(scorer, BleurtScorer)]
    rows = [
        _cells(results, entry, scorer, paper.TABLE3 if scorer in (None, *learned) else {})
        for scorer in ([] if learned else [None]) + list(scorers)
        for entry in entries
    ]
    notes = [
        "Score: from 0 to 100, the mean over seeds; BLEURT is the mean over sentences times 100."
        " Intervals by bootstrap over sentences, ± standard deviation over seeds.",
    ]
    if not learned:
        notes.append("BLEURT: evaluation.scorers names no checkpoint of it.")
    reasons = {rating.reason for rating in results.ratings.values() if rating.reason}
    notes += [f"{NOT_RUN}: {reason}." for reason in sorted(reasons)]
    if any(row["paper"] is not None for row in rows):
        notes.append(f"Paper: BLEURT of the paper's table 3, checkpoint not named. {beside.NOTE}")
    return Table("table3", "Table 3: other scores", columns, rows, notes)


def _cells(
    results: Results,
    entry: Listed,
    scorer: str | None,
    table: Mapping[Group, Mapping[paper.Row, float]],
) -> dict[str, Cell]:
    group, model, decoding, _ = entry
    key = (*group, model, decoding, scorer or "")
    rating = results.ratings.get(key)
    found = None if rating is None else rating.estimate
    known = bool(paper.printed(table, group))
    cells: dict[str, Cell] = {
        **place(group),
        "scorer": scorer or "bleurt",
        "model": model,
        "targets": trained_on(results, model),
        "hypotheses": hypotheses_per_sentence(results, model, decoding),
        "steps": steps_of(decoding),
        "seeds": rating.seeds if rating else 0,
        "score": NOT_RUN if found is None else found.value,
        "spread": found and found.spread,
        "interval": found and (found.low, found.high),
        **beside.beside(found, papers_number(results, table, entry), known),
        "signature": rating and rating.signature,
    }
    if cells["status"] is None:
        cells["status"] = "run" if found else NOT_RUN
    return cells
