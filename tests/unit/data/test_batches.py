"""Batches are a function of (seed, step); an epoch visits every pair."""

import numpy as np
import pytest

from padir.config.training import Training
from padir.data.batches import (
    BatchPlan,
    Pairs,
    Ragged,
    flat_rows,
    in_order,
    sentences_per_batch,
)


def ragged_rows(rows: list[list[int]]) -> Ragged:
    return Ragged(*flat_rows(rows, np.dtype(np.int32)))


def pairs(count: int = 300, longest: int = 20) -> Pairs:
    random = np.random.default_rng(0)
    rows = [[9] * int(n) for n in random.integers(2, longest, count)]
    return Pairs(ragged_rows(rows), ragged_rows([row[:-1] for row in rows]))


TRAINING = Training(steps=10, batch_tokens=160, buckets=[8, 12, 20], dispatch_steps=3)


def batches(plan: BatchPlan, first: int, count: int) -> list[tuple[int, list[int]]]:
    result, step = [], first
    while len(result) < count:
        group = plan.group_at(step)
        result += [(group.bucket, row.tolist()) for row in group.rows]
        step += len(group.rows)
    return result[:count]


def test_ragged_rows_end_with_eos_and_pad_with_zero() -> None:
    ragged = ragged_rows([[9, 10], [], [11, 12, 13]])
    np.testing.assert_array_equal(ragged.lengths, [3, 1, 4])
    np.testing.assert_array_equal(
        ragged.padded(np.array([2, -1, 0, 1]), 5),
        [[11, 12, 13, 1, 0], [0] * 5, [9, 10, 1, 0, 0], [1, 0, 0, 0, 0]],
    )


def test_batch_n_does_not_depend_on_where_reading_started() -> None:
    data = pairs()
    whole = batches(BatchPlan(data, TRAINING, 7), 0, 60)
    for start in (1, 13, 40):
        assert batches(BatchPlan(data, TRAINING, 7), start, 10) == whole[start : start + 10]


def test_seeds_and_epochs_differ() -> None:
    data = pairs()
    plan = BatchPlan(data, TRAINING, 7)
    epoch = plan.steps_per_epoch
    first, second = batches(plan, 0, epoch), batches(plan, epoch, epoch)
    assert first != second
    assert first != batches(BatchPlan(data, TRAINING, 8), 0, epoch)
    assert sorted(b for b, _ in first) == sorted(b for b, _ in second)


def test_an_epoch_shuffles_pairs_and_batches() -> None:
    plan = BatchPlan(pairs(), TRAINING.model_copy(update={"dispatch_steps": 1}), 0)
    epoch = batches(plan, 0, plan.steps_per_epoch)
    buckets = [bucket for bucket, _ in epoch]
    assert buckets not in (sorted(buckets), sorted(buckets, reverse=True))
    assert not any(rows == sorted(rows) for _, rows in epoch)


def test_an_epoch_visits_every_fitting_pair_in_its_bucket() -> None:
    data = pairs(longest=30)
    plan = BatchPlan(data, TRAINING, 0)
    seen: dict[int, int] = {}
    for bucket, rows in batches(plan, 0, plan.steps_per_epoch):
        assert len(rows) == sentences_per_batch(160, bucket)
        for row in rows:
            seen[row] = bucket
    lengths = data.longer()
    assert set(seen) == {i for i, n in enumerate(lengths) if n <= 20}
    assert plan.too_long == int((lengths > 20).sum()) > 0
    for row, bucket in seen.items():
        assert bucket == next(b for b in (8, 12, 20) if b >= lengths[row])


def test_validation_counts_each_pair_once() -> None:
    data = pairs()
    rows = np.concatenate([rows for _, rows in in_order(data, TRAINING)])
    assert sorted(rows[rows >= 0]) == list(range(300))
    # Memory is that of one part of a step.
    parts = in_order(data, TRAINING.model_copy(update={"accumulate": 3}))
    for bucket, rows in parts:
        assert len(rows) == -(-sentences_per_batch(160, bucket) // 3)
    assert sorted(row for _, rows in parts for row in rows if row >= 0) == list(range(300))


def test_batches_hold_multiples_of_eight() -> None:
    assert sentences_per_batch(160, 12) == 8
    assert sentences_per_batch(1320, 18) == 72
    assert sentences_per_batch(30, 12) == 2
    assert sentences_per_batch(5, 12) == 1


def test_text_that_fits_no_bucket_is_refused() -> None:
    data = Pairs(ragged_rows([[9] * 5, [9, 9, 9]]), ragged_rows([[9], [9]]))
    message = r"fits training.buckets \[2\]: the shortest pair has 4 tokens, 0 of 2 have"
    with pytest.raises(ValueError, match=message):
        BatchPlan(data, Training(steps=1, buckets=[2]), 0)


@pytest.mark.parametrize(
    ("long", "warning"),
    [
        (1, ""),
        (2, "10% of the pairs have more than 12 tokens (training.buckets) and are left out"),
    ],
)
def test_more_than_a_twentieth_of_pairs_that_fit_no_bucket_is_warned_of(long, warning) -> None:
    rows = [[9] * 4] * (20 - long) + [[9] * 12] * long
    training = Training(steps=1, batch_tokens=64, buckets=[8, 12])
    plan = BatchPlan(Pairs(ragged_rows(rows), ragged_rows(rows)), training, 0)
    assert (plan.too_long, plan.warning) == (long, warning)


@pytest.mark.parametrize("chunk", [1 << 20, 7])
def test_pairs_with_an_empty_side_are_left_out_and_counted(monkeypatch, chunk: int) -> None:
    monkeypatch.setattr("padir.data.batches._CHUNK", chunk)
    whole = pairs(40, longest=30)
    rows = [[9] * int(n - 1) for n in whole.source.lengths]
    others = [row[:-1] for row in rows]
    # The last one would be too long; without a translation it counts once.
    for index in (3, 17):
        others[index] = []
    rows[20], rows[39], others[39] = [], [9] * 40, []
    data = Pairs(ragged_rows(rows), ragged_rows(others))
    plan = BatchPlan(data, TRAINING, 0)
    seen = {row for _, batch in batches(plan, 0, plan.steps_per_epoch) for row in batch}
    valid = {int(row) for _, batch in in_order(data, TRAINING) for row in batch} - {-1}
    fitting = {i for i, n in enumerate(data.longer()) if n <= 20} - {3, 17, 20}
    assert seen == valid == fitting
    assert (plan.empty, plan.too_long) == (4, 40 - 4 - len(fitting))


def test_no_pair_has_two_sides() -> None:
    with pytest.raises(ValueError, match="2 of 2 have an empty side"):
        BatchPlan(Pairs(ragged_rows([[9], []]), ragged_rows([[], [9]])), TRAINING, 0)
