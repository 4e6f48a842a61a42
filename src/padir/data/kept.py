"""Says what cleaning keeps of a training text and what it drops, and writes nothing."""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

from jaxtyping import UInt8
from numpy import ndarray

from padir.config.data import Cleaning
from padir.data.clean import (
    KEPT,
    Rows,
    Side,
    aligned_rows,
    dropped_pairs,
    judge_pairs,
    line_mark,
)
from padir.data.distinct import Spill
from padir.data.parallel import BLOCK_LINES, line_blocks

NOTED_SHARE = 0.2
_DECIDED_BY = {
    "too_many_bytes": "max_bytes",
    "empty": "drop_empty",
    "too_short": "min_words",
    "too_long": "max_words",
    "ratio": "max_ratio",
    "overlap": "drop_overlap",
    "duplicate": "drop_duplicates",
}
"""Setting of cleaning by reason to drop a pair."""


@dataclass(frozen=True)
class KeptText:
    """A training text as cleaning leaves it.

    Attributes:
        sides: its two files.
        rows: their aligned blocks.
        reasons: code of the reason to drop each pair, or `KEPT`.
    """

    sides: list[Side]
    rows: list[Rows]
    reasons: UInt8[ndarray, " N"]

    @classmethod
    def of(
        cls,
        settings: Cleaning,
        train: Mapping[str, Path],
        scored: Mapping[str, Mapping[str, Path]] | None = None,
    ) -> "KeptText":
        """Judge the pairs of a text by the rules of `clean_sides`.

        Args:
            settings: rules of cleaning.
            train: file of each language.
            scored: such files of the validation and test splits; without them no pair overlaps.

        Raises:
            InputError: no text, unequal line counts, or no line.
        """
        sides = [Side.at(settings, path, path, language) for language, path in train.items()]
        known = {
            split: {
                line_mark(language, line)
                for language, path in files.items()
                for line in _lines(Side.at(settings, path, path, language))
                if line.strip()
            }
            for split, files in (scored or {}).items()
        }
        rows, spill = aligned_rows(sides), Spill(3, Path(tempfile.gettempdir()))
        reasons, _ = judge_pairs(settings, sides, rows, known, (spill, 0))
        return cls(sides, rows, reasons)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """The kept pairs, in order."""
        for row in self.rows:
            kept = self.reasons[row[0].first : row[0].first + row[0].lines] == KEPT
            texts = (side.read(block)[0] for side, block in zip(self.sides, row, strict=True))
            yield from compress(zip(*texts, strict=True), kept)

    @property
    def dropped(self) -> str | None:
        """What `most_dropped` says of the text."""
        return most_dropped(len(self.reasons), dropped_pairs(self.reasons))


def _lines(side: Side) -> Iterator[str]:
    for block in line_blocks(side.raw, BLOCK_LINES):
        yield from side.read(block)[0]


def most_dropped(read: int, dropped: Mapping[str, int]) -> str | None:
    """How many pairs each setting drops, where they are more than `NOTED_SHARE` of all.

    Args:
        read: pairs before cleaning.
        dropped: pairs by reason.
    """
    total = sum(dropped.values())
    if total <= NOTED_SHARE * read:
        return None
    listed = ", ".join(
        f"{reason} {pairs:,} (cleaning.{_DECIDED_BY[reason]})"
        for reason, pairs in dropped.items()
        if pairs
    )
    return f"{total:,} of {read:,} pairs: {listed}"
