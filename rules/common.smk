"""Shared by all rules: the validated config, wildcard constraints, input and params functions.

What belongs to an experiment, and where it lies, stands in `padir.layout` and `padir.jobs`; digests of what results
depend on in `padir.config.identity`; the parts of the report in `padir.report.catalogue`, their files in
`padir.outputs`.
"""

import json
import logging
import shlex
import sys
from functools import cache
from pathlib import Path

from padir import invocation, jobs, layout, outputs, priorities
from padir.config import identity
from padir.config.base import NAME_PATTERN
from padir.config.read import check_config, refuse_repeated_keys, with_base
from padir.config.rows import Decoding, Row
from padir.config.theory import EXPERIMENTS
from padir.files import InputError
from padir.imports import source_files
from padir.locks import Run
from padir.planning import fit, machine, run_log
from padir.report import catalogue

# Executors other than the local one, which Snakemake chooses after reading this file, have a limit of nodes.
LOCAL = workflow.resource_settings.nodes is None

try:
    refuse_repeated_keys(workflow.configfiles)
    SETTINGS = check_config(with_base(config, workflow.configfiles))
    if workflow.is_main_process and LOCAL:
        for warning in fit.check(SETTINGS):
            print(f"padir: warning: {warning}", file=sys.stderr)
    # Jobs read this file too; only the process that schedules them is a run.
    if workflow.is_main_process:
        RUN = Run(Path(".snakemake"))
except InputError as error:
    sys.exit(str(error))

if workflow.is_main_process:
    if not workflow.output_settings.dryrun:
        RUN.finish_removals(Path(layout.RESULTS))
        RUN.settle_dates(Path(layout.RESULTS))
    # Whoever asks for more or less of Snakemake's own log gets that; jobs of a cluster wait in its queue, so that
    # their times say little.
    asked_for = ("dryrun", "printshellcmds", "verbose", "quiet", "debug_dag")
    if workflow.local_exec and not any(
        getattr(workflow.output_settings, option) for option in asked_for
    ):
        run_log.attach(logging.getLogger("snakemake.logging"))

NAME = NAME_PATTERN.strip("^$")
given = workflow.config_settings
DEFAULT = Path(workflow.basedir, "config/config.yaml")
EXPERIMENT = invocation.experiment_options(given.configfiles, given.config, DEFAULT)


def experiment_options(wildcards):
    """`EXPERIMENT` as a function: in a plain string Snakemake would read {braces} as wildcards."""
    return EXPERIMENT


def one_of(names):
    """Wildcard constraint: one of some names; without names it matches no path."""
    return "|".join(names) or "(?!)"


def teachers_of_kind(kind):
    return one_of(n for n, teacher in SETTINGS.teachers.items() if teacher.kind == kind)


wildcard_constraints:
    dataset=NAME,
    training=NAME,
    decoder=NAME,
    sampler=NAME,
    scorer=NAME,
    teacher=NAME,
    # DECODER.T4, or DECODER for AR.
    decoding=rf"{NAME}(\.T[0-9]+)?",
    first="[a-z]{2,3}",
    second="[a-z]{2,3}",
    source="[a-z]{2,3}",
    target="[a-z]{2,3}",
    split="train|valid|test",
    language="[a-z]{2,3}",
    seed="[0-9]+",
    shard="[0-9]+",
    shards="[0-9]+",
    # Which vocabulary: nothing for the pair's own, NAME/ for an entry of `vocabularies`.
    further=f"|{NAME}/",
    timing=one_of(layout.TIMINGS),
    traced=one_of(layout.TRACED),
    table=one_of(part.name for part in catalogue.CATALOGUE if part.kind == "table"),
    figure=one_of(part.name for part in catalogue.CATALOGUE if part.kind == "figure"),
    experiment=one_of(EXPERIMENTS),
    # Where claims and page lie: those of everything, or of the core alone.
    scope="|core/",


def known(wildcards, key):
    """A wildcard, or an object made from several."""
    if key == "direction":
        return f"{wildcards.source}-{wildcards.target}"
    if key == "place":
        return layout.Place(wildcards.dataset, known(wildcards, "direction"))
    if key == "row":
        return Row(wildcards.training, Decoding.parse(wildcards.decoding))
    value = getattr(wildcards, key)
    return int(value) if key == "seed" else value


def asked(function, *keys, **fixed):
    """Input or params function: `function` of the config and these wildcards."""

    def answer(wildcards):
        return function(SETTINGS, *(known(wildcards, key) for key in keys), **fixed)

    return answer


