"""Constraints on the target text as tokens: templates, drafts and terms.

Given texts are whole words: a space goes before each, and the token after one has to open a word,
or be punctuation or of a script without spaces, such as Chinese. Only punctuation and such scripts,
right after a gap, join what is before ("___."). At the front of a suffix only closing punctuation
and such scripts do. A term always has a space before it.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from padir.decode.candidates import BYTE, SPACE, WITHOUT_SPACES
from padir.decode.refiner import Proposal
from padir.decode.translate import Translator
from padir.files import InputError
from padir.ids import FIRST_PIECE

GAP = re.compile(r"_{3,}")
"""Three underscores or more are one gap."""
_CJK_LEADS = (*range(0xE3, 0xEA), 0xF0)
"""First bytes, in UTF-8, of characters of scripts without spaces."""
_SOUTH_EAST_ASIAN = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""A character of Thai, Lao, Burmese or Khmer, which have spaces between phrases alone."""
_OPENERS = {"\u201c": "\u201e", "\u2018": "\u201a", "\u00ab": "\u00bb", "\u2039": "\u203a"}
"""Quotes that open in one language and close in another, and what they close there: as in German
low quotes and Danish guillemets."""
_CLOSERS = {"\u201c": "\u201d", "\u2018": "\u2019", "\u00ab": "\u00bb", "\u2039": "\u203a"}
"""The same quotes, and what closes them where they open: as in English and French."""
_MARK = "\ufeff"
"""The byte order mark U+FEFF, left out at the start of a given text as of every decoded line."""
Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Template:
    """Fixed texts as tokens, and None for each gap, which holds one token or more."""

    segments: tuple[Tokens | None, ...]

    @property
    def gaps(self) -> int:
        """Number of gaps."""
        return self.segments.count(None)

    @property
    def least(self) -> int:
        """Least number of tokens: all fixed ones and one per gap."""
        return self.gaps + sum(len(segment) for segment in self.segments if segment)

    def fill(self, start: Sequence[int], length: int) -> tuple[list[int], list[bool]]:
        """Tokens of a hypothesis and whether each is fixed.

        Args:
            start: tokens for the gaps, each at its place in the hypothesis.
            length: of the hypothesis without EOS; at least `least`.
        """
        tokens, given = list(start[:length]), [False] * length
        shares = iter(even_shares(length - self.least + self.gaps, self.gaps))
        place = 0
        for segment in self.segments:
            if segment is None:
                place += next(shares)
                continue
            tokens[place : place + len(segment)] = segment
            given[place : place + len(segment)] = [True] * len(segment)
            place += len(segment)
        return tokens, given

    def given_in(self, tokens: Sequence[int]) -> list[bool] | None:
        """Which tokens of a hypothesis are the fixed ones, each text as far left as can be.

        None where it does not have this form.
        """
        given = [False] * len(tokens)
        place, gap = 0, False
        for number, segment in enumerate(self.segments):
            if segment is None:
                place, gap = place + 1, True
                continue
            latest = len(tokens) - len(segment)
            first = latest if number == len(self.segments) - 1 else place
            starts = range(max(first, place), latest + 1) if gap else [place]
            for start in starts:
                if tuple(tokens[start : start + len(segment)]) == segment:
                    break
            else:
                return None
            place, gap = start + len(segment), False
            given[start:place] = [True] * len(segment)
        ends = place <= len(tokens) if gap else place == len(tokens)
        return given if ends else None


@dataclass(frozen=True)
class Draft:
    """Tokens of a translation that may have errors."""

    tokens: Tokens


@dataclass(frozen=True)
class Terms:
    """Tokens of each term; a term listed twice must appear twice."""

    terms: tuple[Tokens, ...]


Constraint = Template | Draft | Terms


