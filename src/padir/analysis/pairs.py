"""Pairs of target positions of a test set, with every measure of each pair.

Pairs are (i, j), i < j, of pieces of one hypothesis; EOS is in none. Values are collected batch by
batch: what is held of a pair is one number per measure, and of adjacent pairs one per layer and
head as well.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from padir.analysis.attention import AnalysedHypothesis, Extractor, Pass
from padir.analysis.dependence import Measures, Ranks

PREDICTORS: dict[str, int] = {
    "total_variation": -1,
    "cosine": -1,
    "jensen_shannon": -1,
    "self_attention": 1,
    "self_right": 1,
    "self_left": 1,
    "surprisal": 1,
    "entropy": 1,
    "overlap": 1,
    "distance": -1,
}
"""Predictors of the dependence between two positions, each with the sign of the expected
association: 1 if larger values should mean more dependence, -1 if smaller ones should.

Measures of attention are means over layers and heads; self_attention is the mean of both
directions. surprisal: minus the log-probability of the less probable of the two tokens, nats.
entropy: the smaller of the two predictions' entropies, nats; no dependence can exceed it. overlap:
of the two predictions. distance: between the positions, in pieces.
"""


@dataclass(frozen=True)
class Pairs:
    """P measured pairs, A of which are adjacent.

    Attributes:
        sentence: index of the sentence.
        left: position i.
        distance: j - i.
        values: by name of `PREDICTORS`, and `probe`.
        heads: of adjacent pairs in order, by name of `Measures`: [A, layer, H].
        ranks: of adjacent pairs in order, by name of `Ranks`.
    """

    sentence: Int[np.ndarray, " P"]
    left: Int[np.ndarray, " P"]
    distance: Int[np.ndarray, " P"]
    values: dict[str, Float[np.ndarray, " P"]]
    heads: dict[str, Float[np.ndarray, "A layer H"]]
    ranks: dict[str, Float[np.ndarray, " A"]]

    @property
    def adjacent(self) -> Bool[np.ndarray, " P"]:
        """True at adjacent pairs."""
        return self.distance == 1


class _Rows(NamedTuple):
    """Indices of a batch's pairs: rows of the batch, sentences, positions, distances."""

    row: Int[np.ndarray, " P"]
    sentence: Int[np.ndarray, " P"]
    left: Int[np.ndarray, " P"]
    distance: Int[np.ndarray, " P"]


def _rows(indices: Sequence[int], pieces: Sequence[int], most: int) -> _Rows:
    places = [
        (row, index, left, distance)
        for row, (index, count) in enumerate(zip(indices, pieces, strict=True))
        for left in range(count - 1)
        for distance in range(1, min(most, count - 1 - left) + 1)
    ]
    return _Rows(*np.array(places, np.int64).reshape(-1, 4).T)


def collect(
    extractor: Extractor,
    sources: Sequence[Sequence[int]],
    chosen: Sequence[AnalysedHypothesis],
    number: int,
    *,
    report: Callable[[int], None] | None = None,
) -> Pairs:
    """Measure every pair of every hypothesis at one pass.

    Args:
        extractor: of the model.
        sources: piece ids, none empty.
        chosen: the hypothesis of each.
        number: of the pass, from 1.
        report: called with the number of sentences just finished.
    """
    parts: list[Pairs] = []
    for batch, measured, cross in extractor.passes(sources, chosen, number):
        answers = jax.device_get(extractor.probe(cross, measured.input))
        pieces = [chosen[index].length - 1 for index in batch.indices]
        rows = _rows(batch.indices, pieces, extractor.distance)
        parts.append(_gathered(jax.device_get(measured), answers, rows))
        if report:
            report(len(batch.indices))
    return joined(parts)


def _at(values: Any, *index: Any) -> np.ndarray:
    return np.asarray(values)[index]


def _gathered(measured: Pass, answers: np.ndarray, rows: _Rows) -> Pairs:
    right = rows.left + rows.distance
    near = {
        name: _at(values, rows.row, rows.distance - 1, rows.left)
        for name, values in zip(Measures._fields, measured.near, strict=True)
    }
    both = [_at(measured.entropy, rows.row, at) for at in (rows.left, right)]
    surprisals = [-_at(measured.log_probability, rows.row, at) for at in (rows.left, right)]
    values = near | {
        "self_attention": (near["self_right"] + near["self_left"]) / 2,
        "surprisal": np.maximum(*surprisals),
        "entropy": np.minimum(*both),
        "overlap": _at(measured.overlap, rows.row, rows.distance - 1, rows.left),
        "distance": rows.distance.astype(np.float32),
        "probe": (answers[rows.row, rows.left, right] + answers[rows.row, right, rows.left]) / 2,
    }
    next_to = rows.distance == 1
    row, left = rows.row[next_to], rows.left[next_to]
    return Pairs(
        sentence=rows.sentence,
        left=rows.left,
        distance=rows.distance,
        values=values,
        heads={
            name: _at(numbers, row, slice(None), slice(None), left)
            for name, numbers in zip(Measures._fields, measured.adjacent, strict=True)
        },
        ranks={
            name: _at(numbers, row, left)
            for name, numbers in zip(Ranks._fields, measured.ranks, strict=True)
        },
    )


def joined(parts: Sequence[Pairs]) -> Pairs:
    """Join batches of pairs, ordered by sentence, position and distance.

    Raises:
        ValueError: there is no part.
    """
    if not parts:
        raise ValueError("no pairs: there is no sentence")

    def all_of(pick: Callable[[Pairs], np.ndarray]) -> np.ndarray:
        return np.concatenate([pick(part) for part in parts])

    sentence, left = all_of(lambda p: p.sentence), all_of(lambda p: p.left)
    distance = all_of(lambda p: p.distance)
    order = np.lexsort((distance, left, sentence))
    next_to = distance == 1
    inner = np.lexsort((left[next_to], sentence[next_to]))
    first = parts[0]
    return Pairs(
        sentence=sentence[order],
        left=left[order],
        distance=distance[order],
        values={name: all_of(lambda p, n=name: p.values[n])[order] for name in first.values},
        heads={name: all_of(lambda p, n=name: p.heads[n])[inner] for name in first.heads},
        ranks={name: all_of(lambda p, n=name: p.ranks[n])[inner] for name in first.ranks},
    )


class Repeats(NamedTuple):
    """Which adjacent pairs repeat a token.

    Attributes:
        stutter: the pair repeats a token that no reference repeats.
        licensed: some reference repeats it too; such pairs are in neither group.
    """

    stutter: Bool[np.ndarray, " A"]
    licensed: Bool[np.ndarray, " A"]


def repeats(
    pairs: Pairs,
    tokens: Sequence[Sequence[int]],
    references: Sequence[Sequence[Sequence[int]]],
) -> Repeats:
    """Which adjacent pairs stutter: equal pieces, before the final drop.

    Args:
        pairs: measured.
        tokens: of each sentence's hypothesis, without EOS.
        references: of each sentence, the pieces of each of its references.
    """
    next_to = pairs.adjacent
    equal, licensed = (np.zeros(int(next_to.sum()), bool) for _ in range(2))
    allowed = [
        {a for reference in row for a, b in pairwise(reference) if a == b} for row in references
    ]
    places = zip(pairs.sentence[next_to], pairs.left[next_to], strict=True)
    for place, (sentence, left) in enumerate(places):
        hypothesis = tokens[sentence]
        equal[place] = hypothesis[left] == hypothesis[left + 1]
        licensed[place] = equal[place] and hypothesis[left] in allowed[sentence]
    return Repeats(equal & ~licensed, licensed)
