"""Inputs of the jobs of the workflow, files and settings, by wildcards.

Bound to rules by `asked` in rules/common.smk.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from padir.config import identity
from padir.config.experiment import Config
from padir.config.identity import Digests
from padir.config.rows import Decoding, Row
from padir.config.teacher import CloudTeacher, ModelTeacher
from padir.layout import (
    RESULTS,
    Place,
    bundle_paths,
    decoder_path,
    distilled_folder,
    hypotheses_path,
    places,
    run_folder,
    runs,
    statistics_path,
    timed_rows,
    traced_rows,
)


def data_folder(config: Config, dataset: str) -> str:
    """Folder of a cleaned dataset."""
    return f"{RESULTS}/data/{dataset}/{config.datasets[dataset].pair}"


def text_path(config: Config, dataset: str, split: str, language: str) -> str:
    """Cleaned text of one side of a split."""
    return f"{data_folder(config, dataset)}/{split}.{language}"


def dataset_statistics(config: Config, dataset: str) -> str:
    """Statistics of a cleaned dataset."""
    return statistics_path(dataset, config.datasets[dataset].pair)


def local_sources(config: Config, dataset: str) -> list[str]:
    """Local files that a dataset is read from; addresses are left out."""
    return [str(path) for path in config.datasets[dataset].source.local_files()]


def grammar(config: Config, dataset: str) -> list[str]:
    """The grammar of a synthetic dataset, for validity; nothing for other datasets."""
    synthetic = config.datasets[dataset].source.kind == "synthetic"
    return [f"{data_folder(config, dataset)}/grammar.json"] if synthetic else []


def vocabulary_settings(config: Config, dataset: str, further: str) -> dict[str, Any]:
    """Settings of a vocabulary: `further` is empty for the dataset's own, else `NAME/`."""
    return identity.vocabulary_spec(config, dataset, further.rstrip("/") or None)


def extra_text(config: Config, dataset: str, further: str) -> list[str]:
    """Further text that a vocabulary is learnt from."""
    return config.datasets[dataset].vocabulary_named(further.rstrip("/") or None).extra_text


def vocabulary(config: Config, dataset: str, training: str) -> str:
    """The vocabulary of a training."""
    name, pair = config.trainings[training].vocabulary, config.datasets[dataset].pair
    further = "" if name is None else f"{name}/"
    return f"{RESULTS}/vocab/{dataset}/{pair}/{further}spm.model"


def local_extra_sources(config: Config, dataset: str, language: str) -> list[str]:
    """The local file of extra source text; nothing where it is downloaded."""
    file = config.datasets[dataset].extra_file(language)
    return [str(file)] if isinstance(file, Path) else []


def extra_path(config: Config, place: Place, teacher: str, ending: str = "") -> list[str]:
    """Cleaned extra source text that a teacher translates too; nothing where there is none."""
    language = identity.extra_language(config, *place, teacher)
    if language is None:
        return []
    return [text_path(config, place.dataset, "extra", language) + ending]


def teacher_sources(config: Config, place: Place, teacher: str, split: str) -> str:
    """What a teacher translates: sources of the training or validation text, and in training those
    of its extra text behind them."""
    language = place.direction.split("-")[0]
    if split == "train" and extra_path(config, place, teacher):
        seed = identity.teacher_seed(config, teacher)
        return f"{distilled_folder(place, teacher, seed)}/{split}.{language}"
    return text_path(config, place.dataset, split, language)


def joined_sources(config: Config, place: Place, teacher: str) -> list[str]:
    """Training sources and the extra sources of a teacher, in this order."""
    language = place.direction.split("-")[0]
    train = text_path(config, place.dataset, "train", language)
    return [train, *extra_path(config, place, teacher)]


def sources(config: Config, place: Place, training: str, split: str) -> str:
    """Sources of a training, in the order of its targets."""
    return teacher_sources(config, place, config.trainings[training].targets, split)


def targets(config: Config, place: Place, training: str, split: str) -> str:
    """Training targets: raw, or distilled by the training's teacher."""
    teacher, language = config.trainings[training].targets, place.direction.split("-")[1]
    if teacher == "raw":
        return text_path(config, place.dataset, split, language)
    seed = identity.teacher_seed(config, teacher)
    return f"{distilled_folder(place, teacher, seed)}/{split}.{language}"


def shards(config: Config, place: Place, teacher: str, seed: int, split: str) -> list[str]:
    """The parts of a teacher's translations, in order."""
    made_by = config.teachers[teacher]
    count = made_by.shards if split == "train" and isinstance(made_by, ModelTeacher) else 1
    folder, language = distilled_folder(place, teacher, seed), place.direction.split("-")[1]
    return [f"{folder}/shards/{split}.{i}of{count}.{language}" for i in range(1, count + 1)]


