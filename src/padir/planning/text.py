"""Finds, counts and splits a user's parallel text."""

import hashlib
import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from padir.config.data import Cleaning
from padir.data.kept import KeptText
from padir.files import InputError, count_aligned, iter_aligned, shown, write_lines
from padir.vocab import sample_lines

# Split -> how the names of its files begin.
_BEGINNINGS = {
    "train": ("train",),
    "valid": ("valid", "val", "dev"),
    "test": ("test", "tst", "eval"),
}
HELD_OUT_MOST, SOURCES_PER_HELD_OUT = 1_000, 20
LEAST_PAIRS = 200
SAMPLED_PAIRS = 50_000
# Endings of two or three letters that name no language.
_OTHER_ENDINGS = frozenset([
    "bz2", "cfg", "csv", "gz", "htm", "ini", "js", "log", "md", "pdf", "py", "rst",
    "sgm", "sh", "spm", "tex", "tsv", "txt", "vcb", "xml", "xz", "yml", "zip", "zst",
])  # fmt: skip
_MOST_BYTES = Cleaning().max_bytes

Split = dict[str, Path]
"""Language code -> file."""


@dataclass(frozen=True)
class ParallelText:
    """Aligned files of two languages.

    Attributes:
        languages: the two codes.
        splits: files by split and language; train always, valid and test where they exist.
        unused: files of the folder in one of the languages that belong to none of the splits.
    """

    languages: tuple[str, str]
    splits: Mapping[str, Split]
    unused: Sequence[Path] = ()

    def holds(self, path: Path) -> bool:
        """Whether a path is that of one of these files."""
        files = chain(self.unused, *(files.values() for files in self.splits.values()))
        return path.resolve() in map(Path.resolve, files)


@dataclass(frozen=True)
class Counts:
    """Counts of training text that cleaning keeps.

    Attributes:
        pairs: lines of either side.
        words: of both sides; text without spaces counts by its bytes.
        sample: pairs drawn evenly, at most `SAMPLED_PAIRS`.
        dropped: what `most_dropped` says of the text.
    """

    pairs: int
    words: int
    sample: list[tuple[str, str]]
    dropped: str | None = None


def find_text(paths: Sequence[Path], languages: Sequence[str] | None = None) -> ParallelText:
    """The parallel text in a folder, or that of two files.

    Args:
        paths: one folder with files such as train.de and train.en, or two files.
        languages: the two codes, where the endings do not say or there are more than two.

    Raises:
        InputError: no parallel text, or more than one choice.
    """
    if languages and not _are_languages(languages):
        raise InputError(
            f"--languages {' '.join(languages)}: allowed are two codes of two or three small"
            " letters, such as de en"
        )
    for path in paths:
        if not path.exists():
            raise InputError(f"{shown(path)}: no such file or folder")
    if len(paths) == 1 and paths[0].is_dir():
        return _in_folder(paths[0], languages)
    if len(paths) != 2 or any(path.is_dir() for path in paths):
        raise InputError(
            f"{' '.join(map(shown, paths))}: allowed is one folder, or two files that are aligned"
            " line for line"
        )
    codes = tuple(languages or (path.suffix.removeprefix(".") for path in paths))
    if not _are_languages(codes):
        raise InputError(
            f"{shown(paths[0])} and {shown(paths[1])}: the endings name no two languages: say"
            " which, such as --languages de en"
        )
    return ParallelText((codes[0], codes[1]), {"train": dict(zip(codes, paths, strict=True))})


def _is_language(ending: str) -> bool:
    return re.fullmatch("[a-z]{2,3}", ending) is not None and ending not in _OTHER_ENDINGS


def _are_languages(codes: Sequence[str]) -> bool:
    return all(map(_is_language, codes)) and codes[0] != codes[1]


def _in_folder(folder: Path, languages: Sequence[str] | None) -> ParallelText:
    stems: dict[str, Split] = {}
    for path in sorted(folder.iterdir()):
        ending = path.suffix.removeprefix(".")
        if path.is_file() and _is_language(ending):
            stems.setdefault(path.stem, {})[ending] = path
    if languages:
        pairs = {
            stem: {code: files[code] for code in languages}
            for stem, files in stems.items()
            if set(languages) <= files.keys()
        }
    else:
        pairs = {stem: files for stem, files in stems.items() if len(files) > 1}
    codes = sorted({code for files in pairs.values() for code in files})
    if not pairs:
        raise InputError(
            f"{shown(folder)}: no parallel text: files with one name and the endings of two"
            " languages are needed, such as train.de and train.en; or name the two files"
        )
    if len(codes) != 2:
        raise InputError(
            f"{shown(folder)}: found {', '.join(codes)}: say which two languages, such as"
            f" --languages {codes[0]} {codes[1]}"
        )
    first, second = languages or codes
    splits = _by_split(folder, pairs)
    used = {path for files in splits.values() for path in files.values()}
    unused = [
        path
        for files in stems.values()
        for code, path in files.items()
        if code in (first, second) and path not in used
    ]
    return ParallelText((first, second), splits, unused)


def _by_split(folder: Path, pairs: Mapping[str, Split]) -> dict[str, Split]:
    splits: dict[str, Split] = {}
    for name, beginnings in _BEGINNINGS.items():
        for stem, files in pairs.items():
            if stem.lower().startswith(beginnings):
                splits.setdefault(name, files)
    if len(trains := [stem for stem in pairs if stem.lower().startswith("train")]) > 1:
        raise InputError(
            f"{shown(folder)}: found {', '.join(trains)}: name the two files of the training text,"
            " joined where it has several parts"
        )
    if "train" not in splits:
        if len(pairs) != 1:
            raise InputError(
                f"{shown(folder)}: found {', '.join(pairs)}, and none begins with train: name the"
                " two files of the training text"
            )
        splits = {"train": next(iter(pairs.values()))}
    return splits


