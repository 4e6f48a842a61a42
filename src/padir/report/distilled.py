"""The table of distilled targets: who made them, and how good they are."""

from collections.abc import Iterator
from typing import Any

from padir.report.results import Results
from padir.report.tables import Cell, Column, Table
from padir.report.translation import PLACE, place


def distillation_table(results: Results) -> Table:
    """The provenance cards of distilled targets."""
    columns = (
        *PLACE,
        Column("teacher", "Targets"),
        Column("seed", "Seed"),
        Column("system", "Teacher"),
        Column("decode", "Decoding"),
        Column("lines", "Lines"),
        Column("teacher_bleu", "Teacher's BLEU", 2),
        Column("agreement", "BLEU against raw", 2),
        Column("validity", "Valid %", 1),
        Column("sha256", "SHA-256"),
    )
    rows: list[dict[str, Cell]] = []
    for dataset, direction, teacher, seed, card in results.cards:
        validity = _number(card.get("validity"), "share")
        rows.append(
            {
                **place((dataset, direction)),
                "teacher": teacher,
                "seed": seed,
                "system": card.get("teacher"),
                "decode": card.get("decode"),
                "lines": _count(card.get("lines")),
                "teacher_bleu": _number(card.get("teacher_bleu"), "score"),
                "agreement": _number(card.get("agreement_with_raw"), "score"),
                "validity": None if validity is None else 100 * validity,
                "sha256": (card.get("sha256") or "")[:12] or None,
            }
        )
    notes = (
        "Teacher's BLEU: on the validation references. BLEU against raw: the teacher's output on"
        " the training sources, scored against the original targets.",
        *_left_empty(results),
    )
    return Table("distillation", "Distilled targets", columns, rows, notes)


def _left_empty(results: Results) -> Iterator[str]:
    """A note on each teacher that left lines empty."""
    for dataset, direction, teacher, seed, card in results.cards:
        empty, lines = card.get("empty"), card.get("lines")
        if not isinstance(empty, dict) or not isinstance(lines, dict) or not any(empty.values()):
            continue
        counts = ", ".join(f"{empty[split]} of {lines[split]} ({split})" for split in empty)
        yield (
            f"{dataset} {direction}, {teacher}, seed {seed}: lines without a translation, such as"
            f" those too long for the teacher: {counts}. Lines counts them, the other columns and"
            " training leave them out."
        )


def _number(value: Any, key: str) -> float | None:
    number = value.get(key) if isinstance(value, dict) else value
    return None if number is None else float(number)


def _count(value: Any) -> int | None:
    return value.get("train") if isinstance(value, dict) else value
