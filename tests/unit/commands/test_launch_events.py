"""Jobs of `padir launch` that are preempted, fail, are stopped or cancelled; engines in trouble."""

import re
import signal

import pytest

from padir.cli import main
from padir.remote import follow
from tests.engines import UNIT, WORDS
from tests.launching import ALL, PREEMPTING, UNIQUE, handle, kill, last, launch, start


@pytest.mark.parametrize("engine", PREEMPTING)
def test_preempted_twice_it_is_submitted_three_times(engines, engine, capsys):
    engines.plan("running preempted", "preempted", "running done", unique=engine in UNIQUE)
    assert launch(engine) == 0
    assert engines.book["submissions"] == 3
    assert handle()["attempt"] == 3
    assert capsys.readouterr().err.count("preempted or stopped (") == 2
    if engine == "queued-resources":
        assert engines.names() == []
        assert [name[-2:] for name in engines.book["cancelled"]] == ["-1", "-2", "-3"]


def test_preempted_too_often_it_fails_in_one_line(engines, capsys):
    engines.plan("preempted", "preempted", "done")
    assert launch("slurm", "--attempts", "2") == 2
    assert engines.book["submissions"] == 2
    assert "preempted or stopped 2 times; --attempts allows no more" in last(capsys)
    # Asked again, there is a new count.
    assert launch("slurm", "--attempts", "2") == 0


def test_killed_between_two_attempts_it_goes_on_with_the_second(engines):
    engines.plan("preempted", "running done", cancels=["block"])
    process = start("queued-resources")
    engines.reached()
    assert handle()["phase"] == "preempted"
    kill(process)
    engines.release()
    assert launch("queued-resources") == 0
    assert engines.book["submissions"] == 2
    assert handle()["tries"] == 2


@pytest.mark.parametrize(("status", "submissions"), [("75", 2), ("143", 2), ("2", 1)])
def test_a_unit_that_was_asked_to_stop_is_no_failure(engines, status, submissions):
    word = f"ACTIVE|{UNIT} exited 0|{UNIT} failed {status}"
    engines.words({**WORDS, "gcloud": {**WORDS["gcloud"], "failed": word}})
    engines.plan("failed", "done")
    assert launch("queued-resources") == (0 if submissions == 2 else 2)
    assert engines.book["submissions"] == submissions


LOGS = {
    "queued-resources": "'--command=sudo journalctl --no-pager --unit={}'",
    "xpk": "kubectl logs --all-containers --tail=-1 --selector=jobset.sigs.k8s.io/jobset-name={}",
    "skypilot": "sky jobs logs --name={} --no-follow",
    "slurm": "h.json.{}.log",
    "kubernetes": "kubectl logs --selector=job-name={} --all-containers --tail=-1 --context=c"
    " --namespace=research",
}


@pytest.mark.parametrize("engine", ALL)
def test_a_failure_is_one_line_with_the_command_for_the_log(engines, engine, capsys):
    engines.plan("running failed", "running done")
    assert launch(engine) == 2
    line = last(capsys)
    name = handle()["name"]
    assert line.startswith(f"padir launch: error: {name}: failed (")
    assert LOGS[engine].format(name) in line
    assert ("charged for until it is cancelled" in line) == (engine == "queued-resources")
    assert handle()["phase"] == "failed"
    # The same command after what was wrong is fixed.
    assert launch(engine) == 0
    assert engines.book["submissions"] == 2
    assert handle()["attempt"] == 2


@pytest.mark.parametrize("engine", ALL)
def test_a_refused_submission_is_one_line(engines, engine, capsys):
    engines.plan("done", submits=["refuse"])
    assert launch(engine) == 2
    assert "not submitted: " in (line := last(capsys)) and "quota exceeded; once" in line
    assert launch(engine) == 0
    assert engines.book["submissions"] == 2


@pytest.mark.parametrize("engine", ALL)
def test_failed_looks_are_counted_and_survived(engines, engine, capsys):
    engines.plan("running done", looks=["error", "", "error", "garbage", "", "error", ""])
    assert launch(engine) == 0
    assert engines.book["submissions"] == 1
    told = capsys.readouterr().err
    assert re.search(r"state unknown \(1 times in 00:\d\d\)", told)
    assert "connection reset by peer" in told
    assert "known again, after" in told


def test_a_look_that_hangs_is_killed_and_survived(engines, capsys):
    engines.plan("running done", looks=["", "hang"])
    assert launch("slurm", "--timeout", "2") == 0
    assert "squeue gave no answer in 2 s" in capsys.readouterr().err
    assert engines.book["submissions"] == 1


