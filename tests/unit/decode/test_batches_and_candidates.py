"""Grouping of sentences, and the choice among candidates."""

import numpy as np
import pytest

from padir.decode.batches import (
    Batch,
    bucket_of,
    finer_buckets,
    padded_sources,
    plan_batches,
)
from padir.decode.candidates import Candidate, LengthRule, length_penalty
from padir.decode.programs import CompiledModel
from tests.decoding import tiny_model


def test_each_sentence_is_in_one_batch_of_its_own_bucket():
    lengths = [3, 9, 4, 4, 12, 1, 9, 2, 5]
    batches = plan_batches(lengths, (4, 10, 16), 2)
    assert sorted(i for batch in batches for i in batch.indices) == list(range(9))
    for batch in batches:
        assert {bucket_of(lengths[i], (4, 10, 16)) for i in batch.indices} == {batch.length}
        assert len(batch.indices) <= batch.rows <= 2


def test_sentences_of_similar_length_share_a_batch():
    batches = plan_batches([4, 2, 4, 2, 3], (4,), 2)
    assert [batch.indices for batch in batches] == [(1, 3), (4, 0), (2,)]


def test_an_empty_source_is_in_no_batch():
    assert [batch.indices for batch in plan_batches([0, 3, 0, 4], (4,), 64)] == [(1, 3)]
    assert plan_batches([0, 0], (4,), 64) == []


def test_a_small_bucket_gets_the_next_power_of_two_rows():
    assert [b.rows for b in plan_batches([3] * 5, (4,), 64)] == [8]
    assert [b.rows for b in plan_batches([3], (4,), 64)] == [1]
    assert [b.rows for b in plan_batches([3] * 9, (4,), 8)] == [8, 8]


@pytest.mark.parametrize(
    ("sentences", "count", "devices", "rows"),
    [(8, 9, 4, [8, 8]), (6, 9, 4, [8, 8]), (64, 3, 4, [4]), (64, 2, 4, [2]), (64, 1, 2, [1])],
)
def test_rows_are_a_multiple_of_the_devices_where_there_are_as_many(
    sentences, count, devices, rows
):
    batches = plan_batches([3] * count, (4,), sentences, devices)
    assert [batch.rows for batch in batches] == rows
    alone = plan_batches([3] * count, (4,), sentences)
    assert [batch.indices for batch in batches] == [batch.indices for batch in alone]


def test_a_sentence_alone_is_padded_by_a_third_at_most():
    buckets = finer_buckets((20, 56))
    assert {20, 56} <= set(buckets)
    assert max(buckets) == 56
    for length in range(9, 57):
        assert bucket_of(length, buckets) <= 4 / 3 * length + 1
    assert finer_buckets((4, 7)) == (4, 7)


def test_finer_lengths_are_for_one_sentence_alone(tmp_path):
    loaded = tiny_model(tmp_path / "model", "padir")
    compiled = CompiledModel(loaded.model, loaded.spec.run)
    ((alone, _),) = compiled.batches([[8] * 5])
    assert (alone.length, compiled.padded(6, alone.rows)) == (8, 8)
    ((together, _),) = compiled.batches([[8] * 5, [8] * 4])
    assert (together.length, compiled.padded(6, together.rows)) == (16, 16)


def test_too_long_a_sentence_is_refused():
    with pytest.raises(ValueError, match="17 tokens, at most 16 fit"):
        plan_batches([17], (4, 16), 2)


def test_sources_end_in_eos_and_dummy_rows_hold_nothing_else():
    batch = Batch((1, 0), 3, 4)
    padded = padded_sources([[8], [9, 10]], batch)
    np.testing.assert_array_equal(padded, [[9, 10, 1, 0], [8, 1, 0, 0], [1, 0, 0, 0]])


def test_score_worked_by_hand():
    candidate = Candidate((8,) * 6, 7, -4.0, -0.5, 3)
    assert length_penalty(7, 1.0) == 2.0
    assert LengthRule(1.0, 2.0).score(candidate) == -4.0 / 2 + 2 * -0.5
    assert LengthRule().score(candidate) == -4.0


def test_alpha_and_weight_change_the_choice_and_ties_go_to_the_first():
    short = Candidate((8,), 1, -2.0, -3.0, 1)
    long = Candidate((8,) * 6, 7, -3.0, -0.1, 1)
    assert LengthRule(0.0, 0.0).choose([long, short]) is short
    assert LengthRule(1.0, 0.0).choose([long, short]) is long
    assert LengthRule(0.0, 1.0).choose([short, long]) is long
    same = Candidate((9,), 1, -2.0, -3.0, 1)
    assert LengthRule().choose([short, same]) is short
