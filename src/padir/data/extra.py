"""Cleans extra sources: monolingual text that a teacher translates besides the training sources.

They are cleaned by the rules of training text, as pairs with one side.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from padir.config.data import Cleaning, RemoteFile
from padir.data.clean import Side, clean_sides, line_mark
from padir.data.distinct import Spill, as_rows
from padir.data.parallel import BLOCK_LINES, line_blocks, read_block
from padir.data.statistics import fingerprint
from padir.data.text import copy_text, text_name
from padir.files import iter_aligned
from padir.temporary import temporary_folder


def clean_extra(
    settings: Cleaning,
    language: str,
    file: Path | RemoteFile,
    train: Path,
    scored: Mapping[str, Path],
    out: Path,
    workers: int = 1,
) -> dict[str, Any]:
    """Write the lines of a file that are usable, new, and in no validation or test set.

    Args:
        settings: rules of cleaning.
        language: of the text.
        file: to read or to download.
        train: cleaned training text in the language; a line that stands there is a duplicate.
        scored: all references in the language, by split.
        out: folder to write `extra.LANGUAGE` to.
        workers: processes; their number does not change the output.

    Returns:
        Statistics as those of the training split.

    Raises:
        InputError: the file is unavailable or no text, or no line is left.
    """
    known = {
        split: {
            line_mark(language, line)
            for lines in iter_aligned(path)
            for line in lines
            if line.strip()
        }
        for split, path in scored.items()
    }
    with temporary_folder(out / text_name("extra", language)) as folder:
        side = Side.of(settings, folder, out, "extra", language)
        copy_text(str(file) if isinstance(file, Path) else file, Path(), side.raw)
        return clean_sides(settings, [side], known, workers, _occurred(train, out))


def _occurred(text: Path, folder: Path) -> tuple[Spill, int]:
    """Fingerprints of the lines of a text, numbered from 0, and how many there are."""
    spill, lines = Spill(3, folder), 0
    for block in line_blocks(text, BLOCK_LINES):
        marks = as_rows(b"".join(map(fingerprint, read_block(text, block))))
        numbers = np.arange(lines, lines + block.lines, dtype=np.uint64)
        spill.add(np.column_stack([marks, numbers]))
        lines += block.lines
    return spill, lines
