"""Figures 1 to 3 and two more of the theory experiments: SVG and the CSV of their points."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from padir.report import theme
from padir.report.tables import Cell, Column, Table

Numbers = Sequence[float | int]
Document = Mapping[str, Any]
# Kind of a line -> line style and whether points are marked.
KINDS = {"marked": ("-", True), "dashed": ("--", False), "plain": ("-", False), "dots": ("", True)}


@dataclass(frozen=True)
class Line:
    """Points (x, y) with optional intervals.

    Attributes:
        kind: how the points are drawn, one of KINDS.
        colour: number of colour and marker.
        label: name in the legend, shared by lines of one entry; None leaves the line out.
        shift: offset of x in the drawing, which separates points of equal x.
        size: of the markers; a size other than the default draws them hollow.
    """

    name: str
    x: Numbers
    y: Numbers
    kind: str = "marked"
    colour: int = 0
    low: Numbers | None = None
    high: Numbers | None = None
    label: str | None = None
    shift: float = 0.0
    size: float | None = None

    def draw(self, axes: Any, drawing: theme.Canvas) -> Any:
        """Draw on matplotlib axes; returns the handle for a legend."""
        colour, marker = theme.mark_of(self.colour)
        style, marked = KINDS[self.kind]
        x = [value + self.shift for value in self.x]
        (handle,) = axes.plot(
            x, self.y, color=colour, linestyle=style, linewidth=1.3,
            marker=marker if marked else None,
            markersize=self.size or 4.5, markerfacecolor="none" if self.size else None,
        )  # fmt: skip
        if marked:
            values = [
                f"{self.name}: {y:.4g} at {x:.4g}" for x, y in zip(self.x, self.y, strict=True)
            ]
            drawing.name_marks(handle, values)
        if self.low is not None and self.high is not None:
            axes.vlines(x, self.low, self.high, color=colour, linewidth=1.2)
        return handle


@dataclass(frozen=True)
class Panel:
    """Axes of a drawing."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    ticks: Numbers = ()
    tick_labels: Sequence[str] = ()

    def draw(self, axes: Any, drawing: theme.Canvas) -> dict[str, tuple[Any, ...]]:
        """Draw on matplotlib axes; returns legend handles by label."""
        handles: dict[str, tuple[Any, ...]] = {}
        for line in self.lines:
            handle = line.draw(axes, drawing)
            if line.label is not None:
                handles[line.label] = (*handles.get(line.label, ()), handle)
        # Room for large markers at the edge.
        axes.margins(0.08)
        if self.log_x:
            axes.set_xscale("log")
        if self.log_y:
            axes.set_yscale("log")
        if self.ticks:
            axes.set_xticks(self.ticks, self.tick_labels or [f"{tick:g}" for tick in self.ticks])
        if self.tick_labels:
            axes.tick_params(axis="x", labelrotation=90)
        axes.set(title=self.title, xlabel=self.x, ylabel=self.y)
        return handles


@dataclass(frozen=True)
class Drawing(theme.Picture):
    """Panels in rows of at most two with one legend, a title, and `text` beneath."""

    name: str
    title: str
    panels: Sequence[Panel] = ()
    text: str = ""

    def empty(self) -> bool:
        """Whether the experiment has no results."""
        return not self.panels

    @property
    def caption(self) -> str:
        """The quantities shown, and the model."""
        return self.text

    def table(self) -> Table:
        """Every point drawn."""
        keys = ("panel", "series", "x", "y", "low", "high")
        rows: list[dict[str, Cell]] = []
        for panel in self.panels:
            for line in panel.lines:
                gaps = [None] * len(line.x)
                columns = (line.x, line.y, line.low or gaps, line.high or gaps)
                for point in zip(*columns, strict=True):
                    values = (panel.title, line.name, *point)
                    rows.append(dict(zip(keys, values, strict=True)))
        return Table(self.name, self.title, [Column(key, key) for key in keys], rows)

    @cached_property
    def svg(self) -> str:
        """The drawing as one SVG document."""
        if self.empty():
            with theme.canvas(self.name, 4.0, 1.0) as drawing:
                drawing.figure.text(0.5, 0.5, "no data", ha="center")
            return drawing.svg
        columns = min(2, len(self.panels))
        rows = math.ceil(len(self.panels) / columns)
        with theme.canvas(self.name, 0.4 + 4.6 * columns, 3.4 * rows) as drawing:
            cells = drawing.figure.subplots(rows, columns, squeeze=False).ravel()
            # The legend has the cell that is free, or stands below.
            free = len(cells) - len(self.panels)
            handles: dict[str, tuple[Any, ...]] = {}
            for panel, axes in zip(self.panels, cells[free:], strict=True):
                handles = panel.draw(axes, drawing) | handles
            if free:
                cells[0].set_axis_off()
                cells[0].legend(handles.values(), handles, loc="upper left", fontsize=10)
            else:
                drawing.legend_below(handles)
        return drawing.svg


