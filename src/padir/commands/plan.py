"""`padir plan`: what a config would run and roughly cost. In: config files. Out: text.

Exact: jobs, steps, padded tokens, parameters (up to the vocabulary's size, which is taken as
asked for). Estimated: floating-point operations, hours, dollars, disk, memory; each line says from
what.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from padir.analysis.memory import DeviceMemory, device_memory
from padir.config.experiment import Config
from padir.config.model import ModelRun
from padir.config.teacher import ModelTeacher
from padir.distill.estimate import plan_lines
from padir.report.selection import core_models

# Measured for both systems on one core of a 2 vCPU AMD EPYC, padded tokens counted.
GFLOPS = 50.0
FLOAT_BYTES = 4
CHECKPOINTS = 2

DESCRIPTION = """\
Print the jobs of a config with their size, without running anything. Hours are an estimate for
training alone: multiplications of the matrices, forward and backward, divided by --gflops; dollars
are hours times --usd-per-hour. Memory is that of one of --devices devices at the longest bucket."""

EXAMPLES = """\
examples:
  padir plan
  padir plan --config config/multi30k.yaml --gflops 20000
  padir plan --config config/paper.yaml --devices 8 --gflops 200000 --usd-per-hour 8"""


@dataclass(frozen=True)
class TrainingPlan:
    """One model's training on one dataset in one direction, all its seeds.

    Attributes:
        parameters: of the model, with the embedding table of the vocabulary asked for.
        tokens: padded target tokens of one seed.
        flops: of one seed, estimated.
        disk: bytes of one seed, estimated: bundle, checkpoints, candidates of selection.
        memory: of one device while a step runs, estimated.
    """

    label: str
    model: str
    seeds: int
    steps: int
    parameters: int
    tokens: int
    flops: float
    disk: int
    memory: DeviceMemory


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = argparse.ArgumentParser(
        prog="padir plan",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--config", type=Path, nargs="+", default=[Path("config/config.yaml")], metavar="F",
        help="config files, merged in order (default: config/config.yaml)",
    )  # fmt: skip
    made.add_argument(
        "--gflops", type=float, default=GFLOPS, metavar="RATE",
        help="sustained GFLOP/s of one training process (default: %(default)s, one CPU core)",
    )  # fmt: skip
    made.add_argument(
        "--devices", type=int, default=1, metavar="N",
        help="devices of one training, for its memory on each (default: %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--usd-per-hour", type=float, metavar="PRICE",
        help="what an hour of one training's machine costs, for dollars",
    )  # fmt: skip
    return made


def parameter_counts(run: ModelRun, vocabulary: int) -> tuple[int, int]:
    """Parameters of the whole model and of its embedding table; allocates nothing."""
    import jax
    from flax import nnx

    from padir.model.parameters import build, table_size

    rows = table_size(run.architecture, vocabulary)
    shapes = nnx.eval_shape(lambda: nnx.state(build(run, rows), nnx.Param))
    total = sum(leaf.size for leaf in jax.tree.leaves(shapes))
    return total, rows * run.architecture.width


def training_flops(run: ModelRun, parameters: int, table: int) -> float:
    """Operations of one training: 6 per parameter and position, 2 forward and 4 backward.

    The decoder runs once per stage, each with the output layer (the embedding table). Attention
    between positions is left out: little at a sentence's length.
    """
    architecture = run.architecture
    layers = architecture.encoder_layers + 2 * architecture.decoder_layers
    blocks = parameters - table
    encoder = blocks * architecture.encoder_layers / layers
    passes = run.objective.stages * (1 + run.objective.coupled_times) if run.parallel else 1
    per_token = encoder + passes * (blocks - encoder + table)
    return 6.0 * per_token * run.training.steps * run.training.batch_tokens


def disk_bytes(run: ModelRun, parameters: int) -> int:
    """Bytes of one seed: the bundle, `CHECKPOINTS` states of parameters and optimizer, and the
    parameters that validation may still choose."""
    state = 3 if run.optimizer.kind == "adam" else 1.1
    kept = {"last": 0, "best": 1, "average": run.training.average_count}[run.training.selection]
    return int(FLOAT_BYTES * parameters * (1 + CHECKPOINTS * state + kept))


def training_plans(config: Config, devices: int = 1) -> Iterator[TrainingPlan]:
    """One plan per dataset, direction and model."""
    # A model is traced once per vocabulary size, not once per direction.
    counts: dict[tuple[str, int], tuple[int, int]] = {}
    for dataset, settings in config.datasets.items():
        for direction in settings.directions:
            for model, run in config.models.items():
                if run.parameters is not None:
                    continue
                size = settings.vocabulary_named(run.vocabulary).size
                if (model, size) not in counts:
                    counts[model, size] = parameter_counts(run, size)
                parameters, table = counts[model, size]
                yield TrainingPlan(
                    label=f"{dataset} {direction} {model}",
                    model=model,
                    seeds=len(run.seeds),
                    steps=run.training.steps,
                    parameters=parameters,
                    tokens=run.training.steps * run.training.batch_tokens,
                    flops=training_flops(run, parameters, table),
                    disk=disk_bytes(run, parameters),
                    memory=device_memory(run, parameters, table, devices),
                )


@dataclass(frozen=True)
class Rates:
    """What a plan is reckoned with.

    Attributes:
        gflops: sustained by one training process, all its devices together.
        devices: of one training.
        usd_per_hour: price of one training's machine; None: no dollars.
    """

    gflops: float = GFLOPS
    devices: int = 1
    usd_per_hour: float | None = None


def describe(config: Config, rates: Rates) -> list[str]:
    """The plan in lines."""
    plans = list(training_plans(config, rates.devices))
    width = max(len(plan.label) for plan in plans)
    lines = [
        f"{'training':<{width}}  seeds    steps  parameters  tokens/seed  GB/device  hours/seed"
    ]
    for plan in plans:
        hours = plan.flops / (rates.gflops * 1e9) / 3600
        lines.append(
            f"{plan.label:<{width}}  {plan.seeds:5d}  {plan.steps:7d}  {plan.parameters:10,d}"
            f"  {plan.tokens / 1e6:9.2f} M  {plan.memory.total / 1e9:9.2f}  {hours:10.3f}"
        )
    bought = plan_lines(config, Path("results"))
    lines += ["", *bought] if bought else []
    core = core_models(config)
    parts = {"default target": core, "everything": list(config.models)}
    if len(core) == len(config.models):
        del parts["default target"]
    for name, models in parts.items():
        lines += ["", f"{name}:", *totals(config, plans, models, rates)]
    return lines


def totals(
    config: Config, plans: Sequence[TrainingPlan], models: Sequence[str], rates: Rates
) -> list[str]:
    """Jobs, hours, dollars, disk and memory of some models, in lines."""
    plans = [plan for plan in plans if plan.model in models]
    runs = {name: config.models[name] for name in models}
    pairs = sum(len(dataset.directions) for dataset in config.datasets.values())
    used = {run.targets for run in runs.values()}
    taught = [name for name in config.teachers if name in used]
    own = sum(isinstance(config.teachers[name], ModelTeacher) for name in taught)
    decodings = sum(len(run.seeds) * len(run.decode) for run in runs.values()) * pairs
    core = [name for name in core_models(config) if name in runs]
    rated = sum(len(runs[name].seeds) * len(runs[name].decode) for name in core) * pairs
    timings = pairs * (1 + (set(models) > set(core_models(config))))
    hours = sum(plan.flops * plan.seeds for plan in plans) / (rates.gflops * 1e9) / 3600
    disk = sum(plan.disk * plan.seeds for plan in plans)
    most = max(plans, key=lambda plan: plan.memory.total)
    parts = {
        "parameters and optimizer": most.memory.state,
        "gradients": most.memory.gradients,
        "activations": most.memory.activations,
        "logits": most.memory.logits,
    }
    lines = [
        f"jobs: {sum(plan.seeds for plan in plans)} trainings, {own * pairs} distilled training"
        f" sets, {decodings} decodings and scores, {rated * len(config.evaluation.scorers)} further"
        f" scores, {timings} latency runs",
        f"estimate: {hours:.2f} hours of training in one process at {rates.gflops:g} GFLOP/s"
        " (matrix products only; decoding, distillation and compilation come on top)",
        f"estimate: {disk / 1e9:.2f} GB for bundles and checkpoints",
        f"estimate: {most.memory.total / 1e9:.2f} GB on each of {rates.devices} devices, most for"
        f" {most.model} ("
        + ", ".join(f"{name} {size / 1e9:.2f}" for name, size in parts.items())
        + "); training.accumulate, training.shard_parameters and architecture.rematerialise lower"
        " it",
    ]
    if rates.usd_per_hour is not None:
        lines.append(
            f"estimate: {hours * rates.usd_per_hour:,.0f} dollars for these hours at"
            f" {rates.usd_per_hour:g} dollars an hour"
        )
    return lines


def main(argv: list[str]) -> int:
    """Read, check, print."""
    arguments = parser().parse_args(argv)
    from padir.config.read import load_config
    from padir.files import InputError

    if not arguments.gflops > 0:
        raise InputError(f"--gflops is {arguments.gflops}: allowed are numbers above 0")
    if arguments.devices < 1:
        raise InputError(f"--devices is {arguments.devices}: allowed are 1 and more")
    price = arguments.usd_per_hour
    if price is not None and not price >= 0:
        raise InputError(f"--usd-per-hour is {price}: allowed are 0 and more")
    rates = Rates(arguments.gflops, arguments.devices, price)
    print("\n".join(describe(load_config(arguments.config), rates)))
    return 0
