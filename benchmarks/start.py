"""Processor seconds of a training until its first step, with an empty cache of programs.

    python benchmarks/start.py --page docs/performance.md

Each training runs in a process of its own, with one thread: Python and the imports, initial
parameters, then tracing, lowering and compiling the steps of the first bucket, and the step.
The other buckets and those of validation follow, which a training compiles when it meets them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import output
import speed

MODELS = {
    "demo": ("config/config.yaml", "synthetic", "xs-xt", 512),
    "multi30k": ("config/multi30k.yaml", "multi30k", "de-en", 6_016),
}
"""Config, dataset, direction, and rows of the table."""
SYSTEMS = {"ar": "ar", "padir": "padir_raw"}
ROOT = Path(__file__).resolve().parents[1]


def phases(model: str, system: str) -> dict[str, float]:
    """Processor seconds of this process, phase by phase."""
    import jax
    import numpy as np

    from padir.config.identity import run_spec
    from padir.config.read import load_config
    from padir.launch import prepare
    from padir.training.step import Trainer, micro_batches

    prepare(1)
    jax.devices()
    seconds: dict[str, float] = {}
    before = 0.0

    def done(phase: str) -> None:
        nonlocal before
        now = time.process_time()
        seconds[phase] = seconds.get(phase, 0.0) + now - before
        before = now

    done("Python and imports")
    config, dataset, direction, table = MODELS[model]
    run = run_spec(load_config([ROOT / config]), dataset, direction, SYSTEMS[system]).run
    trainer = Trainer(run, table, table, 0)
    done("trainer")
    state = jax.block_until_ready(trainer.initial_state())
    done("initial parameters")
    settings = run.training
    for number, bucket in enumerate(settings.buckets):
        ids = np.full((settings.batch_tokens // bucket, bucket), 8, np.int32)
        ids[:, -1] = 1
        rows = micro_batches(ids[None], settings.dispatch_steps, settings.accumulate, 1)
        rates = np.zeros(settings.dispatch_steps, np.float32)
        stage = "first bucket" if number == 0 else "other buckets"
        lowered = trainer._steps.lower(state, rows, rows, rates, np.int32(1), trainer.seed)
        done(f"{stage}: tracing and lowering")
        compiled = lowered.compile()
        done(f"{stage}: compiling")
        if number == 0:
            state, totals = compiled(state, rows, rows, rates, np.int32(1), trainer.seed)
            jax.block_until_ready(totals)
            done("first step")
        arguments = (state.parameters, ids, ids, np.int32(0), trainer.seed)
        trainer._evaluate.lower(*arguments).compile()
        done("validation: all buckets")
    return seconds


def measure() -> dict[str, dict[str, float]]:
    """The phases of every model and system, each with a cache of its own."""
    report = {}
    for model in MODELS:
        for system in SYSTEMS:
            with tempfile.TemporaryDirectory() as cache:
                command = [sys.executable, __file__, "--alone", model, system]
                environment = {**os.environ, "XDG_CACHE_HOME": cache}
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
            report[f"{model} {system}"] = json.loads(done.stdout)
    return report


def page(report: dict[str, Any]) -> str:
    """The section of the page."""
    columns = report["seconds"]
    parts = list(next(iter(columns.values())))
    first = parts[: parts.index("first step") + 1]
    rows = [(part, *(f"{column[part]:.1f}" for column in columns.values())) for part in parts]
    for name, counted in (("until the first step", first), ("all", parts)):
        sums = (sum(column[part] for part in counted) for column in columns.values())
        rows.append((name, *(f"{total:.1f}" for total in sums)))
    head = ("processor seconds", *columns)
    return "\n\n".join(
        [output.command(), f"{speed.conditions(report['machine'])}.", speed.table(head, rows)]
    )


def main() -> None:
    """Parse, measure, write."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    output.add_files(parse, "page")
    given = parse.parse_args()
    if given.alone:
        print(json.dumps(phases(*given.alone)))
        return
    report = {"machine": speed.machine(1), "seconds": measure()}
    output.write(given, "start", page(report))


if __name__ == "__main__":
    main()
