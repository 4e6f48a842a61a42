"""Tiny random models that translate around given text, for tests of constraints."""

import re

from hypothesis import strategies as st

from padir.decode.candidates import LengthRule
from padir.decode.constrain import Constraints
from padir.decode.given import GAP, Speller
from tests.decoding import WORDS, tiny_translator

RULE = LengthRule(0.6, 1.0)
SYSTEMS = {
    "padir": {},
    "cmlm": {},
    "disco": {},
    "drawn": {"temperature": 1.0, "stop": "fixed"},
    "restarts": {"restarts": 2},
}
WORD = st.sampled_from(WORDS)
TEXT = st.lists(WORD, min_size=1, max_size=3).map(" ".join)


def make(folder, name, **extra):
    kind = name if name in ("cmlm", "disco", "rdm", "greedy") else "padir"
    passes = None if kind == "greedy" else 3
    return tiny_translator(folder, kind, passes, RULE, **SYSTEMS.get(name, {}), **extra)


def infill(translator, sources, texts):
    """Hypotheses of sources, each held to a text with gaps."""
    speller = Speller(translator)
    lines = [speller.template(GAP.split(text), "here") for text in texts]
    return Constraints(translator, speller, lines, "here").translate(translator.encode(sources))


def place_terms(translator, sources, terms):
    speller = Speller(translator)
    lines = [speller.terms("\t".join(line_terms), "here") for line_terms in terms]
    return Constraints(translator, speller, lines, "here").translate(translator.encode(sources))


def stands(text, hypothesis):
    return re.search(rf"(?<!\S){re.escape(text)}(?!\w)", hypothesis)
