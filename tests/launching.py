"""Launching on the stand-ins of `tests/engines.py`, in this process or one of its own."""

import json
import shlex
import subprocess
import sys

from padir.cli import main

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
UNIQUE = {"queued-resources", "xpk", "kubernetes"}


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


def last(capsys) -> str:
    return capsys.readouterr().err.splitlines()[-1]
