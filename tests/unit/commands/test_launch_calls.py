"""What `padir launch` asks engines, word by word."""

import json
import os
import subprocess
import sys

from padir.cli import main
from tests.engines import UNIT, Engines
from tests.launching import COMMAND, LINE, MANIFEST, handle, launch, start


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