def even_shares(tokens: int, gaps: int) -> list[int]:
    """Number of tokens of each gap: as equal as possible, earlier gaps being larger."""
    return [tokens // gaps + (gap < tokens % gaps) for gap in range(gaps)]


class UnspeltTextError(InputError):
    """The vocabulary cannot spell a given text."""


class Speller:
    """Encodes constraint texts as tokens, and knows where words begin.

    Args:
        translator: of a parallel model.

    Raises:
        InputError: the model is AR.
    """

    def __init__(self, translator: Translator):
        self.vocabulary = translator.loaded.vocabulary
        self.most = translator.refiner.longest - 1
        """Tokens of the longest hypothesis."""
        self.openings: Bool[np.ndarray, " V"] = np.zeros(translator.refiner.table_size, bool)
        """Tokens that may follow a given text: those that open a word, punctuation, and those of
        scripts without spaces."""
        self._brackets: set[int] = set()
        self._ids: dict[str, int] = {}
        for token in range(FIRST_PIECE, self.vocabulary.size):
            piece = self.vocabulary.piece(token)
            if byte := BYTE.fullmatch(piece):
                self.openings[token] = int(byte[1], 16) in _CJK_LEADS
                continue
            self._ids[piece] = token
            self.openings[token] = piece.startswith(SPACE) or _may_follow(piece[0])
            if unicodedata.category(piece[-1]) in ("Ps", "Pi"):
                self._brackets.add(token)

    def encode(self, text: str, where: str, *, joins: bool = False) -> Tokens:
        """Tokens of a given text.

        Args:
            text: not empty, without spaces around it or U+FEFF in front.
            where: file and line, for messages.
            joins: whether it joins what is before, where the vocabulary can.

        Raises:
            UnspeltTextError: the vocabulary cannot spell it.
        """
        tokens = self.vocabulary.encode([text])[0]
        if joins:
            first = self.vocabulary.piece(tokens[0]).removeprefix(SPACE)
            if first in self._ids or not first:
                tokens[:1] = [self._ids[first]] if first else []
        if self.vocabulary.decode([tokens]) != [text]:
            raise UnspeltTextError(f"{where}: this model's vocabulary cannot spell {text!r}")
        return tuple(tokens)

    def proposal(self, tokens: Sequence[int], given: Sequence[bool]) -> Proposal:
        """A hypothesis to start from in which words end where given text ends."""
        opening = [False] * len(tokens)
        for place in range(1, len(tokens)):
            if given[place - 1] and not given[place]:
                opening[place] = not self._ends_open(tokens, given, place)
        return Proposal(tuple(tokens), tuple(given), tuple(opening))

    def _ends_open(self, tokens: Sequence[int], given: Sequence[bool], end: int) -> bool:
        """Whether the given text before a place ends in an opening bracket or quote, which the next
        word joins."""
        if tokens[end - 1] not in self._brackets:
            return False
        start = end
        while start and given[start - 1]:
            start -= 1
        [text] = self.vocabulary.decode([tokens[start:end]])
        # A quote right after a letter of a spaced script closes, though it may open elsewhere.
        mark, before = text[-1:], text[:-1]
        letter = before[-1:].isalpha() and not _may_follow(before[-1])
        return not text or (_opens(mark, before) and not (letter and mark in _OPENERS))

    def fits(self, template: Template, tokens: Sequence[int]) -> bool:
        """Whether a hypothesis has a template's form, words ending where its texts end."""
        given = template.given_in(tokens)
        if given is None:
            return False
        opening = self.proposal(tokens, given).opening
        return all(self.openings[t] for t, opens in zip(tokens, opening, strict=True) if opens)

    def template(
        self, parts: Sequence[str], where: str, has_suffix: bool = False
    ) -> Template | None:
        """Encode a template: texts around gaps, empty beside an outer gap; None if all are empty.

        Args:
            parts: the texts.
            where: file and line, for messages.
            has_suffix: whether the last text is a suffix: its line cannot show whether a space is
                before it, so the punctuation at its front decides.

        Raises:
            InputError: no spelling, or too long for the model.
        """
        segments: list[Tokens | None] = []
        for number, part in enumerate(part.lstrip(_MARK) for part in parts):
            if number:
                segments.append(None)
            if part.strip():
                joins = number > 0 and _may_follow(part[0])
                if has_suffix:
                    joins = joins and _closes("".join(parts[:number]), part)
                segments.append(self.encode(part.strip(), where, joins=joins))
        if not any(segments):
            return None
        template = Template(tuple(segments))
        self._check(template.least, where)
        return template

    def draft(self, text: str, where: str) -> Draft | None:
        """Read a draft; None where it is empty. Raises InputError: too long for the model."""
        tokens = self.vocabulary.encode([text.lstrip(_MARK).strip()])[0]
        self._check(len(tokens), where)
        return Draft(tuple(tokens)) if tokens else None

    def terms(self, text: str, where: str) -> Terms | None:
        """Read terms between tabs; None where there are none. Raises as `template`."""
        texts = (term.lstrip(_MARK).strip() for term in text.split("\t"))
        terms = tuple(self.encode(term, where) for term in texts if term)
        self._check(sum(map(len, terms)), where)
        return Terms(terms) if terms else None

    def _check(self, count: int, where: str) -> None:
        if count > self.most:
            raise InputError(
                f"{where}: at least {count} tokens, this model writes at most {self.most}"
            )


def _opens(mark: str, before: str) -> bool:
    """Whether a bracket or quote opens, or closes one of `before`."""
    if mark not in _OPENERS:
        return unicodedata.category(mark) in ("Ps", "Pi")
    # After a letter or a full stop, a quote closes.
    opened = len(re.findall(rf"(?<![\w.,!?;:]){_OPENERS[mark]}", before))
    return opened <= before.count(mark)


def _closes(before: str, suffix: str) -> bool:
    """Whether the punctuation at the front of a suffix closes what is before it, or is of a script
    without spaces; opening brackets and quotes, currency signs and # @ have a space before them.

    Args:
        before: given text before the gap.
        suffix: begins with a mark or a character of a script without spaces.
    """
    mark, rest = suffix[0], suffix[1:]
    kind = unicodedata.category(mark)
    # Those of Chinese and Japanese have no space before them.
    if unicodedata.east_asian_width(mark) in "WF":
        return True
    if kind in ("Ps", "Sc") or mark in "#@\u00bf\u00a1":
        return False
    if kind != "Pi" or any(map(WITHOUT_SPACES.match, rest)):
        return True
    # A quote at the end of a word closes.
    begins = rest[:1].isalnum() or unicodedata.category(rest[:1] or " ") in ("Ps", "Pi")
    return not ((begins or _CLOSERS.get(mark, mark) in rest) and _opens(mark, before))


def _may_follow(character: str) -> bool:
    """Whether no space is needed before a character: punctuation, symbols, scripts without
    spaces."""
    kind = unicodedata.category(character)[0]
    if kind == "L" and _SOUTH_EAST_ASIAN.match(character):
        return True
    return kind in "PS" or WITHOUT_SPACES.match(character) is not None
