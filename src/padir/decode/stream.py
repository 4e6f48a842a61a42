"""Streaming translation: batches input lines as they arrive and reports each hypothesis."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from padir.decode.candidates import Candidate
from padir.decode.constrain import Constraints
from padir.decode.sources import SourceWarnings, shortened
from padir.decode.translate import Hypothesis, Translator
from padir.files import InputError

MOST_CHARACTERS = 100_000
"""Maximum line length; longer lines are truncated before encoding. No model reads as much."""


@dataclass(frozen=True)
class Alternative:
    """A candidate as text.

    Attributes:
        text: after the final drop of repeats.
        score: by the length rule; the greatest is the translation.
        length: tokens with EOS.
        passes: decoder passes that it took.
        log_probability, length_log_probability: see `Candidate`.
    """

    text: str
    score: float
    length: int
    passes: int
    log_probability: float
    length_log_probability: float

    def record(self) -> dict[str, Any]:
        """JSON record; numbers are rounded as in `Hypothesis.record`."""
        return {
            key: round(value, 3) if isinstance(value, float) else value
            for key, value in vars(self).items()
        }


@dataclass(frozen=True)
class Translation:
    """One input line and its translation.

    Attributes:
        number: of the line, from 0.
        source: the line.
        hypothesis: its translation.
        alternatives: distinct candidates, best first, where they were asked for.
    """

    number: int
    source: str
    hypothesis: Hypothesis
    alternatives: tuple[Alternative, ...] = ()

    def record(self) -> dict[str, Any]:
        """The JSON object of `padir translate --json` and of `padir serve`."""
        return {
            "id": self.number,
            "source": self.source,
            "translation": self.hypothesis.hypothesis,
            "passes": self.hypothesis.steps,
            "log_probability": round(self.hypothesis.log_probability, 3),
            "candidates": [each.record() for each in self.alternatives],
        }


def batch_arriving_lines(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    """Batch lines as they arrive: the first line alone, then up to `most` at a time.

    A slow input is answered line by line, a fast one in groups. Groups change no translation.

    Raises:
        BaseException: what reading raised, once all lines before it were yielded.
    """
    waiting: queue.Queue[str | BaseException | None] = queue.Queue(2 * most)

    def end(_: object, error: BaseException | None, __: object) -> bool:
        # Also after an error: the consumer blocks until it gets an end mark.
        waiting.put(error)
        return True

    def read() -> None:
        with ExitStack() as stack:
            stack.push(end)
            for line in lines:
                waiting.put(line)

    threading.Thread(target=read, daemon=True).start()
    limit, item = 1, waiting.get()
    while isinstance(item, str):
        group = [item]
        while len(group) < limit:
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                break
            if not isinstance(item, str):
                break
            group.append(item)
        yield group
        limit = most
        if isinstance(item, str):
            item = waiting.get()
    if item is not None:
        raise item


def translated(
    translator: Translator,
    groups: Iterable[Sequence[str]],
    warn: Callable[[str], None],
    constraints: Constraints | None = None,
    best: int = 0,
    whole: bool = False,
) -> Iterator[Translation]:
    """Translate lines batch by batch, in order, with exactly one translation per line.

    Args:
        translator: of the model and its decoder.
        groups: lines that are translated together.
        warn: called with a message about each line that is cut, and as in `SourceWarnings`.
        constraints: of the lines, one for each.
        best: most alternatives of a line.
        whole: whether there is one group, of all lines.

    Raises:
        InputError: more or fewer lines than constraints; a constraint on an empty line.
    """
    count = 0
    warnings = translator.source_warnings(warn, whole=whole)
    for lines in groups:
        known = lines[: len(constraints.lines) - count] if constraints else lines
        yield from _group(translator, known, count, warn, warnings, constraints, best)
        if constraints and len(known) < len(lines):
            raise InputError(
                f"line counts differ: the input has more than the {len(constraints.lines)} of"
                f" {constraints.name}"
            )
        count += len(lines)
    if constraints and count < len(constraints.lines):
        raise InputError(
            f"line counts differ: the input has {count}, {constraints.name} has"
            f" {len(constraints.lines)}"
        )


def _group(
    translator: Translator,
    lines: Sequence[str],
    first: int,
    warn: Callable[[str], None],
    warnings: SourceWarnings,
    constraints: Constraints | None,
    best: int,
) -> Iterator[Translation]:
    if not lines:
        return
    sources = translator.encode([line[:MOST_CHARACTERS] for line in lines])
    for message in shortened(sources, translator.longest_source, first + 1):
        warn(message)
    alternatives: list[tuple[Alternative, ...]] = [()] * len(lines)
    warnings.check(lines, sources, first + 1)
    if constraints is not None:
        hypotheses = constraints.translate(sources, first)
    else:
        candidates = translator.candidates(sources)
        hypotheses = translator.finish(sources, candidates)
        if best:
            alternatives = [
                ranked(translator, source, row, best)
                for source, row in zip(sources, candidates, strict=True)
            ]
    rows = zip(lines, hypotheses, alternatives, strict=True)
    for number, (line, hypothesis, best_of_line) in enumerate(rows, start=first):
        yield Translation(number, line, hypothesis, best_of_line)


def ranked(
    translator: Translator, source: Sequence[int], candidates: Sequence[Candidate], best: int
) -> tuple[Alternative, ...]:
    """The best candidates of one source with distinct texts, best first."""
    finished = translator.finish([source] * len(candidates), [[each] for each in candidates])
    alternatives = [
        Alternative(
            hypothesis.hypothesis,
            translator.rule.score(candidate),
            candidate.length,
            candidate.passes,
            candidate.log_probability,
            candidate.length_log_probability,
        )
        for candidate, hypothesis in zip(candidates, finished, strict=True)
    ]
    texts: dict[str, Alternative] = {}
    for alternative in sorted(alternatives, key=lambda each: each.score, reverse=True):
        texts.setdefault(alternative.text, alternative)
    return tuple(texts.values())[:best]
