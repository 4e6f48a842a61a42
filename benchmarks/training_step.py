"""Time one training step of each system against this machine's matmul peak, in one run.

    python benchmarks/training_step.py --threads 1 --out results/bench/training_step.json

Steps run in the compiled loop that training uses, after warm-up; the shapes are those of
config/config.yaml and config/multi30k.yaml. Floating-point operations are XLA's own count of one
step's gradient and update. The peak is the best of ten float32 1024 x 1024 products.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

ALLOCATOR = "GLIBC_TUNABLES"
SHAPES = {
    "demo": {
        "architecture": {
            "width": 64,
            "heads": 4,
            "head_width": 16,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "feed_forward_width": 256,
            "max_positions": 32,
            "length_classes": 32,
        },
        "batch_tokens": 672,
        "bucket": 12,
        "vocabulary": 450,
    },
    "multi30k": {
        "architecture": {
            "width": 128,
            "heads": 4,
            "head_width": 32,
            "encoder_layers": 3,
            "decoder_layers": 3,
            "feed_forward_width": 512,
            "max_positions": 64,
            "length_classes": 64,
            "attention_dropout": False,
        },
        "batch_tokens": 640,
        "bucket": 18,
        "vocabulary": 6000,
    },
}


def matmul_peak() -> float:
    """GFLOP/s of a float32 1024 x 1024 product, the best of ten."""
    import jax
    import jax.numpy as jnp

    size = 1024
    x = jnp.ones((size, size))
    product = jax.jit(lambda a: a @ a)
    product(x).block_until_ready()
    best = 0.0
    for _ in range(10):
        began = time.perf_counter()
        product(x).block_until_ready()
        best = max(best, 2 * size**3 / (time.perf_counter() - began) / 1e9)
    return best


def time_step(name: str, system: str, repeats: int) -> dict[str, object]:
    """Milliseconds, target tokens and GFLOP/s of one step, the median over `repeats` calls."""
    import jax
    import numpy as np

    from padir.config.training import TrainingRun
    from padir.data.batches import sentences_per_batch
    from padir.training.step import Trainer

    shape = SHAPES[name]
    bucket, vocabulary = shape["bucket"], shape["vocabulary"]
    run = TrainingRun(
        system=system,
        decode=["greedy"] if system == "ar" else ["T4"],
        architecture=shape["architecture"],
        training={"buckets": [bucket], "batch_tokens": shape["batch_tokens"], "dispatch_steps": 8},
    )
    trainer = Trainer(run, vocabulary, vocabulary, 0)
    random = np.random.default_rng(0)
    rows = sentences_per_batch(shape["batch_tokens"], bucket)
    ids = random.integers(8, vocabulary, (2, 8, rows, bucket)).astype(np.int32)
    ids[..., -1] = 1
    rates = [1e-3] * 8
    began = time.perf_counter()
    state, totals = trainer.steps(trainer.initial_state(), ids[0], ids[1], rates)
    jax.block_until_ready(totals)
    compile_seconds = time.perf_counter() - began
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        state, totals = trainer.steps(state, ids[0], ids[1], rates)
        jax.block_until_ready(totals)
        times.append((time.perf_counter() - began) / 8)
    seconds = statistics.median(times)
    flops = trainer.step_flops(ids[0][0], ids[1][0])
    return {
        "shape": name,
        "system": system,
        "milliseconds": round(1e3 * seconds, 2),
        "target_tokens_per_second": round(rows * bucket / seconds),
        "gflop_per_step": round(flops / 1e9, 3),
        "gflop_per_second": round(flops / 1e9 / seconds, 1),
        "first_call_seconds": round(compile_seconds, 1),
        "repeats": repeats,
    }


def main() -> None:
    """Parse, set threads, time, write, print."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parse.add_argument("--repeats", type=int, default=10, help="timed calls of 8 steps")
    parse.add_argument("--out", type=Path, help="JSON file to write")
    arguments = parse.parse_args()
    if sys.platform == "linux" and ALLOCATOR not in os.environ:
        from padir.cli import ALLOCATOR as settings

        environment = {**os.environ, ALLOCATOR: settings}
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)
    from padir.files import write_json
    from padir.launch import prepare

    prepare(arguments.threads)
    peaks = [matmul_peak()]
    rows = []
    for name in SHAPES:
        for system in ("ar", "padir"):
            rows.append(time_step(name, system, arguments.repeats))
            peaks.append(matmul_peak())
    peak = max(peaks)
    for row in rows:
        row["share_of_peak"] = round(row["gflop_per_second"] / peak, 3)
        print(row)
    print(f"matmul peak {peak:.1f} GFLOP/s, {arguments.threads} threads, in the same run")
    if arguments.out:
        report = {"threads": arguments.threads, "matmul_peak_gflops": round(peak, 1), "rows": rows}
        write_json(arguments.out, report)


if __name__ == "__main__":
    main()
