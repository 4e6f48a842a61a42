"""Processes at work on a ledger, each known by a lock that ends with it.

A process keeps one locked file beside the ledger. The file also reserves disk space, which is given
up when the disk is full so that paid translations can be written.
"""

import fcntl
import os
import secrets
from contextlib import ExitStack
from pathlib import Path

from padir.locks import try_lock

RESERVED_BYTES = 8 * 2**20
ANOTHER_LEDGER = "set `ledger` to a file on another one"


class Owner:
    """Lock file of this process beside a ledger, with disk space in reserve.

    Args:
        ledger: path of the ledger; its folder must exist.
        reserve: bytes of disk space kept for the ledger.

    Raises:
        OSError: the file cannot be written; where the disk is full, errno is ENOSPC.
        InputError: the file system has no locks.
    """

    def __init__(self, ledger: Path, reserve: int = RESERVED_BYTES):
        self.name = secrets.token_hex(8)
        self.path = _path(ledger, self.name)
        # Created under another name, so that a visible file is locked.
        hidden = self.path.with_name(f".{self.path.name}")
        self._descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with ExitStack() as undo:
            undo.callback(self.close)
            undo.callback(hidden.unlink, missing_ok=True)
            try_lock(self._descriptor, fcntl.LOCK_EX, ledger.parent, ANOTHER_LEDGER)
            hidden.rename(self.path)
            # Random bytes: zeros take no space where the file system compresses.
            written = 0
            while written < reserve:
                written += os.write(self._descriptor, os.urandom(min(2**20, reserve - written)))
            os.fsync(self._descriptor)
            undo.pop_all()

    def give_up_room(self) -> None:
        """Free the reserved bytes; the lock stays."""
        os.ftruncate(self._descriptor, 0)
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Remove the file and release its lock."""
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)


def _path(ledger: Path, name: str) -> Path:
    return ledger.with_name(f"{ledger.name}.owner-{name}")


def sweep(ledger: Path) -> None:
    """Remove the files of killed processes."""
    prefix = _path(ledger, "").name
    for path in ledger.parent.iterdir():
        if path.name.startswith(prefix):
            is_alive(ledger, path.name.removeprefix(prefix))


def is_alive_readonly(ledger: Path, name: str) -> bool:
    """Whether the named process is at work, without changing anything.

    A file that may not be opened counts as a process at work.
    """
    try:
        descriptor = os.open(_path(ledger, name), os.O_RDONLY)
    except FileNotFoundError:
        return False
    except PermissionError:
        return True
    try:
        # Shared, so that two that ask at the same moment do not see each other.
        return not try_lock(descriptor, fcntl.LOCK_SH, ledger.parent, ANOTHER_LEDGER)
    finally:
        os.close(descriptor)


def is_alive(ledger: Path, name: str) -> bool:
    """As `is_alive_readonly`; removes the file of a dead process, whose name no other one gets."""
    alive = is_alive_readonly(ledger, name)
    if not alive:
        _path(ledger, name).unlink(missing_ok=True)
    return alive
