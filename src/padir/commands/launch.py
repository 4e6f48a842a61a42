"""Run a command on an engine elsewhere, submit it once, and wait until it has ended.

The job's name is written to --handle before it is submitted. After a kill, a restart or a lost
connection the same command finds the job by that name and goes on waiting. A job that is preempted
is submitted again. The engine's own command line must be installed and logged in. The command must
find its files under the same paths there, on a file system that both sides share.

In: the command after `--`. Out: the handle, which keeps no option of the engine.

examples:
  padir launch --engine slurm --handle train.handle --option=--gres=gpu:1 -- \\
      padir train --spec spec.json ... --work work --out bundle
  padir launch --engine queued-resources --handle train.handle --accelerator v5litepod-8 \\
      --runtime-version v2-alpha-tpuv5-lite --zone Z --project P -- padir train ...
  padir launch --cancel --handle train.handle
"""

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from padir.commands.arguments import Option, needed, option, read_arguments
from padir.files import InputError, digest, shown
from padir.remote.engines import ENGINES, Request

PLACE = "what the engine is told"
PACE = "patience"
DAY = 86_400
OPTIONS = (
    option("--engine NAME", f"where to run: {', '.join(ENGINES)}", choices=[*ENGINES]),
    needed("--handle F", "the job's handle; F.lock and, on Slurm, its output lie beside it"),
    option("--cancel", "end the job that the handle names, and free what it holds"),
    option("--forget", "delete the handle once the job is done"),
    option("--accelerator TYPE", "such as v5litepod-8 (queued resources, xpk, SkyPilot)",
           group=PLACE),
    option("--runtime-version V", "software of the TPU's hosts (queued resources)", group=PLACE),
    option("--zone Z", "of Google Cloud (queued resources, xpk)", group=PLACE),
    option("--project P", "of Google Cloud (queued resources, xpk)", group=PLACE),
    option("--cluster NAME", "the cluster of xpk, the context of kubectl", group=PLACE),
    option("--image NAME", "container image (xpk)", group=PLACE),
    option("--workdir FOLDER", "folder to run in (queued resources, Slurm)", group=PLACE),
    option("--manifest F", "a Job; its first container gets the command (Kubernetes)", group=PLACE),
    option("--option WORD", "one more word for the engine's own command that submits, such as"
           " --option=--spot; may be repeated", default=None, group=PLACE, action="append"),
    option("--attempts N", "most submissions of a job that is preempted", default=3, least=1,
           group=PACE),
    option("--poll X", f"most seconds between two looks, up to {DAY:,}", default=60.0, group=PACE,
           positive=True),
    option("--timeout X", f"seconds in which a call of the engine must answer, up to {DAY:,};"
           " submission has ten times as many", default=120.0, group=PACE, positive=True),
    option("--patience X", "seconds without a usable answer after which to give up", default=3600.0,
           group=PACE, positive=True),
    Option("command", {"help": "what to run, after --", "nargs": "*", "metavar": "COMMAND"}),
)  # fmt: skip
TOLD = [member.name for member in OPTIONS if member.group == PLACE]
SETTINGS = [name.removeprefix("--") for name in TOLD if name != "--option"]


