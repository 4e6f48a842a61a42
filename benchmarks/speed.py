"""Time our decoders and training steps and those of others, in turns, beside the machine's limits.

    python benchmarks/speed.py --threads 2 --minutes 9 --out results/bench/speed.json \\
        --page docs/performance.md --compare benchmarks/speed.json

Each round times every engine once, so that the machine's moods meet all alike; a ratio is the
median over rounds of the ratio within a round. The matrix product and the memory are measured in
the same run. Peers come with the extra `bench`; without it they are left out and named.

--compare prints which ratios have moved by more than both runs' spread allows, and never fails.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import engines
import numpy as np
import output

DRIFT = 0.15
"""Least relative change of a ratio that counts as drift."""
TARGETS = (
    ("paper", "AR beam", "HF T5 beam", 1.5),
    ("paper", "AR beam", "CTranslate2 float32 beam", 2.5),
    ("paper", "AR greedy", "HF T5 greedy", 1.5),
    ("paper", "AR greedy", "CTranslate2 float32 greedy", 2.0),
    ("paper", "PaDIR T=4, 5 candidates", "AR beam", 3.0),
    ("paper", f"PaDIR T=4, 5 candidates, shortlist {engines.SHORTLIST}", "AR beam", 3.0),
    ("multi30k", "PaDIR T=4, 5 candidates", "AR beam", 2.0),
    ("multi30k", f"PaDIR T=4, 5 candidates, shortlist {engines.SHORTLIST}", "AR beam", 2.0),
    ("demo", "PaDIR T=4, 5 candidates", "AR greedy", 1.0),
    *(
        (
            size,
            f"PaDIR T=4, 5 candidates{end}{engines.BFLOAT16}",
            f"AR beam{engines.BFLOAT16}",
            goal,
        )
        for size, goal in (("paper", 3.0), ("multi30k", 2.0))
        for end in ("", f", shortlist {engines.SHORTLIST}")
    ),
    ("paper", "AR greedy", "AR beam", None),
    ("paper training", "AR", "HF T5", 1.3),
    ("demo training", "AR", "HF T5", 1.5),
    ("paper training", "AR", "PaDIR, 2 stages", 1.3),
    ("multi30k training", "AR", "PaDIR, 2 stages", 1.3),
    ("demo training", "AR", "PaDIR, 2 stages", 1.3),
)
"""Group, engine, what its time is compared with, and how many times faster it should be. A target
under PaDIR's step is an upper bound: the step should take no more than that many times AR's."""


PEAK_SHARES = {"paper": 80, "multi30k": 55}
"""Percent of the matrix product that passes over five candidates should reach, by size."""


def race(
    group: dict[str, Callable[[], Any]],
    seconds: float,
    clock: Callable[[], float],
    parts: int = 1,
) -> dict[str, list[float]]:
    """Time every engine once a round, until the time is over, at least three rounds.

    Args:
        group: engines by name; each waits for its result.
        seconds: of all rounds, the calls that compile not counted.
        clock: of one timing; the end of the rounds is told by the wall clock.
        parts: of a call that are alike: steps of a training engine.

    Returns:
        milliseconds of one part in each round, by engine.
    """
    for engine in group.values():
        engine()
        engine()
    times: dict[str, list[float]] = {name: [] for name in group}
    end = time.monotonic() + seconds
    while group and (time.monotonic() < end or len(next(iter(times.values()))) < 3):
        for name, engine in group.items():
            start = clock()
            engine()
            times[name].append(round(1e3 * (clock() - start) / parts, 4))
    return times


def ratio(times: dict[str, list[float]], engine: str, other: str) -> dict[str, float] | None:
    """How many times longer `other` takes: the median over rounds, and its quartiles."""
    if engine not in times or other not in times:
        return None
    rounds = np.array(times[other]) / np.array(times[engine])
    low, middle, high = np.percentile(rounds, [25, 50, 75])
    return {"median": float(middle), "low": float(low), "high": float(high)}


def limits(clock: Callable[[], float], dtype: str = "float32") -> dict[str, float]:
    """Best GFLOP/s of a matrix product, and GB/s of reading memory, in this process."""
    import jax
    import jax.numpy as jnp

    def best(function: Callable[..., Any], *arguments: Any) -> float:
        jax.block_until_ready(function(*arguments))
        times = []
        for _ in range(5):
            start = clock()
            jax.block_until_ready(function(*arguments))
            times.append(clock() - start)
        return min(times)

    square = jnp.ones((2048, 2048), dtype)
    # One vector times a matrix far larger than the caches: what a greedy step does.
    tall, vector = jnp.ones((1024, 65_536), jnp.float32), jnp.ones((1, 1024), jnp.float32)
    product = jax.jit(jnp.matmul)
    return {
        "matmul_gflops": 2 * 2048**3 / best(product, square, square) / 1e9,
        "read_gb_per_s": 4 * tall.size / best(product, vector, tall) / 1e9,
    }


def pass_gflop(size: engines.Size, rows: int) -> float:
    """Products of one decoder pass over `rows` positions, attention between positions left out.

    Positional queries and keys and the keys and values of the source are made once a sentence.
    """
    settings = engines.training_run(size, "padir").architecture
    inner = settings.heads * settings.head_width
    layer = (4 + 2 + 2) * settings.width * inner + 2 * settings.width * settings.feed_forward_width
    return 2e-9 * rows * (settings.decoder_layers * layer + settings.width * size.vocabulary)


def step_gflop(size: engines.Size, system: str) -> float:
    """Products of a training step: forward, and twice as many backward. Attention between positions
    is left out, and so are positional queries and keys, which are made once for all sentences."""
    run = engines.training_run(size, system)
    settings, stages = run.architecture, run.objective.stages if run.parallel else 1
    inner = settings.heads * settings.head_width
    feed_forward = 2 * settings.width * settings.feed_forward_width
    encoder = settings.encoder_layers * (4 * settings.width * inner + feed_forward)
    memory = settings.decoder_layers * 2 * settings.width * inner
    projections = 8 if run.parallel else 6
    decoder = settings.decoder_layers * (projections * settings.width * inner + feed_forward)
    decoder += settings.width * size.vocabulary
    return 3 * 2e-9 * size.rows * size.tokens * (encoder + memory + stages * decoder)


def machine(threads: int) -> dict[str, Any]:
    """Processor, load and versions of what was timed."""
    from padir.decode.latency import processor_name

    versions = {"python": platform.python_version()}
    for package in ("jax", "torch", "transformers", "ctranslate2"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "absent"
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "threads": threads,
        "load_average": round(os.getloadavg()[0], 2),
        "versions": versions,
    }


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Time every group; the report of one run."""
    from padir.launch import prepare

    prepare(arguments.threads)
    clock = time.process_time if arguments.clock == "processor" else time.perf_counter
    threads, dtype = arguments.threads, arguments.compute_dtype
    sizes = {
        name: replace(size, architecture=size.architecture | {"compute_dtype": dtype})
        for name, size in engines.SIZES.items()
    }
    report: dict[str, Any] = {"machine": machine(threads), "clock": arguments.clock}
    report |= {"compute_dtype": dtype, "limits": limits(clock, dtype)}
    makers: dict[str, Callable[[], dict[str, Callable[[], Any]]]] = {}
    for name in arguments.sizes:
        size = sizes[name]
        # Small models are told apart from their own AR alone: peers there time Python.
        peers = arguments.peers and name == "paper"
        makers[name] = lambda size=size, peers=peers: {
            **engines.our_decoders(size),
            **(engines.peer_decoders(size, threads) if peers else {}),
        }
    for name in arguments.training:
        size = sizes[name]
        peers = arguments.peers and name != "multi30k"
        makers[f"{name} training"] = lambda size=size, peers=peers: {
            **engines.our_training(size),
            **(engines.peer_training(size, threads) if peers else {}),
        }
    for rows in arguments.batches:
        size = sizes["paper"]
        makers[f"paper batch {rows}"] = lambda size=size, rows=rows: {
            **engines.our_decoders(size, rows),
            **(engines.peer_decoders(size, threads, rows) if arguments.peers else {}),
        }
    end = time.monotonic() + 60 * arguments.minutes
    report["groups"] = {}
    for index, (name, make) in enumerate(makers.items()):
        began = time.monotonic()
        share = max(end - began, 0) / (len(makers) - index)
        try:
            group = make()
        except (AttributeError, ImportError, RuntimeError, TypeError, ValueError) as error:
            # The other groups of a long run are worth having.
            print(f"{name}: not timed: {error!r}", file=sys.stderr, flush=True)
            continue
        # Compilation takes a part of the share that only its own run shows: half is a guess.
        times = race(group, share / 2, clock, engines.STEPS if name.endswith("training") else 1)
        report["groups"][name] = times
        spent = time.monotonic() - began
        print(f"{name}: {len(group)} engines, {spent:.0f} s", file=sys.stderr, flush=True)
    after = limits(clock, dtype)
    report["limits"] = {key: max(value, after[key]) for key, value in report["limits"].items()}
    report["ratios"] = [
        {"group": group, "engine": engine, "other": other, "target": target, **times}
        for group, engine, other, target in TARGETS
        if (times := ratio(report["groups"].get(group, {}), engine, other))
    ]
    return report


