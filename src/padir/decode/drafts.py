"""When a repaired draft takes the place of the draft.

gain = g / n - REWRITING * n / L

g: pseudo-likelihood (`padir.decode.pseudo`) of the repaired draft over that of the draft, in nats;
n: tokens that changed; L: tokens of the draft. A change is taken if its gain is above a margin,
which `padir tune` chooses for each model and decoder: the smallest at which nearly all validation
references, which need no repair, stay as they are.

Per changed token, as a sum over all would let the model rewrite what people wrote. An error is
mostly a few tokens, while another wording changes many: the second term asks more of those.
"""

import math
from collections.abc import Sequence

from padir.decode.candidates import Candidate

REWRITING = 4.0
"""Nats per changed token that a change of all tokens needs beyond a change of very few."""
KEPT = 0.96
"""Share of the validation references that the margin keeps; 0.95 is wanted of unseen ones."""
UNTUNED_MARGIN = 5.0
"""Margin of a decoder that `padir tune` chose none for."""


def gain(draft: Candidate, repaired: Candidate) -> float:
    """The gain of a change; minus infinity where nothing changed.

    Args:
        draft, repaired: of one length, with pseudo-likelihoods.
    """
    pairs = zip(draft.tokens, repaired.tokens, strict=True)
    changed = sum(before != after for before, after in pairs)
    if not changed:
        return -math.inf
    likelier = repaired.log_probability - draft.log_probability
    return likelier / changed - REWRITING * changed / len(draft.tokens)


def margin_that_keeps(gains: Sequence[float], share: float = KEPT) -> float:
    """The smallest margin, not below 0, that at least this share of the gains does not exceed.

    Args:
        gains: of correct drafts, one or more.
        share: above 0, at most 1.
    """
    return max(0.0, sorted(gains)[math.ceil(share * len(gains)) - 1])
