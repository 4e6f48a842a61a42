"""State of a results folder from its files: what is running, its progress, what failed."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from padir.checksums import read_with_checksum
from padir.files import InputError, read_json
from padir.locks import holder_is_alive, other_host, run_is_alive

RECENT = 10
"""Lines of metrics.jsonl that the speed is taken from."""
RAN = re.compile(r"^(Job stats:|Nothing to be done|Error in rule )", re.MULTILINE)
"""What the log of a run has. `--lint`, `--dag`, `--report`, `--unlock`, `--summary`, and whatever
ends before a job was chosen, write a log without it; a dry run writes none."""
JOB_BLOCK = re.compile(
    r"^(?:Error in |local)?(?:rule|checkpoint) (\w+):\n(.*?)(?=^\[|^$|\Z)", re.MULTILINE | re.DOTALL
)
"""A job that starts or fails: its rule, and lines such as `    jobid: 5`."""


@dataclass(frozen=True)
class TrainingStatus:
    """One training with one seed.

    Attributes:
        name: such as `synthetic xs-xt padir seed 0`.
        steps: in all.
        step: of the last line of its metrics.
        running: whether its trainer is alive.
        seconds_left: at the speed of its last lines; None where it is unknown.
        begun: whether it has a work folder of these settings.
        done: whether its bundle of these settings is there.
        host: where it last ran, if that is another machine; whether it still does is unknown.
        seconds_silent: since the last line of its metrics, or since it took its work folder; None
            where there is neither.
    """

    name: str
    steps: int
    step: int
    running: bool
    seconds_left: float | None
    begun: bool
    done: bool
    host: str | None
    seconds_silent: float | None


def trainings(results: Path) -> Iterator[TrainingStatus]:
    """Every training that has a folder, by the settings that its spec has now."""
    for spec in sorted(results.glob("runs/*/*/*/spec.json")):
        place = spec.parent
        try:
            content = read_with_checksum(spec, "")
            steps = int(content["run"]["training"]["steps"])
        except (InputError, KeyError, TypeError, ValueError):
            continue
        digest = _training_digest(content)
        for seed in sorted(place.glob("seed*")):
            name = " ".join([*place.relative_to(results / "runs").parts, seed.name])
            yield _training_status(name, seed, digest, steps)


def changed_at(path: Path) -> float:
    """When a file changed, for sorting; 0 for one that a run has removed meanwhile."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _training_status(name: str, seed: Path, digest: str | None, steps: int) -> TrainingStatus:
    """The state of one seed. Without a digest its latest work folder and any bundle count."""
    works = f"work/{digest or '*'}"
    written = [*seed.glob(f"{works}/metrics.jsonl"), *seed.glob(f"{works}/lock")]
    latest = max(written, key=changed_at, default=None)
    lines: list[dict[str, Any]] = []
    running, host, silent = False, None, None
    if latest is not None:
        # A trainer that has written no metrics yet has its lock alone.
        metrics, lock = latest.parent / "metrics.jsonl", latest.parent / "lock"
        lines = _records(metrics) if metrics.is_file() else []
        running, host = holder_is_alive(lock), other_host(lock)
        silent = time.time() - (metrics if metrics.is_file() else lock).stat().st_mtime
    return TrainingStatus(
        name,
        steps,
        step=lines[-1]["step"] if lines else 0,
        running=running,
        seconds_left=_seconds_left(lines, steps) if running else None,
        begun=latest is not None,
        done=_is_done(seed / "bundle", digest),
        host=host,
        seconds_silent=silent,
    )


def _training_digest(spec: Any) -> str | None:
    """Digest of all that a training depends on, which names its work folder; None where its spec
    has none."""
    try:
        return spec["digests"]["training"] or None
    except (KeyError, TypeError):
        return None


def _is_done(bundle: Path, digest: str | None) -> bool:
    """Whether a bundle is there, of a training of this digest if it is known."""
    if not (bundle / "model.safetensors").is_file():
        return False
    if digest is None:
        return True
    try:
        return _training_digest(read_json(bundle / "spec.json")["run_spec"]) == digest
    except (InputError, KeyError, TypeError):
        return False


def _records(path: Path) -> list[dict[str, Any]]:
    """Whole lines with a step; the last may be half written."""
    records = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and isinstance(record.get("step"), int):
            records.append(record)
    return records


