"""Faults of a training in several processes: one is killed, or stands still, or all are killed."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from benchmarks.faults.records import Outcome
from benchmarks.faults.strikes import KILLS
from benchmarks.faults.trial import HUNG, Trial, ended, fork, wait_for

PROCESSES = 2
ENDS_SECONDS = 60.0
"""Most seconds from a kill to the end of the others, as docs/reliability.md has it."""
STANDS_SECONDS = 80.0
"""Most seconds for which a process stands still: the others end before."""
TOGETHER = 75
"""Exit status of a process that ends because another one has ended."""


class SeveralTrial(Trial):
    """Runs of `PROCESSES` processes, started and awaited by one that is not killed.

    Attributes:
        members: file with the process ids of the last start, outside of the folder.
    """

    @property
    def members(self):
        return self.errors.with_suffix(".members")

    def work(self) -> int:
        from padir.cli import main
        from tests.processes import free_port

        port = free_port()

        def process(number: int) -> Callable[[], int]:
            place = f"127.0.0.1:{port},{PROCESSES},{number}"
            return lambda: main([*self.arguments, "--distributed", place])

        logs = [self.errors.with_suffix(f".{number}") for number in range(PROCESSES)]
        children = [fork(process(number), log) for number, log in enumerate(logs)]
        self.announce(children)
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        for log in logs:
            print(log.read_text(errors="replace"), end="")
        # A killed process says nothing; the others say why they end.
        failed = [status for status in statuses if status]
        return next((status for status in failed if status > 0), failed[0] if failed else 0)

    def announce(self, children: list[int]) -> None:
        """Write the process ids, all at once."""
        written = self.members.with_suffix(".new")
        written.write_text(" ".join(map(str, children)))
        written.replace(self.members)

    def start(self, *arguments, **options) -> int:
        self.members.unlink(missing_ok=True)
        return super().start(*arguments, **options)

    def finish(self, disturb=None) -> int:
        return self.awaited(self.start(disturb), self.patience)

    def awaited(self, process: int, seconds: float) -> int:
        """Exit status of a start; `HUNG`, with all killed, where it takes longer."""
        status = wait_for(process, seconds)
        if status == HUNG:
            for member in self.living():
                with suppress(ProcessLookupError):
                    os.kill(member, signal.SIGKILL)
        return status

    def living(self) -> Iterator[int]:
        """Process ids of the last start, once all have been started."""
        if self.members.exists():
            yield from map(int, self.members.read_text().split())


def at_work(process: int) -> bool:
    """Whether a process has not ended, also as one whose end nobody has asked for yet."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def started(trial: SeveralTrial, draw: random.Random) -> tuple[int, int | None]:
    """Start, and wait for a random moment; the process id, and the exit status if it has ended."""
    process = trial.start()
    deadline = time.monotonic() + draw.uniform(0, trial.seconds)
    while time.monotonic() < deadline or not trial.members.exists():
        if (status := ended(process)) is not None:
            return process, status
        time.sleep(0.005)
    return process, None


def killed(trial: SeveralTrial, draw: random.Random, count: int) -> tuple[bool, int | None]:
    """Start, and kill some processes at a random moment; whether they were at work, and the exit
    status of the others."""
    process, status = started(trial, draw)
    if status is not None:
        return False, status
    struck = False
    for victim in draw.sample(list(trial.living()), count):
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
            struck = True
    return struck, trial.awaited(process, ENDS_SECONDS)


def member(trial: SeveralTrial, draw: random.Random) -> Outcome:
    """SIGKILL of one process, several times to a trial; the other ends by itself, with a line."""
    strikes, untold, notes = 0, 0, []
    for _ in range(draw.randint(1, KILLS)):
        struck, status = killed(trial, draw, 1)
        if not struck or status == 0:
            break
        strikes += 1
        if status != TOGETHER or not trial.told():
            untold += 1
            notes.append(f"status {status}: {trial.message()}")
    judged = trial.judge(": ".join([f"killed {strikes} times", *notes]), strikes)
    return Outcome(judged.verdict, strikes, judged.untold + untold, judged.left, judged.note)


def together(trial: SeveralTrial, draw: random.Random) -> Outcome:
    """SIGKILL of all processes at once."""
    struck, _ = killed(trial, draw, PROCESSES)
    return trial.judge("all killed", int(struck))


def still(trial: SeveralTrial, draw: random.Random) -> Outcome:
    """SIGSTOP of one process: the others end by themselves in time, and it does once it goes on."""
    process, status = started(trial, draw)
    if status is not None:
        return trial.judge("ended before", 0, status)
    members = list(trial.living())
    victim = draw.choice(members)
    with suppress(ProcessLookupError):
        os.kill(victim, signal.SIGSTOP)
    deadline = time.monotonic() + STANDS_SECONDS
    others = [member for member in members if member != victim]
    while any(map(at_work, others)) and time.monotonic() < deadline:
        time.sleep(0.05)
    late = any(map(at_work, others))
    with suppress(ProcessLookupError):
        os.kill(victim, signal.SIGCONT)
    status = trial.awaited(process, ENDS_SECONDS)
    untold = int(status != 0 and (status != TOGETHER or not trial.told())) + int(late)
    note = f"stood still: status {status}{', the others waited' if late else ''}"
    judged = trial.judge(note, int(late or status != 0))
    return Outcome(judged.verdict, judged.strikes, judged.untold + untold, judged.left, judged.note)


SEVERAL_STRIKES: dict[str, Callable[[SeveralTrial, random.Random], Outcome]] = {
    "member": member,
    "together": together,
    "still": still,
}
