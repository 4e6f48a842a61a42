"""Translating training sources with a model of our own, in parts that survive a killed run."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from padir.decode.translate import Translator
from padir.files import InputError, digest, read_lines, sha256_file, write_lines

PART_LINES = 2048


def parse_shard(text: str) -> tuple[int, int]:
    """Read "i/n", part i of n, counted from 1.

    Raises:
        InputError: it is not that.
    """
    shard, slash, shards = text.partition("/")
    whole = shard.isascii() and shard.isdigit() and shards.isascii() and shards.isdigit()
    if not slash or not whole or not 1 <= int(shard) <= int(shards):
        raise InputError(f"shard {text!r}: i/n is needed, with i from 1 to n, such as 2/8")
    return int(shard), int(shards)


def shard_bounds(lines: int, shard: int, shards: int) -> tuple[int, int]:
    """First line of a shard and the line after its last, from 0; shards in order give all."""
    return (shard - 1) * lines // shards, shard * lines // shards


def distill(
    translator: Translator,
    lines: Sequence[str],
    name: str,
    work: Path,
    report: Callable[[int], None],
) -> list[str]:
    """Translate lines part by part; parts that a killed run left behind are not done again.

    Args:
        translator: the teacher with its decoding.
        lines: sources.
        name: of their file, for messages.
        work: folder for the parts, made and in the end removed. Parts of another teacher, rule or
            text are never taken: they stand under another name.
        report: called with the number of sentences just finished.

    Returns:
        one translation per line.
    """
    identity = digest(
        {
            "files": [sha256_file(path) for path in translator.files],
            "decoding": translator.decoding.name,
            "rule": [translator.rule.alpha, translator.rule.weight],
            "lines": list(lines),
            "part_lines": PART_LINES,
        }
    )
    folder = work / identity[:16]
    sources = translator.encode(lines)
    translator.check_lengths(sources, name)
    found: list[str] = []
    for start in range(0, len(lines), PART_LINES):
        part = sources[start : start + PART_LINES]
        path = folder / f"{start:09d}.txt"
        if path.exists():
            translations = read_lines(path)
            report(len(part))
        else:
            hypotheses = translator.finish(part, translator.candidates(part, report))
            translations = [one.hypothesis for one in hypotheses]
            write_lines(path, translations)
        if len(translations) != len(part):
            raise InputError(f"{path}: {len(translations)} lines instead of {len(part)}; delete it")
        found += translations
    shutil.rmtree(work, ignore_errors=True)
    return found
