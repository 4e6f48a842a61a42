"""Exact dependence between target positions on the synthetic pair, from its modes.

A source has at most four translations, one for each mode (register and order), with known
probabilities. Given the source and the number of pieces, the distribution of the target is
therefore a handful of sequences; their probabilities are those of the modes, made to sum to 1 among
the translations of that length. Of two positions i and j under this distribution, all other
positions being averaged over, this computes the mutual information (nats): how far their joint
distribution is from the product of its marginals, which is what one parallel step can draw at best.

Given all the other positions as well, nearly every pair would be independent: the rest of a
sentence gives its mode away. It is the first pass that has to do without the rest.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import Float

from padir.data.grammar import Grammar
from padir.data.synthetic import mode_probability

DECIMALS = 12
Distribution = dict[tuple[int, ...], float]
"""Probability of each sequence of pieces."""


def target_distribution(
    grammar: Grammar,
    source: str,
    mode_strength: float,
    encode: Callable[[Sequence[str]], list[list[int]]],
) -> Distribution:
    """Distribution of the target given the source.

    Args:
        grammar: of the pair.
        source: a line of it.
        mode_strength: as in the dataset's settings.
        encode: lines to pieces.

    Raises:
        InputError: the line is not of the grammar.
    """
    translations = grammar.translations(source)
    distribution: Distribution = {}
    for mode, pieces in zip(translations, encode(list(translations.values())), strict=True):
        key = tuple(pieces)
        distribution[key] = distribution.get(key, 0.0) + mode_probability(mode, mode_strength)
    return distribution


def at_likeliest_length(distribution: Mapping[tuple[int, ...], float]) -> Distribution:
    """Distribution given the likeliest number of pieces; ties go to the smallest."""
    lengths: dict[int, float] = {}
    for sequence, probability in distribution.items():
        lengths[len(sequence)] = lengths.get(len(sequence), 0.0) + probability
    best = max(lengths, key=lambda length: (round(lengths[length], 12), -length))
    return {
        sequence: probability / lengths[best]
        for sequence, probability in distribution.items()
        if len(sequence) == best and probability > 0
    }


def dependence(distribution: Mapping[tuple[int, ...], float]) -> Float[np.ndarray, "L L"]:
    """Mutual information of every pair of positions under a distribution of sequences of one
    length, nats; 0 on the diagonal."""
    sequences = np.array(list(distribution), np.int64)
    probability = np.array(list(distribution.values()), np.float64)
    # same[i, m, n]: sequences m and n agree at position i.
    columns = sequences.T
    same = columns[:, :, None] == columns[:, None, :]
    single = same @ probability
    joint = (same[:, None] & same[None]) @ probability
    product = single[:, None] * single[None]
    information = np.log(joint / product) @ probability
    np.fill_diagonal(information, 0.0)
    # Equal numbers that were summed in another order may differ in the last digits: these are ties.
    return np.round(information, DECIMALS) + 0.0
