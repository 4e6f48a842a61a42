"""Check Python, packages, devices, disk and folders.

Each line begins with ok, note (works, but know this) or fix (does not work; what to do follows).
Exit status 1 if anything is to fix.

In: nothing. Out: one line per check; changes nothing.

examples:
  padir doctor
  padir doctor --results /scratch/results
"""

import fcntl
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from padir.commands.arguments import option, read_arguments
from padir.files import InputError, shown
from padir.invocation import place_options, words
from padir.launch import compiled_cache
from padir.locks import try_lock

TESTED_PYTHON = (3, 11)
LEAST_FREE_GB = 2.0
UNENDING = ("PartitionConfig", "PartitionNodeLimit", "BadConstraints")
"""Slurm's reasons for waiting that time does not end."""


class Finding(NamedTuple):
    """One check's outcome: ok, note or fix; what was found and, unless ok, what to do."""

    grade: str
    text: str


OPTIONS = (
    option("--results DIR", "folder that results will be written to", default=Path("results")),
)


def check_python(version: tuple[int, int] = sys.version_info[:2]) -> Finding:
    """The interpreter's version against the tested one."""
    python = ".".join(map(str, version))
    if version < TESTED_PYTHON:
        return Finding("fix", f"Python {python}: install 3.11 or newer, then make setup")
    if version > TESTED_PYTHON:
        advice = "3.11 is the tested one; numbers may differ slightly"
        return Finding("note", f"Python {python}: {advice}")
    return Finding("ok", f"Python {platform.python_version()}")


def check_packages(distribution: str = "padir") -> Iterator[Finding]:
    """Every direct dependency against what the package's metadata asks for."""
    from packaging.requirements import Requirement

    try:
        needed = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        yield Finding("fix", f"the package {distribution} is not installed: make setup")
        return
    versions = []
    for line in needed:
        requirement = Requirement(line)
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            yield Finding("fix", f"{requirement.name} is absent: make setup")
            continue
        installed = f"{requirement.name} {version}"
        if not requirement.specifier.contains(version, prereleases=True):
            yield Finding("fix", f"{installed} is not {requirement.specifier}: make setup")
        versions.append(installed)
    yield Finding("ok", "packages: " + ", ".join(versions))


def check_devices() -> Finding:
    """Devices that JAX uses, and whether a GPU is unused."""
    import jax

    try:
        devices = jax.devices()
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        return Finding(
            "fix", f"JAX finds no device: {reason}; on the CPU: export JAX_PLATFORMS=cpu"
        )
    kinds = sorted({str(device.device_kind) for device in devices})
    text = f"{len(devices)} {jax.default_backend()} device(s): {', '.join(kinds)}"
    if jax.default_backend() == "cpu" and shutil.which("nvidia-smi"):
        return Finding("note", f"{text}; a GPU is unused: {_why_unused()}")
    return Finding("ok", text)


def _why_unused() -> str:
    """Why JAX does not use a GPU, and what to do."""
    if os.environ.get("JAX_PLATFORMS"):
        return f"JAX_PLATFORMS={os.environ['JAX_PLATFORMS']} is set"
    plugins = [
        f"{package} {metadata.version(package)}"
        for package in ("jax-cuda13-plugin", "jax-cuda12-plugin")
        if any(metadata.distributions(name=package))
    ]
    if not plugins:
        return "make setup EXTRAS=cuda, or cuda12 for drivers before 580 (after rm -r .venv)"
    return (
        f"{plugins[0]} does not start; nvidia-smi shows the driver, which CUDA 13 needs to be 580"
        " or newer, CUDA 12 525: with an older one rm -r .venv; make setup EXTRAS=cuda12"
    )


def check_cores(results: Path) -> Finding:
    """Cores that this process may use, and the command that uses them."""
    from padir.launch import cores

    run = words("snakemake", place_options(results), f"--cores {cores()}")
    return Finding("ok", f"{cores()} core(s): {run}")


def check_name(results: Path) -> Iterator[Finding]:
    """Whether a run would write to this folder."""
    if results.absolute().name != "results":
        advice = f"padir doctor --results {shlex.quote(shown(results / 'results'))}"
        text = f"{shown(results)}: a run writes to a folder of the name results: {advice}"
        yield Finding("note", text)


