"""`padir launch` submits each job once, whatever is killed, and says what it cannot launch."""

import os
import shlex

import pytest

from padir.cli import main
from padir.remote.handle import shown_command
from tests.engines import PENDING, WORDS
from tests.launching import ALL, COMMAND, GIVEN, LINE, UNIQUE, handle, kill, last, launch, start

# Processes that are killed, for all engines: the others take long.
SPARE = [
    name if name in ("slurm", "kubernetes") else pytest.param(name, marks=pytest.mark.slow)
    for name in GIVEN
]


@pytest.mark.parametrize("engine", ALL)
def test_a_done_job_is_not_submitted_again(engines, engine, capsys):
    engines.plan("done")
    assert launch(engine) == 0
    asked = len(engines.book["calls"])
    assert launch(engine) == 0
    assert engines.book["submissions"] == 1
    assert len(engines.book["calls"]) == asked
    assert "done before; delete h.json to run it again" in capsys.readouterr().err


@pytest.mark.parametrize("engine", SPARE)
def test_killed_before_submission_it_submits_once(engines, engine):
    engines.plan("running done", unique=engine in UNIQUE, looks=["block"])
    process = start(engine)
    engines.reached()
    assert handle()["phase"] == "chosen"
    kill(process)
    engines.release()
    assert launch(engine) == 0
    assert engines.book["submissions"] == 1


@pytest.mark.parametrize("engine", SPARE)
def test_killed_while_it_submits_it_waits_for_what_goes_on(engines, engine):
    """The engine's command outlives its parent, and is heard later."""
    engines.plan("running done", unique=engine in UNIQUE, submits=["block before"])
    process = start(engine)
    engines.reached()
    assert handle()["phase"] == "submitting"
    kill(process)
    again = start(engine)
    assert again.stderr is not None
    assert "waiting for it to end" in again.stderr.readline()
    assert engines.names() == []
    engines.release()
    again.communicate()
    assert again.returncode == 0
    assert engines.book["submissions"] == 1
    assert handle()["phase"] == "done"


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("engine", SPARE)
def test_killed_with_the_submission_one_job_is_there(engines, engine, when):
    """Before and after the engine heard it."""
    engines.plan("running done", unique=engine in UNIQUE, submits=[f"block {when}"])
    process = start(engine)
    submission = engines.reached()
    kill(process)
    engines.kill(submission)
    heard = [handle()["name"]] if when == "after" else []
    assert engines.names() == heard
    assert launch(engine) == 0
    assert engines.book["submissions"] == (1 if when == "after" else 2)
    assert len({job["name"] for job in engines.book["jobs"]} | {*heard}) <= 1
    assert handle()["attempt"] == 1


@pytest.mark.parametrize("look", [1, 2, 3])
@pytest.mark.parametrize("engine", SPARE)
def test_killed_while_it_waits_it_takes_the_job_up(engines, engine, look, capsys):
    """While the job waits, while it runs, and when it is done and the handle does not say so."""
    engines.plan("waiting running done", looks=[*[""] * look, "block"])
    process = start(engine)
    engines.reached()
    kill(process)
    engines.release()
    assert launch(engine) == 0
    assert engines.book["submissions"] == 1
    assert "goes on: launched before, as h.json says" in capsys.readouterr().err


def test_killed_between_done_and_freed_it_frees(engines):
    engines.plan("done", cancels=["block"])
    process = start("queued-resources")
    engines.reached()
    assert handle()["phase"] == "finished"
    kill(process)
    engines.release()
    assert launch("queued-resources") == 0
    assert engines.book["submissions"] == 1
    assert engines.names() == []
    assert handle()["phase"] == "done"


@pytest.mark.parametrize("more", [[], ["--forget"]])
@pytest.mark.parametrize("engine", SPARE)
def test_two_launches_at_once_submit_one_job(engines, engine, more):
    engines.plan("running done", "running done", looks=["", "block"])
    first = start(engine, *more)
    engines.reached()
    second = start(engine, *more)
    assert second.stderr is not None
    line = second.stderr.readline()
    assert "another padir launch is using h.json" in line and f"process {first.pid}" in line
    engines.release()
    for process in (first, second):
        process.communicate()
        assert process.returncode == 0
    assert engines.book["submissions"] == 1


