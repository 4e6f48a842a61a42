"""What a result depends on, as digests of exactly the settings that each stage reads.

A training has a digest of all that training reads: its settings without seeds, the data, the
vocabulary and the targets, and with them a teacher's training and decoder. A decoder has one of its
settings, and of the reranker's training. Hypotheses have one of training, seed, decoder, passes and
split. The user's own files count by their bytes. Every file that is made of them carries `digests`;
the report shows a number only where these are the digests of the config at hand.

The functions are cached, as a workflow asks for digests many times: what they return is not to be
changed.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from padir.config.base import Digests, short_digest
from padir.config.contents import CONTENTS, contents
from padir.config.data import DOWNLOAD_LIMITS, SyntheticSource, VocabularySpec
from padir.config.decoder import decoder_digest as digest_of_decoder
from padir.config.experiment import Config
from padir.config.rows import Row, with_hypotheses
from padir.config.teacher import CloudTeacher, FileTeacher, ModelTeacher
from padir.config.training import RunSpec
from padir.files import InputError

RESULTS = "results"


def data_spec(config: Config, dataset: str) -> dict[str, Any]:
    """What getting and cleaning a dataset reads: a `Dataset` of source and cleaning, with the pair
    as its one direction, so that a further direction, another vocabulary or a licence keeps the
    data; and the checksums of the local files that the source names."""
    settings = config.datasets[dataset]
    read = settings.model_dump(mode="json", include={"source", "cleaning"})
    spec = {"source": read["source"], "directions": [settings.pair], "cleaning": read["cleaning"]}
    record = f"{RESULTS}/data/{dataset}/{settings.pair}/dataset.json"
    return _with_contents(spec, settings.source.local_files(), record)


def _with_contents(spec: dict[str, Any], files: Sequence[str | Path], record: str | None = None):
    """Settings, and checksums of the files that they name, if they name any."""
    return {**spec, CONTENTS: contents(files, record)} if files else spec


@cache
def data_digests(config: Config, dataset: str) -> Digests:
    """Digest of the data alone."""
    return {"data": short_digest(_without_limits(data_spec(config, dataset)))}


def _without_limits(settings: Any) -> Any:
    """Settings without the limits of downloads, which change no text."""
    if isinstance(settings, list):
        return [_without_limits(value) for value in settings]
    if not isinstance(settings, dict):
        return settings
    limits = DOWNLOAD_LIMITS if "sha256" in settings else ()
    return {key: _without_limits(value) for key, value in settings.items() if key not in limits}


def extra_spec(config: Config, dataset: str) -> dict[str, Any]:
    """What getting and cleaning extra source text reads: what the dataset's own text does, and the
    files. The data's digest knows nothing of it, so that further text keeps what is trained."""
    settings = config.datasets[dataset]
    extra = settings.model_dump(mode="json")["extra_sources"]
    spec = data_spec(config, dataset)
    local = [
        file
        for file in map(settings.extra_file, extra["files"] if extra else {})
        if isinstance(file, Path)
    ]
    record = f"{RESULTS}/data/{dataset}/{settings.pair}/extra.json"
    checksums = {**spec.get(CONTENTS, {}), **contents(local, record)}
    return {**spec, "extra_sources": extra, **({CONTENTS: checksums} if checksums else {})}


def extra_language(config: Config, dataset: str, direction: str, targets: str) -> str | None:
    """The language of the extra sources behind training targets; None where there are none.

    Args:
        targets: name of a teacher, or raw.
    """
    teacher, language = config.teachers.get(targets), direction.split("-")[0]
    used = isinstance(teacher, ModelTeacher) and teacher.extra_sources
    return language if used and config.datasets[dataset].extra_file(language) else None


def extra_digests(config: Config, dataset: str, language: str) -> Digests:
    """Digests of the data, and of the cleaned extra text in a language, which depends on it."""
    spec = extra_spec(config, dataset)
    file = spec["extra_sources"]["files"][language]
    checksum = spec.get(CONTENTS, {}).get(str(config.datasets[dataset].extra_file(language)))
    read = [data_spec(config, dataset), file, checksum]
    extra = short_digest(_without_limits(read))
    return {**data_digests(config, dataset), "extra_sources": extra}


