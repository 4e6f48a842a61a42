"""When a draft is replaced, and by what: by its repair, or by the model's own translation.

gain = g / n - REWRITING * n / L

g: pseudo-likelihood (`padir.decode.pseudo`) of the replacement over that of the draft, in nats;
n: tokens that change (`changed_tokens`); L: tokens of the longer one. The draft is replaced if the
gain is above a margin: the smallest at which nearly all validation references, which need no
change, stay.

The gain is per changed token, as a sum over all would let the model rewrite what people wrote.
Errors typically span a few tokens and paraphrases many, so the second term penalises large changes.

The repair is what the draft becomes in the decoder's passes. It corrects errors next to words that
the model would not have chosen, but the errors around a word mislead it. The translation has not
seen the draft. `padir tune` takes the one with the smaller margin, as at an equal share of
references kept it replaces drafts with smaller gains. Of margins less than `PREFERENCE` apart it
takes the repair's, as a repair keeps more of a draft's words.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from padir.decode.candidates import Candidate

REWRITING = 4.0
"""Penalty in nats of a change of all tokens; of a smaller change in proportion."""
KEPT = 0.96
"""Share of the validation references that the margin keeps, so that 0.95 of unseen ones stay."""
PREFERENCE = 1.0
"""Nats by which the translation's margin has to be smaller than the repair's."""

Replacement = Literal["repair", "translation"]


@dataclass(frozen=True)
class DraftRule:
    """What may replace a draft, and the gain in nats that it has to exceed."""

    replacement: Replacement
    margin: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


UNTUNED = DraftRule("repair", 5.0)
"""The rule where `padir tune` chose none."""


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """The fewest items to insert, delete or change that make one sequence the other."""
    row = list(range(len(second) + 1))
    for number, item in enumerate(first, start=1):
        previous, row = row, [number]
        for place, other in enumerate(second):
            change = previous[place] + (item != other)
            row.append(min(change, previous[place + 1] + 1, row[place] + 1))
    return row[-1]


def changed_tokens(draft: Sequence[int], replacement: Sequence[int]) -> int:
    """Positions at which the tokens differ; the edit distance where the lengths differ.

    Words in another order thus count as many changes: people choose another order as well.
    """
    if len(draft) != len(replacement):
        return edit_distance(draft, replacement)
    return sum(before != after for before, after in zip(draft, replacement, strict=True))


def gain(draft: Candidate, replacement: Candidate) -> float:
    """The gain of a replacement, in nats; minus infinity where nothing changed.

    A draft that the vocabulary cannot spell has a log-probability of minus infinity: any
    replacement without unknown tokens gains more than any margin. If unknown tokens remain, the
    gain is NaN and the draft stays.

    Args:
        draft, replacement: with pseudo-likelihoods.
    """
    changed = changed_tokens(draft.tokens, replacement.tokens)
    if not changed:
        return -math.inf
    likelier = replacement.log_probability - draft.log_probability
    longest = max(len(draft.tokens), len(replacement.tokens))
    return likelier / changed - REWRITING * changed / longest


def preferred(rules: Sequence[DraftRule]) -> DraftRule | None:
    """The rule with the smallest margin, the translation's counted `PREFERENCE` larger."""

    def compared_margin(rule: DraftRule) -> float:
        return rule.margin + (PREFERENCE if rule.replacement == "translation" else 0.0)

    return min(rules, key=compared_margin, default=None)


def margin_that_keeps(gains: Sequence[float], share: float) -> float:
    """The smallest margin, not below 0, that at least this share of the gains does not exceed.

    Args:
        gains: of correct drafts, in nats, one or more.
        share: above 0, at most 1.
    """
    return max(0.0, sorted(gains)[math.ceil(share * len(gains)) - 1])
