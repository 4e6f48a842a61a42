"""Encoded pairs, and the batch of each training step, which depends on seed and step alone.

Pairs are put into length buckets; an epoch visits every pair about once, in groups of
consecutive steps that share a bucket, so that several steps run in one compiled call.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from padir.config.training import Training
from padir.ids import EOS

# Batches hold a multiple of this many sentences, so that 1, 2, 4 and 8 devices share them evenly.
ROW_UNIT = 8
WARNED_SHARE = 0.05
"""Share of pairs that fit no bucket above which a warning says so."""
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Ragged:
    """Rows of ids of different length, EOS included: `values[offsets[i]:offsets[i + 1]]`."""

    offsets: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per row, EOS included."""
        return np.diff(self.offsets)

    def padded(self, rows: np.ndarray, length: int) -> np.ndarray:
        """The given rows as [n, length] int32 ids, padded with 0; a row of -1 is all padding."""
        columns = np.arange(length)
        starts = self.offsets[rows]
        counts = np.where(rows < 0, 0, self.offsets[rows + 1] - starts)
        inside = columns[None, :] < counts[:, None]
        index = np.where(inside, starts[:, None] + columns[None, :], 0)
        return np.where(inside, self.values[index], 0).astype(np.int32)


def flat_rows(rows: Sequence[Sequence[int]], dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Offsets [rows + 1] and values of rows with EOS appended to each."""
    lengths = np.fromiter((len(row) + 1 for row in rows), np.int64, len(rows))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    ended = chain.from_iterable((*row, EOS) for row in rows)
    return offsets, np.fromiter(ended, dtype, int(offsets[-1]))


@dataclass(frozen=True)
class Pairs:
    """Encoded sources and targets, aligned."""

    source: Ragged
    target: Ragged

    def longer(self) -> np.ndarray:
        """Length of the longer side of each pair, EOS included."""
        longer = self.source.lengths
        return np.maximum(longer, self.target.lengths, out=longer)


@dataclass(frozen=True)
class Group:
    """Consecutive steps that share a bucket; `rows` holds pair numbers, [steps, sentences]."""

    first_step: int
    bucket: int
    rows: np.ndarray


def sentences_per_batch(batch_tokens: int, bucket: int) -> int:
    """Pairs of a bucket per batch: a multiple of 8 unless fewer than 8 fit."""
    fitting = max(batch_tokens // bucket, 1)
    return fitting if fitting < ROW_UNIT else fitting // ROW_UNIT * ROW_UNIT


def _buckets(training: Training, pairs: Pairs) -> np.ndarray:
    """Bucket index of each pair; their number if it fits none, one more if a side is empty."""
    limits, count = np.array(training.buckets), len(pairs.source)
    which = np.empty(count, np.uint8 if len(limits) < 255 else np.int32)
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        source, target = (
            np.diff(side.offsets[start : stop + 1]) for side in (pairs.source, pairs.target)
        )
        fitting = np.searchsorted(limits, np.maximum(source, target))
        # EOS alone is an empty side: a source that the teacher could not read has no translation.
        which[start:stop] = np.where(np.minimum(source, target) > 1, fitting, len(limits) + 1)
    return which


class BatchPlan:
    """The assignment of pairs to batches.

    Attributes:
        too_long: pairs that fit no bucket; training leaves them out.
        empty: pairs with an empty side, however long the other; training leaves them out.
        warning: how many pairs are too long, where they are more than `WARNED_SHARE`; else "".
        steps_per_epoch: the same for every epoch.
    """

    def __init__(self, pairs: Pairs, training: Training, seed: int):
        self._seed = seed
        self._group_steps = training.dispatch_steps
        which = _buckets(training, pairs)
        self.too_long = int(np.sum(which == len(training.buckets)))
        self.empty = int(np.sum(which == len(training.buckets) + 1))
        self.warning = ""
        if self.too_long > WARNED_SHARE * len(which):
            self.warning = (
                f"{self.too_long / len(which):.0%} of the pairs have more than"
                f" {training.buckets[-1]} tokens (training.buckets) and are left out"
            )
        # Four bytes for a pair's number: there may be tens of millions.
        members = [
            np.flatnonzero(which == i).astype(np.int32) for i in range(len(training.buckets))
        ]
        self._buckets = [
            (bucket, sentences_per_batch(training.batch_tokens, bucket), rows)
            for bucket, rows in zip(training.buckets, members, strict=True)
            if len(rows)
        ]
        if not self._buckets:
            raise ValueError(
                f"no training pair fits training.buckets {list(training.buckets)}:"
                f" the shortest pair has {int(min(pairs.longer(), default=0))} tokens,"
                f" {self.empty} of {len(which)} have an empty side"
            )
        self.steps_per_epoch = sum(-(-len(rows) // size) for _, size, rows in self._buckets)
        self._epoch: tuple[int, list[Group]] | None = None

    def _groups(self, epoch: int) -> list[Group]:
        if self._epoch is not None and self._epoch[0] == epoch:
            return self._epoch[1]
        random = np.random.Generator(np.random.Philox(key=[self._seed, epoch]))
        chunks = []
        for bucket, size, rows in self._buckets:
            # The last batch is filled up from the start of the same order. A bucket with fewer
            # pairs than a batch repeats them.
            order = random.permutation(rows)
            order = np.resize(order, -(-len(rows) // size) * size).reshape(-1, size)
            chunks += [
                (bucket, order[i : i + self._group_steps])
                for i in range(0, len(order), self._group_steps)
            ]
        first = epoch * self.steps_per_epoch
        groups = []
        for index in random.permutation(len(chunks)):
            bucket, rows = chunks[index]
            groups.append(Group(first, bucket, rows))
            first += len(rows)
        self._epoch = (epoch, groups)
        return groups

    def group_at(self, step: int) -> Group:
        """The steps from `step` to the end of its group."""
        for group in self._groups(step // self.steps_per_epoch):
            done = step - group.first_step
            if done < len(group.rows):
                return Group(step, group.bucket, group.rows[done:])
        raise ValueError(f"step {step} lies outside its epoch")


def in_order(pairs: Pairs, training: Training) -> list[tuple[int, np.ndarray]]:
    """Batches for validation: each pair that fits and has no empty side, once.

    Returns:
        Buckets with the pair numbers, padded with -1.
    """
    which = _buckets(training, pairs)
    batches = []
    for i, bucket in enumerate(training.buckets):
        members = np.flatnonzero(which == i)
        size = -(-sentences_per_batch(training.batch_tokens, bucket) // training.accumulate)
        for start in range(0, len(members), size):
            rows = np.full(size, -1)
            chunk = members[start : start + size]
            rows[: len(chunk)] = chunk
            batches.append((bucket, rows))
    return batches
