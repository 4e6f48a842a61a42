"""Tables of the data: results of cleaning, and quality of distilled targets."""

from collections.abc import Iterator, Mapping
from typing import Any

from padir.report.columns import PLACE, percent
from padir.report.results import Results
from padir.report.tables import Cell, Column, Table


def data_table(results: Results) -> Table:
    """Pairs that cleaning kept and dropped, by split."""
    columns = (
        Column("dataset", "Dataset"),
        Column("pair", "Pair"),
        Column("split", "Split"),
        Column("read", "Pairs read"),
        Column("kept", "Kept"),
        Column("dropped", "Dropped, by reason"),
        Column("lengths", "Mean length"),
    )
    rows = [
        {
            "dataset": dataset,
            "pair": pair,
            "split": split,
            "read": counts["pairs_read"],
            "kept": counts["pairs_kept"],
            # Only training pairs are ever dropped.
            "dropped": _dropped(counts.get("dropped", {})),
            "lengths": "; ".join(
                f"{side['file']} {side['length_mean']:.1f} {side['length_unit']}"
                for side in counts["files"]
            ),
        }
        for (dataset, pair), statistics in results.statistics.items()
        for split, counts in statistics["splits"].items()
    ]
    notes = ("Digests, length histograms and line numbers: statistics.json of each dataset.",)
    return Table("data", "Data", columns, rows, notes)


def _dropped(reasons: Mapping[str, Any]) -> str:
    counts = {name.replace("_", " "): reason["pairs"] for name, reason in reasons.items()}
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "none"


def distillation_table(results: Results) -> Table:
    """The provenance cards of distilled targets."""
    columns = (
        *PLACE,
        Column("teacher", "Targets"),
        Column("seed", "Seed"),
        Column("system", "Teacher"),
        Column("row", "Row"),
        Column("lines", "Lines"),
        Column("teacher_bleu", "Teacher's BLEU", 2),
        Column("agreement", "BLEU against raw", 2),
        Column("validity", "Valid %", 1),
        Column("sha256", "SHA-256"),
    )
    rows: list[dict[str, Cell]] = [
        {
            **place._asdict(),
            "teacher": teacher,
            "seed": seed,
            "system": card["teacher"],
            "row": card["row"],
            "lines": card["lines"]["train"],
            "teacher_bleu": card["teacher_bleu"]["score"],
            "agreement": card["agreement_with_raw"]["score"],
            "validity": percent(card["validity"] and card["validity"]["share"]),
            "sha256": card["sha256"][:12],
        }
        for (place, teacher, seed), card in results.cards.items()
    ]
    notes = (
        "Teacher's BLEU: on the validation references. BLEU against raw: the teacher's output on"
        " the training sources, scored against the raw targets.",
        *_extra_sources(results),
        *_empty_lines(results),
    )
    return Table("distillation", "Distilled targets", columns, rows, notes)


def _extra_sources(results: Results) -> Iterator[str]:
    """A note on each teacher that translated monolingual text too."""
    for (place, teacher, seed), card in results.cards.items():
        extra, lines = card.get("extra_sources"), card["lines"]
        if extra is None:
            continue
        reasons = {reason: {"pairs": count} for reason, count in extra["dropped"].items()}
        yield (
            f"{' '.join(place)}, {teacher}, seed {seed}: of {lines['train']:,} lines"
            f" {lines['train'] - extra['lines']:,} translate the training sources and"
            f" {extra['lines']:,} monolingual text in {extra['language']} ({extra['file']},"
            f" dropped in cleaning: {_dropped(reasons)}; SHA-256 {extra['sha256'][:12]})."
        )


def _empty_lines(results: Results) -> Iterator[str]:
    """A note on each teacher that left lines empty."""
    for (place, teacher, seed), card in results.cards.items():
        empty, lines, splits = card["empty"], card["lines"], ("train", "valid")
        if not any(empty[split] for split in splits):
            continue
        counts = ", ".join(f"{empty[split]} of {lines[split]} ({split})" for split in splits)
        yield (
            f"{' '.join(place)}, {teacher}, seed {seed}: lines without a translation, such as"
            f" those too long for the teacher: {counts}. Lines counts them, the other columns and"
            " training leave them out."
        )
