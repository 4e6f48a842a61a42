"""Encodes aligned text as token ids, block by block on all cores, in memory or on disk.

Ids take two bytes each (four for vocabularies past 65,536 pieces), offsets eight a line. Files on
disk have no names, so a killed process leaves nothing behind.
"""

import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np

from padir.data.batches import Pairs, Ragged, flat_rows
from padir.files import InputError, iter_lines, shown, why_not_written
from padir.vocab import Vocabulary

BLOCK_LINES = 20_000


def encode_pairs(
    vocabulary: Vocabulary, source: Path, target: Path, folder: Path | None = None, threads: int = 1
) -> Pairs:
    """Read and encode two aligned files.

    Args:
        vocabulary: of both languages.
        source, target: paths of the text.
        folder: folder of unnamed files with the ids, mapped into memory; None: in memory.
        threads: threads of SentencePiece; their number does not change the ids.

    Raises:
        InputError: the files differ in line count, or are empty; the disk is full.
    """
    sources = _encode(vocabulary, source, folder, threads)
    targets = _encode(vocabulary, target, folder, threads)
    if len(sources) != len(targets):
        raise InputError(
            f"{shown(source)} has {len(sources)} lines, {shown(target)} has {len(targets)}:"
            " they must be aligned line for line"
        )
    if not len(sources):
        raise InputError(f"{shown(source)}: is empty; at least one pair is needed")
    return Pairs(sources, targets)


def _encode(vocabulary: Vocabulary, path: Path, folder: Path | None, threads: int) -> Ragged:
    dtype = np.dtype(np.uint16 if vocabulary.size <= 1 << 16 else np.int32)
    blocks = _encoded_blocks(vocabulary, path, dtype, threads)
    if folder is None:
        offsets, values = zip((np.zeros(1, np.int64), np.zeros(0, dtype)), *blocks, strict=True)
        return Ragged(np.concatenate(offsets), np.concatenate(values))
    try:
        with (
            tempfile.TemporaryFile(dir=folder) as offsets_file,
            tempfile.TemporaryFile(dir=folder) as values_file,
        ):
            offsets_file.write(np.zeros(1, np.int64).tobytes())
            for offsets, values in blocks:
                offsets_file.write(offsets.tobytes())
                values_file.write(values.tobytes())
            return Ragged(_mapped(offsets_file, np.dtype(np.int64)), _mapped(values_file, dtype))
    except OSError as error:
        raise InputError(
            f"{shown(folder)}: cannot keep the encoded text: {why_not_written(folder, error)}"
        ) from error


def _encoded_blocks(
    vocabulary: Vocabulary, path: Path, dtype: np.dtype, threads: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each block of lines the end offset of each line, and the ids."""
    lines = iter_lines(path)
    end = 0
    while block := list(islice(lines, BLOCK_LINES)):
        offsets, values = flat_rows(vocabulary.encode(block, threads), dtype)
        yield offsets[1:] + end, values
        end += len(values)


def _mapped(file: IO[bytes], dtype: np.dtype) -> np.ndarray:
    """The file's numbers, read from disk as they are used."""
    file.flush()
    if not file.seek(0, 2):
        return np.zeros(0, dtype)
    return np.asarray(np.memmap(file, dtype, mode="r"))
