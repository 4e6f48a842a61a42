"""Scores of finished text with intervals: BLEU, chrF, stutter. Needs no model.

The package can be called: `padir.score(hypotheses, references, "en")`.
"""

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any


def score_lines(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    target_language: str,
    samples: int = 1000,
) -> dict[str, Any]:
    """Score one output as `padir score` does.

    Args:
        hypotheses: one detokenised sentence each.
        references: one per hypothesis, or a list of such lists.
        target_language: decides BLEU's tokenizer and the unit of stutter.
        samples: bootstrap resamples of the 95% intervals.

    Returns:
        The score document of `padir score`: bleu, chrf, stutter, redundancy.

    Raises:
        InputError: no sentence, references of another number, no resamples, or what is no text.
    """
    from padir.files import InputError
    from padir.score.summary import score_corpus

    if isinstance(hypotheses, str) or isinstance(references, str):
        raise InputError("hypotheses and references are lists of sentences; found one text")
    if samples < 1:
        raise InputError(f"samples is {samples}: allowed are 1 and more")
    rows = [references] if all(isinstance(row, str) for row in references) else references
    for row in rows:
        if len(row) != len(hypotheses):
            raise InputError(f"{len(hypotheses)} hypotheses, but {len(row)} references")
    for text in (text for row in (hypotheses, *rows) for text in row):
        if not isinstance(text, str):
            raise InputError(f"found {type(text).__name__} {text!r:.40}, allowed are texts")
    lists: Any = [list(row) for row in rows]
    document = score_corpus(list(hypotheses), lists, target_language, samples=samples)
    del document["replicates"]
    return document


class _Score(ModuleType):
    """This package, which scores when it is called."""

    __call__ = staticmethod(score_lines)


sys.modules[__name__].__class__ = _Score
