"""Whether scores measure the same thing: what differs never shares a table."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from padir.files import InputError, shown

Document = Mapping[str, Any]
MEASURES: Mapping[str, Callable[[Document], Any]] = {
    "test-set digest": lambda document: document["test_digest"],
    "number of resamples": lambda document: document["replicates"]["samples"],
    "resampling seed": lambda document: document["replicates"]["seed"],
}


def comparable(
    documents: Sequence[tuple[Path, Document]], further: Mapping[str, Callable[[Document], Any]]
) -> None:
    """Refuse scores of one test set that do not measure the same thing.

    Args:
        documents: with their files.
        further: what has to be equal besides `MEASURES`, by its name in words.

    Raises:
        InputError: naming the first pair of files that differ, and in what.
    """
    for path, document in documents[1:]:
        first, reference = documents[0]
        for name, measure in {**further, **MEASURES}.items():
            if measure(document) != measure(reference):
                raise InputError(
                    f"scores cannot share a table, {name} differs: {measure(reference)} in"
                    f" {shown(first)}, {measure(document)} in {shown(path)}"
                )
