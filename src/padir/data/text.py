"""The `files` data source: aligned plain text from paths or addresses.

Files must be UTF-8 without NUL or byte order mark, and those of a split must have equally many
lines, which end at "\\n" only. Lines are copied unchanged; cleaning removes carriage returns.
Downloads must have the right SHA-256.
"""

import gzip
import hashlib
import http.client
import io
import itertools
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from padir.config.data import (
    MOST_LINE_BYTES,
    MOST_UNPACKED,
    Dataset,
    DataSource,
    FilesSource,
    RemoteFile,
)
from padir.files import InputError, atomic_path, decode_lines, shown, write_lines

SPLITS = ("train", "valid", "test")
TIMEOUT_SECONDS = 60
_BLOCK = 1 << 20


def text_name(split: str, language: str, reference: int = 0) -> str:
    """File name of a split's side: `test.en`, and `test.en.1` for its first further reference."""
    return f"{split}.{language}" + (f".{reference}" if reference else "")


def text_files(source: DataSource, pair: str, folder: Path) -> list[Path]:
    """The files of all splits of a language pair in a folder."""
    return [
        folder / text_name(split, language, reference)
        for split, language in itertools.product(SPLITS, pair.split("-"))
        for reference in range(1 + source.further_references(split, language))
    ]


def check_references(source: DataSource, pair: str, folder: Path) -> None:
    """Refuse further references that the source does not have, such as those of an earlier fetch.

    Raises:
        InputError: names the file.
    """
    for split, language in itertools.product(SPLITS, pair.split("-")):
        number = source.further_references(split, language)
        path = folder / text_name(split, language, 1 + number)
        if path.exists():
            raise InputError(
                f"{shown(path)}: the dataset's settings have {number} further references:"
                " delete this file, or fetch into an empty folder"
            )


def check_own_text(dataset: Dataset, targets: Iterable[Path]) -> None:
    """Refuse to write files from which a dataset is read. Raises InputError that names one."""
    read = {path.resolve() for path in dataset.local_files()}
    for path in targets:
        if path.resolve() in read:
            raise InputError(
                f"{shown(path)}: is one of your own text files and is not overwritten: give --out"
                " another folder"
            )


def write_files_source(source: FilesSource, folder: Path) -> None:
    """Copy every file of every split to `folder`, under the names of `text_name`.

    Raises:
        InputError: a file is unavailable or no text, or line counts differ; the message names the
            file, and line and byte or both counts.
    """
    for split in SPLITS:
        files = getattr(source, split)
        counts: list[tuple[str, int]] = []
        for language in sorted(files.files):
            items = [files.files[language], *files.references.get(language, [])]
            for reference, item in enumerate(items):
                target = folder / text_name(split, language, reference)
                counts.append(copy_text(item, Path(source.folder), target))
                (first, expected), (name, count) = counts[0], counts[-1]
                if count != expected:
                    raise InputError(
                        f"{split}: line counts differ: {first} has {expected}, {name} has {count}"
                    )


def copy_text(item: str | RemoteFile, folder: Path, target: Path) -> tuple[str, int]:
    """Write one file's lines to `target`; return its name for messages and its line count.

    Raises:
        InputError: as in `write_files_source`.
    """
    if isinstance(item, str):
        path = folder / item
        return shown(path), write_lines(target, _unpacked_lines(path, item))
    packed = target.with_name(target.name + ".download")
    name = shown(item.url)
    try:
        download(item, packed)
        return name, write_lines(target, _unpacked_lines(packed, item))
    finally:
        packed.unlink(missing_ok=True)


def _unpacked_lines(path: Path, item: str | RemoteFile) -> Iterator[str]:
    """The lines of a file that lies at `path`, unpacked if its address ends in .gz."""
    if isinstance(item, str):
        name, address, most = shown(path), item, MOST_UNPACKED
        advice = "unpack it yourself if that is right"
    else:
        name, address, most = shown(item.url), item.url, item.max_unpacked_bytes
        advice = "raise max_unpacked_bytes if that is right"
    try:
        if not address.endswith(".gz"):
            with open(path, "rb") as file:
                yield from decode_lines(file, name)
            return
        with gzip.open(path, "rb") as packed:
            yield from decode_lines(_limited_lines(packed, name, most, advice), name)
    except gzip.BadGzipFile as error:
        raise InputError(f"{name}: not a gzip file: {error}") from error
    except (EOFError, zlib.error) as error:
        raise InputError(f"{name}: damaged or cut short: {error}") from error
    except OSError as error:
        raise InputError(f"{name}: cannot read: {error.strerror}") from error


def _limited_lines(packed: gzip.GzipFile, name: str, most: int, advice: str) -> Iterator[bytes]:
    """Lines of a packed file, which may unpack to a thousand times its size, or to one line."""
    # A buffer of its own splits lines faster than the unpacking file.
    file, total = io.BufferedReader(packed, _BLOCK), 0
    while line := file.readline(min(most - total, MOST_LINE_BYTES) + 1):
        total += len(line)
        if total > most:
            raise InputError(f"{name}: unpacks to more than {most:,} bytes; {advice}")
        if len(line) > MOST_LINE_BYTES:
            raise InputError(f"{name}: a line unpacks to more than {MOST_LINE_BYTES:,} bytes")
        yield line


class _SameScheme(urllib.request.HTTPRedirectHandler):
    """Follows redirects to the same scheme, and from http to https."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        before, after = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if after not in (before, "https"):
            raise urllib.error.URLError(f"it redirects from {before} to {after}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextmanager
def _network_errors(url: str) -> Iterator[None]:
    """Turn what fails at an address into an InputError, apart from what fails on the disk."""
    try:
        yield
    except urllib.error.URLError as error:
        reason = shown(str(error.reason))
        raise InputError(f"{shown(url)}: cannot download: {reason}") from error
    except (http.client.HTTPException, OSError, ValueError) as error:
        reason = shown(str(getattr(error, "strerror", None) or error)) or type(error).__name__
        raise InputError(f"{shown(url)}: cannot download: {reason}") from error


def _next_block(response: Any, url: str) -> bytes:
    with _network_errors(url):
        return response.read(_BLOCK)


def download(remote: RemoteFile, path: str | PathLike[str]) -> None:
    """Download a file to `path`.

    Raises:
        InputError: unreachable, longer than `max_bytes`, or of another digest (the message names
            both); `path` is then left as it was.
    """
    digest, length = hashlib.sha256(), 0
    with atomic_path(path) as temporary:
        with _network_errors(remote.url):
            response = urllib.request.build_opener(_SameScheme).open(
                remote.url, timeout=TIMEOUT_SECONDS
            )
        with response, temporary.open("wb") as file:
            while block := _next_block(response, remote.url):
                length += len(block)
                if length > remote.max_bytes:
                    raise InputError(
                        f"{shown(remote.url)}: longer than {remote.max_bytes:,} bytes; raise"
                        " max_bytes if that is right"
                    )
                digest.update(block)
                file.write(block)
        if digest.hexdigest() != remote.sha256:
            raise InputError(
                f"{shown(remote.url)}: SHA-256 is {digest.hexdigest()}, expected {remote.sha256}"
            )