class StopRequest(BaseException):
    """This process was asked to stop."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


def main(argv: list[str]) -> int:
    """Run the verb; exit status 130 after Ctrl-C and 128 + N after signal N: the job goes on."""
    arguments = read_arguments("launch", __doc__, OPTIONS, argv)
    from padir.locks import Lock
    from padir.remote.follow import Follower, Pace, cancelling
    from padir.remote.handle import Phase, new_handle, read_handle

    for name in ("poll", "timeout"):
        if getattr(arguments, name) > DAY:
            raise InputError(f"--{name} is {getattr(arguments, name):g}: allowed are up to {DAY} s")
    path = arguments.handle
    pace = Pace(arguments.poll, arguments.timeout, arguments.patience, arguments.attempts)
    lock = path.with_name(f"{path.name}.lock")
    what = f"another padir launch is using {shown(path.name)}"
    if arguments.cancel:
        told = [getattr(arguments, name[2:].replace("-", "_")) for name in ("--engine", *TOLD)]
        if arguments.command or arguments.forget or any(told):
            raise InputError("--cancel goes with --handle alone: the handle names engine and job")
        with Lock(lock, what):
            handle = read_handle(path)
            if handle is None or handle.engine not in ENGINES:
                raise InputError(f"{shown(path)}: there is no handle of a launched command")
            request = Request(handle.name, settings=handle.settings)
            follower = Follower(path, handle, ENGINES[handle.engine], request, pace)
            if handle.phase is not Phase.DONE:
                follower.cancel()
            print(f"{handle.name}: {follower.handle.phase.value}")
        return 0
    request, rest = _request(arguments)
    wanted = new_handle(path, arguments.engine, request.settings, request.command, rest)
    follower = None
    try:
        before = read_handle(path) or wanted
        with _stoppable(), Lock(lock, what, wait=True) as held:
            handle = read_handle(path)
            # A killed Snakemake leaves its launches at work; each submission is paid for.
            if handle is None and held.waited and before.digest == wanted.digest:
                note = "done by the launch that this one waited for, which deleted the handle"
                print(f"padir launch: {before.name}: {note}", file=sys.stderr)
                return 0
            handle = handle or wanted
            if handle.digest != wanted.digest:
                raise InputError(
                    f"{shown(path)}: is the handle of another command or other options:"
                    f" {handle.command} on {handle.engine}, {handle.phase.value}; choose another"
                    f" --handle, or end that one ({cancelling(path)}) and delete the file"
                )
            engine = ENGINES[arguments.engine]
            follower = Follower(path, handle, engine, request, pace, held.fileno())
            if handle.phase is Phase.DONE:
                note = f"done before; delete {shown(path)} to run it again"
                print(f"padir launch: {handle.name}: {note}", file=sys.stderr)
            follower.run()
            if arguments.forget:
                path.unlink(missing_ok=True)
    except (KeyboardInterrupt, StopRequest) as stopped:
        number = stopped.number if isinstance(stopped, StopRequest) else signal.SIGINT
        name = follower.handle.name if follower else wanted.name
        with suppress(OSError):
            print(
                f"padir launch: {name}: no longer followed, but not cancelled; the same command"
                f" takes it up again; to cancel it: {cancelling(path)}",
                file=sys.stderr,
                flush=True,
            )
        return 128 + number
    return 0


@contextmanager
def _stoppable() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into `StopRequest`; under nohup, SIGHUP stays ignored."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise StopRequest(number)

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    heard = [number for number in numbers if before[number] != signal.SIG_IGN]
    try:
        for number in heard:
            signal.signal(number, stop)
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


def _request(arguments: argparse.Namespace) -> tuple[Request, Any]:
    """The job, and what else tells it from another one. Raises InputError for an option that the
    engine lacks or does not take, and for no command."""
    if arguments.engine is None:
        raise InputError(f"--engine is missing: allowed are {', '.join(ENGINES)}")
    if not arguments.command:
        raise InputError("the command is missing: give it after --, such as -- padir train ...")
    engine = ENGINES[arguments.engine]
    values = {name: getattr(arguments, name.replace("-", "_")) for name in SETTINGS}
    given = {name: value for name, value in values.items() if value is not None}
    for name in engine.needs:
        if name not in given:
            raise InputError(f"--engine {arguments.engine} needs --{name}")
    for name in given:
        if name not in (*engine.needs, *engine.takes):
            known = ", ".join(f"--{known}" for known in (*engine.needs, *engine.takes)) or "none"
            raise InputError(
                f"--engine {arguments.engine} has no use for --{name}: allowed are {known}"
            )
    manifest = _manifest(given.pop("manifest")) if "manifest" in given else {}
    namespace = (manifest.get("metadata") or {}).get("namespace")
    settings = {**given, **({"namespace": str(namespace)} if namespace else {})}
    options = tuple(arguments.option or ())
    request = Request("", tuple(arguments.command), settings, options, manifest)
    return request, [list(options), manifest]


def _manifest(path: Path) -> dict[str, Any]:
    """A Kubernetes Job with a container. Raises InputError for anything else."""
    from padir.config.read import read_yaml

    manifest = read_yaml(path)
    try:
        containers = manifest["spec"]["template"]["spec"]["containers"]
        fits = manifest["kind"] == "Job" and isinstance(containers[0], dict)
        fits = fits and isinstance(manifest.get("metadata") or {}, dict)
    except (LookupError, TypeError):
        fits = False
    if not fits:
        allowed = "kind: Job with metadata and spec.template.spec.containers"
        raise InputError(f"{shown(path)}: found another document, allowed: one with {allowed}")
    try:
        digest(manifest)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{shown(path)}: cannot be written as JSON ({error}): quote dates, use text as keys, no"
            " .nan or .inf"
        ) from error
    return manifest
