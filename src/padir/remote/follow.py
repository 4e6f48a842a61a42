"""Submit a job once, follow it to its end, and take up an earlier start of the same command.

Before the engine hears of a step, the handle says that it is about to be taken. A start that finds
such a handle asks the engine for the job's name, and so learns whether the step was heard.
"""

import shlex
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn, TypeVar

from padir.files import InputError, shown
from padir.progress import PLAIN_SECONDS, clock
from padir.remote.calls import Trouble, answer
from padir.remote.engines import Engine, Query, Request, State
from padir.remote.handle import Handle, Phase, write_handle

# Submission may start a controller or build an image first.
SUBMIT_FACTOR = 10
# The first wait is this share of the longest.
FIRST_WAIT = 1 / 16
GROWTH = 1.5
Result = TypeVar("Result")


@dataclass(frozen=True)
class Pace:
    """How long and how often.

    Attributes:
        poll: most seconds between two looks at a job.
        timeout: seconds in which a call must answer.
        patience: seconds without a usable answer after which to give up.
        attempts: most submissions of a job that is preempted.
    """

    poll: float = 60.0
    timeout: float = 120.0
    patience: float = 3600.0
    attempts: int = 3


class Follower:
    """A job that is being launched.

    Args:
        path: of the handle.
        handle: what it says, or will say.
        engine: where the job runs.
        request: the job; its name is set here.
        pace: how long and how often.
        locked: descriptor of the lock on the handle.
    """

    def __init__(
        self,
        path: Path,
        handle: Handle,
        engine: Engine,
        request: Request,
        pace: Pace,
        locked: int | None = None,
    ):
        self.path, self.handle, self.engine, self.pace = path, handle, engine, pace
        self._request, self._locked = request, locked
        self._last_answer = self._last_logged = self._began = time.monotonic()
        self._troubles = 0
        self._has_warned_of_duplicates = False

    @property
    def request(self) -> Request:
        """The job under its present name."""
        log = self.path.with_name(f"{self.path.name}.{self.handle.name}.log").absolute()
        return replace(self._request, name=self.handle.name, log=log)

    def run(self) -> None:
        """Return when the job is done.

        Raises:
            InputError: it failed, was preempted too often, was refused, or its state could not be
                learnt for `pace.patience` seconds.
        """
        steps = {
            Phase.CHOSEN: self._begin,
            Phase.SUBMITTING: self._submit_again,
            Phase.SUBMITTED: self._wait,
            Phase.FINISHED: self._finish,
            Phase.PREEMPTED: self._next,
            Phase.FAILED: self._start_anew,
            Phase.CANCELLED: self._start_anew,
        }
        if self.handle.phase in (Phase.SUBMITTING, Phase.SUBMITTED):
            self._log(f"goes on: launched before, as {shown(self.path)} says")
        while self.handle.phase is not Phase.DONE:
            steps[self.handle.phase]()

    def cancel(self) -> None:
        """End the job and free what it holds.

        Raises:
            InputError: the engine cannot be asked, or refuses.
        """
        try:
            if self.handle.phase is not Phase.CHOSEN:
                self._end()
        except Trouble as trouble:
            raise InputError(f"{self.handle.name}: not cancelled: {trouble}") from trouble
        self._write(Phase.CANCELLED)

    # Steps, each from one phase to another

    def _begin(self) -> None:
        """Take the first name that no ended job has, then submit.

        A handle that was deleted says nothing of the jobs launched with it. One that is alive is
        taken up; one that has ended must not pass for this one.
        """
        write_handle(self.path, self.handle)
        state = self._persist(self._look)
        if state is None:
            self._write(Phase.SUBMITTING)
            self._submit()
        elif state.ended:
            self._persist(self._free)
            self._write(Phase.CHOSEN, attempt=self.handle.attempt + 1)
        else:
            self._log("is there already, without a handle; it is taken up")
            self._write(Phase.SUBMITTED)

    def _submit_again(self) -> None:
        """An earlier start has not learnt whether it was heard."""
        if self._is_submitted(self.engine.looks):
            self._write(Phase.SUBMITTED)
        else:
            self._submit()

    def _submit(self) -> None:
        seconds = self.pace.timeout * SUBMIT_FACTOR
        try:
            answer(self.engine.submit(self.request), seconds, self._locked)
        except Trouble as trouble:
            # A refusal may be of a name that is taken: by this job, which was heard.
            if not self._is_submitted(1):
                advice = "; once that is fixed, the same command submits it"
                raise InputError(f"{self.handle.name}: not submitted: {trouble}{advice}") from None
        self._write(Phase.SUBMITTED)
        self._log(f"submitted to {self.engine.title}{self._count()}")

    def _is_submitted(self, looks: int) -> bool:
        for look in range(looks):
            if look:
                time.sleep(self.pace.poll)
            if self._persist(self._look) is not None:
                return True
        return False

    def _wait(self) -> None:
        """Look until the job ends, and say so in the handle."""
        before, wait = None, self.pace.poll * FIRST_WAIT
        while not (state := self._persist(self._seen)).ended:
            if state is not before or self._is_log_due():
                since = clock(time.monotonic() - self._began)
                self._log(f"{state.value}, followed for {since}{self._count()}")
            before = state
            time.sleep(wait)
            wait = min(wait * GROWTH, self.pace.poll)
        ends = {State.DONE: Phase.FINISHED, State.PREEMPTED: Phase.PREEMPTED}
        self._write(ends.get(state, Phase.FAILED))
        if state is State.FAILED:
            self._fail(f"failed ({self.handle.word})")

    def _finish(self) -> None:
        self._persist(self._free)
        self._write(Phase.DONE)
        self._log("done")

    def _next(self) -> None:
        self._persist(self._free)
        if self.handle.tries >= self.pace.attempts:
            self._write(Phase.FAILED)
            self._fail(f"preempted or stopped {self.handle.tries} times; --attempts allows no more")
        self._log(f"preempted or stopped ({self.handle.word}); submitted again")
        self._write(Phase.CHOSEN, attempt=self.handle.attempt + 1, tries=self.handle.tries + 1)

    def _start_anew(self) -> None:
        """After a failure the same command means: try again."""
        self._log(f"{self.handle.phase.value} before; submitted again")
        if self.handle.phase is Phase.FAILED:
            self._persist(self._free)
        self._write(Phase.CHOSEN, attempt=self.handle.attempt + 1, tries=1)

    # The engine

    def _look(self) -> State | None:
        """The job's state; None where the engine does not have it. Raises Trouble."""
        for query in self.engine.queries:
            words = self._words(query)
            states = {state: word for word in words if (state := self.engine.states[word])}
            if states:
                first = next(state for state in State if state in states)
                self.handle = replace(self.handle, word=states[first])
                self._warn_of_duplicates(words)
                return first
            if query.final and not words:
                break
        return None

    def _words(self, query: Query) -> list[str]:
        """What a query says of the job: words that the engine's table has. Raises Trouble."""
        title = self.engine.title
        try:
            printed = answer(query.call(self.request), self.pace.timeout)
        except Trouble as trouble:
            if query.unknowing in str(trouble):
                return []
            raise
        try:
            words = query.read(printed, self.handle.name)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise Trouble(f"the answer of {title} is not understood") from error
        if unknown := [word for word in words if word not in self.engine.states]:
            raise Trouble(f"{title} says {unknown[0][:80]!r}, which is not known")
        return words

    def _warn_of_duplicates(self, words: list[str]) -> None:
        """Say once that an engine has several living jobs of one name."""
        states = [self.engine.states[word] for word in words]
        alive = sum(state is not None and not state.ended for state in states)
        if alive > 1 and not self._has_warned_of_duplicates:
            self._has_warned_of_duplicates = True
            self._log(f"{self.engine.title} reports it {alive} times ({', '.join(words)})")

    def _seen(self) -> State:
        """As `_look`, for a job that the engine must have."""
        state = self._look()
        if state is None:
            raise Trouble(f"{self.engine.title} knows no such job")
        return state

    def _persist(self, step: Callable[[], Result]) -> Result:
        """Do a step again and again, with ever longer waits, until it meets no trouble."""
        self._last_answer, wait = time.monotonic(), self.pace.poll * FIRST_WAIT
        while True:
            try:
                result = step()
            except Trouble as trouble:
                self._record_trouble(trouble)
            else:
                self._record_answer()
                return result
            time.sleep(wait)
            wait = min(wait * GROWTH, self.pace.poll)

    def _free(self) -> None:
        """Cancel what ended but is still held; that there is nothing to cancel is no trouble."""
        if self.engine.holds:
            self._end()

    def _end(self) -> None:
        try:
            answer(self.engine.cancel(self.request), self.pace.timeout)
        except Trouble:
            if self._words(self.engine.queries[0]):
                raise

    # What is said

    def _record_trouble(self, trouble: Trouble) -> None:
        """Count a call without a usable answer, and give up when there were none for too long."""
        self._troubles += 1
        since = time.monotonic() - self._last_answer
        counted = f"{self._troubles} times in {clock(since)}"
        if since >= self.pace.patience:
            raise InputError(
                f"{self.handle.name}: given up: no usable answer {counted}: {trouble}; the job may"
                f" go on, and the same command looks for it again{self._how_to_cancel()}"
            )
        if self._troubles == 1 or self._is_log_due():
            self._log(f"state unknown ({counted}): {trouble}")

    def _record_answer(self) -> None:
        if self._troubles:
            self._log(f"the state is known again, after {self._troubles} calls without an answer")
        self._troubles, self._last_answer = 0, time.monotonic()

    def _fail(self, what: str) -> NoReturn:
        held = ""
        if self.engine.holds:
            held = f"; it is charged for until it is cancelled{self._how_to_cancel()}"
        log = shlex.join(self.engine.log(self.request).words)
        again = "the same command submits it again"
        raise InputError(f"{self.handle.name}: {what}; its log: {log}{held}; {again}")

    def _how_to_cancel(self) -> str:
        return f"; to cancel it: {cancelling(self.path)}"

    def _count(self) -> str:
        return f", attempt {self.handle.tries} of {self.pace.attempts}"

    def _is_log_due(self) -> bool:
        return time.monotonic() - self._last_logged >= PLAIN_SECONDS

    def _log(self, what: str) -> None:
        self._last_logged = time.monotonic()
        with suppress(OSError):
            print(f"padir launch: {self.handle.name}: {what}", file=sys.stderr, flush=True)

    def _write(self, phase: Phase, **numbers: int) -> None:
        """Note a phase, and a new attempt or number of tries, in the handle."""
        self.handle = replace(self.handle, phase=phase, **numbers)
        write_handle(self.path, self.handle)


def cancelling(path: Path) -> str:
    """The command that cancels what a handle names."""
    return shlex.join(["padir", "launch", "--cancel", "--handle", str(path)])
