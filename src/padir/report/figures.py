"""Figures of rows: quality against passes and latency, stutter, and training curves."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from padir.config.experiment import Config
from padir.config.rows import Row
from padir.layout import Place
from padir.report.results import Estimate, Results, ScoredRow, search_row
from padir.report.tables import Cell, Column, Table
from padir.report.theme import COLOURS, Canvas, Picture, canvas, mark_of

# Most marks of a line, about.
DENSE = 24
# Points of a series closer than this, as shares of the axes, have one label.
NEAR_X, NEAR_Y = 0.06, 0.04
LABEL_SIZE = 8


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
    """Marks of one training and decoder; joined by a line where they are an ordered sweep.

    `style` numbers colour and marker, so that a series looks the same in every figure.
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
class Figure(Picture):
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

    @property
    def caption(self) -> str:
        """The axes, and how to read them."""
        return f"{self.y} against {self.x}; bars, where drawn, are 95% intervals. {self.note}"

    @property
    def description(self) -> str:
        """The axes, and the series of each panel."""
        panels = (
            f"{panel.title}: "
            + ", ".join(
                [series.name for series in panel.series] + [name for name, _ in panel.levels]
            )
            for panel in self.panels
        )
        return f"{self.title}: {self.y} against {self.x}. {'; '.join(panels)}"

    def table(self) -> Table:
        """The points."""
        keys = ("panel", "series", "label", "x", "y", "low", "high")
        rows: list[dict[str, Cell]] = []
        for panel in self.panels:
            for series in panel.series:
                rows += [
                    {"panel": panel.title, "series": series.name, **vars(point)}
                    for point in series.points
                ]
            rows += [
                {
                    "panel": panel.title,
                    "series": name,
                    **vars(Point(0.0, y, label="level")),
                    "x": None,
                }
                for name, y in panel.levels
            ]
        return Table(self.name, self.title, [Column(key, key) for key in keys], rows)

    @cached_property
    def svg(self) -> str:
        """The drawing."""
        wide = max(1, len(self.panels))
        with canvas(self.name, 0.4 + 4.6 * wide, 3.9) as drawing:
            places = drawing.figure.subplots(1, wide, squeeze=False)[0]
            for panel, axes in zip(self.panels, places, strict=False):
                self._draw(panel, axes, drawing)
            if self.empty():
                places[0].text(0.5, 0.5, "no data", transform=places[0].transAxes, ha="center")
            drawing.legend()
            if self.labelled:
                # Sizes of the axes are final only now.
                drawing.figure.draw_without_rendering()
                for panel, axes in zip(self.panels, places, strict=False):
                    _label(panel, axes)
        return drawing.svg

    def _draw(self, panel: Panel, axes: Any, drawing: Canvas) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator

        for number, (name, y) in enumerate(panel.levels):
            style = ("--", ":", "-.")[number % 3]
            axes.axhline(y, color="#777777", linestyle=style, linewidth=1.2, label=name)
        for series in panel.series:
            colour, marker = mark_of(series.style)
            xs, ys = [p.x for p in series.points], [p.y for p in series.points]
            # Of a dense line some points have marks: they tell lines apart, and have values.
            every = 1 + len(xs) // DENSE
            (line,) = axes.plot(
                xs, ys, color=colour, label=series.name, linewidth=1.5,
                markersize=5 if every == 1 else 3.5, markevery=every,
                marker=marker, linestyle="-" if series.joined else "none",
            )  # fmt: skip
            drawing.name_marks(line, [_value(series, point) for point in series.points[::every]])
            known = [p for p in series.points if p.low is not None and p.high is not None]
            if known:
                lows, highs = [p.low for p in known], [p.high for p in known]
                # vlines, as an interval of the mean need not hold the value itself.
                axes.vlines([p.x for p in known], lows, highs, color=colour, linewidth=1)
        if self.log_x:
            axes.set_xscale("log")
            axes.xaxis.set_minor_locator(LogLocator(subs=(1.5, 2, 3, 5, 7)))
            for axis_format in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
                axis_format(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_title(panel.title)
        axes.set_xlabel(self.x)
        axes.set_ylabel(self.y)


def _value(series: Series, point: Point) -> str:
    """The values of a mark, in words."""
    interval = "" if point.low is None else f" [{point.low:.2f}, {point.high:.2f}]"
    return f"{series.name} {point.label}: {point.y:.4g}{interval} at {point.x:.4g}"


def _label(panel: Panel, axes: Any) -> None:
    """Write the points' labels where they meet neither a mark nor one another, if such a place is
    near. Points of a series that lie together have one label."""
    from matplotlib.transforms import Bbox

    scale = axes.figure.dpi / 72
    width, height = axes.bbox.width, axes.bbox.height
    marks = [
        (series, point, *axes.transData.transform((point.x, point.y)))
        for series in panel.series
        for point in series.points
    ]
    taken = [Bbox.from_extents(x - 4, y - 4, x + 4, y + 4) for _, _, x, y in marks]
    groups: list[list[Any]] = []
    for mark in marks:
        series, _, x, y = mark
        before, _, last_x, last_y = groups[-1][-1] if groups else (None, None, x, y)
        near = abs(last_x - x) < NEAR_X * width and abs(last_y - y) < NEAR_Y * height
        if near and before is series:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    for group in groups:
        series, anchor, anchor_x, anchor_y = group[0]
        labels = sorted({mark[1].label for mark in group}, key=lambda label: (len(label), label))
        text = ", ".join(labels)
        box_width, box_height = 0.62 * LABEL_SIZE * scale * len(text), 1.3 * LABEL_SIZE * scale
        x = sum(mark[2] for mark in group) / len(group)
        y = sum(mark[3] for mark in group) / len(group)
        boxes = [
            Bbox.from_bounds(x + dx, y + dy, box_width, box_height)
            for dx, dy in _offsets(box_width, box_height, 6 * scale)
        ]
        inside = [
            box for box in boxes if axes.bbox.contains(*box.min) and axes.bbox.contains(*box.max)
        ]
        free = [box for box in inside if not box.count_overlaps(taken)]
        box = (free or inside or boxes)[0]
        taken.append(box)
        # In points from the mark: the SVG has another resolution than the one measured here.
        offset = (box.x0 - anchor_x) / scale, (box.y0 - anchor_y) / scale
        axes.annotate(
            text, (anchor.x, anchor.y), xytext=offset, textcoords="offset points",
            fontsize=LABEL_SIZE, color=mark_of(series.style)[0], annotation_clip=False,
        )  # fmt: skip


def _offsets(width: float, height: float, gap: float) -> Iterator[tuple[float, float]]:
    """Positions of a label relative to its mark: right below, around it, then farther away."""
    for far in (1, 3, 5):
        away = gap * far
        yield from ((gap, -away - height), (gap, away), (-gap - width, -away - height))
        yield from ((-gap - width, away), (away, -height / 2), (-away - width, -height / 2))
        yield from ((-width / 2, -away - height), (-width / 2, away))


def sweeps(
    results: Results, place: Place, rows: Iterable[Row]
) -> Iterator[tuple[str, list[ScoredRow], int]]:
    """Rows of one test set by training and decoder, in the order of passes, with their name and
    style. The searches of an AR training stand together."""
    names: dict[tuple[str, str | None], str] = {}
    sweeps: dict[tuple[str, str | None], list[ScoredRow]] = {}
    for row in rows:
        parallel = row.decoding.passes is not None
        key = (row.training, row.decoding.decoder if parallel else None)
        names.setdefault(
            key, f"{row.training} {row.decoding.decoder}" if parallel else row.training
        )
        scored = results.row(place, row)
        if scored is not None:
            sweeps.setdefault(key, []).append(scored)
    for style, (key, name) in enumerate(names.items()):
        if key in sweeps:
            yield name, sorted(sweeps[key], key=lambda s: s.row.decoding.passes or 0), style


def _levels(
    results: Results, place: Place, measure: Callable[[ScoredRow], Estimate | None]
) -> Iterator[tuple[str, float]]:
    """The baseline's training by greedy and by beam search."""
    for kind in ("greedy", "beam"):
        row = results.row(place, search_row(results.config, kind))
        value = row and measure(row)
        if row and value:
            yield row.row.label, value.value


def _against_passes(
    results: Results,
    rows: Sequence[Row],
    measure: Callable[[ScoredRow], Estimate | None],
    level: Callable[[ScoredRow], Estimate | None],
) -> list[Panel]:
    panels = []
    for place in results.places():
        series = []
        for name, sweep, style in sweeps(results, place, rows):
            measured = ((row.row.decoding.passes, measure(row)) for row in sweep)
            points = [
                Point(float(passes), value.value, value.low, value.high, f"T{passes}")
                for passes, value in measured
                if passes is not None and value is not None
            ]
            if points:
                series.append(Series(name, points, style))
        panels.append(Panel(" ".join(place), series, list(_levels(results, place, level))))
    return panels


def quality_passes(results: Results) -> Figure:
    """BLEU against refinement passes."""
    rows = results.config.core_rows()
    panels = _against_passes(results, rows, ScoredRow.bleu, ScoredRow.bleu)
    return Figure("quality_passes", "Quality against passes", "decoder passes", "BLEU", panels)


def systems_passes(results: Results) -> Figure:
    """BLEU of the systems of table 2 against refinement passes."""
    panels = _against_passes(results, results.config.system_rows(), ScoredRow.bleu, ScoredRow.bleu)
    title = "Quality against passes, all systems"
    return Figure("systems_passes", title, "decoder passes", "BLEU", panels)


def stutter_passes(results: Results) -> Figure:
    """Stutter before the final drop against refinement passes."""
    return Figure(
        "stutter_passes", "Stutter against passes", "decoder passes",
        "stutters per 100 words, before the drop",
        _against_passes(
            results, results.config.core_rows(),
            lambda row: row.stutter(True), lambda row: row.stutter(False),
        ),
    )  # fmt: skip


def quality_latency(results: Results) -> Figure:
    """BLEU against median latency."""
    rows = results.config.core_rows()
    return _against_latency(results, rows, "quality_latency", "Quality against latency")


def systems_latency(results: Results) -> Figure:
    """BLEU of the systems of table 2 against median latency."""
    title = "Quality against latency, all systems"
    return _against_latency(results, results.config.system_rows(), "systems_latency", title)


def _against_latency(results: Results, rows: Sequence[Row], name: str, title: str) -> Figure:
    panels = []
    for place, timing in results.latencies:
        series = []
        for label_of_sweep, sweep, style in sweeps(results, place, rows):
            points = []
            for row in sweep:
                timed, bleu = results.timed(place, timing, row.row), row.bleu()
                decoding = row.row.decoding
                label = decoding.decoder if decoding.passes is None else f"T{decoding.passes}"
                if timed is not None:
                    x = float(timed["p50_ms"])
                    points.append(Point(x, bleu.value, bleu.low, bleu.high, label))
            points.sort(key=lambda point: point.x)
            joined = sweep[0].row.decoding.passes is not None
            if points:
                series.append(Series(label_of_sweep, points, style, joined))
        panels.append(Panel(" ".join(place), series))
    return Figure(
        name, title, "median latency at batch size 1, ms", "BLEU", panels,
        log_x=True, labelled=True,
    )  # fmt: skip


def _validations(results: Results, x: str, y: str, scale: float = 1.0) -> list[Panel]:
    """One line per training run: a value at each validation against a clock of the run."""
    panels: dict[Place, list[Series]] = {}
    styles = _styles_of_seeds(results.config)
    for (place, training, seed), lines in results.curves.items():
        points = [
            Point(float(line[x]), float(line[y]) * scale, label=f"{line.get('seconds')} s")
            for line in lines
            if line.get(x) is not None and line.get(y) is not None
        ]
        has_seeds = len(results.config.trainings[training].seeds) > 1
        name = f"{training}, seed {seed}" if has_seeds else training
        panels.setdefault(place, []).append(Series(name, points, styles[training, seed]))
    return [Panel(" ".join(place), series) for place, series in panels.items()]


def _styles_of_seeds(config: Config) -> dict[tuple[str, int], int]:
    """Style of each core training and seed: seeds have their training's colour, and a marker that
    no other of the colour has."""
    taken: Counter[int] = Counter()
    styles = {}
    for number, training in enumerate(dict.fromkeys(row.training for row in config.core_rows())):
        colour = number % len(COLOURS)
        for seed in config.trainings[training].seeds:
            styles[training, seed] = colour + len(COLOURS) * taken[colour]
            taken[colour] += 1
    return styles


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
        note="Against the training's own targets: AR given the tokens before, the others given the"
        " last stage's hypothesis at the target's length. Compilation is part of the time.",
    )  # fmt: skip
