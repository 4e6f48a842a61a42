"""Figures and the table of the Ising experiments, as parts of the report."""

from collections.abc import Callable

from padir.report.claims import plain
from padir.report.results import Results
from padir.report.tables import Cell, Column, Table
from padir.report.theory_figures import DRAWINGS, Drawing


def _picture(name: str) -> Callable[[Results], Drawing]:
    experiment, drawing = DRAWINGS[name]

    def picture(results: Results) -> Drawing:
        for document in results.theory.values():
            if document["experiment"] == experiment:
                return drawing(document)
        return Drawing(name, "")

    return picture


figure1 = _picture("figure1")
figure2 = _picture("figure2")
figure3 = _picture("figure3")
product_steps = _picture("product_steps")
mask_design = _picture("mask_design")


def theorems(results: Results) -> Table:
    """Every claim of the experiments with its verdict, one row each."""
    keys = ("id", "section", "statement", "paper", "measured", "test", "verdict", "dataset")
    columns = [Column(key, key) for key in (*keys, "interval", "seeds")]
    rows: list[dict[str, Cell]] = []
    for claim in (claim for document in results.theory.values() for claim in document["claims"]):
        interval = claim["interval"]
        cells = {key: claim[key] for key in keys}
        cells |= {key: plain(claim[key]) for key in ("measured", "test")}
        cells["interval"] = "" if interval is None else f"[{interval[0]:.4g}, {interval[1]:.4g}]"
        cells["seeds"] = ", ".join(map(str, claim["seeds"]))
        rows.append(cells)
    title = "Statements of the paper and its slides about Ising models, and our corrections"
    return Table("theorems", title, columns, rows)
