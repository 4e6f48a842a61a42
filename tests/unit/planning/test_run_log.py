"""What a person sees of a run, from the records that Snakemake logs."""

import io
import logging
import os
import re
import subprocess
import time
from types import SimpleNamespace

import pytest

from padir.planning import run_log
from padir.planning.run_log import attach, job_name


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Run:
    """A logger as Snakemake sets it up, and short ways to its records."""

    def __init__(self, stream: io.StringIO):
        self.stream = stream
        self.logger = logging.Logger("snakemake")
        self.logger.addHandler(logging.StreamHandler(stream))
        attach(self.logger)
        [self.handler] = self.logger.handlers

    def say(self, event, level=logging.INFO, message=None, **fields):
        self.logger.log(level, message, extra={"event": event, **fields})

    def begin(self, total=3):
        self.say("run_info", stats={"train": total, "total": total})

    def start(self, jobid, log, rule="train", output="model"):
        wildcards = {"source": "de", "target": "en", "training": "padir", "seed": "0"}
        fields = dict(jobid=jobid, rule_name=rule, wildcards=wildcards, log=[str(log)])
        self.say("job_info", **fields, output=[output])

    def fail(self, jobid, log):
        fields = dict(jobid=jobid, rule_name="train", log=[str(log)], shellcmd="padir train")
        self.say("job_error", logging.ERROR, "Error in rule train", **fields)

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


@pytest.fixture
def no_time_passes(monkeypatch):
    """By the clock of the run's log, whatever the machine does; nothing is shown by itself."""
    monkeypatch.setattr(run_log, "time", SimpleNamespace(monotonic=lambda: 100.0, time=time.time))
    monkeypatch.setattr(run_log.RunLog, "_tick", lambda self: None)


@pytest.fixture
def run(no_time_passes):
    made = Run(io.StringIO())
    yield made
    made.handler.close()


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(
        "started\ntrain padir: 400/3000 steps, 18.1 steps/s, 02:24 left, loss 1\nsaved\n"
    )
    return path


def test_a_job_is_a_line_and_the_end_names_time_and_page(run, log, tmp_path):
    run.begin(2)
    run.start(1, log)
    run.say("job_finished", job_id=1)
    run.start(2, log, "page", f"{tmp_path}/index.html")
    run.say("job_finished", job_id=2)
    run.handler.close()
    run.handler.close()
    assert run.lines == [
        "2 jobs",
        "1 of 2: train de-en padir seed 0, 0 s",
        "2 of 2: page de-en padir seed 0, 0 s",
        f"2 jobs in 0 s; report: {tmp_path}/index.html",
    ]


def test_once_a_minute_there_is_the_progress_of_run_and_jobs(monkeypatch, log):
    monkeypatch.setattr(run_log, "PLAIN_SECONDS", 0.01)
    run = Run(io.StringIO())
    run.begin()
    run.start(1, log)
    while len(run.lines) < 5:
        pass
    run.handler.close()
    assert "0 of 3 jobs, about 7 min left" in run.lines
    assert "    train de-en padir seed 0: 400/3000 steps, 18.1 steps/s, 02:24 left" in run.lines


def test_what_runs_and_what_is_left_stands_in_a_file_while_the_run_lasts(
    monkeypatch, log, tmp_path
):
    monkeypatch.setattr(run_log, "TICK_SECONDS", 0.01)
    monkeypatch.chdir(tmp_path)
    state = run_log.state_file(tmp_path, os.getpid())
    state.parent.mkdir()
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = run_log.state_file(tmp_path, gone.pid)
    left.write_text("left by a killed run\n")
    os.utime(left, (0, 0))
    other = run_log.state_file(tmp_path, 1)
    other.write_text("another run\n")
    run = Run(io.StringIO())
    run.begin()
    run.start(1, log)
    run.start(2, tmp_path / "no.log", rule="decode")
    deadline = time.monotonic() + 30
    while not state.exists() or len(state.read_text().splitlines()) < 3:
        assert time.monotonic() < deadline
    text = state.read_text()
    run.handler.close()
    # Three trainings of 144 s are left. One to two jobs ran at once on average, by the clock of the
    # moment: 432 s / 2 = 3.6 min to 432 s = 7.2 min.
    first, *others = text.splitlines()
    assert re.fullmatch(r"0 of 3 jobs, at least [4-7] min left", first)
    assert others == [
        "train de-en padir seed 0: 400/3000 steps, 18.1 steps/s, 02:24 left",
        "decode de-en padir seed 0: ",
    ]
    assert list(state.parent.iterdir()) == [other]
    # Not before a minute is over.
    assert run.lines[:1] == ["3 jobs"] and len(run.lines) == 2


def test_a_terminal_has_one_line_that_is_written_anew(no_time_passes, monkeypatch, log):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    run = Run(Terminal())
    run.begin()
    run.start(1, log)
    run.say(None, logging.WARNING, "a warning")
    run.say("job_finished", job_id=1)
    run.handler.close()
    state = "0 of 3 jobs, about 7 min left | train de-en padir seed 0 400/3000 steps"[:59]
    shown = run.stream.getvalue().split("\r\x1b[2K")
    assert shown[0] == f"3 jobs\n{state}"
    assert shown[1] == f"a warning\n{state}"
    assert shown[2].startswith("1 of 3: train de-en padir seed 0, 0 s\nstopped after")