def _errors(document: Document, name: str, truth: str, number: int) -> Drawing:
    series, settings = document["series"][truth], document["settings"]
    titles = {
        "one_mask": "one random mask per sample (definition 3)",
        "averaged": "all masks averaged (another estimator)",
    }
    panels = []
    for estimator, title in titles.items():
        lines = []
        for colour, samples in enumerate(settings["samples"]):
            points = [
                p
                for p in series["points"]
                if p["estimator"] == estimator and p["samples"] == samples
            ]
            k, mean, theory, low, high = (
                [p[key] for p in points] for key in ("k", "mean", "theory", "low", "high")
            )
            label = f"{samples:,} samples"
            lines.append(Line(label, k, mean, "marked", colour, low, high, label))
            legend = None if colour else "trace / samples"
            lines.append(Line("trace / samples", k, theory, "dashed", colour, label=legend))
        axes = ("predicted positions k", "squared parameter error")
        panels.append(Panel(title, *axes, lines, log_y=True, ticks=settings["block_sizes"]))
    masses = document["regimes"][truth]
    caption = (
        f"Squared error of k-pseudolikelihood against k. Truth: {series['model']};"
        f" P(all +) = {masses['all_plus']:.3f}, P(all -) = {masses['all_minus']:.3f};"
        f" {series['parameters']} free parameters (every field and coupling)."
        f" {settings['trials']} data sets per point{_left_out(series['points'])}, 95% intervals of"
        " the mean; dashed: trace of the asymptotic covariance over the sample count. Seed"
        f" {document['seed']}."
    )
    title = f"Figure {number}: estimation error against masking, {truth} truth"
    return Drawing(name, title, panels, caption)


def _left_out(points: Sequence[Mapping[str, Any]]) -> str:
    """How many fits the means leave out, if any: those without a finite minimum."""
    worst = max(points, key=lambda point: point["diverged"])
    if not worst["diverged"]:
        return ""
    total = sum(point["diverged"] for point in points)
    return (
        f", without {total} fits that have no finite minimum (most at k = {worst['k']},"
        f" {worst['samples']:,} samples: mean of {worst['trials'] - worst['diverged']})"
    )


def figure1(document: Document) -> Drawing:
    """Figure 1: squared error against k for the model `ordinary`."""
    return _errors(document, "figure1", "ordinary", 1)


def figure2(document: Document) -> Drawing:
    """Figure 2: squared error against k for the model `peaky`, which has two modes."""
    return _errors(document, "figure2", "peaky", 2)


def _spaced(steps: int, count: int) -> list[int]:
    """Steps 1 to `steps`, evenly spaced on a logarithmic axis."""
    return sorted({max(1, round(steps ** (i / count))) for i in range(count + 1)})