def test_a_launch_that_waited_for_another_command_is_submitted(engines):
    engines.plan("running done", "running done", looks=["", "block"])
    first = start("slurm", "--forget")
    engines.reached()
    second = start("slurm", "--forget", "--option=--other")
    assert second.stderr is not None and "waiting for it" in second.stderr.readline()
    engines.release()
    for process in (first, second):
        process.communicate()
        assert process.returncode == 0
    assert engines.book["submissions"] == 2


@pytest.mark.parametrize("engine", ["slurm", "skypilot"])
def test_a_lost_handle_finds_the_job_that_lives(engines, engine):
    engines.plan("waiting running running done", looks=["", "", "block"])
    process = start(engine)
    engines.reached()
    kill(process)
    engines.release()
    os.unlink("h.json")
    assert launch(engine) == 0
    assert engines.book["submissions"] == 1


@pytest.mark.parametrize("engine", ["slurm", "skypilot", "kubernetes"])
def test_a_lost_handle_does_not_take_an_old_job_for_this_one(engines, engine):
    """Results deleted, handle too: the engine still knows that such a job was done."""
    engines.plan("done", "running done", unique=engine in UNIQUE)
    assert launch(engine) == 0
    os.unlink("h.json")
    assert launch(engine) == 0
    assert engines.book["submissions"] == 2
    first, second = engines.names()
    assert (first[-2:], second[-2:]) == ("-1", "-2")


def test_a_forgotten_handle_is_gone_once_the_job_is_done(engines, tmp_path):
    assert launch("slurm", "--forget") == 0
    assert not (tmp_path / "h.json").exists()


@pytest.mark.parametrize("engine", ALL)
def test_a_handle_of_another_command_is_refused_and_named(engines, engine, capsys):
    assert launch(engine) == 0
    for other in (["padir", "decode"], COMMAND[:-1]):
        assert launch(engine, command=other) == 2
        (line,) = capsys.readouterr().err.splitlines()[-1:]
        assert f"h.json: is the handle of another command or other options: {LINE} on" in line
        assert "padir launch --cancel --handle h.json" in line
    assert launch(engine, "--option=--other") == 2
    assert engines.book["submissions"] == 1