def vocabulary_spec(config: Config, dataset: str, name: str | None) -> dict[str, Any]:
    """What learning a vocabulary reads beside text: its settings and, with `foreign_pairs`, the
    synthetic source that they vary: the dataset's own, or the default for real text.

    Args:
        name: an entry of the dataset's `vocabularies`; None: its own.
    """
    source = config.datasets[dataset].source
    chosen = config.datasets[dataset].vocabulary_named(name)
    if not isinstance(source, SyntheticSource):
        source = SyntheticSource()
    if not chosen.foreign_pairs:
        source = None
    spec = VocabularySpec(**chosen.model_dump(), source=source).model_dump(mode="json")
    folder = f"{RESULTS}/vocab/{dataset}/{config.datasets[dataset].pair}"
    record = f"{folder}/{name}/settings.json" if name else f"{folder}/settings.json"
    return _with_contents(spec, chosen.extra_text, record)


def teacher_seed(config: Config, teacher: str) -> int:
    """A model teaches with its first seed; other teachers have none and count as seed 0."""
    row = config.teacher_row(teacher)
    return 0 if row is None else config.trainings[row.training].first_seed


@cache
def targets_digest(config: Config, dataset: str, direction: str, targets: str) -> str:
    """Of the training targets: the data alone if raw, else also of what made the text."""
    translated = data_digests(config, dataset)
    if targets == "raw":
        return translated["data"]
    teacher, row = config.teachers[targets], config.teacher_row(targets)
    if row is not None:
        seed = teacher_seed(config, targets)
        made_by: Any = hypotheses_digests(config, dataset, direction, row, seed)
    elif isinstance(teacher, FileTeacher):
        made_by = _with_contents(teacher.model_dump(mode="json"), [teacher.train, teacher.valid])
    elif isinstance(teacher, CloudTeacher):
        # A higher limit or another ledger translates nothing anew.
        made_by = teacher.translation_settings()
    else:
        made_by = teacher.model_dump(mode="json")
    if language := extra_language(config, dataset, direction, targets):
        translated = extra_digests(config, dataset, language)
    return short_digest({**translated, "direction": direction, "teacher": made_by})


@cache
def training_digests(config: Config, dataset: str, direction: str, training: str) -> Digests:
    """Digests of the data, vocabulary and targets of a training, and of the training itself."""
    run = config.trainings[training]
    digests = {
        **data_digests(config, dataset),
        "vocabulary": short_digest(vocabulary_spec(config, dataset, run.vocabulary)),
        "targets": targets_digest(config, dataset, direction, run.targets),
    }
    start = run.training.warm_start
    settings = run.model_dump(mode="json", exclude={"seeds", "targets", "vocabulary"})
    settings["training"]["warm_start"] = {}
    if start is not None:
        settings["training"]["warm_start"] = {
            "training": training_digests(config, dataset, direction, start)["training"],
            "seed": config.trainings[start].first_seed,
        }
    learnt = {"direction": direction, "settings": settings, **digests}
    return {**digests, "training": short_digest(learnt)}


@cache
def decoder_digest(config: Config, dataset: str, direction: str, decoder: str) -> str:
    """Of a decoder's settings, and of the training of its reranker."""
    settings = config.decoders[decoder]
    if settings.reranker is None:
        return digest_of_decoder(settings)
    digests = training_digests(config, dataset, direction, settings.reranker)
    seed = config.trainings[settings.reranker].first_seed
    return digest_of_decoder(settings, digests["training"], seed)


@cache
def teacher_digests(config: Config, dataset: str, direction: str, teacher: str) -> Digests:
    """Digests of the data and of a teacher's translations; of a model of ours also of these
    hypotheses, on which distillation rests."""
    row = config.teacher_row(teacher)
    digests = data_digests(config, dataset)
    if row is not None:
        seed = teacher_seed(config, teacher)
        digests = digests | hypotheses_digests(config, dataset, direction, row, seed)
    return {**digests, "distilled": targets_digest(config, dataset, direction, teacher)}


@cache
def decoder_digests(
    config: Config, dataset: str, direction: str, training: str, decoder: str
) -> Digests:
    """Digests of a training and of a decoder that validation tunes for it."""
    digests = training_digests(config, dataset, direction, training)
    return {**digests, "decoder": decoder_digest(config, dataset, direction, decoder)}


