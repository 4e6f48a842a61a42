"""Batches of sentences of similar source length, so that few programs are compiled.

The bucket of a sentence depends on that sentence alone; what it shares a batch with, and how far
the batch is padded, changes no result.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from padir.devices import padded_rows
from padir.ids import EOS, PAD


@dataclass(frozen=True)
class Batch:
    """Sentences decoded together.

    Attributes:
        indices: which sentences, in rows 0 and on.
        rows: rows of the compiled program; those past the sentences are dummies.
        length: padded source length, EOS included.
    """

    indices: tuple[int, ...]
    rows: int
    length: int


def finer_buckets(buckets: Sequence[int]) -> tuple[int, ...]:
    """Padded lengths of a sentence that is decoded alone: `buckets` and, between 8 and the last,
    lengths a third apart.

    Each shape is compiled, so that there are few. But one sentence pays for its padding at every
    pass, and the buckets of training may be wide.
    """
    lengths, length = {*buckets}, 8
    while length < buckets[-1]:
        lengths.add(length)
        length = -(-4 * length // 3)
    return tuple(sorted(lengths))


def bucket_of(length: int, buckets: Sequence[int]) -> int:
    """The smallest bucket that holds `length`.

    Raises:
        ValueError: none does.
    """
    for bucket in buckets:
        if length <= bucket:
            return bucket
    raise ValueError(f"{length} tokens, at most {buckets[-1]} fit")


def plan_batches(
    lengths: Sequence[int], buckets: Sequence[int], sentences: int, devices: int = 1
) -> list[Batch]:
    """Batches of at most `sentences`, shortest bucket first.

    Args:
        lengths: of each source, EOS included; one of length 0 is in no batch.
        buckets: rising padded lengths.
        sentences: rows of a full batch. A bucket that fills no batch gets the next power of two.
        devices: that rows are dealt out to: where there are as many, dummies make them a multiple.
            Which sentences share a batch does not depend on it.
    """
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        if length:
            groups.setdefault(bucket_of(length, buckets), []).append(index)
    batches = []
    for bucket in sorted(groups):
        # Neighbours in length share batches: their targets then need about the same buffer.
        members = sorted(groups[bucket], key=lambda index: (lengths[index], index))
        rows = min(sentences, 1 << (len(members) - 1).bit_length())
        padded = padded_rows(rows, devices)
        for start in range(0, len(members), rows):
            held = tuple(members[start : start + rows])
            batches.append(Batch(held, rows if rows < devices else padded, bucket))
    return batches


def padded_sources(sources: Sequence[Sequence[int]], batch: Batch) -> Int[np.ndarray, "B S"]:
    """The batch's source ids followed by EOS; dummy rows hold EOS alone."""
    ids = np.full((batch.rows, batch.length), PAD, np.int32)
    ids[len(batch.indices) :, 0] = EOS
    for row, index in enumerate(batch.indices):
        source = sources[index]
        ids[row, : len(source)] = source
        ids[row, len(source)] = EOS
    return ids
