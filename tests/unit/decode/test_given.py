"""Templates as tokens: where their fixed texts stand in a hypothesis."""

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from padir.decode.given import Speller, Template

PART = st.one_of(st.none(), st.lists(st.integers(10, 12), min_size=1, max_size=2).map(tuple))


@settings(max_examples=500)
@given(parts=st.lists(PART, min_size=1, max_size=5), tokens=st.lists(st.integers(10, 12)))
def test_a_template_finds_its_texts_where_a_regular_expression_does(parts, tokens):
    pattern = "".join(
        "(?:.+?)" if part is None else f"({''.join(map(chr, part))})" for part in parts
    )
    match = re.fullmatch(pattern, "".join(map(chr, tokens)), re.DOTALL)
    given = Template(tuple(parts)).given_in(tokens)
    assert (given is None) == (match is None)
    if match:
        spans = [match.span(number + 1) for number in range(match.re.groups)]
        fixed = {place for start, end in spans for place in range(start, end)}
        assert {place for place, is_given in enumerate(given) if is_given} == fixed


def test_a_translation_fits_only_where_a_word_ends_with_the_given_text():
    speller = object.__new__(Speller)
    # Token 11 opens a word, 12 goes on with the one before.
    speller.openings, speller._brackets = np.array([False] * 11 + [True, False]), set()
    template = Template(((11,), None))
    assert speller.fits(template, (11, 11, 12))
    assert not speller.fits(template, (11, 12, 11))
    assert not speller.fits(template, (12, 11, 11))
