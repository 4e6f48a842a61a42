"""Table 3: scores of the same outputs by scorers other than BLEU."""

from padir.config.evaluation import BleurtScorer
from padir.config.rows import Row
from padir.layout import Place
from padir.report import paper
from padir.report.columns import INTERVAL, PLACE, ROW, hypotheses_per_sentence, row_cells
from padir.report.results import Results
from padir.report.tables import Cell, Column, Table
from padir.score.rating import NOT_RUN

# The checkpoint whose scores the paper's can be compared with; it does not name its own.
PAPERS_CHECKPOINT = "BLEURT-20"


def table3(results: Results) -> Table:
    """Table 3: a line per scorer and row."""
    columns = (
        *PLACE,
        Column("scorer", "Scorer"),
        *ROW[len(PLACE) :],
        Column("hypotheses", "# hyp."),
        Column("seeds", "Seeds"),
        Column("score", "Score", 2),
        Column("spread", "± seeds", 2),
        Column("interval", INTERVAL, 2),
        *paper.COLUMNS,
        Column("signature", "Signature"),
    )
    config = results.config
    scorers = config.evaluation.scorers
    rows = [
        _cells(results, place, row, scorer)
        for scorer, settings in scorers.items()
        for place, row, _ in paper.listed(
            results,
            config.core_rows(),
            paper.TABLE3 if isinstance(settings, BleurtScorer) else {},
        )
    ]
    notes = [
        "Score: from 0 to 100, the mean over seeds; BLEURT is the mean over sentences times 100."
        " Intervals by bootstrap over sentences, ± standard deviation over seeds.",
    ]
    if not any(isinstance(scorer, BleurtScorer) for scorer in scorers.values()):
        notes.append("BLEURT: evaluation.scorers names no checkpoint of it.")
    reasons = {rating.reason for rating in results.ratings.values() if rating.reason}
    notes += [f"{NOT_RUN}: {reason}." for reason in sorted(reasons)]
    if any(row["paper"] is not None for row in rows):
        notes.append(
            "Paper: BLEURT of the paper's table 3, checkpoint not named; compared with"
            f" {PAPERS_CHECKPOINT} alone. {paper.NOTE}"
        )
    return Table("table3", "Table 3: other scores", columns, rows, notes)


def _cells(results: Results, place: Place, row: Row, scorer: str) -> dict[str, Cell]:
    config = results.config
    rating = results.ratings.get((place, row, scorer))
    score = rating and rating.estimate
    is_bleurt = isinstance(config.evaluation.scorers[scorer], BleurtScorer)
    table = paper.TABLE3 if is_bleurt else {}
    signature = (rating and rating.signature) or ""
    number = paper.number_for(config, table, place, row)
    comparable = signature.split("|")[1:2] == [PAPERS_CHECKPOINT]
    cells: dict[str, Cell] = {
        **row_cells(config, place, row),
        "scorer": scorer,
        "hypotheses": hypotheses_per_sentence(config, row),
        "seeds": rating.seeds if rating else 0,
        "score": score.value if score else NOT_RUN,
        "spread": score and score.spread,
        "interval": score and score.ends,
        **paper.beside(score, number, paper.has(config, table, place), comparable),
        "signature": signature or None,
    }
    if cells["status"] is None:
        cells["status"] = "run" if score else NOT_RUN
    return cells
