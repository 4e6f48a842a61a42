"""Faults of the workflow: its scheduler, process group and jobs, two schedulers."""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.faults.records import Outcome
from benchmarks.faults.strikes import YEARS, files, full, spoil
from benchmarks.faults.trial import Trial, ended, wait_for

VERBS = ("clean", "vocab", "train", "decode", "score", "report")
ORPHANS_SECONDS = 300


class SchedulerTrial(Trial):
    """Runs of Snakemake on a folder; `told` asks for no traceback, since it says a lot."""

    group = False

    def work(self) -> int:
        import snakemake.cli

        os.chdir(self.folder)
        sys.argv[:] = ["snakemake", *self.arguments]
        return snakemake.cli.main() or 0

    def kill(self, process: int) -> None:
        (os.killpg if self.group else os.kill)(process, signal.SIGKILL)

    def told(self, log: Path | None = None) -> bool:
        return "Traceback" not in (log or self.errors).read_text(errors="replace")

    def jobs(self, verb: str | None = None) -> list[int]:
        """Processes of `padir`, or of one verb, that work in the folder."""
        processes = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (path / "cmdline").read_bytes().split(b"\0")
                if Path(os.readlink(path / "cwd")) != self.folder:
                    continue
                names = [os.path.basename(word) for word in words[:3]]
                if b"padir" in names:
                    after = words[names.index(b"padir") + 1].decode()
                    if verb in (None, after):
                        processes.append(int(path.name))
        return processes

    def clear(self) -> None:
        """Wait for jobs that a killed scheduler left, then remove all but the inputs."""
        deadline = time.monotonic() + ORPHANS_SECONDS
        while self.jobs() and time.monotonic() < deadline:
            time.sleep(0.05)
        super().clear()


def scheduler(trial: SchedulerTrial, draw: random.Random) -> Outcome:
    """SIGKILL of the scheduler alone; its jobs go on."""
    trial.group = False
    struck = trial.kill_after(draw.uniform(0, trial.seconds))
    return trial.judge("scheduler killed", int(struck))


def removal(trial: SchedulerTrial, draw: random.Random) -> Outcome:
    """SIGKILL of the scheduler while it removes raw text, which it does file by file."""
    files = draw.randint(1, 14)

    def disturb() -> None:
        remove, removed = os.unlink, 0

        def counted(path: Any, *, dir_fd: int | None = None) -> None:
            nonlocal removed
            remove(path, dir_fd=dir_fd)
            if dir_fd is not None and os.readlink(f"/proc/self/fd/{dir_fd}").endswith("/raw"):
                removed += 1
                if removed == files:
                    os.kill(os.getpid(), signal.SIGKILL)

        os.unlink = counted

    status = wait_for(trial.start(disturb), trial.patience)
    struck = status == -signal.SIGKILL
    return trial.judge(f"killed after {files} files", int(struck), None if struck else status)


def group(trial: SchedulerTrial, draw: random.Random) -> Outcome:
    """SIGKILL of the scheduler and its jobs."""
    trial.group = True
    struck = trial.kill_after(draw.uniform(0, trial.seconds))
    return trial.judge("group killed", int(struck))


def job(trial: SchedulerTrial, draw: random.Random) -> Outcome:
    """SIGKILL of a job's process, some time after it started."""
    verb = "score" if draw.random() < 0.5 else draw.choice(VERBS)
    process = trial.start()
    delay, struck, status = draw.uniform(0, 2), 0, None
    while (status := ended(process)) is None:
        if not struck and (jobs := trial.jobs(verb)):
            time.sleep(delay)
            with suppress(ProcessLookupError):
                os.kill(jobs[0], signal.SIGKILL)
                struck = 1
        time.sleep(0.02)
    # A job that was killed must not end well.
    return trial.judge(f"{verb} killed after {delay:.1f} s", int(struck and status != 0), status)


def damage(trial: SchedulerTrial, draw: random.Random) -> Outcome:
    """A file between two rules cut short, or one bit of it flipped, after a kill."""
    return damage_among(trial, draw, trial.command.damaged)


def settings(trial: SchedulerTrial, draw: random.Random) -> Outcome:
    """The same with settings that rules write, statistics and scores."""
    return damage_among(trial, draw, trial.command.settings)


def damage_among(trial: SchedulerTrial, draw: random.Random, patterns: tuple[str, ...]) -> Outcome:
    """Kill the workflow, damage one of the files that the patterns name, and go on."""
    trial.group = True
    trial.kill_after(draw.uniform(0.2, 1) * trial.seconds)
    paths = files(trial, patterns)
    if not paths:
        return trial.judge("nothing to damage", 0)
    path = draw.choice(paths)
    content, times = path.read_bytes(), path.stat()

    def fix() -> None:
        path.write_bytes(content)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    what = f"{path.relative_to(trial.folder).parent}: {spoil(path, draw)}"
    spoiled = path.read_bytes()

    def why_wrong() -> str:
        # Where all that reads the file is made, it stays as it is, and its readers are compared.
        if path.exists() and path.read_bytes() == spoiled:
            fix()
        return SchedulerTrial.why_wrong(trial)

    with mock.patch.object(trial, "why_wrong", why_wrong):
        return trial.judge(what, 1, fix=fix)


def two(trial: SchedulerTrial, draw: random.Random) -> Outcome:
    """A second scheduler while the first is at work; it may refuse."""
    log = trial.errors.with_suffix(".second")
    first = trial.start()
    time.sleep(draw.uniform(0, 0.9) * trial.seconds)
    if (status := ended(first)) is not None:
        return trial.judge("the second came late", 0, status)
    second = trial.start(log=log)
    statuses = [wait_for(process, trial.patience) for process in (first, second)]
    return trial.judge(f"statuses {statuses}", 1, 0 if 0 in statuses else 1)


def clock(trial: SchedulerTrial, draw: random.Random) -> Outcome:
    """File times of the past and the future between two runs."""
    trial.group = True
    trial.kill_after(draw.uniform(0.3, 1) * trial.seconds)
    for path in sorted((trial.folder / "results").rglob("*")):
        moment = time.time() + draw.uniform(-YEARS, YEARS)
        os.utime(path, (moment, moment))
    return trial.judge("file times moved", 1)


SCHEDULER_STRIKES: dict[str, Callable[[Any, random.Random], Outcome]] = {
    "scheduler": scheduler,
    "removal": removal,
    "group": group,
    "job": job,
    "full": full,
    "damage": damage,
    "settings": settings,
    "two": two,
    "clock": clock,
}
