"""What the rules share: validated settings, the shape of wildcards, input and params functions."""

import sys
from pathlib import Path

from padir.config.read import (
    check_config,
    data_spec,
    refuse_repeated_keys,
    run_spec,
    training_digest,
    vocabulary_spec,
)
from padir.config.teacher import ModelTeacher
from padir.files import InputError

try:
    refuse_repeated_keys(workflow.configfiles)
    SETTINGS = check_config(config)
except InputError as error:
    sys.exit(str(error))


wildcard_constraints:
    dataset="[A-Za-z][A-Za-z0-9_]*",
    teacher="[A-Za-z][A-Za-z0-9_]*",
    model="[A-Za-z][A-Za-z0-9_]*",
    first="[a-z]{2,3}",
    second="[a-z]{2,3}",
    source="[a-z]{2,3}",
    target="[a-z]{2,3}",
    split="train|valid|test",
    seed="[0-9]+",
    shard="[0-9]+",
    shards="[0-9]+",
    decoding="T[0-9]+|greedy|beam",
    sampler="[A-Za-z][A-Za-z0-9_]*",
    scorer="[A-Za-z][A-Za-z0-9_]*",
    timing="latency|systems|dependency",
    # Which vocabulary: nothing for the pair's own, NAME/ for an entry of `vocabularies`.
    further="|[A-Za-z][A-Za-z0-9_]*/",
    table="table1|table2|table3|table4|table5|ablations|samplers|dependency|dependency_decoding|redundancy"
    "|stutter|latency|distillation|data",
    figure="quality_passes|quality_latency|stutter_passes|training|training_time"
    "|self_attention_heads|cross_attention_heads",


def stage_code(*names):
    """Sources that a cheap stage depends on: modules, or folders with all that is in them.

    Only for what comes after training: a stage before it would train and distil all anew.
    """
    root = Path(workflow.basedir, "src", "padir")
    found = []
    for name in names:
        path = root / name
        found += (
            sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        )
    here = Path.cwd()
    return [str(p.relative_to(here) if p.is_relative_to(here) else p) for p in found]


# Settings, as params of rule write_*; Snakemake compares them with those of the last run.


def settings_of_data(wildcards):
    return data_spec(SETTINGS, wildcards.dataset)


def settings_of_vocabulary(wildcards):
    name = wildcards.further.rstrip("/") or None
    return vocabulary_spec(SETTINGS, wildcards.dataset, name)


def settings_of_run(wildcards):
    direction = f"{wildcards.source}-{wildcards.target}"
    spec = run_spec(SETTINGS, wildcards.dataset, direction, wildcards.model)
    return spec.model_dump(mode="json")


def settings_of_teacher(wildcards):
    return SETTINGS.teachers[wildcards.teacher].model_dump_json()


def settings_of_all(wildcards):
    return SETTINGS.model_dump(mode="json")


# Data


def data_folder(wildcards):
    return (
        f"results/data/{wildcards.dataset}/{SETTINGS.datasets[wildcards.dataset].pair}"
    )


def local_sources(wildcards):
    """Files of the user's that a dataset is read from; addresses are left out."""
    source = SETTINGS.datasets[wildcards.dataset].source
    return [str(path) for path in source.local_files()]


def text(side, split=None):
    """Input function: cleaned text of the source or target side, of a split or the wildcard's."""

    def path(wildcards):
        return f"{data_folder(wildcards)}/{split or wildcards.split}.{getattr(wildcards, side)}"

    return path


def extra_text(wildcards):
    """Files that a vocabulary's settings name; the command reads them there."""
    dataset = SETTINGS.datasets[wildcards.dataset]
    return dataset.vocabulary_named(wildcards.further.rstrip("/") or None).extra_text


def vocabulary(wildcards):
    """The vocabulary of a model: the dataset's own, or the entry of `vocabularies` it names."""
    pair = SETTINGS.datasets[wildcards.dataset].pair
    name = SETTINGS.models[wildcards.model].vocabulary
    further = "" if name is None else f"{name}/"
    return f"results/vocab/{wildcards.dataset}/{pair}/{further}spm.model"


def references(split=None):
    """Params function: all references of a split; the cleaning writes those past the first
    beside it, as many as the source has."""

    def paths(wildcards):
        source = SETTINGS.datasets[wildcards.dataset].source
        first = text("target", split)(wildcards)
        count = source.reference_count(split or wildcards.split, wildcards.target)
        return [first, *(f"{first}.{number}" for number in range(1, count))]

    return paths


def grammar_flags(split=None):
    """Params function: what lets a synthetic dataset's translations be checked exactly."""

    def flags(wildcards):
        if SETTINGS.datasets[wildcards.dataset].source.kind != "synthetic":
            return []
        grammar = f"{data_folder(wildcards)}/grammar.json"
        return ["--grammar", grammar, "--sources", text("source", split)(wildcards)]

    return flags


def exact_flags(wildcards):
    """What lets dependence on a synthetic dataset be computed exactly."""
    source = SETTINGS.datasets[wildcards.dataset].source
    if source.kind != "synthetic":
        return []
    grammar = f"{data_folder(wildcards)}/grammar.json"
    return ["--grammar", grammar, "--mode-strength", source.mode_strength]


def analysis_options(wildcards):
    """Options of the analysis that the settings decide."""
    chosen = SETTINGS.evaluation.analysis
    return [
        *("--passes", *chosen.passes),
        *("--sentences", chosen.sentences, "--distance", chosen.distance),
        *("--alternatives", chosen.alternatives),
        *("--samples", SETTINGS.evaluation.bootstrap_samples),
        *("--split", SETTINGS.evaluation.split),
    ]


