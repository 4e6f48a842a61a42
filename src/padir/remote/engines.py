"""Engines that run a command elsewhere: what to call, and how to read what they answer.

An engine is asked through its own command line. A job is known by a name that we choose before it
is submitted, so that an engine can always be asked whether it has the job.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from padir.remote.calls import Call


class State(Enum):
    """What a job does. Where an engine reports a name several times, the first of these counts."""

    DONE = "done"
    RUNNING = "running"
    WAITING = "waiting"
    PREEMPTED = "preempted"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of the job."""
        return self not in (State.RUNNING, State.WAITING)


@dataclass(frozen=True)
class Request:
    """A job.

    Attributes:
        name: lower-case letters, digits and hyphens, at most 28.
        command: what to run, word by word.
        settings: values of those options that the engine needs or takes.
        options: further words of the call that submits.
        manifest: Kubernetes only: the Job to submit.
        log: Slurm only: file for the output.
    """

    name: str
    command: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)
    log: Path = Path("log")

    @property
    def line(self) -> str:
        """The command as one string, for engines that pass it to a shell."""
        return shlex.join(self.command)

    def flags(self, *names: str) -> tuple[str, ...]:
        """Settings as options: `--NAME=VALUE`, or `--OPTION=VALUE` of a name given as NAME:OPTION.

        Those that were not given are left out.
        """
        pairs = (name.partition(":")[::2] for name in names)
        values = self.settings
        return tuple(f"--{flag or name}={values[name]}" for name, flag in pairs if name in values)


@dataclass(frozen=True)
class Query:
    """A command that asks an engine for the state of a job.

    Attributes:
        call: the command for a job.
        read: the engine's words for the job's state, from the command's output and the job's name;
            empty if the output does not list the job. May raise ValueError, LookupError, TypeError
            or AttributeError.
        final: whether an empty answer proves that there is no such job, so that later queries are
            not asked.
        unknowing: a failed call whose error contains this text counts as an empty answer: the
            engine keeps no record of jobs.
    """

    call: Callable[[Request], Call]
    read: Callable[[str, str], list[str]]
    final: bool = False
    unknowing: str = "\0"


@dataclass(frozen=True)
class Engine:
    """How to submit, find, cancel and look into a job.

    Attributes:
        title: in words.
        needs: settings that must be given.
        takes: settings that may be given.
        submit: the call that submits a job. Whether it was heard is seen by asking for the job.
        queries: asked one after the other until one has words that are not None in `states`.
        states: what the engine's words mean; None: the next query tells.
        cancel: the call that ends a job and frees what it holds.
        log: the call that prints a job's output.
        looks: how often a job must not be found before its submission counts as not heard.
        holds: whether an ended job still costs money until it is cancelled.
    """

    title: str
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    submit: Callable[[Request], Call]
    queries: tuple[Query, ...]
    states: Mapping[str, State | None]
    cancel: Callable[[Request], Call]
    log: Callable[[Request], Call]
    looks: int = 1
    holds: bool = False


def _words(state: State | None, words: str) -> dict[str, State | None]:
    return dict.fromkeys(words.split(), state)


def _lines(output: str, name: str) -> list[str]:
    """The first word of each line."""
    return [line.split()[0] for line in output.splitlines() if line.strip()]


# Queued resources of Cloud TPU: a queue for machines. The command is a systemd unit on each host,
# which is started once the machines are there, and whose name cannot be taken twice.

_GCLOUD = ("gcloud", "compute", "tpus", "queued-resources")
_MARK = "padir-unit"


def _gcloud(verb: str, *words: str) -> Callable[[Request], Call]:
    def call(job: Request) -> Call:
        name = () if verb == "list" else (job.name,)
        return Call((*_GCLOUD, verb, *name, *job.flags("zone", "project"), "--quiet", *words))

    return call


def _queue(job: Request) -> Call:
    machine = job.flags("accelerator:accelerator-type", "runtime-version")
    words = _gcloud("create", f"--node-id={job.name}")(job).words
    return Call((*words, *machine, *job.options))


def _on_hosts(job: Request, script: str) -> Call:
    words = _gcloud("ssh", "--node=all", "--worker=all", f"--command={script}")
    return words(job)


def _unit(job: Request) -> Call:
    """Start the unit where it is missing, and tell its state."""
    unit = job.name
    folder = job.settings.get("workdir")
    place = [f"--property=WorkingDirectory={folder}"] if folder else []
    # systemd replaces $NAME in the words of a command.
    command = [word.replace("$", "$$") for word in job.command]
    start = shlex.join([f"--unit={unit}", "--remain-after-exit", *place, "--", *command])
    show = "systemctl show --value --property"
    return _on_hosts(
        job,
        f"systemctl cat {unit} >/dev/null 2>&1"
        f' || sudo systemd-run --uid="$(id -u)" --setenv=HOME="$HOME" {start} >/dev/null;'
        f" echo {_MARK} $({show} SubState {unit}) $({show} ExecMainStatus {unit})",
    )


