"""Sentences per second at the paper's size, by the number of sentences translated at once.

    python benchmarks/batches.py --out benchmarks/batches.json --page docs/performance.md \\
        --picture docs/batches.svg

Engines are those of speed.py: random weights, 32 tokens forced. All engines of a batch size are
timed in turns.
"""

import argparse
import sys
import time
from typing import Any

import engines
import numpy as np
import output
import speed

BATCHES = (1, 2, 4, 8, 16, 32, 64)
ENGINES = (
    "PaDIR T=1, 1 candidates",
    "PaDIR T=4, 1 candidates",
    "AR greedy",
    "HF T5 greedy",
    "CTranslate2 int8 greedy",
    f"PaDIR T=1, 1 candidates{engines.BFLOAT16}",
    f"PaDIR T=4, 1 candidates{engines.BFLOAT16}",
    f"AR greedy{engines.BFLOAT16}",
)
"""What is drawn, in the order of the table."""


def measure(size: engines.Size, threads: int, seconds: float) -> dict[str, dict[int, float]]:
    """Milliseconds of a batch, by engine and sentences at once; absent peers are left out."""
    times: dict[str, dict[int, float]] = {}
    for rows in BATCHES:
        group = engines.our_decoders(size, rows) | engines.peer_decoders(size, threads, rows)
        group = {name: group[name] for name in ENGINES if name in group}
        for name, rounds in speed.race(group, seconds, time.perf_counter).items():
            times.setdefault(name, {})[rows] = float(np.median(rounds))
        print(f"{rows} sentences at once", file=sys.stderr, flush=True)
    return times


def rates(times: dict[int, float]) -> dict[int, float]:
    """Sentences per second by sentences at once."""
    return {rows: 1e3 * rows / milliseconds for rows, milliseconds in times.items()}


def crossover(ahead: dict[int, float], behind: dict[int, float]) -> int | None:
    """Fewest sentences at once from which on `behind` is never slower than `ahead`."""
    overtaken = [rows for rows in ahead if all(behind[n] >= ahead[n] for n in ahead if n >= rows)]
    return min(overtaken, default=None)


def page(report: dict[str, Any]) -> str:
    """Rates, the best batch of each engine, and where others overtake PaDIR."""
    lines = {name: rates(times) for name, times in report["times"].items()}
    values = list(next(iter(lines.values())))
    rows = []
    for name, line in lines.items():
        best = max(line, key=line.__getitem__)
        rows.append((name, *(f"{line[rows]:.1f}" for rows in values), str(best)))
    head = ("sentences/s, by sentences at once", *map(str, values), "best")
    overtaking = []
    for parallel in (name for name in lines if name.startswith("PaDIR")):
        others = {name: crossover(lines[parallel], lines[name]) for name in lines
                  if not name.startswith("PaDIR")}  # fmt: skip
        starts = [f"{name} from {rows}" for name, rows in others.items() if rows is not None]
        never = [name for name, rows in others.items() if rows is None]
        overtaken = [f"Overtaken by {'; '.join(starts)}."] if starts else []
        ahead = [f"Never overtaken by {'; '.join(never)}."] if never else []
        overtaking.append(" ".join([f"- {parallel}.", *overtaken, *ahead]))
    conditions = f"{speed.conditions(report['machine'])}."
    return "\n\n".join(
        [output.command(), conditions, speed.table(head, rows), "\n".join(overtaking)]
    )


def draw(report: dict[str, Any]) -> str:
    """One curve for each engine, on logarithmic axes; dashed where its weights are bfloat16."""
    from padir.report.theme import canvas

    with canvas("batches", 5.0, 3.6) as drawing:
        axes = drawing.figure.subplots()
        for name, times in report["times"].items():
            index = ENGINES.index(name.removesuffix(engines.BFLOAT16))
            unit, dashed = "{:,} at once: {:.1f}/s", name.endswith(engines.BFLOAT16)
            output.draw_curve(drawing, axes, index, name, rates(times), unit, dashed)
        axes.set_xlabel("sentences at once")
        axes.set_ylabel("sentences/s")
        drawing.legend()
    return drawing.svg


def main() -> None:
    """Parse, time, write."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--threads", type=int, default=2, help="CPU threads of every engine")
    parse.add_argument("--seconds", type=float, default=15, help="of each batch, without compiling")
    output.add_files(parse, "out", "page", "picture")
    given = parse.parse_args()
    from padir.launch import prepare

    prepare(given.threads)
    about = speed.machine(given.threads)
    times = measure(engines.SIZES["paper"], given.threads, given.seconds)
    report = {"machine": about, "times": times}
    output.write(given, "batches", page(report), report, draw)


if __name__ == "__main__":
    main()