def check_results(folder: Path) -> Iterator[Finding]:
    """Whether results can be written and locked, and how much room there is."""
    place = folder.absolute()
    while not place.exists():
        # Nothing can be made through a link that leads nowhere.
        if place.is_symlink():
            text = f"{shown(place)}: links to {os.readlink(place)}, which does not exist"
            yield Finding("fix", f"{text}; make that folder, or remove the link")
            return
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            try_lock(file.fileno(), fcntl.LOCK_EX, place)
    except InputError as error:
        yield Finding("fix", str(error))
        return
    except OSError as error:
        yield Finding(
            "fix",
            f"{shown(place)}: cannot write: {error.strerror}; choose another folder:"
            " snakemake --directory FOLDER",
        )
        return
    free = shutil.disk_usage(place).free / 1e9
    enough = free >= LEAST_FREE_GB
    advice = (
        "" if enough else f"; at least {LEAST_FREE_GB:g} GB are needed: make room: du -sh results/*"
    )
    yield Finding(
        "ok" if enough else "fix", f"{shown(place)}: writable, {free:.1f} GB free{advice}"
    )


def check_compiled() -> Iterator[Finding]:
    """Whether compiled programs can be kept."""
    cache = compiled_cache()
    if cache is None:
        text = "no folder for compiled programs: each start compiles them anew: export"
        yield Finding("note", f"{text} XDG_CACHE_HOME=FOLDER")
        return
    place = cache
    while not os.path.lexists(place):
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        yield Finding(
            "note",
            f"{shown(cache)}: cannot write: {error.strerror}; each start compiles programs anew:"
            " export XDG_CACHE_HOME=FOLDER",
        )


def check_tools() -> Iterator[Finding]:
    """Required programs: whether they are on PATH."""
    for name, grade, advice in (
        ("snakemake", "fix", "snakemake is not on PATH: . .venv/bin/activate, or make reproduce"),
        (
            "git",
            "note",
            "git is absent, so provenance will not name the code's commit: apt install git",
        ),
    ):
        path = shutil.which(name)
        yield Finding("ok", f"{name}: {path}") if path else Finding(grade, advice)


def check_run(results: Path) -> Iterator[Finding]:
    """Locks and incomplete files of a killed run, and how to resume it."""
    from padir.planning.status import last_line, run_status

    folder = results.absolute().parent
    run = run_status(folder)
    if run.alive:
        here = folder == Path.cwd()
        option = "" if here else f"--results {shlex.quote(shown(results))}"
        yield Finding(
            "ok",
            f"a run is at work {'here' if here else 'there'}: " + words("padir status", option),
        )
        return
    if run.locked:
        yield Finding(
            "note",
            "a killed run left its lock: start the same snakemake command again, which removes it"
            " (or, for a run on another machine that has ended:"
            f" {words('snakemake', place_options(results), '--unlock')})",
        )
    if run.incomplete:
        first = ", ".join(map(shown, run.incomplete[:3])) + (", ..." if run.incomplete[3:] else "")
        yield Finding(
            "fix",
            f"{len(run.incomplete)} file(s) of a killed run may be incomplete ({first}):"
            " start the same snakemake command again, which makes them again",
        )
    for rule, log in run.failed:
        said = (last_line(folder / log) if log else "") or "no message"
        where = f" ({log})" if log else ""
        yield Finding(
            "note",
            f"the last run failed in {rule}: {said}{where}; the same snakemake command goes on",
        )
    if not (run.locked or run.incomplete or run.failed):
        yield Finding("ok", "no lock and no incomplete file of a killed run")


def check_queue(folder: Path) -> Iterator[Finding]:
    """Slurm jobs of runs in the folder that no node can hold; Slurm says nothing of them."""
    if not shutil.which("squeue"):
        return
    call = ("squeue", "--me", "--noheader", "--states=PENDING", "--format=%i|%r|%Z|%k")
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return
    for line in done.stdout.splitlines():
        number, reason, place, comment = (*line.split("|", 3), "", "", "")[:4]
        if Path(place) == folder and reason in UNENDING:
            yield Finding(
                "fix",
                f"Slurm job {number} ({comment}) waits for ever ({reason}): it asks for more than"
                f" any node has: scancel {number}, then run with --cores N, the CPUs of the"
                " smallest node (sinfo --format=%c), or with less memory"
                " (--set-resources RULE:mem_mb=N)",
            )


def findings(results: Path) -> Iterator[Finding]:
    """All checks, in the order in which a user would fix them."""
    yield check_python()
    yield from check_packages()
    yield check_devices()
    yield check_cores(results)
    yield from check_tools()
    yield from check_name(results)
    yield from check_results(results)
    yield from check_compiled()
    yield from check_run(results)
    yield from check_queue(results.absolute().parent)


def main(argv: list[str]) -> int:
    """Check and print."""
    arguments = read_arguments("doctor", __doc__, OPTIONS, argv)
    to_fix = 0
    for finding in findings(arguments.results):
        to_fix += finding.grade == "fix"
        print(f"{finding.grade:<5} {finding.text}")
    print(f"{to_fix} to fix" if to_fix else "ready")
    return 1 if to_fix else 0
