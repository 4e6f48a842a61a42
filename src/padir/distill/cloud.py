"""Translating a file with a paid service, many requests at a time, through the ledger.

The ledger is the only memory: a run that was stopped in any way goes on with the same command,
in any order, in any number of processes.
"""

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from google.api_core.retry import exponential_sleep_generator

from padir.distill.estimate import windows
from padir.distill.ledger import Ledger, Limits
from padir.distill.ledger_reader import Task
from padir.distill.packing import Line, is_blank, pack, read_sources, text_digest
from padir.distill.service import CallError, Failure, Service
from padir.files import InputError, iter_lines, shown

# Waits grow from the first to the last, each drawn between nothing and that: 11 of them come to
# 223 seconds on average, which outlasts the quota of a minute.
FIRST_SECONDS, LAST_SECONDS = 2.0, 64.0
ATTEMPTS = 12
# Attempts whose answer was lost, as when the service is down. Each may have been billed, so they
# are few and far apart: each wait is at least this, and all of them six minutes, and up to a
# quarter more, so that requests which failed together do not come back together.
DOUBTFUL_SECONDS = (15.0, 60.0, 300.0)
DOUBTFUL_ATTEMPTS = 1 + len(DOUBTFUL_SECONDS)
# Lines that may be left empty before any is translated: where no line is taken, the request is
# wrong and not the lines.
REFUSED_FIRST = 8
ELSEWHERE_SECONDS = 2.0
# Where the service's day ends (page "Quotas and limits").
SERVICE_ZONE = "America/Los_Angeles"


def doubtful_delays() -> Iterator[float]:
    """The waits after attempts of one request whose answer was lost."""
    return (random.uniform(seconds, 1.25 * seconds) for seconds in DOUBTFUL_SECONDS)


class Stopped(Exception):
    """The run is ending: a thread stops between two calls."""


