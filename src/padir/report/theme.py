"""Plotting theme of all figures: colours, sizes, legends; output as SVG and CSV.

Drawings have no background, and their text and axes take the colour of the text around them
(currentColor), so that one drawing serves light and dark pages. Same numbers, same bytes.

A mark's value is its <title>, which browsers show on hover. A plotting library in the page (Altair
with vl-convert) would bring 0.8 MB of script and an SVG file of its own for papers; these drawings
serve page, files and print alike, and read without script.
"""

import io
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import escape

from padir.files import write_text
from padir.report.tables import Table

# Stands for currentColor until the drawing is written: Matplotlib knows no such colour.
INK = "#010203"
# Okabe and Ito's palette, told apart by readers with any colour vision; the markers say it again.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# As wide as one panel, which a phone shows whole.
LEGEND_INCHES = 4.6
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": 10,
    "grid.color": "#888888",
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8,
}


def mark_of(style: int) -> tuple[str, str]:
    """Colour and marker of a series; no two of the first 49 styles are alike."""
    turns, colour = divmod(style, len(COLOURS))
    return COLOURS[colour], MARKERS[(colour + turns) % len(MARKERS)]


class Canvas:
    """A Matplotlib figure, and the SVG of it once drawn."""

    def __init__(self, figure: Any):
        self.figure = figure
        self.svg = ""
        self._values: dict[str, Sequence[str]] = {}

    def name_marks(self, drawn: Any, values: Sequence[str]) -> None:
        """Say what each mark of a line, or each cell of a mesh, stands for; shown on hover."""
        name = f"marks{len(self._values)}"
        drawn.set_gid(name)
        self._values[name] = values

    def with_values(self, svg: str) -> str:
        """The drawing with a <title> in each named mark."""
        for name, values in self._values.items():
            head, _, rest = svg.partition(f'<g id="{name}">')
            drawn, group, after = rest.partition("<g id=")
            titles = iter(values)

            def titled(match: re.Match[str], titles: Iterator[str] = titles) -> str:
                tag, attributes = match.groups()
                return f"<{tag} {attributes}><title>{escape(next(titles))}</title></{tag}>"

            # A mark off the canvas is not drawn: then it is not known which values are left.
            tag = "use" if "<use " in drawn else "path"
            marks = re.compile(f"<({tag}) ([^>]*)/>")
            if len(marks.findall(drawn)) == len(values):
                drawn = marks.sub(titled, drawn)
            svg = f'{head}<g id="{name}">{drawn}{group}{after}'
        return svg

    def legend(self) -> None:
        """One legend for all panels, each name once."""
        named: dict[str, Any] = {}
        for axes in self.figure.axes:
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                named.setdefault(name, handle)
        self.legend_below(named)

    def legend_below(self, named: Mapping[str, Any]) -> None:
        """A legend of these handles by name below the panels, which keep their height. It begins on
        the left, so that it is in sight where a narrow window shows a part of the drawing."""
        if not named:
            return
        size = STYLE["legend.fontsize"]
        # Points: about 0.6 of the size a letter, and the line before the name.
        width = 0.6 * size * max(map(len, named)) + 5 * size
        columns = max(1, int(72 * LEGEND_INCHES / width))
        rows = math.ceil(len(named) / columns)
        self.figure.set_figheight(self.figure.get_figheight() + 1.5 * size * rows / 72)
        self.figure.legend(named.values(), named, loc="outside lower left", ncols=columns)


@contextmanager
def canvas(name: str, width: float, height: float, grid: bool = True) -> Iterator[Canvas]:
    """Context that provides a canvas; its `svg` is available after the block.

    Args:
        name: makes the ids in the drawing, the same in every run.
        width: inches.
        height: inches.
        grid: whether lines show the axes' ticks.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    changes: dict[Any, Any] = {"axes.grid": grid, "svg.hashsalt": name}
    with matplotlib.rc_context({**STYLE, **changes}):
        drawing = Canvas(Figure(figsize=(width, height), layout="constrained"))
        FigureCanvasSVG(drawing.figure)
        yield drawing
        buffer = io.StringIO()
        metadata = {"Date": None, "Creator": "padir"}
        drawing.figure.savefig(buffer, format="svg", metadata=metadata, transparent=True)
    drawing.svg = drawing.with_values(buffer.getvalue().replace(INK, "currentColor"))


class Picture(ABC):
    """A figure of the report."""

    name: str
    title: str

    @cached_property
    @abstractmethod
    def svg(self) -> str:
        """The drawing."""

    @abstractmethod
    def table(self) -> Table:
        """The points drawn."""

    @abstractmethod
    def empty(self) -> bool:
        """Whether there is nothing to show."""

    @property
    @abstractmethod
    def caption(self) -> str:
        """Caption of the drawing, after its title."""

    @property
    def description(self) -> str:
        """The drawing in words, for those who cannot see it."""
        return f"{self.title}. {self.caption}"

    def write(self, folder: Path) -> None:
        """Write NAME.svg and NAME.csv."""
        write_text(folder / f"{self.name}.svg", self.svg)
        write_text(folder / f"{self.name}.csv", self.table().csv())
