"""The look of all figures: colours, markers, line styles and SVG output."""

import io
from collections.abc import Callable
from typing import Any

# Stands for the text colour of the page while a figure is drawn.
INK = "#010203"
# Text colour outside a page; readable on white and on black.
MIDTONE = "#6e7681"
# Palette of Okabe and Ito, distinguishable with any colour vision; markers repeat the distinction.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
}


def svg(name: str, size: tuple[float, float], draw: Callable[[Any], None]) -> str:
    """One SVG document: transparent, text in the page's colour; equal drawings give equal bytes.

    Args:
        name: of the figure; ids in the document follow from it.
        size: width and height in inches.
        draw: fills the matplotlib figure that it is given.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {**STYLE, "svg.hashsalt": name}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "padir"})
    text = buffer.getvalue().replace(INK, "currentColor")
    return text.replace("<svg ", f'<svg color="{MIDTONE}" ', 1)