def _read_queue(output: str, name: str) -> list[str]:
    known = json.loads(output or "[]")
    return [
        resource["state"]["state"]
        for resource in known
        if resource["name"].rpartition("/")[2] == name
    ]


def _read_units(output: str, name: str) -> list[str]:
    """One word for all hosts: the worst that one says, and done only where all are."""
    said = [line.split()[1:] for line in output.splitlines() if line.startswith(_MARK)]
    if not said:
        raise ValueError("no host answered")
    failed = [status for state, status in said if state == "failed" or status != "0"]
    if failed:
        stopped = {"75", "143"}
        return ["stopped" if stopped.issuperset(failed) else "failed"]
    return ["exited" if all(state == "exited" for state, _ in said) else "running"]


# xpk: workloads on Google Kubernetes Engine.


def _xpk(verb: str, flag: str, *words: str) -> Callable[[Request], Call]:
    def call(job: Request) -> Call:
        place = job.flags("cluster", "project", "zone")
        return Call(("xpk", "workload", verb, f"--{flag}={job.name}", *place, *words))

    return call


def _create_workload(job: Request) -> Call:
    words = _xpk("create", "workload")(job).words
    machine = job.flags("accelerator:tpu-type", "image:docker-image")
    return Call((*words, *machine, *job.options, f"--command={job.line}"))


