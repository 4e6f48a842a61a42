"""`padir launch`: what engines are asked, word by word, and that each job is submitted once.

The engines are stand-ins on PATH (`tests/engines.py`).
"""

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest
import yaml

from padir.cli import main
from padir.remote import follow
from tests.engines import PENDING, UNIT, WORDS, Engines

COMMAND = ["padir", "train", "--spec", "a b.json", "--out", "$HOME/it's"]
LINE = shlex.join(COMMAND)
MANIFEST = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"namespace": "research", "labels": {"team": "mt"}},
    "spec": {
        "completionMode": "Indexed",
        "completions": 2,
        "template": {"spec": {"containers": [{"name": "padir", "image": "i", "args": ["old"]}]}},
    },
}
CLOUD = ["--project=p", "--zone=z"]
TPU = ["--accelerator=v5litepod-8", *CLOUD]
GIVEN = {
    "queued-resources": [*TPU, "--runtime-version=v2-tpu", "--workdir=/mnt/padir"],
    "xpk": [*TPU, "--cluster=c", "--image=registry/padir"],
    "skypilot": ["--accelerator=tpu-v5litepod-8:1"],
    "slurm": ["--workdir=/scratch"],
    "kubernetes": ["--cluster=c", "--manifest=job.yaml"],
}
ALL = [*GIVEN]
# Tells of preemption in a word of its own; the others go on by themselves.
PREEMPTING = ["queued-resources", "slurm", "kubernetes"]
# Processes that are killed, for all engines: the others take long.
SPARE = [
    name if name in ("slurm", "kubernetes") else pytest.param(name, marks=pytest.mark.slow)
    for name in GIVEN
]
UNIQUE = {"queued-resources", "xpk", "kubernetes"}


@pytest.fixture
def engines(tmp_path, monkeypatch):
    """Stand-ins on PATH, in a folder of their own; a test that blocks for ever is ended."""
    signal.alarm(100)
    stand_ins = Engines(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{stand_ins.folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(MANIFEST))
    yield stand_ins
    signal.alarm(0)


def arguments(engine: str, *more: str, command: list[str] = COMMAND) -> list[str]:
    pace = ["--poll", "0.01"]
    return [
        *("launch", "--engine", engine, "--handle", "h.json", *GIVEN[engine], *pace, *more),
        *("--", *command),
    ]


def launch(engine: str, *more: str, command: list[str] = COMMAND) -> int:
    return main(arguments(engine, *more, command=command))


def start(engine: str, *more: str) -> "subprocess.Popen[str]":
    """Launch in a process of its own."""
    words = [sys.executable, "-m", "padir", *arguments(engine, *more)]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True)


def kill(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


def handle() -> dict:
    with open("h.json") as file:
        return json.load(file)


# What engines are asked


def test_queued_resources_are_asked_as_gcloud_documents(engines):
    engines.plan("waiting running done")
    assert launch("queued-resources", "--option=--spot", "--option=--labels=a=b") == 0
    name = handle()["name"]
    tpus = ["gcloud", "compute", "tpus", "queued-resources"]
    place = ["--zone=z", "--project=p", "--quiet"]
    assert engines.calls(*tpus, "create") == [
        [
            *(*tpus, "create", name, *place, f"--node-id={name}"),
            *("--accelerator-type=v5litepod-8", "--runtime-version=v2-tpu"),
            *("--spot", "--labels=a=b"),
        ]
    ]
    # Once before submission, then once per state.
    assert engines.calls(*tpus, "list") == [[*tpus, "list", *place, "--format=json"]] * 4
    first, second = engines.calls(*tpus, "ssh")
    assert first == second
    assert first[:-1] == [*tpus, "ssh", name, *place, "--node=all", "--worker=all"]
    assert first[-1].startswith("--command=systemctl cat ")
    # Machines cost money as long as they are there.
    assert engines.calls(*tpus, "delete") == [[*tpus, "delete", name, *place, "--force"]]
    assert handle()["phase"] == "done"


def test_a_host_of_a_queued_resource_starts_the_command_once(engines, tmp_path):
    """The script that hosts get, with stand-ins for systemd."""
    engines.plan("running done")
    assert launch("queued-resources") == 0
    (_, script) = engines.calls("gcloud", "compute", "tpus", "queued-resources", "ssh")[0][
        -1
    ].split("=", 1)
    host = tmp_path / "host"
    host.mkdir()
    program = f"#!{sys.executable} -SE\nimport os, sys, json\n"
    programs = {
        "sudo": "os.execvp(sys.argv[1], sys.argv[1:])\n",
        "systemd-run": "json.dump(sys.argv[1:], open('unit', 'x'))\n",
        "systemctl": "if sys.argv[1] == 'cat': sys.exit(not os.path.exists('unit'))\n"
        "print({'SubState': 'running', 'ExecMainStatus': '0'}[sys.argv[-2]])\n",
    }
    for name, text in programs.items():
        (host / name).write_text(program + text)
        (host / name).chmod(0o755)
    environment = {"PATH": f"{host}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": "/home/me"}
    for _ in range(2):
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=host,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stdout, done.stderr) == (f"{UNIT} running 0\n", "")
    assert json.loads((host / "unit").read_text()) == [
        *(f"--uid={os.getuid()}", "--setenv=HOME=/home/me", f"--unit={handle()['name']}"),
        *("--remain-after-exit", "--property=WorkingDirectory=/mnt/padir", "--"),
        *("padir", "train", "--spec", "a b.json", "--out", "$$HOME/it's"),
    ]


