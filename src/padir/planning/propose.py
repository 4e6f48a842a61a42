"""Proposes settings for a text and a machine: size, steps, vocabulary, lengths."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from padir.config.data import VocabularySettings
from padir.config.decoder import RefinementDecoder, SearchDecoder
from padir.config.presets import SIZES, size_defaults
from padir.config.training import TrainingRun
from padir.files import InputError
from padir.planning import cost
from padir.planning.machine import Machine
from padir.planning.memory import about_parameters, device_memory
from padir.planning.text import Counts, held_out
from padir.vocab import Vocabulary, train_vocabulary

# Pairs below which a larger model only learns them by heart.
LEAST_PAIRS = {"tiny": 0, "small": 10_000, "base": 100_000, "paper": 1_000_000}
FEWEST_STEPS = 300
# Share of the pairs that each bucket holds.
BUCKET_SHARES = (0.2, 0.4, 0.6, 0.8, 0.93, 0.995)
LONGEST_BUCKET = 256
# Besides training and decoding: start of the processes, vocabulary, compilation, validation.
OTHER_SECONDS = 190.0
# Decoding, compiled for few sentences, reaches this share of the rate of training.
DECODING_SHARE = 0.3
# Pieces: so many times the square root of the words of both sides, as 6,000 for Multi30k.
PIECES_PER_ROOT, MOST_PIECES = 8, 32_000
TRIAL_PAIRS = 20_000
_ALLOWED_SIZE = re.compile(r"(?:at most|at least) (\d+)")


@dataclass(frozen=True)
class Proposal:
    """Settings that `padir init` writes.

    Attributes:
        size: name of the preset.
        steps, warmup: of each training.
        vocabulary: pieces.
        buckets: padded lengths.
        positions: longest sentence, in tokens.
        tokens: mean tokens of a line of both sides.
        minutes: until PaDIR translates, all directions: both models trained, the text translated by
            the teacher, and length rules chosen.
        memory: bytes of one training.
    """

    size: str
    steps: int
    warmup: int
    vocabulary: int
    buckets: list[int]
    positions: int
    tokens: tuple[float, float]
    minutes: float
    memory: int


def propose(
    counts: Counts,
    machine: Machine,
    directions: int = 1,
    minutes: float | None = None,
    size: str | None = None,
) -> Proposal:
    """Propose settings for an AR teacher and a PaDIR model that learns from it.

    Args:
        counts: of the training text.
        machine: that trains.
        directions: number of directions, trained side by side as far as there are cores.
        minutes: until PaDIR may translate; None: as long as a size that was named takes.
        size: name of a preset; None: the largest that fits text, machine and time.

    Raises:
        InputError: the size does not fit the machine's memory; most pairs are too long.
    """
    vocabulary, lengths = _vocabulary_and_lengths(counts)
    longest = sorted(max(pair) for pair in lengths)
    buckets = _buckets(longest)
    left_out = sum(length > buckets[-1] for length in longest) / len(longest)
    if left_out > 0.5:
        raise InputError(
            f"{100 * left_out:.0f}% of the pairs have more than {buckets[-1]} tokens, the longest"
            " that padir init proposes: split the lines into sentences, or write training.buckets"
            " and architecture.max_positions into a config of your own (config/README.md)"
        )
    # Room for sentences longer than those of the text, which AR can translate.
    positions = max(32, -(-3 * buckets[-1] // 2 // 16) * 16)
    tokens = tuple(sum(side) / len(lengths) for side in zip(*lengths, strict=True))
    names = [size] if size else [name for name in reversed(SIZES) if name != "paper"]
    fitting: list[Proposal] = []
    least = 0.0
    for name in names:
        proposal = _sized(
            name, counts.pairs, machine, directions, minutes, vocabulary, buckets, positions, tokens
        )
        if proposal.memory > machine.memory * 0.8:
            if size:
                raise InputError(
                    f"size {size}: a training takes {proposal.memory / 1e9:.1f} GB of memory, this"
                    f" machine has {machine.memory / 1e9:.1f}: take a smaller size, or lower"
                    " training.batch_tokens"
                )
            least = proposal.memory
            continue
        fitting.append(proposal)
        whole = SIZES[name].training.get("training", {}).get("steps", 1)
        if counts.pairs >= LEAST_PAIRS[name] and 2 * proposal.steps >= whole:
            return proposal
    if not fitting:
        raise InputError(
            f"no size fits: the smallest training takes {least / 1e9:.2f} GB of memory, this"
            f" machine has {machine.memory / 1e9:.2f}; train on a machine with more"
        )
    return fitting[-1]


def _sized(
    name: str,
    pairs: int,
    machine: Machine,
    directions: int,
    minutes: float | None,
    vocabulary: int,
    buckets: list[int],
    positions: int,
    tokens: Any,
) -> Proposal:
    """The proposal of one size preset, with as many of its steps as the time allows."""
    runs = [_run(name, system, buckets, positions) for system in ("ar", "padir")]
    sizes = [about_parameters(run, vocabulary) for run in runs]
    flops = sum(
        cost.training_flops(run, parameters) / run.training.steps
        for run, parameters in zip(runs, sizes, strict=True)
    )
    beam, refinement = SearchDecoder(kind="beam"), RefinementDecoder()
    decoded = pairs * cost.decoding_flops(beam, None, sizes[0], *tokens)
    for decoder, parameters in zip((beam, refinement), sizes, strict=True):
        sentence = cost.decoding_flops(decoder, decoder.tuning_passes, parameters, *tokens)
        decoded += decoder.tuning_decodings * held_out(pairs) * sentence
    step = flops / machine.gflops / 1e9
    other = OTHER_SECONDS + decoded / machine.gflops / 1e9 / DECODING_SHARE
    rounds = -(-directions // (machine.accelerators or machine.cores))
    steps = runs[0].training.steps
    if minutes is not None:
        affordable = int((minutes * 60 / rounds - other) / step)
        steps = min(steps, max(FEWEST_STEPS, affordable // 100 * 100))
    warmup = min(runs[0].optimizer.warmup_steps, steps // 10)
    taken = rounds * (other + steps * step) / 60
    memory = max(
        device_memory(run, parameters.parameters, parameters.table, machine.accelerators or 1).total
        for run, parameters in zip(runs, sizes, strict=True)
    )
    return Proposal(
        name, steps, warmup, vocabulary, buckets, positions, (tokens[0], tokens[1]), taken, memory
    )


def _run(name: str, system: str, buckets: list[int], positions: int) -> TrainingRun:
    settings = size_defaults(name)
    settings.setdefault("architecture", {}).update(
        max_positions=positions, length_classes=positions
    )
    settings.setdefault("training", {}).update(buckets=buckets)
    return TrainingRun.model_validate({"system": system, **settings})


def _buckets(longest: Sequence[int]) -> list[int]:
    """Even lengths that hold growing shares of the pairs; `longest` rises."""
    at = [longest[min(int(share * len(longest)), len(longest) - 1)] for share in BUCKET_SHARES]
    return sorted({min(LONGEST_BUCKET, max(4, length + length % 2)) for length in at})


def learn_vocabulary(lines: Sequence[str], size: int, whole: bool = True) -> tuple[int, Vocabulary]:
    """A vocabulary of the size nearest to the one asked for that the text can fill.

    Args:
        lines: text of both languages.
        size: pieces asked for.
        whole: whether the lines are the whole text; a part of it may fill fewer.

    Returns:
        the size to ask for, and the vocabulary learnt from these lines.

    Raises:
        InputError: no size fits.
    """
    tried = size
    while True:
        try:
            vocabulary = trial_vocabulary(lines, VocabularySettings(size=tried))
            break
        except InputError as error:
            allowed = _ALLOWED_SIZE.search(str(error))
            # Each bound is tried once, with a margin for what validation and test sets take.
            if allowed is None or tried != size:
                raise
            limit = int(allowed[1])
            tried = _rounded(limit * (0.9 if limit < size else 1.5))
    fewer = tried < size and not whole
    return size if fewer else tried, vocabulary


def trial_vocabulary(lines: Sequence[str], settings: VocabularySettings) -> Vocabulary:
    """A vocabulary of these settings that is not kept. Raises InputError as learning one does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "spm.model")
        train_vocabulary(lines, settings, path)
        return Vocabulary.load(path)


def token_lengths(
    vocabulary: Vocabulary, pairs: Sequence[tuple[str, str]]
) -> list[tuple[int, int]]:
    """Tokens of both sides of each pair, EOS included."""
    lengths = [len(ids) + 1 for ids in vocabulary.encode([line for pair in pairs for line in pair])]
    return list(zip(lengths[::2], lengths[1::2], strict=True))


def _vocabulary_and_lengths(counts: Counts) -> tuple[int, list[tuple[int, int]]]:
    """Pieces for the text, and the tokens of both sides of sampled pairs, EOS included."""
    pairs = counts.sample[:TRIAL_PAIRS]
    lines = [line for pair in pairs for line in pair]
    asked = min(MOST_PIECES, _rounded(PIECES_PER_ROOT * counts.words**0.5))
    size, vocabulary = learn_vocabulary(lines, asked, whole=len(pairs) == counts.pairs)
    return size, token_lengths(vocabulary, pairs)


def _rounded(size: float) -> int:
    step = 500 if size >= 2_000 else 50 if size >= 100 else 1
    return max(16, int(size) // step * step)