def _seconds_left(lines: list[dict[str, Any]], steps: int) -> float | None:
    timed = [line for line in lines if "seconds" in line][-RECENT:]
    if len(timed) < 2 or timed[-1]["step"] <= timed[0]["step"]:
        return None
    seconds = timed[-1]["seconds"] - timed[0]["seconds"]
    pace = seconds / (timed[-1]["step"] - timed[0]["step"])
    return (steps - timed[-1]["step"]) * pace if pace > 0 else None


@dataclass(frozen=True)
class RunStatus:
    """State of Snakemake's folder.

    Attributes:
        alive: whether a run is at work on this machine.
        locked: whether Snakemake's locks are there.
        incomplete: files that were being made and are there, perhaps in part.
        done, jobs: of the last run; None where it says nothing.
        failed: name and log of each failed job of the last run.
    """

    alive: bool
    locked: bool
    incomplete: list[Path]
    done: int | None
    jobs: int | None
    failed: list[tuple[str, Path | None]]


def run_status(folder: Path) -> RunStatus:
    """The state of the last run in a working folder."""
    state = folder / ".snakemake"
    logs = sorted(state.glob("log/*.log"), key=changed_at, reverse=True)
    text = next(filter(RAN.search, map(_text, logs)), "")
    counted = re.findall(r"^(\d+) of (\d+) steps \(.*\) done$", text, re.MULTILINE)
    total = re.search(r"^total +(\d+)$", text, re.MULTILINE)
    done, jobs = map(int, counted[-1]) if counted else (None, None)
    if not counted and total:
        done, jobs = 0, int(total[1])
    return RunStatus(
        run_is_alive(state),
        any(state.glob("locks/*.lock")),
        [path for path in _incomplete(state) if (folder / path).exists()],
        done,
        jobs,
        _failed_jobs(text),
    )


def _text(log: Path) -> str:
    """What a log says; "" where there is none, such as one that a run has removed meanwhile."""
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _failed_jobs(text: str) -> list[tuple[str, Path | None]]:
    """Name and log of each job that failed and did not succeed when tried again."""
    names: dict[str, str] = {}
    failed: dict[str, tuple[str, Path | None]] = {}
    for block in JOB_BLOCK.finditer(text):
        rule, fields = block[1], dict(re.findall(r"^ {4}(\w+): (.*)$", block[2], re.MULTILINE))
        job = fields.get("jobid", "")
        if not block[0].startswith("Error"):
            wildcards = re.findall(r"(\w+)=([^,\s]*)", fields.get("wildcards", ""))
            names[job] = job_name(rule, dict(wildcards))
        else:
            log = fields.get("log", "").partition(" (check")[0]
            failed[job] = names.get(job, rule), Path(log) if log else None
    finished = set(re.findall(r"^Finished jobid: (\d+)", text, re.MULTILINE))
    return [job for number, job in failed.items() if number not in finished]


def job_name(rule: str, wildcards: dict[str, str]) -> str:
    """Rule and place of a job: `decode toy xs-xt padir test padir.T4 seed 0`."""
    values = dict(wildcards)
    for first, second in (("source", "target"), ("first", "second")):
        if {first, second} <= values.keys():
            values[first] += f"-{values.pop(second)}"
    parts = (
        f"of {v}" if key == "shards" else f"{key} {v}" if v.isdigit() else v.strip("/")
        for key, v in values.items()
    )
    return " ".join([rule, *filter(None, parts)])


def _incomplete(state: Path) -> Iterator[Path]:
    """Files whose jobs were begun and not ended; Snakemake names its marks by them, in base64."""
    import base64
    import binascii

    for mark in sorted(state.glob("incomplete/**/*")):
        if mark.is_file() and mark.name != "migration_underway":
            name = "".join(mark.relative_to(state / "incomplete").parts).replace("@", "")
            try:
                yield Path(base64.b64decode(name, validate=True).decode())
            except (binascii.Error, UnicodeDecodeError):
                continue


def last_line(path: Path) -> str:
    """The last line of a log that is not empty; "" where there is none."""
    return next(iter(last_lines(path, 1)), "")


def last_lines(path: Path, count: int) -> list[str]:
    """The last lines of a log that are not empty, none where there is no log."""
    return [line.strip() for line in _text(path).splitlines() if line.strip()][-count:]