def test_xpk_is_asked_as_it_documents(engines):
    engines.plan("waiting running done")
    assert launch("xpk", "--option=--num-slices=2") == 0
    name = handle()["name"]
    place = ["--cluster=c", "--project=p", "--zone=z"]
    assert engines.calls("xpk", "workload", "create") == [
        [
            *("xpk", "workload", "create", f"--workload={name}", *place),
            *("--tpu-type=v5litepod-8", "--docker-image=registry/padir"),
            *("--num-slices=2", f"--command={LINE}"),
        ]
    ]
    listed = engines.calls("xpk", "workload", "list")
    assert listed == [["xpk", "workload", "list", f"--filter-by-job={name}", *place]] * 4
    engines.plan("running")
    os.unlink("h.json")
    name = with_cancel(engines, "xpk")
    deleted = [*("xpk", "workload", "delete", f"--workload={name}"), *place, "--force"]
    assert engines.calls("xpk", "workload", "delete") == [deleted]


def test_skypilot_is_asked_as_it_documents(engines):
    engines.plan("waiting running done")
    assert launch("skypilot", "--option=--use-spot") == 0
    name = handle()["name"]
    assert engines.calls("sky", "jobs", "launch") == [
        [
            *("sky", "jobs", "launch", f"--name={name}", "--yes", "--detach-run"),
            *("--gpus=tpu-v5litepod-8:1", "--use-spot", LINE),
        ]
    ]
    queue = ["sky", "jobs", "queue", "--all", "--output=json"]
    assert engines.calls("sky", "jobs", "queue") == [queue] * 4
    engines.plan("running")
    os.unlink("h.json")
    name = with_cancel(engines, "skypilot")
    cancel = ["sky", "jobs", "cancel", f"--name={name}", "--yes"]
    assert engines.calls("sky", "jobs", "cancel") == [cancel]


def test_slurm_is_asked_as_it_documents(engines, tmp_path):
    engines.plan("waiting running done")
    assert launch("slurm", "--option=--gres=gpu:1") == 0
    name = handle()["name"]
    assert engines.calls("sbatch") == [
        [
            *("sbatch", "--parsable", "--no-requeue", f"--job-name={name}"),
            *(f"--output={tmp_path}/h.json.{name}.log", "--chdir=/scratch"),
            *("--gres=gpu:1", f"--wrap={LINE}"),
        ]
    ]
    squeue = ["squeue", "--noheader", "--states=all", "--format=%T", f"--name={name}"]
    assert engines.calls("squeue") == [squeue] * 4
    # The queue did not know it before it was submitted; the accounting may.
    assert engines.calls("sacct") == [
        [
            *("sacct", "--noheader", "--parsable2", "--allocations", "--format=State"),
            *("--starttime=now-30days", f"--name={name}"),
        ]
    ]
    engines.plan("running")
    os.unlink("h.json")
    name = with_cancel(engines, "slurm")
    assert engines.calls("scancel") == [["scancel", "--quiet", f"--name={name}"]]


