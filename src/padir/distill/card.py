"""The provenance card of distilled targets: their teacher and their quality."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from padir.data.grammar import Grammar
from padir.files import InputError, count_aligned, iter_aligned, iter_lines, sha256_file, shown

# From hypotheses with their references to {"score", "signature"}.
Bleu = Callable[[Iterable[tuple[str, ...]]], dict[str, Any]]


def describe(
    teacher: str,
    row: str,
    train: tuple[Path, Path],
    valid: tuple[Path, Sequence[Path]],
    bleu: Bleu,
    grammar: tuple[Path, Path] | None = None,
) -> dict[str, Any]:
    """The card's content; files are read as streams.

    Empty lines, which training leaves out, are counted and enter no score.

    Args:
        teacher: name of the teacher.
        row: training and decoder, such as ar/beam; files for ready-made translations, cloud for
            bought ones.
        train: translations of the training sources, and the raw targets.
        valid: translations of the validation sources, and their references.
        bleu: corpus BLEU.
        grammar: grammar.json of synthetic data and the training sources, for the exact share of
            valid translations.

    Raises:
        InputError: files are not aligned, or have no translation.
    """
    lines = {"train": count_aligned(*train), "valid": count_aligned(valid[0], *valid[1])}
    empty = {}
    for split, path in (("train", train[0]), ("valid", valid[0])):
        if not lines[split]:
            raise InputError(f"{shown(path)}: is empty; at least one line is needed")
        empty[split] = empty_lines(path)
        if empty[split] == lines[split]:
            raise InputError(f"{shown(path)}: all lines are empty; a translation is needed")
    card: dict[str, Any] = {
        "teacher": teacher,
        "row": row,
        "lines": lines,
        "sha256": sha256_file(train[0]),
        "valid_sha256": sha256_file(valid[0]),
        "teacher_bleu": bleu(_translated(valid[0], *valid[1])),
        "agreement_with_raw": bleu(_translated(*train)),
        "empty": empty,
        "validity": None,
    }
    if grammar:
        rules, pairs = Grammar.load(grammar[0]), _translated(train[0], grammar[1])
        valid_targets = sum(rules.is_valid(source, target) for target, source in pairs)
        translated = lines["train"] - empty["train"]
        card["validity"] = {"share": valid_targets / translated, "sentences": translated}
    return card


def empty_lines(path: Path) -> int:
    """Number of lines without a translation. Raises InputError as `iter_lines` does."""
    return sum(not line.strip() for line in iter_lines(path))


def _translated(translations: Path, *others: Path) -> Iterator[tuple[str, ...]]:
    """Translations that are not empty, each with the other files' lines."""
    return (lines for lines in iter_aligned(translations, *others) if lines[0].strip())
