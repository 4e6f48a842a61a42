"""Cleaning of parallel text: drops pairs, counts them by reason, and gathers statistics.

A training pair is dropped for the first reason that holds, in the order of `REASONS`. Validation
and test sets stay whole, so that scores on them stay comparable. In every file a carriage return
at a line's end and a byte order mark (U+FEFF) at its start are removed and counted.

Files spell Romanian s and t with a mark below in two ways: with a comma, the standard, or with a
cedilla, from older encodings. For models and BLEU these are different words, so `write_letters`
writes them in one style, decomposed letters too. Turkish names in Romanian text change as well.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import compress, count
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, UInt8, UInt64

from padir.config.data import Cleaning
from padir.data.distinct import Spill, as_rows, later_repeats
from padir.data.parallel import BLOCK_LINES, Block, line_blocks, ordered, read_block
from padir.data.statistics import SideCounts, SideStatistics, count_lines, fingerprint, line_length
from padir.data.text import text_name
from padir.files import InputError, atomic_path, sha256_file, shown
from padir.languages import base_language
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
KEPT = 0
_CODES = {reason: code for code, reason in enumerate(REASONS, start=1)}
# Processes pay from this many blocks on.
_BLOCKS_PER_WORKER = 4
LETTERS = {"comma": "ȘșȚț", "cedilla": "ŞşŢţ"}
_SPELLINGS = {
    spelling: index
    for index, base in enumerate("SsTt")
    for spelling in (f"{base}\u0326", f"{base}\u0327", *(s[index] for s in LETTERS.values()))
}
_ANY_SPELLING = re.compile("|".join(_SPELLINGS))

# The same lines of all files of a split.
Rows = tuple[Block, ...]


def write_letters(line: str, style: str) -> str:
    """Write Romanian s and t with a mark below in one style, comma or cedilla, composed."""
    return _ANY_SPELLING.sub(lambda match: LETTERS[style][_SPELLINGS[match[0]]], line)


@dataclass(frozen=True)
class Side:
    """A file to clean: its paths, language and style of Romanian letters."""

    raw: Path
    out: Path
    name: str
    language: str
    letters: str | None

    @classmethod
    def of(
        cls, settings: Cleaning, raw: Path, out: Path, split: str, language: str, reference: int = 0
    ) -> "Side":
        """The file of one side of a split."""
        name = text_name(split, language, reference)
        return cls.at(settings, raw / name, out / name, language)

    @classmethod
    def at(cls, settings: Cleaning, raw: Path, out: Path, language: str) -> "Side":
        """The file `raw`, to be written to `out`."""
        letters = settings.romanian_letters if base_language(language) == "ro" else None
        return cls(raw, out, out.name, language, letters)

    def read(self, block: Block) -> tuple[list[str], tuple[int, int, int]]:
        """The cleaned lines of a block, and how many lost a CR, lost U+FEFF, have other letters."""
        lines, carriage_returns, byte_order_marks, letters_changed = [], 0, 0, 0
        for line in read_block(self.raw, block):
            ended = line.removesuffix("\r")
            # It may become the first line, and a file must not begin with a byte order mark.
            begun = ended.lstrip("\ufeff")
            written = begun if self.letters is None else write_letters(begun, self.letters)
            carriage_returns += ended != line
            byte_order_marks += begun != ended
            letters_changed += written != begun
            lines.append(written)
        return lines, (carriage_returns, byte_order_marks, letters_changed)


@dataclass(frozen=True)
class SideBlock:
    """The kept lines of one side of a block as bytes, their counts, and the changes in reading."""

    text: bytes
    counts: SideCounts
    changed: tuple[int, int, int]


@dataclass(frozen=True)
class Judgement:
    """Which pairs of a block are kept, before duplicates in other blocks are known.

    Attributes:
        reasons: code of the reason to drop a pair, or `KEPT`.
        overlap: numbers of pairs that share a side with each scored split.
        marks: fingerprints of the pairs kept so far, in order.
    """

    reasons: UInt8[np.ndarray, " N"]
    overlap: dict[str, int]
    marks: UInt64[np.ndarray, "K 2"]


def aligned_rows(sides: Sequence[Side]) -> list[Rows]:
    """Aligned blocks of all sides; InputError for unequal line counts or no line."""
    blocks = [line_blocks(side.raw, BLOCK_LINES) for side in sides]
    counts = [sum(block.lines for block in side_blocks) for side_blocks in blocks]
    if len(set(counts)) > 1:
        files = zip(sides, counts, strict=True)
        listed = ", ".join(f"{shown(side.raw)} has {lines}" for side, lines in files)
        raise InputError(f"line counts differ: {listed}")
    if not counts[0]:
        raise InputError(f"{shown(sides[0].raw)}: empty: there is no sentence in it")
    return list(zip(*blocks, strict=True))


def _keep(
    sides: Sequence[Side], rows_and_kept: tuple[Rows, Bool[np.ndarray, " N"]]
) -> list[SideBlock]:
    """The kept lines of a block, for each side."""
    rows, kept = rows_and_kept
    sides_of_block = []
    for side, block in zip(sides, rows, strict=True):
        read, changed = side.read(block)
        lines = list(compress(read, kept))
        content = "".join(f"{line}\n" for line in lines).encode("utf-8")
        sides_of_block.append(SideBlock(content, count_lines(lines, side.language), changed))
    return sides_of_block


def _write(
    sides: Sequence[Side],
    blocks: Iterable[list[SideBlock]],
    out: Path,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Write the sides' files together; return the statistics and digest of each."""
    statistics = [SideStatistics(side.language, out) for side in sides]
    changed = np.zeros((len(sides), 3), np.int64)
    with ExitStack() as stack:
        files = [
            stack.enter_context(stack.enter_context(atomic_path(side.out)).open("wb"))
            for side in sides
        ]
        for block in blocks:
            for index, kept in enumerate(block):
                files[index].write(kept.text)
                statistics[index].add(kept.counts)
                changed[index] += kept.changed
            if progress is not None:
                progress.update(block[0].counts.lengths.total())
    return [
        {
            "file": side.name,
            "sha256": sha256_file(side.out),
            "carriage_returns_removed": int(counts[0]),
            **({"byte_order_marks_removed": int(counts[1])} if counts[1] else {}),
            **({} if side.letters is None else {"romanian_lines_changed": int(counts[2])}),
            **side_statistics.summary(),
        }
        for side, side_statistics, counts in zip(sides, statistics, changed, strict=True)
    ]


