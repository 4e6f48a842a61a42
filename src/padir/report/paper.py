"""Numbers printed in the paper, shown beside ours. Source: sections 3.3 and L.4, tables 1 to 3.

A dataset counts as the paper's where its name starts with that of the benchmark, such as wmt14. A
number belongs to a system and a number of passes, or to `beam`: AR with 5 hypotheses.
"""

from collections.abc import Iterable, Iterator, Mapping

from padir.config.experiment import Config
from padir.config.rows import Row
from padir.layout import Place, places
from padir.report.results import Estimate, Results, ScoredRow
from padir.report.tables import Cell, Column
from padir.score.rating import NOT_RUN

Numbers = Mapping[tuple[str, str], Mapping[tuple[str, str], float]]

DIRECTIONS = (
    ("wmt14", "de-en"),
    ("wmt14", "en-de"),
    ("wmt16", "ro-en"),
    ("wmt16", "en-ro"),
    ("wmt17", "zh-en"),
    ("wmt17", "en-zh"),
)


def _by_direction(rows: Mapping[tuple[str, str], tuple[float | None, ...]]) -> Numbers:
    return {
        place: {row: value for row, values in rows.items() if (value := values[i]) is not None}
        for i, place in enumerate(DIRECTIONS)
    }


# SacreBLEU.
TABLE1 = _by_direction(
    {
        ("ar", "beam"): (33.50, 29.54, 34.89, 29.75, 27.59, 33.94),
        ("padir", "T4"): (33.49, 28.61, 33.98, 28.98, 26.47, 32.59),
        ("padir", "T10"): (33.63, 28.58, 33.99, 28.97, 26.54, 32.68),
    }
)
# Other papers' numbers and PaDIR's by their measure, which is not sacreBLEU (L.3) and which the
# available text does not name. DisCo stops by itself after 3 to 6 passes, as ours does within 10;
# SUNDAE's have 16 hypotheses, the others 5.
TABLE2 = _by_direction(
    {
        ("ar", "beam"): (31.71, 28.60, 34.46, 34.16, 24.65, 35.01),
        ("cmlm", "T4"): (30.75, 26.73, 33.02, 33.67, 22.57, 33.58),
        ("cmlm", "T10"): (31.24, 27.39, 33.67, 33.33, 23.76, 34.24),
        ("disco", "T10"): (31.31, 27.34, 33.25, 33.22, 23.83, 34.63),
        ("sundae", "T4"): (32.10, 27.94, None, None, None, None),
        ("sundae", "T10"): (32.29, 28.33, None, None, None, None),
        ("padir", "T4"): (34.17, 29.49, 34.55, 29.57, 27.18, 32.59),
        ("padir", "T10"): (34.33, 29.48, 34.57, 29.56, 27.25, 32.60),
    }
)
# BLEURT, times 100.
TABLE3 = _by_direction(
    {
        ("ar", "beam"): (73.55, 74.97, 67.23, 71.76, 68.14, 65.71),
        ("padir", "T4"): (71.26, 72.08, 65.90, 70.23, 65.16, 63.95),
        ("padir", "T10"): (71.82, 73.28, 66.09, 70.49, 66.19, 64.30),
    }
)


def printed(table: Numbers, place: tuple[str, str]) -> Mapping[tuple[str, str], float]:
    """The paper's numbers for one dataset and direction; none where it has none."""
    return table.get((place[0][:5].lower(), place[1]), {})


def gaps_to_ar(table: Numbers, passes: str) -> list[float]:
    """PaDIR minus AR in table 1 or 3, over the six directions."""
    return [row["padir", passes] - row["ar", "beam"] for row in table.values()]


def gains(first: str, second: str) -> list[float]:
    """BLEU gained from one number of passes to another in table 1, over the six directions."""
    return [row["padir", second] - row["padir", first] for row in TABLE1.values()]


COLUMNS = (
    Column("paper", "Paper", 2),
    Column("paper_difference", "− paper", 2),
    Column("paper_interval", "95% interval", 2),
    Column("status", "Status"),
)
NOTE = (
    "− paper: ours minus the paper's number, with our interval shifted by it; the paper gives no"
    " interval of its own. Status: whether the paper's number lies in our interval, above or below"
    " it."
)


def beside(
    ours: Estimate | None, number: float | None, known: bool, same_measure: bool = True
) -> dict[str, Cell]:
    """Cells of `COLUMNS`: the paper's number beside ours.

    Args:
        ours: None where it has not been run.
        number: the paper's; None where it gives none.
        known: whether the paper has numbers for this test set at all: if not, all cells are empty.
        same_measure: whether the paper's number has our signature, but for its spelling. Without
            that the two stand side by side, and nothing is concluded.
    """
    if not known:
        return {column.key: None for column in COLUMNS}
    if ours is None:
        status = NOT_RUN
    elif number is None:
        status = "run; not in the paper"
    elif not same_measure:
        status = "run; other measure"
    elif ours.low <= number <= ours.high:
        status = "paper in interval"
    else:
        status = "above the paper" if ours.low > number else "below the paper"
    cells: dict[str, Cell] = {column.key: None for column in COLUMNS}
    if ours is not None and number is not None:
        cells["paper_difference"] = ours.value - number
        cells["paper_interval"] = (ours.low - number, ours.high - number)
    return cells | {"paper": number, "status": status}


def _beside(config: Config, table: Numbers, place: Place) -> Mapping[tuple[str, str], float]:
    """The paper's numbers to set beside a config's scores: none if those are of validation data."""
    return printed(table, place) if config.evaluation.split == "test" else {}


def has(config: Config, table: Numbers, place: Place) -> bool:
    """Whether a table of the paper has numbers for the test set that the config scores."""
    return bool(_beside(config, table, place))


def number_for(config: Config, table: Numbers, place: Place, row: Row) -> float | None:
    """The paper's number beside a row; None where the row does not stand for one of the paper's.

    The baseline's training by beam search stands for AR, the candidate's training and decoder for
    PaDIR, and the first training of each other system under that system's decoder for it.
    """
    system = config.trainings[row.training].system
    baseline, candidate, decoder = config.baseline(), config.candidate(), row.decoding.decoder
    if row.decoding.passes is None:
        stands = baseline is not None and row.training == baseline.training
        if not stands or config.decoders[decoder].kind != "beam":
            return None
        return _beside(config, table, place).get((system, "beam"))
    if system == "padir":
        pair = candidate and (candidate.training, candidate.decoding.decoder)
    else:
        first = (name for name, run in config.trainings.items() if run.system == system)
        pair = next(first), system
    if (row.training, decoder) != pair:
        return None
    return _beside(config, table, place).get((system, f"T{row.decoding.passes}"))


def listed(
    results: Results, rows: Iterable[Row], table: Numbers
) -> Iterator[tuple[Place, Row, ScoredRow | None]]:
    """What a table lists, in the config's order: rows with a score, and rows with a number of the
    paper's whether they have a score (else None) or not."""
    rows = list(rows)
    for place in places(results.config):
        for row in rows:
            scored = results.row(place, row)
            if scored or number_for(results.config, table, place, row) is not None:
                yield place, row, scored
