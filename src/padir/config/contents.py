"""Checksums of the user's own files, for digests: a path says where text lies, not which text."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from padir.checksums import read_with_checksum
from padir.files import InputError, sha256_file

CONTENTS = "contents"
"""Key of the checksums in a settings file that the workflow writes."""


def contents(files: Iterable[str | Path], record: str | None = None) -> dict[str, str | None]:
    """SHA-256 of files, by path. They are read once in a process.

    Args:
        files: of the user's.
        record: settings file of an earlier run. A file that has gone since counts as it was then,
            so that results outlive the text they were made from.

    Returns:
        Checksums; None for a file that is not there and was not recorded.
    """
    return {str(path): _checksum(str(path), record) for path in files}


@cache
def _checksum(path: str, record: str | None) -> str | None:
    if Path(path).is_file():
        return sha256_file(path)
    try:
        return read_with_checksum(record or "", "")[CONTENTS].get(path)
    except (InputError, KeyError, TypeError, AttributeError):
        return None