def line_mark(language: str, line: str) -> bytes:
    """Fingerprint by which lines of one language are found in validation and test sets."""
    return fingerprint(f"{language} {line}")


def _over_bytes(line: str, limit: int) -> bool:
    # A character takes 1 to 4 bytes, so most lines need no encoding.
    return len(line) > limit or (4 * len(line) > limit and len(line.encode("utf-8")) > limit)


def clean_scored(
    settings: Cleaning, pair: str, split: str, raw: Path, out: Path
) -> tuple[dict[str, Any], set[bytes]]:
    """Check and copy a validation or test split with all its references.

    Returns:
        Its statistics, and fingerprints of all lines, each prefixed by its language.

    Raises:
        InputError: unequal line counts, no lines, or a line over `max_bytes`.
    """
    sides = []
    for language in pair.split("-"):
        for reference in count():
            side = Side.of(settings, raw, out, split, language, reference)
            if reference and not side.raw.exists():
                break
            sides.append(side)
    rows = aligned_rows(sides)
    seen: set[bytes] = set()
    for row in rows:
        for side, block in zip(sides, row, strict=True):
            for number, line in enumerate(side.read(block)[0], start=block.first + 1):
                if _over_bytes(line, settings.max_bytes):
                    raise InputError(
                        f"{shown(side.raw)}: line {number}: {len(line.encode('utf-8'))} bytes;"
                        f" at most {settings.max_bytes} are allowed (cleaning.max_bytes), and"
                        f" no line of the {split} split may be dropped"
                    )
                if line.strip():
                    seen.add(line_mark(side.language, line))
    out.mkdir(parents=True, exist_ok=True)
    blocks = (_keep(sides, (row, np.ones(row[0].lines, bool))) for row in rows)
    files = _write(sides, blocks, out)
    lines = files[0]["lines"]
    return {"pairs_read": lines, "pairs_kept": lines, "files": files}, seen