def pass_milliseconds(times: dict[str, list[float]], candidates: int) -> float | None:
    """A decoder pass: a third of what four passes take longer than one, in the median round.

    None where rounds differ by more than that.
    """
    one_pass, four_passes = (
        np.array(times[f"PaDIR T={n}, {candidates} candidates"]) for n in (1, 4)
    )
    low, middle, high = np.percentile(four_passes - one_pass, [25, 50, 75])
    return None if high - low > middle else float(middle) / 3


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def conditions(ran: dict[str, Any]) -> str:
    """Processor, threads, load and versions, as a line of the page."""
    versions = ", ".join(f"{name} {version}" for name, version in ran["versions"].items())
    threads = f"{ran['threads']} thread{'s' * (ran['threads'] > 1)}"
    return (
        f"{ran['processor']}, {ran['cores']} cores, {threads}, load average"
        f" {ran['load_average']} at the start; {versions}"
    )


def page(report: dict[str, Any]) -> str:
    """The measured section of the page."""
    limit = report["limits"]
    parts = [
        output.command(),
        f"{conditions(report['machine'])}; {report['clock']} time;"
        f" {report.get('compute_dtype', 'float32')}. Matrix product:"
        f" {limit['matmul_gflops']:.0f} GFLOP/s; reading memory: {limit['read_gb_per_s']:.1f} GB/s,"
        " both in the same run.",
        table(
            ("ratio of times", "median", "quartiles", "target"),
            [
                (
                    f"{row['group']}: {row['other']} / {row['engine']}",
                    f"{row['median']:.2f}",
                    f"{row['low']:.2f} to {row['high']:.2f}",
                    "-" if row["target"] is None else f"{row['target']:g}",
                )
                for row in report["ratios"]
            ],
        ),
        table(
            ("engine", "median ms", "p90 ms", "rounds"),
            [
                (
                    f"{group}: {name}",
                    f"{np.median(times):.2f}",
                    f"{np.percentile(times, 90):.2f}",
                    str(len(times)),
                )
                for group, engine_times in report["groups"].items()
                for name, times in engine_times.items()
            ],
        ),
    ]
    shares = []
    for name, size in engines.SIZES.items():
        times = report["groups"].get(name)
        for candidates in (1, 5) if times else ():
            each = pass_milliseconds(times, candidates)
            target = f"{PEAK_SHARES[name]}%" if candidates == 5 and name in PEAK_SHARES else "-"
            work = pass_gflop(size, candidates * engines.TARGET)
            program = f"{name}: pass over {candidates} candidate{'s' * (candidates > 1)}"
            shares.append((program, *rate_cells(work, each, limit), target))
    for name, size in engines.SIZES.items():
        times = report["groups"].get(f"{name} training", {})
        for system, label in (("ar", "AR"), ("padir", "PaDIR, 2 stages")):
            if label in times:
                work, each = step_gflop(size, system), float(np.median(times[label]))
                shares.append((f"{name} training: {label}", *rate_cells(work, each, limit), "-"))
    head = ("program", "GFLOP", "ms", "GFLOP/s", "of the matrix product", "target")
    parts.append(table(head, shares))
    return "\n\n".join(parts)


