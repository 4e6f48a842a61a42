"""Training at the paper's size, in parts: input alone, training steps, and the compiler's memory.

    python benchmarks/training_scale.py input --pairs 4500000
    python benchmarks/training_scale.py step --rows 8
    python benchmarks/training_scale.py memory --rows 4 8
    python -m benchmarks.training_scale processes --processes 1 2 4

The last one, from the root of the repository, trains a small model in several processes on this
machine (`--distributed`), which share its cores: it tells what it costs to start them and to add
their gradients, not what more hosts bring.

For the others text is drawn: lengths as in the paper (28 to 33 tokens on average, section 3.3), ids
at random. The model is the paper's, 67 million parameters over a table of 32,128 rows. Tokens are
target tokens without padding for `input` and `step`, and padded positions for `memory`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TABLE = 32_128
VOCABULARY = 32_000
MEAN_LENGTH, LONGEST = 30.0, 128


def parser() -> argparse.ArgumentParser:
    """Arguments of the command."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("part", choices=("input", "step", "memory", "processes"))
    parse.add_argument("--pairs", type=int, default=1_000_000, help="drawn pairs (input)")
    parse.add_argument("--steps", type=int, default=4, help="timed steps (input, step)")
    parse.add_argument("--rows", type=int, nargs="+", default=[8], help="sentences (step, memory)")
    parse.add_argument("--system", default="padir", help="which system (step, memory)")
    parse.add_argument("--dtype", default="float32", help="compute_dtype (step, memory)")
    parse.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="(processes)")
    parse.add_argument("--threads", type=int, default=1, help="most CPU threads")
    return parse


def paper_run(system: str, dtype: str, batch_tokens: int = 262_144):
    """The paper's model and recipe."""
    from padir.config.training import TrainingRun

    sizes = {"extra_ids": 100, "table_multiple": 128, "compute_dtype": dtype}
    training = {"batch_tokens": batch_tokens}
    return TrainingRun(system=system, architecture=sizes, training=training)


def drawn_pairs(count: int):
    """Pairs of random ids; lengths are log-normal around the mean, target near source."""
    import numpy as np

    from padir.data.batches import Pairs, Ragged

    rng = np.random.default_rng(0)
    source = np.clip(rng.lognormal(np.log(MEAN_LENGTH) - 0.18, 0.6, count), 2, LONGEST)
    target = np.clip(source * rng.normal(1.0, 0.15, count), 2, LONGEST)

    def ragged(lengths):
        offsets = np.concatenate([[0], np.cumsum(lengths.astype(np.int64))])
        return Ragged(offsets, rng.integers(8, VOCABULARY, int(offsets[-1]), np.int32))

    return Pairs(ragged(source), ragged(target))


def measure_input(arguments: argparse.Namespace) -> dict:
    """Tokens per second of planning an epoch and padding batches, without a model."""
    import numpy as np

    from padir.data.batches import BatchPlan

    training = paper_run("padir", "float32").training
    pairs = drawn_pairs(arguments.pairs)
    began = time.perf_counter()
    plan = BatchPlan(pairs, training, seed=0)
    first = plan.group_at(0)
    planned = time.perf_counter() - began
    step, tokens, slots = 0, 0, 0
    began = time.perf_counter()
    while step < arguments.steps * training.dispatch_steps:
        group = plan.group_at(step)
        flat = group.rows.reshape(-1)
        sides = [side.padded(flat, group.bucket) for side in (pairs.source, pairs.target)]
        tokens += int(np.count_nonzero(sides[1]))
        slots += sides[1].size
        step += len(group.rows)
    seconds = time.perf_counter() - began
    held = sum(side.values.nbytes + side.offsets.nbytes for side in (pairs.source, pairs.target))
    return {
        "pairs": arguments.pairs,
        "plan_s": planned,
        "first_bucket": first.bucket,
        "tokens_per_s": tokens / seconds,
        "padded_per_s": slots / seconds,
        "padding_share": 1 - tokens / slots,
        "encoded_gb": held / 1e9,
    }


def measure_step(arguments: argparse.Namespace) -> dict:
    """Tokens per second of whole training steps on this machine's devices."""
    import jax
    import numpy as np

    from padir.training.step import Trainer

    rows = arguments.rows[0]
    trainer = Trainer(paper_run(arguments.system, arguments.dtype), TABLE, VOCABULARY, 0)
    rng = np.random.default_rng(0)
    ids = rng.integers(8, VOCABULARY, (2, 1, rows, LONGEST), np.int32)
    state = trainer.initial_state()
    state, _ = trainer.steps(state, ids[0], ids[1], [1e-3])
    jax.block_until_ready(state)
    times = []
    for _ in range(arguments.steps):
        began = time.perf_counter()
        state, sums = trainer.steps(state, ids[0], ids[1], [1e-3])
        float(sums.losses.tokens)
        times.append(time.perf_counter() - began)
    best = min(times)
    cost = compiled_gradient(trainer, ids[0], ids[1]).cost_analysis()
    flops = float((cost or {}).get("flops", 0.0))
    return {
        "system": arguments.system,
        "devices": jax.device_count(),
        "rows": rows,
        "seconds": best,
        "tokens_per_s": rows * LONGEST / best,
        "gflops": flops / best / 1e9,
    }


