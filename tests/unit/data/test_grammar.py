"""The grammar over a lexicon of a few words, every translation written by hand."""

import pytest

from padir.data.grammar import Clause, Grammar, Mode, NounPhrase
from padir.data.lexicon import Lexicon, lexeme_maps, read_lexicon
from padir.files import InputError, write_json


def agreeing(stem: str) -> dict:
    return {"ms": stem + "o", "mp": stem + "os", "fs": stem + "a", "fp": stem + "as"}


LEXICON = {
    "format": "padir grammar 1",
    "nouns": [
        {
            "singular": "cat",
            "plural": "cats",
            "forms": [
                {"gender": "m", "singular": "gat", "plural": "gaten"},
                {"gender": "f", "singular": "misa lina", "plural": "misas lina"},
            ],
        },
        {
            "singular": "house",
            "plural": "houses",
            "forms": [{"gender": "f", "singular": "casa", "plural": "casas"}],
        },
    ],
    "verbs": [
        {
            "source": "see",
            "forms": [
                {"singular": "vide", "plural": "vidun", "particle": "an"},
                {"singular": "gucke", "plural": "guckun", "particle": ""},
            ],
        }
    ],
    "adjectives": [
        {"source": "big", "forms": [agreeing("gros"), agreeing("gran")]},
        {"source": "red", "forms": [agreeing("rot")]},
    ],
    "adverbs": [{"source": "now", "forms": ["hoy", "nun"]}],
    "postpositions": [{"source": "near", "forms": ["bei"]}],
    "intensifier": {"source": "very", "forms": ["muy", "ser"]},
    "conjunction": {"source": "and", "forms": ["y"]},
    "article": agreeing("l"),
}


@pytest.fixture(scope="module")
def grammar():
    return Grammar(Lexicon.model_validate(LEXICON))


HAND_WORKED = [
    # No adverb, so the object is fronted; the particle ends the clause; the article and the verb
    # agree; the second register has no particle, and a feminine two-word noun.
    (
        "cats house see",
        [
            "los gaten vidun la casa an",
            "la casa vidun los gaten an",
            "las misas lina guckun la casa",
            "la casa guckun las misas lina",
        ],
    ),
    # Adjectives follow in reverse, agreeing with the form's gender.
    (
        "big red cat house see",
        [
            "lo gat roto groso vide la casa an",
            "la casa vide lo gat roto groso an",
            "la misa lina rota grana gucke la casa",
            "la casa gucke la misa lina rota grana",
        ],
    ),
    # Adverb and postposition; no article after a preposition.
    (
        "now house red cats near big houses see",
        [
            "la casa vide las casas grosas bei gaten rotos hoy an",
            "hoy vide la casa las casas grosas bei gaten rotos an",
            "la casa gucke las casas granas bei misas lina rotas nun",
            "nun gucke la casa las casas granas bei misas lina rotas",
        ],
    ),
    # The one legitimate repeat, marked in the source; it stays with its adjective.
    (
        "cat very very big red house see",
        [
            "lo gat vide la casa rota muy muy grosa an",
            "la casa rota muy muy grosa vide lo gat an",
            "la misa lina gucke la casa rota ser ser grana",
            "la casa rota ser ser grana gucke la misa lina",
        ],
    ),
    # Two clauses in one mode.
    (
        "cat house see and now house cat see",
        [
            "lo gat vide la casa an y la casa vide lo gat hoy an",
            "la casa vide lo gat an y hoy vide la casa lo gat an",
            "la misa lina gucke la casa y la casa gucke la misa lina nun",
            "la casa gucke la misa lina y nun gucke la casa la misa lina",
        ],
    ),
]


@pytest.mark.parametrize(("source", "targets"), HAND_WORKED)
def test_translations_by_hand(grammar, source, targets):
    modes = [Mode(0, 0), Mode(0, 1), Mode(1, 0), Mode(1, 1)]
    assert grammar.translations(source) == dict(zip(modes, targets, strict=True))
    for mode, target in zip(modes, targets, strict=True):
        assert grammar.modes(source, target) == (mode,)
        assert grammar.is_valid(source, target)


@pytest.mark.parametrize(
    "target",
    [
        "los gaten guckun la casa",  # mixed registers
        "los gaten vidun la casa",  # no particle
        "los gaten vide la casa an",  # number of the verb
        "la gaten vidun la casa an",  # article
        "los gaten vidun la casa  an",  # two spaces
        "Los gaten vidun la casa an",
        "los gaten vidun la casa an .",
        "",
    ],
)
def test_nothing_else_is_valid(grammar, target):
    assert not grammar.is_valid("cats house see", target)
    assert grammar.modes("cats house see", target) == ()


