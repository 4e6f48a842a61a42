"""`padir status` and what `padir doctor` finds after a kill: read from files alone."""

import base64
import fcntl
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest

from padir.cli import main
from padir.commands.doctor import check_run
from padir.invocation import snakefile_option
from padir.planning.run_log import state_file
from padir.planning.status import _seconds_left, run_status, trainings

LOG = """\
Job stats:
total                       9
[Tue Nov 24 09:06:07 2026]
rule train:
    output: results/x
    log: logs/train.log
    jobid: 5
    wildcards: dataset=toy, source=xs, target=xt, training=padir, seed=0
[Tue Nov 24 09:06:07 2026]
localrule train:
    output: results/y
    log: logs/other.log
    jobid: 6
    wildcards: dataset=toy, source=xs, target=xt, training=padir, seed=1
[Tue Nov 24 09:06:08 2026]
Error in rule train:
    message: None
    jobid: 5
    output: results/x
    log: logs/train.log (check log file(s) for error details)

2 of 9 steps (22%) done
[Tue Nov 24 09:06:09 2026]
Error in rule train:
    message: None
    jobid: 6
    output: results/y
    log: logs/other.log (check log file(s) for error details)
    shell:
        padir train > logs/other.log
[Tue Nov 24 09:06:09 2026]
Error in rule figure:
    message: None
    jobid: 7
    shell:
        false

3 of 9 steps (33%) done
"""
TRIED_AGAIN = "[Tue Nov 24 09:06:10 2026]\nFinished jobid: 5 (Rule: train)\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seed = tmp_path / "results/runs/toy/xs-xt/padir/seed0"
    work = seed / "work/abc"
    work.mkdir(parents=True)
    (seed.parent / "spec.json").write_text(json.dumps({"run": {"training": {"steps": 100}}}))
    lines = [{"step": step, "seconds": 2.0 * step, "train_loss": 1.0} for step in (10, 20, 30)]
    text = "".join(json.dumps(line) + "\n" for line in lines) + '{"step": 4'
    (work / "metrics.jsonl").write_text(text)
    for folder in ("log", "locks", "incomplete"):
        (tmp_path / ".snakemake" / folder).mkdir(parents=True)
    return tmp_path


def hold(place, process):
    lock = next(place.glob("results/**/work/abc")) / "lock"
    lock.write_text(json.dumps({"host": platform.node(), "process": process}))


def test_a_folder_without_a_run_says_how_to_start(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["status"]) == 0
    shown = capsys.readouterr().out
    assert "snakemake: not running" in shown
    start = f"snakemake {snakefile_option()} --cores all"
    assert f"nothing was started here: {start}, or padir init" in shown
    assert [finding.grade for finding in check_run(tmp_path / "results")] == ["ok"]
    assert not list(tmp_path.iterdir())


def test_a_run_that_has_just_begun_is_not_to_be_started(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake").mkdir()
    with open(tmp_path / ".snakemake/padir.runs", "w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert main(["status"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("snakemake: running\n") and "started here" not in shown


def test_a_running_training_has_a_step_and_the_time_left(place, capsys):
    hold(place, os.getpid())
    [training] = trainings(place / "results")
    assert (training.step, training.steps, training.running, training.done) == (
        30,
        100,
        True,
        False,
    )
    assert training.seconds_left == pytest.approx(140)
    assert main(["status"]) == 0
    assert "toy xs-xt padir seed0: 30 of 100 steps, running, 02:20 left" in capsys.readouterr().out


def timed(*pairs: tuple) -> list[dict]:
    return [{"step": step, "seconds": seconds} for step, seconds in pairs]


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        # The last ten lines, a step a second, after two that took an hour each.
        (timed((1, 3600), (2, 7200), *((n, 7200 + n) for n in range(11, 21))), 80),
        # Lines without a time count for nothing.
        ([*timed((10, 20), (20, 40)), {"step": 30}], 160),
        (timed((10, 20)), None),
        # Steps that were made again, and a clock that began anew.
        (timed((20, 40), (10, 60)), None),
        (timed((20, 40), (20, 60)), None),
        (timed((10, 40), (20, 5)), None),
    ],
)
def test_the_time_left_is_by_the_speed_of_the_last_lines(lines, left):
    assert _seconds_left(lines, 100) == (None if left is None else pytest.approx(left))


