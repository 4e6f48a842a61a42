"""The claims as a table and as files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from padir.files import write_json, write_text
from padir.report.claims import NOT_REPRODUCED, NOT_RUN, REPRODUCED, plain
from padir.report.tables import Column, Table


def claims_table(records: Sequence[Mapping[str, Any]]) -> Table:
    """The claims as a table."""
    columns = (
        Column("id", "Claim"),
        Column("section", "Section"),
        Column("statement", "What the paper says"),
        Column("paper", "Paper"),
        Column("dataset", "Dataset"),
        Column("measured", "Measured"),
        Column("interval", "95% interval"),
        Column("seeds", "Seeds"),
        Column("verdict", "Verdict"),
        Column("how", "Test, or command to run"),
    )
    rows = []
    for record in records:
        how = record["test_says"]
        if record["verdict"] == NOT_RUN:
            command = record["command"]
            wanted = "nothing computes this yet" if command is None else f"run: {command}"
            how = wanted if how is None else f"{how} {wanted[0].upper()}{wanted[1:]}"
        row = {column.key: record.get(column.key) for column in columns}
        ends, seeds = record["interval"], record["seeds"]
        row |= {
            "interval": None if ends is None else _interval_text(ends),
            "seeds": ", ".join(map(str, seeds)) or None,
            "how": how,
        }
        rows.append({key: v if v is None else str(v) for key, v in row.items()})
    notes = (
        "A verdict comes from the test named, never from a person. Intervals are 95%, over"
        " sentences unless the test says otherwise; \"not reproduced\" is meant at this scale.",
    )  # fmt: skip
    return Table("claims", "Claims of the paper", columns, rows, notes)


def _interval_text(ends: Any) -> str:
    if isinstance(ends, list) and len(ends) == 2:
        return f"[{ends[0]:.3g}, {ends[1]:.3g}]"
    return plain(ends)


def counts(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many records have each verdict."""
    return {
        verdict: sum(record["verdict"] == verdict for record in records)
        for verdict in (REPRODUCED, NOT_REPRODUCED, NOT_RUN)
    }


def write_claims(records: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """Write claims.json and claims.md."""
    summary = ", ".join(f"{number} {verdict}" for verdict, number in counts(records).items())
    text = f"# Claims\n\n{summary}.\n\n{claims_table(records).markdown()}"
    write_json(folder / "claims.json", list(records))
    write_text(folder / "claims.md", text)
    return [folder / "claims.json", folder / "claims.md"]
