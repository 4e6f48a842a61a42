"""Size of an experiment's text: counted, or taken from the settings before it exists.

Stated pairs are `source.pairs` of a TFDS dataset, the numbers of a synthetic one, or the lines of
local files before cleaning; their lines have a typical length.
"""

import os
from pathlib import Path
from typing import NamedTuple

from padir.config.data import Dataset, FilesSource, SyntheticSource
from padir.data.text import text_name
from padir.files import decode_lines, reading, shown
from padir.vocab import Vocabulary

# WMT14 German-English in TFDS's catalogue: 1.36 GiB for two sides of 4.5 million pairs.
LINE_BYTES = 160.0
# Both languages of config/config.yaml's synthetic pair together: 104 bytes.
SYNTHETIC_LINE_BYTES = 52.0
# Of a piece, without a vocabulary; the synthetic pair has 5.4.
PIECE_BYTES = 5.0
SAMPLE_LINES = 1_000
_BLOCK = 1 << 24


class SideSize(NamedTuple):
    """Lines and bytes, line ends included, of one language of one split; counted or stated."""

    lines: int
    size: int
    counted: bool


class Corpus:
    """The sizes of one dataset's text, each computed once.

    Args:
        results: the folder of results.
        name: name of the dataset.
        settings: settings of the dataset.
    """

    def __init__(self, results: Path, name: str, settings: Dataset):
        self.name, self.settings = name, settings
        self._text = results / "data" / name / settings.pair
        self._vocabularies = results / "vocab" / name / settings.pair
        self._sides: dict[tuple[str, str], SideSize | None] = {}
        self._tokens: dict[tuple[str, str, str | None], float | None] = {}

    def path(self, split: str, language: str) -> Path:
        """Path of the cleaned text of one language of a split."""
        return self._text / text_name(split, language)

    def side(self, split: str, language: str) -> SideSize | None:
        """The size of one language of a split; None where it is unknown before the text exists.

        Args:
            split: train, valid or test; extra: the dataset's extra sources.
            language: of the side.

        Raises:
            InputError: the text exists and cannot be read.
        """
        key = split, language
        if key not in self._sides:
            path = self.path(split, language)
            self._sides[key] = _counted(path) if path.is_file() else self._stated(split, language)
        return self._sides[key]

    def tokens(self, split: str, language: str, vocabulary: str | None = None) -> float | None:
        """Mean tokens of a line with EOS, from the text and vocabulary where both exist.

        Args:
            vocabulary: entry of `vocabularies`; None: the dataset's own.

        Raises:
            InputError: the text or the vocabulary exists and cannot be read.
        """
        key = split, language, vocabulary
        if key not in self._tokens:
            self._tokens[key] = self._mean_tokens(*key)
        return self._tokens[key]

    def _mean_tokens(self, split: str, language: str, vocabulary: str | None) -> float | None:
        side = self.side(split, language)
        if side is None:
            return None
        path = self.path(split, language)
        pieces = self._vocabularies / (vocabulary or "") / "spm.model"
        if path.is_file() and pieces.is_file() and side.lines:
            lines = sample(path, SAMPLE_LINES)
            return 1 + sum(map(len, Vocabulary.load(pieces).encode(lines))) / len(lines)
        return 1 + side.size / side.lines / PIECE_BYTES if side.lines else 1.0

    def _stated(self, split: str, language: str) -> SideSize | None:
        source = self.settings.source
        if split == "extra":
            file = self.settings.extra_file(language)
            if not isinstance(file, Path) or file.suffix == ".gz" or not file.is_file():
                return None
            return _counted(file)._replace(counted=False)
        if isinstance(source, FilesSource):
            item = getattr(source, split).files[language]
            # Packed and remote files have no size that is known without reading them.
            if not isinstance(item, str) or item.endswith(".gz"):
                return None
            path = Path(source.folder, item)
            return _counted(path)._replace(counted=False) if path.is_file() else None
        if isinstance(source, SyntheticSource):
            lines = getattr(source, split)
            return SideSize(lines, round(lines * SYNTHETIC_LINE_BYTES), counted=False)
        pairs = {str(name): count for name, count in source.pairs.items()}
        lines = pairs.get(split)
        if lines is None:
            return None
        return SideSize(lines, round(lines * LINE_BYTES), counted=False)


def _counted(path: Path) -> SideSize:
    lines = 0
    with reading(path) as file:
        while block := file.read(_BLOCK):
            lines += block.count(b"\n")
        return SideSize(lines, file.tell(), counted=True)


def sample(path: Path, count: int) -> list[str]:
    """At most `count` lines, evenly spread over a file that is not empty.

    Raises:
        InputError: unreadable or no text.
    """
    lines = []
    with reading(path) as file:
        end = file.seek(0, os.SEEK_END)
        start = -1
        for number in range(count):
            file.seek(number * end // count)
            if number:
                # Skip the rest of a line.
                file.readline()
            if file.tell() > start and (line := file.readline()):
                start = file.tell() - len(line)
                lines.append(line)
    return list(decode_lines(lines, shown(path)))
