"""The paper's number beside ours: columns that tables 1 to 3 share, and what stands in them."""

from collections.abc import Mapping

from padir.report.estimate import Estimate
from padir.report.tables import Cell, Column
from padir.score.rating import NOT_RUN

PAPER = (
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
    ours: Estimate | None, paper: float | None, known: bool, same_measure: bool = True
) -> Mapping[str, Cell]:
    """Cells of `PAPER`.

    Args:
        ours: None where it has not been run.
        paper: the paper's number; None where it gives none.
        known: whether the paper has numbers for this test set at all: if not, nothing is said.
        same_measure: whether the paper's number has our signature, but for its spelling; without
            that the two stand side by side, and nothing is concluded.
    """
    if not known:
        return {"paper": None, "paper_difference": None, "paper_interval": None, "status": None}
    gap = None if ours is None or paper is None else ours.value - paper
    if ours is None:
        status = NOT_RUN
    elif paper is None:
        status = "run; not in the paper"
    elif not same_measure:
        status = "run; other measure"
    elif ours.low <= paper <= ours.high:
        status = "paper in interval"
    else:
        status = "above the paper" if ours.low > paper else "below the paper"
    interval = (ours.low - paper, ours.high - paper) if ours and paper is not None else None
    return {
        "paper": paper,
        "paper_difference": gap,
        "paper_interval": interval,
        "status": status,
    }
