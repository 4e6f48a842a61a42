"""The whole report, written to a folder."""

from collections.abc import Callable, Mapping
from pathlib import Path

from padir.files import write_text
from padir.report.claims import decide, write_claims
from padir.report.figures import all_figures
from padir.report.page import page
from padir.report.results import Results, load_results
from padir.report.tables import Table
from padir.report.translation import (
    data_table,
    distillation_table,
    latency_table,
    stutter_table,
    table1,
)

__all__ = ["TABLES", "load_results", "write_report"]

TABLES: Mapping[str, Callable[[Results], Table]] = {
    "table1": table1,
    "stutter": stutter_table,
    "latency": latency_table,
    "distillation": distillation_table,
    "data": data_table,
}


def write_report(results: Results, folder: Path) -> Path:
    """Write tables/, figures/, claims.json, claims.md and, last, index.html; return its path."""
    tables = {name: make(results) for name, make in TABLES.items()}
    figures = all_figures(results)
    for table in tables.values():
        table.write(folder / "tables")
    for figure in figures:
        figure.write(folder / "figures")
    records = decide(results)
    write_claims(records, folder)
    path = folder / "index.html"
    write_text(path, page(results, tables, figures, records))
    return path
