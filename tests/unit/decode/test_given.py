"""Templates as tokens: where their fixed texts stand in a hypothesis."""

import re
from types import SimpleNamespace
from unicodedata import category

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from padir.config.data import VocabularySettings
from padir.decode.given import Speller, Template, _closes
from padir.decode.translate import Translator
from padir.ids import FIRST_PIECE
from padir.vocab import Vocabulary, train_vocabulary

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


PIECES = 30


class WithVocabulary(Translator):
    """As much of a translator as a speller reads."""

    refiner = SimpleNamespace(longest=30, table_size=PIECES)

    def __init__(self, vocabulary: Vocabulary):
        self.loaded = SimpleNamespace(vocabulary=vocabulary)


def test_a_byte_order_mark_in_front_of_given_text_is_left_out(tmp_path):
    settings = VocabularySettings(size=277, byte_fallback=True)
    train_vocabulary(["a dog runs, a cat runs."] * 20, settings, tmp_path / "spm.model")
    translator = WithVocabulary(Vocabulary.load(tmp_path / "spm.model"))
    translator.refiner = SimpleNamespace(longest=30, table_size=277)
    speller = Speller(translator)
    mark = "\ufeff"
    for parts in (["a dog", ""], ["", "runs."], ["a", ", a cat"], ["", " a cat", ""]):
        given = [mark * 2 + part for part in parts]
        assert speller.template(given, "line 1") == speller.template(parts, "line 1") is not None
    assert speller.template([mark, ""], "line 1") is None
    assert speller.terms(f"{mark}a\t{mark}\t{mark} cat", "") == speller.terms("a\tcat", "")
    assert speller.draft(f"{mark} a dog", "line 1") == speller.draft("a dog", "line 1")
    assert speller.draft(mark, "line 1") is None


CHINESE = ("狗在雪地里跑。", "他在雪地里。", "狗跑。", "他跑步。", "雪里有狗。")