def _read_workloads(output: str, name: str) -> list[str]:
    """Words of a table whose columns are two or more spaces apart."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in output.splitlines()]
    headers = [row for row in rows if row[0] == "Jobset Name"]
    workloads = [dict(zip(headers[0], row, strict=False)) for row in rows if row[0] == name]
    return [_workload_word(row["Status"], row.get("Status Message", "")) for row in workloads]


def _workload_word(status: str, message: str) -> str:
    if status != "Finished":
        return status
    if "failed" in message.lower():
        return "Failed"
    return "Succeeded" if re.search("finished|completed|succe", message.lower()) else message


# SkyPilot: managed jobs, which recover from preemption by themselves.


def _sky(job: Request) -> Call:
    words = ("sky", "jobs", "launch", f"--name={job.name}", "--yes", "--detach-run")
    return Call((*words, *job.flags("accelerator:gpus"), *job.options, job.line))


def _read_sky(output: str, name: str) -> list[str]:
    begin = re.search(r"^\[", output, re.MULTILINE)
    if begin is None:
        raise ValueError("no JSON list")
    rows, _ = json.JSONDecoder().raw_decode(output[begin.start() :])
    return [row["status"] for row in rows if row["job_name"] == name]


# Slurm.


def _sbatch(job: Request) -> Call:
    # Slurm replaces %j and the like in the name of a file.
    log = str(job.log).replace("%", "%%")
    words = ("sbatch", "--parsable", "--no-requeue", f"--job-name={job.name}", f"--output={log}")
    return Call((*words, *job.flags("workdir:chdir"), *job.options, f"--wrap={job.line}"))


_SACCT = ("sacct", "--noheader", "--parsable2", "--allocations", "--format=State")

# Kubernetes: a Job that the user describes; name and command are ours.


def _kubectl(verb: str, *words: str) -> Callable[[Request], Call]:
    def call(job: Request) -> Call:
        place = job.flags("cluster:context", "namespace")
        return Call(("kubectl", verb, *(word.format(name=job.name) for word in words), *place))

    return call


def _create_job(job: Request) -> Call:
    manifest = json.loads(json.dumps(job.manifest))
    manifest["metadata"] = {**(manifest.get("metadata") or {}), "name": job.name}
    pod = manifest["spec"]["template"]["spec"]
    pod.setdefault("restartPolicy", "Never")
    container = pod["containers"][0]
    container["command"] = list(job.command)
    container.pop("args", None)
    words = _kubectl("create", "--filename=-")(job).words
    return Call((*words, *job.options), json.dumps(manifest))


def _read_job(output: str, name: str) -> list[str]:
    if not output.strip():
        return []
    status = json.loads(output).get("status") or {}
    for condition in status.get("conditions") or []:
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            disrupted = "DisruptionTarget" in condition.get("message", "")
            return ["Disrupted" if disrupted else condition["type"]]
    return ["Ready" if status.get("ready") else "Pending"]


ENGINES = {
    "queued-resources": Engine(
        title="queued resources of Cloud TPU",
        needs=("accelerator", "runtime-version", "zone", "project"),
        takes=("workdir",),
        submit=_queue,
        queries=(
            Query(_gcloud("list", "--format=json"), _read_queue, final=True),
            Query(_unit, _read_units),
        ),
        states={
            "ACTIVE": None,
            "exited": State.DONE,
            "running": State.RUNNING,
            **_words(State.WAITING, "STATE_UNSPECIFIED CREATING ACCEPTED PROVISIONING"),
            **_words(State.WAITING, "WAITING_FOR_RESOURCES"),
            **_words(State.PREEMPTED, "SUSPENDING SUSPENDED stopped"),
            **_words(State.FAILED, "FAILED DELETING failed"),
        },
        cancel=_gcloud("delete", "--force"),
        log=lambda job: _on_hosts(job, f"sudo journalctl --no-pager --unit={job.name}"),
        holds=True,
    ),
    "xpk": Engine(
        title="xpk",
        needs=("accelerator", "cluster", "zone", "project"),
        takes=("image",),
        submit=_create_workload,
        queries=(Query(_xpk("list", "filter-by-job"), _read_workloads),),
        states={
            "Succeeded": State.DONE,
            "Failed": State.FAILED,
            **_words(State.RUNNING, "Admitted PodsReady"),
            **_words(State.WAITING, "QuotaReserved Evicted Requeued Preempted Unknown <none>"),
        },
        cancel=_xpk("delete", "workload", "--force"),
        log=lambda job: Call(
            (
                *("kubectl", "logs", "--all-containers", "--tail=-1"),
                f"--selector=jobset.sigs.k8s.io/jobset-name={job.name}",
            )
        ),
    ),
    "skypilot": Engine(
        title="SkyPilot",
        needs=(),
        takes=("accelerator",),
        submit=_sky,
        queries=(
            Query(lambda _: Call(("sky", "jobs", "queue", "--all", "--output=json")), _read_sky),
        ),
        states={
            "SUCCEEDED": State.DONE,
            **_words(State.WAITING, "PENDING SUBMITTED STARTING RECOVERING"),
            **_words(State.RUNNING, "RUNNING WINDING_DOWN CANCELLING"),
            **_words(State.FAILED, "CANCELLED FAILED FAILED_SETUP FAILED_PRECHECKS"),
            **_words(State.FAILED, "FAILED_NO_RESOURCE FAILED_CONTROLLER"),
        },
        cancel=lambda job: Call(("sky", "jobs", "cancel", f"--name={job.name}", "--yes")),
        log=lambda job: Call(("sky", "jobs", "logs", f"--name={job.name}", "--no-follow")),
        # Its server accepts a job before the queue shows it, and names are not unique.
        looks=10,
    ),
    "slurm": Engine(
        title="Slurm",
        needs=(),
        takes=("workdir",),
        submit=_sbatch,
        queries=(
            Query(
                lambda job: Call(
                    ("squeue", "--noheader", "--states=all", "--format=%T", f"--name={job.name}")
                ),
                _lines,
            ),
            Query(
                lambda job: Call((*_SACCT, "--starttime=now-30days", f"--name={job.name}")),
                _lines,
                unknowing="accounting storage is disabled",
            ),
        ),
        states={
            "COMPLETED": State.DONE,
            **_words(State.RUNNING, "RUNNING COMPLETING SIGNALING STAGE_OUT RESIZING"),
            **_words(State.WAITING, "PENDING CONFIGURING SUSPENDED STOPPED REQUEUED"),
            **_words(State.WAITING, "REQUEUE_FED REQUEUE_HOLD RESV_DEL_HOLD SPECIAL_EXIT"),
            **_words(State.PREEMPTED, "PREEMPTED TIMEOUT NODE_FAIL BOOT_FAIL LAUNCH_FAILED"),
            **_words(State.FAILED, "FAILED OUT_OF_MEMORY CANCELLED DEADLINE REVOKED"),
        },
        cancel=lambda job: Call(("scancel", "--quiet", f"--name={job.name}")),
        log=lambda job: Call(("cat", str(job.log))),
        looks=2,
    ),
    "kubernetes": Engine(
        title="Kubernetes",
        needs=("cluster", "manifest"),
        takes=(),
        submit=_create_job,
        queries=(
            Query(
                _kubectl("get", "job", "{name}", "--ignore-not-found", "--output=json"), _read_job
            ),
        ),
        states={
            "Complete": State.DONE,
            "Ready": State.RUNNING,
            "Pending": State.WAITING,
            "Disrupted": State.PREEMPTED,
            "Failed": State.FAILED,
        },
        cancel=_kubectl("delete", "job", "{name}", "--ignore-not-found"),
        log=_kubectl("logs", "--selector=job-name={name}", "--all-containers", "--tail=-1"),
    ),
}
