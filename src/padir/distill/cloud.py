"""Translates a file with a paid service, by concurrent requests recorded in the ledger.

The ledger is the only memory: an interrupted run continues with the same command, whatever the
order of the lines and the number of processes.
"""

import random
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import NoReturn
from zoneinfo import ZoneInfo

from google.api_core.retry import exponential_sleep_generator
from tenacity import RetryCallState, Retrying, retry_if_exception

from padir.distill.estimate import windows
from padir.distill.ledger import Ledger, Limits
from padir.distill.ledger_reader import Task
from padir.distill.packing import (
    Line,
    is_blank,
    pack,
    read_sources,
    source_lines,
    text_digest,
)
from padir.distill.service import CallError, Failure, Service
from padir.files import InputError, shown

# Bounds of the random waits after a failure that cost nothing: 11 of them take 223 seconds on
# average, which outlasts the quota of a minute.
FIRST_SECONDS, LAST_SECONDS = 2.0, 64.0
ATTEMPTS = 12
# Least waits after a lost answer. Each such attempt may have been billed, so they are few and far
# apart. Up to a quarter more keeps requests that failed together from returning together.
DOUBTFUL_SECONDS = (15.0, 60.0, 300.0)
DOUBTFUL_ATTEMPTS = 1 + len(DOUBTFUL_SECONDS)
TRANSIENT = (Failure.QUOTA, Failure.UNSENT, Failure.DOUBT)
# Refused lines before any translation that prove the request wrong, and not the lines.
REFUSED_FIRST = 8
ELSEWHERE_SECONDS = 2.0
# Where the service's day ends (page "Quotas and limits").
SERVICE_ZONE = "America/Los_Angeles"


def doubtful_delays() -> Iterator[float]:
    """Seconds to wait after each attempt of one request whose answer was lost."""
    return (random.uniform(seconds, 1.25 * seconds) for seconds in DOUBTFUL_SECONDS)


class StopSignal(Exception):
    """Raised in a thread between two calls when the run is ending."""


