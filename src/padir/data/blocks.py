"""A text file in blocks of lines, found in one fast pass and read by whoever works on them."""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from padir.files import InputError, decode_lines, shown

BLOCK_LINES = 10_000
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Block:
    """Consecutive lines of a file.

    Attributes:
        first: number of the first line, from 0.
        lines: how many.
        start, stop: the block's bytes in the file.
    """

    first: int
    lines: int
    start: int
    stop: int


def line_blocks(path: Path, lines: int) -> list[Block]:
    """Cut a file into blocks of `lines` lines each; the last one may be shorter.

    Lines end at "\\n" only, and the last line needs none.

    Raises:
        InputError: the file cannot be read.
    """
    bounds, count, position, last = [0], 0, 0, b""
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == ord("\n"))
                whole = ends[lines - 1 - count % lines :: lines]
                bounds += (position + 1 + whole).tolist()
                count, position, last = count + len(ends), position + len(chunk), chunk[-1:]
    except OSError as error:
        raise InputError(f"{shown(path)}: cannot read: {error.strerror}") from error
    count += last not in (b"", b"\n")
    if bounds[-1] < position:
        bounds.append(position)
    return [
        Block(lines * i, min(lines, count - lines * i), bounds[i], bounds[i + 1])
        for i in range(len(bounds) - 1)
    ]


def read_block(path: Path, block: Block) -> list[str]:
    """The lines of a block.

    Raises:
        InputError: as in `padir.files.iter_lines`, with the line's number in the file.
    """
    try:
        with path.open("rb") as file:
            file.seek(block.start)
            content = file.read(block.stop - block.start)
    except OSError as error:
        raise InputError(f"{shown(path)}: cannot read: {error.strerror}") from error
    return list(decode_lines(io.BytesIO(content), shown(path), block.first + 1))
