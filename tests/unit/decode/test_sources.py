"""Sources that a model cannot read in full are cut or refused, what it has not learnt is named."""

import pytest

from padir.decode.sources import SourceWarnings, check_lengths, longest_trained, shortened
from padir.files import InputError
from padir.ids import UNK
from tests.training import tiny_spec


def encode(texts: list[str]) -> list[list[int]]:
    """Every letter is a piece; nothing else is known."""
    return [[7 if char.isalpha() else UNK for char in text] for text in texts]


def unknown(line: str) -> list[str]:
    return [char for char in line if not char.isalpha()]


def told(groups: list[list[str]], whole: bool) -> list[str]:
    messages: list[str] = []
    warnings = SourceWarnings(messages.append, 4, unknown, "in.de: ", whole)
    first = 1
    for lines in groups:
        warnings.check(lines, encode(lines), first)
        first += len(lines)
    return messages


def test_a_source_is_cut_with_a_warning():
    sources = [[7] * length for length in (3, 8, 9)]
    assert list(shortened(sources, longest=8, first_line=11)) == [
        "line 13: 9 tokens, cut to the first 8, all that this model reads"
    ]
    assert [len(source) for source in sources] == [3, 8, 8]


def test_the_first_line_that_is_longer_than_in_training_or_unknown_is_named_once():
    lines = ["abcd", "abcde", "a\u00adb\u00a0", "abcdef", "a\u0308", "ab"]
    longer = "has more than the 4 tokens that this model has learnt to translate: its translation"
    unspelt = "holds text that this model's vocabulary cannot spell, such as"
    assert told([lines], whole=True) == [
        f"in.de: line 2 {longer} may stop short; such lines: 2 of 6",
        f"in.de: line 3 {unspelt} '\\xad': it is read as <unk>; such lines: 2 of 6",
    ]
    assert told([[line] for line in lines], whole=False) == [
        f"in.de: line 2 {longer} may stop short",
        f"in.de: line 3 {unspelt} '\\xad': it is read as <unk>",
    ]
    assert told([["abcd", ""]], whole=True) == []


def test_twenty_characters_of_unknown_text_are_named():
    messages: list[str] = []
    SourceWarnings(messages.append, 4, lambda line: [line]).check(["%" * 21], [[UNK]])
    assert f"such as '{'%' * 20}': it" in messages[0]


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
