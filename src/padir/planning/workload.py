"""Total operations and disk space of an experiment besides training: decoding, scoring, storage.

A part without a size (text that is not there, and that no setting states) counts nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from padir.config.data import TfdsSource
from padir.config.decoder import RefinementDecoder
from padir.config.evaluation import BleurtScorer
from padir.config.experiment import Config
from padir.config.identity import extra_language
from padir.config.rows import Decoding, Row
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
    """Operations and disk space besides training.

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
    """Parameters of each training's model, by dataset and name."""
    known: dict[tuple[str, int], cost.Size] = {}
    sizes: Sizes = {}
    for dataset, settings in config.datasets.items():
        for training, run in config.trainings.items():
            key = training, settings.vocabulary_named(run.vocabulary).size
            if key not in known:
                known[key] = cost.parameter_counts(run, key[1])
            sizes[dataset, training] = known[key]
    return sizes


def workload(
    config: Config,
    rows: Sequence[Row],
    rated: Sequence[Row],
    sizes: Sizes,
    corpora: Sequence[Corpus],
) -> Workload:
    """Add up what some rows of an experiment need.

    Args:
        rows: those that are decoded; their trainings, and those they build on, are made.
        rated: those that further scorers judge.
        sizes: see `sizes_of`.
        corpora: the datasets' text.
    """
    distillation = decoding = rating = 0.0
    scored = 0
    trainings = config.trainings_behind(rows)
    disk = Disk()
    for corpus in corpora:
        for direction in corpus.settings.directions:
            distillation += _distillation(config, trainings, sizes, corpus, direction, disk)
            decoding += _tunings(config, trainings, rows, sizes, corpus, direction)
            for row in rows:
                flops, sentences = _decodings(config, row, sizes, corpus, direction, disk)
                decoding += flops
                scored += sentences
            rating += sum(_ratings(config, row, corpus, direction) for row in rated)
        _add_text(config, trainings, corpus, disk)
    for (dataset, name), size in sizes.items():
        run = config.trainings[name]
        if name not in trainings:
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


def _extra_lines(
    config: Config, corpus: Corpus, direction: str, teacher: str, vocabulary: str | None
) -> _Lines | None:
    """The extra sources that a teacher translates, their targets by the lengths of the training
    text's; None where there are none or their size is unknown."""
    language = extra_language(config, corpus.name, direction, teacher)
    train = _lines(corpus, direction, "train", vocabulary)
    if language is None or train is None:
        return None
    side, tokens = corpus.side("extra", language), corpus.tokens("extra", language, vocabulary)
    if side is None or tokens is None:
        return None
    ratio = tokens / train.source
    return _Lines(side.lines, tokens, ratio * train.target, ratio * train.target_bytes)


def _distillation(
    config: Config,
    trainings: Sequence[str],
    sizes: Sizes,
    corpus: Corpus,
    direction: str,
    disk: Disk,
) -> float:
    used = {config.trainings[name].targets for name in trainings}
    flops = 0.0
    for name in config.teachers:
        if name not in used:
            continue
        row = config.teacher_row(name)
        run = None if row is None else config.trainings[row.training]
        vocabulary = run.vocabulary if run else None
        taught = [_lines(corpus, direction, split, vocabulary) for split in ("train", "valid")]
        extra = _extra_lines(config, corpus, direction, name, vocabulary)
        if extra is not None:
            # The training sources stand a second time beside the targets, with these behind them.
            source = direction.split("-")[0]
            sides = [corpus.side(split, source) for split in ("train", "extra")]
            disk.distilled += sum(side.size for side in sides if side)
        for lines in (*taught, extra):
            if lines is None:
                continue
            disk.distilled += lines.count * lines.target_bytes
            if row is not None:
                flops += lines.count * _sentence(config, row, sizes, corpus, lines)
    return flops


