"""Turns errors of disk and Orbax, on writing and reading checkpoints, into one line each.

Records of a work folder carry a checksum of their own content.
"""

import errno
import hashlib
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from padir.checksums import CHECKSUM
from padir.files import InputError, digest, read_json, shown, write_errors

# Bytes of a checkpoint beside its arrays.
OVERHEAD = 1 << 20
RESTART = "`padir train --restart` starts over"


class DamagedRecord(InputError):
    """A record of a work folder that is not as it was written."""


class FullDisk:
    """Refuse a save that does not fit on the disk; a save that fails for lack of room is removed.

    Orbax and its storage raise ValueError and others for it, with the system's words inside.

    Args:
        checkpoint: folder of the checkpoint.
        size: bytes of its arrays.

    Raises:
        InputError: the disk is full, or the quota used up.
    """

    def __init__(self, checkpoint: Path, size: int):
        self.checkpoint, self.size = checkpoint, size

    def __enter__(self) -> None:
        place = next(path for path in self.checkpoint.parents if path.exists())
        if shutil.disk_usage(place).free < self.size + OVERHEAD:
            with write_errors(self.checkpoint, self.size + OVERHEAD):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        # Orbax logs each failure of its threads with a stack before it raises one of them.
        self._logger = logging.getLogger("absl")
        self._level = self._logger.level
        self._logger.setLevel(logging.CRITICAL)

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        self._logger.setLevel(self._level)
        numbers = (errno.ENOSPC, errno.EDQUOT)
        number = next((n for n in numbers if os.strerror(n) in str(error)), None)
        if number is None:
            return
        # The checkpoint, and the folder with a suffix in which Orbax begins it.
        for path in self.checkpoint.parent.glob("*"):
            if path.name.split(".")[0] == self.checkpoint.name:
                shutil.rmtree(path, ignore_errors=True)
        with write_errors(self.checkpoint, self.size):
            raise OSError(number, os.strerror(number)) from error


class RestoreFailure:
    """Catch what Orbax raises for files that it did not write or that are damaged.

    For an array that was cut short it raises `Exception` itself, of which nothing else is caught.
    """

    reason = ""

    def __enter__(self) -> "RestoreFailure":
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> bool:
        if isinstance(error, InputError) or error is None:
            return False
        self.reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        return kind is Exception or isinstance(error, ValueError | KeyError | TypeError | OSError)


@contextmanager
def reading_now(path: Path) -> Iterator[None]:
    """Turn a failed read into one line; nothing is moved or deleted for it."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{shown(error.filename or path)}: cannot be read now: {error.strerror or error};"
            " nothing was changed, run the command again"
        ) from error


def sha256_now(path: Path) -> str:
    """SHA-256 of a file.

    Raises:
        FileNotFoundError, NotADirectoryError: it does not exist.
        InputError: it cannot be read now.
    """
    with reading_now(path):
        try:
            with open(path, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except (FileNotFoundError, NotADirectoryError) as error:
            missing = error
    raise missing


def read_record(path: Path) -> dict[str, Any]:
    """Read a record that `padir.checksums.write_with_checksum` wrote, without its checksum.

    Raises:
        DamagedRecord: it is not as it was written.
        InputError: its file cannot be read now.
    """
    try:
        record = read_json(path)
    except InputError as error:
        if isinstance(error.__cause__, OSError):
            raise
        record = None
    # Unlike settings that a user may write by hand, it is damaged without a checksum.
    if isinstance(record, dict) and record.pop(CHECKSUM, None) == digest(record):
        return record
    raise DamagedRecord(f"{shown(path)}: damaged; run the command again; {RESTART}")
