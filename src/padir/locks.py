"""File locks that end with their process, for work folders and runs of Snakemake.

A lock is `flock` on a file, so the system releases it when the process dies. The file names the
holder's host and process, for messages.
"""

import errno
import fcntl
import json
import os
import platform
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from padir.files import InputError, shown
from padir.provenance import is_whole
from padir.temporary import is_running

WAIT_SECONDS = 0.5
CLOCK_SECONDS = 60.0
"""By which clocks of several hosts may differ."""
RUNS = "padir.runs"
ATTEMPTS = 10
"""Trials of what other processes make fail for a moment."""
MOMENT_SECONDS = 0.02
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
ANOTHER_FOLDER = "choose a folder on another one (of a workflow: snakemake --directory FOLDER)"


class Lock:
    """An exclusive lock on a file, which stays when the lock is released; a context manager.

    Args:
        path: of the file; its folder is made if it is missing.
        what: the holder and what it uses, for messages: "another trainer is using this folder".
        wait: whether to wait for a holder to end, after a line on stderr, instead of failing.

    Attributes:
        waited: whether another process held the lock.

    Raises:
        InputError: another process holds the lock, or the file system has no locks.
    """

    def __init__(self, path: Path, what: str, wait: bool = False):
        self.waited = False
        what = f"{shown(path.parent)}: {what}"
        # Again where the last holder has removed the file.
        while not self._opened(path, what, wait):
            self._file.close()
        # On a full disk the lock holds without its holder's name.
        with suppress(OSError):
            self._file.truncate(0)
            self._file.write(json.dumps({"host": platform.node(), "process": os.getpid()}) + "\n")
            self._file.flush()

    def _opened(self, path: Path, what: str, wait: bool) -> bool:
        """Lock the file; whether it still stands at its path."""
        self._file = _open(path)
        try:
            while not try_lock(self._file.fileno(), fcntl.LOCK_EX, path.parent):
                holder = f"{what}{self._holder()}"
                if not wait:
                    raise InputError(f"{holder}; wait for it, or stop it")
                if not self.waited:
                    print(f"{holder}; waiting for it to end", file=sys.stderr, flush=True)
                self.waited = True
                time.sleep(WAIT_SECONDS)
        except InputError:
            self._file.close()
            raise
        try:
            return os.path.samestat(path.stat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return False

    def _holder(self) -> str:
        """The holder's process and host, where the file tells."""
        self._file.seek(0)
        try:
            holder = json.loads(self._file.read())
            return f" (process {holder['process']} on {holder['host']})"
        except (ValueError, KeyError, TypeError):
            return ""

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """The descriptor; a child that inherits it holds the lock too, as long as it lives."""
        return self._file.fileno()

    def close(self) -> None:
        """Release the lock."""
        with suppress(OSError):
            self._file.close()


class Run:
    """A run of Snakemake in a folder, known to later runs by a lock that ends with its process.

    Snakemake's own locks are plain files, which a killed run leaves behind. A run that starts where
    no other one is at work removes them. Runs on other hosts cannot be told from dead ones on every
    file system, so their locks stay, with a line on stderr.

    Args:
        state: Snakemake's folder, `.snakemake`; made if missing.

    Raises:
        InputError: the file system has no locks.
    """

    def __init__(self, state: Path):
        state.mkdir(parents=True, exist_ok=True)
        # A damaged name of a host is one more name.
        self._file = open(state / RUNS, "a+", encoding="utf-8", errors="replace")  # noqa: SIM115
        here = platform.node()
        # Again, as `run_is_alive` holds the lock for a moment.
        for _ in range(ATTEMPTS):
            self._alone = try_lock(self._file.fileno(), fcntl.LOCK_EX, state)
            if self._alone:
                break
            time.sleep(MOMENT_SECONDS)
        if self._alone:
            self._file.seek(0)
            elsewhere = {*self._file.read().split()} - {here}
            locks = sorted((state / "locks").glob("*.lock"))
            if locks and elsewhere:
                self._alone = False
                print(
                    f"{shown(state)}: locked by a run on {', '.join(sorted(elsewhere))}; once that"
                    " has ended, add --unlock to this command, then run it again",
                    file=sys.stderr,
                )
            else:
                self._forget(locks)
        # Shared: runs with targets of their own may work in one folder.
        fcntl.flock(self._file, fcntl.LOCK_SH)
        self._file.write(f"{here}\n")
        self._file.flush()

    def settle_dates(self, results: Path) -> None:
        """Date files of the future to now, with a line on stderr: where the clock was wrong for a
        while, no output is newer than such an input, which Snakemake refuses.

        Args:
            results: folder of the results.
        """
        now = time.time()
        future = []
        for path in sorted(results.rglob("*")):
            # A job that outlived a killed run may take files away meanwhile.
            with suppress(FileNotFoundError):
                if path.lstat().st_mtime > now + CLOCK_SECONDS and not path.is_symlink():
                    os.utime(path, (now, now))
                    future.append(path)
        if future:
            print(
                f"{len(future)} file(s) were dated after the system's clock, first"
                f" {shown(future[0])}: dated to now, so that what depends on them can be made",
                file=sys.stderr,
            )

    def finish_removals(self, results: Path) -> None:
        """Remove what killed runs left of raw text, with a line on stderr.

        Once the text is cleaned, Snakemake removes it file by file. What a kill leaves of it
        counts as all of it, newer than the cleaned text: cleaning would fail at every start.

        Args:
            results: folder of the results.
        """
        # Another run may be fetching.
        if not self._alone:
            return
        for folder in sorted(results.glob("data/*/*/raw")):
            if not is_whole(folder):
                # What a killed run's job still writes here fails, and is fetched again.
                shutil.rmtree(folder, ignore_errors=True)
                print(
                    f"{shown(folder)}: a killed run had left a part of it; removed", file=sys.stderr
                )

    def _forget(self, locks: list[Path]) -> None:
        for path in locks:
            path.unlink(missing_ok=True)
        self._file.truncate(0)
        if locks:
            print("a killed run had left its lock here; this one goes on", file=sys.stderr)


def other_host(path: Path) -> str | None:
    """The host that a `Lock` file names, if it is not this one: its processes cannot be seen."""
    try:
        host = json.loads(path.read_text())["host"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(host) if host != platform.node() else None


def holder_is_alive(path: Path) -> bool:
    """Whether the process that a `Lock` file names lives, on this machine.

    It looks without locking: a trainer that starts meanwhile must not find the lock taken.
    """
    try:
        holder = json.loads(path.read_text())
        return holder["host"] == platform.node() and is_running(int(holder["process"]))
    except PermissionError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False


def run_is_alive(state: Path) -> bool:
    """Whether a `Run` is at work in this folder."""
    try:
        with open(state / RUNS) as file:
            return not try_lock(file.fileno(), fcntl.LOCK_EX, state)
    except (OSError, InputError):
        return False


def _open(path: Path, attempts: int = ATTEMPTS) -> TextIO:
    """Open a file, made with its folder; again where another process removes that meanwhile."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "a+", encoding="utf-8")
    # FileExistsError: there when `mkdir` made it, gone when it looked what was there.
    except (FileNotFoundError, FileExistsError):
        if attempts == 1:
            raise
    return _open(path, attempts - 1)


def try_lock(descriptor: int, kind: int, folder: Path, remedy: str = ANOTHER_FOLDER) -> bool:
    """Lock an open file with `fcntl.LOCK_EX` or `LOCK_SH`; False where another process has it.

    Raises:
        InputError: the file system has no locks; with the file's folder and what to do.
    """
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        raise InputError(
            f"{shown(folder.absolute())}: this file system has no locks (flock):"
            f" {error.strerror}; {remedy}"
        ) from error
    return True
