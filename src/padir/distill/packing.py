"""Requests to a translation service: lines in their order, as many as its limits allow.

Limits of the Cloud Translation API v3: 1,024 strings (reference of TranslateTextRequest) and
30,000 code points (page "Quotas and limits") in one request.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from padir.files import InputError, iter_lines, shown

REQUEST_LINES = 1024
REQUEST_CHARACTERS = 30_000


class Line(NamedTuple):
    """A line to translate.

    Attributes:
        number: in its file, from 1.
        text: as it stands there, without its end.
        digest: SHA-256 of the text in UTF-8, 32 bytes.
    """

    number: int
    text: str
    digest: bytes

    @property
    def characters(self) -> int:
        """Code points, which is what the service counts and bills, white space included."""
        return len(self.text)


def text_digest(text: str) -> bytes:
    """SHA-256 of a text in UTF-8: what the ledger knows it by."""
    return hashlib.sha256(text.encode("utf-8")).digest()


def is_blank(text: str) -> bool:
    """Whether there is nothing to translate; such a line is its own, empty, translation."""
    return not text or text.isspace()


def read_sources(path: str | os.PathLike[str]) -> Iterator[Line]:
    """The lines of a file that a service has to translate.

    Raises:
        InputError: unreadable, no text, or a line is longer than a request may be.
    """
    for number, text in enumerate(iter_lines(path), start=1):
        if is_blank(text):
            continue
        if len(text) > REQUEST_CHARACTERS:
            raise InputError(
                f"{shown(path)}: line {number} has {len(text)} characters; Cloud Translation takes"
                f" {REQUEST_CHARACTERS} in a request: split it or leave it out"
            )
        yield Line(number, text, text_digest(text))


def pack(lines: Iterable[Line], characters: int) -> Iterator[tuple[Line, ...]]:
    """Fill requests with lines in their order, without repeats inside of a request.

    Args:
        lines: at most `REQUEST_CHARACTERS` long each.
        characters: code points in a request; a longer line has one to itself.
    """
    held: dict[bytes, Line] = {}
    size = 0
    for line in lines:
        if line.digest in held:
            continue
        if held and (size + line.characters > characters or len(held) == REQUEST_LINES):
            yield tuple(held.values())
            held, size = {}, 0
        held[line.digest] = line
        size += line.characters
    if held:
        yield tuple(held.values())
