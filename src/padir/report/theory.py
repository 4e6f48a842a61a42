"""Figures and the table of the Ising experiments, as parts of the report."""

from collections.abc import Callable
from functools import cached_property

from padir.report.claims import plain
from padir.report.results import Results
from padir.report.tables import Table
from padir.report.theme import Picture, no_data
from padir.report.theory_figures import DRAWINGS, draw, theorem_table


class TheoryPicture(Picture):
    """A drawing of one experiment."""

    def __init__(self, name: str, results: Results):
        self.name = name
        self.drawing = None
        for path, document in results.theory.items():
            if self.drawing is None and document.get("experiment") == DRAWINGS[name][0]:
                self.drawing = draw(name, document, path)
        self.title = "" if self.drawing is None else self.drawing.title

    @cached_property
    def svg(self) -> str:
        """The drawing."""
        return no_data(self.name) if self.drawing is None else self.drawing.svg()

    def table(self) -> Table:
        """The points drawn."""
        return Table(self.name, "", (), ()) if self.drawing is None else self.drawing.table()

    def empty(self) -> bool:
        """Whether the experiment has no results."""
        return self.drawing is None

    @property
    def caption(self) -> str:
        """Caption: the quantities shown, and the model."""
        return "" if self.drawing is None else self.drawing.caption


def _picture(name: str) -> Callable[[Results], Picture]:
    return lambda results: TheoryPicture(name, results)


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