def clean_sides(
    settings: Cleaning,
    sides: Sequence[Side],
    scored: dict[str, set[bytes]],
    workers: int = 1,
    earlier: tuple[Spill, int] | None = None,
) -> dict[str, Any]:
    """Write the lines of one or two aligned files that are kept, in order.

    Two passes in one byte of memory per pair: the first judges each pair alone and finds duplicates
    by their fingerprints, the second writes.

    Args:
        settings: rules of cleaning.
        sides: the files; one of them is monolingual text, whose lines count as pairs.
        scored: fingerprints of the validation and test lines, by split.
        workers: processes; their number does not change the output.
        earlier: fingerprints of so many lines, numbered from 0, that occurred before.

    Raises:
        InputError: unequal line counts, or no pair is left.
    """
    rows, label = aligned_rows(sides), sides[0].name.partition(".")[0]
    out = sides[0].out.parent
    total = sum(row[0].lines for row in rows)
    workers = min(workers, len(rows) // _BLOCKS_PER_WORKER)
    out.mkdir(parents=True, exist_ok=True)
    with Progress(total, "pairs", f"clean {label}: judge") as progress:
        reasons, overlap = judge_pairs(
            settings, sides, rows, scored, earlier or (Spill(3, out), 0), workers, progress
        )
    kept = reasons == KEPT
    pairs_kept = int(kept.sum())
    if not pairs_kept:
        raise InputError(f"{label}: cleaning leaves no pair at all")
    masks = (kept[row[0].first : row[0].first + row[0].lines] for row in rows)
    blocks = ordered(partial(_keep, sides), zip(rows, masks, strict=True), workers)
    with Progress(pairs_kept, "pairs", f"clean {label}: write") as progress:
        files = _write(sides, blocks, out, progress)
    return {
        "pairs_read": total,
        "pairs_kept": pairs_kept,
        "dropped": {
            reason: {
                "pairs": count,
                "first_lines": (np.flatnonzero(reasons == _CODES[reason])[:EXAMPLES] + 1).tolist(),
            }
            for reason, count in dropped_pairs(reasons).items()
        },
        "pairs_sharing_a_side_with": overlap,
        "files": files,
    }


def judge_pairs(
    settings: Cleaning,
    sides: Sequence[Side],
    rows: Sequence[Rows],
    scored: dict[str, set[bytes]],
    earlier: tuple[Spill, int],
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[UInt8[np.ndarray, " N"], dict[str, int]]:
    """Decide for each pair whether it is kept, in one byte of memory per pair.

    Args:
        settings, sides, scored, workers: as in `clean_sides`.
        rows: of `aligned_rows`.
        earlier: as in `clean_sides`; further fingerprints are added.

    Returns:
        Code of the reason to drop each pair, or `KEPT`; pairs that share a side with each split.
    """
    reasons = np.zeros(sum(row[0].lines for row in rows), np.uint8)
    overlap = dict.fromkeys(scored, 0)
    spill, known = earlier
    judge = partial(_judge, settings, sides, scored)
    for (block, *_), judgement in zip(rows, ordered(judge, rows, workers), strict=True):
        reasons[block.first : block.first + block.lines] = judgement.reasons
        for split, shared in judgement.overlap.items():
            overlap[split] += shared
        numbers = known + block.first + np.flatnonzero(judgement.reasons == KEPT)
        if settings.drop_duplicates:
            spill.add(np.column_stack([judgement.marks, numbers.astype(np.uint64)]))
        if progress is not None:
            progress.update(block.lines)
    for repeated in later_repeats(spill):
        reasons[repeated[repeated >= known] - known] = _CODES["duplicate"]
    return reasons, overlap


def dropped_pairs(reasons: UInt8[np.ndarray, " N"]) -> dict[str, int]:
    """Number of pairs that each reason costs."""
    return {reason: int((reasons == code).sum()) for reason, code in _CODES.items()}


def _judge(
    settings: Cleaning, sides: Sequence[Side], scored: dict[str, set[bytes]], rows: Rows
) -> Judgement:
    """Decide for each pair of a block whether it is kept, without looking at other blocks."""
    texts = [side.read(block)[0] for side, block in zip(sides, rows, strict=True)]
    reasons = np.zeros(rows[0].lines, np.uint8)
    overlap = dict.fromkeys(scored, 0)
    marks = []
    for index, lines in enumerate(zip(*texts, strict=True)):
        reason = _reason(settings, sides, lines, scored, overlap)
        if reason is not None:
            reasons[index] = _CODES[reason]
        elif settings.drop_duplicates:
            marks.append(fingerprint("\n".join(lines)))
    return Judgement(reasons, overlap, as_rows(b"".join(marks)))


def _reason(
    settings: Cleaning,
    sides: Sequence[Side],
    lines: tuple[str, ...],
    scored: dict[str, set[bytes]],
    overlap: dict[str, int],
) -> str | None:
    """Why a pair is dropped regardless of other pairs, or None; counts overlap."""
    marks = {line_mark(side.language, line) for line, side in zip(lines, sides, strict=True)}
    sharing = [split for split, known in scored.items() if not marks.isdisjoint(known)]
    for split in sharing:
        overlap[split] += 1
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
    return "overlap" if sharing and settings.drop_overlap else None


def clean(settings: Cleaning, pair: str, raw: Path, out: Path, workers: int = 1) -> dict[str, Any]:
    """Clean the three splits of a language pair from folder `raw` into folder `out`.

    Args:
        workers: processes for the training text; their number does not change the output.

    Returns:
        The contents of statistics.json, but for checksums of references.

    Raises:
        InputError: as in `clean_scored` and `clean_sides`.
    """
    test, test_lines = clean_scored(settings, pair, "test", raw, out)
    valid, valid_lines = clean_scored(settings, pair, "valid", raw, out)
    scored = {"valid": valid_lines, "test": test_lines}
    sides = [Side.of(settings, raw, out, "train", language) for language in pair.split("-")]
    train = clean_sides(settings, sides, scored, workers)
    return {
        "pair": pair,
        "cleaning": settings.model_dump(mode="json"),
        "lines_shared_by_valid_and_test": len(valid_lines & test_lines),
        "splits": {"train": train, "valid": valid, "test": test},
    }
