"""The `files` data source: aligned plain text from paths or addresses, checked and laid out.

Each file must be UTF-8 without NUL or byte order mark, and the files of a split must have equally
many lines, which end at "\\n" only. Lines are handed on unchanged; a carriage return before the
"\\n" is removed (and counted) by cleaning.
"""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from padir.config.data import FilesSource, RemoteFile
from padir.data.fetch import download
from padir.files import InputError, decode_lines, shown, write_lines

SPLITS = ("train", "valid", "test")


def text_name(split: str, language: str, reference: int = 0) -> str:
    """File name of a split's side: `test.en`, and `test.en.1` for its first further reference."""
    return f"{split}.{language}" + (f".{reference}" if reference else "")


def write_files_source(source: FilesSource, folder: Path) -> None:
    """Copy every file of every split to `folder`, under the names of `text_name`.

    Raises:
        InputError: a file that cannot be had or is no text, or unequal line counts; the message
            names the file, and line and byte or both counts.
    """
    for split in SPLITS:
        first: tuple[str, int] | None = None
        files = getattr(source, split)
        for language in sorted(files.files):
            items = [files.files[language], *files.references.get(language, [])]
            for reference, item in enumerate(items):
                target = folder / text_name(split, language, reference)
                name, count = _copy(item, Path(source.folder), target)
                if first is None:
                    first = name, count
                elif first[1] != count:
                    raise InputError(
                        f"{split}: line counts differ: {first[0]} has {first[1]},"
                        f" {name} has {count}"
                    )


def _copy(item: str | RemoteFile, folder: Path, target: Path) -> tuple[str, int]:
    """Write one file's lines to `target`; return its name for messages and its line count."""
    if isinstance(item, str):
        path = folder / item
        return shown(path), write_lines(target, _unpacked_lines(path, shown(path), item))
    packed = target.with_name(target.name + ".download")
    name = shown(item.url)
    try:
        download(item, packed)
        return name, write_lines(target, _unpacked_lines(packed, name, item.url))
    finally:
        packed.unlink(missing_ok=True)


def _unpacked_lines(path: Path, name: str, address: str) -> Iterator[str]:
    """The lines of a file, which is unpacked first if its address ends in .gz."""
    opened = gzip.open if address.endswith(".gz") else open
    try:
        with opened(path, "rb") as file:
            yield from decode_lines(file, name)
    except gzip.BadGzipFile as error:
        raise InputError(f"{name}: not a gzip file: {error}") from error
    except (EOFError, zlib.error) as error:
        raise InputError(f"{name}: damaged or cut short: {error}") from error
    except OSError as error:
        raise InputError(f"{name}: cannot read: {error.strerror}") from error
