"""The bilingual SentencePiece vocabulary of a language pair.

Paper: L.2 (one 32k vocabulary per pair); Kudo and Richardson 2018.

Text is not normalised. `decode(encode(line)) == line` with byte fallback, and without it wherever
each character of the line occurred in training, except that:

* U+2581 comes back as a space, since SentencePiece writes spaces as that character inside pieces;
* without byte fallback, a run of unseen characters becomes one UNK and comes back as " \u2047 ".
  U+2585 counts as unseen always, as SentencePiece learns from no sentence that holds it;
* a line does not begin with U+FEFF when it comes back, as a file could not begin with that line;
* nothing is learnt from the name of a special or reserved token in text, such as `</s>`: without
  byte fallback it is unseen (of unigram and bpe, where its characters stand nowhere else);
* vocabularies of kind `word` hold the words of the training text, split at spaces: a run of other
  words is one UNK.
"""

import io
import random
import re
from collections.abc import Iterable, Sequence
from functools import cache
from os import PathLike

import numpy as np
import sentencepiece

from padir.config.data import VocabularySettings
from padir.files import InputError, read_bytes, shown, write_bytes
from padir.ids import EOS, FIRST_PIECE, PAD, START, UNK

_SYMBOLS = ("<pad>", "</s>", "<unk>", "<start>", "<length>", "<mask>", "<reserved6>", "<reserved7>")
_SAMPLE_SEED = 20240607
_TOO_LARGE = re.compile(r"Vocabulary size too high \(\d+\)\. Please set it to a value <= (\d+)")
_TOO_SMALL = re.compile(r"Vocabulary size is smaller than required_chars\. \d+ vs (\d+)")
# SentencePiece leaves out sentences with its own mark for unknown text.
_UNLEARNT = "\u2585"
# Raw bytes that a model may spell out but no line may hold.
_NOT_IN_LINES = {ord("\n"): " ", ord("\0"): " "}


def sample_lines(lines: Iterable[str], count: int) -> list[str]:
    """Draw `count` lines evenly, in order, or all; depends on the number of lines and `count`."""
    chosen: list[tuple[int, str]] = []
    generator = random.Random(_SAMPLE_SEED)
    for index, line in enumerate(lines):
        if len(chosen) < count:
            chosen.append((index, line))
        elif (slot := generator.randrange(index + 1)) < count:
            chosen[slot] = (index, line)
    return [line for _, line in sorted(chosen)]


def train_vocabulary(
    lines: Iterable[str], settings: VocabularySettings, path: str | PathLike[str]
) -> None:
    """Learn a vocabulary from the text of both languages and write it to `path`.

    Equal lines and settings give equal bytes: one thread, no shuffling, a seeded subsample.
    Kinds unigram and bpe have exactly `size` pieces; kind word has all words of the text, or the
    most frequent where `size` is smaller.

    Raises:
        InputError: no text; of unigram or bpe, more pieces asked for than the text allows, or
            fewer than its characters need; the message names the largest or smallest size; of
            word, a word that is too long for SentencePiece to read it again.
    """
    # Text that padir clean did not write, such as extra_text, may have carriage returns.
    lines = (line.removesuffix("\r") for line in lines)
    sampled = (line.replace(_UNLEARNT, " ") for line in sample_lines(lines, settings.max_lines))
    sample = [line for line in sampled if line.strip()]
    if not sample:
        raise InputError(f"{shown(path)}: there is no text to learn a vocabulary from")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sample),
            model_writer=model,
            model_type=settings.kind,
            vocab_size=settings.size,
            character_coverage=settings.character_coverage,
            byte_fallback=settings.byte_fallback,
            pad_id=PAD,
            eos_id=EOS,
            unk_id=UNK,
            bos_id=-1,
            pad_piece=_SYMBOLS[PAD],
            eos_piece=_SYMBOLS[EOS],
            unk_piece=_SYMBOLS[UNK],
            control_symbols=list(_SYMBOLS[START:FIRST_PIECE]),
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=True,
            # A word vocabulary holds the words there are; `size` only limits it.
            hard_vocab_limit=settings.kind != "word",
            # Longer lines would be left out; 10 is the least that is accepted.
            max_sentence_length=max(10, *(len(line.encode("utf-8")) for line in sample)),
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise InputError(_training_failure(settings, str(error))) from error
    if _processor(model.getvalue()) is None:
        if settings.kind != "word":
            raise InputError(_training_failure(settings, "the trained model cannot be read back"))
        longest = max((word for line in sample for word in line.split(" ")), key=len)
        raise InputError(
            f"vocabulary of kind word: the word {shown(longest[:20])}... of {len(longest):,}"
            " characters is too long for a piece: leave its line out, or choose kind unigram or bpe"
        )
    write_bytes(path, model.getvalue())


