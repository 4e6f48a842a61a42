"""The ledger: a SQLite database of paid translations, keyed by content, so that no line is paid
for twice.

A request is recorded and synced to disk before it is sent, its translations after it. A request of
unknown outcome (its process was killed, the answer never came) becomes doubtful: it counts as
paid, and its lines are sent again. So the bill is at most what was translated plus what is in
doubt, and a kill puts only requests in flight in doubt.

Several processes on one machine may share a ledger: no two have the same line in flight, and they
share the limit in dollars and the budget of characters per minute.
"""

import errno
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from padir.config.teacher import CloudTeacher
from padir.distill.ledger_reader import (
    APPLICATION_ID,
    TASK_KEY,
    VERSION,
    DiskFull,
    LedgerReader,
    Task,
    checksum,
    split_digests,
    task_checksum,
)
from padir.distill.owners import Owner, is_alive, sweep
from padir.distill.packing import Line
from padir.files import InputError, shown

_ADD = (
    "INSERT INTO sums VALUES (new.task, new.state, new.usd_per_million, new.characters)"
    " ON CONFLICT DO UPDATE SET characters = characters + excluded.characters"
)
_TAKE = (
    "UPDATE sums SET characters = characters - old.characters"
    " WHERE task = old.task AND state = old.state AND usd_per_million = old.usd_per_million"
)
STATEMENTS = (
    """CREATE TABLE tasks (
        id INTEGER PRIMARY KEY,
        provider TEXT NOT NULL, model TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
        UNIQUE (provider, model, source, target)
    )""",
    """CREATE TABLE requests (
        id INTEGER PRIMARY KEY,
        task INTEGER NOT NULL REFERENCES tasks,
        owner TEXT NOT NULL,
        sent REAL NOT NULL,
        characters INTEGER NOT NULL,
        usd_per_million REAL NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('sent', 'done', 'refused', 'doubt')),
        digests BLOB
    )""",
    "CREATE INDEX requests_by_time ON requests (sent)",
    """CREATE TABLE translations (
        task INTEGER NOT NULL REFERENCES tasks,
        digest BLOB NOT NULL,
        text TEXT NOT NULL,
        request INTEGER NOT NULL REFERENCES requests,
        PRIMARY KEY (task, digest)
    ) WITHOUT ROWID""",
    # An index and sums keep a claim quick however long the ledger is.
    "CREATE INDEX requests_in_flight ON requests (id) WHERE state = 'sent'",
    "CREATE TABLE sums (task INTEGER NOT NULL, state TEXT NOT NULL, usd_per_million REAL NOT NULL,"
    " characters INTEGER NOT NULL, PRIMARY KEY (task, state, usd_per_million)) WITHOUT ROWID",
    f"CREATE TRIGGER request_added AFTER INSERT ON requests BEGIN {_ADD}; END",
    f"CREATE TRIGGER request_ended AFTER UPDATE OF state ON requests BEGIN {_TAKE}; {_ADD}; END",
    "CREATE TABLE checksums (task INTEGER NOT NULL, digest BLOB NOT NULL, checksum BLOB NOT NULL,"
    " PRIMARY KEY (task, digest)) WITHOUT ROWID",
    # What processes at work have still to spend, each of its own estimate.
    "CREATE TABLE reservations (owner TEXT PRIMARY KEY, provider TEXT NOT NULL, usd REAL NOT NULL)",
)
# Requests count for a minute and what they may take on their way: the service counts arrivals.
MINUTE = 60.0 + 5.0


class Limits(NamedTuple):
    """Spending limits.

    Attributes:
        usd: dollars, of all requests to the provider that the ledger has ever held.
        usd_per_million: price of a million characters.
        characters_per_minute: of all processes that share the ledger.
    """

    usd: float
    usd_per_million: float
    characters_per_minute: int

    @classmethod
    def of(cls, teacher: CloudTeacher) -> "Limits":
        """A teacher's limits; without `max_usd` nothing may be spent."""
        return cls(teacher.max_usd or 0.0, teacher.usd_per_million, teacher.characters_per_minute)

    def allows(self, usd: float) -> bool:
        """Whether the total may grow to so many dollars."""
        return usd <= self.usd + 1e-9

    def price(self, characters: int) -> float:
        """Dollars for so many characters."""
        return characters * self.usd_per_million / 1e6


def in_dollars(first: float, second: float, *others: float) -> list[str]:
    """Amounts with two decimals, or as many more as tell the first two apart."""
    digits = 2
    while first != second and f"{first:.{digits}f}" == f"{second:.{digits}f}" and digits < 12:
        digits += 1
    return [f"{amount:.{digits}f}" for amount in (first, second, *others)]


class Claim(NamedTuple):
    """Lines that may be sent now.

    Attributes:
        request: number in the ledger; None: nothing is to be sent now.
        lines: lines to send, neither translated nor in flight.
        wait: seconds until the minute's budget has room; 0.0 where no wait is needed.
        elsewhere: whether another process has some of the lines in flight.
    """

    request: int | None
    lines: tuple[Line, ...] = ()
    wait: float = 0.0
    elsewhere: bool = False


