"""Count, print, add to the records, and write their table into a page."""

import argparse
import importlib
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import benchmarks.faults
from benchmarks.faults.commands import COMMANDS, Command
from benchmarks.faults.records import (
    Count,
    merged,
    read_records,
    record,
    table,
    with_table,
    write_records,
)
from benchmarks.faults.scheduler import SCHEDULER_STRIKES, SchedulerTrial
from benchmarks.faults.several import SEVERAL_STRIKES, SeveralTrial
from benchmarks.faults.steps import Steps, watch
from benchmarks.faults.strikes import STRIKES, small_disk
from benchmarks.faults.trial import CloudTrial, Trial

RECORDS = Path(__file__).resolve().parents[1] / "faults.json"
FAULTS = {
    "kill": "SIGKILL at random moments",
    "scheduler": "SIGKILL of the scheduler alone",
    "removal": "SIGKILL of the scheduler while it removes raw text",
    "member": "SIGKILL of one process",
    "together": "SIGKILL of all processes at once",
    "still": "SIGSTOP of one process, which goes on when the others have ended",
    "group": "SIGKILL of the scheduler's process group",
    "job": "SIGKILL of one job, as where memory is short; every second one a scorer",
    "write": "a write, rename or fsync fails, or a file may not grow",
    "full": "the disk is full, then freed",
    "damage": "a file of a half-finished run cut short, or one bit flipped",
    "settings": "settings, statistics or a score between two rules cut short, or one bit flipped",
    "input": "an input cut short, or one bit flipped",
    "two": "the same command twice at once",
    "clock": "file times and clock moved by years",
}
POSSIBLE = [(command.name, kind) for command in COMMANDS for kind in command.kinds]
TITLES = {command.name: command.shown for command in COMMANDS}
KILLS = ("kill", "member", "together", "still")
"""Faults after which the steps are counted that a training does again."""
SMALL_DISK = 64 * 2**20


def trial_of(command: Command, folder: Path, log: Path) -> Trial:
    """An undisturbed trial of a command, with what is right."""
    kinds = {
        "snakemake": SchedulerTrial,
        "distill-cloud": CloudTrial,
        "several": SeveralTrial,
    }
    trial = kinds.get(command.name, Trial)(command, folder, log)
    trial.measure()
    return trial


def count(trial: Trial, kind: str, steps: Steps, trials: int, seconds: float, seed: int) -> Count:
    """Make trials of one kind, as many as asked for or as there is time for."""
    counted = Count()
    steps.take()
    others = {"snakemake": SCHEDULER_STRIKES, "several": SEVERAL_STRIKES}
    strikes: Any = others.get(trial.command.name, STRIKES)
    began = time.monotonic()
    for number in range(trials):
        if time.monotonic() - began > seconds:
            break
        trial.clear()
        steps.forget()
        outcome = strikes[kind](
            trial, random.Random(f"{seed} {trial.command.name} {kind} {number}")
        )
        counted.add(outcome)
        if outcome.verdict != "survived" or outcome.untold or outcome.left:
            print(f"{trial.command.name} {kind} {number}: {outcome}", file=sys.stderr, flush=True)
        if outcome.verdict in ("wrong", "lost"):
            kept = Path(tempfile.mkdtemp(prefix=f"padir-{outcome.verdict}-"))
            shutil.copytree(trial.folder, kept / "folder", symlinks=True)
            if trial.errors.exists():
                shutil.copy(trial.errors, kept / "log")
            print(f"its folder and log are kept: {kept}", file=sys.stderr, flush=True)
    if kind in KILLS:
        counted.steps = steps.take()
    return counted


def rendered(path: Path) -> str:
    """The table of the records in a file."""
    return table(read_records(path), TITLES, FAULTS, POSSIBLE)


def main(argv: list[str]) -> int:
    parse = argparse.ArgumentParser(
        "python -m benchmarks.faults", description=benchmarks.faults.__doc__
    )
    parse.add_argument(
        "--trials",
        type=int,
        default=20,
        help="most of each kind (default 20); 0: render the table again",
    )
    parse.add_argument(
        "--seconds", type=float, default=300, help="most for each kind (default 300)"
    )
    parse.add_argument("--seed", type=int, default=0, help="another seed adds to the counts")
    parse.add_argument("--commands", nargs="+", default=list(TITLES), choices=TITLES)
    parse.add_argument("--kinds", nargs="+", default=list(FAULTS), choices=FAULTS)
    parse.add_argument("--records", type=Path, default=RECORDS, metavar="JSON")
    parse.add_argument("--write", type=Path, metavar="PAGE", help="page with the markers")
    given = parse.parse_args(argv)
    # Imports once, JAX's devices never: each trial is a fork of this process.
    from padir.launch import prepare
    from padir.provenance import git_state

    prepare(1)
    for module in ("padir.decode.load", "padir.distill.teacher", "tests.training"):
        importlib.import_module(module)
    steps = Steps()
    watch(steps)

    state = git_state(Path(__file__).parent)
    commit = str(state["commit"])[:7] + (" and changes" if state["dirty"] else "")
    asked = [f"--trials {given.trials} --seconds {given.seconds:g} --seed {given.seed}",
             f"--commands {' '.join(given.commands)} --kinds {' '.join(given.kinds)}"]  # fmt: skip
    run = {"arguments": " ".join(asked), "commit": commit, "seed": given.seed}
    with tempfile.TemporaryDirectory(prefix="padir-faults-") as name:
        place = Path(name)
        for command in COMMANDS:
            kinds = [kind for kind in command.kinds if kind in given.kinds]
            if command.name not in given.commands or not kinds or not given.trials:
                continue
            log = place / f"{command.name}.log"
            trial = None
            for kind in kinds:
                limits = (steps, given.trials, given.seconds, given.seed)
                if kind == "full":
                    with small_disk(place / "full", SMALL_DISK) as allowed:
                        if not allowed:
                            continue
                        small = trial_of(command, place / "full" / command.name, log)
                        counted = count(small, kind, *limits)
                else:
                    trial = trial or trial_of(command, place / command.name, log)
                    counted = count(trial, kind, *limits)
                row = record(command.name, kind, counted, run)
                print(command.name, kind, counted, file=sys.stderr, flush=True)
                write_records(given.records, merged(read_records(given.records), row))
    text = rendered(given.records)
    print(text)
    if given.write:
        given.write.write_text(with_table(given.write.read_text(), text))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