def compiled_gradient(trainer, source, target):
    """The compiled gradient of one step on ids [micro-batch, sentence, token], for XLA's counts.

    The update of the parameters is left out.
    """
    import jax
    import jax.numpy as jnp

    parameters = jax.eval_shape(trainer._fresh_state, trainer.seed).parameters
    step = jax.ShapeDtypeStruct((), jnp.int32)
    gradient = jax.jit(trainer._gradient)
    return gradient.lower(parameters, source, target, step, trainer.seed).compile()


def gradient_memory(trainer, micro_batches: int, sentences: int, tokens: int) -> int:
    """Bytes of one gradient and its intermediate values on one device, counted by XLA.

    Raises:
        RuntimeError: this kind of device does not report the memory of a program.
    """
    import jax
    import jax.numpy as jnp

    shape = jax.ShapeDtypeStruct((micro_batches, sentences, tokens), jnp.int32)
    memory = compiled_gradient(trainer, shape, shape).memory_analysis()
    if memory is None:
        raise RuntimeError("this kind of device does not report the memory of a program")
    return int(memory.temp_size_in_bytes + memory.output_size_in_bytes)


def measure_memory(arguments: argparse.Namespace) -> dict:
    """Bytes per padded position by the compiler's count, and by the estimate of padir plan."""
    from padir.planning.memory import device_memory
    from padir.training.step import Trainer

    run = paper_run(arguments.system, arguments.dtype, LONGEST)
    trainer = Trainer(run, TABLE, VOCABULARY, 0)
    few, many = arguments.rows
    sizes = [gradient_memory(trainer, 1, rows, LONGEST) for rows in (few, many)]
    memory = device_memory(run, 0, TABLE * run.architecture.width, 1)
    return {
        "system": arguments.system,
        "dtype": arguments.dtype,
        "compiler_bytes": (sizes[1] - sizes[0]) / ((many - few) * LONGEST),
        "estimated_bytes": (memory.activations + memory.logits) / LONGEST,
    }


def train_together(folder: Path, processes: int, threads: int) -> dict:
    """Seconds of a training of 400 steps, milliseconds of a step, and its last training loss.

    The model is the demo's, width 64; a batch has 1,024 padded tokens. Steps are timed from the
    second metrics line on, after compilation. The loss depends on the number of processes, since
    gradients are added in another order.

    Args:
        folder: to make, for text, work folder and bundle.
        processes: that train together.
        threads: most CPU threads of each.

    Raises:
        SystemExit: a process failed; with what it said.
    """
    from padir.config.training import RunSpec, TrainingRun
    from tests.processes import free_port, metrics
    from tests.training import train_arguments, write_toy

    every = {"validate_every": 100, "checkpoint_every": 100}
    training = {"steps": 400, "batch_tokens": 1024, "buckets": [9], **every}
    sizes = {"width": 64, "heads": 4, "head_width": 16, "encoder_layers": 2, "decoder_layers": 2,
             "feed_forward_width": 256, "max_positions": 16, "length_classes": 12}  # fmt: skip
    optimizer = {"kind": "adafactor", "warmup_steps": 40}
    run = TrainingRun(system="padir", architecture=sizes, optimizer=optimizer, training=training)
    spec = RunSpec(dataset="toy", direction="xs-xt", training="padir", run=run)
    folder.mkdir()
    write_toy(folder)
    command = [sys.executable, "-m", "padir", "train", *train_arguments(folder, spec)]
    port, began = free_port(), time.monotonic()
    # Files, not pipes: a full pipe would stop a process, and with it the others.
    logs = [folder / f"process{number}.log" for number in range(processes)]
    group = []
    for number, log in enumerate(logs):
        place = f"127.0.0.1:{port},{processes},{number}"
        together = [] if processes == 1 else ["--distributed", place]
        with log.open("w") as stream:
            words = [*command, "--threads", str(threads), *together]
            group.append(subprocess.Popen(words, stderr=stream))
    if any([process.wait() for process in group]):
        raise SystemExit("\n".join(log.read_text() for log in logs))
    whole = time.monotonic() - began
    lines = [line for line in metrics(folder) if "train_loss" in line]
    first, last = lines[1], lines[-1]
    step = (last["seconds"] - first["seconds"]) / (last["step"] - first["step"])
    return {"seconds": whole, "step_ms": 1e3 * step, "train_loss": last["train_loss"]}


def measure_processes(arguments: argparse.Namespace) -> dict:
    """Seconds of the same training by the number of processes."""
    with tempfile.TemporaryDirectory() as name:
        return {
            str(count): train_together(Path(name) / str(count), count, arguments.threads)
            for count in arguments.processes
        }


def main() -> int:
    """Measure one part and print it as JSON."""
    arguments = parser().parse_args()
    from padir.launch import prepare

    prepare(arguments.threads)
    part = {"input": measure_input, "step": measure_step, "memory": measure_memory,
            "processes": measure_processes}  # fmt: skip
    print(json.dumps(part[arguments.part](arguments), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
