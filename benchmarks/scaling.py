"""How the cost of decoding and of a training step grows with passes, candidates, length, batch and
vocabulary.

    python benchmarks/scaling.py --threads 2 --out benchmarks/scaling.json \\
        --page docs/performance.md --picture docs/scaling.svg

The model has Multi30k's architecture (`engines.SIZES`) and random weights. One thing varies, all
else stays as in speed.py: one sentence of 11 source tokens, 32 target tokens, one candidate, four
passes. Times are medians over interleaved rounds. The last column is the slope between the two
largest values on logarithmic axes: 1 where twice as much costs twice as much.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import engines
import numpy as np
import output
import speed

SIZE = engines.SIZES["multi30k"]
# Lengths up to 128.
LONG = replace(SIZE, architecture=SIZE.architecture | {"max_positions": 288, "length_classes": 130})
PASSES, CANDIDATES, LENGTHS = (1, 2, 4, 8, 16), (1, 2, 4, 8), (8, 16, 32, 64, 128)
BATCHES, VOCABULARIES, ROWS = (1, 4, 16, 64), (1_000, 4_000, 16_000, 64_000), (8, 32, 128)
STEP_ROWS = "sentences of a training step"
Engine = Callable[[], Any]


def refine(
    size: engines.Size, sentences: int = 1, candidates: int = 1, passes: int = 4, length: int = 32
) -> Engine:
    """PaDIR on sources of `engines.SOURCE` tokens, with targets of a given length."""
    from padir.config.decoder import RefinementDecoder
    from padir.decode.refiner import Refiner

    settings = RefinementDecoder(length_candidates=1, restarts=candidates, stop="fixed")
    run = engines.training_run(size, "padir", length)
    model = engines.model_of(size, "padir")
    refiner = Refiner(model, run, settings, size.vocabulary, 0, sentences=sentences)
    sources = engines.source_ids(size, sentences)
    return lambda: list(refiner.batches(sources, passes, [length] * sentences))


def search(size: engines.Size, kind: str, sentences: int = 1, length: int = 32) -> Engine:
    """AR's search; its limit of 2 * source + 10 tokens makes targets of a given length."""
    from padir.config.decoder import SearchDecoder
    from padir.decode.autoregressive import Searcher

    run = engines.training_run(size, "ar", length)
    source = (length - 10) // 2
    model = engines.model_of(size, "ar")
    searcher = Searcher(model, run, SearchDecoder(kind=kind), size.vocabulary, sentences=sentences)
    random = np.random.default_rng(0)
    sources = random.integers(8, 400, (sentences, source - 1)).tolist()
    return lambda: list(searcher.batches(sources))


def step(system: str, rows: int) -> Engine:
    """A training step of so many sentences."""
    return engines.our_training(replace(SIZE, rows=rows))[
        "AR" if system == "ar" else "PaDIR, 2 stages"
    ]


def curves() -> dict[str, dict[str, dict[int, Engine]]]:
    """Engines by what varies, by system, by value."""
    return {
        "passes": {
            f"PaDIR, {n} candidate{'s' * (n > 1)}": {
                value: refine(SIZE, candidates=n, passes=value) for value in PASSES
            }
            for n in (1, 5)
        },
        "candidates": {
            "PaDIR, T=4": {value: refine(SIZE, candidates=value) for value in CANDIDATES}
        },
        "target tokens": {
            "PaDIR, T=4": {value: refine(LONG, length=value) for value in LENGTHS},
            # A search needs a source of one token at least.
            **{
                f"AR {kind}": {v: search(LONG, kind, length=v) for v in LENGTHS if v > 12}
                for kind in ("greedy", "beam")
            },
        },
        "sentences at once": {
            "PaDIR, T=4": {value: refine(SIZE, sentences=value) for value in BATCHES},
            "AR greedy": {value: search(SIZE, "greedy", sentences=value) for value in BATCHES},
        },
        "vocabulary": {
            "PaDIR, T=4": {v: refine(replace(SIZE, vocabulary=v)) for v in VOCABULARIES},
            "AR greedy": {v: search(replace(SIZE, vocabulary=v), "greedy") for v in VOCABULARIES},
        },
        STEP_ROWS: {
            "AR": {value: step("ar", value) for value in ROWS},
            "PaDIR, 2 stages": {value: step("padir", value) for value in ROWS},
        },
    }


def measure(seconds: float) -> dict[str, dict[str, dict[int, float]]]:
    """Median milliseconds of each engine; all of one kind are timed in turns."""
    import time

    times: dict[str, dict[str, dict[int, float]]] = {}
    for what, systems in curves().items():
        group = {
            f"{name}/{v}": engine for name, line in systems.items() for v, engine in line.items()
        }
        steps = engines.STEPS if what == STEP_ROWS else 1
        raced = speed.race(group, seconds, time.perf_counter, steps)
        times[what] = {
            name: {value: float(np.median(raced[f"{name}/{value}"])) for value in line}
            for name, line in systems.items()
        }
        print(f"{what}: {len(next(iter(raced.values())))} rounds", file=sys.stderr, flush=True)
    return times


def slope(line: dict[int, float]) -> float:
    """Between the two largest values, on logarithmic axes."""
    (before, less), (last, more) = sorted(line.items())[-2:]
    return float(np.log(more / less) / np.log(last / before))


def page(report: dict[str, Any]) -> str:
    """The tables, one for each thing that varies."""
    parts = [output.command(), f"{speed.conditions(report['machine'])}. Milliseconds."]
    for what, systems in report["times"].items():
        values = sorted({value for line in systems.values() for value in line})
        head = (what, *(f"{value:,}" for value in values), "slope")
        rows = [
            (name, *(f"{line[v]:.1f}" if v in line else "-" for v in values), f"{slope(line):.2f}")
            for name, line in systems.items()
        ]
        parts.append(speed.table(head, rows))
    return "\n\n".join(parts)


def draw(report: dict[str, Any]) -> str:
    """One panel for each thing that varies, on logarithmic axes."""
    from padir.report.theme import canvas

    names = list(dict.fromkeys(name for systems in report["times"].values() for name in systems))
    with canvas("scaling", 9.0, 5.0) as drawing:
        panels = drawing.figure.subplots(2, 3).flat
        for axes, (what, systems) in zip(panels, report["times"].items(), strict=True):
            for name, times in systems.items():
                unit = f"{{:,}} {what}: {{:.1f}} ms"
                output.draw_curve(drawing, axes, names.index(name), name, times, unit)
            axes.set_xlabel(what)
            axes.set_ylabel("ms")
        drawing.legend()
    return drawing.svg


def main() -> None:
    """Parse, time, write."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--threads", type=int, default=2, help="CPU threads")
    parse.add_argument("--seconds", type=float, default=12, help="of each kind, without compiling")
    output.add_files(parse, "out", "page", "picture")
    given = parse.parse_args()
    from padir.launch import prepare

    prepare(given.threads)
    report = {"machine": speed.machine(given.threads), "times": measure(given.seconds)}
    output.write(given, "scaling", page(report), report, draw)


if __name__ == "__main__":
    main()
