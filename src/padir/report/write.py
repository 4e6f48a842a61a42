"""The whole report, written to a folder."""

from collections.abc import Callable, Mapping
from pathlib import Path

from padir.files import write_text
from padir.report.ablations import ablations_table
from padir.report.claims import decide
from padir.report.claims_table import write_claims
from padir.report.dependency import dependency_table, table4, table5
from padir.report.dependency_decoding import dependency_decoding_table, redundancy_table
from padir.report.distilled import distillation_table
from padir.report.figures import (
    Figure,
    quality_latency,
    quality_passes,
    stutter_passes,
    training_curve,
    training_time,
)
from padir.report.further_scores import table3
from padir.report.heat_maps import HeatMaps, cross_attention_heads, self_attention_heads
from padir.report.page import page
from padir.report.results import Results, load_results
from padir.report.samplers import samplers_table
from padir.report.systems import table2
from padir.report.tables import Table
from padir.report.translation import (
    data_table,
    latency_table,
    stutter_table,
    table1,
)

__all__ = ["FIGURES", "HEAT_MAPS", "TABLES", "load_results", "write_page", "write_report"]

TABLES: Mapping[str, Callable[[Results], Table]] = {
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "ablations": ablations_table,
    "samplers": samplers_table,
    "dependency_decoding": dependency_decoding_table,
    "redundancy": redundancy_table,
    "stutter": stutter_table,
    "latency": latency_table,
    "distillation": distillation_table,
    "data": data_table,
    "table4": table4,
    "table5": table5,
    "dependency": dependency_table,
}

FIGURES: Mapping[str, Callable[[Results], Figure]] = {
    "quality_passes": quality_passes,
    "quality_latency": quality_latency,
    "stutter_passes": stutter_passes,
    "training": training_curve,
    "training_time": training_time,
}


HEAT_MAPS: Mapping[str, Callable[[Results], HeatMaps]] = {
    "self_attention_heads": self_attention_heads,
    "cross_attention_heads": cross_attention_heads,
}


def write_page(results: Results, folder: Path) -> Path:
    """Write index.html, which holds everything; return its path."""
    tables = {name: make(results) for name, make in TABLES.items()}
    figures = [make(results) for make in FIGURES.values()]
    maps = [make(results) for make in HEAT_MAPS.values()]
    path = folder / "index.html"
    write_text(path, page(results, tables, figures, maps, decide(results)))
    return path


def write_report(results: Results, folder: Path) -> Path:
    """Write tables/, figures/, claims.json, claims.md and, last, index.html; return its path."""
    for make in TABLES.values():
        make(results).write(folder / "tables")
    for draw in (*FIGURES.values(), *HEAT_MAPS.values()):
        draw(results).write(folder / "figures")
    write_claims(decide(results), folder)
    return write_page(results, folder)