@pytest.mark.parametrize(("when", "submissions"), [("after", 1), ("before", 2)])
def test_a_submission_that_hangs_is_looked_for(engines, monkeypatch, when, submissions, capsys):
    monkeypatch.setattr(follow, "SUBMIT_FACTOR", 1)
    engines.plan("running done", submits=[f"hang {when}"])
    status = launch("slurm", "--timeout", "2")
    if when == "before":
        assert status == 2
        assert "not submitted: sbatch gave no answer" in last(capsys)
        status = launch("slurm", "--timeout", "60")
    assert status == 0
    assert engines.book["submissions"] == submissions
    assert len(engines.names()) == 1


@pytest.mark.parametrize("what", ["error", "garbage"])
def test_without_an_answer_it_gives_up_in_one_line(engines, what, capsys):
    engines.plan("running running done", looks=["", "", *[what] * 1000])
    assert launch("kubernetes", "--patience", "0.2") == 2
    line = last(capsys)
    assert "given up: no usable answer" in line and "padir launch --cancel" in line
    engines.edit(looks=[])
    assert launch("kubernetes") == 0
    assert engines.book["submissions"] == 1


def test_a_job_that_vanished_is_not_submitted_again(engines, capsys):
    engines.plan("running")
    engines.edit(looks=["", "", "block"])
    process = start("slurm")
    engines.reached()
    kill(process)
    engines.release()
    engines.edit(jobs=[])
    assert launch("slurm", "--patience", "0.2") == 2
    assert "Slurm knows no such job" in last(capsys)
    assert engines.book["submissions"] == 1


def test_an_unknown_state_is_told_and_waited_for(engines, capsys):
    engines.plan("BEWITCHED done")
    assert launch("slurm") == 0
    assert "Slurm says 'BEWITCHED', which is not known" in capsys.readouterr().err


def test_slurm_without_accounting_serves_too(engines):
    engines.words({**WORDS, "sacct": {"off": "yes"}})
    engines.plan("running done")
    assert launch("slurm") == 0


@pytest.mark.parametrize("engine", ALL)
def test_an_answer_given_twice_counts_once(engines, engine):
    engines.plan("running preempted", "done", looks=["", "double", "double", "double", "double"])
    if engine not in PREEMPTING:
        engines.edit(plans=[["running", "done"]])
    assert launch(engine) == 0
    assert engines.book["submissions"] == (2 if engine in PREEMPTING else 1)


@pytest.mark.parametrize("engine", ["slurm", "skypilot"])
def test_two_jobs_of_one_name_are_told_and_the_one_that_lives_is_followed(engines, engine, capsys):
    """An engine heard one submission twice; one of the two trainings fails on the other's lock."""
    engines.plan("running failed failed", submits=["twice"], looks=["", "", "block"])
    process = start(engine)
    engines.reached()
    first, second = engines.book["jobs"]
    engines.edit(jobs=[{**first}, {**second, "states": ["running", "running", "done"]}])
    engines.release()
    _, told = process.communicate()
    assert process.returncode == 0, told
    assert "reports it 2 times" in told


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_leaves_the_job_and_says_how_to_go_on(engines, number, status):
    engines.plan("running done", looks=["", "", "block"])
    process = start("slurm")
    engines.reached()
    process.send_signal(number)
    _, told = process.communicate()
    engines.release()
    assert process.returncode == status
    line = told.splitlines()[-1]
    assert "no longer followed, but not cancelled; the same command takes it up again" in line
    assert line.endswith("to cancel it: padir launch --cancel --handle h.json")
    assert engines.book["cancelled"] == []
    assert launch("slurm") == 0
    assert engines.book["submissions"] == 1


def test_a_signal_while_it_submits_does_not_cut_the_submission_short(engines):
    engines.plan("running done", submits=["block before"])
    process = start("slurm")
    engines.reached()
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    engines.release()
    assert launch("slurm") == 0
    assert engines.book["submissions"] == 1


def test_cancelling_beside_a_launch_is_refused(engines, capsys):
    engines.plan("running done", looks=["", "", "block"])
    process = start("slurm")
    engines.reached()
    assert main(["launch", "--cancel", "--handle", "h.json"]) == 2
    assert f"(process {process.pid} on" in last(capsys)
    engines.release()
    process.communicate()
    assert process.returncode == 0
    assert engines.book["cancelled"] == []


def test_a_failed_queued_resource_is_freed_by_cancelling(engines):
    engines.plan("failed")
    assert launch("queued-resources") == 2
    assert engines.names() == [handle()["name"]]
    assert main(["launch", "--cancel", "--handle", "h.json"]) == 0
    assert engines.names() == []
    assert main(["launch", "--cancel", "--handle", "h.json"]) == 0


def test_a_cancelled_job_ends_as_a_failure_and_can_be_launched_again(engines, capsys):
    engines.plan("cancelled", "done")
    assert launch("slurm") == 2
    assert "failed (CANCELLED)" in last(capsys)
    assert launch("slurm") == 0
