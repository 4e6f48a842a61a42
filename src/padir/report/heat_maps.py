"""Heat maps by layer and head: how attention differs between stuttering and other neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from padir.report.results import Results
from padir.report.tables import Cell, Column, Table
from padir.report.theme import Picture, canvas
from padir.score.significance import holm

LIMIT = 1.5
"""Effects beyond this have the full colour."""
LEVEL = 0.05
UP, DOWN = " ↑", " ↓"


@dataclass(frozen=True)
class HeatMap:
    """One row at one pass; lists are [layer][head].

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
class HeatMaps(Picture):
    """A grid of heat maps with one colour scale."""

    name: str
    title: str
    maps: Sequence[HeatMap]

    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.maps

    def table(self) -> Table:
        """Every cell."""
        keys = ("panel", "pass", "layer", "head", "effect", "within", "p_value")
        rows: list[dict[str, Cell]] = [
            {
                "panel": heat_map.row,
                "pass": heat_map.column,
                "layer": layer + 1,
                "head": head + 1,
                "effect": effect,
                "within": heat_map.within[layer][head],
                "p_value": heat_map.p_value[layer][head],
            }
            for heat_map in self.maps
            for layer, effects in enumerate(heat_map.effect)
            for head, effect in enumerate(effects)
        ]
        return Table(self.name, self.title, [Column(key, key) for key in keys], rows)

    @property
    def description(self) -> str:
        """How to read the maps, and the largest effect of each."""
        largest = []
        for heat_map in self.maps:
            effects = [abs(effect) for layer in heat_map.effect for effect in layer]
            largest.append(_values(heat_map)[effects.index(max(effects))])
        return f"{self.title}. {self.caption} Largest effects: {'. '.join(largest)}."

    @property
    def caption(self) -> str:
        """How to read the maps."""
        return NOTE

    @cached_property
    def svg(self) -> str:
        """The drawing."""
        rows = list(dict.fromkeys(heat_map.row for heat_map in self.maps)) or [""]
        columns = list(dict.fromkeys(heat_map.column for heat_map in self.maps)) or [""]
        width, height = 1.6 + 2.9 * len(columns), 0.9 + 1.9 * len(rows)
        with canvas(self.name, width, height, grid=False) as drawing:
            places = drawing.figure.subplots(len(rows), len(columns), squeeze=False)
            image = None
            for heat_map in self.maps:
                axes = places[rows.index(heat_map.row), columns.index(heat_map.column)]
                image = _draw(heat_map, axes)
                drawing.name_marks(image, _values(heat_map))
            if image is None:
                places[0, 0].text(0.5, 0.5, "no data", ha="center")
            else:
                bar = drawing.figure.colorbar(
                    image, ax=places, location="bottom", shrink=0.4, anchor=(0.0, 0.0)
                )
                bar.set_label("effect size d")
        return drawing.svg


def _mark(within: float, p_value: float) -> str:
    """Mark of a significant difference of stuttering pairs from their sentence's mean, if any."""
    return "" if p_value >= LEVEL else UP if within > 0 else DOWN


def _values(heat_map: HeatMap) -> list[str]:
    """What each cell says on hover, layers first: its row, its column and its numbers."""
    return [
        f"{heat_map.row}, {heat_map.column}, layer {layer + 1}, head {head + 1}: d {effect:.2f};"
        f" within sentences {heat_map.within[layer][head]:.2f},"
        f" p {heat_map.p_value[layer][head]:.3f}"
        for layer, effects in enumerate(heat_map.effect)
        for head, effect in enumerate(effects)
    ]


def _draw(heat_map: HeatMap, axes: Any) -> Any:
    # A diverging map whose sign readers with any colour vision can tell.
    layers, heads = len(heat_map.effect), len(heat_map.effect[0])
    # Edges, not centres: from the centre of a single row no height of its cells can be told.
    cells = (np.arange(heads + 1) - 0.5, np.arange(layers + 1) - 0.5, heat_map.effect)
    image = axes.pcolormesh(*cells, cmap="PuOr", vmin=-LIMIT, vmax=LIMIT)
    axes.invert_yaxis()
    for layer in range(layers):
        for head in range(heads):
            value = heat_map.effect[layer][head]
            mark = _mark(heat_map.within[layer][head], heat_map.p_value[layer][head])
            colour = "white" if abs(value) > 0.7 * LIMIT else "black"
            axes.text(
                head, layer, f"{value:.1f}{mark}", ha="center", va="center", color=colour,
                fontsize=8 if heads <= 8 else 6,
            )  # fmt: skip
    axes.set_xticks(range(heads), [str(head + 1) for head in range(heads)])
    axes.set_yticks(range(layers), [str(layer + 1) for layer in range(layers)])
    axes.set_xlabel("head")
    axes.set_ylabel("layer")
    axes.set_title(f"{heat_map.row}, {heat_map.column}", fontsize=9)
    return image


def _maps(results: Results, measure: str) -> list[HeatMap]:
    maps = []
    places = {(d["dataset"], d["direction"]) for d in results.analyses.values()}
    for document in results.analyses.values():
        row = f"{document['training']} {document['decoder']}"
        if results.config.evaluation.analysis.seeds == "all":
            row = f"{row} seed {document['seed']}"
        if len(places) > 1:
            row = f"{document['dataset']} {document['direction']} {row}"
        for analysed in document["passes"]:
            heads = analysed["heads"][measure]
            p_values = holm([p for layer in heads["p_value"] for p in layer])
            width = len(heads["effect"][0])
            corrected = [p_values[at : at + width] for at in range(0, len(p_values), width)]
            column = f"pass {analysed['pass']}"
            maps.append(HeatMap(row, column, heads["effect"], heads["within_effect"], corrected))
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
    return HeatMaps("self_attention_heads", title, _maps(results, "self_attention"))


def cross_attention_heads(results: Results) -> HeatMaps:
    """Total variation between the cross-attention of the two, by layer and head."""
    title = "Total variation between the two positions' cross-attention, by layer and head"
    return HeatMaps("cross_attention_heads", title, _maps(results, "total_variation"))
