"""Read-only access to the ledger of paid translations; `padir.distill.ledger` writes it."""

import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from padir.config.teacher import CloudTeacher
from padir.distill.owners import is_alive_readonly
from padir.files import InputError, shown

PROVIDER = "cloud-translation-v3"
TEST_PROVIDER = "loopback"
APPLICATION_ID = 0x50416452  # "PAdR": what tells a ledger from any other SQLite file.
VERSION = 1
TABLES = {"tasks", "requests", "translations", "sums", "checksums", "reservations"}
BUSY_SECONDS = 60.0
QUERY_DIGESTS = 10_000
DIGEST_BYTES = 32

Reader = TypeVar("Reader", bound="LedgerReader")


def checksum(digest: bytes, text: bytes) -> bytes:
    """Checksum of a translation, 8 bytes, over the source's digest and the UTF-8 text."""
    return hashlib.blake2b(digest + text, digest_size=8).digest()


# In the table of checksums a task has this in place of a text's digest.
TASK_KEY = b"task"


def task_checksum(task: "Task") -> bytes:
    """Eight bytes that a task is checked by."""
    return checksum(TASK_KEY, "\0".join(task).encode())


def split_digests(joined: bytes) -> list[bytes]:
    """Split digests that the ledger stores in one value."""
    return [joined[i : i + DIGEST_BYTES] for i in range(0, len(joined), DIGEST_BYTES)]


class Task(NamedTuple):
    """What a translation depends on besides the source text; languages are ISO 639 codes."""

    provider: str
    model: str
    source: str
    target: str

    @classmethod
    def of(cls, teacher: CloudTeacher, source: str, target: str) -> "Task":
        """A teacher's task in a direction; a test server is a provider of its own."""
        return cls(TEST_PROVIDER if teacher.endpoint else PROVIDER, teacher.model, source, target)


class Spending(NamedTuple):
    """Amounts that a provider may have billed: total dollars; doubtful characters and dollars."""

    usd: float
    doubt_characters: int
    doubt_usd: float


class DiskFull(InputError):
    """Raised when the disk is too full to write the ledger."""


