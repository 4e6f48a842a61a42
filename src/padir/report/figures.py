"""Figures as SVG with the CSV of their points. Same numbers, same bytes."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from padir.files import write_text
from padir.report.results import Group, Results, Row
from padir.report.selection import core_models
from padir.report.tables import Cell, Column, Table
from padir.report.translation import latency_row

# Okabe and Ito's palette, told apart by readers with any colour vision; the markers say it again.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
}


@dataclass(frozen=True)
class Point:
    """One mark: x, y, the 95% interval of y if known, and a short label."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    label: str = ""


@dataclass(frozen=True)
class Series:
    """Marks of one model; joined by a line where they are an ordered sweep.

    `style` numbers colour and marker, so that a model looks the same in every figure.
    """

    name: str
    points: Sequence[Point]
    style: int = 0
    joined: bool = True


@dataclass(frozen=True)
class Panel:
    """One test set. `levels`: horizontal lines by name, such as AR's score."""

    title: str
    series: Sequence[Series]
    levels: Sequence[tuple[str, float]] = field(default_factory=tuple)


@dataclass(frozen=True)
class Figure:
    """A row of panels with common axes' names; `note` says how to read them."""

    name: str
    title: str
    x: str
    y: str
    panels: Sequence[Panel]
    note: str = ""
    log_x: bool = False
    labelled: bool = False

    def empty(self) -> bool:
        """Whether there is no point to show."""
        return not any(series.points for panel in self.panels for series in panel.series)

    def table(self) -> Table:
        """The points."""
        columns = [
            Column(key, key) for key in ("panel", "series", "label", "x", "y", "low", "high")
        ]
        rows: list[dict[str, Cell]] = []
        for panel in self.panels:
            for series in panel.series:
                rows += [
                    {"panel": panel.title, "series": series.name, **vars(point)}
                    for point in series.points
                ]
            for name, y in panel.levels:
                level: dict[str, Cell] = {"panel": panel.title, "series": name, "label": "level"}
                rows.append({**level, "x": None, "y": y, "low": None, "high": None})
        return Table(self.name, self.title, columns, rows)

    @cached_property
    def svg(self) -> str:
        """The drawing."""
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure as Drawing

        with matplotlib.rc_context({**STYLE, "svg.hashsalt": self.name}):
            wide = max(1, len(self.panels))
            drawing = Drawing(figsize=(1.2 + 5.6 * wide, 3.9), layout="constrained")
            FigureCanvasSVG(drawing)
            axes = drawing.subplots(1, wide, squeeze=False)[0]
            for panel, place in zip(self.panels, axes, strict=False):
                self._draw(panel, place)
            if self.empty():
                axes[0].text(0.5, 0.5, "no data", transform=axes[0].transAxes, ha="center")
            buffer = io.StringIO()
            drawing.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "padir"})
        return buffer.getvalue()

    def _draw(self, panel: Panel, place) -> None:
        from matplotlib.ticker import FuncFormatter

        for number, (name, y) in enumerate(panel.levels):
            style = ("--", ":", "-.")[number % 3]
            place.axhline(y, color="#555555", linestyle=style, linewidth=1.2, label=name)
        for series in panel.series:
            colour = COLOURS[series.style % len(COLOURS)]
            xs, ys = [p.x for p in series.points], [p.y for p in series.points]
            dense = len(xs) > 30
            place.plot(
                xs, ys, color=colour, label=series.name, linewidth=1.5, markersize=5,
                marker=None if dense else MARKERS[series.style % len(MARKERS)],
                linestyle="-" if series.joined else "none",
            )  # fmt: skip
            known = [p for p in series.points if p.low is not None and p.high is not None]
            if known:
                lows, highs = [p.low for p in known], [p.high for p in known]
                # vlines, as an interval of the mean need not hold the value itself.
                place.vlines([p.x for p in known], lows, highs, color=colour, linewidth=1)
            if self.labelled:
                for point in series.points:
                    place.annotate(
                        point.label, (point.x, point.y), xytext=(6, -11),
                        textcoords="offset points", fontsize=8, color=colour,
                    )  # fmt: skip
        if self.log_x:
            place.set_xscale("log")
            for axis_format in (place.xaxis.set_major_formatter, place.xaxis.set_minor_formatter):
                axis_format(FuncFormatter(lambda value, _: f"{value:g}"))
        place.set_title(panel.title, fontsize=10)
        place.set_xlabel(self.x)
        place.set_ylabel(self.y)
        if panel.series or panel.levels:
            place.legend(fontsize=8, loc="best")

    def write(self, folder: Path) -> list[Path]:
        """Write NAME.svg and NAME.csv; return their paths."""
        drawing, points = folder / f"{self.name}.svg", folder / f"{self.name}.csv"
        write_text(drawing, self.svg)
        write_text(points, self.table().csv())
        return [drawing, points]