@dataclass(frozen=True)
class Sender:
    """Sends lines to a service.

    Attributes:
        name: of the lines' file, for messages.
        concurrency: calls at a time.
        request_characters: code points in a request.
        delays: gives the seconds to wait between attempts of one request.
        doubtful_delays: the same, after attempts whose answer was lost.
        sleep: waits for some seconds or until the run stops; returns whether it stops.
        leave_empty: leave out a line that the service refuses instead of ending the run.
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
    _service_works: threading.Event = field(default_factory=threading.Event)
    # Refused lines by digest, with the reason, until others are seen to go through.
    _suspects: dict[bytes, tuple[Line, str]] = field(default_factory=dict)
    _left_out: set[bytes] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def translate(self, path: Path, report: Callable[[int], None]) -> None:
        """Bring every line's translation into the ledger.

        Args:
            path: source file, read once per round.
            report: called with the number of lines just translated.

        Raises:
            InputError: the limit is reached, the day's quota used up, a line refused, the service
                out of order, the disk full. Requests in flight are awaited and kept.
        """
        if self.leave_empty:
            self._left_out.update(self.ledger.left_out(self.ledger.task(self.task)))
        while self._round(path, report):
            # Lines in flight in other processes reach the ledger, or are sent from here.
            self.sleep(self._stop, ELSEWHERE_SECONDS)
        suspects = list(self._suspects.values())
        if len(suspects) > 1 and not self.ledger.has_translations(self.ledger.task(self.task)):
            raise self._all_refused([line for line, _ in suspects], suspects[0][1])
        self._leave_out_suspects()

    def _missing(self, path: Path) -> Iterator[Line]:
        number = self.ledger.task(self.task)
        for window in windows(read_sources(path)):
            known = self.ledger.known(number, [line.digest for line in window])
            yield from self._without_refused([x for x in window if x.digest not in known])

    def _round(self, path: Path, report: Callable[[int], None]) -> bool:
        """Send the missing lines; return whether another process had some of them in flight."""
        pending: set[Future[tuple[int, bool]]] = set()
        elsewhere = False

        def collect(done: set[Future[tuple[int, bool]]]) -> None:
            nonlocal elsewhere
            for future in done:
                translated, in_flight_elsewhere = future.result()
                report(translated)
                elsewhere |= in_flight_elsewhere
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
                # Something went wrong if anything is left: let requests in flight end.
                if pending:
                    self._stop.set()
                    wait(pending)
        return elsewhere

    def _deliver(self, lines: Sequence[Line]) -> tuple[int, bool]:
        """Translate the lines of one request, in halves where the service refuses them.

        Returns:
            Number of lines translated, and whether others are in flight elsewhere.
        """
        todo: list[Sequence[Line]] = [lines]
        translated, elsewhere = 0, False
        refused: tuple[Line, str] | None = None
        while todo:
            part = self._without_refused(todo.pop())
            if not part:
                continue
            try:
                count, in_flight_elsewhere = self._send(part)
            except CallError as error:
                if len(part) > 1:
                    middle = len(part) // 2
                    todo += [part[middle:], part[:middle]]
                elif self.leave_empty:
                    self._suspect(part[0], error.reason)
                elif refused is None:
                    refused = part[0], error.reason
                elif self._service_works.is_set():
                    break
                else:
                    raise self._all_refused([refused[0], part[0]], error.reason) from error
                continue
            translated, elsewhere = translated + count, elsewhere or in_flight_elsewhere
            if count:
                self._service_works.set()
                if refused is not None:
                    # A neighbour went through: the line is at fault and not the request.
                    break
        if self._service_works.is_set():
            self._leave_out_suspects()
        if refused is not None:
            raise InputError(
                f"{shown(self.name)}: line {refused[0].number}: Cloud Translation refuses it"
                f" ({refused[1]}); change it, or set `refused: leave_empty` of the teacher"
            )
        return translated, elsewhere

    def _without_refused(self, lines: Sequence[Line]) -> Sequence[Line]:
        with self._lock:
            refused = self._suspects.keys() | self._left_out
            return [line for line in lines if line.digest not in refused]

    def _suspect(self, line: Line, reason: str) -> None:
        """Mark a refused line as left out, unless the service refuses every line."""
        with self._lock:
            self._suspects[line.digest] = line, reason
            lines = [line for line, _ in self._suspects.values()]
        if len(lines) >= REFUSED_FIRST and not self._service_works.is_set():
            raise self._all_refused(lines, reason)

    def _leave_out_suspects(self) -> None:
        """Leave suspects out for good: no request will get them translated."""
        with self._lock:
            lines = [line for line, _ in self._suspects.values()]
            self._left_out.update(self._suspects)
            self._suspects.clear()
        if lines:
            self.ledger.leave_out(self.task, lines)

    def _all_refused(self, lines: Sequence[Line], reason: str) -> InputError:
        numbers = [str(number) for number in sorted(line.number for line in lines)]
        return InputError(
            f"{shown(self.name)}: lines {', '.join(numbers[:-1])} and {numbers[-1]}: Cloud"
            f" Translation refuses {'both' if len(lines) == 2 else 'all'} ({reason}); where it"
            f" refuses any line, the languages {self.task.source}-{self.task.target}, the project"
            " or the location are wrong"
        )

    def _send(self, part: Sequence[Line]) -> tuple[int, bool]:
        """Send lines until they are translated.

        Raises:
            CallError: the service refuses an argument.
            InputError: it does not work, and why.
        """
        delays, doubtful_delays = self.delays(), self.doubtful_delays()
        lost_answers = 0

        def seconds(state: RetryCallState) -> float:
            lost = _call_error(state).failure is Failure.DOUBT
            return next(doubtful_delays if lost else delays, 0.0)

        def stop(state: RetryCallState) -> bool:
            nonlocal lost_answers
            lost_answers += _call_error(state).failure is Failure.DOUBT
            return state.attempt_number >= ATTEMPTS or lost_answers >= DOUBTFUL_ATTEMPTS

        def give_up(state: RetryCallState) -> NoReturn:
            error = _call_error(state)
            raise InputError(
                f"Cloud Translation does not answer after {state.attempt_number} attempts"
                f" ({error.reason}); the same command goes on where this one stopped"
            ) from error

        attempts = Retrying(
            retry=retry_if_exception(
                lambda error: isinstance(error, CallError) and error.failure in TRANSIENT
            ),
            wait=seconds,
            stop=stop,
            sleep=self._pause,
            retry_error_callback=give_up,
        )
        return attempts(self._send_once, part)

    def _send_once(self, part: Sequence[Line]) -> tuple[int, bool]:
        self._pause(0.0)
        while (claim := self.ledger.claim(self.task, part, self.limits)).wait:
            self._pause(claim.wait)
        if claim.request is None:
            return 0, claim.elsewhere
        try:
            texts = self.service.translate([line.text for line in claim.lines])
        except CallError as error:
            billed = error.failure in (Failure.DOUBT, Failure.ANSWER)
            (self.ledger.doubt if billed else self.ledger.refuse)(claim.request)
            if error.failure in (Failure.ANSWER, Failure.FATAL):
                raise InputError(f"Cloud Translation: {error.reason}") from error
            if error.failure is Failure.DAILY:
                raise InputError(
                    "Cloud Translation: the project's quota of the day is used up"
                    f" ({error.reason}); go on with the same command after"
                    f" {next_day(datetime.now(UTC)):%Y-%m-%d %H:%M} UTC, midnight Pacific time"
                ) from error
            raise
        self.ledger.finish(claim.request, claim.lines, texts)
        return len(claim.lines), claim.elsewhere

    def _pause(self, seconds: float) -> None:
        """Wait. Raises StopSignal where the run ends."""
        if self.sleep(self._stop, seconds):
            raise StopSignal


def _call_error(state: RetryCallState) -> CallError:
    error = state.outcome.exception() if state.outcome is not None else None
    if not isinstance(error, CallError):
        raise TypeError(f"a retry after {error!r}, which is no CallError")
    return error


def next_day(now: datetime) -> datetime:
    """When the service's next day begins, in UTC."""
    zone = ZoneInfo(SERVICE_ZONE)
    tomorrow = now.astimezone(zone).date() + timedelta(days=1)
    return datetime.combine(tomorrow, time(), zone).astimezone(UTC)


