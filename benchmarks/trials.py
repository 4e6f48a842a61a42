"""Short trials of levers: a training step of one model, or products by precision.

    python benchmarks/trials.py step --model demo --system padir
    python benchmarks/trials.py products

`step` has processor seconds of tracing and compiling, with an empty cache, and milliseconds of a
step on one thread. Compare two commits, or two values of `XLA_FLAGS`. `products` has milliseconds
of vectors times a matrix.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import start

SHAPES = ((1, 512, 32_128), (5, 512, 32_128), (160, 512, 32_128), (75, 128, 6_016))
"""Vectors, their size, and columns of the matrix: the output layers of the paper and Multi30k."""


def milliseconds(call: Callable[[], Any], rounds: int = 25) -> float:
    """The median time of a call, after one that compiles."""
    import jax

    jax.block_until_ready(call())
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        jax.block_until_ready(call())
        times.append(1e3 * (time.perf_counter() - began))
    return float(np.median(times))


def step(model: str, system: str) -> None:
    """Print what a step of the model's first bucket takes to compile and to run."""
    import jax

    from padir.config.identity import run_spec
    from padir.config.read import load_config
    from padir.launch import prepare
    from padir.training.step import Trainer, micro_batches

    prepare(1)
    jax.config.update("jax_compilation_cache_dir", tempfile.mkdtemp())
    config, dataset, direction, table = start.MODELS[model]
    loaded = load_config([start.ROOT / config])
    run = run_spec(loaded, dataset, direction, start.SYSTEMS[system]).run
    trainer = Trainer(run, table, table, 0)
    state = jax.block_until_ready(trainer.initial_state())
    settings = run.training
    bucket = settings.buckets[0]
    ids = np.full((settings.batch_tokens // bucket, bucket), 8, np.int32)
    ids[:, -1] = 1
    rows = micro_batches(ids[None], settings.dispatch_steps, settings.accumulate, 1)
    rates = np.zeros(settings.dispatch_steps, np.float32)
    count = np.int32(settings.dispatch_steps)
    began = time.process_time()
    lowered = trainer._steps.lower(state, rows, rows, rates, count, trainer.seed)
    traced = time.process_time()
    compiled = lowered.compile()
    ready = time.process_time()

    def steps() -> Any:
        nonlocal state
        state, totals = compiled(state, rows, rows, rates, count, trainer.seed)
        return totals

    each = milliseconds(steps) / settings.dispatch_steps
    print(
        f"{model} {system}: tracing {traced - began:.2f} s, compiling {ready - traced:.2f} s,"
        f" step {each:.2f} ms"
    )


def products(threads: int) -> None:
    """Print milliseconds of each shape, by precision of vectors and matrix."""
    import jax
    import jax.numpy as jnp

    from padir.launch import prepare

    prepare(threads)
    for rows, size, columns in SHAPES:
        cells = []
        for dtype, result in (("float32", None), ("bfloat16", jnp.float32), ("int8", jnp.int32)):
            x, matrix = jnp.ones((rows, size), dtype), jnp.ones((size, columns), dtype)
            multiply = jax.jit(lambda x, w, r=result: jnp.matmul(x, w, preferred_element_type=r))
            cells.append(f"{dtype} {milliseconds(lambda: multiply(x, matrix)):.2f}")  # noqa: B023
        print(f"{rows} x {size} x {columns}, ms: {', '.join(cells)}")


def main() -> None:
    """Parse, measure, print."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("trial", choices=("step", "products"))
    parse.add_argument("--model", choices=tuple(start.MODELS), default="demo")
    parse.add_argument("--system", choices=tuple(start.SYSTEMS), default="padir")
    parse.add_argument("--threads", type=int, default=1, help="CPU threads (products)")
    given = parse.parse_args()
    if given.trial == "step":
        step(given.model, given.system)
    else:
        products(given.threads)


if __name__ == "__main__":
    main()
