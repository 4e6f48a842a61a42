"""Time float32 products of a few or many vectors and a matrix, by how they lie in memory.

    python benchmarks/products.py --threads 1

Prints GFLOP/s in processor time, the best of several rounds, for shapes of this project's models.
Forward: vectors as rows or as columns, the matrix as [in, out] or [out, in]. Gradient by the
matrix: both factors as they lie, or one of them transposed first.
"""

import argparse
import time

SHAPES = ((512, 512), (512, 2048), (2048, 512), (512, 32_128), (128, 512), (64, 256))
ROWS = (1, 5, 13, 40, 160)
GRADIENTS = ((672, 64, 64), (672, 64, 256), (672, 256, 64), (640, 128, 512), (256, 512, 2048))


def rates(forms, arguments, gflop: float, rounds: int) -> list[float]:
    """GFLOP/s of each function, timed in turns."""
    import jax

    compiled = [jax.jit(form) for form in forms]
    for function, values in zip(compiled, arguments, strict=True):
        jax.block_until_ready(function(*values))
    best = [float("inf")] * len(forms)
    for _ in range(rounds):
        for index, (function, values) in enumerate(zip(compiled, arguments, strict=True)):
            start = time.process_time()
            jax.block_until_ready(function(*values))
            best[index] = min(best[index], time.process_time() - start)
    return [gflop / seconds for seconds in best]


def main() -> None:
    """Parse, time, print."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--threads", type=int, default=1, help="CPU threads")
    parse.add_argument("--rounds", type=int, default=7, help="timings of each product")
    arguments = parse.parse_args()
    from padir.launch import prepare

    prepare(arguments.threads)
    import jax
    import jax.numpy as jnp
    from jax.lax import dot_general, optimization_barrier

    def contracted(x: int, kernel: int):
        axes = (((x,), (kernel,)), ((), ()))
        return lambda a, b: dot_general(a, b, axes)

    as_columns = contracted(0, 0)
    forward = {
        "rows, [in, out]": contracted(1, 0),
        "columns, [in, out]": lambda x, w: as_columns(optimization_barrier(x.T), w),
        "rows, [out, in]": contracted(1, 1),
    }
    gradient = {
        "as they lie": contracted(0, 0),
        "x transposed first": lambda x, y: contracted(1, 0)(optimization_barrier(x.T), y),
        "y transposed first": lambda x, y: contracted(0, 1)(x, optimization_barrier(y.T)),
    }
    key = jax.random.key(0)
    for inner, outer in SHAPES:
        kernel = jax.random.normal(key, (inner, outer))
        turned = jnp.array(kernel.T)
        for rows in ROWS:
            x = jax.random.normal(key, (rows, inner))
            values = [(x, kernel), (x, kernel), (x, turned)]
            gflop = 2e-9 * rows * inner * outer
            measured = rates(forward.values(), values, gflop, arguments.rounds)
            cells = (f"{name} {rate:.0f}" for name, rate in zip(forward, measured, strict=True))
            print(f"{rows} x {inner} x {outer}:", "; ".join(cells), flush=True)
    for rows, inner, outer in GRADIENTS:
        x, y = (jax.random.normal(key, (rows, width)) for width in (inner, outer))
        gflop = 2e-9 * rows * inner * outer
        measured = rates(gradient.values(), [(x, y)] * 3, gflop, arguments.rounds)
        cells = (f"{name} {rate:.0f}" for name, rate in zip(gradient, measured, strict=True))
        print(f"gradient {rows} x {inner} x {outer}:", "; ".join(cells), flush=True)


if __name__ == "__main__":
    main()
