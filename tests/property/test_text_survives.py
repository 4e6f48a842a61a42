"""Any line of text survives files; it survives the vocabulary but for the stated exceptions."""

import re
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from padir.config.data import VocabularySettings
from padir.files import read_lines, write_lines
from padir.ids import UNK
from padir.vocab import Vocabulary, train_vocabulary

LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0"), max_size=40)
KNOWN = "abcdef é\u2028\t\u3000\r"
CORPUS = ["ab cd ef", "a b c d e f é", "a\u2028\t\u3000\rb", "abc  def ", "é \u2585 b"] * 20


@pytest.fixture(scope="session")
def train(tmp_path_factory):
    """Train a vocabulary of a kind, with or without byte fallback, once per session."""
    made: dict[tuple[str, bool], Vocabulary] = {}

    def get(kind: str, byte_fallback: bool) -> Vocabulary:
        if (kind, byte_fallback) not in made:
            path = tmp_path_factory.mktemp("vocab") / "spm.model"
            size = (100 if kind == "word" else 22) + 256 * byte_fallback
            settings = VocabularySettings(kind=kind, size=size, byte_fallback=byte_fallback)
            train_vocabulary(CORPUS, settings, path)
            made[kind, byte_fallback] = Vocabulary.load(path)
        return made[kind, byte_fallback]

    return get


@given(lines=st.lists(LINES, max_size=8))
def test_lines_survive_a_file(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("files") / "text"
    if lines and lines[0].startswith("\ufeff"):
        lines = ["", *lines]
    write_lines(path, lines)
    assert read_lines(path) == lines
    assert path.read_bytes().count(b"\n") == len(lines)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@given(line=LINES)
def test_all_text_survives_with_byte_fallback(train, kind, line):
    vocabulary = train(kind, True)
    ids = vocabulary.encode([line])
    assert UNK not in ids[0]
    assert vocabulary.decode(ids) == [line.replace("\u2581", " ")]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@given(line=st.text(KNOWN, max_size=40))
def test_known_characters_survive_without_byte_fallback(train, kind, line):
    vocabulary = train(kind, False)
    assert vocabulary.decode(vocabulary.encode([line])) == [line]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@given(line=LINES)
def test_runs_of_unknown_characters_become_one_mark(train, kind, line):
    vocabulary = train(kind, False)
    text = line.replace("\u2581", " ")
    expected = re.sub(f"[^{re.escape(KNOWN)}]+", " \u2047 ", text)
    assert vocabulary.decode(vocabulary.encode([line])) == [expected]


@given(words=st.lists(st.sampled_from(["ab", "cd", "a", "é", "zz", "abcd"]), max_size=8))
def test_known_words_survive_and_a_run_of_unknown_ones_becomes_one_mark(train, words):
    vocabulary = train("word", False)
    # What is left of a run of unknown words is one mark and the spaces around it.
    runs = groupby(words, lambda word: word in ("ab", "cd", "a", "é"))
    expected = [" ".join(run) if known else "\u2047" for known, run in runs]
    decoded = vocabulary.decode(vocabulary.encode([" ".join(words)]))[0]
    assert decoded.split() == " ".join(expected).split()