def test_registers_may_coincide(grammar):
    lexicon = LEXICON | {"verbs": [{"source": "see", "forms": LEXICON["verbs"][0]["forms"][:1]}]}
    plain = Grammar(Lexicon.model_validate(lexicon))
    target = "la casa vide la casa an"
    assert plain.modes("house house see", target) == (
        Mode(0, 0),
        Mode(0, 1),
        Mode(1, 0),
        Mode(1, 1),
    )


def test_reading_gives_the_meaning(grammar):
    assert grammar.parse("now very big cats red house near house see") == (
        Clause(
            subject=NounPhrase(noun=0, plural=True, adjectives=(0,), intensity=1),
            object=NounPhrase(noun=1),
            verb=0,
            phrases=((NounPhrase(noun=1, adjectives=(1,)), 0),),
            adverb=0,
        ),
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "word 1: expected a noun, found ''"),
        ("dog house see", "word 1: expected a noun, found 'dog'"),
        ("cat house", "word 3: expected a verb, found the end"),
        ("cat see", "word 2: expected a noun, found 'see'"),
        ("cat house see now", "word 4: expected the end, found 'now'"),
        ("cat house see and", "word 5: expected a noun, found the end"),
        ("very cat house see", "word 2: expected an adjective, found 'cat'"),
        ("very very very big cat house see", "word 3: expected an adjective, found 'very'"),
        ("cat  house see", "word 2: expected a noun, found ''"),
        ("cat\u2028 house see", r"word 1: expected a noun, found 'cat\u2028'"),
    ],
)
def test_lines_that_are_no_source(grammar, source, message):
    with pytest.raises(InputError) as caught:
        grammar.is_valid(source, "lo gat")
    assert str(caught.value) == message


def test_each_line_of_a_file_is_judged_and_a_bad_one_named(grammar):
    sources = ["cats house see", "house cat see"]
    targets = ["los gaten vidun la casa an", "los gaten vidun la casa an"]
    assert grammar.valid_lines(sources, targets, "test.xs") == [True, False]
    with pytest.raises(InputError, match=r"^test\.xs: line 2: word 1: expected a noun, found 'x'$"):
        grammar.valid_lines(["cats house see", "x"], targets, "test.xs")
    with pytest.raises(ValueError, match="is shorter"):
        grammar.valid_lines(sources, targets[:1], "test.xs")


def test_a_grammar_is_read_as_it_was_written_and_others_are_refused(tmp_path, grammar):
    path = tmp_path / "grammar.json"
    write_json(path, grammar.lexicon.model_dump())
    assert Grammar.load(path).lexicon == grammar.lexicon
    for change, where in [
        ({"format": "other"}, "format"),
        ({"nouns": [{"singular": "a"}]}, r"nouns\.0\.plural"),
        ({"extra": 1}, "extra"),
    ]:
        write_json(path, LEXICON | change)
        with pytest.raises(InputError, match=rf"grammar\.json: not a grammar: {where}: "):
            read_lexicon(path)
    write_json(path, [1])
    with pytest.raises(InputError, match="not a grammar: whole file: "):
        read_lexicon(path)


def test_lexemes_have_all_their_words_and_shared_ones_are_left_out(grammar):
    source = {
        "noun 0": "cat cats",
        "noun 1": "house houses",
        "verb 0": "see",
        "adjective 0": "big",
        "adjective 1": "red",
        "adverb 0": "now",
        "postposition 0": "near",
        "intensifier": "very",
        "conjunction": "and",
    }
    target = {
        "article": "lo los la las",
        "noun 0": "gat gaten misa misas",
        "noun 1": "casa casas",
        "verb 0": "vide vidun gucke guckun",
        "adjective 0": "groso grosos grosa grosas grano granos grana granas",
        "adjective 1": "roto rotos rota rotas",
        "adverb 0": "hoy nun",
        "postposition 0": "bei",
        "intensifier": "muy ser",
        "conjunction": "y",
    }
    expected = tuple(
        {word: name for name, words in lexemes.items() for word in words.split()}
        for lexemes in (source, target)
    )
    assert lexeme_maps(grammar.lexicon) == expected
