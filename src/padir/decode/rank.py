"""Candidates of one sentence, and the rule that chooses among them.

score = log-probability / ((5 + length) / 6) ** alpha + weight * length log-probability

The penalty is that of Wu et al. 2016, as in the T5X beam search. alpha and weight are chosen on
validation data: plain mean log-probability prefers wrong lengths.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Candidate:
    """One hypothesis for one source.

    Attributes:
        tokens: ids without EOS.
        length: tokens with EOS; for PaDIR the length that was tried. A hypothesis that reached
            the limit without EOS counts its tokens only.
        log_probability: sum over the predicted tokens, natural logarithm. PaDIR: at the pass that
            predicted them, given the tokens fed to that pass, EOS not included as it is given.
            Reranked: the AR model's, EOS included.
        length_log_probability: of the length, for PaDIR; 0 for AR.
        passes: decoder passes until nothing changed, or the most allowed; AR: one per token.
            That of a reranker is not counted.
    """

    tokens: tuple[int, ...]
    length: int
    log_probability: float
    length_log_probability: float
    passes: int


def length_penalty(length, alpha):
    """((5 + length) / 6) ** alpha, for numbers and arrays."""
    return ((5.0 + length) / 6.0) ** alpha


@dataclass(frozen=True)
class LengthRule:
    """How much a candidate's length counts; see the module's formula."""

    alpha: float = 0.0
    weight: float = 0.0

    def score(self, candidate: Candidate) -> float:
        """Higher is better; comparable between candidates of one source."""
        normalised = candidate.log_probability / length_penalty(candidate.length, self.alpha)
        return float(normalised + self.weight * candidate.length_log_probability)

    def choose(self, candidates: Sequence[Candidate]) -> Candidate:
        """The best candidate; the first of equals."""
        return max(candidates, key=self.score)