def _samplers(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of each colour the samplers that have it: models of other sizes have other k."""
    panels = (samplers for group in groups for samplers in _by_coupling(group))
    colours = itertools.zip_longest(*panels)
    return [" / ".join(dict.fromkeys(filter(None, samplers))) for samplers in colours]


def _by_coupling(group: Mapping[str, Any]) -> list[list[str]]:
    """Samplers of each panel of a model, in order."""
    return [
        [curve["sampler"] for curve in group["curves"] if curve["coupling"] == coupling]
        for coupling in group["settings"]["couplings"]
    ]


def figure3(document: Document) -> Drawing:
    """Probability that the larger mode has been reached, against steps."""
    weak = document["series"]["weak"]
    panels, models = [], []
    groups = [*document["series"]["panels"], weak]
    labels = _samplers(groups)
    for group in groups:
        s = group["settings"]
        outside = f", field {s['outside_field']:g} outside" if s["outside_field"] else ""
        models.append(
            f"N = {s['spins']}, clique of {s['clique']}, h = {s['field']:g}{outside},"
            f" {s['chains']} chains"
        )
        model = f"N = {s['spins']}, m = {s['clique']}"
        note = " (weak coupling)" if group is weak else ""
        for coupling in s["couplings"]:
            lines = []
            curves = [c for c in group["curves"] if c["coupling"] == coupling]
            for colour, curve in enumerate(curves):
                name, exact, simulated = curve["sampler"], curve["exact"], curve["simulated"]
                dense, sparse = (_spaced(len(exact) - 1, count) for count in (24, 6))
                for series, steps, of_series, kind in (
                    (name, dense, exact, "plain"),
                    (f"{name}, simulated", sparse, simulated, "dots"),
                ):
                    values = [of_series[t] for t in steps]
                    lines.append(Line(series, steps, values, kind, colour, label=labels[colour]))
            title = f"{model}, J = {coupling:g}{note}"
            axes = ("steps", "P(larger mode reached)")
            panels.append(Panel(title, *axes, lines, log_x=True))
    caption = (
        "Probability that all clique spins have been +1 by a step, started with all of"
        " them -1 and the others random. Lines: exact, from the lumped chain; markers: simulation."
        f" Models: {'; '.join(models)}. Independent parallel sampling updates N spins per step,"
        f" k-Gibbs k. Seed {document['seed']}."
    )
    return Drawing("figure3", "Figure 3: reaching the larger mode", panels, caption)


def product_steps(document: Document) -> Drawing:
    """Smallest total variation from a product distribution to a k-Gibbs step, by coupling."""
    rows, s = document["series"]["rows"], document["settings"]
    panels = []
    for key, title, bound in (
        ("given_found", "given the block, worst surroundings", "given_bound"),
        ("averaged_found", "averaged over the block, worst state", None),
    ):
        lines = []
        for k in range(1, s["spins"] + 1):
            name, of_k = f"k = {k}", [r for r in rows if r["k"] == k]
            distances = [r[key] for r in of_k]
            lines.append(Line(name, s["couplings"], distances, colour=k - 1, label=name))
            if bound:
                name, bounds = f"{name}, proven lower bound", [r[bound] for r in of_k]
                lines.append(Line(name, s["couplings"], bounds, "dashed", k - 1))
        panels.append(Panel(title, "coupling J", "total variation", lines))
    caption = (
        "Smallest total variation found between any product distribution and one step of"
        f" k-Gibbs on a complete graph of {s['spins']} spins, h = {s['field']:g}; the largest over"
        " all states before the step. Dashed: proven lower bounds. With an odd number of visible"
        " spins a strongly coupled block follows them: given the block, the distance falls again."
    )
    title = "A parallel step against a step of k-Gibbs"
    return Drawing("product_steps", title, panels, caption)


def mask_design(document: Document) -> Drawing:
    """Mask weights that are optimal for error and for speed, and how the two criteria relate."""
    series, settings = document["series"], document["settings"]
    positions = list(range(len(series["sets"])))
    names = list(series["measures"])

    def scatter(key: str) -> list[Line]:
        random = series["random"]
        label = "random weights"
        lines = [Line(label, random["gap"], random[key], "dots", 5, label=label)]
        # Optima of two criteria nearly coincide: hollow markers of rising size show both.
        for colour, (name, m) in enumerate(series["measures"].items()):
            size = 6 + 3.0 * colour
            lines.append(Line(name, [m["gap"]], [m[key]], "dots", colour, label=name, size=size))
        return lines

    weights = [
        Line(name, positions, series["weights"][name], "dots", colour, label=name,
             shift=0.2 * (colour - (len(names) - 1) / 2))
        for colour, name in enumerate(names)
    ]  # fmt: skip
    sets = ["".join(str(i + 1) for i in block) for block in series["sets"]]
    speed = "spectral gap"
    panels = [
        Panel("speed and the worst direction", speed, "efficiency", scatter("efficiency")),
        Panel("speed and total error", speed, "trace of H^-1", scatter("trace"), log_y=True),
        Panel("optimal weights", "mask", "probability", weights, ticks=positions, tick_labels=sets),
    ]
    model = settings["model"]
    caption = (
        f"Mask distributions over all {settings['block_size']}-subsets for a"
        f" {model['graph']} of {model['spins']} spins with J = {model['coupling']}, h ="
        f" {model['field']}. Gap: speed of the block dynamics. Efficiency: smallest eigenvalue of"
        " I^(-1/2) H I^(-1/2), 1 for maximum likelihood, never below the gap (theorem 6). Trace:"
        " asymptotic squared error. A mask's name lists its positions."
    )
    title = "Masks for a small error and for fast sampling"
    return Drawing("mask_design", title, panels, caption)


# Name -> (experiment, drawing of its results).
DRAWINGS: Mapping[str, tuple[str, Callable[[Document], Drawing]]] = {
    "figure1": ("estimation", figure1),
    "figure2": ("estimation", figure2),
    "figure3": ("mode_reaching", figure3),
    "product_steps": ("product_kernels", product_steps),
    "mask_design": ("mask_design", mask_design),
}