class LimitReached(InputError):
    """The next request would cost more than the limit leaves."""


class Ledger(LedgerReader):
    """A ledger open for writing; a context manager, thread-safe.

    Args:
        path: of the file, made with its folders where it is missing.
        clock: seconds since 1970.

    Raises:
        InputError: damaged, no ledger, of another version, or unwritable.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time):
        self._clock = clock
        self._owner: Owner | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{shown(path)}: cannot write: {error.strerror}") from error
        self._connect(path, "rwc")
        with ExitStack() as undo:
            undo.callback(self._db.close)
            self._open()
            undo.pop_all()

    def _open(self) -> None:
        with self._input_errors():
            # Synced before a request goes out: a power cut costs no more than a kill.
            self._db.execute("PRAGMA synchronous = EXTRA")
            finding = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if finding != "ok":
                raise self._damaged(finding)
        with self._transaction() as db:
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                for statement in STATEMENTS:
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                db.execute(f"PRAGMA user_version = {VERSION}")
            self._check_kind()
            self._check_rows()

    def close(self) -> None:
        """Close the file and leave."""
        with self._lock:
            if self._owner is not None:
                # A row that stays does not count without its process.
                with suppress(InputError), self._transaction() as db:
                    db.execute("DELETE FROM reservations WHERE owner = ?", (self._owner.name,))
            super().close()
            if self._owner is not None:
                self._owner.close()
                self._owner = None

    def task(self, task: Task) -> int:
        """The number of a task, given on first use."""
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO tasks VALUES (NULL, ?, ?, ?, ?)", task)
            where = "provider = ? AND model = ? AND source = ? AND target = ?"
            number = db.execute(f"SELECT id FROM tasks WHERE {where}", task).fetchone()[0]
            row = (number, TASK_KEY, task_checksum(task))
            db.execute("INSERT OR IGNORE INTO checksums VALUES (?, ?, ?)", row)
            return number

    # A request's life

    def settle(self) -> None:
        """Mark the in-flight requests of killed processes as doubtful."""
        with self._lock:
            sweep(self.path)
            with self._transaction():
                self._in_flight()

    def reserve(self, provider: str, usd: float, limits: Limits) -> None:
        """Set dollars aside for the requests to come, so that no process starts what the limit
        would end halfway because another one spends too.

        Raises:
            LimitReached: what is spent and what others have reserved leave too little.
        """
        with self._lock:
            owner = self._present()
            with self._transaction() as db:
                spent, reserved = self._spent(provider), self._reserved(provider)
                if not limits.allows(spent + reserved + usd):
                    total, limit, before = in_dollars(spent + reserved + usd, limits.usd, spent)
                    others = f" and {reserved:.2f} reserved by processes at work" * bool(reserved)
                    wait = "; when those have ended, run the same command" * bool(reserved)
                    raise LimitReached(
                        f"nothing was sent: {total} USD in all are needed, {before} of them spent"
                        f" already{others}; max_usd is {limit}{wait}"
                    )
                row = (owner, provider, usd)
                db.execute("INSERT OR REPLACE INTO reservations VALUES (?, ?, ?)", row)

    def _reserved(self, provider: str) -> float:
        """Dollars that other processes at work have reserved."""
        mine = None if self._owner is None else self._owner.name
        query = "SELECT owner, usd FROM reservations WHERE provider = ? AND owner IS NOT ?"
        rows = self._db.execute(query, (provider, mine)).fetchall()
        return sum((usd for owner, usd in rows if is_alive(self.path, owner)), start=0.0)

    def claim(self, task: Task, lines: Sequence[Line], limits: Limits) -> Claim:
        """Record as in flight those of the lines that need a translation.

        A returned request is on disk and counts as paid until `refuse` revokes it.

        Raises:
            LimitReached: the dollars do not suffice; nothing is written.
            DiskFull: nothing is written.
        """
        number = self.task(task)
        with self._lock:
            owner = self._present()
            with self._transaction() as db:
                in_flight = self._in_flight(number)
                done = self.known(number, [line.digest for line in lines])
                free = tuple(x for x in lines if x.digest not in done and x.digest not in in_flight)
                elsewhere = any(in_flight.get(x.digest, owner) != owner for x in lines)
                if not free:
                    return Claim(None, elsewhere=elsewhere)
                characters = sum(line.characters for line in free)
                self._check_limit(task.provider, characters, limits)
                wait = self._seconds_to_wait(task.provider, characters, limits)
                if wait:
                    return Claim(None, wait=wait, elsewhere=elsewhere)
                db.execute(
                    "UPDATE reservations SET usd = max(0, usd - ?) WHERE owner = ?",
                    (limits.price(characters), owner),
                )
                request = db.execute(
                    "INSERT INTO requests VALUES (NULL, ?, ?, ?, ?, ?, 'sent', ?) RETURNING id",
                    (
                        *(number, owner, self._clock(), characters, limits.usd_per_million),
                        b"".join(line.digest for line in free),
                    ),
                ).fetchone()[0]
        return Claim(request, free, elsewhere=elsewhere)

    def finish(self, request: int, lines: Sequence[Line], texts: Sequence[str]) -> None:
        """Store the translations of a request, one per line; on a full disk with the reserve."""
        try:
            self._keep(request, lines, texts)
        except DiskFull:
            if self._owner is None:
                raise
            self._owner.give_up_room()
            self._keep(request, lines, texts)
            raise

    def _keep(self, request: int, lines: Sequence[Line], texts: Sequence[str]) -> None:
        with self._transaction() as db:
            task = db.execute("SELECT task FROM requests WHERE id = ?", (request,)).fetchone()[0]
            for line, text in zip(lines, texts, strict=True):
                row = (task, line.digest)
                translation = (*row, text, request)
                db.execute("INSERT OR IGNORE INTO translations VALUES (?, ?, ?, ?)", translation)
                check = (*row, checksum(line.digest, text.encode("utf-8")))
                db.execute("INSERT OR IGNORE INTO checksums VALUES (?, ?, ?)", check)
            self._end(request, "done")

    def refuse(self, request: int) -> None:
        """End a request that is neither translated nor billed; its price is reserved again."""
        with self._transaction() as db:
            self._end(request, "refused")
            db.execute(
                "UPDATE reservations SET usd = usd + (SELECT characters * usd_per_million / 1e6"
                " FROM requests WHERE id = ?1)"
                " WHERE owner = (SELECT owner FROM requests WHERE id = ?1)",
                (request,),
            )

    def leave_out(self, task: Task, lines: Sequence[Line]) -> None:
        """Record lines that the service refuses in every request; see `left_out`."""
        number = self.task(task)
        with self._transaction() as db:
            db.execute(
                "INSERT INTO requests VALUES (NULL, ?, '', ?, 0, 0.0, 'refused', ?)",
                (number, self._clock(), b"".join(line.digest for line in lines)),
            )

    def doubt(self, request: int) -> None:
        """End a request of unknown outcome, which counts as paid."""
        with self._transaction():
            self._end(request, "doubt")

    def _end(self, request: int, state: str) -> None:
        self._db.execute(
            "UPDATE requests SET state = ?, digests = NULL WHERE id = ?", (state, request)
        )

    def _present(self) -> str:
        """Name of this process, by which others see that it is alive."""
        if self._owner is None:
            try:
                self._owner = Owner(self.path)
            except OSError as error:
                kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else InputError
                raise kind(
                    f"{shown(self.path)}: cannot keep room for it: {error.strerror}; nothing was"
                    " sent"
                ) from error
        return self._owner.name

    def _in_flight(self, task: int | None = None) -> dict[bytes, str]:
        """Owners of lines in flight by digest; requests of dead processes become doubtful."""
        mine = None if self._owner is None else self._owner.name
        query = "SELECT id, task, owner, digests FROM requests WHERE state = 'sent'"
        in_flight: dict[bytes, str] = {}
        alive: dict[str, bool] = {}
        for request, of, owner, digests in self._db.execute(query).fetchall():
            if owner not in alive:
                alive[owner] = owner == mine or is_alive(self.path, owner)
            if not alive[owner]:
                self._end(request, "doubt")
            elif of == task:
                in_flight.update((digest, owner) for digest in split_digests(digests))
        return in_flight

    def _spent(self, provider: str) -> float:
        query = (
            "SELECT total(characters * usd_per_million) / 1e6"
            " FROM sums JOIN tasks ON tasks.id = task WHERE provider = ? AND state <> 'refused'"
        )
        return self._db.execute(query, (provider,)).fetchone()[0]

    def _check_limit(self, provider: str, characters: int, limits: Limits) -> None:
        spent = self._spent(provider) + self._reserved(provider)
        total = spent + limits.price(characters)
        if not limits.allows(total):
            needed, limit, before = in_dollars(total, limits.usd, spent)
            raise LimitReached(
                f"max_usd is {limit}: {before} USD are spent or reserved (ledger"
                f" {shown(self.path)}) and the next request would make that {needed} USD; it was"
                " not sent"
            )

    def _seconds_to_wait(self, provider: str, characters: int, limits: Limits) -> float:
        """Seconds until the minute's quota has room; a request alone in its minute never waits."""
        now = self._clock()
        used, first = self._db.execute(
            "SELECT total(characters), min(sent) FROM requests JOIN tasks ON tasks.id = task"
            " WHERE provider = ? AND sent > ? AND sent < ?",
            (provider, now - MINUTE, now + MINUTE),
        ).fetchone()
        if first is None or used + characters <= limits.characters_per_minute:
            return 0.0
        return min(max(first + MINUTE - now, 0.01), MINUTE)

    # SQLite

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._input_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                # Something went wrong, and has not ended the transaction yet.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
