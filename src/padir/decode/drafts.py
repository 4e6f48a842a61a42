"""When a repaired draft takes the place of the draft.

gain = g / n - REWRITING * n / L

g: pseudo-likelihood (`padir.decode.pseudo`) of the repaired draft over that of the draft, in nats;
n: tokens that changed; L: tokens of the draft. The repair is taken if its gain is above a margin,
which `padir tune` chooses for each model and decoder: the smallest at which nearly all validation
references, which need no repair, stay as they are.

The gain is per changed token, as a sum over all would let the model rewrite what people wrote.
Errors typically span a few tokens and paraphrases many, so the second term penalises large changes.
"""

import math
from collections.abc import Sequence

from padir.decode.candidates import Candidate

REWRITING = 4.0
"""Penalty in nats of a change of all tokens; of a smaller change in proportion."""
KEPT = 0.96
"""Share of the validation references that the margin keeps, so that 0.95 of unseen ones stay."""
UNTUNED_MARGIN = 5.0
"""Margin in nats where `padir tune` chose none."""


def gain(draft: Candidate, repaired: Candidate) -> float:
    """The gain of a repair, in nats; minus infinity where nothing changed.

    A draft that the vocabulary cannot spell has a log-probability of minus infinity: any repair
    without unknown tokens gains more than any margin. If unknown tokens remain, the gain is NaN and
    the repair is not taken.

    Args:
        draft, repaired: of one length, with pseudo-likelihoods.
    """
    pairs = zip(draft.tokens, repaired.tokens, strict=True)
    changed = sum(before != after for before, after in pairs)
    if not changed:
        return -math.inf
    likelier = repaired.log_probability - draft.log_probability
    return likelier / changed - REWRITING * changed / len(draft.tokens)


def margin_that_keeps(gains: Sequence[float], share: float) -> float:
    """The smallest margin, not below 0, that at least this share of the gains does not exceed.

    Args:
        gains: of correct drafts, in nats, one or more.
        share: above 0, at most 1.
    """
    return max(0.0, sorted(gains)[math.ceil(share * len(gains)) - 1])
