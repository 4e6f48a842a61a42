"""Vocabulary: special ids, sizes, determinism, text that survives."""

import re

import numpy as np
import pytest
import sentencepiece

from padir.config.data import VocabularySettings
from padir.files import InputError
from padir.ids import EOS, FIRST_PIECE, LENGTH, MASK, PAD, START, UNK
from padir.vocab import MIN_BATCH, Vocabulary, sample_lines, train_vocabulary

WORDS = ["ka", "ro", "tima", "bo", "kuré", "straße", "lo", "neva"]
LINES = [
    " ".join(WORDS[(7 * i + j * j) % len(WORDS)] for j in range(2 + i % 4)) for i in range(200)
]


@pytest.fixture(scope="module", params=["unigram", "bpe", "word"])
def vocabulary(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("vocab") / "spm.model"
    sizes = {"unigram": 30, "bpe": 40, "word": 16}
    train_vocabulary(LINES, VocabularySettings(kind=request.param, size=sizes[request.param]), path)
    return Vocabulary.load(path)


def test_special_ids_stand_first_and_no_piece_is_past_the_end(vocabulary):
    assert (PAD, EOS, UNK, START, LENGTH, MASK, FIRST_PIECE) == (0, 1, 2, 3, 4, 5, 8)
    assert [vocabulary.piece(i) for i in range(FIRST_PIECE)] == [
        "<pad>",
        "</s>",
        "<unk>",
        "<start>",
        "<length>",
        "<mask>",
        "<reserved6>",
        "<reserved7>",
    ]
    for token in (-1, vocabulary.size):
        with pytest.raises(IndexError, match=f"token id {token} is outside 0 to"):
            vocabulary.piece(token)


def test_known_text_survives_without_special_ids(vocabulary):
    encoded = vocabulary.encode(LINES)
    assert vocabulary.decode(encoded) == LINES
    assert min(min(ids) for ids in encoded) >= FIRST_PIECE
    assert vocabulary.encode([""]) == [[]]
    assert vocabulary.decode([[]]) == [""]


def test_lines_read_one_by_one_and_as_a_list_give_the_same(vocabulary):
    lines = ["", "xyz", *LINES][: MIN_BATCH + 5]
    together = vocabulary.encode(lines)
    assert together == [ids for line in lines for ids in vocabulary.encode([line])]
    ids = [*together, [EOS], [UNK, EOS, UNK], np.array([PAD, START])]
    one_by_one = [text for sequence in ids for text in vocabulary.decode([sequence])]
    assert vocabulary.decode(ids) == one_by_one
    assert len(together) > MIN_BATCH


def test_names_of_special_ids_in_text_are_text(vocabulary):
    for ids in vocabulary.encode(["ka <mask> ro", "<pad>", "</s>"]):
        assert not {PAD, EOS, START, LENGTH, MASK, 6, 7} & set(ids)


def test_decode_stops_at_end_and_skips_special_ids(vocabulary):
    ids = vocabulary.encode(["ka ro"])[0]
    noisy = [START, LENGTH, *ids, MASK, 6, 7, PAD, EOS, *ids]
    assert vocabulary.decode([noisy, np.array([*ids, EOS, PAD]), [EOS]]) == ["ka ro", "ka ro", ""]
    with pytest.raises(IndexError, match="outside 0 to"):
        vocabulary.decode([[vocabulary.size]])
    with pytest.raises(IndexError, match="outside 0 to"):
        vocabulary.decode([[-1]])


def test_unknown_text_is_visible(vocabulary):
    assert UNK in vocabulary.encode(["ka Ж"])[0]
    assert vocabulary.unknown("ka Ж ro \u00adЖ") == ["Ж", "\u00adЖ"]
    assert vocabulary.unknown("ka ro") == vocabulary.unknown("") == []
    assert "\u2047" in vocabulary.decode(vocabulary.encode(["ka Ж"]))[0]


def test_word_vocabulary_is_the_words(tmp_path):
    path = tmp_path / "spm.model"
    train_vocabulary(LINES, VocabularySettings(kind="word", size=1000), path)
    vocabulary = Vocabulary.load(path)
    assert vocabulary.size == FIRST_PIECE + len(WORDS)
    pieces = {vocabulary.piece(i) for i in range(FIRST_PIECE, vocabulary.size)}
    assert pieces == {"\u2581" + word for word in WORDS}
    assert vocabulary.encode(["ka kaka"])[0][1] == UNK
    # The most frequent words where `size` is smaller.
    train_vocabulary(
        [*["ka ro"] * 9, *WORDS[:6]] + [f"w{i}" for i in range(20)],
        VocabularySettings(kind="word", size=16),
        path,
    )
    small = Vocabulary.load(path)
    assert small.size == 16
    assert {small.piece(8), small.piece(9)} == {"\u2581ka", "\u2581ro"}


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_too_large_names_the_largest_possible_size(tmp_path, kind):
    path = tmp_path / "spm.model"
    with pytest.raises(InputError, match=r"\A.*\Z") as caught:
        train_vocabulary(LINES, VocabularySettings(kind=kind, size=999), path)
    match = re.fullmatch(
        rf"vocabulary\.size is 999: the text allows at most (\d+) pieces of kind {kind}",
        str(caught.value),
    )
    assert match
    assert not path.exists()
    largest = int(match[1])
    train_vocabulary(LINES, VocabularySettings(kind=kind, size=largest), path)
    assert Vocabulary.load(path).size == largest
    with pytest.raises(InputError, match=f"at most {largest} pieces"):
        train_vocabulary(LINES, VocabularySettings(kind=kind, size=largest + 1), path)


def test_too_small_names_the_smallest_possible_size(tmp_path):
    with pytest.raises(InputError, match="characters need at least"):
        train_vocabulary(LINES, VocabularySettings(kind="unigram", size=16), tmp_path / "m")


@pytest.mark.parametrize("lines", [[], ["", "  "]])
def test_a_vocabulary_of_no_text_is_refused(tmp_path, lines):
    with pytest.raises(InputError, match="no text to learn a vocabulary from"):
        train_vocabulary(lines, VocabularySettings(kind="word", size=16), tmp_path / "m")


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word"])
def test_same_text_same_bytes(tmp_path, kind):
    settings = VocabularySettings(kind=kind, size=16 if kind == "word" else 30, max_lines=100)
    for name in ("a", "b"):
        train_vocabulary(iter(LINES), settings, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_carriage_returns_are_not_learnt(tmp_path):
    settings = VocabularySettings(kind="unigram", size=30)
    for name, end in (("unix", ""), ("windows", "\r")):
        train_vocabulary([line + end for line in LINES], settings, tmp_path / name)
    assert (tmp_path / "windows").read_bytes() == (tmp_path / "unix").read_bytes()


def test_a_very_long_line_is_learnt_from(tmp_path):
    # SentencePiece by itself leaves out lines over 4192 bytes.
    train_vocabulary(
        [" ".join(WORDS * 400)], VocabularySettings(kind="word", size=100), tmp_path / "m"
    )
    assert Vocabulary.load(tmp_path / "m").size == FIRST_PIECE + len(WORDS)


def test_a_line_with_the_mark_of_the_unknown_is_learnt_from(tmp_path):
    # SentencePiece by itself leaves such lines out.
    settings = VocabularySettings(kind="word", size=100)
    train_vocabulary(["ka \u2585 ro"], settings, tmp_path / "m")
    assert UNK not in Vocabulary.load(tmp_path / "m").encode(["ro ka"])[0]


def test_a_sample_of_lines_is_even_ordered_and_repeatable():
    lines = [str(i) for i in range(1000)]
    assert sample_lines(lines, 1000) == lines
    drawn = sample_lines(iter(lines), 200)
    assert drawn == sample_lines(lines, 200)
    assert len(set(drawn)) == 200
    assert drawn == sorted(drawn, key=int)
    # Even: the mean is that of all lines within 4 standard errors (288.7 / sqrt(200) * sqrt(.8)).
    assert abs(sum(map(int, drawn)) / 200 - 499.5) < 4 * 18.3


def test_byte_fallback_spells_unknown_characters(tmp_path):
    settings = VocabularySettings(kind="bpe", size=300, byte_fallback=True)
    train_vocabulary(LINES, settings, tmp_path / "m")
    vocabulary = Vocabulary.load(tmp_path / "m")
    line = "ka \U0001f600 Ж\t\u2028 \r  "
    assert UNK not in vocabulary.encode([line])[0]
    assert vocabulary.decode(vocabulary.encode([line])) == [line]
    ids = {vocabulary.piece(i): i for i in range(vocabulary.size)}
    # A model may spell what no line may hold.
    assert vocabulary.decode([[ids["\u2581"], ids["<0x0A>"], ids["a"], ids["<0x00>"]]]) == [" a "]
    assert vocabulary.decode([[ids["<0xFF>"]]]) == ["\ufffd"]


def test_no_line_begins_with_a_byte_order_mark(tmp_path):
    settings = VocabularySettings(kind="word", size=100)
    train_vocabulary(["\ufeffka ro", "ka\ufeff"], settings, tmp_path / "m")
    vocabulary = Vocabulary.load(tmp_path / "m")
    ids = vocabulary.encode(["\ufeffka ro", "ro \ufeffka ka\ufeff"])
    assert vocabulary.decode(ids) == ["ka ro", "ro \ufeffka ka\ufeff"]


def test_a_word_that_could_not_be_read_again_is_refused(tmp_path):
    settings = VocabularySettings(kind="word", size=100)
    message = "kind word: the word o{20}... of 20,000 characters is too long for a piece"
    with pytest.raises(InputError, match=message) as caught:
        train_vocabulary(["ka ro", "ka " + "o" * 20_000], settings, tmp_path / "m")
    assert "\n" not in str(caught.value) and not (tmp_path / "m").exists()


def test_no_word_is_blamed_where_words_are_no_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("padir.vocab._processor", lambda content: None)
    settings = VocabularySettings(kind="unigram", size=26)
    with pytest.raises(InputError, match="kind unigram, size 26: the trained model cannot be read"):
        train_vocabulary(LINES, settings, tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("content", [b"", b"no model", b"\x0a\x05"])
def test_a_damaged_vocabulary_is_refused(tmp_path, content):
    (tmp_path / "spm.model").write_bytes(content)
    with pytest.raises(InputError, match=r"spm\.model: damaged or not a SentencePiece model"):
        Vocabulary.load(tmp_path / "spm.model")


def test_a_vocabulary_with_other_special_ids_is_refused(tmp_path):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_prefix=str(tmp_path / "foreign"),
        vocab_size=20,
        model_type="bpe",
        minloglevel=2,
    )
    with pytest.raises(InputError, match=r"foreign\.model: .* another project: .*found <unk> <s>"):
        Vocabulary.load(tmp_path / "foreign.model")
