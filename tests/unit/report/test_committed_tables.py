"""Tables of docs/results have the titles and columns that the report gives them today."""

import re

import pytest

from padir.config.read import load_config
from padir.report.catalogue import CATALOGUE
from padir.report.results import Results
from tests.documents import ROOT

FOLDER = ROOT / "docs/results"
TABLES = {part.name: part for part in CATALOGUE if part.kind == "table"}
# Such as table1.md, and table1_large.md of another recipe. A page begins with its heading.
COMMITTED = sorted(
    path
    for path in FOLDER.glob("*/*.md")
    if {path.stem, path.stem.rpartition("_")[0]} & TABLES.keys()
    and path.read_text(encoding="utf-8").startswith("**")
)


@pytest.fixture(scope="module")
def config():
    return load_config([ROOT / "config/config.yaml"])


def cells(line: str) -> list[str]:
    """Cells of a line of a Markdown table."""
    return [cell.strip().replace("\\", "") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_committed_tables_are_there():
    names = {path.relative_to(FOLDER).as_posix() for path in COMMITTED}
    assert {"demo/table2.md", "multi30k/table1.md", "multi30k/stutter_large.md"} <= names


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_committed_table_has_the_columns_of_today(path, config):
    part = TABLES.get(path.stem) or TABLES[path.stem.rpartition("_")[0]]
    table = part.make(Results(config))
    title, _, headings, _, first, *_ = path.read_text(encoding="utf-8").splitlines()
    assert title.startswith(f"**{table.title}")
    shown, today = cells(headings), [column.heading for column in table.columns]
    assert [name for name in shown if name not in today] == []
    # In order, without columns that have no value.
    rest = iter(today)
    assert all(name in rest for name in shown), (shown, today)
    assert len(cells(first)) == len(shown)