def digests(function, *keys):
    """Params function: the digests of what a result depends on, as JSON. A command refuses inputs
    that carry others; an edit of the config changes those of all that it concerns."""

    def answer(wildcards):
        return json.dumps(asked(function, *keys)(wildcards))

    return answer


@cache
def code_of(*modules):
    """Sources that a cheap stage depends on: what its command imports.

    Only for what comes after training: a stage before it would train and distil all anew.
    """
    here = Path.cwd()
    files = source_files(*(f"padir.{module}" for module in modules))
    return [str(p.relative_to(here) if p.is_relative_to(here) else p) for p in files]


def code_of_tuning(wildcards):
    """Input function: no sources for a teacher, as distillation and training depend on it. An `ancient` input of
    distillation would not do: Snakemake then overlooks edited settings of what comes after it.
    """
    teaches = jobs.teaches(SETTINGS, wildcards.training, wildcards.decoder)
    return [] if teaches else code_of("commands.tune")


def code_of_part(kind):
    """Input function: the sources of one table or figure of the report."""

    def files(wildcards):
        part = catalogue.part(SETTINGS, getattr(wildcards, kind))
        return code_of("commands.report", f"report.{part.function.partition(':')[0]}")

    return files


def code_of_scorer(wildcards):
    name, _, _ = SETTINGS.evaluation.scorers[wildcards.scorer].counts.partition(":")
    return code_of("commands.rate", name.removeprefix("padir."))


def code_of_experiment(wildcards):
    return code_of("theory.runs", f"theory.experiments.{wildcards.experiment}")


# Settings that rules write_* cut out; Snakemake compares them with those of the last run.


def settings_of_training(wildcards):
    keys = "dataset", "direction", "training"
    return asked(identity.run_spec, *keys)(wildcards).model_dump(mode="json")


def settings_of_theory(wildcards):
    return getattr(SETTINGS.theory, wildcards.experiment).model_dump(mode="json")


def settings_of_all(wildcards):
    return SETTINGS.model_dump(mode="json")


# Files and flags


def text(side, split=None):
    """Input function: cleaned text of the source or target side, of a split or the wildcard's."""

    def path(wildcards):
        language = getattr(wildcards, side)
        name = split or wildcards.split
        return jobs.text_path(SETTINGS, wildcards.dataset, name, language)

    return path


def references(split=None):
    """Input function: all references of each sentence of a split, one JSON list a line."""

    def path(wildcards):
        name = f"{split or wildcards.split}.references"
        folder = jobs.data_folder(SETTINGS, wildcards.dataset)
        return f"{folder}/{name}.{wildcards.target}.jsonl"

    return path


def grammar_flags(wildcards, input):
    return (
        ["--grammar", input.grammar, "--sources", input.source] if input.grammar else []
    )


def extra_flags(wildcards, input):
    return ["--extra-statistics", *input.extra] if input.extra else []


def folder_of(key):
    """Params function: the folder of a named output or input."""

    def folder(wildcards, input, output):
        files = (output if hasattr(output, key) else input)[key]
        return str(Path(files if isinstance(files, str) else files[0]).parent)

    return folder


def bundle_flags(option, key):
    """Params function: an option with the folders of the bundles of an input, if there are any."""

    def flags(wildcards, input):
        folders = dict.fromkeys(str(Path(file).parent) for file in input[key])
        return [option, *folders] if folders else []

    return flags


def launcher(wildcards, resources):
    """Params function: what starts a training elsewhere (`launch`: engine and options of `padir launch`), or one
    process per host or device where a profile gives it several (`mpi` and `tasks`, as the Slurm executor reads them).
    """
    tasks = resources.get("tasks", 1)
    step = [resources.get("mpi", "srun"), f"--ntasks={tasks}"] if tasks > 1 else []
    if not (engine := shlex.split(resources.get("launch") or "")):
        return step
    work = asked(jobs.work_folder, "place", "training", "seed")(wildcards)
    if step and engine[0] == "slurm":
        engine.append(f"--option=--ntasks={tasks}")
    else:
        # The other engines start one process on every host by themselves.
        step = []
    launch = ["padir", "launch", "--forget", "--handle", f"{work}.launch"]
    return [*launch, "--engine", *engine, "--", *step]


def distributed_flag(wildcards, resources):
    return ["--distributed"] if resources.get("tasks", 1) > 1 else []


def passes_flag(wildcards):
    passes = known(wildcards, "row").decoding.passes
    return [] if passes is None else ["--passes", passes]


def baseline_flags(wildcards, input):
    if not input.baseline:
        return []
    answer = [
        "--baseline",
        input.baseline,
        "--baseline-name",
        SETTINGS.baseline().label,
    ]
    return [*answer, "--baseline-provenance", input.baseline_provenance]
