"""The provenance card of distilled targets: their teacher and their quality."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from padir.checksums import read_with_checksum, rerun_remedy
from padir.data.grammar import Grammar
from padir.files import (
    InputError,
    count_aligned,
    iter_aligned,
    iter_lines,
    sha256_file,
    shown,
)

AGREEMENT_LINES = 100_000
"""Training lines that are compared with the raw targets, at most."""
# From hypotheses with their references to {"score", "signature"}.
Bleu = Callable[[Iterable[tuple[str, ...]]], dict[str, Any]]


def describe(
    teacher: str,
    row: str,
    train: tuple[Path, Path],
    valid: tuple[Path, Sequence[Path]],
    bleu: Bleu,
    grammar: tuple[Path, Path] | None = None,
    extra: Path | None = None,
) -> dict[str, Any]:
    """The card's content; files are read as streams.

    Empty lines, which training leaves out, are counted and enter no score. The agreement with raw
    targets is that of every n-th line, such that about `AGREEMENT_LINES` are compared; the card
    says n.

    Args:
        teacher: name of the teacher.
        row: training and decoder, such as ar/beam; files for ready-made translations, cloud for
            bought ones.
        train: translations of the training sources, of extra sources behind them, and the raw
            targets, which extra sources have none of.
        valid: translations of the validation sources, and their references.
        bleu: corpus BLEU.
        grammar: grammar.json of synthetic data and the training sources, for the exact share of
            valid translations.
        extra: statistics of the extra sources.

    Raises:
        InputError: files are not aligned, or have no translation.
    """
    behind = None if extra is None else _extra_sources(extra)
    raw, translated = count_aligned(train[1]), count_aligned(train[0])
    added = behind["lines"] if behind else 0
    if translated != raw + added:
        raise InputError(
            f"line counts differ: {shown(train[0])} has {translated}, {shown(train[1])} has {raw}"
            + (f" and {shown(extra)} says {added}" if extra else "")
        )
    lines = {"train": translated, "valid": count_aligned(valid[0], *valid[1])}
    empty = {}
    for split, path in (("train", train[0]), ("valid", valid[0])):
        if not lines[split]:
            raise InputError(f"{shown(path)}: is empty; at least one line is needed")
        empty[split] = empty_lines(path)
        if empty[split] == lines[split]:
            raise InputError(f"{shown(path)}: all lines are empty; a translation is needed")
    every = max(1, -(-raw // AGREEMENT_LINES))
    compared = _with_raw(*train, every)
    first = next(compared, None)
    if first is None:
        raise InputError(
            f"{shown(train[0])}: of the lines compared with raw targets none has a translation"
        )
    card: dict[str, Any] = {
        "teacher": teacher,
        "row": row,
        "lines": lines,
        "sha256": sha256_file(train[0]),
        "valid_sha256": sha256_file(valid[0]),
        "teacher_bleu": bleu(_translated(valid[0], *valid[1])),
        "agreement_with_raw": {**bleu(chain([first], compared)), "every_line": every},
        "empty": empty,
        "extra_sources": behind,
        "validity": None,
    }
    if grammar:
        rules, pairs = Grammar.load(grammar[0]), _translated(train[0], grammar[1])
        valid_targets = sum(rules.is_valid(source, target) for target, source in pairs)
        translated = lines["train"] - empty["train"]
        card["validity"] = {"share": valid_targets / translated, "sentences": translated}
    return card


def _extra_sources(path: Path) -> dict[str, Any]:
    """What a card says of extra sources: language, file, lines that stayed and were dropped."""
    statistics = read_with_checksum(path, rerun_remedy(path))
    try:
        dropped = {reason: counts["pairs"] for reason, counts in statistics["dropped"].items()}
        return {
            "language": statistics["language"],
            "file": statistics["file"],
            "lines": int(statistics["pairs_kept"]),
            "dropped": {reason: count for reason, count in dropped.items() if count},
            "sha256": statistics["files"][0]["sha256"],
        }
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{shown(path)}: not the statistics of padir extra-sources") from error


def empty_lines(path: Path) -> int:
    """Number of lines without a translation. Raises InputError as `iter_lines` does."""
    return sum(not line.strip() for line in iter_lines(path))


def _with_raw(translations: Path, raw: Path, every: int) -> Iterator[tuple[str, str]]:
    """Every n-th translation, where it is not empty, with its raw target; extra sources have
    none."""
    aligned = islice(zip(iter_lines(translations), iter_lines(raw), strict=False), 0, None, every)
    return (lines for lines in aligned if lines[0].strip())


def _translated(translations: Path, *others: Path) -> Iterator[tuple[str, ...]]:
    """Translations that are not empty, each with the other files' lines."""
    return (lines for lines in iter_aligned(translations, *others) if lines[0].strip())
