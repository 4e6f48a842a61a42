"""A short log of Snakemake runs: a line per job, progress, and reasons of failures.

Snakemake reports events through Python's logging. `RunLog` replaces its terminal handler; the file
under .snakemake/log still has everything.
"""

import logging
import os
import re
import shutil
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from padir.planning.remaining import RunningJob, in_words, time_left
from padir.planning.status import job_name, last_lines
from padir.progress import PLAIN_SECONDS, Stream, clock_seconds, find_progress
from padir.temporary import is_running

TICK = "tick"
TICK_SECONDS = 10.0
STATE_SECONDS = 6 * TICK_SECONDS
"""Age below which a state file is that of a live run."""
SHOWN_LINES = 10
"""Lines of a failed job's log that are shown."""
LEAST_FREE = 2**20
"""Free bytes on the disk of a log below which it may lack its last lines."""
SEARCHED_LINES = 1000
"""Lines among which the error of a verb is looked for."""
SHOWN_MESSAGES = ("Will exit", "Terminating", "Trying to restart")
"""Beginnings of messages that are shown while jobs run."""
KNOWN_MESSAGES = (
    "Exiting because a job execution failed",
    "WorkflowError:\nAt least one job did not",
    *(
        f"Warning: the following output files of rule {rule} were not present"
        for rule in ("decide_claims", "page")
    ),
)
"""Beginnings of messages that say nothing new: a job failed; or claims and page of the core stand
where those of everything will."""


def state_file(folder: Path, process: int) -> Path:
    """The file with what a run has left to do and which jobs run, for `padir status`; gone when the
    run ends.

    Args:
        folder: working folder of the run; others may run there.
        process: of the run.
    """
    return folder / f".snakemake/padir.{process}.state"


def live_states(folder: Path) -> list[Path]:
    """The state files of live runs in a working folder: their process lives, or, as it may be
    another machine's, they were written lately."""
    return [path for path, lives in _states(folder).items() if lives or _is_recent(path)]


def _states(folder: Path) -> dict[Path, bool]:
    """Every state file, and whether its process lives on this machine; killed runs leave theirs."""
    found = sorted((folder / ".snakemake").glob("padir.*.state"))
    named = ((path, path.name.split(".")[1]) for path in found)
    return {path: is_running(int(number)) for path, number in named if number.isdecimal()}


