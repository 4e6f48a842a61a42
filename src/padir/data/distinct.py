"""Finds duplicates among very many fingerprints in bounded memory, by spilling to disk.

Fingerprints are split into parts by their first bits, through a temporary file if they are many;
equal ones meet in one small part.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Int64, UInt64

from padir.files import write_errors

PARTS = 256
BUFFER_ROWS = 1 << 18


class Spill:
    """Rows of unsigned 64-bit numbers on disk, partitioned by the top bits of the first column.

    Args:
        columns: numbers per row; the first two are a fingerprint.
        folder: folder of the unnamed temporary file, for more than `BUFFER_ROWS` rows.
    """

    def __init__(self, columns: int, folder: Path):
        self._columns, self._folder = columns, folder
        self._buffer: list[np.ndarray] = []
        self._rows = 0
        self._written = 0
        # Of each flush: the row in the file where each part begins, and the end of the last.
        self._bounds: list[np.ndarray] = []
        self._file = None

    def add(self, rows: UInt64[np.ndarray, "N C"]) -> None:
        """Add rows."""
        self._buffer.append(rows)
        self._rows += len(rows)
        if self._rows > BUFFER_ROWS:
            self._flush()

    def _flush(self) -> None:
        rows = np.concatenate(self._buffer)
        part = rows[:, 0] >> np.uint64(64 - PARTS.bit_length() + 1)
        order = np.argsort(part, kind="stable")
        bounds = np.searchsorted(part[order], np.arange(PARTS + 1, dtype=np.uint64))
        with write_errors(self._folder):
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - kept open
            self._file.write(rows[order].tobytes())
            self._file.flush()
        self._bounds.append(self._written + bounds)
        self._written += len(rows)
        self._buffer, self._rows = [], 0

    def parts(self) -> Iterator[UInt64[np.ndarray, "N C"]]:
        """All rows, equal fingerprints in one part; within a part in insertion order."""
        if self._file is None:
            if self._buffer:
                yield np.concatenate(self._buffer)
            return
        if self._buffer:
            self._flush()
        size = 8 * self._columns
        for part in range(PARTS):
            pieces = []
            for bounds in self._bounds:
                self._file.seek(int(bounds[part]) * size)
                pieces.append(self._file.read(int(bounds[part + 1] - bounds[part]) * size))
            if any(pieces):
                yield np.frombuffer(b"".join(pieces), np.uint64).reshape(-1, self._columns)


def as_rows(fingerprints: bytes) -> UInt64[np.ndarray, "N 2"]:
    """Concatenated fingerprints of 16 bytes each as rows of two numbers."""
    return np.frombuffer(fingerprints, np.uint64).reshape(-1, 2)


def distinct(spill: Spill) -> int:
    """Number of distinct fingerprints."""
    return sum(len(part) - int(_repeats(part)[1].sum()) for part in spill.parts())


def later_repeats(spill: Spill) -> Iterator[Int64[np.ndarray, " N"]]:
    """The third column of each row whose fingerprint occurred in a row added before."""
    for part in spill.parts():
        order, repeats = _repeats(part)
        yield part[order[repeats], 2].astype(np.int64)


def _repeats(part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order of the rows by fingerprint, and which rows equal the row before."""
    order = np.lexsort((part[:, 1], part[:, 0]))
    repeats = np.zeros(len(part), bool)
    repeats[1:] = (np.diff(part[order, 0]) == 0) & (np.diff(part[order, 1]) == 0)
    return order, repeats
