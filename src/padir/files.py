"""Parallel text, JSON and JSON lines on disk. All writes are atomic.

Text is UTF-8, and lines end at "\\n" only: carriage returns, U+2028 and NEL stay inside, so that
files of a pair stay aligned. Invalid UTF-8, a NUL character and a byte order mark are errors.
"""

import errno
import hashlib
import json
import math
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from padir.temporary import remove_stale, temporary_path

BOM = b"\xef\xbb\xbf"


class InputError(ValueError):
    """An error in the user's input; the message is one line."""


def shown(path: str | os.PathLike[str]) -> str:
    """A path as messages show it: escaped and quoted if it would break the line."""
    text = os.fspath(path)
    return text if text.isprintable() else ascii(text)


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[BufferedReader]:
    """Open a file. Raises InputError where it cannot be opened, or read in the block."""
    try:
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"{shown(path)}: cannot read: {error.strerror}") from error


def why_not_written(path: Path, error: OSError, needed: int | None = None) -> str:
    """Reason of a failed write, and for a full disk what to do.

    Args:
        path: of the file.
        error: what the system said.
        needed: bytes that were to be written, where that is known.
    """
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        # mkdir reports a file in a folder's place as that file's existence.
        return "Not a directory" if isinstance(error, FileExistsError) else str(error.strerror)
    place = next(folder for folder in path.absolute().parents if folder.exists())
    free = shutil.disk_usage(place).free
    device = next(folder for folder in (place, *place.parents) if os.path.ismount(folder))
    reason = "no space left on" if error.errno == errno.ENOSPC else "quota exceeded on"
    amount = "" if needed is None else f"{needed:,} bytes needed, "
    return f"{reason} {shown(device)}: {amount}{free:,} free; free some and run the same command"


@contextmanager
def write_errors(path: str | os.PathLike[str], needed: int | None = None) -> Iterator[None]:
    """Turn a failed write to a file or folder into an InputError; see `why_not_written`."""
    try:
        yield
    except OSError as error:
        reason = why_not_written(Path(path), error, needed)
        raise InputError(f"{shown(path)}: cannot write: {reason}") from error


def is_device(path: Path) -> bool:
    """Whether a path is there, and neither a file nor a folder: a device or a pipe."""
    # Unlike methods of Path, these take a place that cannot be looked at for none.
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


