"""The true dependence between target positions on the synthetic pair, from its modes.

A source has at most four translations, one for each mode (register and order), with known
probabilities. Given the source and the number of pieces, the law of the target is therefore a
handful of sequences; their probabilities are those of the modes, made to sum to 1 among the
translations of that length. Of two positions i and j under this law, all other positions being
averaged over, this computes the mutual information (nats) and the total variation between their
joint law and the product of its marginals, which is what one parallel step can draw at best.

Given all the other positions as well, nearly every pair would be independent: the rest of a
sentence gives its mode away. It is the first pass that has to do without the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from padir.data.grammar import Grammar
from padir.data.synthetic import mode_probability

DECIMALS = 12
Law = dict[tuple[int, ...], float]
"""Probability of each sequence of pieces."""


class Exact(NamedTuple):
    """Of one sentence, by position twice; 0 on the diagonal.

    Attributes:
        information: mutual information, nats.
        variation: total variation from independence.
    """

    information: Float[np.ndarray, "L L"]
    variation: Float[np.ndarray, "L L"]


def target_law(
    grammar: Grammar,
    source: str,
    mode_strength: float,
    encode: Callable[[Sequence[str]], list[list[int]]],
) -> Law:
    """The law of the target given the source.

    Args:
        grammar: of the pair.
        source: a line of it.
        mode_strength: as in the dataset's settings.
        encode: lines to pieces.

    Raises:
        InputError: the line is not of the grammar.
    """
    translations = grammar.translations(source)
    law: Law = {}
    for mode, pieces in zip(translations, encode(list(translations.values())), strict=True):
        key = tuple(pieces)
        law[key] = law.get(key, 0.0) + mode_probability(mode, mode_strength)
    return law


def at_likeliest_length(law: Mapping[tuple[int, ...], float]) -> Law:
    """The law given the number of pieces, at its likeliest; of equals the least."""
    lengths: dict[int, float] = {}
    for sequence, probability in law.items():
        lengths[len(sequence)] = lengths.get(len(sequence), 0.0) + probability
    best = max(lengths, key=lambda length: (round(lengths[length], 12), -length))
    return {
        sequence: probability / lengths[best]
        for sequence, probability in law.items()
        if len(sequence) == best and probability > 0
    }


def dependence(law: Mapping[tuple[int, ...], float]) -> Exact:
    """Dependence of every pair of positions under a law of sequences of one length."""
    sequences = np.array(list(law), np.int64)
    probability = np.array(list(law.values()), np.float64)
    # same[i, m, n]: sequences m and n agree at position i.
    columns = sequences.T
    same = columns[:, :, None] == columns[:, None, :]
    single = same @ probability
    joint = (same[:, None] & same[None]) @ probability
    product = single[:, None] * single[None]
    information = np.log(joint / product) @ probability
    # Every joint event stands once for each sequence m in it, weighted by m's share of it. Pairs
    # of tokens that never occur together only bring the negative part, equal in sum.
    variation = np.maximum(1 - product / joint, 0) @ probability
    for matrix in (information, variation):
        np.fill_diagonal(matrix, 0.0)
    # Equal numbers that were summed in another order may differ in the last digits: these are ties.
    return Exact(*(np.round(matrix, DECIMALS) + 0.0 for matrix in (information, variation)))
