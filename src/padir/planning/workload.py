"""What is decoded, scored and stored after or beside training, added up over an experiment.

A part without a size (text that is not there, and that no setting states) counts nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from padir.config.data import TfdsSource
from padir.config.experiment import BleurtScorer, Config
from padir.config.teacher import ModelTeacher
from padir.data.size import Corpus
from padir.planning import cost

Sizes = dict[tuple[str, str], cost.Size]
SPLITS = ("train", "valid", "test")


@dataclass
class Disk:
    """Bytes on disk.

    Attributes:
        text: cleaned text of all splits.
        copies: prepared copies of TFDS datasets, which hold the same text.
        distilled: training and validation targets that teachers wrote.
        bundles: of all models and seeds.
        checkpoints: what training keeps in its work folders.
        decodings: text and JSON lines of the evaluated split.
        meanwhile: the most that is there only for a while: a dataset's text before it is cleaned,
            and the ids of one training.
    """

    text: float = 0.0
    copies: float = 0.0
    distilled: float = 0.0
    bundles: float = 0.0
    checkpoints: float = 0.0
    decodings: float = 0.0
    meanwhile: float = 0.0


@dataclass(frozen=True)
class Workload:
    """What comes beside training.

    Attributes:
        distillation: operations of the project's own teachers.
        decoding: operations of all decodings and of choosing length rules.
        rating: operations of BLEURT.
        scored: sentences that BLEU and chrF are computed of, all decodings together.
        disk: see there.
    """

    distillation: float
    decoding: float
    rating: float
    scored: int
    disk: Disk


@dataclass(frozen=True)
class _Lines:
    """One split in one direction: lines, mean tokens of both sides, mean bytes of a target."""

    count: int
    source: float
    target: float
    target_bytes: float


def sizes_of(config: Config) -> Sizes:
    """Parameters of each model by dataset and name; a model is traced once per vocabulary size."""
    known: dict[tuple[str, int], cost.Size] = {}
    found: Sizes = {}
    for dataset, settings in config.datasets.items():
        for model, run in config.models.items():
            key = run.parameters or model, settings.vocabulary_named(run.vocabulary).size
            if key not in known:
                known[key] = cost.parameter_counts(config.models[key[0]], key[1])
            found[dataset, model] = known[key]
    return found


def workload(
    config: Config,
    models: Sequence[str],
    rated: Sequence[str],
    sizes: Sizes,
    corpora: Sequence[Corpus],
) -> Workload:
    """Add up what some models of an experiment need.

    Args:
        models: names of those that are trained and decoded.
        rated: names of those that further scorers judge.
        sizes: see `sizes_of`.
        corpora: the datasets' text.
    """
    distillation = decoding = rating = 0.0
    scored = 0
    disk = Disk()
    for corpus in corpora:
        for direction in corpus.settings.directions:
            distillation += _distillation(config, models, sizes, corpus, direction, disk)
            for name in models:
                done = _decodings(config, name, sizes, corpus, direction, disk)
                decoding += done[0]
                scored += done[1]
                if name in rated:
                    rating += _ratings(config, name, corpus, direction)
        _add_text(config, models, corpus, disk)
    for (dataset, name), size in sizes.items():
        run = config.models[name]
        if name not in models or run.parameters is not None:
            continue
        trained = len(run.seeds) * len(config.datasets[dataset].directions)
        disk.bundles += trained * cost.bundle_bytes(size.parameters)
        disk.checkpoints += trained * cost.checkpoint_bytes(run, size.parameters)
    return Workload(distillation, decoding, rating, scored, disk)


def _lines(corpus: Corpus, direction: str, split: str, vocabulary: str | None) -> _Lines | None:
    source, target = direction.split("-")
    side = corpus.side(split, target)
    tokens = [corpus.tokens(split, language, vocabulary) for language in (source, target)]
    if side is None or not side.lines or tokens[0] is None or tokens[1] is None:
        return None
    return _Lines(side.lines, tokens[0], tokens[1], side.size / side.lines)


def _distillation(
    config: Config, models: Sequence[str], sizes: Sizes, corpus: Corpus, direction: str, disk: Disk
) -> float:
    used = {config.models[name].targets for name in models}
    flops = 0.0
    for name, teacher in config.teachers.items():
        if name not in used:
            continue
        model = teacher.model if isinstance(teacher, ModelTeacher) else None
        run = None if model is None else config.models[model]
        for split in ("train", "valid"):
            lines = _lines(corpus, direction, split, run.vocabulary if run else None)
            if lines is None:
                continue
            disk.distilled += lines.count * lines.target_bytes
            if isinstance(teacher, ModelTeacher) and run is not None:
                size = sizes[corpus.name, teacher.model]
                flops += lines.count * cost.decoding_flops(
                    run, size, teacher.decode, lines.source, lines.target
                )
    return flops


def _decodings(
    config: Config, model: str, sizes: Sizes, corpus: Corpus, direction: str, disk: Disk
) -> tuple[float, int]:
    """Operations of a model's decodings, and sentences that come out of those that are scored."""
    run = config.models[model]
    decoding, times = cost.tuning_decodings(run)
    work = [("valid", decoding, times, False)]
    work += [(config.evaluation.split, one, 1, True) for one in run.decode]
    flops, scored = 0.0, 0
    for split, decoding, times, is_scored in work:
        lines = _lines(corpus, direction, split, run.vocabulary)
        if lines is None:
            continue
        lengths = lines.source, lines.target
        each = cost.decoding_flops(run, sizes[corpus.name, model], decoding, *lengths)
        reranker = run.decoding.reranker
        if reranker is not None:
            count = run.decoding.length_candidates * run.decoding.restarts
            each += cost.reranking_flops(sizes[corpus.name, reranker], count, *lengths)
        seeds = len(run.seeds)
        flops += seeds * times * lines.count * each
        if is_scored:
            scored += seeds * lines.count
            vocabulary = corpus.settings.vocabulary_named(run.vocabulary).size
            record = cost.decoded_bytes(vocabulary, lines.target_bytes, lines.target - 1)
            disk.decodings += seeds * lines.count * record
    return flops, scored


