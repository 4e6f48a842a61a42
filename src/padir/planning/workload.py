"""Total operations and disk space of an experiment besides training: decoding, scoring, storage.

A part without a size (text that is not there, and that no setting states) counts nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from padir.config.data import TfdsSource
from padir.config.decoder import RefinementDecoder
from padir.config.evaluation import BleurtScorer
from padir.config.experiment import Config
from padir.config.identity import extra_language
from padir.config.rows import Decoding, Row
from padir.data.size import Corpus
from padir.data.text import SPLITS
from padir.planning import cost

Sizes = dict[tuple[str, str], cost.Size]


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
    trainings: Sequence[str],
    rated: Sequence[Row],
    sizes: Sizes,
    corpora: Sequence[Corpus],
) -> Workload:
    """Add up what some rows of an experiment need.

    Args:
        rows: those that are decoded.
        trainings: those that are made: of these rows, what they build on, and others.
        rated: those that further scorers judge.
        sizes: see `sizes_of`.
        corpora: the datasets' text.
    """
    distillation = decoding = rating = 0.0
    scored = 0
    disk = Disk()
    for corpus in corpora:
        for direction in corpus.settings.directions:
            work = _Work(config, sizes, rows, trainings, corpus, direction, disk)
            distillation += work.distillation()
            decoding += work.tunings()
            for row in rows:
                flops, sentences = work.decodings(row)
                decoding += flops
                scored += sentences
            rating += sum(map(work.ratings, rated))
        _Work(config, sizes, rows, trainings, corpus, corpus.settings.directions[0], disk).text()
    for (dataset, name), size in sizes.items():
        run = config.trainings[name]
        if name not in trainings:
            continue
        trained = len(run.seeds) * len(config.datasets[dataset].directions)
        disk.bundles += trained * cost.bundle_bytes(size.parameters)
        disk.checkpoints += trained * cost.checkpoint_bytes(run, size.parameters)
    return Workload(distillation, decoding, rating, scored, disk)


@dataclass(frozen=True)
class _Work:
    """What rows and the trainings behind them need on one dataset in one direction. Methods return
    operations; bytes are added to `disk`."""

    config: Config
    sizes: Sizes
    rows: Sequence[Row]
    trainings: Sequence[str]
    corpus: Corpus
    direction: str
    disk: Disk

    def lines(self, split: str, vocabulary: str | None) -> _Lines | None:
        source, target = self.direction.split("-")
        side = self.corpus.side(split, target)
        tokens = [self.corpus.tokens(split, code, vocabulary) for code in (source, target)]
        if side is None or not side.lines or tokens[0] is None or tokens[1] is None:
            return None
        return _Lines(side.lines, tokens[0], tokens[1], side.size / side.lines)

    def extra_lines(self, teacher: str, vocabulary: str | None) -> _Lines | None:
        """The extra sources that a teacher translates, their targets by the lengths of the training
        text's; None where there are none or their size is unknown."""
        language = extra_language(self.config, self.corpus.name, self.direction, teacher)
        train = self.lines("train", vocabulary)
        if language is None or train is None:
            return None
        side = self.corpus.side("extra", language)
        tokens = self.corpus.tokens("extra", language, vocabulary)
        if side is None or tokens is None:
            return None
        ratio = tokens / train.source
        return _Lines(side.lines, tokens, ratio * train.target, ratio * train.target_bytes)

    def distillation(self) -> float:
        used = {self.config.trainings[name].targets for name in self.trainings}
        flops = 0.0
        for name in self.config.teachers:
            if name not in used:
                continue
            row = self.config.teacher_row(name)
            vocabulary = None if row is None else self.config.trainings[row.training].vocabulary
            taught = [self.lines(split, vocabulary) for split in ("train", "valid")]
            extra = self.extra_lines(name, vocabulary)
            if extra is not None:
                # The training sources stand a second time beside the targets, with these behind
                # them.
                source = self.direction.split("-")[0]
                sides = [self.corpus.side(split, source) for split in ("train", "extra")]
                self.disk.distilled += sum(side.size for side in sides if side)
            for lines in (*taught, extra):
                if lines is None:
                    continue
                self.disk.distilled += lines.count * lines.target_bytes
                if row is not None:
                    flops += lines.count * self.sentence(row, lines)
        return flops

    def sentence(self, row: Row, lines: _Lines) -> float:
        """Decoding one sentence, reranking included."""
        decoder = self.config.decoders[row.decoding.decoder]
        dataset, lengths = self.corpus.name, (lines.source, lines.target)
        size = self.sizes[dataset, row.training]
        flops = cost.decoding_flops(decoder, row.decoding.passes, size, *lengths)
        if isinstance(decoder, RefinementDecoder) and decoder.reranker is not None:
            candidates = decoder.length_candidates * decoder.restarts
            reranker = self.sizes[dataset, decoder.reranker]
            flops += cost.reranking_flops(reranker, candidates, *lengths)
        return flops

    def tunings(self) -> float:
        """Choosing the length rules of all decoders of the rows and of their teachers."""
        config = self.config
        # How many seeds of a training each decoder is tuned for; a teacher has one.
        teachers = (config.teacher_row(config.trainings[name].targets) for name in self.trainings)
        seeds = {(row.training, row.decoding.decoder): 1 for row in teachers if row}
        for row in self.rows:
            seeds[row.training, row.decoding.decoder] = len(config.trainings[row.training].seeds)
        flops = 0.0
        for (training, name), count in seeds.items():
            decoder = config.decoders[name]
            lines = self.lines("valid", config.trainings[training].vocabulary)
            if lines is not None:
                row = Row(training, Decoding(name, decoder.tuning_passes))
                flops += count * decoder.tuning_decodings * lines.count * self.sentence(row, lines)
        return flops

    def decodings(self, row: Row) -> tuple[float, int]:
        """Decoding a row with all seeds, and the number of sentences."""
        run = self.config.trainings[row.training]
        lines = self.lines(self.config.evaluation.split, run.vocabulary)
        if lines is None:
            return 0.0, 0
        sentences = len(run.seeds) * lines.count
        vocabulary = self.corpus.settings.vocabulary_named(run.vocabulary).size
        record = cost.decoded_bytes(vocabulary, lines.target_bytes, lines.target - 1)
        self.disk.decodings += sentences * record
        return sentences * self.sentence(row, lines), sentences

    def ratings(self, row: Row) -> float:
        run = self.config.trainings[row.training]
        lines = self.lines(self.config.evaluation.split, run.vocabulary)
        if lines is None:
            return 0.0
        flops = 0.0
        for scorer in self.config.evaluation.scorers.values():
            if isinstance(scorer, BleurtScorer):
                parameters = cost.bleurt_parameters(Path(scorer.checkpoint))
                flops += cost.rating_flops(parameters, lines.target, lines.target)
        return flops * lines.count * len(run.seeds)

    def text(self) -> None:
        """Add the text, its copy in TFDS's format, and temporary files."""
        settings, extra = self.corpus.settings, self.corpus.settings.extra_sources
        splits = [(split, language) for split in SPLITS for language in settings.pair.split("-")]
        splits += [("extra", code) for code in (extra.files if extra else ())]
        sides = [self.corpus.side(split, language) for split, language in splits]
        text = sum(side.size for side in sides if side)
        self.disk.text += text
        if isinstance(settings.source, TfdsSource):
            self.disk.copies += text
        ids = max(map(self.encoded, self.trainings), default=0)
        self.disk.meanwhile = max(self.disk.meanwhile, text, ids)

    def encoded(self, training: str) -> int:
        """Bytes of the ids of a training's text."""
        run = self.config.trainings[training]
        train = self.lines("train", run.vocabulary)
        extra = self.extra_lines(run.targets, run.vocabulary)
        pieces = self.corpus.settings.vocabulary_named(run.vocabulary).size
        return sum(
            cost.encoded_bytes(pieces, lines.count, tokens)
            for lines in (train, extra)
            if lines is not None
            for tokens in (lines.source, lines.target)
        )
