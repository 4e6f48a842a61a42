"""A run killed at every point, one after the other: before each statement, around each call.

Random kills (test_killed.py) come from outside and at any time; these leave out no place in
between: whatever is written in the wrong order, or not at all, is seen.
"""

import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from itertools import count, repeat
from pathlib import Path

import pytest

from padir.distill import owners
from padir.distill.cloud import Sender, read_translations
from padir.distill.ledger import Ledger, Limits
from padir.distill.ledger_reader import Task
from padir.distill.service import CallError, Failure
from padir.files import write_lines

pytestmark = pytest.mark.slow

TASK = Task("somebody", "some/model", "de", "en")
LIMITS = Limits(usd=1.0, usd_per_million=10.0, characters_per_minute=10**9)
LINES = ["eins", "zwei", "", "drei", "eins"]
TEXTS = ["eins", "zwei", "drei"]
UNIQUE = sum(map(len, TEXTS))
REQUEST_CHARACTERS = 9
# The second one has room for the line that stands twice, which is translated by then.
REQUESTS = ["eins|zwei", "drei"]
# The first one's first answer never comes.
LOST = frozenset({1})


class Service:
    """Bills into a file, which outlives whoever is killed; each call in its own line.

    Args:
        event: called when a call arrives and again when it is billed.
        lost: calls whose answer never comes, by number.
    """

    def __init__(self, bill: Path, event: Callable[[], None], lost: frozenset[int]):
        self.bill, self.event, self.lost = bill, event, lost
        self.calls = 0

    def translate(self, texts):
        self.event()
        with self.bill.open("a") as file:
            file.write("|".join(texts) + "\n")
        self.event()
        self.calls += 1
        if self.calls in self.lost:
            raise CallError(Failure.DOUBT, "lost")
        return [f"<{text}>" for text in texts]


def work(folder: Path, event: Callable[[], None], lost: frozenset[int]) -> None:
    """What `padir distill-cloud` does with its ledger; what it reports goes into a file too."""

    def report(lines: int) -> None:
        with (folder / "reported").open("a") as file:
            file.write(f"{lines}\n")
        event()

    with Ledger(folder / "ledger.sqlite") as ledger:
        ledger.settle()
        Sender(
            service=Service(folder / "bill", event, lost),
            ledger=ledger,
            task=TASK,
            limits=LIMITS,
            name="a.de",
            concurrency=1,
            request_characters=REQUEST_CHARACTERS,
            delays=lambda: repeat(0.0),
            doubtful_delays=lambda: repeat(0.0),
            sleep=threading.Event.wait,
        ).translate(folder / "a.de", report)


def read(path: Path) -> list[str]:
    """The lines of a file; none where there is no file."""
    return path.read_text().splitlines() if path.exists() else []


def killed_at(number: int, folder: Path) -> bool:
    """Work in a process that dies at its event of that number; whether it had so many."""
    child = os.fork()
    if child == 0:
        left = [number]

        def event(*_: object) -> None:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        connect = sqlite3.connect

        def traced(*arguments, **options):
            db = connect(*arguments, **options)
            db.set_trace_callback(event)
            return db

        # In this process alone, which ends here.
        sqlite3.connect = traced
        try:
            work(folder, event, LOST)
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def test_billed_lines_are_recorded_or_doubtful_after_a_kill_at_any_point(tmp_path, monkeypatch):
    monkeypatch.setattr(owners.Owner.__init__, "__defaults__", (2**12,))
    points = 0
    for number in count(1):
        folder = tmp_path / str(number)
        write_lines(folder / "a.de", LINES)
        if not killed_at(number, folder):
            break
        points += 1
        bill = folder / "bill"
        before, reported = read(bill), len(read(folder / "reported"))
        work(folder, lambda: None, frozenset())
        calls = read(bill)
        billed = sum(len(call.replace("|", "")) for call in calls)
        with Ledger(folder / "ledger.sqlite") as ledger:
            spent = ledger.spent(TASK.provider)
            translations = list(read_translations(folder / "a.de", ledger, TASK))
        where = f"killed at point {number}, {len(before)} calls before: {calls}"
        assert translations == [f"<{line}>" if line else "" for line in LINES], where
        # The ledger's promise: nothing is billed that it does not know of or count as doubtful ...
        assert UNIQUE <= billed <= UNIQUE + spent.doubt_characters, where
        assert spent.usd == pytest.approx(10e-6 * (UNIQUE + spent.doubt_characters)), where
        # ... and a kill costs one request more at most, of those in flight.
        assert spent.doubt_characters <= (1 + len(LOST)) * REQUEST_CHARACTERS, where
        # What it reported as translated is not sent again, and nothing a third time.
        assert not set(REQUESTS[:reported]) & set(calls[len(before) :]), where
        assert max(calls.count(call) for call in calls) <= 2 + len(LOST), where
    # The last one was not killed: a request for each of these, written down before and after.
    assert read(folder / "bill") == ["eins|zwei"] * len(LOST) + REQUESTS
    assert points > 50