def count(train: Split, scored: Mapping[str, Split] | None = None) -> Counts:
    """Count what cleaning keeps of training text by default, and draw a sample of it.

    Args:
        train: file of each language.
        scored: those of the validation and test splits, as far as they exist.

    Raises:
        InputError: line counts differ, no UTF-8, too few pairs, or a scored split without lines.
    """
    for split, files in (scored or {}).items():
        _check_scored(split, files)
    kept = KeptText.of(Cleaning(), train, scored)
    pairs = words = 0

    def joined() -> Iterator[str]:
        nonlocal pairs, words
        for line in kept:
            pairs += 1
            words += sum(map(_words, line))
            yield "\n".join(line)

    sample = [line.split("\n") for line in sample_lines(joined(), SAMPLED_PAIRS)]
    if pairs < LEAST_PAIRS:
        name = " and ".join(shown(path) for path in train.values())
        reason = f"; cleaning drops {kept.dropped}" if kept.dropped else ""
        raise InputError(f"{name}: {pairs} pairs, at least {LEAST_PAIRS} are needed{reason}")
    drawn = [(first, second) for first, second in sample]
    return Counts(pairs, words, drawn, kept.dropped)


def _check_scored(split: str, files: Split) -> None:
    """Check a validation or test set that the user has. Raises InputError where it is empty or not
    aligned."""
    advice = f"mend the {split} set, or move its files away: padir init draws one"
    try:
        pairs = count_aligned(*files.values())
    except InputError as error:
        raise InputError(f"{error}; {advice}") from error
    if not pairs:
        raise InputError(f"{' and '.join(map(shown, files.values()))}: no line; {advice}")


def _words(line: str) -> int:
    spaced, size = len(line.split()), len(line.encode("utf-8"))
    return spaced if 20 * spaced >= size else size // 6


def held_out(sources: int) -> int:
    """Pairs of a split that is drawn from a text with so many distinct sources."""
    return min(HELD_OUT_MOST, sources // SOURCES_PER_HELD_OUT)


def held_out_files(
    text: ParallelText, missing: Sequence[str], folder: Path, replace: bool = False
) -> dict[str, Split]:
    """Where `hold_out` writes: the new files by split and language, train among them.

    Raises:
        InputError: one of them is a file of the text, or exists and `replace` is False.
    """
    languages = text.splits["train"]
    paths = {
        split: {language: folder / f"{split}.{language}" for language in languages}
        for split in ("train", *missing)
    }
    for path in (path for files in paths.values() for path in files.values()):
        if text.holds(path):
            raise InputError(
                f"{shown(path)}: is a file of the given text, which stays as it is; --name names"
                " the dataset otherwise"
            )
        if path.exists() and not replace:
            raise InputError(
                f"{shown(path)}: exists; --force replaces it, --name names another dataset"
            )
    return paths


def hold_out(text: ParallelText, missing: Sequence[str], paths: Mapping[str, Split]) -> None:
    """Draw missing splits from the training text; write them and the rest of the text.

    Pairs are drawn by distinct source line among those with text on both sides, and no other pair
    with that line stays anywhere. A set drawn again after a line was added lacks at most one of its
    sources; where both sets are drawn, none of the test set has gone to the training text.

    Args:
        text: with training text.
        missing: splits to draw, valid or test or both.
        paths: of `held_out_files`.

    Raises:
        InputError: too little text, or a file cannot be written.
    """
    train = text.splits["train"]
    sources = {pair[0] for pair in _pairs(train) if _scorable(pair)}
    held = held_out(len(sources))
    if not held:
        raise InputError(
            f"{shown(next(iter(train.values())))}: {len(sources)} distinct source lines with text"
            " beside them;"
            f" at least {SOURCES_PER_HELD_OUT} are needed to draw a {missing[0]} set: add text, or"
            f" files named {missing[0]}"
        )
    # Test first: what an added line displaces from it goes to validation, not to training.
    splits = sorted(missing, key=("test", "valid").index)
    ranked = heapq.nsmallest(held * len(splits), sources, key=_rank)
    drawn = {source: splits[number // held] for number, source in enumerate(ranked)}

    def lines(split: str, side: int) -> Iterator[str]:
        seen: set[str] = set()
        for pair in _pairs(train):
            if drawn.get(pair[0], "train") != split:
                continue
            if split != "train":
                if pair[0] in seen or not _scorable(pair):
                    continue
                seen.add(pair[0])
            yield pair[side]

    for split, files in paths.items():
        for side, path in enumerate(files.values()):
            write_lines(path, lines(split, side))


def _rank(source: str) -> bytes:
    """Key by which sources are drawn. It depends on nothing but the line, so that other lines do
    not move it to another set."""
    return hashlib.sha256(source.encode()).digest()


def _pairs(files: Split) -> Iterator[list[str]]:
    """Pairs without U+FEFF at the start of lines: no file may begin with it."""
    for pair in iter_aligned(*files.values()):
        yield [line.lstrip("\ufeff") for line in pair]


def _scorable(pair: Sequence[str]) -> bool:
    """Whether a pair may stand in a validation or test set: cleaning drops no line of these."""
    return all(line.strip() and len(line.encode()) <= _MOST_BYTES for line in pair)
