"""Figures 1 to 3 and two more from the theory experiments' JSON: SVG and the CSV of its points.

Same numbers, same bytes. The parameters stand in the caption under the drawing.
"""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from padir.files import InputError, write_text
from padir.report.tables import Cell, Column, Table
from padir.report.theme import COLOURS, MARKERS, canvas


@dataclass(frozen=True)
class Line:
    """Points (x, y) with optional intervals; `kind` is how it is drawn.

    Kinds: marked (markers joined by a line), dashed, plain (line only), dots (markers only).
    """

    name: str
    x: Sequence[float | int]
    y: Sequence[float | int]
    kind: str = "marked"
    colour: int = 0
    low: Sequence[float | int] | None = None
    high: Sequence[float | int] | None = None
    shown: bool = True


@dataclass(frozen=True)
class Axes:
    """One panel."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    ticks: Sequence[float | int] = field(default_factory=tuple)
    tick_labels: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Drawing:
    """Panels in rows of at most three, and the caption."""

    name: str
    panels: Sequence[Axes]
    caption: str

    def table(self) -> Table:
        """Every point drawn."""
        keys = ("panel", "series", "x", "y", "low", "high")
        rows: list[dict[str, Cell]] = []
        for panel in self.panels:
            for line in panel.lines:
                for i, (x, y) in enumerate(zip(line.x, line.y, strict=True)):
                    rows.append(
                        {
                            "panel": panel.title,
                            "series": line.name,
                            "x": x,
                            "y": y,
                            "low": None if line.low is None else line.low[i],
                            "high": None if line.high is None else line.high[i],
                        }
                    )
        return Table(self.name, self.caption, [Column(key, key) for key in keys], rows)

    def svg(self) -> str:
        """The drawing as one SVG document."""
        columns = min(3, len(self.panels))
        rows = -(-len(self.panels) // columns)
        lines = textwrap.wrap(self.caption, 30 + 70 * columns)
        height = 3.4 * rows + 0.2 * len(lines)
        with canvas(self.name, 0.6 + 5.2 * columns, height) as drawing:
            places = drawing.figure.subplots(rows, columns, squeeze=False).ravel()
            for panel, place in zip(self.panels, places, strict=False):
                _draw(panel, place)
            for place in places[len(self.panels) :]:
                place.set_axis_off()
            drawing.figure.supxlabel("\n".join(lines), x=0.02, ha="left", fontsize=8.5)
        return drawing.svg

    def write(self, svg: Path, csv: Path) -> None:
        """Write both files."""
        write_text(svg, self.svg())
        write_text(csv, self.table().csv())


def _draw(panel: Axes, place: Any) -> None:
    for line in panel.lines:
        colour = COLOURS[line.colour % len(COLOURS)]
        marker = MARKERS[line.colour % len(MARKERS)] if line.kind in ("marked", "dots") else None
        style = {"dashed": "--", "dots": "none"}.get(line.kind, "-")
        place.plot(
            line.x, line.y, color=colour, linestyle=style, marker=marker, markersize=4.5,
            linewidth=1.3, label=line.name if line.shown else "_" + line.name,
        )  # fmt: skip
        if line.low is not None and line.high is not None:
            place.vlines(line.x, line.low, line.high, color=colour, linewidth=1.2)
    if panel.log_x:
        place.set_xscale("log")
    if panel.log_y:
        place.set_yscale("log")
    if panel.ticks:
        labels = list(panel.tick_labels) or [f"{tick:g}" for tick in panel.ticks]
        place.set_xticks(list(panel.ticks), labels)
        if panel.tick_labels:
            place.tick_params(axis="x", labelrotation=90)
    place.set_title(panel.title, fontsize=10)
    place.set_xlabel(panel.x)
    place.set_ylabel(panel.y)
    place.legend(fontsize=7.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _errors(document: Mapping[str, Any], name: str, truth: str, number: int) -> Drawing:
    panel = document["series"][truth]
    samples = document["settings"]["samples"]
    titles = {
        "one_mask": "one random mask per sample (definition 3)",
        "averaged": "all masks averaged (another estimator)",
    }
    axes = []
    for estimator, title in titles.items():
        lines = []
        for colour, count in enumerate(samples):
            points = [
                p for p in panel["points"] if p["estimator"] == estimator and p["samples"] == count
            ]
            ks = [p["k"] for p in points]
            lines.append(
                Line(
                    f"{count:,} samples",
                    ks,
                    [p["mean"] for p in points],
                    colour=colour,
                    low=[p["low"] for p in points],
                    high=[p["high"] for p in points],
                )
            )
            lines.append(
                Line(
                    "trace / samples",
                    ks,
                    [p["theory"] for p in points],
                    "dashed",
                    colour,
                    shown=colour == 0,
                )
            )
        ticks = document["settings"]["block_sizes"]
        axes.append(
            Axes(title, "predicted positions k", "squared parameter error", lines, log_y=True,
                 ticks=ticks)
        )  # fmt: skip
    masses = document["regimes"][truth]
    caption = (
        f"Figure {number}. Squared error of k-pseudolikelihood against k. Truth: {panel['model']};"
        f" P(all +) = {masses['all_plus']:.3f}, P(all -) = {masses['all_minus']:.3f};"
        f" {panel['parameters']} free parameters (every field and coupling)."
        f" {document['settings']['trials']} data sets per point, 95% intervals of the mean; dashed:"
        f" trace of the asymptotic covariance over the sample count. Seed {document['seed']}."
    )
    return Drawing(name, axes, caption)


def figure1(document: Mapping[str, Any]) -> Drawing:
    """Masking more lowers the error: an ordinary truth."""
    return _errors(document, "figure1", "ordinary", 1)


def figure2(document: Mapping[str, Any]) -> Drawing:
    """The same for a peaky truth with two modes."""
    return _errors(document, "figure2", "peaky", 2)


def figure3(document: Mapping[str, Any]) -> Drawing:
    """Probability of having reached the larger mode, against steps."""
    panels = [*document["series"]["panels"], document["series"]["weak"]]
    axes, models = [], []
    for number, panel in enumerate(panels):
        s = panel["settings"]
        outside = f", field {s['outside_field']:g} outside" if s["outside_field"] else ""
        models.append(
            f"N = {s['spins']}, clique of {s['clique']}, h = {s['field']:g}{outside},"
            f" {s['chains']} chains"
        )
        for coupling in s["couplings"]:
            curves = [c for c in panel["curves"] if c["coupling"] == coupling]
            lines = []
            for colour, curve in enumerate(curves):
                steps = len(curve["exact"]) - 1
                at = sorted({max(1, round(steps ** (i / 24))) for i in range(25)})
                marks = sorted({max(1, round(steps ** (i / 6))) for i in range(7)})
                lines.append(
                    Line(curve["sampler"], at, [curve["exact"][t] for t in at], "plain", colour)
                )
                lines.append(
                    Line(
                        f"{curve['sampler']}, simulated",
                        marks,
                        [curve["simulated"][t] for t in marks],
                        "dots",
                        colour,
                        shown=False,
                    )
                )
            weak = " (weak coupling: order reverses)" if number == len(panels) - 1 else ""
            axes.append(
                Axes(
                    f"N = {s['spins']}, m = {s['clique']}, J = {coupling:g}{weak}",
                    "steps",
                    "P(larger mode reached)",
                    lines,
                    log_x=True,
                )
            )
    caption = (
        "Figure 3. Probability that all clique spins have been +1 by a step, started with all of"
        " them -1 and the others random. Lines: exact, from the lumped chain; markers: simulation."
        f" Models: {'; '.join(models)}. Independent parallel sampling updates N spins per step,"
        f" k-Gibbs k. Seed {document['seed']}."
    )
    return Drawing("figure3", axes, caption)


def product_steps(document: Mapping[str, Any]) -> Drawing:
    """Smallest total variation from a product law to a k-Gibbs step, against the coupling."""
    rows = document["series"]["rows"]
    s = document["settings"]
    couplings = s["couplings"]
    axes = []
    for key, title, bound in (
        ("given_found", "given the block (worst surroundings)", "given_bound"),
        ("averaged_found", "averaged over the block", None),
    ):
        lines = []
        for k in range(1, s["spins"] + 1):
            own = [r for r in rows if r["k"] == k]
            lines.append(Line(f"k = {k}", couplings, [r[key] for r in own], colour=k - 1))
            if bound:
                lines.append(
                    Line(
                        f"k = {k}, proven lower bound",
                        couplings,
                        [r[bound] for r in own],
                        "dashed",
                        k - 1,
                        shown=False,
                    )
                )
        axes.append(Axes(title, "coupling J", "total variation", lines))
    caption = (
        "Smallest total variation found between any product law and one step of k-Gibbs on a"
        f" complete graph of {s['spins']} spins, h = {s['field']:g}. Dashed: proven lower bounds."
        " With an odd number of visible spins a strong coupling makes the block follow them, and"
        " the distance falls again."
    )
    return Drawing("product_steps", axes, caption)


def mask_design(document: Mapping[str, Any]) -> Drawing:
    """Mask weights that are best for error and for speed, and how the two criteria go together."""
    series = document["series"]
    random = series["random"]
    measures = series["measures"]
    scatter = [
        Line("random weights", random["gap"], random["efficiency"], "dots", 5),
        *(
            Line(name, [m["gap"]], [m["efficiency"]], "dots", colour)
            for colour, (name, m) in enumerate(measures.items())
        ),
    ]
    traces = [
        Line("random weights", random["gap"], random["trace"], "dots", 5),
        *(
            Line(name, [m["gap"]], [m["trace"]], "dots", colour)
            for colour, (name, m) in enumerate(measures.items())
        ),
    ]
    positions = list(range(len(series["sets"])))
    weights = [
        Line(name, positions, values, "dots", colour)
        for colour, (name, values) in enumerate(series["weights"].items())
    ]
    names = ["".join(str(i + 1) for i in block) for block in series["sets"]]
    model = document["settings"]["model"]
    caption = (
        f"Mask distributions over all {document['settings']['block_size']}-subsets for a"
        f" {model['graph']} of {model['spins']} spins with J = {model['coupling']}, h ="
        f" {model['field']}. Gap: speed of the block dynamics. Efficiency: smallest eigenvalue of"
        " I^(-1/2) H I^(-1/2), 1 for maximum likelihood, never below the gap (theorem 6). Trace:"
        " asymptotic squared error. Masks are named by their positions."
    )
    return Drawing(
        "mask_design",
        [
            Axes("speed and the worst direction", "spectral gap", "efficiency", scatter),
            Axes("speed and total error", "spectral gap", "trace of H^-1", traces, log_y=True),
            Axes("weights found", "mask", "probability", weights, ticks=positions,
                 tick_labels=names),
        ],
        caption,
    )  # fmt: skip


# Name -> (experiment whose results it is made of, drawing).
DRAWINGS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Drawing]]] = {
    "figure1": ("estimation", figure1),
    "figure2": ("estimation", figure2),
    "figure3": ("mode_reaching", figure3),
    "product_steps": ("product_kernels", product_steps),
    "mask_design": ("mask_design", mask_design),
}


def draw(name: str, document: Mapping[str, Any], where: str) -> Drawing:
    """One drawing from one experiment's results.

    Raises:
        InputError: no such drawing, or results of another experiment or another version.
    """
    if name not in DRAWINGS:
        raise InputError(f"no drawing {name!r}: allowed are {', '.join(DRAWINGS)}")
    experiment, make = DRAWINGS[name]
    found = document.get("experiment")
    if found != experiment:
        raise InputError(f"{where}: results of {found!r}, {name} needs those of {experiment!r}")
    try:
        return make(document)
    except KeyError as error:
        raise InputError(f"{where}: no key {error}; run the experiment again") from error


def theorem_table(documents: Sequence[Mapping[str, Any]]) -> Table:
    """Every claim of the given experiments with its verdict, one row each."""
    keys = ("id", "section", "statement", "paper", "measured", "test", "verdict", "dataset")
    columns = [Column(key, key) for key in (*keys, "interval", "seeds")]
    rows: list[dict[str, Cell]] = []
    for document in documents:
        for claim in document["claims"]:
            row: dict[str, Cell] = {key: claim[key] for key in keys}
            interval = claim["interval"]
            shown = "" if interval is None else f"[{interval[0]:.4g}, {interval[1]:.4g}]"
            seeds = ", ".join(map(str, claim["seeds"]))
            rows.append({**row, "interval": shown, "seeds": seeds})
    return Table("theorems", "Statements of sections 2 and 3.1, computed exactly", columns, rows)
