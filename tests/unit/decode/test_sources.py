"""A source longer than a model reads is cut or refused; one longer than in training is named."""

import pytest

from padir.decode.sources import check_lengths, longest_trained, shortened
from padir.files import InputError
from tests.training import tiny_spec


def test_a_source_is_cut_or_warned_of_and_never_both():
    sources = [[7] * length for length in (3, 4, 6, 7, 8, 9)]
    assert list(shortened(sources, longest=8, trained=6, first_line=11)) == [
        "line 14: 7 tokens, but this model has learnt to translate at most 6: its translation may"
        " stop short",
        "line 15: 8 tokens, but this model has learnt to translate at most 6: its translation may"
        " stop short",
        "line 16: 9 tokens, cut to the first 8, all that this model reads",
    ]
    assert [len(source) for source in sources] == [3, 4, 6, 7, 8, 8]


def test_a_parallel_model_has_learnt_no_more_than_its_longest_bucket():
    for system, longest in (("ar", "max_positions"), ("padir", "bucket"), ("disco", "bucket")):
        run = tiny_spec(system).run
        positions, bucket = run.architecture.max_positions, run.training.buckets[-1]
        assert bucket < positions
        # EOS takes a position of each.
        assert longest_trained(run) == (positions if longest == "max_positions" else bucket) - 1


def test_a_line_that_is_too_long_is_named():
    check_lengths([[1] * 5], "in.de", 5)
    with pytest.raises(InputError, match=r"in\.de: line 2: 6 tokens, this model reads at most 5"):
        check_lengths([[1], [1] * 6], "in.de", 5)
