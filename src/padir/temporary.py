"""Temporary files and folders, whose names say which path they are for and which process made them.

The next process that writes the same path removes what killed processes of its machine left.
"""

import hashlib
import os
import platform
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TEMPORARY = ".padir"
"""How names of temporary files begin."""


def temporary_path(path: Path) -> Path:
    """A new name for a temporary file or folder beside a path."""
    name = f"{_prefix(path)}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    return path.parent / name


def remove_stale(path: Path) -> None:
    """Remove what killed processes of this machine left for a path."""
    for stale in path.parent.glob(f"{_prefix(path)}-*.tmp"):
        if not is_running(int(stale.name.split("-")[2])):
            _remove(stale)


def remove_temporary(folder: str | os.PathLike[str]) -> None:
    """Remove what killed processes left in a folder that no other process writes into.

    `remove_stale` does so for the one path that is written, which may never be written again.
    """
    for stale in Path(folder).rglob(f"{TEMPORARY}-*.tmp"):
        _remove(stale)


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder beside a path; the folder is removed when the block ends."""
    folder = temporary_path(path)
    folder.mkdir(parents=True)
    remove_stale(path)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _prefix(path: Path) -> str:
    owner = hashlib.sha256(f"{platform.node()}/{path.name}".encode(errors="surrogateescape"))
    return f"{TEMPORARY}-{owner.hexdigest()[:12]}"


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def is_running(process: int) -> bool:
    """Whether a process of this machine lives, by its number; it may be another user's."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