def rate_cells(work: float, milliseconds: float | None, limit: dict[str, float]) -> tuple[str, ...]:
    """GFLOP, milliseconds, GFLOP/s and the share of the matrix product."""
    if milliseconds is None:
        return f"{work:.2f}", "-", "-", "-"
    rate = 1e3 * work / milliseconds
    share = 100 * rate / limit["matmul_gflops"]
    return f"{work:.2f}", f"{milliseconds:.2f}", f"{rate:.0f}", f"{share:.0f}%"


def compare(report: dict[str, Any], committed: dict[str, Any]) -> list[str]:
    """Ratios that have moved by more than `DRIFT` and out of each other's quartiles."""
    before = {(row["group"], row["engine"], row["other"]): row for row in committed["ratios"]}
    messages = []
    for row in report["ratios"]:
        old = before.get((row["group"], row["engine"], row["other"]))
        if old is None:
            continue
        apart = row["low"] > old["high"] or row["high"] < old["low"]
        if apart and abs(row["median"] / old["median"] - 1) > DRIFT:
            messages.append(
                f"{row['group']}: {row['other']} / {row['engine']} is {row['median']:.2f},"
                f" committed {old['median']:.2f}"
            )
    return messages


def parser() -> argparse.ArgumentParser:
    """Arguments of the command."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = tuple(engines.SIZES)
    parse.add_argument("--threads", type=int, default=2, help="CPU threads of every engine")
    parse.add_argument("--minutes", type=float, default=9, help="about how long it may take")
    parse.add_argument("--sizes", nargs="*", default=names, choices=names, help="decoders")
    parse.add_argument("--training", nargs="*", default=names, choices=names, help="steps")
    parse.add_argument("--batches", nargs="*", type=int, default=[32], help="sentences at once")
    parse.add_argument(
        "--compute-dtype",
        choices=("float32", "bfloat16"),
        default="float32",
        help="of our engines and of the matrix product; peers compute in float32",
    )
    parse.add_argument("--no-peers", dest="peers", action="store_false", help="ours alone")
    parse.add_argument(
        "--clock",
        choices=("wall", "processor"),
        default="wall",
        help="processor time tells more on a busy machine, with one thread",
    )
    output.add_files(parse, "out", "page")
    parse.add_argument("--compare", type=Path, help="JSON file of an earlier run")
    return parse


def main() -> None:
    """Parse, time, write, compare."""
    arguments = parser().parse_args()
    # Read first: --out may name the same file.
    committed = json.loads(arguments.compare.read_text("utf-8")) if arguments.compare else None
    report = run(arguments)
    output.write(arguments, "measured", page(report), report, indent=None)
    if committed is not None:
        for message in compare(report, committed) or ["none"]:
            print(f"drift: {message}")


if __name__ == "__main__":
    main()
