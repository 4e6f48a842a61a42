"""JSON files with a checksum of their content, by which a changed digit is detected."""

import json
import os
from collections.abc import Mapping
from typing import Any

from padir.files import InputError, digest, read_json, shown, write_json

CHECKSUM = "checksum"
"""Key of the SHA-256 of all other keys (`padir.files.digest`)."""


class ChecksumMismatch(InputError):
    """A JSON file whose checksum is not that of its content."""


def write_with_checksum(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write a JSON object with its checksum. NaN and infinity: ValueError."""
    # The digest of what will be read: JSON turns integer keys into strings.
    written = json.loads(json.dumps(dict(content), allow_nan=False))
    write_json(path, {**content, CHECKSUM: digest(written)})


def read_with_checksum(path: str | os.PathLike[str], remedy: str) -> Any:
    """Read what `write_with_checksum` wrote, without the checksum.

    A file that has none, written by hand, is read as it is.

    Args:
        path: of the file.
        remedy: for the message, how to regenerate it.

    Raises:
        ChecksumMismatch: it is damaged or edited.
        InputError: it is missing or no JSON.
    """
    content = read_json(path)
    if isinstance(content, dict) and content.pop(CHECKSUM, None) not in (None, digest(content)):
        raise ChecksumMismatch(
            f"{shown(path)}: damaged or edited: its {CHECKSUM} is not that of its content:"
            f" {remedy}, or take {CHECKSUM} out to use it as it is"
        )
    return content


def rerun_remedy(path: str | os.PathLike[str]) -> str:
    """How to regenerate a file that a rule of the workflow writes, for error messages."""
    return f"run snakemake --force {shown(path)} with the options of its run"