@dataclass(frozen=True)
class Sender:
    """Sends lines to a service.

    Attributes:
        service: that translates.
        ledger: with all that was ever sent to it.
        task: model and languages.
        limits: dollars and characters per minute.
        name: of the lines' file, for messages.
        concurrency: calls at a time.
        request_characters: code points in a request.
        sleep: waits so many seconds, or until the run stops; returns whether it does.
        delays: gives the waits between the attempts of one request.
        doubtful_delays: gives those after its attempts whose answer was lost.
        leave_empty: whether a line that the service refuses is left out, and not the end of the
            run.
    """

    service: Service
    ledger: Ledger
    task: Task
    limits: Limits
    name: str
    concurrency: int
    request_characters: int
    delays: Callable[[], Iterator[float]] = lambda: exponential_sleep_generator(
        FIRST_SECONDS, LAST_SECONDS
    )
    doubtful_delays: Callable[[], Iterator[float]] = doubtful_delays
    sleep: Callable[[threading.Event, float], bool] = threading.Event.wait
    leave_empty: bool = False
    _stop: threading.Event = field(default_factory=threading.Event)
    _works: threading.Event = field(default_factory=threading.Event)
    # Refused lines by digest, with the reason, until others are seen to go through.
    _suspects: dict[bytes, tuple[Line, str]] = field(default_factory=dict)
    _left_out: set[bytes] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def translate(self, path: Path, report: Callable[[int], None]) -> None:
        """Bring every line's translation into the ledger.

        Args:
            path: source file; read as often as there are rounds.
            report: called with the number of lines just translated.

        Raises:
            InputError: the limit is reached, the day's quota used up, a line refused, the service
                out of order, the disk full. What was in flight is waited for and kept.
        """
        if self.leave_empty:
            self._left_out.update(self.ledger.left_out(self.ledger.task(self.task)))
        while self._round(path, report):
            # What other processes have in flight comes into the ledger, or is sent from here.
            self.sleep(self._stop, ELSEWHERE_SECONDS)
        few = [line for line, _ in self._suspects.values()]
        if len(few) > 1 and not self.ledger.has_translations(self.ledger.task(self.task)):
            raise self._all_refused(few, next(iter(self._suspects.values()))[1])
        self._leave_out_suspects()

    def _missing(self, path: Path) -> Iterator[Line]:
        number = self.ledger.task(self.task)
        for part in windows(read_sources(path)):
            known = self.ledger.known(number, [line.digest for line in part])
            yield from self._without_refused([line for line in part if line.digest not in known])

    def _round(self, path: Path, report: Callable[[int], None]) -> bool:
        """Send what is missing; whether another process had some of it in flight."""
        pending: set[Future[tuple[int, bool]]] = set()
        elsewhere = False

        def collect(done: set[Future[tuple[int, bool]]]) -> None:
            nonlocal elsewhere
            for future in done:
                sent, others = future.result()
                report(sent)
                elsewhere |= others
            pending.difference_update(done)

        with ThreadPoolExecutor(self.concurrency) as pool:
            try:
                for lines in pack(self._missing(path), self.request_characters):
                    if len(pending) == self.concurrency:
                        collect(wait(pending, return_when=FIRST_COMPLETED).done)
                    pending.add(pool.submit(self._deliver, lines))
                while pending:
                    collect(wait(pending, return_when=FIRST_COMPLETED).done)
            finally:
                # Anything left means that something went wrong: what is in flight comes to an end.
                if pending:
                    self._stop.set()
                    wait(pending)
        return elsewhere

    def _deliver(self, lines: Sequence[Line]) -> tuple[int, bool]:
        """Translate the lines of one request, in halves where the service refuses them.

        Returns:
            how many lines were translated, and whether others are in flight elsewhere.
        """
        todo: list[Sequence[Line]] = [lines]
        sent, elsewhere = 0, False
        refused: tuple[Line, str] | None = None
        while todo:
            part = self._without_refused(todo.pop())
            if not part:
                continue
            try:
                count, others = self._attempt(part)
            except CallError as error:
                if len(part) > 1:
                    middle = len(part) // 2
                    todo += [part[middle:], part[:middle]]
                elif self.leave_empty:
                    self._suspect(part[0], error.reason)
                elif refused is not None:
                    raise self._all_refused([refused[0], part[0]], error.reason) from error
                else:
                    refused = part[0], error.reason
                continue
            sent, elsewhere = sent + count, elsewhere or others
            if count:
                self._works.set()
                if refused is not None:
                    # A neighbour went through: the line is at fault and not the request.
                    break
        if self._works.is_set():
            self._leave_out_suspects()
        if refused is not None:
            raise InputError(
                f"{shown(self.name)}: line {refused[0].number}: Cloud Translation refuses it"
                f" ({refused[1]}); change it, or set `refused: leave_empty` of the teacher"
            )
        return sent, elsewhere

    def _without_refused(self, lines: Sequence[Line]) -> Sequence[Line]:
        with self._lock:
            return [
                line
                for line in lines
                if line.digest not in self._suspects and line.digest not in self._left_out
            ]

    def _suspect(self, line: Line, reason: str) -> None:
        """Leave a line out, unless the service takes none at all."""
        with self._lock:
            self._suspects[line.digest] = line, reason
            lines = [line for line, _ in self._suspects.values()]
        if len(lines) >= REFUSED_FIRST and not self._works.is_set():
            raise self._all_refused(lines, reason)

    def _leave_out_suspects(self) -> None:
        """Take refused lines for such as no request will bring through."""
        with self._lock:
            found = dict(self._suspects)
            self._suspects.clear()
            self._left_out.update(found)
        if found:
            self.ledger.leave_out(self.task, [line for line, _ in found.values()])

    def _all_refused(self, lines: Sequence[Line], reason: str) -> InputError:
        numbers = [str(number) for number in sorted(line.number for line in lines)]
        which = f"{', '.join(numbers[:-1])} and {numbers[-1]}"
        return InputError(
            f"{shown(self.name)}: lines {which}: Cloud Translation refuses"
            f" {'both' if len(lines) == 2 else 'all'} ({reason}); where it refuses any line, the"
            f" languages {self.task.source}-{self.task.target}, the project or the location are"
            " wrong"
        )

    def _attempt(self, part: Sequence[Line]) -> tuple[int, bool]:
        """Send lines until they are translated.

        Raises:
            CallError: the service refuses an argument.
            InputError: it does not work, and why.
        """
        delays, doubtful_delays = self.delays(), self.doubtful_delays()
        attempts = doubtful = 0
        while True:
            self._pause(0.0)
            claim = self.ledger.claim(self.task, part, self.limits)
            while claim.wait:
                self._pause(claim.wait)
                claim = self.ledger.claim(self.task, part, self.limits)
            if claim.request is None:
                return 0, claim.elsewhere
            try:
                texts = self.service.translate([line.text for line in claim.lines])
            except CallError as error:
                self._settle(claim.request, error)
                attempts += 1
                lost = error.failure is Failure.DOUBT
                doubtful += lost
                if attempts >= ATTEMPTS or doubtful >= DOUBTFUL_ATTEMPTS:
                    raise InputError(
                        f"Cloud Translation does not answer after {attempts} attempts"
                        f" ({error.reason}); the same command goes on where this one stopped"
                    ) from error
                self._pause(next(doubtful_delays if lost else delays))
            else:
                self.ledger.finish(claim.request, claim.lines, texts)
                return len(claim.lines), claim.elsewhere

    def _settle(self, request: int, error: CallError) -> None:
        """Write a failure down; raise where there is no sense in another attempt."""
        billed = error.failure in (Failure.DOUBT, Failure.ANSWER)
        (self.ledger.doubt if billed else self.ledger.refuse)(request)
        match error.failure:
            case Failure.ARGUMENT:
                raise error
            case Failure.ANSWER | Failure.FATAL:
                raise InputError(f"Cloud Translation: {error.reason}") from error
            case Failure.DAILY:
                when = next_day(datetime.now(UTC))
                raise InputError(
                    "Cloud Translation: the project's quota of the day is used up"
                    f" ({error.reason}); go on with the same command after"
                    f" {when:%Y-%m-%d %H:%M} UTC, midnight Pacific time"
                ) from error

    def _pause(self, seconds: float) -> None:
        """Wait. Raises Stopped where the run ends."""
        if self.sleep(self._stop, seconds):
            raise Stopped


