"""Splits text files into blocks of lines and processes these in parallel, in order."""

import io
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np

from padir.files import InputError, decode_lines, reading, shown

BLOCK_LINES = 10_000
_CHUNK = 1 << 22
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Block:
    """Consecutive lines of a file: `lines` from number `first`, from 0, in bytes start to stop."""

    first: int
    lines: int
    start: int
    stop: int


def line_blocks(path: Path, lines: int) -> list[Block]:
    """Cut a file into blocks of `lines` lines each, in one fast pass; the last may be shorter.

    Raises:
        InputError: the file cannot be read.
    """
    bounds, count, position, last = [0], 0, 0, b""
    with reading(path) as file:
        while chunk := file.read(_CHUNK):
            ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == ord("\n"))
            whole = ends[lines - 1 - count % lines :: lines]
            bounds += (position + 1 + whole).tolist()
            count, position, last = count + len(ends), position + len(chunk), chunk[-1:]
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
    with reading(path) as file:
        file.seek(block.start)
        content = file.read(block.stop - block.start)
    return list(decode_lines(io.BytesIO(content), shown(path), block.first + 1))


def ordered(function: Callable[[T], R], items: Iterable[T], workers: int) -> Iterator[R]:
    """Yield `function(item)` in the order of the items, in memory that does not grow with them.

    Args:
        function: picklable: of a module's top level, or a partial of such a function.
        items: small picklable values, such as positions in a file.
        workers: processes; 1 works in this process.

    Raises:
        InputError: a process died, or what `function` raises.
    """
    if workers <= 1:
        yield from map(function, items)
        return
    # Forking a process that has threads (JAX, TensorFlow) may hang.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        pending: deque[Future[R]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > 2 * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool as error:
            raise InputError(
                "a worker process died, perhaps for want of memory; use fewer --threads"
            ) from error
        finally:
            # Not one by one: Python 3.11.2 waits for ever for a cancelled future that it had not
            # handed out.
            pool.shutdown(cancel_futures=True)