def _ratings(config: Config, model: str, corpus: Corpus, direction: str) -> float:
    run = config.models[model]
    lines = _lines(corpus, direction, config.evaluation.split, run.vocabulary)
    if lines is None:
        return 0.0
    flops = 0.0
    for scorer in config.evaluation.scorers.values():
        if isinstance(scorer, BleurtScorer):
            parameters = cost.bleurt_parameters(Path(scorer.checkpoint))
            flops += cost.rating_flops(parameters, lines.target, lines.target)
    return flops * lines.count * len(run.seeds) * len(run.decode)


def _add_text(config: Config, models: Sequence[str], corpus: Corpus, disk: Disk) -> None:
    """The text itself, its copy in TFDS's format, and what is there for a while only."""
    pair = corpus.settings.pair.split("-")
    sides = [corpus.side(split, language) for split in SPLITS for language in pair]
    text = sum(side.size for side in sides if side)
    disk.text += text
    if isinstance(corpus.settings.source, TfdsSource):
        disk.copies += text
    ids = max(_encoded(config, models, corpus), default=0)
    disk.meanwhile = max(disk.meanwhile, text, ids)


def _encoded(config: Config, models: Sequence[str], corpus: Corpus) -> Iterator[int]:
    for name in models:
        vocabulary = config.models[name].vocabulary
        lines = _lines(corpus, corpus.settings.directions[0], "train", vocabulary)
        if lines is not None:
            pieces = corpus.settings.vocabulary_named(vocabulary).size
            yield sum(
                cost.encoded_bytes(pieces, lines.count, tokens)
                for tokens in (lines.source, lines.target)
            )
