"""Validity is exact: each reference passes, and no single change to it does."""

import random

from hypothesis import given
from hypothesis import strategies as st

from padir.config.data import SyntheticSource
from padir.data.grammar import MODES, Grammar
from padir.data.synthetic import draw_sentence, make_grammar
from padir.files import write_json

SETTINGS = SyntheticSource()
LONG = SyntheticSource(min_words=10, max_words=40)
GRAMMAR = make_grammar(SETTINGS)
WORDS = sorted(
    {
        word
        for seed in range(200)
        for mode in MODES
        for word in GRAMMAR.translate(draw_sentence(random.Random(seed), SETTINGS), mode).split()
    }
)
SEEDS = st.integers(0, 10**6)


@given(seed=SEEDS, long=st.booleans())
def test_source_is_read_as_it_was_written(seed: int, long: bool) -> None:
    sentence = draw_sentence(random.Random(seed), LONG if long else SETTINGS)
    assert GRAMMAR.parse(GRAMMAR.source(sentence)) == sentence


@given(seed=SEEDS)
def test_all_translations_are_valid_and_orders_differ(seed: int) -> None:
    sentence = draw_sentence(random.Random(seed), SETTINGS)
    source = GRAMMAR.source(sentence)
    for mode in MODES:
        target = GRAMMAR.translate(sentence, mode)
        assert mode in GRAMMAR.modes(source, target)
    for register in (0, 1):
        first, second = (GRAMMAR.translate(sentence, m) for m in MODES if m.register == register)
        assert first != second
        assert sorted(first.split()) == sorted(second.split())


@given(seed=SEEDS, mode=st.sampled_from(MODES), data=st.data())
def test_single_changes_are_invalid(seed: int, mode, data) -> None:
    sentence = draw_sentence(random.Random(seed), SETTINGS)
    source, words = GRAMMAR.source(sentence), GRAMMAR.translate(sentence, mode).split()
    allowed = set(GRAMMAR.translations(source).values())
    place = data.draw(st.integers(0, len(words) - 1))
    other = data.draw(st.sampled_from(WORDS))
    deleted = words[:place] + words[place + 1 :]
    doubled = words[: place + 1] + words[place:]
    replaced = [*words[:place], other, *words[place + 1 :]]
    assert not GRAMMAR.is_valid(source, " ".join(deleted))
    assert not GRAMMAR.is_valid(source, " ".join(doubled))
    # A sentence with one synonym is one word away from its other register.
    assert GRAMMAR.is_valid(source, " ".join(replaced)) == (" ".join(replaced) in allowed)
    if other not in " ".join(allowed).split():
        assert not GRAMMAR.is_valid(source, " ".join(replaced))
    if place:
        words[place - 1], words[place] = words[place], words[place - 1]
        swapped = " ".join(words)
        same = words[place - 1] == words[place]
        assert GRAMMAR.is_valid(source, swapped) == same


@given(seed=SEEDS, mode=st.sampled_from(MODES))
def test_adjectives_and_articles_agree_with_their_noun(seed: int, mode) -> None:
    """Every adjective and article has the gender and number of its noun."""
    sentence = draw_sentence(random.Random(seed), SETTINGS)
    words = GRAMMAR.translate(sentence, mode).split()
    lexicon = GRAMMAR.lexicon
    heads = {}
    for noun in lexicon.nouns:
        for form in noun.forms:
            heads[form.singular.split()[0]] = form.gender + "s"
            heads[form.plural.split()[0]] = form.gender + "p"
    adjectives = {
        text: agreement
        for entry in lexicon.adjectives
        for form in entry.forms
        for agreement, text in form.model_dump().items()
    }
    articles = {text: agreement for agreement, text in lexicon.article.model_dump().items()}
    current = None
    for place, word in enumerate(words):
        if word in articles:
            assert articles[word] == heads[words[place + 1]]
        if word in heads:
            current = heads[word]
        if word in adjectives:
            assert adjectives[word] == current


def test_validity_is_decided_from_the_file_alone(tmp_path) -> None:
    write_json(tmp_path / "grammar.json", GRAMMAR.lexicon.model_dump())
    loaded = Grammar.load(tmp_path / "grammar.json")
    for seed in range(50):
        sentence = draw_sentence(random.Random(seed), SETTINGS)
        source = GRAMMAR.source(sentence)
        assert loaded.translations(source) == GRAMMAR.translations(source)