def _processor(content: bytes) -> sentencepiece.SentencePieceProcessor | None:
    """A model that is read from its bytes; None where they are none that can be read."""
    processor = sentencepiece.SentencePieceProcessor()
    try:
        return processor if content and processor.load_from_serialized_proto(content) else None
    except RuntimeError:
        return None


def _training_failure(settings: VocabularySettings, message: str) -> str:
    if match := _TOO_LARGE.search(message):
        return (
            f"vocabulary.size is {settings.size}: the text allows at most {match[1]}"
            f" pieces of kind {settings.kind}"
        )
    if match := _TOO_SMALL.search(message):
        return (
            f"vocabulary.size is {settings.size}: the text's characters need at least"
            f" {match[1]} pieces; or lower vocabulary.character_coverage"
        )
    return f"vocabulary of kind {settings.kind}, size {settings.size}: {' '.join(message.split())}"


MIN_BATCH = 64
"""Lines from which SentencePiece processes a list, for which it starts threads. On busy cores that
takes milliseconds, as long as a small model takes to translate a line."""


class Vocabulary:
    """Text to token ids and back."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor):
        self._processor = processor
        self.size: int = processor.get_piece_size()
        """Number of ids in use, special and reserved ones included."""
        self._piece = cache(processor.id_to_piece)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Vocabulary":
        """Read a vocabulary file.

        Raises:
            InputError: unreadable, not a SentencePiece model, or one with other special ids.
        """
        content = read_bytes(path)
        processor = _processor(content)
        if processor is None:
            raise InputError(f"{shown(path)}: damaged or not a SentencePiece model")
        symbols = tuple(
            processor.id_to_piece(i) for i in range(min(FIRST_PIECE, processor.get_piece_size()))
        )
        if symbols != _SYMBOLS:
            raise InputError(
                f"{shown(path)}: a SentencePiece model of another project: ids 0 to"
                f" {FIRST_PIECE - 1} must be {' '.join(_SYMBOLS)}, found {shown(' '.join(symbols))}"
            )
        return cls(processor)

    def encode(self, lines: Sequence[str], threads: int = 1) -> list[list[int]]:
        """Token ids of each line, without EOS; an empty line gives no ids."""
        if len(lines) < MIN_BATCH:
            return [self._processor.encode(line) for line in lines]
        return self._processor.encode(list(lines), num_threads=threads)

    def unknown(self, line: str) -> list[str]:
        """The parts of a line that the vocabulary cannot spell."""
        parts = self._processor.encode(line, out_type=str)
        ids = self._processor.encode(line)
        unknown = [part for part, token in zip(parts, ids, strict=True) if token == UNK]
        return [part.replace("\u2581", " ").strip(" ") for part in unknown]

    def decode(self, ids: Sequence[Sequence[int] | np.ndarray]) -> list[str]:
        """Text of each sequence up to its first EOS; always one line each.

        Special ids read as nothing, but for UNK, which reads " \u2047 ". Newline and NUL, which a
        model with byte fallback can spell, read as spaces. U+FEFF at the start is left out.

        Raises:
            IndexError: an id outside 0 to size - 1.
        """
        kept = [self._until_end(sequence) for sequence in ids]
        one_by_one = len(kept) < MIN_BATCH
        texts = map(self._processor.decode, kept) if one_by_one else self._processor.decode(kept)
        return [text.translate(_NOT_IN_LINES).lstrip("\ufeff") for text in texts]

    def _until_end(self, sequence: Sequence[int] | np.ndarray) -> list[int]:
        kept = []
        for token in map(int, sequence):
            if token == EOS:
                break
            kept.append(self._checked(token))
        return kept

    def piece(self, token: int) -> str:
        """The piece of an id, as SentencePiece writes it (U+2581 marks a space)."""
        return self._piece(self._checked(token))

    def _checked(self, token: int) -> int:
        if not 0 <= token < self.size:
            raise IndexError(f"token id {token} is outside 0 to {self.size - 1}")
        return token
