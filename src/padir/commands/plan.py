"""Print the jobs of a config with their size, without running anything.

Exact: jobs, steps, parameters (up to the vocabulary's size, which is taken as asked for). At
most: padded tokens, of full batches; a batch has a multiple of 8 pairs, or fewer than 8, and one
pair at least, however long.
Estimated, and each line says from what: floating-point operations, hours, dollars, disk,
memory. Hours are the operations of matrix products, divided by --gflops for training and by
--decode-gflops for distillation and decoding; dollars are hours times --usd-per-hour. Memory is
that of one of --devices devices at the longest bucket. Existing text is counted; other text has
the size that the config states (source.pairs of a TFDS dataset). Nothing is written or sent.

In: config files. Out: text.

examples:
  padir plan
  padir plan --config config/multi30k.yaml --gflops 20000
  padir plan --config config/paper.yaml --devices 8 --gflops 200000 --usd-per-hour 8
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from padir import layout
from padir.commands.arguments import option, read_arguments
from padir.config.experiment import Config
from padir.config.rows import Row
from padir.data.size import Corpus
from padir.distill.estimate import plan_lines, time_in_words
from padir.planning import cost, fit
from padir.planning.machine import CPU_GFLOPS
from padir.planning.memory import DeviceMemory, device_memory
from padir.planning.workload import Disk, Workload, sizes_of, workload

# Of BLEU, chrF, their intervals and paired tests over 1,000 resamples, for each sentence: `padir
# score` took 1.0 s for 300 and 1.7 s for 1,000 on the same machine.
SCORE_SECONDS = 0.001
RESULTS = Path("results")


@dataclass(frozen=True)
class TrainingPlan:
    """One model's training on one dataset in one direction, all its seeds.

    Attributes:
        parameters: of the model, with the embedding table of the vocabulary asked for.
        tokens: most padded target tokens of one seed.
        flops: of one seed, estimated.
        memory: of one device while a step runs, estimated.
    """

    label: str
    training: str
    seeds: int
    steps: int
    parameters: int
    tokens: int
    flops: float
    memory: DeviceMemory


DEFAULT_CONFIG = Path("config/config.yaml")
OPTIONS = (
    option(
        "--config F ...",
        f"config files, merged in this order (default {DEFAULT_CONFIG})",
        action="extend",
    ),
    option(
        "--gflops X",
        "sustained GFLOP/s of one training process; the default is that of a CPU core",
        default=CPU_GFLOPS,
        positive=True,
    ),
    option(
        "--decode-gflops X",
        "sustained GFLOP/s of one decoding process, on one device (default: --gflops / --devices;"
        " token after token, as AR models decode, accelerators reach far less)",
        positive=True,
    ),
    option(
        "--devices N",
        "number of devices of one training, for memory per device",
        default=1,
        least=1,
    ),
    option("--usd-per-hour X", "dollars per hour of the machine of one training"),
)


def training_plans(
    config: Config, sizes: dict[tuple[str, str], cost.Size], devices: int = 1
) -> Iterator[TrainingPlan]:
    """One plan per dataset, direction and training.

    Args:
        sizes: of models, by dataset and name (see `sizes_of`).
    """
    for dataset, settings in config.datasets.items():
        for direction in settings.directions:
            for training, run in config.trainings.items():
                size = sizes[dataset, training]
                yield TrainingPlan(
                    label=f"{dataset} {direction} {training}",
                    training=training,
                    seeds=len(run.seeds),
                    steps=run.training.steps,
                    parameters=size.parameters,
                    tokens=run.training.steps * cost.batch_tokens(run.training),
                    flops=cost.training_flops(run, size),
                    memory=device_memory(run, size.parameters, size.table, devices),
                )


@dataclass(frozen=True)
class Rates:
    """Rates that a plan assumes.

    Attributes:
        gflops: sustained by one training process, all its devices together.
        devices: of one training.
        usd_per_hour: price of one training's machine; None: no dollars.
        decode_gflops: sustained by one decoding process, on one device; None: a device's share of
            `gflops`.
    """

    gflops: float = CPU_GFLOPS
    devices: int = 1
    usd_per_hour: float | None = None
    decode_gflops: float | None = None

    @property
    def decoding(self) -> float:
        """GFLOP/s of one decoding process."""
        return self.decode_gflops or self.gflops / self.devices


def hours(flops: float, gflops: float) -> float:
    """Hours for so many operations at so many GFLOP/s."""
    return flops / (gflops * 1e9) / 3600


def describe(config: Config, rates: Rates) -> list[str]:
    """The plan in lines."""
    sizes = sizes_of(config)
    corpora = [Corpus(RESULTS, name, dataset) for name, dataset in config.datasets.items()]
    plans = list(training_plans(config, sizes, rates.devices))
    width = max(len(plan.label) for plan in plans)
    lines = [
        f"{'training':<{width}}  seeds    steps  parameters  tokens/seed  GB/device  hours/seed"
    ]
    for plan in plans:
        lines.append(
            f"{plan.label:<{width}}  {plan.seeds:5d}  {plan.steps:7d}  {plan.parameters:10,d}"
            f"  {plan.tokens / 1e6:9.2f} M  {plan.memory.total / 1e9:9.2f}"
            f"  {hours(plan.flops, rates.gflops):10.3f}"
        )
    lines += ["", *text_lines(corpora)]
    bought = plan_lines(config, RESULTS)
    lines += ["", *bought] if bought else []
    core, everything = config.core_rows(), config.all_rows()
    parts = {
        "core": (core, config.trainings_behind(core)),
        "everything": (everything, config.all_trainings()),
    }
    if parts["core"][1] == list(config.trainings) and len(core) == len(everything):
        del parts["core"]
    for name, (rows, trainings) in parts.items():
        chosen = [plan for plan in plans if plan.training in trainings]
        work = workload(config, rows, trainings, core, sizes, corpora)
        lines += ["", f"{name}:", jobs(config, chosen, rows), *totals(chosen, work, rates)]
        if name == "everything":
            lines += not_estimated(config)
    return lines


def not_estimated(config: Config) -> list[str]:
    """Jobs of everything whose time is not estimated, in a line, if there are any."""
    counts = {
        "analyses of dependence": len(layout.analyses(config)),
        "Gibbs samplers": len(layout.samples(config)),
    }
    named = [f"{count} {what}" for what, count in counts.items() if count]
    return [f"in no estimate of time: {' and '.join(named)}"] if named else []


def text_lines(corpora: Sequence[Corpus]) -> list[str]:
    """How much text each dataset has, and whether it was counted."""
    lines = []
    for corpus in corpora:
        languages = corpus.settings.pair.split("-")
        counts = [(corpus.side("train", side), corpus.tokens("train", side)) for side in languages]
        known = [(side, tokens) for side, tokens in counts if side and tokens]
        label = f"text of {corpus.name} {corpus.settings.pair}"
        if len(known) < len(counts):
            lines.append(
                f"{label}: its size is not known before it is there; what depends on it is not in"
                " hours and disk"
            )
            continue
        counted = all(side.counted for side, _ in known)
        how = "counted" if counted else "estimated until the vocabulary is there"
        lines.append(
            f"{label}: {known[0][0].lines:,} training pairs, "
            + " and ".join(f"{tokens:.1f}" for _, tokens in known)
            + f" tokens a line ({how})"
        )
        extra = corpus.settings.extra_sources
        lines += [extra_line(corpus, language) for language in (extra.files if extra else ())]
    return lines


def extra_line(corpus: Corpus, language: str) -> str:
    """How much extra source text a dataset has in a language."""
    label = f"extra sources of {corpus.name} in {language}"
    side, tokens = corpus.side("extra", language), corpus.tokens("extra", language)
    if side is None:
        return (
            f"{label}: their size is not known before they are there; distilling them is in no sum"
        )
    counted = "counted" if side.counted else "before cleaning"
    return f"{label}: {side.lines:,} lines, {tokens:.1f} tokens a line ({counted})"


def jobs(config: Config, plans: Sequence[TrainingPlan], rows: Sequence[Row]) -> str:
    """How many jobs of each kind some rows need."""
    pairs = sum(len(dataset.directions) for dataset in config.datasets.values())
    used = {config.trainings[plan.training].targets for plan in plans}
    distilled = sum(config.teacher_row(name) is not None for name in used)
    seeds = {row: len(config.trainings[row.training].seeds) for row in config.all_rows()}
    decodings = sum(seeds[row] for row in rows) * pairs
    rated = sum(seeds[row] for row in config.core_rows()) * pairs
    parts, scope = {"core"}, "core"
    if set(rows) > set(config.core_rows()):
        scope = "everything"
        parts |= {layout.timing_of_systems(config), "dependency"}
    timings = sum(len(layout.latencies(config, part)) for part in parts)
    return (
        f"jobs: {sum(plan.seeds for plan in plans)} trainings, {distilled * pairs} distilled"
        f" training sets, {decodings} decodings and scores,"
        f" {rated * len(config.evaluation.scorers)} further scores, {timings} latency runs,"
        f" {len(layout.traces(config, scope))} traces"
    )


def totals(plans: Sequence[TrainingPlan], work: Workload, rates: Rates) -> list[str]:
    """Hours, disk, memory and dollars of some models, in lines."""
    training = hours(sum(plan.flops * plan.seeds for plan in plans), rates.gflops)
    distilling, decoding = (
        hours(flops, rates.decoding) for flops in (work.distillation, work.decoding)
    )
    scoring = hours(work.rating, CPU_GFLOPS) + work.scored * SCORE_SECONDS / 3600
    most = max(plans, key=lambda plan: plan.memory.total)
    parts = _gigabytes(
        {
            "parameters and optimizer": most.memory.state,
            "gradients": most.memory.gradients,
            "activations": most.memory.activations,
            "logits": most.memory.logits,
        }
    )
    # Decoding one token after another uses little of an accelerator (docs/scale.md has an example).
    guessed = rates.decode_gflops is None and rates.decoding > CPU_GFLOPS
    unmeasured = ", far more than AR decoding reaches: measure --decode-gflops" if guessed else ""
    lines = [
        f"estimate: {time_in_words(training)} of training in one process at {rates.gflops:g}"
        " GFLOP/s (matrix products only; compilation comes on top)",
        f"estimate: {time_in_words(distilling)} of distillation and {time_in_words(decoding)} of"
        f" decoding and choosing length rules, on one device at {rates.decoding:g} GFLOP/s"
        f"{unmeasured}; side by side on {rates.devices}:"
        f" {time_in_words((distilling + decoding) / rates.devices)}",
        f"estimate: {time_in_words(scoring)} of scoring on one core",
        disk_line(work.disk),
        f"estimate: {most.memory.total / 1e9:.2f} GB on each of {rates.devices} devices, most for"
        f" {most.training} ({parts}); training.accumulate, training.shard_parameters and"
        " architecture.rematerialise lower it",
    ]
    if rates.usd_per_hour is not None:
        used = training + (distilling + decoding) / rates.devices
        lines.append(
            f"estimate: {used * rates.usd_per_hour:,.0f} dollars for training, distillation and"
            f" decoding at {rates.usd_per_hour:g} dollars an hour, all devices at work"
        )
    return lines


def disk_line(disk: Disk) -> str:
    """Disk in one line: in all, and by what it is for."""
    parts = {
        "text": disk.text,
        "copies of TFDS": disk.copies,
        "distilled targets": disk.distilled,
        "bundles": disk.bundles,
        "checkpoints": disk.checkpoints,
        "decodings": disk.decodings,
    }
    return (
        f"estimate: {sum(parts.values()) / 1e9:.2f} GB of disk ({_gigabytes(parts)}), and meanwhile"
        f" {disk.meanwhile / 1e9:.2f} more for text before it is cleaned or as the ids of one"
        " training; TFDS's downloads come on top"
    )


def _gigabytes(parts: Mapping[str, int | float]) -> str:
    return ", ".join(f"{name} {size / 1e9:.2f}" for name, size in parts.items())


def main(argv: list[str]) -> int:
    """Read, check, print."""
    hint = "config files come after --config: --config {}"
    arguments = read_arguments("plan", __doc__, OPTIONS, argv, hint)
    from padir.config.read import load_config
    from padir.files import InputError

    price = arguments.usd_per_hour
    if price is not None and not price >= 0:
        raise InputError(f"--usd-per-hour is {price}: allowed are 0 and more")
    rates = Rates(arguments.gflops, arguments.devices, price, arguments.decode_gflops)
    config = load_config(arguments.config or [DEFAULT_CONFIG])
    print("\n".join(describe(config, rates)))
    this_machine = rates.gflops == CPU_GFLOPS and rates.devices == 1
    for warning in fit.check(config, this_machine):
        print(f"padir plan: warning: {warning}", file=sys.stderr)
    return 0
