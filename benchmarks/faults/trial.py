"""Runs of one command in a folder: started, killed, finished, judged."""

import hashlib
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from benchmarks.faults.commands import Command
from benchmarks.faults.records import Outcome

ONE_LINE = re.compile(r"^padir [a-z-]+: (error: |stopped |interrupted)")
PROVENANCE = re.compile(r"(^|\.)provenance\.json$")
TIMES = re.compile(rb'"(?:seconds|cpu_seconds|tokens_per_second)": [0-9.e+-]+')
ATTEMPTS = 3
HUNG = -99
"""In place of an exit status: the command did not end."""

Disturb = Callable[[], None]


def in_fork(work: Callable[[], int], log: Path, stdin: Path | None = None,
            stdout: Path | None = None) -> int:  # fmt: skip
    """Do some work in a fork of this process; its exit status."""
    return wait_for(fork(work, log, stdin, stdout), 600)


def fork(work: Callable[[], int], log: Path, stdin: Path | None = None,
         stdout: Path | None = None) -> int:  # fmt: skip
    """Begin some work in a fork of this process, in a group of its own; its process id."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    status = 99
    try:
        os.setsid()
        write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        opened = os.open(log, write)
        os.dup2(os.open(stdin or os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(stdout, write) if stdout else opened, 1)
        os.dup2(opened, 2)
        status = work()
    except SystemExit as stopped:
        status = stopped.code if isinstance(stopped.code, int) else 1
    except BaseException:
        import traceback

        with suppress(OSError):
            traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)


def ended(process: int) -> int | None:
    """Exit status of a child; None while it is at work. A status is told once."""
    done, status = os.waitpid(process, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def wait_for(process: int, seconds: float) -> int:
    """Exit status of a child, which is killed with its group where it takes longer."""
    deadline = time.monotonic() + seconds
    while (status := ended(process)) is None:
        if time.monotonic() > deadline:
            os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return HUNG
        time.sleep(0.005)
    return status


class Trial:
    """Runs of one command in a folder.

    Args:
        command: what runs.
        folder: an empty one; all trials of a command use the same, since outputs name their inputs.
        log: where the command's messages go, outside of the folder.

    Attributes:
        seconds: that an undisturbed run takes.
        expected: digest of what it leaves.
        growth: bytes that it adds to the folder.
    """

    def __init__(self, command: Command, folder: Path, log: Path):
        self.command, self.folder, self.errors = command, folder, log
        self.seconds, self.patience, self.growth = 0.0, 600.0, 0
        folder.mkdir(parents=True, exist_ok=True)
        self.arguments = command.prepare(folder)
        self.kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def measure(self) -> None:
        """Run twice without a disturbance, to learn what is right.

        Raises:
            SystemExit: it fails, or the runs differ.
        """
        digests = []
        for _ in range(2):
            self.clear()
            before, began = self.size(), time.monotonic()
            if self.finish():
                raise SystemExit(f"{self.command.name} fails undisturbed: {self.message(2000)}")
            self.seconds = time.monotonic() - began
            self.growth = self.size() - before
            digests.append(self.outputs())
        if digests[0] != digests[1]:
            raise SystemExit(f"{self.command.name}: two undisturbed runs differ")
        self.expected, self.expected_model = digests[0], self.outputs(("bundle/model.*",))
        self.patience = max(120.0, 20 * self.seconds)

    def work(self) -> int:
        """What the process does."""
        from padir.cli import main

        self.command.patch()
        return main(self.arguments)

    def start(self, disturb: Disturb | None = None, log: Path | None = None) -> int:
        """Start the command; its process id."""

        def work() -> int:
            if disturb is not None:
                disturb()
            return self.work()

        stdin = self.folder / self.command.stdin if self.command.stdin else None
        stdout = self.folder / "out.txt" if self.command.stdin else None
        return fork(work, log or self.errors, stdin, stdout)

    def finish(self, disturb: Disturb | None = None) -> int:
        """Run the command to its end; its exit status."""
        return wait_for(self.start(disturb), self.patience)

    def kill(self, process: int) -> None:
        """What SIGKILL is sent to."""
        os.kill(process, signal.SIGKILL)

    def kill_after(self, seconds: float, ready: Callable[[], bool] = lambda: True) -> bool:
        """Start the command and kill it; whether it was still at work.

        Args:
            seconds: from the moment when it is ready to be killed.
            ready: whether that has come.
        """
        process = self.start()
        deadline = None
        while deadline is None or time.monotonic() < deadline:
            if ended(process) is not None:
                return False
            if deadline is None and ready():
                deadline = time.monotonic() + seconds
            time.sleep(0.002)
        self.kill(process)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL

    def told(self, log: Path | None = None) -> bool:
        """Whether the last run's reason is one line of ours."""
        lines = (log or self.errors).read_text(errors="replace").splitlines()
        trace = any(line.startswith("Traceback") for line in lines)
        return bool(lines) and not trace and any(ONE_LINE.match(line) for line in lines[-2:])

    def message(self, characters: int = 400) -> str:
        """The end of what the last run said."""
        return self.errors.read_text(errors="replace")[-characters:]

    def outputs(self, patterns: tuple[str, ...] | None = None) -> str:
        """A digest of the outputs, but for clocks and provenance."""
        whole = hashlib.sha256()
        for pattern in patterns or self.command.outputs:
            for path in sorted(self.folder.glob(pattern)):
                if path.is_file() and not PROVENANCE.search(path.name):
                    name = str(path.relative_to(self.folder))
                    whole.update(name.encode() + TIMES.sub(b"", path.read_bytes()))
        return whole.hexdigest()

    def leftovers(self) -> list[Path]:
        """Temporary files that the finished command left."""
        return [path for path in self.folder.rglob("*")
                if path.name.endswith(".tmp") or ".orbax-checkpoint-tmp" in path.name]  # fmt: skip

    def size(self) -> int:
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def restore(self) -> None:
        """Make the inputs what they were."""
        for path, content in self.kept.items():
            if not path.exists() or path.read_bytes() != content:
                path.write_bytes(content)

    def clear(self) -> None:
        """Remove all but the inputs, which become what they were."""
        for path in self.folder.iterdir():
            if path.is_dir() and not any(path in file.parents for file in self.kept):
                shutil.rmtree(path)
            elif path.is_file() and path not in self.kept:
                path.unlink()
        for path in self.folder.rglob("*"):
            if path.is_file() and path not in self.kept:
                path.unlink()
        self.restore()

    def why_wrong(self) -> str:
        """What is wrong with outputs that a run with exit status 0 left; empty: nothing."""
        return "" if self.outputs() == self.expected else "another output"

    def judge(self, what: str, strikes: int, status: int | None = None,
              fix: Callable[[], None] | None = None) -> Outcome:  # fmt: skip
        """Run the same command until it ends by itself, and compare.

        Args:
            what: the disturbance, for the note.
            strikes: how often the fault struck.
            status: of the disturbed run; None: it was killed.
            fix: what a refusal asks for, such as another copy of a damaged input.
        """
        untold, notes = 0, [what]

        def said(status: int) -> None:
            nonlocal untold
            if status and (status == HUNG or not self.told()):
                untold += 1
                notes.append(f"status {status}: {self.message()}")

        def outcome(verdict, reason: str) -> Outcome:
            left = [str(path.relative_to(self.folder)) for path in self.leftovers()]
            notes.extend([reason, *(f"{path} is left" for path in left)])
            return Outcome(verdict, strikes, untold, bool(left), ": ".join(filter(None, notes)))

        if status is not None:
            said(status)
        if status == 0 and (reason := self.why_wrong()):
            return outcome("wrong", f"{reason} of the disturbed run, status 0")
        for _ in range(ATTEMPTS):
            if not (status := self.finish()):
                break
            said(status)
        if status == 0:
            reason = self.why_wrong()
            return outcome("wrong" if reason else "survived", reason)
        if fix is None or not self.told():
            return outcome("lost", f"status {status} again and again: {self.message()}")
        refusal = self.message(300)
        fix()
        restarted = self.command.restarts and "--restart" in refusal
        if restarted:
            self.arguments.append("--restart")
        status = self.finish()
        if restarted:
            self.arguments.pop()
        if status:
            return outcome("lost", f"fixed, still status {status}: {self.message()}")
        right = (self.outputs(("bundle/model.*",)) == self.expected_model if restarted
                 else self.outputs() == self.expected)  # fmt: skip
        return outcome("refused" if right else "wrong", refusal)


class CloudTrial(Trial):
    """Runs that buy translations: the bill must be as the ledger says.

    Attributes:
        bought: characters that the service has billed in this trial.
    """

    def clear(self) -> None:
        from benchmarks.faults.service import billed

        super().clear()
        billed()
        self.bought = 0

    def why_wrong(self) -> str:
        from benchmarks.faults.service import billed
        from padir.distill.ledger import Ledger

        if reason := super().why_wrong():
            return reason
        needed = sum(map(len, {*(self.folder / "source.txt").read_text().split("\n")}))
        with Ledger(self.folder / "ledger.sqlite") as ledger:
            doubt = ledger.spent("loopback").doubt_characters
        self.bought += billed()
        return "" if needed <= self.bought <= needed + doubt else (
            f"{self.bought} characters bought, {needed} needed, {doubt} in doubt")  # fmt: skip
