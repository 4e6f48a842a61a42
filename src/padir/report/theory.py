"""Figures and the table of the Ising experiments, as parts of the report."""

from collections.abc import Callable

from padir.report.claims import plain
from padir.report.results import Results
from padir.report.tables import Table
from padir.report.theory_figures import DRAWINGS, Drawing, draw, theorem_table


def _picture(name: str) -> Callable[[Results], Drawing]:
    def picture(results: Results) -> Drawing:
        for path, document in results.theory.items():
            if document.get("experiment") == DRAWINGS[name][0]:
                return draw(name, document, path)
        return Drawing(name, "")

    return picture


figure1 = _picture("figure1")
figure2 = _picture("figure2")
figure3 = _picture("figure3")
product_steps = _picture("product_steps")
mask_design = _picture("mask_design")


def theorems(results: Results) -> Table:
    """Every claim of the experiments with its verdict."""
    texts = ("measured", "test")
    documents = [
        {**document, "claims": [c | {key: plain(c[key]) for key in texts} for c in claims]}
        for document in results.theory.values()
        for claims in [document["claims"]]
    ]
    return theorem_table(documents)