def test_kubernetes_is_asked_as_it_documents(engines):
    engines.plan("waiting running done")
    assert launch("kubernetes") == 0
    name = handle()["name"]
    place = ["--context=c", "--namespace=research"]
    assert engines.calls("kubectl", "create") == [["kubectl", "create", "--filename=-", *place]]
    (text,) = [text for text in engines.book["texts"] if text]
    expected = json.loads(json.dumps(MANIFEST))
    expected["metadata"]["name"] = name
    expected["spec"]["template"]["spec"] = {
        "restartPolicy": "Never",
        "containers": [{"name": "padir", "image": "i", "command": COMMAND}],
    }
    assert json.loads(text) == expected
    get = ["kubectl", "get", "job", name, "--ignore-not-found", "--output=json", *place]
    assert engines.calls("kubectl", "get") == [get] * 4
    engines.plan("running")
    os.unlink("h.json")
    name = with_cancel(engines, "kubernetes")
    delete = ["kubectl", "delete", "job", name, "--ignore-not-found", *place]
    assert engines.calls("kubectl", "delete") == [delete]


def with_cancel(engines: Engines, engine: str) -> str:
    """Launch until the job runs, stop following it, cancel by the handle alone; the job's name."""
    engines.edit(looks=["", "", "block"])
    process = start(engine)
    engines.reached()
    process.terminate()
    process.communicate()
    engines.release()
    assert handle()["phase"] == "submitted"
    assert main(["launch", "--cancel", "--handle", "h.json"]) == 0
    assert handle()["phase"] == "cancelled"
    return handle()["name"]


# Once


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


@pytest.mark.parametrize("engine", SPARE)
def test_two_launches_at_once_submit_one_job(engines, engine):
    engines.plan("running done", looks=["", "block"])
    first = start(engine)
    engines.reached()
    second = start(engine)
    assert second.stderr is not None
    line = second.stderr.readline()
    assert "another padir launch is using h.json" in line and f"process {first.pid}" in line
    engines.release()
    for process in (first, second):
        process.communicate()
        assert process.returncode == 0
    assert engines.book["submissions"] == 1


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


# Preemption and failure


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
    # The same command after what was wrong is mended.
    assert launch(engine) == 0
    assert engines.book["submissions"] == 2
    assert handle()["attempt"] == 2


def last(capsys) -> str:
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("engine", ALL)
def test_a_refused_submission_is_one_line(engines, engine, capsys):
    engines.plan("done", submits=["refuse"])
    assert launch(engine) == 2
    assert "not submitted: " in (line := last(capsys)) and "quota exceeded; once" in line
    assert launch(engine) == 0
    assert engines.book["submissions"] == 2


# Engines that do not answer, or too much


@pytest.mark.parametrize("engine", ALL)
def test_failed_looks_are_counted_and_survived(engines, engine, capsys):
    engines.plan("running done", looks=["error", "", "error", "garbage", "", "error", ""])
    assert launch(engine) == 0
    assert engines.book["submissions"] == 1
    told = capsys.readouterr().err
    assert "state unknown (1 times in 00:00)" in told
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


# Signals and cancelling


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


# What is refused, and what is kept


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--engine", "xpk", "--", "x"], "--engine xpk needs --accelerator"),
        (["--engine", "slurm", "--zone", "z", "--", "x"], "no use for --zone: allowed are --wor"),
        (["--engine", "slurm"], "the command is missing"),
        (["--", "x"], "--engine is missing: allowed are queued-resources, xpk"),
        (["--engine", "slurm", "--poll", "0", "--", "x"], "--poll is 0.0: allowed are numbers"),
        (["--engine", "slurm", "--patience", "nan", "--", "x"], "--patience is nan: allowed"),
        (["--engine", "slurm", "--attempts", "0", "--", "x"], "--attempts is 0: allowed are 1"),
        (["--cancel"], "h.json: there is no handle of a launched command"),
        (
            ["--engine", "kubernetes", "--cluster", "c", "--manifest", "service.yaml", "--", "x"],
            "service.yaml: found another document, allowed: one with kind: Job",
        ),
    ],
)
def test_what_cannot_be_launched_is_one_line(engines, tmp_path, words, message, capsys):
    (tmp_path / "service.yaml").write_text("kind: Service\n")
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


def test_a_kubernetes_job_without_ready_pods_waits(engines, capsys):
    engines.words({**WORDS, "kubectl": {**WORDS["kubectl"], "odd": "{}", "waiting": PENDING}})
    engines.plan("odd waiting running done")
    assert launch("kubernetes") == 0
    told = capsys.readouterr().err
    assert told.index("waiting, followed") < told.index("running, followed")