def _style(results: Results, model: str) -> int:
    return list(results.config.models).index(model)


def _sweeps(results: Results, group: Group) -> dict[str, list[Row]]:
    """Rows of each parallel model by rising number of passes."""
    sweeps: dict[str, list[Row]] = {}
    for row in results.core_rows():
        if row.group == group and row.steps is not None:
            sweeps.setdefault(row.model, []).append(row)
    return {model: sorted(rows, key=lambda r: r.steps or 0) for model, rows in sweeps.items()}


def _ar_levels(results: Results, group: Group) -> list[tuple[str, float]]:
    model = results.config.evaluation.baseline
    rows = [results.row(group, model, decoding) for decoding in ("greedy", "beam")]
    return [(row.label, row.bleu().value) for row in rows if row is not None]


def quality_passes(results: Results) -> Figure:
    """BLEU against refinement passes."""
    panels = []
    for group in results.groups():
        series = []
        for model, rows in _sweeps(results, group).items():
            points = []
            for row in rows:
                bleu = row.bleu()
                points.append(
                    Point(float(row.steps or 0), bleu.value, bleu.low, bleu.high, row.decoding)
                )
            series.append(Series(model, points, _style(results, model)))
        panels.append(Panel(" ".join(group), series, _ar_levels(results, group)))
    return Figure("quality_passes", "Quality against passes", "decoder passes", "BLEU", panels)


def quality_latency(results: Results) -> Figure:
    """BLEU against median latency."""
    panels = []
    for group in results.latency:
        series: dict[str, list[Point]] = {}
        for row in results.core_rows():
            timed = latency_row(results.latency, group, row.model, row.decoding)
            if row.group != group or timed is None:
                continue
            bleu = row.bleu()
            point = Point(float(timed["p50_ms"]), bleu.value, bleu.low, bleu.high, row.decoding)
            series.setdefault(row.model, []).append(point)
        lines = []
        for model, points in series.items():
            ordered = sorted(points, key=lambda p: p.x)
            parallel = results.config.models[model].parallel
            lines.append(Series(model, ordered, _style(results, model), joined=parallel))
        panels.append(Panel(" ".join(group), lines))
    return Figure(
        "quality_latency", "Quality against latency", "median latency at batch size 1, ms", "BLEU",
        panels, log_x=True, labelled=True,
    )  # fmt: skip


def stutter_passes(results: Results) -> Figure:
    """Stutter before the final drop against refinement passes."""
    panels = []
    for group in results.groups():
        series = []
        for model, rows in _sweeps(results, group).items():
            points = []
            for row in rows:
                found = row.stutter(before_drop=True)
                if found is not None:
                    steps = float(row.steps or 0)
                    points.append(Point(steps, found.value, found.low, found.high, row.decoding))
            series.append(Series(model, points, _style(results, model)))
        levels = []
        for decoding in ("greedy", "beam"):
            row = results.row(group, results.config.evaluation.baseline, decoding)
            found = None if row is None else row.stutter(before_drop=False)
            if row is not None and found is not None:
                levels.append((row.label, found.value))
        panels.append(Panel(" ".join(group), series, levels))
    return Figure(
        "stutter_passes", "Stutter against passes", "decoder passes",
        "stutters per 100 words, before the drop", panels,
    )  # fmt: skip


def _validations(results: Results, x: str, y: str, scale: float = 1.0) -> list[Panel]:
    """One line per training run: a value at each validation against a clock of the run."""
    panels: dict[Group, list[Series]] = {}
    core = core_models(results.config)
    for (dataset, direction, model, seed), lines in results.curves.items():
        if model not in core:
            continue
        points = [
            Point(float(line[x]), float(line[y]) * scale, label=f"{line.get('seconds')} s")
            for line in lines
            if line.get(x) is not None and line.get(y) is not None
        ]
        several = len(results.config.models[model].seeds) > 1
        name = f"{model}, seed {seed}" if several else model
        line = Series(name, points, _style(results, model))
        panels.setdefault((dataset, direction), []).append(line)
    return [Panel(" ".join(group), series) for group, series in panels.items()]


def training_curve(results: Results) -> Figure:
    """Validation loss against training steps."""
    return Figure(
        "training", "Training", "optimizer steps", "validation loss",
        _validations(results, "step", "valid_loss"),
        note="Losses compare within one system and one kind of targets only.",
    )  # fmt: skip


def training_time(results: Results) -> Figure:
    """Validation accuracy against the time that training took."""
    return Figure(
        "training_time", "Quality against training time", "training time, seconds",
        "validation tokens predicted, %", _validations(results, "seconds", "valid_accuracy", 100.0),
        note="Against the model's own targets: AR given the tokens before, the others given the"
        " last stage's hypothesis at the target's length. Compilation is part of the time.",
    )  # fmt: skip