def run_folder(wildcards, model, seed):
    direction = f"{wildcards.source}-{wildcards.target}"
    return f"results/runs/{wildcards.dataset}/{direction}/{model}/seed{seed}"


# Teachers


def teachers_of_kind(kind):
    """Constraint on the wildcard `teacher`; the empty name stands for none and matches no path."""
    names = [
        name for name, teacher in SETTINGS.teachers.items() if teacher.kind == kind
    ]
    return "|".join(names) or "(?!)"


def teacher_seed(name):
    """A model teaches with its first seed; other teachers have none and count as seed 0."""
    teacher = SETTINGS.teachers[name]
    model = isinstance(teacher, ModelTeacher)
    return SETTINGS.models[teacher.model].seeds[0] if model else 0


def teacher_bundle(wildcards):
    model = SETTINGS.teachers[wildcards.teacher].model
    return f"{run_folder(wildcards, model, wildcards.seed)}/bundle/model.safetensors"


def teacher_tuning(wildcards):
    return str(Path(teacher_bundle(wildcards)).with_name("decoding.json"))


def teacher_decoding(wildcards):
    teacher = SETTINGS.teachers[wildcards.teacher]
    return teacher.decode if isinstance(teacher, ModelTeacher) else teacher.kind


def what_teacher_writes(wildcards):
    return SETTINGS.teachers[wildcards.teacher].what_it_writes()


def ready_made(wildcards):
    return getattr(SETTINGS.teachers[wildcards.teacher], wildcards.split)


def shards(split):
    """Input function: the parts of a teacher's translations, in order."""

    def paths(wildcards):
        count = SETTINGS.teachers[wildcards.teacher].shards if split == "train" else 1
        return expand(
            "results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/shards/{split}.{shard}of{count}.{target}",
            **wildcards,
            split=split,
            shard=range(1, count + 1),
            count=count,
        )

    return paths


# Models


def models_that(train):
    """Constraint on the wildcard `model`: those trained, or those with borrowed parameters."""
    names = [
        name
        for name, run in SETTINGS.models.items()
        if (run.parameters is None) == train
    ]
    return "|".join(names) or "(?!)"


def bundle_of(wildcards, name):
    """The bundle of a model's first seed; nothing where no model is named."""
    if name is None:
        return []
    folder = run_folder(wildcards, name, SETTINGS.models[name].seeds[0])
    return f"{folder}/bundle/model.safetensors"


def bundle_flags(option, key):
    """Params function: an option with the folders of the bundles of an input, if there are any."""

    def flags(wildcards, input):
        models = [input[key]] if isinstance(input[key], str) else list(input[key])
        return (
            [option, *(str(Path(model).parent) for model in models)] if models else []
        )

    return flags


def owner_bundle(wildcards):
    owner = SETTINGS.models[wildcards.model].parameters
    return f"{run_folder(wildcards, owner, wildcards.seed)}/bundle/model.safetensors"


def reranker_bundle(wildcards):
    """Input function: the AR model that ranks a model's candidates; nothing where none does."""
    return bundle_of(wildcards, SETTINGS.models[wildcards.model].decoding.reranker)


def training_targets(split):
    """Input function: raw target text, or what the model's teacher made of it."""

    def path(wildcards):
        name = SETTINGS.models[wildcards.model].targets
        if name == "raw":
            return text("target", split)(wildcards)
        direction = f"{wildcards.source}-{wildcards.target}"
        folder = f"results/distill/{wildcards.dataset}/{direction}/{name}/seed{teacher_seed(name)}"
        return f"{folder}/{split}.{wildcards.target}"

    return path


def launcher(wildcards, resources):
    """Params function: what starts one training process per host, where a profile gives it several
    (`mpi` and `tasks`, as the Slurm executor reads them).
    """
    tasks = resources.get("tasks", 1)
    return [resources.get("mpi", "srun"), f"--ntasks={tasks}"] if tasks > 1 else []


def distributed_flag(wildcards, resources):
    return ["--distributed"] if resources.get("tasks", 1) > 1 else []


def warm_start_bundle(wildcards):
    """Input function: the AR model that a training starts from; nothing where it starts fresh."""
    return bundle_of(wildcards, SETTINGS.models[wildcards.model].training.warm_start)


def work_folder(wildcards):
    """Where training keeps its checkpoints: one folder per content of all settings that it
    depends on, so that an edited model starts anew and a restored one is found again.
    """
    direction = f"{wildcards.source}-{wildcards.target}"
    key = training_digest(SETTINGS, wildcards.dataset, direction, wildcards.model)
    return f"{run_folder(wildcards, wildcards.model, wildcards.seed)}/work/{key[:12]}"


def card_folder(wildcards, output):
    return str(Path(output.card).parent)


def made_bundle(wildcards, output):
    return str(Path(output.model).parent)


def given_bundle(wildcards, input):
    return str(Path(input.model).parent)


# Scorers


def scorer_files(wildcards):
    """Input function: a scorer's checkpoint where it lies there; without it the score is "not run",
    and is made as soon as the checkpoint has come.
    """
    scorer = SETTINGS.evaluation.scorers[wildcards.scorer]
    if not hasattr(scorer, "checkpoint") or not Path(scorer.checkpoint).is_dir():
        return []
    return sorted(str(p) for p in Path(scorer.checkpoint).rglob("*") if p.is_file())


def scorer_flags(wildcards):
    scorer = SETTINGS.evaluation.scorers[wildcards.scorer]
    flags = ["--scorer", scorer.kind]
    if hasattr(scorer, "checkpoint"):
        flags += ["--checkpoint", scorer.checkpoint, "--allow-missing"]
    return flags
