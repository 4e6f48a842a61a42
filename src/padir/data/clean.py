"""Cleaning: which training pairs are dropped and why, counted; what is left, described.

A pair is dropped for the first reason that holds, in the order of `REASONS`. Validation and test
sets stay whole, as scores on them must stay comparable. In every file one carriage return at a
line's end is removed and counted, so that text saved with "\\r\\n" reads as meant.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from padir.config.data import Cleaning
from padir.data.statistics import SideStatistics, fingerprint, line_length
from padir.data.text import text_name
from padir.files import InputError, atomic_path, iter_lines, sha256_file, shown
from padir.progress import Progress

REASONS = {
    "too_many_bytes": "a side is longer than max_bytes",
    "empty": "a side is empty or blank",
    "too_short": "a side has fewer than min_words",
    "too_long": "a side has more than max_words",
    "ratio": "the lengths differ by more than max_ratio",
    "overlap": "a side stands in the validation or test split",
    "duplicate": "the same pair occurred before",
}
EXAMPLES = 5
_PROGRESS_LINES = 10_000


@dataclass
class Dropped:
    """How many pairs one reason cost, and the first line numbers, from 1, in the raw files."""

    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        """Count one dropped pair."""
        self.count += 1
        if len(self.lines) < EXAMPLES:
            self.lines.append(line)


class Side:
    """One file being cleaned: read from raw, stripped of carriage returns, described, written."""

    def __init__(self, raw: Path, out: Path, split: str, language: str, reference: int = 0):
        self.name = text_name(split, language, reference)
        self.source, self.target = raw / self.name, out / self.name
        self.language = language
        self.statistics = SideStatistics(language)
        self.carriage_returns = 0

    def lines(self) -> Iterator[str]:
        """The raw lines without a final carriage return each."""
        for line in iter_lines(self.source):
            if line.endswith("\r"):
                self.carriage_returns += 1
                line = line[:-1]
            yield line

    def summary(self) -> dict[str, Any]:
        """Statistics and digest of what was written."""
        return {
            "file": self.name,
            "sha256": sha256_file(self.target),
            "carriage_returns_removed": self.carriage_returns,
            **self.statistics.summary(),
        }


def _aligned(sides: list[Side]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line number from 1 and the lines of all sides; InputError where one side ends early."""
    number = 0
    for number, lines in enumerate(zip_longest(*(side.lines() for side in sides)), start=1):
        if None in lines:
            counts = [sum(1 for _ in iter_lines(side.source)) for side in sides]
            found = ", ".join(
                f"{shown(side.source)} has {count}"
                for side, count in zip(sides, counts, strict=True)
            )
            raise InputError(f"line counts differ: {found}")
        yield number, lines
    if not number:
        raise InputError(f"{shown(sides[0].source)}: empty: there is no sentence in it")


def _write_pairs(
    sides: list[Side], pairs: Iterable[tuple[int, tuple[str, ...]]], label: str
) -> int:
    """Write the sides' files together, describe their lines, and return how many there are."""
    kept = 0
    with ExitStack() as stack:
        files = [
            stack.enter_context(
                stack.enter_context(atomic_path(side.target)).open(
                    "w", encoding="utf-8", newline="\n"
                )
            )
            for side in sides
        ]
        for _, lines in pairs:
            kept += 1
            for side, file, line in zip(sides, files, lines, strict=True):
                side.statistics.add(line)
                file.write(line + "\n")
        if not kept:
            raise InputError(f"{label}: cleaning leaves no pair at all")
    return kept


def _over_bytes(line: str, limit: int) -> bool:
    # A character takes 1 to 4 bytes, so most lines need no encoding.
    return len(line) > limit or (4 * len(line) > limit and len(line.encode("utf-8")) > limit)


def clean_scored(
    settings: Cleaning, pair: str, split: str, raw: Path, out: Path
) -> tuple[dict[str, Any], set[bytes]]:
    """Check and copy a validation or test split with all its references.

    Returns:
        Its statistics, and fingerprints of all its sides' lines, each prefixed by its language.

    Raises:
        InputError: unequal line counts, no lines, or a line over `max_bytes`.
    """
    sides = []
    for language in pair.split("-"):
        sides.append(Side(raw, out, split, language))
        while (raw / text_name(split, language, reference := len(_of(sides, language)))).exists():
            sides.append(Side(raw, out, split, language, reference))
    seen: set[bytes] = set()

    def checked() -> Iterator[tuple[int, tuple[str, ...]]]:
        for number, lines in _aligned(sides):
            for side, line in zip(sides, lines, strict=True):
                if _over_bytes(line, settings.max_bytes):
                    raise InputError(
                        f"{shown(side.source)}: line {number}: {len(line.encode('utf-8'))} bytes;"
                        f" at most {settings.max_bytes} are allowed (cleaning.max_bytes), and"
                        f" no line of the {split} split may be dropped"
                    )
                if line.strip():
                    seen.add(fingerprint(f"{side.language} {line}"))
            yield number, lines

    kept = _write_pairs(sides, checked(), split)
    return {
        "pairs_read": kept,
        "pairs_kept": kept,
        "files": [side.summary() for side in sides],
    }, seen