def ready_made(config: Config, teacher: str, split: str) -> str:
    """A file of ready-made translations."""
    return getattr(config.teachers[teacher], split)


def teacher_settings(config: Config, teacher: str) -> str:
    """Settings of a teacher, as JSON."""
    return config.teachers[teacher].model_dump_json()


def cloud_translation_settings(config: Config, teacher: str) -> dict[str, str | None]:
    """Settings that the translations of a cloud teacher depend on."""
    made_by = config.teachers[teacher]
    return made_by.translation_settings() if isinstance(made_by, CloudTeacher) else {}


def teacher_decoding(config: Config, teacher: str) -> str:
    """How a teacher translates, for its card: a row, such as ar/beam, or its kind."""
    row = config.teacher_row(teacher)
    return config.teachers[teacher].kind if row is None else row.name


def bundle(config: Config, place: Place, training: str, seed: int) -> list[str]:
    """A trained model."""
    return bundle_paths(place, training, seed)


def teacher_bundle(config: Config, place: Place, teacher: str, seed: int) -> list[str]:
    """The bundle of an AR teacher."""
    row = config.teacher_row(teacher)
    return bundle_paths(place, row.training if row else teacher, seed)


def teacher_decoder(config: Config, place: Place, teacher: str, seed: int) -> str:
    """The tuned decoder of an AR teacher."""
    row = config.teacher_row(teacher)
    return row_decoder(config, place, row, seed) if row else ""


def teaches(config: Config, training: str, decoder: str) -> bool:
    """Whether a training with a decoder is a teacher."""
    rows = [row for row in map(config.teacher_row, config.teachers) if row]
    return (training, decoder) in [(row.training, row.decoding.decoder) for row in rows]


def first_bundle(config: Config, place: Place, training: str | None) -> list[str]:
    """The model of a training's first seed; nothing where no training is named."""
    if training is None:
        return []
    return bundle_paths(place, training, config.trainings[training].first_seed)


def warm_start_bundle(config: Config, place: Place, training: str) -> list[str]:
    """The AR model that a training starts from; nothing where it starts fresh."""
    return first_bundle(config, place, config.trainings[training].training.warm_start)


def work_folder(config: Config, place: Place, training: str, seed: int) -> str:
    """Where training keeps its checkpoints: one folder per digest of all that it depends on, so
    that an edited training starts anew and a restored one is found again."""
    digests = identity.training_digests(config, *place, training)
    return f"{run_folder(place, training, seed)}/work/{digests['training']}"


def decoder_settings(config: Config, place: Place, decoder: str) -> dict[str, Any]:
    """What decoding reads of the config: name, settings and digest of a decoder."""
    return {
        "name": decoder,
        "settings": config.decoders[decoder].model_dump(mode="json"),
        "digest": identity.decoder_digest(config, *place, decoder),
    }


def reranker_bundle(config: Config, place: Place, decoder: str) -> list[str]:
    """The AR model that reranks a decoder's candidates; nothing where none does."""
    return first_bundle(config, place, config.decoders[decoder].reranker)


def row_reranker(config: Config, place: Place, row: Row) -> list[str]:
    """The AR model that reranks a row's candidates; nothing where none does."""
    return reranker_bundle(config, place, row.decoding.decoder)


def row_decoder(config: Config, place: Place, row: Row, seed: int) -> str:
    """The tuned decoder of a row."""
    return decoder_path(place, row.training, seed, row.decoding.decoder)


def baseline_hypotheses(config: Config, place: Place, split: str, ending: str = "txt") -> list[str]:
    """The output that paired tests compare with; nothing where no training is AR."""
    row = config.baseline()
    if row is None:
        return []
    seed = config.trainings[row.training].first_seed
    return [hypotheses_path(place, row, seed, split, ending)]


def sampled_bundle(config: Config, place: Place, sampler: str) -> list[str]:
    """The model that a sampler runs on."""
    return first_bundle(config, place, config.evaluation.samplers[sampler].training)


def analysis_digests(
    config: Config, place: Place, training: str, decoder: str, seed: int
) -> Digests:
    """Digests of the analysis of a training under a decoder."""
    return identity.analysis_digests(config, *place, Row(training, Decoding(decoder)), seed)


def scorer_flags(config: Config, scorer: str) -> list[Any]:
    """Options of `padir rate`, one for each setting of the scorer. A checkpoint may be missing."""
    settings = config.evaluation.scorers[scorer]
    further = settings.model_dump(exclude={"kind"})
    flags: list[Any] = []
    for key, value in further.items():
        # An option without a value stands for true.
        flags += [_option(key)] * bool(value) if isinstance(value, bool) else [_option(key), value]
    missing = ["--allow-missing"] if "checkpoint" in further else []
    return ["--scorer", settings.kind, *flags, *missing]


