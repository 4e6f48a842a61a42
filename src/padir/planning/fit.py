"""Checks before a run whether a config fits its text and this machine.

Only text that is there is looked at. Text that can fill its vocabulary many times over is only
sampled: its words are the least tokens that it can have.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from padir.config.data import Cleaning, Dataset, FilesSource, VocabularySettings
from padir.config.experiment import Config
from padir.config.training import TrainingRun
from padir.data.batches import WARNED_SHARE
from padir.data.kept import KeptText
from padir.data.statistics import line_length
from padir.files import InputError, reading, shown
from padir.languages import needs_tokenizer
from padir.planning import cost
from padir.planning.machine import CPU_GFLOPS, has_accelerator, machine_memory
from padir.planning.memory import about_parameters, device_memory
from padir.planning.propose import token_lengths, trial_vocabulary

# Text of so many bytes a piece fills any vocabulary: sentences of the synthetic pair and captions
# need 30 to 60.
BYTES_PER_PIECE = 100
READ_PAIRS = 50_000
LONG_HOURS = 100.0
REFUSED_SHARE = 0.5


class Lengths(NamedTuple):
    """Lengths of the longer side of each pair, EOS included.

    Attributes:
        values: one per pair.
        unit: in which they are counted.
        first: pairs that were read, where the text has more; 0 where all were.
    """

    values: list[int]
    unit: str = "tokens"
    first: int = 0


def check(config: Config, this_machine: bool = True) -> Iterator[str]:
    """Yield a warning for each setting that does not fit.

    Args:
        this_machine: whether it is to train, so that its memory and speed count.

    Raises:
        InputError: text that is empty, or that cleaning drops; a vocabulary that the text cannot
            fill, buckets that leave most pairs out, or a target language whose BLEU needs a package
            that is not installed.
    """
    for name, dataset in config.datasets.items():
        check_tokenizers(f"config: datasets.{name}.directions", dataset.directions)
        yield from _check_text(config, name, dataset)
    if this_machine and not has_accelerator():
        yield from _check_machine(config, machine_memory())


def check_tokenizers(where: str, directions: Sequence[str]) -> None:
    """Check that BLEU of each target language has its tokenizer.

    Raises:
        InputError: one needs a package that is not installed; `where` the direction is given.
    """
    for direction in directions:
        target = direction.split("-")[1]
        if needs_tokenizer(target):
            # Only here, as other languages need no sacreBLEU before scoring.
            from padir.score.bleu import bleu_metric

            try:
                bleu_metric(target)
            except InputError as error:
                raise InputError(f"{where}: {error}") from error


def _check_text(config: Config, name: str, dataset: Dataset) -> Iterator[str]:
    source = dataset.source
    if not isinstance(source, FilesSource):
        return
    items = source.train.files.items()
    paths = {code: Path(source.folder, item) for code, item in items if isinstance(item, str)}
    here = {code: p for code, p in paths.items() if p.is_file() and p.suffix != ".gz"}
    for code, path in here.items():
        if not path.stat().st_size:
            raise InputError(
                f"config: datasets.{name}.source.train.files.{code}: {shown(path)} is empty"
            )
    if len(here) < 2:
        return
    size = sum(path.stat().st_size for path in here.values())
    pairs: list[tuple[str, str]] = []
    words: Lengths | None = None
    for key in dict.fromkeys(run.vocabulary for run in config.trainings.values()):
        settings = dataset.vocabulary_named(key)
        foreign = settings.foreign_pairs or settings.extra_text
        if foreign or settings.kind == "word" or size > BYTES_PER_PIECE * settings.size:
            words = words or _word_counts(dataset.cleaning, here)
            for training, run in config.trainings.items():
                if run.vocabulary == key:
                    yield from _check_buckets(training, run, words)
            continue
        where = f"datasets.{name}." + (f"vocabularies.{key}" if key else "vocabulary")
        pairs = pairs or [(first, second) for first, second in KeptText.of(dataset.cleaning, here)]
        if not any(line.strip() for pair in pairs for line in pair):
            files = " and ".join(map(shown, here.values()))
            raise InputError(f"config: datasets.{name}: cleaning leaves no text of {files}")
        lengths = _lengths(where, settings, pairs)
        for training, run in config.trainings.items():
            if run.vocabulary == key:
                yield from _check_buckets(training, run, Lengths(lengths))


def _lengths(
    where: str, settings: VocabularySettings, pairs: Sequence[tuple[str, str]]
) -> list[int]:
    """Tokens of the longer side of each pair, EOS included, by a vocabulary of these settings.

    Raises:
        InputError: the text cannot fill it.
    """
    try:
        vocabulary = trial_vocabulary([line for pair in pairs for line in pair], settings)
    except InputError as error:
        message = str(error).removeprefix("vocabulary.")
        raise InputError(f"config: {where}.{message}") from error
    return list(map(max, token_lengths(vocabulary, pairs)))


def _word_counts(cleaning: Cleaning, paths: Mapping[str, Path]) -> Lengths:
    """Words and EOS: a side has at least so many tokens, whatever the vocabulary. Of the first
    `READ_PAIRS` pairs, without those that cleaning drops by their length."""
    lengths, read = [], 0
    with ExitStack() as stack:
        files = [stack.enter_context(reading(path)) for path in paths.values()]
        for pair in islice(zip(*files, strict=False), READ_PAIRS):
            read += 1
            # Only spaces end a piece of the vocabulary.
            words = [len(list(filter(None, line.rstrip().split(b" ")))) for line in pair]
            cleaned = [
                line_length(line.decode("utf-8", "replace"), language)
                for line, language in zip(pair, paths, strict=True)
            ]
            if cleaning.min_words <= min(cleaned) and max(cleaned) <= cleaning.max_words:
                lengths.append(max(words) + 1)
    return Lengths(lengths, "words and EOS", read if read == READ_PAIRS else 0)


def _check_buckets(training: str, run: TrainingRun, lengths: Lengths) -> Iterator[str]:
    """Warn of pairs that the buckets leave out. Raises InputError where most are left out, but of
    text of which the first pairs alone were read: they may be unlike the others."""
    last = run.training.buckets[-1]
    share = sum(length > last for length in lengths.values) / max(1, len(lengths.values))
    if share <= WARNED_SHARE:
        return
    holds = sorted(lengths.values)[-(-99 * len(lengths.values) // 100) - 1]
    which = f"first {lengths.first:,} pairs" if lengths.first else "pairs"
    message = (
        f"trainings.{training}.training.buckets ends at {last}: {100 * share:.0f}% of the {which}"
        f" have more {lengths.unit} and are left out; 99% have at most {holds}"
    )
    if not lengths.first and share > REFUSED_SHARE:
        raise InputError(f"config: {message}")
    yield message


def _check_machine(config: Config, memory: int) -> Iterator[str]:
    """Warn of memory and time that a machine without accelerators does not have."""
    flops = 0.0
    largest, needed = "", 0
    for dataset in config.datasets.values():
        for name, run in config.trainings.items():
            size = about_parameters(run, dataset.vocabulary_named(run.vocabulary).size)
            taken = device_memory(run, size.parameters, size.table, 1).total
            largest, needed = max((largest, needed), (name, taken), key=lambda pair: pair[1])
            trained = len(run.seeds) * len(dataset.directions)
            flops += trained * cost.training_flops(run, size)
    if needed > memory:
        yield (
            f"training {largest} takes about {needed / 1e9:.1f} GB of memory, this machine has"
            f" {memory / 1e9:.1f}: a smaller `size`, training.batch_tokens or training.accumulate"
            " lowers it"
        )
    hours = flops / (CPU_GFLOPS * 1e9) / 3600
    if hours > LONG_HOURS:
        yield (
            f"training takes about {hours:,.0f} hours of one CPU core, and this machine has no"
            " accelerator: `size: tiny` or `size: small` takes minutes or hours (padir init"
            " proposes one, padir plan counts)"
        )