def _sentence(config: Config, row: Row, sizes: Sizes, corpus: Corpus, lines: _Lines) -> float:
    """Operations of decoding one sentence, reranking included."""
    decoder, lengths = config.decoders[row.decoding.decoder], (lines.source, lines.target)
    size = sizes[corpus.name, row.training]
    flops = cost.decoding_flops(decoder, row.decoding.passes, size, *lengths)
    if isinstance(decoder, RefinementDecoder) and decoder.reranker is not None:
        candidates = decoder.length_candidates * decoder.restarts
        flops += cost.reranking_flops(sizes[corpus.name, decoder.reranker], candidates, *lengths)
    return flops


def _tunings(
    config: Config,
    trainings: Sequence[str],
    rows: Sequence[Row],
    sizes: Sizes,
    corpus: Corpus,
    direction: str,
) -> float:
    """Operations of choosing the length rules of all decoders of the rows and of their teachers."""
    # How many seeds of a training each decoder is tuned for; a teacher has one.
    teachers = (config.teacher_row(config.trainings[name].targets) for name in trainings)
    seeds = {(row.training, row.decoding.decoder): 1 for row in teachers if row}
    for row in rows:
        seeds[row.training, row.decoding.decoder] = len(config.trainings[row.training].seeds)
    flops = 0.0
    for (training, name), count in seeds.items():
        passes, times = cost.tuning_decodings(config.decoders[name])
        lines = _lines(corpus, direction, "valid", config.trainings[training].vocabulary)
        if lines is not None:
            row = Row(training, Decoding(name, passes))
            each = _sentence(config, row, sizes, corpus, lines)
            flops += count * times * lines.count * each
    return flops


def _decodings(
    config: Config, row: Row, sizes: Sizes, corpus: Corpus, direction: str, disk: Disk
) -> tuple[float, int]:
    """Operations of decoding a row with all seeds, and the number of sentences."""
    run = config.trainings[row.training]
    lines = _lines(corpus, direction, config.evaluation.split, run.vocabulary)
    if lines is None:
        return 0.0, 0
    sentences = len(run.seeds) * lines.count
    vocabulary = corpus.settings.vocabulary_named(run.vocabulary).size
    record = cost.decoded_bytes(vocabulary, lines.target_bytes, lines.target - 1)
    disk.decodings += sentences * record
    return sentences * _sentence(config, row, sizes, corpus, lines), sentences


def _ratings(config: Config, row: Row, corpus: Corpus, direction: str) -> float:
    run = config.trainings[row.training]
    lines = _lines(corpus, direction, config.evaluation.split, run.vocabulary)
    if lines is None:
        return 0.0
    flops = 0.0
    for scorer in config.evaluation.scorers.values():
        if isinstance(scorer, BleurtScorer):
            parameters = cost.bleurt_parameters(Path(scorer.checkpoint))
            flops += cost.rating_flops(parameters, lines.target, lines.target)
    return flops * lines.count * len(run.seeds)


def _add_text(config: Config, trainings: Sequence[str], corpus: Corpus, disk: Disk) -> None:
    """Add the text, its copy in TFDS's format, and temporary files."""
    pair = corpus.settings.pair.split("-")
    splits = [(split, language) for split in SPLITS for language in pair]
    extra = corpus.settings.extra_sources
    splits += [("extra", language) for language in extra.files] if extra else []
    sides = [corpus.side(split, language) for split, language in splits]
    text = sum(side.size for side in sides if side)
    disk.text += text
    if isinstance(corpus.settings.source, TfdsSource):
        disk.copies += text
    ids = max(_encoded(config, trainings, corpus), default=0)
    disk.meanwhile = max(disk.meanwhile, text, ids)


def _encoded(config: Config, trainings: Sequence[str], corpus: Corpus) -> Iterator[int]:
    for name in trainings:
        vocabulary = config.trainings[name].vocabulary
        direction, targets = corpus.settings.directions[0], config.trainings[name].targets
        train = _lines(corpus, direction, "train", vocabulary)
        extra = _extra_lines(config, corpus, direction, targets, vocabulary)
        if train is not None:
            pieces = corpus.settings.vocabulary_named(vocabulary).size
            yield sum(
                cost.encoded_bytes(pieces, lines.count, tokens)
                for lines in (train, extra)
                if lines is not None
                for tokens in (lines.source, lines.target)
            )