def _of(sides: list[Side], language: str) -> list[Side]:
    return [side for side in sides if side.language == language]


def clean_training(
    settings: Cleaning, pair: str, raw: Path, out: Path, scored: dict[str, set[bytes]]
) -> dict[str, Any]:
    """Write the training pairs that stay, in their order.

    Args:
        scored: fingerprints of the validation and test lines, by split.

    Raises:
        InputError: unequal line counts, or no pair is left.
    """
    sides = [Side(raw, out, "train", language) for language in pair.split("-")]
    total = sum(1 for _ in iter_lines(sides[0].source))
    dropped = {reason: Dropped() for reason in REASONS}
    overlap = dict.fromkeys(scored, 0)
    seen: set[bytes] = set()
    read = 0

    def kept() -> Iterator[tuple[int, tuple[str, ...]]]:
        nonlocal read
        with Progress(max(total, 1), "pairs", "clean train") as progress:
            for read, lines in _aligned(sides):
                if read % _PROGRESS_LINES == 0:
                    progress.update(_PROGRESS_LINES)
                reason = _reason(settings, sides, lines, scored, overlap, seen)
                if reason is None:
                    yield read, lines
                else:
                    dropped[reason].add(read)
            progress.update(read % _PROGRESS_LINES)

    count = _write_pairs(sides, kept(), "train")
    return {
        "pairs_read": read,
        "pairs_kept": count,
        "dropped": {
            reason: {"pairs": found.count, "first_lines": found.lines}
            for reason, found in dropped.items()
        },
        "pairs_sharing_a_side_with": overlap,
        "files": [side.summary() for side in sides],
    }


def _reason(
    settings: Cleaning,
    sides: list[Side],
    lines: tuple[str, ...],
    scored: dict[str, set[bytes]],
    overlap: dict[str, int],
    seen: set[bytes],
) -> str | None:
    """Why a pair is dropped, None where it stays; counts overlap, remembers pairs in `seen`."""
    if any(_over_bytes(line, settings.max_bytes) for line in lines):
        return "too_many_bytes"
    lengths = [line_length(line, side.language) for line, side in zip(lines, sides, strict=True)]
    shortest, longest = min(lengths), max(lengths)
    if settings.drop_empty and not shortest:
        return "empty"
    if shortest < settings.min_words:
        return "too_short"
    if longest > settings.max_words:
        return "too_long"
    # An empty side that is to stay has no ratio.
    if shortest and longest > settings.max_ratio * shortest:
        return "ratio"
    marks = {
        fingerprint(f"{side.language} {line}") for line, side in zip(lines, sides, strict=True)
    }
    shared = False
    for split, known in scored.items():
        if not marks.isdisjoint(known):
            overlap[split] += 1
            shared = True
    if shared and settings.drop_overlap:
        return "overlap"
    if settings.drop_duplicates:
        mark = fingerprint("\n".join(lines))
        if mark in seen:
            return "duplicate"
        seen.add(mark)
    return None


def clean(settings: Cleaning, pair: str, raw: Path, out: Path) -> dict[str, Any]:
    """Clean the three splits of a language pair from folder `raw` into folder `out`.

    Returns:
        The contents of statistics.json.

    Raises:
        InputError: as in `clean_scored` and `clean_training`.
    """
    test, test_lines = clean_scored(settings, pair, "test", raw, out)
    valid, valid_lines = clean_scored(settings, pair, "valid", raw, out)
    train = clean_training(settings, pair, raw, out, {"valid": valid_lines, "test": test_lines})
    return {
        "pair": pair,
        "cleaning": settings.model_dump(mode="json"),
        "lines_shared_by_valid_and_test": len(valid_lines & test_lines),
        "splits": {"train": train, "valid": valid, "test": test},
    }
