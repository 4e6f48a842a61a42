"""Counts that describe one side of one split, gathered line by line."""

import hashlib
from collections import Counter
from itertools import pairwise
from typing import Any

# Languages written without spaces between words: lengths are in characters.
CHARACTER_LANGUAGES = ("zh",)
QUANTILES = (50, 90, 99)


def line_length(line: str, language: str) -> int:
    """Words of a line, or characters without spaces in a language written without them."""
    if language in CHARACTER_LANGUAGES:
        return sum(map(len, line.split()))
    return len(line.split())


def fingerprint(text: str) -> bytes:
    """16 bytes that stand for a text, so that sets of millions of lines fit into memory."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()


class SideStatistics:
    """Lengths, words and repetitions of the lines added so far."""

    def __init__(self, language: str):
        self._language = language
        self._lengths: Counter[int] = Counter()
        self._characters = 0
        self._empty = 0
        self._repeats = 0
        self._words: set[str] = set()
        self._lines: set[bytes] = set()

    def add(self, line: str) -> None:
        """Count one line."""
        words = line.split()
        by_character = self._language in CHARACTER_LANGUAGES
        self._lengths[sum(map(len, words)) if by_character else len(words)] += 1
        self._characters += len(line)
        self._empty += not words
        self._words.update(words)
        if by_character:
            words = list("".join(words))
        self._repeats += sum(left == right for left, right in pairwise(words))
        self._lines.add(fingerprint(line))

    def summary(self) -> dict[str, Any]:
        """The counts as JSON; lengths are in words, or in characters where those are the unit."""
        lines = self._lengths.total()
        total = sum(length * count for length, count in self._lengths.items())
        return {
            "lines": lines,
            "empty_lines": self._empty,
            "repeated_lines": lines - len(self._lines),
            "characters": self._characters,
            "length_unit": "characters" if self._language in CHARACTER_LANGUAGES else "words",
            "length_total": total,
            "length_mean": round(total / lines, 4) if lines else None,
            "length_quantiles": {f"p{q}": self._quantile(q, lines) for q in QUANTILES},
            "length_max": max(self._lengths, default=None),
            "lengths": {str(length): self._lengths[length] for length in sorted(self._lengths)},
            "distinct_words": len(self._words),
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