def next_day(now: datetime) -> datetime:
    """When the service's next day begins, in UTC."""
    zone = ZoneInfo(SERVICE_ZONE)
    tomorrow = now.astimezone(zone).date() + timedelta(days=1)
    return datetime.combine(tomorrow, time(), zone).astimezone(UTC)


def one_line(text: str) -> str:
    """A translation as a line of a text file: line ends become blanks, and NUL and byte order
    marks, which no file of ours may hold, go."""
    return " ".join(text.replace("\0", "").replace("\ufeff", "").split("\n"))


def read_translations(
    path: Path, ledger: Ledger, task: Task, empty: list[int] | None = None
) -> Iterator[str]:
    """The translation of each line of a source file, from the ledger; blank lines stay empty.

    Args:
        path: source file.
        ledger: that has the translations.
        task: model and languages.
        empty: where given, a line that the service refused is empty too, and its number is added
            here.

    Raises:
        InputError: a line has none, as the file has changed since it was translated.
    """
    number = ledger.task(task)
    left_out = set() if empty is None else ledger.left_out(number)
    for part in windows(enumerate(iter_lines(path), start=1)):
        digests = {line: text_digest(text) for line, text in part if not is_blank(text)}
        found = ledger.translations(number, list(digests.values()))
        for line, _ in part:
            if line not in digests:
                yield ""
            elif digests[line] in found:
                yield one_line(found[digests[line]])
            elif empty is not None and digests[line] in left_out:
                empty.append(line)
                yield ""
            else:
                raise InputError(f"{shown(path)}: line {line} changed while it was translated")
