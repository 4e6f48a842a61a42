"""Stutter: adjacent repeated words of the output, beyond those of the references.

The paper's metric is "how often consecutive words are repeated in the model output but not in
the reference" (section 3.3), without a normalisation. Ours is:

- Units are words between white space, NFC, case-folded, without punctuation or symbols at either
  end. In Chinese and Japanese each ideograph or kana is a unit, and so is a run of other letters or
  digits.
- A repeat is a unit equal to the unit before it with no punctuation in between ("no, no" is none).
  In Chinese and Japanese, where a word may have several characters, it is also a sequence of two to
  four units equal to the sequence before it; of several that fit the shortest counts.
- A stutter is a repeat that the reference does not have: per unit, the output's repeats beyond
  those of the reference that has most of them.
- Rates are per 100 units of the output, and per sentence.

The excess rate is the output's repeats per 100 units minus the references', without matching. At
token level every equal neighbour counts: the continuous repetition ratio of Ghazvininejad et al.
2019.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from padir.languages import scored_by_character
from padir.score.significance import interval

PER = 100.0
LONGEST_WORD = 4
"""Characters of a repeated word of Chinese and Japanese."""


def words(line: str, language: str) -> list[str | None]:
    """Words of a line in order, None for punctuation between them."""
    line = unicodedata.normalize("NFC", line).casefold()
    if scored_by_character(language):
        return _characters(line)
    units: list[str | None] = []
    for piece in line.split():
        core = _strip(piece)
        if not core:
            units.append(None)
            continue
        start = piece.index(core)
        units.extend([None] * (start > 0))
        units.append(core)
        units.extend([None] * (start + len(core) < len(piece)))
    return units


# The same words recur in references and in outputs before and after the drop.
@lru_cache(maxsize=2**16)
def _strip(piece: str) -> str:
    start, end = 0, len(piece)
    while start < end and _is_punctuation(piece[start]):
        start += 1
    while end > start and _is_punctuation(piece[end - 1]):
        end -= 1
    return piece[start:end]


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def _characters(line: str) -> list[str | None]:
    units: list[str | None] = []
    open_run = False
    for character in line:
        if character.isspace():
            open_run = False
        elif _is_punctuation(character):
            units.append(None)
            open_run = False
        elif _stands_alone(character):
            units.append(character)
            open_run = False
        elif open_run:
            units[-1] = f"{units[-1]}{character}"
        else:
            units.append(character)
            open_run = True
    return units


# Also half-width kana, and the marks that lengthen a kana or repeat an ideograph.
_ALONE = ("CJK ", "HIRAGANA ", "KATAKANA", "HALFWIDTH KATAKANA", "IDEOGRAPHIC ITERATION MARK")


def _stands_alone(character: str) -> bool:
    return unicodedata.name(character, "").startswith(_ALONE)


Block = tuple[Any, ...]
"""Units that repeat together: one, or the characters of a word."""


def _blocks(units: Sequence[Any], longest: int) -> Iterator[tuple[int, Block]]:
    """Each repeat: where it begins, and the block that it repeats, of up to `longest` units."""
    start = 1
    while start < len(units):
        for size in range(1, min(longest, start) + 1):
            block = tuple(units[start : start + size])
            if None not in block and block == tuple(units[start - size : start]):
                yield start, block
                start += size
                break
        else:
            start += 1


def repeats(units: Sequence[Any], longest: int = 1) -> Counter[Block]:
    """How often each block of up to `longest` units follows itself; None never does."""
    return Counter(block for _, block in _blocks(units, longest))


def run_lengths(units: Sequence[Any], longest: int = 1) -> Counter[int]:
    """Number of runs of 2, 3, ... equal neighbouring blocks of up to `longest` units."""
    lengths: list[int] = []
    run = None
    for start, block in _blocks(units, longest):
        if run == (start, block):
            lengths[-1] += 1
        else:
            lengths.append(2)
        run = (start + len(block), block)
    return Counter(lengths)


@dataclass(frozen=True)
class StutterCounts:
    """Per-sentence counts, float64 [sentences] each.

    Attributes:
        stutters: repeats of the output that no reference has.
        repeats: all repeats of the output.
        units: units of the output.
        reference_repeats, reference_units: sums over all references.
        runs: histogram of run lengths over the corpus.
    """

    stutters: np.ndarray
    repeats: np.ndarray
    units: np.ndarray
    reference_repeats: np.ndarray
    reference_units: np.ndarray
    runs: dict[int, int]

    def replicates(self, counts: np.ndarray) -> np.ndarray:
        """Stutters per 100 units on each resample: [samples]."""
        return _rate(counts @ self.stutters, counts @ self.units)


def _rate(events: Any, units: Any) -> Any:
    """Events per 100 units; 0 where there is no unit."""
    return PER * events / np.maximum(units, 1.0)


def word_counts(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], language: str
) -> StutterCounts:
    """Count stutter of words; units are characters for Chinese and Japanese.

    Args:
        hypotheses: one sentence each.
        references: one list per reference, each as long as `hypotheses`.
        language: code of the target language.
    """
    longest = LONGEST_WORD if scored_by_character(language) else 1
    table = np.zeros((len(hypotheses), 5))
    runs: Counter[int] = Counter()
    for row, hypothesis, *answers in zip(table, hypotheses, *references, strict=True):
        units = words(hypothesis, language)
        answer_units = [words(answer, language) for answer in answers]
        output_repeats = repeats(units, longest)
        answer_repeats = [repeats(answer, longest) for answer in answer_units]
        allowed: Counter[Any] = Counter()
        for answer in answer_repeats:
            allowed |= answer
        row[:] = (
            (output_repeats - allowed).total(),
            output_repeats.total(),
            _size(units),
            sum(answer.total() for answer in answer_repeats),
            sum(map(_size, answer_units)),
        )
        runs += run_lengths(units, longest)
    return StutterCounts(*table.T, runs=dict(sorted(runs.items())))


def _size(units: Sequence[Any]) -> int:
    return sum(unit is not None for unit in units)


def token_counts(tokens: Sequence[Sequence[int]]) -> StutterCounts:
    """Count equal neighbours among token ids, without a reference."""
    runs: Counter[int] = Counter()
    for ids in tokens:
        runs += run_lengths(ids)
    token_repeats = np.array([repeats(ids).total() for ids in tokens], np.float64)
    sizes = np.array([len(ids) for ids in tokens], np.float64)
    zeros = np.zeros(len(tokens))
    return StutterCounts(
        token_repeats, token_repeats, sizes, zeros, zeros, dict(sorted(runs.items()))
    )


def summary(counts: StutterCounts, resamples: np.ndarray, has_reference: bool) -> dict[str, Any]:
    """Rates with 95% bootstrap intervals over sentences, ready for JSON.

    Args:
        counts: from `word_counts` or `token_counts`.
        resamples: from `significance.resample_counts`, for the same number of sentences.
        has_reference: whether to add the references' rate and the excess over it.
    """
    low, high = interval(counts.replicates(resamples))
    rate = _rate(counts.stutters.sum(), counts.units.sum())
    result: dict[str, Any] = {
        "per_100": float(rate),
        "low": low,
        "high": high,
        "per_sentence": float(counts.stutters.mean()),
        "sentences_share": float((counts.stutters > 0).mean()),
    }
    if has_reference:
        output = _rate(counts.repeats.sum(), counts.units.sum())
        reference = _rate(counts.reference_repeats.sum(), counts.reference_units.sum())
        excess_low, excess_high = interval(
            _rate(resamples @ counts.repeats, resamples @ counts.units)
            - _rate(resamples @ counts.reference_repeats, resamples @ counts.reference_units)
        )
        result |= {
            "reference_per_100": float(reference),
            "excess_per_100": float(output - reference),
            "excess_low": excess_low,
            "excess_high": excess_high,
        }
    return result
