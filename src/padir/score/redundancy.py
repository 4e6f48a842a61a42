"""Said twice, or not at all: repeats beyond stutter, and words that were dropped.

Four kinds of redundancy, after Wang et al. 2024 (arXiv 2405.02673), {continuous, discontinuous} x
{repetition, synonym}: a word is said again, or said again in another way, right after the first
time or later in the sentence. Their thresholds are not in the text at hand; ours, exactly:

- Units are the words of `padir.score.stutter`. Each is set against the nearest earlier one that is
  equal to it or related to it: next to it, without punctuation in between, is continuous.
- Redundant is what the reference that has most of it does not have, for each kind and word (for
  synonyms, for each lexeme), as with stutter. Continuous repetition is stutter's own number.
- Related. On the synthetic pair the lexicon knows: words of one lexeme, the other register's or
  another inflection. On real text endings stand in: two words of one stem, that is with at least
  four letters in common at the start and at most three after them in each. That finds "play" and
  "playing" but no true synonym, so the column says what it counted.

Dropped words (under-translation; Tu et al. 2016): on the synthetic pair, lexemes of the source that
the output says less often than the source does. On real text nobody knows: the length ratio to the
references stands in. Removing repeats after the fact lowers the first kind only and adds no word
that was dropped: the scores before and after it say so.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from padir.score.significance import interval
from padir.score.stutter import PER, words

KINDS = (
    "continuous_repetition",
    "discontinuous_repetition",
    "continuous_synonym",
    "discontinuous_synonym",
)
STEM, ENDING = 4, 3
Related = Callable[[str, str], Hashable | None]


@dataclass(frozen=True)
class Lexemes:
    """Which words of a pair mean the same: word, in small letters, to lexeme, for each language.

    Words that several lexemes share are left out; of a form of two words only the first is there.
    """

    source: Mapping[str, Hashable]
    target: Mapping[str, Hashable]

    def related(self, one: str, other: str) -> Hashable | None:
        """The lexeme of two target words, None where they have none in common."""
        lexeme = self.target.get(one)
        return lexeme if lexeme is not None and lexeme == self.target.get(other) else None


def endings(one: str, other: str) -> str | None:
    """The common stem of two words that differ in their endings; None where they have none."""
    common = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common += 1
    if common < STEM or max(len(one), len(other)) - common > ENDING:
        return None
    return one[:STEM]


def found(units: Sequence[str | None], related: Related) -> Counter[tuple[str, Hashable]]:
    """How often each kind of redundancy occurs with each word or lexeme.

    Args:
        units: words of a sentence; None breaks the neighbourhood.
        related: what two different words have in common, None where nothing.
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
        lexemes: what words mean, where it is known.
    """
    related = endings if lexemes is None else lexemes.related
    events = np.zeros((len(hypotheses), len(KINDS)))
    sizes = np.zeros(len(hypotheses))
    for row, (hypothesis, *answers) in enumerate(zip(hypotheses, *references, strict=True)):
        units = words(hypothesis, language)
        own = found(units, related)
        if own:
            allowed: Counter[tuple[str, Hashable]] = Counter()
            for answer in answers:
                allowed |= found(words(answer, language), related)
            for (kind, _), count in (own - allowed).items():
                events[row, KINDS.index(kind)] += count
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
    source_language: str,
    language: str,
    lexemes: Lexemes,
) -> DroppedCounts:
    """Lexemes that the output says less often than its source."""
    table = np.zeros((len(sources), 2))
    for row, source, hypothesis in zip(table, sources, hypotheses, strict=True):
        expected = _lexemes(source, source_language, lexemes.source)
        said = _lexemes(hypothesis, language, lexemes.target)
        row[:] = (expected - said).total(), expected.total()
    return DroppedCounts(*table.T)


def _lexemes(line: str, language: str, known: Mapping[str, Hashable]) -> Counter[Hashable]:
    units = (unit for unit in words(line, language) if unit is not None)
    return Counter(known[unit] for unit in units if unit in known)


def summary(counts: RedundancyCounts, resamples: np.ndarray) -> dict[str, Any]:
    """Rates per 100 words of each kind with 95% bootstrap intervals over sentences."""
    sizes = np.maximum(resamples @ counts.units, 1.0)
    result = {}
    for column, kind in enumerate(KINDS):
        events = counts.events[:, column]
        low, high = interval(PER * (resamples @ events) / sizes)
        rate = PER * events.sum() / max(float(counts.units.sum()), 1.0)
        result[kind] = {"per_100": float(rate), "low": low, "high": high}
    return result


def length_ratio(counts: RedundancyCounts, reference_units: np.ndarray, references: int) -> float:
    """Words of the output for each word of a reference, on average over the references."""
    return float(counts.units.sum() / max(float(reference_units.sum()) / references, 1.0))