def test_the_work_folder_that_was_written_last_counts_and_lines_without_a_step_do_not(place):
    [work] = place.glob("results/**/work/abc")
    for name, age, text in (("aaa", 10, '{"step": 50}\n{"note": 1}\n[60]\n'), ("zzz", 99, "")):
        other = work.parent / name
        other.mkdir()
        (other / "metrics.jsonl").write_text(text)
        os.utime(other / "metrics.jsonl", (time.time() - age,) * 2)
    os.utime(work / "metrics.jsonl", (time.time() - 50,) * 2)
    [training] = trainings(place / "results")
    assert training.step == 50


def test_a_training_on_another_host_is_not_called_stopped(place, capsys):
    lock = next(place.glob("results/**/work/abc")) / "lock"
    lock.write_text(json.dumps({"host": "node17", "process": os.getpid()}))
    assert main(["status"]) == 0
    said = capsys.readouterr().out
    assert "30 of 100 steps, on node17, which is not seen from here: last heard of 00:0" in said
    assert "stopped" not in said


def test_clocks_that_differ_give_no_negative_age(place, capsys):
    [work] = place.glob("results/**/work/abc")
    (work / "lock").write_text(json.dumps({"host": "node17", "process": 1}))
    os.utime(work / "metrics.jsonl", (time.time() + 3600,) * 2)
    main(["status"])
    assert "last heard of 00:00 ago" in capsys.readouterr().out


def test_a_trainer_without_metrics_runs(place, capsys):
    [metrics] = place.glob("results/**/metrics.jsonl")
    metrics.unlink()
    hold(place, os.getpid())
    main(["status"])
    said = capsys.readouterr().out
    assert "toy xs-xt padir seed0: 0 of 100 steps, running\n" in said
    assert "trainings done: 0 of 1 begun" in said


def test_settings_that_changed_since_show_neither_earlier_progress_nor_an_earlier_bundle(
    place, capsys
):
    [seed] = place.glob("results/runs/toy/xs-xt/padir/seed0")
    spec = {"run": {"training": {"steps": 40}}, "digests": {"training": "new"}}
    (seed.parent / "spec.json").write_text(json.dumps(spec))
    bundle = seed / "bundle"
    bundle.mkdir()
    (bundle / "model.safetensors").touch()
    earlier = {"run_spec": {"digests": {"training": "abc"}}}
    (bundle / "spec.json").write_text(json.dumps(earlier))
    hold(place, os.getpid())
    main(["status"])
    said = capsys.readouterr().out
    assert "seed0: 0 of 40 steps, not begun with the current settings" in said
    assert "trainings done: 0 of 0 begun" in said
    # The bundle of the current settings, though its work folder is gone.
    (bundle / "spec.json").write_text(json.dumps({"run_spec": spec}))
    main(["status"])
    said = capsys.readouterr().out
    assert "trainings done: 1 of 1 begun" in said and "not begun" not in said


