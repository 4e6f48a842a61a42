"""JSON files that carry the checksum of their own content, so that a changed digit shows."""

import json
import os
from collections.abc import Mapping
from typing import Any

from padir.files import InputError, digest, read_json, shown, write_json

CHECKSUM = "checksum"
"""Key under which such a file keeps the digest of all its other keys."""


class DamagedContent(InputError):
    """A file whose content is not the one that its checksum is of."""


def write_checked(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write a JSON object with its checksum. NaN and infinity: ValueError."""
    # Of what JSON makes of it: whole numbers as keys become text.
    written = json.loads(json.dumps(dict(content), allow_nan=False))
    write_json(path, {**content, CHECKSUM: digest(written)})


def read_checked(path: str | os.PathLike[str], remedy: str) -> Any:
    """Read what `write_checked` wrote, without the checksum.

    A file that has none, written by hand or by an earlier version, is read as it is.

    Args:
        path: of the file.
        remedy: how to write it anew, for the message.

    Raises:
        DamagedContent: it is damaged or edited.
        InputError: it is missing or no JSON.
    """
    content = read_json(path)
    if isinstance(content, dict) and content.pop(CHECKSUM, None) not in (None, digest(content)):
        raise DamagedContent(
            f"{shown(path)}: damaged or edited: its {CHECKSUM} is not that of its content:"
            f" {remedy}, or take {CHECKSUM} out to use it as it is"
        )
    return content


def made_by_workflow(path: str | os.PathLike[str]) -> str:
    """The remedy for a file that a rule of the workflow writes."""
    return f"run snakemake --force {shown(path)} with the options of its run"