@contextmanager
def atomic_path(path: str | os.PathLike[str], needed: int | None = None) -> Iterator[Path]:
    """Give a path to write to, which replaces `path` once the block ends without an error.

    The file appears whole, synced to disk, or not at all. A failed block leaves an older file at
    `path` untouched. Missing folders are made, and temporary files that killed processes of this
    machine left for the same `path` are removed.

    Args:
        path: of the file, of a link to it, or of a device or pipe, which is written into.
        needed: its size in bytes where known, for the message of a full disk.

    Raises:
        InputError: the file cannot be written (no permission, full disk, ...).
    """
    path = Path(path)
    if is_device(path):
        with TemporaryDirectory() as folder:
            yield (content := Path(folder) / "content")
            with write_errors(path):
                path.write_bytes(content.read_bytes())
        return
    path = Path(os.path.realpath(path)) if os.path.islink(path) else path
    temporary = temporary_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(path)
        yield temporary
        _sync(temporary)
        temporary.replace(path)
        _sync(path.parent)
    except OSError as error:
        ours = {str(temporary), str(path), *map(str, path.parents)}
        if error.filename is not None and os.fspath(error.filename) not in ours:
            raise
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        reason = why_not_written(path, error, needed)
        raise InputError(f"{shown(path)}: cannot write: {reason}") from error
    finally:
        # ENOTDIR and the like: the folder does not exist, so neither does the temporary file.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a whole file atomically. Raises InputError as `atomic_path` does."""
    with atomic_path(path, len(content)) as temporary:
        temporary.write_bytes(content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, atomically and without touching its line ends."""
    write_bytes(path, text.encode("utf-8"))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a whole file. Raises InputError where that is impossible."""
    with reading(path) as file:
        return file.read()


def iter_lines(path: str | os.PathLike[str], *, strip_bom: bool = False) -> Iterator[str]:
    """Yield a text file's lines without their "\\n"; a final "\\n" ends the last line.

    Args:
        path: of the file.
        strip_bom: remove a byte order mark at the start, with a note on stderr, instead of
            refusing it.

    Raises:
        InputError: unreadable; a byte order mark; invalid UTF-8 (line, and byte within the line,
            both from 1); a NUL character (line).
    """
    with reading(path) as file:
        yield from decode_lines(file, shown(path), strip_bom=strip_bom)


def decode_lines(
    file: Iterable[bytes],
    name: str,
    first: int = 1,
    *,
    strip_bom: bool = False,
    nul_as_space: bool = False,
) -> Iterator[str]:
    """Decode an open binary file as `iter_lines` does.

    Args:
        file: yields lines with their ends.
        name: of the file, for messages.
        first: number of the first line that `file` yields.
        strip_bom: as in `iter_lines`.
        nul_as_space: replace NUL characters, instead of refusing them.
    """
    for number, raw in enumerate(file, start=first):
        if number == 1 and strip_bom and raw.startswith(BOM):
            print(f"{name}: starts with a byte order mark, which was removed", file=sys.stderr)
            raw = raw.removeprefix(BOM)
            if not raw:
                return
        elif number == 1 and raw.startswith(BOM):
            raise InputError(
                f"{name}: line 1: starts with a byte order mark; save the file as UTF-8 without one"
            )
        try:
            line = raw.removesuffix(b"\n").decode("utf-8")
        except UnicodeDecodeError as error:
            # Latin-1 would take every byte, and make control characters of Windows' quotes.
            code = "utf-16" if number == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "cp1252"
            problem = f"not valid UTF-8; convert it, such as with iconv -f {code} -t utf-8"
            raise InputError(f"{name}: line {number}, byte {error.start + 1}: {problem}") from error
        if nul_as_space:
            line = line.replace("\0", " ")
        if "\0" in line:
            raise InputError(f"{name}: line {number}: holds a NUL character")
        yield line


def read_lines(path: str | os.PathLike[str], *, strip_bom: bool = False) -> list[str]:
    """All lines of a text file; arguments and errors as in `iter_lines`."""
    return list(iter_lines(path, strip_bom=strip_bom))


def read_aligned(*paths: str | os.PathLike[str], strip_bom: bool = False) -> list[list[str]]:
    """The lines of files that are aligned line for line.

    A file whose name ends in .jsonl holds a JSON list a line: several texts, such as all references
    of each sentence.

    Raises:
        InputError: as in `iter_lines`; or line counts that differ, with both files named.
    """
    files, names = [], []
    for path in paths:
        texts = _texts(path) if is_jsonl(path) else [read_lines(path, strip_bom=strip_bom)]
        files += texts
        names += [path] * len(texts)
    _check_counts(names, [len(lines) for lines in files])
    return files


def is_jsonl(path: str | os.PathLike[str]) -> bool:
    """Whether a file's name says that it holds a JSON value a line."""
    return os.fspath(path).endswith(".jsonl")


def _texts(path: str | os.PathLike[str]) -> list[list[str]]:
    """The texts of a file of JSON lists, all of one length."""
    rows = [_row_of_texts(path, line, number) for number, line in _numbered(path)]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise InputError(
                f"{shown(path)}: line {number}: found {len(row)} texts, line 1 has {len(rows[0])}"
            )
    return [list(column) for column in zip(*rows, strict=True)] or [[]]


def _numbered(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    return enumerate(iter_lines(path), start=1)


def _row_of_texts(path: str | os.PathLike[str], line: str, number: int) -> list[str]:
    row = parse_json(path, line.encode(), number)
    if not isinstance(row, list) or not row or not all(isinstance(text, str) for text in row):
        raise InputError(f"{shown(path)}: line {number}: allowed is a JSON list of texts")
    return row


def count_aligned(*paths: str | os.PathLike[str]) -> int:
    """Number of lines of files that are aligned line for line, read as streams.

    Raises:
        InputError: as in `read_aligned`.
    """
    counts = [sum(1 for _ in iter_lines(path)) for path in paths]
    _check_counts(paths, counts)
    return counts[0]


def iter_aligned(*paths: str | os.PathLike[str]) -> Iterator[tuple[str, ...]]:
    """Yield aligned lines of files of any size; all are checked beforehand.

    Raises:
        InputError: as in `read_aligned`, before the first line is yielded.
    """
    count_aligned(*paths)
    for rows in zip(*map(_iter_rows, paths), strict=True):
        yield tuple(text for row in rows for text in row)


def _iter_rows(path: str | os.PathLike[str]) -> Iterator[list[str]]:
    for number, line in _numbered(path):
        yield _row_of_texts(path, line, number) if is_jsonl(path) else [line]


def _check_counts(paths: Sequence[str | os.PathLike[str]], counts: Sequence[int]) -> None:
    for path, count in zip(paths, counts, strict=True):
        if count != counts[0]:
            raise InputError(
                f"line counts differ: {shown(paths[0])} has {counts[0]}, {shown(path)} has {count}"
            )


def write_lines(path: str | os.PathLike[str], lines: Iterable[str]) -> int:
    """Write one line each, atomically; return how many.

    Raises:
        InputError: a line that would not be read back as it is (it holds "\\n", NUL or a lone
            surrogate, or the first begins with a byte order mark), or an unwritable file.
    """
    count = 0
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        for count, line in enumerate(lines, start=1):
            if "\n" in line or "\0" in line or (count == 1 and line.startswith("\ufeff")):
                raise InputError(
                    f"{shown(path)}: line {count} holds a newline, NUL or byte order mark"
                    " and would not be read back as written"
                )
            try:
                file.write(line.encode("utf-8") + b"\n")
            except UnicodeEncodeError as error:
                raise InputError(
                    f"{shown(path)}: line {count} holds a lone surrogate, which UTF-8 cannot"
                ) from error
    return count


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write one JSON document, indented, keys in the order given. NaN and infinity: ValueError."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read one JSON document. Raises InputError with the line that is wrong."""
    return parse_json(path, read_bytes(path), 0)


def read_json_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read one JSON object. Raises InputError where the file holds anything else."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{shown(path)}: not a JSON object")
    return content


def write_jsonl(
    path: str | os.PathLike[str], values: Iterable[Mapping[str, Any] | Sequence[Any]]
) -> int:
    """Write one JSON object or list a line, atomically; return how many."""
    return write_lines(
        path,
        (json.dumps(value, ensure_ascii=False, allow_nan=False) for value in values),
    )


def read_jsonl(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read one JSON object a line. Raises InputError with the line that is wrong."""
    records = []
    for number, line in enumerate(iter_lines(path), start=1):
        record = parse_json(path, line.encode("utf-8"), number)
        if not isinstance(record, dict):
            raise InputError(f"{shown(path)}: line {number}: not a JSON object")
        records.append(record)
    return records


def parse_json(path: str | os.PathLike[str], content: bytes, number: int) -> Any:
    """Parse one document; `number` is its line in a JSON-lines file, 0 for a whole file."""
    try:
        document = json.loads(content.decode("utf-8"), parse_constant=_refused, parse_float=_finite)
        if b"\\ud" in content.lower():
            # Half of a pair of escapes is a character that no file can hold.
            json.dumps(document, ensure_ascii=False).encode("utf-8")
        return document
    except InputError as error:
        raise InputError(f"{shown(path)}: {error}") from error
    except RecursionError:
        raise InputError(f"{shown(path)}: not JSON: nested too deeply") from None
    except UnicodeEncodeError:
        raise InputError(f"{shown(path)}: not JSON: holds a lone surrogate") from None
    except json.JSONDecodeError as error:
        line = number or error.lineno
        raise InputError(f"{shown(path)}: line {line}: not JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{shown(path)}: line {line}: not valid UTF-8") from error
    except ValueError:
        # An integer of thousands of digits.
        raise InputError(f"{shown(path)}: not JSON: a number is too long") from None


def _refused(constant: str) -> NoReturn:
    raise InputError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    if abs(value := float(text)) == math.inf:
        raise InputError(f"{text[:40]} is out of the range of numbers")
    return value


def sha256_file(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(value: Any) -> str:
    """SHA-256 of a JSON value's canonical form: sorted keys, no spaces."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()
