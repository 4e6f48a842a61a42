"""What two levers of decoding bring, each against the same program without it, in turns.

    python benchmarks/levers.py --page docs/performance.md

Groups: the likeliest token and its log-probability, from the logits of five candidates. Threads: a
sentence with five candidates and four passes (`CandidateThreads`).
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import engines
import numpy as np
import output
import speed

CANDIDATES, PASSES = 5, 4
Engine = Callable[[], Any]


def choices(size: engines.Size) -> dict[str, Engine]:
    """Choosing a token for each position, with groups and without."""
    import jax
    import jax.numpy as jnp

    from padir import tokens
    from padir.decode.predict import most_likely, predictable

    shape = (CANDIDATES, engines.TARGET, size.vocabulary)
    logits = jnp.asarray(np.random.default_rng(0).standard_normal(shape, np.float32))
    allowed = predictable(size.vocabulary, size.vocabulary, eos=False)
    group = {}
    few = tokens.FEW_GROUPS
    for name, fewest in (("without", sys.maxsize), ("with", few)):
        tokens.FEW_GROUPS = fewest  # read while a program is traced
        program = jax.jit(lambda logits: most_likely(logits, allowed)).lower(logits).compile()
        group[name] = lambda program=program: jax.block_until_ready(program(logits))
    tokens.FEW_GROUPS = few
    return group


def sentences(size: engines.Size, shortlist: int) -> dict[str, Engine]:
    """Decoding a sentence, with its candidates in threads and without."""
    from padir.config.decoder import RefinementDecoder
    from padir.decode import programs
    from padir.decode.refiner import Refiner

    settings = RefinementDecoder(
        length_candidates=1, restarts=CANDIDATES, stop="fixed", shortlist=shortlist
    )
    model, run = engines.model_of(size, "padir"), engines.training_run(size, "padir")
    sources, group = engines.source_ids(size), {}
    widths = programs.THREADED_WIDTHS
    for name, threaded in (("without", ()), ("with", (run.architecture.width,))):
        programs.THREADED_WIDTHS = threaded  # read by the constructor
        refiner = Refiner(model, run, settings, size.vocabulary, 0, sentences=1)
        group[name] = lambda refiner=refiner: list(
            refiner.batches(sources, PASSES, [engines.TARGET])
        )
    programs.THREADED_WIDTHS = widths
    return group


def measure(seconds: float) -> list[tuple[str, ...]]:
    """Rows of the table; a vocabulary of few groups is chosen from without them."""
    from padir.tokens import FEW_GROUPS, GROUP

    rows = []
    for name, size in engines.SIZES.items():
        groups = {}
        if size.vocabulary >= GROUP * FEW_GROUPS:
            groups[f"groups, {name}"] = choices(size)
        for shortlist in (0, engines.SHORTLIST):
            words = f", shortlist {shortlist}" if shortlist else ""
            groups[f"threads, {name}{words}"] = sentences(size, shortlist)
        for lever, group in groups.items():
            times = speed.race(group, seconds, time.perf_counter)
            ratio = speed.ratio(times, "with", "without")
            medians = (f"{np.median(times[key]):.2f}" for key in ("without", "with"))
            spread = f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
            rows.append((lever, *medians, spread))
    return rows


def main() -> None:
    """Parse, time, write."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--threads", type=int, default=2, help="CPU threads")
    parse.add_argument("--seconds", type=float, default=5, help="of each row, without compiling")
    output.add_files(parse, "page")
    given = parse.parse_args()
    from padir.launch import prepare

    prepare(given.threads)
    conditions = f"{speed.conditions(speed.machine(given.threads))}."
    head = ("lever, size", "without, ms", "with, ms", "times as fast (quartiles)")
    table = speed.table(head, measure(given.seconds))
    output.write(given, "levers", "\n\n".join([output.command(), conditions, table]))


if __name__ == "__main__":
    main()
