"""Cards in Markdown: the metadata block of a hub, and the licence of the dataset.

A hub reads the YAML between the two `---` at the head of README.md; its key `license` names a
licence by an identifier such as cc-by-4.0.
"""

import re
from typing import Any

import yaml

CARD_FILE = "README.md"
UNKNOWN = "unknown"
"""What a hub reads where no licence is stated."""
ELSEWHERE = (
    "Not stated here. The report shows this card with the setting `license` of the dataset."
    " Look it up before you publish."
)
UNSTATED = "The config does not state it (`license` of the dataset). Look it up before you publish."
_HEAD = re.compile(r"\A---\n(.*?)^---\n", re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"\n## Licence of the dataset\n.*?(?=\n## |\Z)", re.DOTALL)


def head(fields: dict[str, Any]) -> str:
    """The block of metadata at the head of a card, with the line that ends it."""
    return f"---\n{yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)}---\n"


def without_head(card: str) -> str:
    """A card without its metadata."""
    return _HEAD.sub("", card)


def license_section(license: str | None, unstated: str = ELSEWHERE) -> str:
    """The section on the licence of the dataset.

    Args:
        license: as its config states it; None: not known.
        unstated: what to say then.
    """
    text = unstated if license is None else f"Stated in the config: {license}."
    return f"\n## Licence of the dataset\n\n{text}\n"


def metadata(card: str) -> dict[str, Any]:
    """The metadata of a card; empty where it has none.

    Raises:
        ValueError: they are no YAML mapping.
    """
    block = _HEAD.match(card)
    try:
        fields = yaml.safe_load(block[1]) if block else {}
    except yaml.YAMLError:
        fields = None
    if not isinstance(fields, dict):
        raise ValueError("its metadata are no YAML mapping")
    return fields


def with_license(card: str, license: str | None) -> str:
    """A card with this licence of the dataset in metadata and section; the rest stays.

    Cards are written without it, as no result depends on it. The report adds the config's.

    Args:
        card: of a dataset or a model, also one of an earlier version, without section or metadata.
        license: of the dataset, as the config states it; None: it states none.

    Raises:
        ValueError: the card's block of metadata is no YAML mapping.
    """
    block = head({**metadata(card), "license": license or UNKNOWN})
    text = _SECTION.sub("", without_head(card) if _HEAD.match(card) else f"\n{card}").rstrip("\n")
    return f"{block}{text}\n{license_section(license, UNSTATED)}"
