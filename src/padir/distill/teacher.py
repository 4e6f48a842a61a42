"""Translates training sources with an AR teacher, in parts that survive a killed run.

Text is read as a stream, so memory does not depend on its size.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from padir.decode.translate import Translator
from padir.files import InputError, digest, iter_lines, sha256_file, shown, write_lines, write_text

PART_LINES = 2048


def parse_shard(text: str) -> tuple[int, int]:
    """Read "i/n", part i of n, counted from 1.

    Raises:
        InputError: it is not that.
    """
    shard, _, shards = text.partition("/")
    # Not more digits than Python turns into a number.
    whole = re.fullmatch(r"[0-9]{1,9}/[0-9]{1,9}", text)
    if not whole or not 1 <= int(shard) <= int(shards):
        raise InputError(f"shard {text[:40]!r}: i/n is needed, with i from 1 to n, such as 2/8")
    return int(shard), int(shards)


def shard_bounds(lines: int, shard: int, shards: int) -> tuple[int, int]:
    """First line of a shard and the line after its last, from 0."""
    return (shard - 1) * lines // shards, shard * lines // shards


@dataclass(frozen=True)
class Span:
    """Lines `start` to `end` - 1 of a text file, from 0, streamed each time they are read."""

    path: Path
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def lines(self) -> Iterator[str]:
        """The lines in order. Raises InputError as `iter_lines` does."""
        return islice(iter_lines(self.path), self.start, self.end)

    def parts(self) -> Iterator[tuple[int, list[str]]]:
        """Up to `PART_LINES` lines at a time, with the number of the first, from 0."""
        rest = self.lines()
        for first in range(0, len(self), PART_LINES):
            if part := list(islice(rest, PART_LINES)):
                yield first, part


def distill(
    translator: Translator,
    files: Mapping[Path, str],
    sources: Span,
    work: Path,
    report: Callable[[int], None],
) -> tuple[list[Path], int]:
    """Translate lines part by part; finished parts of a killed run are reused, damaged ones not.

    A line that is too long for the model gets an empty translation, which training leaves out.

    Args:
        translator: the teacher with its decoder.
        files: of the teacher, with the SHA-256 of what was loaded.
        sources: lines to translate.
        work: folder for the parts, made here and the caller's to remove. Parts of another teacher,
            rule or text have other names.
        report: called with the number of sentences just finished.

    Returns:
        Files that in order hold one translation per line, and the number of lines too long.

    Raises:
        InputError: the text changed meanwhile.
    """
    folder = work / _identity(translator, files)[:16]
    paths: list[Path] = []
    too_long = 0
    for first, lines in sources.parts():
        encoded = translator.encode(lines)
        part = [source if translator.reads(source) else [] for source in encoded]
        too_long += sum(not translator.reads(source) for source in encoded)
        path = _part(folder, first, lines)
        if _is_whole(path):
            report(len(lines))
        else:
            hypotheses = translator.finish(part, translator.candidates(part, report))
            write_lines(path, (translation.hypothesis for translation in hypotheses))
            # Last: a part without its checksum is not finished.
            write_text(_checksum(path), sha256_file(path) + "\n")
        paths.append(path)
    if paths != [_part(folder, *part) for part in sources.parts()]:
        raise InputError(
            f"{shown(sources.path)}: changed while it was translated: give the same command again;"
            " parts whose lines are the same are kept"
        )
    return paths, too_long


def _part(folder: Path, first: int, lines: list[str]) -> Path:
    """The file of a part, which is named by its text: the source may be edited meanwhile."""
    return folder / f"{first:09d}-{digest(lines)[:16]}.txt"


def _checksum(path: Path) -> Path:
    """The file that holds the checksum of a part."""
    return path.with_suffix(".sha256")


def _is_whole(path: Path) -> bool:
    """Whether a finished part is as it was written; damage is named on stderr."""
    checksum = _checksum(path)
    if not (path.exists() and checksum.exists()):
        return False
    if sha256_file(path) == checksum.read_bytes().decode("ascii", errors="replace").strip():
        return True
    print(
        f"{shown(path)}: damaged: its SHA-256 is not that of {checksum.name}; translated again",
        file=sys.stderr,
        flush=True,
    )
    return False


def _identity(translator: Translator, files: Mapping[Path, str]) -> str:
    """A digest of all but the text that the translations depend on."""
    return digest(
        {
            "files": list(files.values()),
            "decoder": translator.decoder.settings.model_dump(mode="json"),
            "passes": translator.decoding.passes,
            "rule": [translator.rule.alpha, translator.rule.weight],
        }
    )
