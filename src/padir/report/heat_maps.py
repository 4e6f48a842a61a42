"""Which layers and heads tell stutter from other neighbours: heat maps of effect sizes."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from padir.files import write_text
from padir.report.dependency import analyses
from padir.report.figures import STYLE
from padir.report.results import Results
from padir.report.tables import Cell, Column, Table
from padir.score.significance import holm

LIMIT = 1.5
"""Effects beyond this have the full colour."""
LEVEL = 0.05
UP, DOWN = " ↑", " ↓"


@dataclass(frozen=True)
class HeatMap:
    """One model at one pass; lists are [layer][head].

    Attributes:
        row, column: places in the drawing by name.
        effect: Cohen's d, stuttering against other adjacent pairs.
        within: what stuttering pairs are above the mean of their own sentence's, in the same
            deviations.
        p_value: of `within`, corrected for the number of heads (Holm).
    """

    row: str
    column: str
    effect: Sequence[Sequence[float]]
    within: Sequence[Sequence[float]]
    p_value: Sequence[Sequence[float]]


@dataclass(frozen=True)
class HeatMaps:
    """A grid of heat maps with one colour scale; `note` says how to read them."""

    name: str
    title: str
    maps: Sequence[HeatMap]
    note: str = ""

    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.maps

    def table(self) -> Table:
        """Every cell."""
        keys = ("panel", "pass", "layer", "head", "effect", "within", "p_value")
        rows: list[dict[str, Cell]] = [
            {
                "panel": one.row,
                "pass": one.column,
                "layer": layer + 1,
                "head": head + 1,
                "effect": effect,
                "within": one.within[layer][head],
                "p_value": one.p_value[layer][head],
            }
            for one in self.maps
            for layer, effects in enumerate(one.effect)
            for head, effect in enumerate(effects)
        ]
        return Table(self.name, self.title, [Column(key, key) for key in keys], rows)

    @cached_property
    def svg(self) -> str:
        """The drawing."""
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        rows = list(dict.fromkeys(one.row for one in self.maps)) or [""]
        columns = list(dict.fromkeys(one.column for one in self.maps)) or [""]
        style = {**STYLE, "axes.grid": False, "svg.hashsalt": self.name}
        with matplotlib.rc_context(style):
            size = (1.6 + 2.9 * len(columns), 0.9 + 1.9 * len(rows))
            figure = Figure(figsize=size, layout="constrained")
            FigureCanvasSVG(figure)
            places = figure.subplots(len(rows), len(columns), squeeze=False)
            image = None
            for one in self.maps:
                place = places[rows.index(one.row), columns.index(one.column)]
                image = _draw(one, place)
            if image is None:
                places[0, 0].text(0.5, 0.5, "no data", ha="center")
            else:
                bar = figure.colorbar(image, ax=places, shrink=0.8)
                bar.set_label("effect size d")
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "padir"})
        return buffer.getvalue()

    def write(self, folder: Path) -> list[Path]:
        """Write NAME.svg and NAME.csv; return their paths."""
        drawing, points = folder / f"{self.name}.svg", folder / f"{self.name}.csv"
        write_text(drawing, self.svg)
        write_text(points, self.table().csv())
        return [drawing, points]


def _mark(within: float, p_value: float) -> str:
    """Which way stuttering pairs surely differ from their own sentence's mean, if any."""
    return "" if p_value >= LEVEL else UP if within > 0 else DOWN


def _draw(one: HeatMap, place):
    # A diverging map that readers with any colour vision can tell the sign by.
    image = place.imshow(one.effect, cmap="PuOr", vmin=-LIMIT, vmax=LIMIT, aspect="auto")
    layers, heads = len(one.effect), len(one.effect[0])
    for layer in range(layers):
        for head in range(heads):
            value = one.effect[layer][head]
            mark = _mark(one.within[layer][head], one.p_value[layer][head])
            colour = "white" if abs(value) > 0.7 * LIMIT else "black"
            place.text(
                head, layer, f"{value:.1f}{mark}", ha="center", va="center", color=colour,
                fontsize=8 if heads <= 8 else 6,
            )  # fmt: skip
    place.set_xticks(range(heads), [str(head + 1) for head in range(heads)])
    place.set_yticks(range(layers), [str(layer + 1) for layer in range(layers)])
    place.set_xlabel("head")
    place.set_ylabel("layer")
    place.set_title(f"{one.row}, {one.column}", fontsize=9)
    return image


def _maps(results: Results, measure: str) -> list[HeatMap]:
    maps = []
    for document in analyses(results):
        place = " ".join((document["dataset"], document["direction"]))
        several = len({(d["dataset"], d["direction"]) for d in results.analyses}) > 1
        row = f"{place} {document['model']}" if several else document["model"]
        for found in document["passes"]:
            own = found["heads"][measure]
            flat = holm([p for layer in own["p_value"] for p in layer])
            heads = len(own["effect"][0])
            corrected = [flat[at : at + heads] for at in range(0, len(flat), heads)]
            column = f"pass {found['pass']}"
            maps.append(HeatMap(row, column, own["effect"], own["within_effect"], corrected))
    return maps


NOTE = (
    "Colour and number: effect size d of stuttering against other adjacent pairs, pooled over"
    " sentences. Arrows are of another comparison and may point against the number's sign:"
    " stuttering pairs are above (↑) or below (↓) the mean of their own sentence's pairs, p < 0.05,"
    " labels exchanged within sentences, corrected for the number of heads (Holm)."
)


def self_attention_heads(results: Results) -> HeatMaps:
    """Self-attention between the two, by layer and head."""
    title = "Self-attention between the two positions, by layer and head"
    return HeatMaps("self_attention_heads", title, _maps(results, "self_attention"), NOTE)


def cross_attention_heads(results: Results) -> HeatMaps:
    """Total variation between the cross-attention of the two, by layer and head."""
    title = "Total variation between the two positions' cross-attention, by layer and head"
    return HeatMaps("cross_attention_heads", title, _maps(results, "total_variation"), NOTE)