def sampler_flags(config: Config, sampler: str) -> list[Any]:
    """Options of `padir sample`, one for each setting of the sampler."""
    settings = config.evaluation.samplers[sampler]
    numbers = settings.model_dump(exclude={"training", "metropolis"})
    flags = [part for key, value in numbers.items() for part in (_option(key), value)]
    return flags + (["--mh"] if settings.metropolis else [])


def analysis_flags(config: Config) -> list[Any]:
    """Options of `padir analyse`, one for each setting of the analysis."""
    analysis, evaluation = config.evaluation.analysis, config.evaluation
    return [
        *("--passes", *analysis.passes, "--sentences", analysis.sentences),
        *("--distance", analysis.distance, "--alternatives", analysis.alternatives),
        *("--samples", evaluation.bootstrap_samples, "--split", evaluation.split),
    ]


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _traced(config: Config, training: str, traced: str) -> list[Row]:
    return [row for row in traced_rows(config, traced) if row.training == training]


def traced_names(config: Config, training: str, traced: str) -> list[str]:
    """Rows of a training to trace as DECODER.T4."""
    return [row.decoding.name for row in _traced(config, training, traced)]


def traced_decoders(
    config: Config, place: Place, training: str, seed: int, traced: str
) -> list[str]:
    """Tuned decoders of the rows to trace."""
    rows = _traced(config, training, traced)
    return [row_decoder(config, place, row, seed) for row in rows]


def traced_rerankers(config: Config, place: Place, training: str, traced: str) -> list[str]:
    """AR models that rerank candidates of the rows to trace."""
    return _rerankers(config, place, _traced(config, training, traced))


def _rerankers(config: Config, place: Place, rows: list[Row]) -> list[str]:
    names = (config.decoders[row.decoding.decoder].reranker for row in rows)
    return [path for name in dict.fromkeys(names) for path in first_bundle(config, place, name)]


def timed_bundles(config: Config, place: Place, timing: str) -> list[str]:
    """Models of the rows to time, of their first seeds."""
    trainings = dict.fromkeys(row.training for row in timed_rows(config, timing))
    return [path for name in trainings for path in first_bundle(config, place, name)]


def timed_decoders(config: Config, place: Place, timing: str) -> list[str]:
    """Tuned decoders of the rows to time."""
    rows = timed_rows(config, timing)
    paths = (
        row_decoder(config, place, row, config.trainings[row.training].first_seed) for row in rows
    )
    return list(dict.fromkeys(paths))


def timed_rerankers(config: Config, place: Place, timing: str) -> list[str]:
    """AR models that rerank candidates of the rows to time."""
    return _rerankers(config, place, timed_rows(config, timing))


def timed_names(config: Config, place: Place, timing: str) -> list[str]:
    """Rows to time as BUNDLE:DECODER.T4."""
    return [
        f"{run_folder(place, row.training, config.trainings[row.training].first_seed)}/bundle"
        f":{row.decoding.name}"
        for row in timed_rows(config, timing)
    ]


def analysed_models(config: Config) -> list[str]:
    """Models and tuned decoders that are analysed."""
    return [
        path
        for place in places(config)
        for row in config.analysed_rows()
        for seed in config.analysed_seeds(row.training)
        for path in (
            *bundle_paths(place, row.training, seed),
            row_decoder(config, place, row, seed),
        )
    ]


def behind(config: Config, rows: Iterable[Row], trainings: Iterable[str]) -> list[str]:
    """Files from which the scores of rows are computed, in the order in which jobs write them:
    cleaned text, vocabularies, training text, models, decoders and hypotheses; and text and first
    models of trainings.

    Snakemake does not restore a deleted one of them while the files made from it exist.
    """
    return list(dict.fromkeys(_behind(config, list(rows), list(trainings))))


def _behind(config: Config, rows: list[Row], trainings: list[str]) -> Iterator[str]:
    split = config.evaluation.split
    for dataset, settings in config.datasets.items():
        for part in ("train", "valid", "test"):
            for language in settings.pair.split("-"):
                yield text_path(config, dataset, part, language)
    for place in places(config):
        for training in trainings:
            yield vocabulary(config, place.dataset, training)
            for part in ("train", "valid"):
                yield sources(config, place, training, part)
                yield targets(config, place, training, part)
            yield from first_bundle(config, place, training)
    for place, row, seed in runs(config, rows):
        yield from bundle_paths(place, row.training, seed)
        yield row_decoder(config, place, row, seed)
        for ending in ("txt", "jsonl"):
            yield hypotheses_path(place, row, seed, split, ending)


def missing(paths: Iterable[str]) -> list[str]:
    """Those of some files that do not exist, each once."""
    return [path for path in dict.fromkeys(paths) if not Path(path).exists()]
