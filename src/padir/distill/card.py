"""The provenance card of distilled targets: who made them, and how good they are."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from padir.data.grammar import Grammar
from padir.files import InputError, count_aligned, iter_aligned, iter_lines, sha256_file, shown

Bleu = Callable[[Iterable[tuple[str, ...]]], dict[str, Any]]
"""Each hypothesis with its references, to {"score", "signature"}."""


def describe(
    teacher: str,
    decode: str,
    train: tuple[Path, Path],
    valid: tuple[Path, Sequence[Path]],
    bleu: Bleu,
    grammar: tuple[Path, Path] | None = None,
) -> dict[str, Any]:
    """The card's content; files are read as streams, so that their size does not matter.

    Empty lines, which training leaves out, are counted; everything else is of the others alone.

    Args:
        teacher: its name.
        decode: greedy or beam; files for ready-made translations, cloud for bought ones.
        train: translations of the training sources, and the raw targets.
        valid: translations of the validation sources, and their references.
        bleu: corpus BLEU.
        grammar: of synthetic data, and the training sources: the share of valid translations is
            then exact.

    Raises:
        InputError: files that should be aligned are not, or have no translation.
    """
    lines = {"train": count_aligned(*train), "valid": count_aligned(valid[0], *valid[1])}
    for count, path in zip(lines.values(), (train[0], valid[0]), strict=True):
        if not count:
            raise InputError(f"{shown(path)}: is empty; at least one line is needed")
    empty = {"train": empty_lines(train[0]), "valid": empty_lines(valid[0])}
    for split, path in (("train", train[0]), ("valid", valid[0])):
        if empty[split] == lines[split]:
            raise InputError(f"{shown(path)}: has empty lines alone; a translation is needed")
    card: dict[str, Any] = {
        "teacher": teacher,
        "decode": decode,
        "lines": lines,
        "sha256": sha256_file(train[0]),
        "valid_sha256": sha256_file(valid[0]),
        "teacher_bleu": bleu(_translated(valid[0], *valid[1])),
        "agreement_with_raw": bleu(_translated(*train)),
        "empty": empty,
        "validity": None,
    }
    if grammar:
        rules = Grammar.load(grammar[0])
        pairs = _translated(train[0], grammar[1])
        right = sum(rules.is_valid(source, target) for target, source in pairs)
        translated = lines["train"] - empty["train"]
        card["validity"] = {"share": right / translated, "sentences": translated}
    return card


def empty_lines(path: Path) -> int:
    """How many lines hold no translation. Raises InputError as `iter_lines` does."""
    return sum(not line.strip() for line in iter_lines(path))


def _translated(translations: Path, *others: Path) -> Iterator[tuple[str, ...]]:
    """Translations that are not empty, each with the other files' lines."""
    return (found for found in iter_aligned(translations, *others) if found[0].strip())