class LedgerReader:
    """A ledger open for reading; neither the file nor its folder changes.

    A context manager, thread-safe.

    Args:
        path: of the file, which must exist.

    Raises:
        InputError: damaged, no ledger, of another version, or left by a killed process in the
            middle of a write.
    """

    def __init__(self, path: Path):
        self._connect(path, "ro")
        with ExitStack() as undo:
            undo.callback(self._db.close)
            with self._input_errors():
                self._check_kind()
                self._check_rows()
            undo.pop_all()

    def _connect(self, path: Path, mode: str) -> None:
        """Open the file in one of SQLite's modes: ro, or rwc for a file that may be made."""
        self.path = path
        self._lock = threading.RLock()
        with self._input_errors():
            self._db = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )

    def _check_kind(self) -> None:
        """Refuse what is no ledger, or one of another version."""
        if self._db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise InputError(f"{shown(self.path)}: a SQLite file, but no ledger of padir's")
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            raise InputError(
                f"{shown(self.path)}: a ledger of version {version}; this padir reads {VERSION}"
            )
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master")}
        if missing := TABLES - tables:
            raise self._damaged(f"table {min(missing)} is missing")

    def _check_rows(self) -> None:
        """Refuse damage by which a line would be bought again, or spending be forgotten."""
        # Of the indices too, which quick_check leaves out.
        for table in ("tasks", "requests"):
            finding = self._db.execute(f"PRAGMA integrity_check({table})").fetchone()[0]
            if finding != "ok":
                raise self._damaged(finding)
        query = "SELECT task, checksum FROM checksums WHERE digest = ?"
        expected = dict(self._db.execute(query, (TASK_KEY,)).fetchall())
        rows = self._db.execute("SELECT * FROM tasks").fetchall()
        tasks = {number: Task(*task) for number, *task in rows}
        if missing := expected.keys() - tasks:
            raise self._damaged(f"task {min(missing)} is missing")
        for number, task in tasks.items():
            if expected.get(number) != task_checksum(task):
                raise self._damaged(f"task {number} is not as it was written")
        counted = (
            "SELECT task, state, usd_per_million, sum(characters) AS characters FROM requests"
            " GROUP BY task, state, usd_per_million"
        )
        summed = "SELECT task, state, usd_per_million, characters FROM sums"
        for left, right in ((counted, summed), (summed, counted)):
            query = f"SELECT * FROM ({left}) WHERE characters <> 0 EXCEPT {right}"
            if self._db.execute(query).fetchone():
                raise self._damaged("requests and their sums differ")

    def __enter__(self: "Reader") -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def find_task(self, task: Task) -> int | None:
        """The number of a task; None where nothing was ever sent for it."""
        where = "provider = ? AND model = ? AND source = ? AND target = ?"
        with self._lock, self._input_errors():
            row = self._db.execute(f"SELECT id FROM tasks WHERE {where}", task).fetchone()
        return None if row is None else row[0]

    def known(self, task: int, digests: Sequence[bytes]) -> set[bytes]:
        """The texts that have a translation. Raises InputError as `translations` does."""
        return set(self.translations(task, digests))

    def translations(self, task: int, digests: Sequence[bytes]) -> dict[bytes, str]:
        """The translations of those texts that have one, as the service gave them.

        Raises:
            InputError: a row does not match its checksum, or one of the two is missing.
        """
        texts: dict[bytes, str] = {}
        for start in range(0, len(digests), QUERY_DIGESTS):
            part = digests[start : start + QUERY_DIGESTS]
            where = f"WHERE task = ? AND digest IN ({', '.join('?' * len(part))})"
            with self._lock, self._input_errors():
                rows = self._db.execute(
                    f"SELECT digest, CAST(text AS BLOB) FROM translations {where}", (task, *part)
                ).fetchall()
                query = f"SELECT digest, checksum FROM checksums {where}"
                checksums = dict(self._db.execute(query, (task, *part)))
            for digest, text in rows:
                if checksums.pop(digest, None) != checksum(digest, text):
                    raise self._damaged_row(digest)
                try:
                    texts[digest] = text.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise self._damaged_row(digest) from error
            if checksums:
                raise self._damaged_row(min(checksums))
        return texts

    def _damaged_row(self, digest: bytes) -> InputError:
        return InputError(
            f"{shown(self.path)}: the translation of the text with SHA-256 {digest.hex()} is"
            " damaged: restore a copy of the ledger, or delete this digest from"
            " its tables translations and checksums to buy the line again"
        )

    def has_translations(self, task: int) -> bool:
        """Whether anything was ever translated for a task."""
        query = "SELECT EXISTS (SELECT 1 FROM translations WHERE task = ?)"
        with self._lock, self._input_errors():
            return bool(self._db.execute(query, (task,)).fetchone()[0])

    def left_out(self, task: int) -> set[bytes]:
        """Those texts that the service refused alone, while it took others."""
        query = (
            "SELECT digests FROM requests"
            " WHERE task = ? AND state = 'refused' AND digests IS NOT NULL"
        )
        with self._lock, self._input_errors():
            rows = self._db.execute(query, (task,)).fetchall()
        return {digest for (joined,) in rows for digest in split_digests(joined)}

    def spent(self, provider: str) -> Spending:
        """What all requests to a provider may have cost, at the prices of their time.

        Requests in flight of dead processes count as doubtful, recorded as such or not.
        """
        owners = "SELECT DISTINCT owner FROM requests WHERE state = 'sent'"
        query = (
            "SELECT state, owner, total(characters), total(characters * usd_per_million) / 1e6"
            " FROM requests JOIN tasks ON tasks.id = requests.task"
            " WHERE provider = ? AND state <> 'refused'"
            " GROUP BY state, CASE state WHEN 'sent' THEN owner END"
        )
        with self._lock, self._input_errors():
            # In this order: the dead finish no request between the two questions.
            sending = [owner for (owner,) in self._db.execute(owners).fetchall()]
            dead = {owner for owner in sending if not is_alive_readonly(self.path, owner)}
            rows = self._db.execute(query, (provider,)).fetchall()
        doubt = [row for row in rows if row[0] == "doubt" or (row[0] == "sent" and row[1] in dead)]
        return Spending(
            sum((usd for *_, usd in rows), 0.0),
            int(sum(characters for *_, characters, _ in doubt)),
            sum((usd for *_, usd in doubt), 0.0),
        )

    # SQLite

    def _damaged(self, reason: object) -> InputError:
        words = shown(" ".join(str(reason).split()))
        return InputError(
            f"{shown(self.path)}: the ledger is damaged ({words}); it was left as it is: put a copy"
            " in its place, or save what is there with sqlite3's .recover; with an empty one every"
            " line is paid for again"
        )

    @contextmanager
    def _input_errors(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:
            raise self._damaged("its own text is not UTF-8") from error
        except sqlite3.Error as error:
            extended = getattr(error, "sqlite_errorcode", 0)
            # Of the extended code the low byte says what kind it is.
            code = extended & 0xFF
            no_text = "decode to UTF-8" in str(error)
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or no_text:
                raise self._damaged(error) from error
            if code == sqlite3.SQLITE_FULL:
                raise DiskFull(
                    f"{shown(self.path)}: the disk is full; make room, then go on with the same"
                    " command: what is paid for is kept"
                ) from error
            if extended == sqlite3.SQLITE_READONLY_ROLLBACK:
                raise InputError(
                    f"{shown(self.path)}: a process was killed while it wrote; padir distill-cloud"
                    " puts that right, also without a limit, when it sends nothing"
                ) from error
            words = shown(" ".join(str(error).split()))
            raise InputError(f"{shown(self.path)}: cannot use the ledger: {words}") from error