@pytest.fixture(scope="module")
def chinese(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "spm.model"
    lines = [*CHINESE, *(f"a dog runs {line}" for line in CHINESE)]
    train_vocabulary(lines * 20, VocabularySettings(kind="unigram", size=PIECES), path)
    return Speller(WithVocabulary(Vocabulary.load(path)))


def test_a_script_without_spaces_goes_on_after_given_text(chinese):
    prefix = chinese.template(["狗", ""], "line 1")
    line = chinese.vocabulary.encode(["狗在雪地里跑。"])[0]
    assert prefix is not None and chinese.fits(prefix, line)


def test_given_text_without_spaces_joins_what_is_before(chinese):
    line = chinese.vocabulary.encode(["他在雪地里跑步。"])[0]
    template = chinese.template(["他", "跑步。"], "line 1")
    assert template is not None and chinese.fits(template, line)
    tokens, _ = template.fill(line, template.least)
    [decoded] = chinese.vocabulary.decode([tokens])
    assert decoded.startswith("他") and decoded.endswith("跑步。") and " " not in decoded
    words = chinese.template(["a", "runs"], "line 1")
    tokens, _ = words.fill(chinese.vocabulary.encode(["a dog runs"])[0], words.least)
    assert chinese.vocabulary.decode([tokens])[0].endswith(" runs")


def test_an_ideograph_spelt_in_bytes_may_follow_a_given_text(tmp_path):
    lines = ["a dog runs in the snow", "the cat's house", "你好世界"] * 20
    settings = VocabularySettings(kind="unigram", size=285, byte_fallback=True)
    train_vocabulary(lines, settings, tmp_path / "spm.model")
    vocabulary = Vocabulary.load(tmp_path / "spm.model")
    translator = WithVocabulary(vocabulary)
    translator.refiner = SimpleNamespace(longest=30, table_size=vocabulary.size)
    speller = Speller(translator)
    template = speller.template(["你", ""], "here")
    # The second is in bytes; the third, a letter, would go on with a word.
    for text, fits in (("你世界", True), ("你龘界", True), ("你éa", False)):
        (tokens,) = vocabulary.encode([text])
        assert speller.fits(template, tokens) is fits


MARKED = (
    "\u201eba\u201c ko \u201eko\u201c ba",
    "\u201aba\u2018 ko \u201ako\u2018 ba",
    "\u00bbba\u00ab ko \u00bbko\u00ab ba",
    "\u00abba\u00bb ko \u201cko\u201d ba",
    "(ba) ko. [ko] ba $ ko \u00bfba",
)


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """Speller of a vocabulary in which all characters are pieces, and few more."""
    path = tmp_path_factory.mktemp("marked") / "spm.model"
    train_vocabulary(MARKED * 20, VocabularySettings(kind="unigram", size=PIECES), path)
    return Speller(WithVocabulary(Vocabulary.load(path)))


@pytest.mark.parametrize(
    ("text", "opens"),
    [
        ("\u201eba\u201c", False),
        ("\u201eba.\u201c", False),
        ("\u201aba\u2018", False),
        ("ko \u00bbba\u00ab", False),
        ("\u201eba\u201c ko \u201eko\u201c", False),
        ("\u201cba\u201d", False),
        ("ba\u201c", False),
        ("\u00abba\u00bb", False),
        ("(ba)", False),
        ("\u201eba\u201c \u201e", True),
        ("ba \u201c", True),
        ("\u00abba\u00bb \u00ab", True),
        ("ba (", True),
    ],
)
def test_the_next_word_joins_a_quote_that_opens_alone(marked, text, opens):
    tokens = [*marked.encode(text, "here"), FIRST_PIECE]
    given_tokens = [True] * (len(tokens) - 1) + [False]
    assert marked.proposal(tokens, given_tokens).opening[-1] is not opens


@pytest.mark.parametrize(
    ("before", "suffix", "closes"),
    [
        *(("", mark + "ba", False) for mark in "([{$#@\u20ac\u00bf\u00a1\u201e\u201c\u2018\u00ab"),
        *(("", mark + "ba", True) for mark in "\"'-.,!?)]%\u2019\u201d\u00bb"),
        # French, Spanish, and a quote in a quote.
        ("", "\u00ab ba \u00bb", False),
        ("", "\u00ab\u00a0ba\u00a0\u00bb", False),
        ("", "\u00ab\u00bfba?\u00bb", False),
        ("", "\u201c\u2018ba\u2019 ko\u201d", False),
        ("", "\u201cA\u80a1\u201d", True),
        ("\u201e", "\u201c ko", True),
        ("\u201e", "\u201cko", True),
        ("", "\u201c, ko", True),
        ("\u201eba\u201c", "\u201cko", False),
        # Brackets and quotes of Chinese and Japanese.
        ("", "\uff08\u72d7", True),
        ("", "\u300c\u72d7", True),
        ("", "\u201c\u72d7", True),
        ("", "\u72d7", True),
    ],
)
def test_only_closing_punctuation_in_front_of_a_suffix_joins(before, suffix, closes):
    assert _closes(before, suffix) is closes


@pytest.mark.parametrize(
    ("text", "has_suffix", "end"),
    [
        (")", True, "a)"),
        ("(ba)", True, "a (ba)"),
        # A line with gaps has the space itself, or has none.
        ("(ba)", False, "a(ba)"),
        (" (ba)", False, "a (ba)"),
        ("$ ko", False, "a$ ko"),
        ("ba", False, "a ba"),
        (" .", True, "a ."),
    ],
)
def test_an_opening_bracket_of_a_suffix_has_a_space_before_it(marked, text, has_suffix, end):
    [*_, piece] = marked.vocabulary.encode(["ba"])[0]
    template = marked.template(["ko", text], "here", has_suffix)
    tokens, _ = template.fill([piece] * 9, template.least)
    assert marked.vocabulary.decode([tokens])[0].endswith(end)


SOUTH_EAST_ASIAN = {
    "thai": ("\u0e2b\u0e21\u0e32", "\u0e27\u0e34\u0e48\u0e07"),
    "lao": ("\u0edd\u0eb2", "\u0ec1\u0ea5\u0ec8\u0e99"),
    "burmese": ("\u1001\u103d\u1031\u1038", "\u1015\u103c\u1031\u1038"),
    "khmer": ("\u1786\u17d2\u1780\u17c2", "\u179a\u178f\u17cb"),
}


@pytest.mark.parametrize("language", SOUTH_EAST_ASIAN)
def test_given_text_of_south_east_asia_needs_no_space_around_it(tmp_path, language):
    first, second = SOUTH_EAST_ASIAN[language]
    path = tmp_path / "spm.model"
    lines = [first + second, second + first, f"{first} {second}"] * 20
    size = max(16, FIRST_PIECE + 1 + len(set(first + second)))
    train_vocabulary(lines, VocabularySettings(kind="unigram", size=size), path)
    speller = Speller(WithVocabulary(Vocabulary.load(path)))
    [line] = speller.vocabulary.encode([first + second])
    template = speller.template([first, ""], "here")
    assert template is not None and speller.fits(template, line)
    assert _closes(first, second)
    # A combining sign goes on with the letter before it.
    pieces = map(speller.vocabulary.piece, range(FIRST_PIECE, size))
    signs = [FIRST_PIECE + i for i, p in enumerate(pieces) if category(p[0])[0] == "M"]
    assert signs and not speller.openings[signs].any()
