"""Redundancy beyond stutter, and dropped words.

Four kinds of redundancy, after Wang et al. 2024 (arXiv 2405.02673), {continuous, discontinuous} x
{repetition, synonym}: a word or a related word occurs again, at once or later in the sentence.
Their thresholds are not in the text at hand; ours are:

- Units are the words of `padir.score.stutter`. Each is compared with the nearest earlier unit that
  equals it or is related to it; adjacent units without punctuation in between are continuous.
- Redundant are occurrences beyond those of the reference that has most of them, per kind and word
  (per lexeme for synonyms), as with stutter. Continuous repetition equals stutter
  where the units are words. In Chinese and Japanese they are characters: a repeated word of
  several is stutter, and here discontinuous repetition.
- Related words share a lexeme of the synthetic pair's lexicon: another register or inflection. On
  real text they share a stem: at least four initial letters, with at most three more in each. That
  finds "play" and "playing" but no true synonym, so the column says what it counted.

Dropped words (under-translation; Tu et al. 2016) are source lexemes that the output of the
synthetic pair has less often than the source. On real text the length ratio to the references
stands in. Where the units are words, removing repeats afterwards lowers continuous repetition only
and adds no dropped word.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from padir.score.significance import interval
from padir.score.stutter import PER, words

REDUNDANCY_KINDS = (
    "continuous_repetition",
    "discontinuous_repetition",
    "continuous_synonym",
    "discontinuous_synonym",
)
STEM, ENDING = 4, 3
Related = Callable[[str, str], Hashable | None]


@dataclass(frozen=True)
class Lexemes:
    """Lower-case words to lexemes, for each language of a pair.

    Words shared by lexemes are left out, as are second words of two-word forms.
    """

    source: Mapping[str, Hashable]
    target: Mapping[str, Hashable]

    def related(self, word: str, other: str) -> Hashable | None:
        """The lexeme that two target words share, or None."""
        lexeme = self.target.get(word)
        return lexeme if lexeme is not None and lexeme == self.target.get(other) else None


def common_stem(word: str, other: str) -> str | None:
    """The common stem of two words that differ in their endings, or None."""
    pairs = zip(word, other, strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if common < STEM or max(len(word), len(other)) - common > ENDING:
        return None
    return word[:STEM]


def redundant_units(units: Sequence[str | None], related: Related) -> Counter[tuple[str, Hashable]]:
    """Count each kind of redundancy per word or lexeme.

    Args:
        units: words of a sentence; None separates neighbours.
        related: what two different words have in common, or None.
    """
    events: Counter[tuple[str, Hashable]] = Counter()
    for index, unit in enumerate(units):
        if unit is None:
            continue
        for earlier in range(index - 1, -1, -1):
            other = units[earlier]
            if other is None:
                continue
            common = unit if other == unit else related(unit, other)
            if common is not None:
                near = "continuous" if earlier == index - 1 else "discontinuous"
                kind = "repetition" if other == unit else "synonym"
                events[f"{near}_{kind}", common] += 1
                break
    return events


@dataclass(frozen=True)
class RedundancyCounts:
    """Per-sentence counts, float64: `events` [sentences, kinds], `units` [sentences]."""

    events: np.ndarray
    units: np.ndarray


def redundancy_counts(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    language: str,
    lexemes: Lexemes | None = None,
) -> RedundancyCounts:
    """Redundancy of each kind beyond the references' own.

    Args:
        hypotheses: one sentence each.
        references: one list per reference, each as long as `hypotheses`.
        language: code of the target language.
        lexemes: lexicon of the synthetic pair; None: compare stems.
    """
    related = common_stem if lexemes is None else lexemes.related
    events = np.zeros((len(hypotheses), len(REDUNDANCY_KINDS)))
    sizes = np.zeros(len(hypotheses))
    for row, (hypothesis, *answers) in enumerate(zip(hypotheses, *references, strict=True)):
        units = words(hypothesis, language)
        if redundant := redundant_units(units, related):
            allowed: Counter[tuple[str, Hashable]] = Counter()
            for answer in answers:
                allowed |= redundant_units(words(answer, language), related)
            for (kind, _), count in (redundant - allowed).items():
                events[row, REDUNDANCY_KINDS.index(kind)] += count
        sizes[row] = sum(unit is not None for unit in units)
    return RedundancyCounts(events, sizes)


@dataclass(frozen=True)
class DroppedCounts:
    """Per-sentence counts, float64 [sentences]: lexemes dropped, and those of the source."""

    dropped: np.ndarray
    expected: np.ndarray

    def replicates(self, resamples: np.ndarray) -> np.ndarray:
        """Dropped per 100 lexemes of the source on each resample."""
        return PER * (resamples @ self.dropped) / np.maximum(resamples @ self.expected, 1.0)


def dropped_counts(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    language: str,
    lexemes: Lexemes,
) -> DroppedCounts:
    """Count lexemes that the output has less often than its source; `language` says how both are
    split into words."""
    table = np.zeros((len(sources), 2))
    for row, source, hypothesis in zip(table, sources, hypotheses, strict=True):
        expected = _lexemes(source, language, lexemes.source)
        translated = _lexemes(hypothesis, language, lexemes.target)
        row[:] = (expected - translated).total(), expected.total()
    return DroppedCounts(*table.T)


def _lexemes(line: str, language: str, known: Mapping[str, Hashable]) -> Counter[Hashable]:
    units = (unit for unit in words(line, language) if unit is not None)
    return Counter(known[unit] for unit in units if unit in known)


def summary(counts: RedundancyCounts, resamples: np.ndarray) -> dict[str, Any]:
    """Rates per 100 words of each kind with 95% bootstrap intervals over sentences."""
    sizes = np.maximum(resamples @ counts.units, 1.0)
    result = {}
    for column, kind in enumerate(REDUNDANCY_KINDS):
        events = counts.events[:, column]
        low, high = interval(PER * (resamples @ events) / sizes)
        rate = PER * events.sum() / max(float(counts.units.sum()), 1.0)
        result[kind] = {"per_100": float(rate), "low": low, "high": high}
    return result


def length_ratio(counts: RedundancyCounts, reference_units: np.ndarray, references: int) -> float:
    """Words of the output per word of a reference, averaged over the references."""
    return float(counts.units.sum() / max(float(reference_units.sum()) / references, 1.0))