def one_line(text: str) -> str:
    """A translation as one line of a text file.

    Line ends become spaces; NUL and byte order marks are removed.
    """
    return re.sub(r"\r\n?|\n", " ", text.replace("\0", "").replace("\ufeff", ""))


def read_translations(
    path: Path,
    ledger: Ledger,
    task: Task,
    empty: list[int] | None = None,
    blank: list[int] | None = None,
) -> Iterator[str]:
    """The translation of each line of a source file, from the ledger; blank lines stay empty.

    Args:
        path: source file.
        ledger: that has the translations.
        task: model and languages.
        empty: collects the numbers of refused lines, whose translation is then empty; None: a
            refused line is an error.
        blank: collects the numbers of other lines whose translation is blank.

    Raises:
        InputError: a line has no translation, as the file has changed since it was translated.
    """
    number = ledger.task(task)
    left_out = set() if empty is None else ledger.left_out(number)
    for window in windows(source_lines(path)):
        digests = {line: text_digest(text) for line, text in window if not is_blank(text)}
        translations = ledger.translations(number, list(digests.values()))
        for line, _ in window:
            digest = digests.get(line)
            if digest is None:
                yield ""
            elif digest in translations:
                translation = one_line(translations[digest])
                if blank is not None and not translation.strip():
                    blank.append(line)
                yield translation
            elif empty is not None and digest in left_out:
                empty.append(line)
                yield ""
            else:
                raise InputError(f"{shown(path)}: line {line} changed while it was translated")
