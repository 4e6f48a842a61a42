"""Cards in Markdown: the metadata block of a hub, and the licence of the dataset.

A hub reads the YAML between the two `---` at the head of README.md; its key `license` names a
licence by an identifier such as cc-by-4.0.
"""

import os
import re
from pathlib import Path
from typing import Any

import yaml

from padir.files import InputError, read_bytes, shown, write_text

CARD_FILE = "README.md"
UNKNOWN = "unknown"
"""What a hub reads where no licence is stated."""
_HEAD = re.compile(r"\A---\n(.*?)^---\n", re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"\n## Licence of the dataset\n.*?(?=\n## |\Z)", re.DOTALL)


def head(fields: dict[str, Any]) -> str:
    """The block of metadata at the head of a card, with the line that ends it."""
    return f"---\n{yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)}---\n"


def without_head(card: str) -> str:
    """A card without its metadata."""
    return _HEAD.sub("", card)


def license_section(license: str | None) -> str:
    """The section on the licence of the dataset.

    Args:
        license: as its config states it; None: it states none.
    """
    text = "The config does not state it (`license` of the dataset). Look it up before you publish."
    if license is not None:
        text = f"Stated in the config: {license}."
    return f"\n## Licence of the dataset\n\n{text}\n"


def with_license(card: str, license: str | None) -> str:
    """A card with this licence of the dataset in metadata and section; the rest stays.

    Args:
        card: of a dataset or a model, also one of an earlier version, without section or metadata.
        license: of the dataset; None: not stated.

    Raises:
        ValueError: the card's block of metadata is no YAML mapping.
    """
    block = _HEAD.match(card)
    try:
        fields = yaml.safe_load(block[1]) if block else {}
    except yaml.YAMLError:
        fields = None
    if not isinstance(fields, dict):
        raise ValueError("its metadata are no YAML mapping")
    text = _SECTION.sub("", without_head(card) if block else f"\n{card}").rstrip("\n")
    return f"{head({**fields, 'license': license or UNKNOWN})}{text}\n{license_section(license)}"


def state_license(folder: str | os.PathLike[str], license: str | None) -> Path:
    """Write the licence of the dataset into the card of a folder, if it is not there yet.

    Args:
        folder: of a cleaned dataset or a bundle.
        license: of the dataset; None: not stated.

    Returns:
        The card's path.

    Raises:
        InputError: there is no card, or it is not one of ours.
    """
    path = Path(folder) / CARD_FILE
    content = read_bytes(path)
    try:
        changed = with_license(content.decode("utf-8"), license)
    except ValueError as error:
        raise InputError(f"{shown(path)}: not a card of padir: {error}") from error
    if changed.encode("utf-8") != content:
        write_text(path, changed)
    return path
