"""Packs lines into requests to a translation service, within its limits.

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
    """A line to translate: its number in the file, from 1, its text and `text_digest`."""

    number: int
    text: str
    digest: bytes

    @property
    def characters(self) -> int:
        """Code points, which is what the service counts and bills, white space included."""
        return len(self.text)


def text_digest(text: str) -> bytes:
    """SHA-256 of a text in UTF-8, its key in the ledger: 32 bytes."""
    return hashlib.sha256(text.encode("utf-8")).digest()


def is_blank(text: str) -> bool:
    """Whether there is nothing to translate; such a line has an empty translation."""
    return not text or text.isspace()


def source_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file, from 1, without the carriage returns that end them.
    Raises InputError where it is unreadable or no text."""
    return enumerate((line.rstrip("\r") for line in iter_lines(path)), start=1)


def read_sources(path: str | os.PathLike[str]) -> Iterator[Line]:
    """The lines of a file that a service has to translate.

    Raises:
        InputError: unreadable, no text, or a line is longer than a request may be.
    """
    for number, text in source_lines(path):
        if is_blank(text):
            continue
        if len(text) > REQUEST_CHARACTERS:
            raise InputError(
                f"{shown(path)}: line {number} has {len(text)} characters; Cloud Translation takes"
                f" {REQUEST_CHARACTERS} in a request: split it or leave it out"
            )
        yield Line(number, text, text_digest(text))


def pack(lines: Iterable[Line], characters: int) -> Iterator[tuple[Line, ...]]:
    """Fill requests with lines in their order, without repeats inside a request.

    Args:
        lines: at most `REQUEST_CHARACTERS` long each.
        characters: code points in a request; a longer line gets a request of its own.
    """
    request: dict[bytes, Line] = {}
    size = 0
    for line in lines:
        if line.digest in request:
            continue
        if request and (size + line.characters > characters or len(request) == REQUEST_LINES):
            yield tuple(request.values())
            request, size = {}, 0
        request[line.digest] = line
        size += line.characters
    if request:
        yield tuple(request.values())