def test_a_live_run_tells_what_runs_and_what_is_left(place, capsys):
    gone = subprocess.Popen(["true"])
    gone.wait()
    for process, text in ((gone.pid, "1 of 2 jobs\n"), (1, "2 of 3 jobs, about 1 min left\n")):
        state_file(place, process).write_text(text)
        os.utime(state_file(place, process), (0, 0))
    # On another machine, which shares the folder.
    state_file(place, 2**22 + 1).write_text("3 of 4 jobs\n")
    state_file(place, os.getpid()).write_text(
        "7 of 9 jobs, about 3 min left\ntrain toy xs-xt padir seed 0: 40/100 steps\n"
        "decode toy xs-xt ar seed 0: \ndistill toy xs-xt ar: 64/100 sentences\n"
    )
    with open(place / ".snakemake/padir.runs", "w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        main(["status"])
    shown = capsys.readouterr().out.splitlines()
    # Three runs with targets of their own; of a fourth, which was killed, nothing.
    runs = [line for line in shown if line.startswith("snakemake")]
    ours = "snakemake: running, 7 of 9 jobs, about 3 min left"
    others = [
        "snakemake: running, 2 of 3 jobs, about 1 min left",
        "snakemake: running, 3 of 4 jobs",
    ]
    assert sorted(runs) == [*others, ours]
    first = shown.index(ours) + 1
    assert shown[first : first + 2] == [
        "running: decode toy xs-xt ar seed 0",
        "running: distill toy xs-xt ar: 64/100 sentences",
    ]
    # What a killed run left there says nothing.
    main(["status"])
    assert capsys.readouterr().out.startswith("snakemake: not running\n")


def test_a_dead_trainer_is_not_running(place, capsys):
    hold(place, 2**22 + 1)
    [training] = trainings(place / "results")
    assert not training.running and training.seconds_left is None
    main(["status"])
    assert "30 of 100 steps, stopped; the same command goes on" in capsys.readouterr().out


def test_what_failed_is_shown_with_the_last_line_of_its_log(place, capsys):
    (place / ".snakemake/log/a.log").write_text(LOG)
    (place / "logs").mkdir()
    (place / "logs/train.log").write_text("step 1\npadir train: error: no space\n\n")
    (place / "results/report/tables").mkdir(parents=True)
    (place / "results/report/tables/table1.md").write_text("x")
    main(["status"])
    shown = capsys.readouterr().out
    assert "snakemake: not running, 3 of 9 jobs done" in shown
    failed = [line for line in shown.splitlines() if line.startswith("failed: ")]
    assert failed == [
        "failed: train toy xs-xt padir seed 0: padir train: error: no space; all of it:"
        " logs/train.log",
        "failed: train toy xs-xt padir seed 1: no message; all of it: logs/other.log",
        "failed: figure: no message",
    ]
    assert "tables: 1 in results/report/tables, the first: results/report/tables/table1.md" in shown


def test_a_job_that_succeeded_when_tried_again_has_not_failed(place):
    (place / ".snakemake/log/a.log").write_text(LOG + TRIED_AGAIN)
    assert [name for name, _ in run_status(place).failed] == [
        "train toy xs-xt padir seed 1",
        "figure",
    ]


@pytest.mark.parametrize(
    "options", [("--lint",), ("--dag",), ("--report", "page.html"), ("--unlock",), ("--dry-run",)]
)
def test_the_log_of_a_call_that_runs_nothing_is_passed_over(place, options):
    (place / "Snakefile").write_text("rule train:\n    shell: 'false'\n")
    snakemake = [sys.executable, "-m", "snakemake"]
    subprocess.run([*snakemake, "--cores", "1"], cwd=place, capture_output=True)
    [first] = place.glob(".snakemake/log/*.log")
    os.utime(first, (0, 0))
    subprocess.run([*snakemake, *options], cwd=place, capture_output=True)
    assert len([*place.glob(".snakemake/log/*.log")]) == (1 if options == ("--dry-run",) else 2)
    run = run_status(place)
    assert (run.done, run.jobs, run.failed) == (0, 1, [("train", None)])


def test_the_doctor_names_how_to_fix_a_killed_run(place):
    (place / ".snakemake/locks/0.input.lock").touch()
    for name in ("half.txt", "absent.txt"):
        mark = base64.b64encode(name.encode()).decode()
        (place / ".snakemake/incomplete" / mark).touch()
    (place / "half.txt").write_text("ha")
    lock, incomplete = check_run(place / "results")
    assert lock.grade == "note" and "start the same snakemake command again" in lock.text
    assert incomplete.grade == "fix" and "1 file(s)" in incomplete.text
    assert "half.txt" in incomplete.text and "makes them again" in incomplete.text


def test_a_live_run_is_not_called_dead(place):
    (place / ".snakemake/locks/0.input.lock").touch()
    with open(place / ".snakemake/padir.runs", "w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert run_status(place).alive
        [finding] = check_run(place / "results")
        assert (finding.grade, "at work" in finding.text) == ("ok", True)
    assert not run_status(place).alive


def test_a_log_that_vanishes_while_it_is_read_is_passed_over(place, monkeypatch):
    logs = place / ".snakemake/log"
    logs.mkdir(exist_ok=True)
    for day, text in enumerate(("Job stats:\ntotal    7\n", "Job stats:\ntotal    8\n")):
        (logs / f"{day}.log").write_text(text)
        os.utime(logs / f"{day}.log", (day, day))
    read = Path.read_text

    def vanishing(path, **options):
        if path.name == "1.log":
            path.unlink()
        return read(path, **options)

    monkeypatch.setattr(Path, "read_text", vanishing)
    assert run_status(place).jobs == 7