def _is_recent(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < STATE_SECONDS
    except OSError:
        return False


@dataclass(frozen=True)
class Job:
    """A started job.

    Attributes:
        rule: its rule.
        name: rule and wildcards.
        log: its log; None where it has none.
        output: its files.
        began: seconds of the monotonic clock.
    """

    rule: str
    name: str
    log: Path | None
    output: list[str]
    began: float


def attach(logger: logging.Logger) -> None:
    """Put a `RunLog` in the place of the logger's handler of the terminal, if it has one."""
    for handler in list(logger.handlers):
        is_file = isinstance(handler, logging.FileHandler)
        if isinstance(handler, logging.StreamHandler) and not is_file:
            logger.removeHandler(handler)
            logger.addHandler(RunLog(handler, handler.stream))


class RunLog(logging.Handler):
    """Handler that shows a run of Snakemake in short.

    On a terminal the last line is kept up to date; elsewhere there is one a minute, and one for
    each job that says how far it is.

    Args:
        native: Snakemake's handler, which shows everything but a run's routine events.
        stream: where to write.
    """

    def __init__(self, native: logging.Handler, stream: Stream):
        super().__init__()
        self.native, self.stream = native, stream
        self.live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self.jobs: dict[str, int] = {}
        self.total = 0
        self.failed: set[int] = set()
        self.began = 0.0
        self.running: dict[int, Job] = {}
        self.ended: dict[str, list[float]] = defaultdict(list)
        self.page = self.error = self.shown = ""
        self.interrupted = False
        self.printed = 0.0
        self.folder = Path.cwd()
        self.state_file = state_file(self.folder, os.getpid())
        self.closing = threading.Event()

    @property
    def done(self) -> int:
        """Jobs that have ended well."""
        return sum(map(len, self.ended.values()))

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record, or note the event that it reports."""
        try:
            self._take(record, str(getattr(record, "event", None)), vars(record))
            if self.live and not self.shown:
                self._redraw()
        except OSError:
            pass  # A lost terminal must not end the run.
        except (LookupError, TypeError, ValueError):
            # Nor must another version's record.
            self.native.handle(record)

    def _take(self, record: logging.LogRecord, event: str, fields: dict[str, Any]) -> None:
        text = str(record.msg or "")
        if event == TICK:
            self._report_progress()
        elif event == "run_info":
            self.jobs = {rule: n for rule, n in fields["stats"].items() if rule != "total"}
            self.total, self.began = fields["stats"]["total"], time.monotonic()
            self.printed = self.began
            for path, lives in _states(self.folder).items():
                if path == self.state_file or not (lives or _is_recent(path)):
                    with suppress(OSError):
                        path.unlink(missing_ok=True)
            self._print(f"{self.total} jobs")
            threading.Thread(target=self._tick, daemon=True).start()
        elif event == "job_info":
            log = Path(fields["log"][0]) if fields["log"] else None
            name = job_name(fields["rule_name"], fields["wildcards"] or {})
            output = list(fields["output"])
            job = Job(fields["rule_name"], name, log, output, time.monotonic())
            self.running[fields["jobid"]] = job
            # Tried again.
            self.failed.discard(fields["jobid"])
        elif event == "job_finished" and fields["job_id"] in self.running:
            job = self.running.pop(fields["job_id"])
            self.ended[job.rule].append(time.monotonic() - job.began)
            self.page = next((f for f in job.output if f.endswith("index.html")), self.page)
            # A target such as `all` makes nothing.
            if job.output:
                seconds = in_words(self.ended[job.rule][-1])
                self._print(f"{self.done} of {self.total}: {job.name}, {seconds}")
        elif event == "job_error":
            self._fail(fields)
        elif event == "error" and fields.get("exception") == "RuleException" and self.total:
            self.error = text
        elif self._shows(record, event, text):
            self.interrupted |= text.startswith("Terminating")
            self._clear()
            self.native.handle(record)

    def _shows(self, record: logging.LogRecord, event: str, text: str) -> bool:
        if record.levelno >= logging.WARNING:
            return not (self.total and text.startswith(KNOWN_MESSAGES))
        if event != "None" or hasattr(record, "quietness"):
            return False
        return text.startswith(SHOWN_MESSAGES) if self.total else not text.startswith("Using shell")

    def _fail(self, fields: dict[str, Any]) -> None:
        job = self.running.pop(fields["jobid"], None)
        name = job.name if job else fields["rule_name"]
        after = f" after {in_words(time.monotonic() - job.began)}" if job else ""
        if self.interrupted:
            return self._print(f"interrupted: {name}{after}")
        self.failed.add(fields["jobid"])
        log = fields["log"][0] if fields["log"] else None
        self._print(f"FAILED: {name}{after}" + (f"; log: {log}" if log else ""))
        lines = last_lines(Path(log), SEARCHED_LINES) if log else []
        if log and (full := full_disk(Path(log))):
            self._print(f"    {full}")
        # Libraries may go on complaining after padir has said why it ends.
        reason = [line for line in lines if re.match(r"padir \S+ error: ", line)] or lines[
            -SHOWN_LINES:
        ]
        for line in reason or (self.error or fields["shellcmd"] or "no reason given").splitlines():
            self._print(f"    {line}")

    def _tick(self) -> None:
        # As a record, so that it waits for the handler's lock.
        while not self.closing.wait(1.0 if self.live else min(TICK_SECONDS, PLAIN_SECONDS)):
            self.handle(logging.makeLogRecord({"event": TICK}))

    def _report_progress(self) -> None:
        """Show the progress of the run and of its jobs."""
        if self.closing.is_set():
            return
        jobs = {job.name: progress_of(job) for job in self.running.values()}
        with suppress(OSError):
            lines = [self.state(), *(f"{name}: {progress}" for name, progress in jobs.items())]
            fresh = self.state_file.with_suffix(".new")
            fresh.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            fresh.replace(self.state_file)
        if self.live:
            return self._redraw()
        if time.monotonic() - self.printed < PLAIN_SECONDS:
            return
        self.printed = time.monotonic()
        self._print(self.state())
        for name, progress in jobs.items():
            if progress:
                self._print(f"    {name}: {progress}")

    def state(self) -> str:
        """Jobs done and time left."""
        now = time.monotonic()
        running = []
        for job in self.running.values():
            left = clock_seconds(progress_of(job))
            running.append(RunningJob(job.rule, now - job.began, left))
        left = time_left(self.jobs, self.ended, running, now - self.began)
        return f"{self.done} of {self.total} jobs, {left}"

    def _redraw(self) -> None:
        """Write the last line of a terminal, as much of it as fits."""
        if self.running:
            jobs = [f"{job.name} {progress_of(job)}".strip() for job in self.running.values()]
            self._clear()
            self.shown = " | ".join([self.state(), *jobs])[: shutil.get_terminal_size().columns - 1]
            self.stream.write(self.shown)
            self.stream.flush()

    def _clear(self) -> None:
        if self.shown:
            self.stream.write("\r\x1b[2K")
            self.shown = ""

    def _print(self, line: str) -> None:
        self._clear()
        self.stream.write(line + "\n")
        self.stream.flush()

    def close(self) -> None:
        """Say how the run ended."""
        # The thread that ticks may be about to put the state file in place.
        self.acquire()
        try:
            if self.total and not self.closing.is_set():
                self.closing.set()
                with suppress(OSError):
                    self.state_file.unlink(missing_ok=True)
                with suppress(OSError, ValueError):
                    self._print(self._outcome(in_words(time.monotonic() - self.began)))
        finally:
            self.release()
        self.native.close()
        super().close()

    def _outcome(self, took: str) -> str:
        page = f"; report: {Path(self.page).absolute()}" if self.page else ""
        if self.done >= self.total:
            return f"{self.total} jobs in {took}{page}"
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return (
            f"stopped after {took}: {self.done} of {self.total} jobs done{failed}; "
            f"the same command goes on from here{page}"
        )


def full_disk(log: Path) -> str:
    """A line where the disk of a log is full, so that the log may lack the reason; else ""."""
    try:
        free = shutil.disk_usage(log.parent).free
    except OSError:
        return ""
    if free >= LEAST_FREE:
        return ""
    return (
        f"the disk of {log.parent} has {free:,} bytes free, so the log may lack the reason: free"
        " some and run the same command"
    )


def progress_of(job: Job) -> str:
    """The last progress in a job's log: `400/3000 steps, 18 steps/s, 02:21 left`; "" for none."""
    lines = last_lines(job.log, SHOWN_LINES) if job.log else []
    return next((progress for line in reversed(lines) if (progress := find_progress(line))), "")
