"""Statistics of one side of one split, gathered block by block in bounded memory."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from padir.data.distinct import Spill, as_rows, distinct
from padir.languages import written_without_spaces

QUANTILES = (50, 90, 99)


def line_length(line: str, language: str) -> int:
    """Words of a line, or characters without spaces in a language written without them."""
    if written_without_spaces(language):
        return sum(map(len, line.split()))
    return len(line.split())


def fingerprint(text: str) -> bytes:
    """A digest of 16 bytes, to compare millions of lines."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()


@dataclass(frozen=True)
class SideCounts:
    """Statistics of some lines of one side.

    Attributes:
        lengths: number of lines of each length, in words or characters.
        words, lines: fingerprints of the distinct words and of all lines, 16 bytes each.
    """

    lengths: Counter[int]
    characters: int
    repeats: int
    words: bytes
    lines: bytes


def count_lines(lines: Sequence[str], language: str) -> SideCounts:
    """Count some lines of a side; units are words, or characters where those are the unit."""
    by_character = written_without_spaces(language)
    lengths: Counter[int] = Counter()
    words: set[str] = set()
    repeats = 0
    for line in lines:
        units = list("".join(line.split())) if by_character else line.split()
        lengths[len(units)] += 1
        words.update(units)
        repeats += sum(left == right for left, right in pairwise(units))
    return SideCounts(
        lengths=lengths,
        characters=sum(map(len, lines)),
        repeats=repeats,
        words=_fingerprints(words),
        lines=_fingerprints(lines),
    )


def _fingerprints(texts: Iterable[str]) -> bytes:
    return b"".join(map(fingerprint, texts))


class SideStatistics:
    """Lengths, words and repetitions of the lines added so far.

    Args:
        folder: for temporary files, which only large sides need.
    """

    def __init__(self, language: str, folder: Path):
        self._language = language
        self._lengths: Counter[int] = Counter()
        self._characters = self._repeats = 0
        self._words, self._lines = Spill(2, folder), Spill(2, folder)

    def add(self, counts: SideCounts) -> None:
        """Add the statistics of further lines."""
        self._lengths.update(counts.lengths)
        self._characters += counts.characters
        self._repeats += counts.repeats
        self._words.add(as_rows(counts.words))
        self._lines.add(as_rows(counts.lines))

    def summary(self) -> dict[str, Any]:
        """The counts as JSON; lengths are in words, or in characters where those are the unit."""
        lines = self._lengths.total()
        total = sum(length * count for length, count in self._lengths.items())
        lengths = {length: self._lengths[length] for length in sorted(+self._lengths)}
        return {
            "lines": lines,
            "empty_lines": self._lengths[0],
            "repeated_lines": lines - distinct(self._lines),
            "characters": self._characters,
            "length_unit": "characters" if written_without_spaces(self._language) else "words",
            "length_total": total,
            "length_mean": round(total / lines, 4) if lines else None,
            "length_quantiles": {f"p{q}": self._quantile(q, lines) for q in QUANTILES},
            "length_max": max(lengths, default=None),
            "lengths": {str(length): count for length, count in lengths.items()},
            "distinct_words": distinct(self._words),
            "equal_neighbours": self._repeats,
        }

    def _quantile(self, percent: int, lines: int) -> int | None:
        """The smallest length that at least `percent` of the lines do not exceed."""
        seen = 0
        for length in sorted(self._lengths):
            seen += self._lengths[length]
            if 100 * seen >= percent * lines:
                return length
        return None