def test_only_unexpected_files_are_a_warning(run):
    """Claims and page of the core stand where those of everything will."""
    present = "Warning: the following output files of rule {} were not present when the DAG was"
    run.begin()
    for rule in ("decide_claims", "page", "decode"):
        run.say(None, logging.WARNING, present.format(rule))
    assert run.lines == ["3 jobs", present.format("decode")]


def test_a_failure_shows_the_end_of_the_log(run, log):
    log.write_text("".join(f"line {n}\n" for n in range(30)))
    run.begin()
    run.start(1, log)
    run.say("error", logging.ERROR, "RuleException:\nlong", exception="RuleException")
    run.fail(1, log)
    run.say(None, logging.ERROR, "Exiting because a job execution failed. Look above")
    run.handler.close()
    failed = f"FAILED: train de-en padir seed 0 after 0 s; log: {log}"
    reason = [f"    line {n}" for n in range(20, 30)]
    end = "stopped after 0 s: 0 of 3 jobs done, 1 failed; the same command goes on from here"
    assert run.lines == ["3 jobs", failed, *reason, end]


def test_a_job_that_is_tried_again_fails_once_or_not_at_all(run, log):
    run.begin(4)
    for job in (1, 1, 2):
        run.start(job, log)
        run.fail(job, log)
    run.start(2, log)
    run.say("job_finished", job_id=2)
    run.handler.close()
    assert ": 1 of 4 jobs done, 1 failed; the same command" in run.lines[-1]


def test_the_error_line_of_a_verb_is_reported_though_other_messages_follow(run, log):
    log.write_text("begun\npadir train: error: no space\n" + "Exception ignored\n" * 30)
    run.begin()
    run.start(1, log)
    run.fail(1, log)
    assert run.lines[2:] == ["    padir train: error: no space"]


@pytest.mark.parametrize(("free", "said"), [(0, True), (2**20 - 1, True), (2**20, False)])
def test_a_failure_says_that_the_disk_of_its_log_is_full(run, log, monkeypatch, free, said):
    log.write_text("")
    monkeypatch.setattr(run_log.shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    run.begin()
    run.start(1, log)
    run.fail(1, log)
    full = f"the disk of {log.parent} has {free:,} bytes free, so the log may lack the reason"
    assert (full in run.stream.getvalue()) == said
    assert run.lines[-1] == "    padir train"


def test_a_failure_without_a_log_shows_snakemakes_reason(run, tmp_path):
    run.begin()
    run.start(1, tmp_path / "none.log")
    run.say("error", logging.ERROR, "RuleException:\nout of memory", exception="RuleException")
    run.fail(1, tmp_path / "none.log")
    assert run.lines[-2:] == ["    RuleException:", "    out of memory"]


def test_a_failure_without_a_log_or_command_says_that_there_is_no_reason(run):
    run.begin()
    nothing = dict(jobid=7, rule_name="vocab", log=[], shellcmd=None)
    run.say("job_error", logging.ERROR, "Error in rule vocab", **nothing)
    assert run.lines[1:] == ["FAILED: vocab", "    no reason given"]


def test_the_last_progress_in_a_log_is_that_of_its_job(log):
    with log.open("a") as file:
        file.write("train padir: 800/3000 steps, 18.1 steps/s, 02:02 left, loss 1\nsaved\n")
    job = run_log.Job("train", "train padir", log, [], 0.0)
    assert run_log.progress_of(job) == "800/3000 steps, 18.1 steps/s, 02:02 left"


def test_an_interrupt_is_no_failure(run, log):
    run.begin()
    run.start(1, log)
    run.say(None, message="Terminating processes on user request, this might take some time.")
    run.fail(1, log)
    run.handler.close()
    assert run.lines[2] == "interrupted: train de-en padir seed 0 after 0 s"
    assert "failed" not in run.lines[3]


def test_routine_is_hidden_and_all_else_passes(run):
    run.say(None, message="Unlocked working directory.")
    run.say("resources_info", message="Provided cores: 2")
    run.begin()
    run.say(None, message="Select jobs to execute...")
    run.say(None, message="Removing temporary output x.")
    run.say("error", logging.ERROR, "MissingOutputException", exception="MissingOutputException")
    assert run.lines == ["Unlocked working directory.", "3 jobs", "MissingOutputException"]


def test_a_record_of_another_form_is_shown_as_it_is(run):
    run.say("job_info", message="Rule: train")
    assert run.lines == ["Rule: train"]


def test_a_lost_terminal_does_not_end_the_run(run, monkeypatch, log):
    def broken(text):
        raise BrokenPipeError

    run.begin()
    monkeypatch.setattr(run.stream, "write", broken)
    run.start(1, log)
    run.say("job_finished", job_id=1)
    run.handler.close()


def test_a_logger_without_a_terminal_stays_as_it_is(tmp_path):
    logger = logging.Logger("snakemake")
    handler = logging.FileHandler(tmp_path / "log")
    logger.addHandler(handler)
    attach(logger)
    assert logger.handlers == [handler]
    handler.close()


def test_a_name_has_the_wildcards_that_say_something():
    wildcards = {"source": "de", "target": "en", "shard": "2", "shards": "4", "further": ""}
    assert job_name("distill", wildcards) == "distill de-en shard 2 of 4"
    assert job_name("vocab", {"first": "de", "second": "en"}) == "vocab de-en"
    assert job_name("page", {"scope": "core/"}) == "page core"