@cache
def hypotheses_digests(
    config: Config, dataset: str, direction: str, row: Row, seed: int
) -> Digests:
    """Digests of a training and its decoder, and of the hypotheses that they make."""
    names = row.training, row.decoding.decoder
    digests = decoder_digests(config, dataset, direction, *names)
    return with_hypotheses(digests, seed, row.decoding.passes)


@cache
def score_digests(config: Config, dataset: str, direction: str, row: Row, seed: int) -> Digests:
    """Digests of hypotheses, and of their scores: split, resamples and what tests compare with."""
    evaluation, baseline = config.evaluation, config.baseline()
    digests = hypotheses_digests(config, dataset, direction, row, seed)
    compared = None
    if baseline is not None:
        first = config.trainings[baseline.training].first_seed
        compared = hypotheses_digests(config, dataset, direction, baseline, first)["hypotheses"]
    scored = [digests["hypotheses"], evaluation.split, evaluation.bootstrap_samples, compared]
    return {**digests, "score": short_digest(scored)}


def rating_digests(
    config: Config, dataset: str, direction: str, row: Row, seed: int, scorer: str
) -> Digests:
    """Digests of hypotheses, and of their rating: split, resamples and the scorer's settings.

    A checkpoint counts by its path. Snakemake notices a newer one; its gigabytes are not read here.
    """
    evaluation = config.evaluation
    digests = hypotheses_digests(config, dataset, direction, row, seed)
    settings = evaluation.scorers[scorer].model_dump(mode="json")
    rated = [digests["hypotheses"], evaluation.split, evaluation.bootstrap_samples, settings]
    return {**digests, "rating": short_digest(rated)}


def chain_digests(config: Config, dataset: str, direction: str, sampler: str) -> Digests:
    """Digests of a training, and of the chains of a sampler on its first seed."""
    settings = config.evaluation.samplers[sampler]
    digests = training_digests(config, dataset, direction, settings.training)
    seed = config.trainings[settings.training].first_seed
    drawn = [digests["training"], seed, settings.model_dump(mode="json")]
    return {**digests, "hypotheses": short_digest(drawn)}


def sample_digests(config: Config, dataset: str, direction: str, sampler: str) -> Digests:
    """Digests of chains, and of their scores."""
    evaluation = config.evaluation
    digests = chain_digests(config, dataset, direction, sampler)
    scored = [digests["hypotheses"], evaluation.split, evaluation.bootstrap_samples]
    return {**digests, "score": short_digest(scored)}


def analysis_digests(config: Config, dataset: str, direction: str, row: Row, seed: int) -> Digests:
    """Digests of a training and a decoder, and of the analysis of their dependence. The passes
    looked at are those of `evaluation.analysis`, not the row's."""
    evaluation = config.evaluation
    names = row.training, row.decoding.decoder
    digests = decoder_digests(config, dataset, direction, *names)
    options = evaluation.analysis.model_dump(mode="json", exclude={"rows", "seeds"})
    scored = [digests["training"], seed, digests["decoder"], options]
    scored += [evaluation.split, evaluation.bootstrap_samples]
    return {**digests, "analysis": short_digest(scored)}


def run_spec(config: Config, dataset: str, direction: str, training: str) -> RunSpec:
    """What one training reads on one dataset in one direction.

    Raises:
        InputError: the config has no such dataset, direction or training.
    """
    for kind, name, known in (
        ("datasets", dataset, config.datasets),
        ("trainings", training, config.trainings),
    ):
        if name not in known:
            raise InputError(f"{kind}: no entry {name!r}, allowed: {', '.join(known)}")
    if direction not in config.datasets[dataset].directions:
        allowed = ", ".join(config.datasets[dataset].directions)
        raise InputError(f"datasets.{dataset}.directions: no {direction!r}, allowed: {allowed}")
    # Seeds are the workflow's: one more seed leaves the spec, and what is trained, as it is.
    run = config.trainings[training].model_copy(update={"seeds": [0]})
    digests = training_digests(config, dataset, direction, training)
    return RunSpec(
        dataset=dataset,
        direction=direction,
        training=training,
        run=run,
        extra_sources=extra_language(config, dataset, direction, run.targets) is not None,
        digests=digests,
    )
