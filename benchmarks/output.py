"""How a benchmark hands over its results: on the terminal, as JSON, in a page, and as curves."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def marks(section: str) -> tuple[str, str]:
    """The two lines of a page between which a section is written."""
    return f"<!-- {section}: begin -->", f"<!-- {section}: end -->"


def command() -> str:
    """The command that runs this benchmark, as a first line of its section."""
    return f"`{' '.join(['python', *sys.argv])}`"


def add_files(parse: argparse.ArgumentParser, *kinds: str) -> None:
    """Add options for the files to write, of `out`, `page` and `picture`."""
    texts = {
        "out": "JSON file to write",
        "page": "page whose section is written",
        "picture": "SVG file to write",
    }
    for kind in kinds:
        parse.add_argument(f"--{kind}", type=Path, help=texts[kind])


def write(
    given: argparse.Namespace,
    section: str,
    measured: str,
    report: Mapping[str, Any] | None = None,
    draw: Callable[[Any], str] | None = None,
    indent: int | None = 1,
) -> None:
    """Print the results, and write the files that the options of `add_files` name.

    Args:
        given: the options.
        section: of the page.
        measured: text of the section.
        report: for --out.
        draw: makes the SVG of --picture from the report.
        indent: of the JSON.
    """
    print(measured)
    if getattr(given, "out", None):
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(report, indent=indent) + "\n", "utf-8")
    if given.page:
        begin, end = marks(section)
        before, rest = given.page.read_text("utf-8").split(begin)
        text = f"{before}{begin}\n\n{measured}\n\n{end}{rest.split(end)[1]}"
        given.page.write_text(text, "utf-8")
    if draw is not None and given.picture:
        given.picture.write_text(draw(report), "utf-8")


def draw_curve(
    drawing: Any,
    axes: Any,
    index: int,
    name: str,
    points: Mapping[int, float],
    unit: str,
    dashed: bool = False,
) -> None:
    """Draw a curve on logarithmic axes; its points show their values.

    Args:
        drawing: from `padir.report.theme.canvas`.
        axes: of Matplotlib.
        index: of colour and marker.
        name: in the legend.
        points: y by x.
        unit: of x and y in the text of a point, such as "{:,} at once: {:.1f}/s".
        dashed: whether the line is dashed.
    """
    from padir.report.theme import COLOURS, MARKERS

    (curve,) = axes.plot(
        [*points], [*points.values()], MARKERS[index] + ("--" if dashed else "-"),
        color=COLOURS[index], label=name, markersize=4,
    )  # fmt: skip
    drawing.name_marks(curve, [f"{name}, {unit.format(x, y)}" for x, y in points.items()])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
