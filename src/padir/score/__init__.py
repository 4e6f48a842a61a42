"""Scores of finished text with intervals: BLEU, chrF, stutter. Needs no model.

The package can be called: `padir.score(hypotheses, references, "en")`.
"""

import sys
from collections.abc import Iterable, Sequence, Sized
from numbers import Integral
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
        target_language: code, such as en; decides BLEU's tokenizer and the unit of stutter.
        samples: bootstrap resamples of the 95% intervals.

    Returns:
        The score document of `padir score`: bleu, chrf, stutter, redundancy.

    Raises:
        InputError: no sentence, references of another number, no resamples, what is no text, or no
            code of a language.
    """
    from padir.files import InputError
    from padir.languages import checked_code
    from padir.score.summary import score_corpus

    for sentences in (hypotheses, references):
        _check_list(sentences)
    try:
        checked_code(target_language)
    except InputError as error:
        raise InputError(f"target_language: {error}") from error
    if isinstance(samples, bool) or not isinstance(samples, Integral) or samples < 1:
        raise InputError(f"samples is {samples!r}: allowed are whole numbers from 1")
    rows = [references] if all(isinstance(row, str) for row in references) else references
    for row in rows:
        _check_list(row)
        if len(row) != len(hypotheses):
            raise InputError(f"{len(hypotheses)} hypotheses, but {len(row)} references")
    for text in (text for row in (hypotheses, *rows) for text in row):
        if not isinstance(text, str):
            raise InputError(f"found {type(text).__name__} {text!r:.40}, allowed are texts")
    lists: Any = [list(row) for row in rows]
    document = score_corpus(list(hypotheses), lists, target_language, samples=samples)
    del document["replicates"]
    return document


def _check_list(sentences: Any) -> None:
    """Refuse one text, and what has no length, with InputError."""
    from padir.files import InputError

    one_text = isinstance(sentences, str)
    if one_text or not isinstance(sentences, Iterable) or not isinstance(sentences, Sized):
        found = "one text" if one_text else type(sentences).__name__
        raise InputError(f"hypotheses and references are lists of sentences; found {found}")


class _Score(ModuleType):
    """This package, which scores when it is called."""

    __call__ = staticmethod(score_lines)


sys.modules[__name__].__class__ = _Score