def test_the_name_is_the_same_for_the_same_command_and_handle(engines):
    assert launch("slurm") == 0
    first = handle()["name"]
    os.unlink("h.json")
    engines.plan()
    assert launch("slurm") == 0
    assert handle()["name"] == first
    os.unlink("h.json")
    engines.plan()
    assert launch("slurm", command=[*COMMAND, "--seed", "1"]) == 0
    assert handle()["name"] != first
    assert len(first) <= 28


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--engine", "xpk", "--", "x"], "--engine xpk needs --accelerator"),
        (["--engine", "slurm", "--zone", "z", "--", "x"], "no use for --zone: allowed are --wor"),
        (["--engine", "slurm"], "the command is missing"),
        (["--", "x"], "--engine is missing: allowed are queued-resources, xpk"),
        (["--engine", "slurm", "--poll", "0", "--", "x"], "--poll is 0.0: allowed are numbers"),
        (["--engine", "slurm", "--poll", "1e12", "--", "x"], "--poll is 1e+12: allowed are up to"),
        (["--engine", "slurm", "--timeout", "1e12", "--", "x"], "--timeout is 1e+12: allowed are"),
        (["--engine", "slurm", "--patience", "nan", "--", "x"], "--patience is nan: allowed"),
        (["--engine", "slurm", "--attempts", "0", "--", "x"], "--attempts is 0: allowed are 1"),
        (["--cancel"], "h.json: there is no handle of a launched command"),
        (["--cancel", "--forget"], "--cancel goes with --handle alone"),
        (["--cancel", "--", "x"], "--cancel goes with --handle alone"),
        (["--cancel", "--runtime-version", "v"], "--cancel goes with --handle alone"),
        (["--cancel", "--option=--x"], "--cancel goes with --handle alone"),
        (
            ["--engine", "kubernetes", "--cluster", "c", "--manifest", "service.yaml", "--", "x"],
            "service.yaml: found another document, allowed: one with kind: Job",
        ),
        (
            ["--engine", "kubernetes", "--cluster", "c", "--manifest", "odd.yaml", "--", "x"],
            "odd.yaml: found another document, allowed: one with kind: Job with metadata",
        ),
        (
            ["--engine", "kubernetes", "--cluster", "c", "--manifest", "date.yaml", "--", "x"],
            "date.yaml: cannot be written as JSON (Object of type date is not JSON serializable):"
            " quote dates, use text as keys, no .nan or .inf",
        ),
        (
            ["--engine", "kubernetes", "--cluster", "c", "--manifest", "nan.yaml", "--", "x"],
            "nan.yaml: cannot be written as JSON (Out of range float values",
        ),
    ],
)
def test_what_cannot_be_launched_is_one_line(engines, tmp_path, words, message, capsys):
    (tmp_path / "service.yaml").write_text("kind: Service\n")
    spec = "spec: {template: {spec: {containers: [{}]}}}"
    (tmp_path / "odd.yaml").write_text(f"kind: Job\nmetadata: train\n{spec}\n")
    for name, value in (("date", "2026-01-01"), ("nan", ".nan")):
        text = f"kind: Job\nmetadata: {{name: x, since: {value}}}\n{spec}\n"
        (tmp_path / f"{name}.yaml").write_text(text)
    assert main(["launch", "--handle", "h.json", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert engines.book["calls"] == []


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": 2}', "not JSON"])
def test_another_file_in_the_place_of_the_handle_is_left_alone(engines, tmp_path, content, capsys):
    (tmp_path / "h.json").write_text(content)
    assert launch("slurm") == 2
    assert "h.json: " in last(capsys)
    assert (tmp_path / "h.json").read_text() == content
    assert engines.book["calls"] == []


def test_a_missing_program_is_one_line(engines, monkeypatch, capsys):
    (engines.folder / "squeue").unlink()
    assert launch("slurm") == 2
    expected = "padir launch: error: squeue: cannot run: No such file or directory; is it on PATH?"
    assert last(capsys) == expected


def test_no_secret_is_written_or_shown(engines, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HF_TOKEN", "canary-environment")
    command = ["env", "API_KEY=canary-word", "padir", "train", "--api-token", "canary-value", "--x"]
    engines.plan("failed")
    assert launch("skypilot", "--option=--secret=A=canary-option", command=command) == 2
    assert launch("skypilot", command=["padir", "train"]) == 2
    texts = [path.read_text() for path in tmp_path.glob("h.json*")]
    assert len(texts) == 2
    texts += capsys.readouterr()
    assert not [text for text in texts if "canary" in text]
    assert handle()["command"] == "env API_KEY=... padir train --api-token ... --x"
    # The engine gets them.
    (called,) = engines.calls("sky", "jobs", "launch")
    assert "canary-option" in called[-2] and "canary-word" in called[-1]


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("https://bob:canary@host/a:b@c", "https://bob:...@host/a:b@c"),
        ("ftp://bob:can@ary@host", "ftp://bob:...@host"),
        ("curl -H 'Authorization: Bearer can-ary.1+/=' x", "curl -H 'Authorization: Bearer ...' x"),
        ("http://host:80/a", "http://host:80/a"),
        ("the bearers of it", "the bearers of it"),
    ],
)
def test_passwords_of_addresses_and_bearers_are_left_out(word, shown):
    assert shown_command([word]) == shlex.join([shown])


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("-H Authorization: Bearer canary x", "-H Authorization: Bearer ... x"),
        ("-H 'Authorization: Bearer' canary x", "-H 'Authorization: Bearer' ... x"),
        ("--token bearer canary x", "--token ... ... x"),
        ("forbearer x", "forbearer x"),
    ],
)
def test_the_word_after_bearer_is_left_out(command, shown):
    assert shown_command(shlex.split(command)) == shown


def test_a_kubernetes_job_without_ready_pods_waits(engines, capsys):
    engines.words({**WORDS, "kubectl": {**WORDS["kubectl"], "odd": "{}", "waiting": PENDING}})
    engines.plan("odd waiting running done")
    assert launch("kubernetes") == 0
    told = capsys.readouterr().err
    assert told.index("waiting, followed") < told.index("running, followed")
