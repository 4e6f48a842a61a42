"""What translating files with a paid service would take: characters, dollars, hours.

Counted from the files themselves: every line once, without those that the ledger has already. Text
that is not there yet is as large as the settings state (`padir.data.size`).
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from padir.config.experiment import Config
from padir.config.teacher import CloudTeacher
from padir.data.size import Corpus
from padir.data.statistics import CHARACTER_LANGUAGES
from padir.distill.ledger_reader import LedgerReader, Spent
from padir.distill.packing import read_sources
from padir.distill.terms import limits_of, task_of
from padir.files import InputError, shown

Known = Callable[[Sequence[bytes]], set[bytes]]
T = TypeVar("T")

# Lines that are looked up together.
WINDOW = 10_000
TAUGHT_SPLITS = ("train", "valid")
# Of a character of Chinese or Japanese in UTF-8.
CHARACTER_BYTES = 3


class Estimate(NamedTuple):
    """What is to be sent.

    Attributes:
        lines: different lines that are neither blank nor in the ledger.
        characters: theirs.
        held: different lines that the ledger has, and their characters.
    """

    lines: int
    characters: int
    held: int
    held_characters: int


def windows(items: Iterable[T]) -> Iterator[list[T]]:
    """The items in lists of `WINDOW`, the last one shorter."""
    rest = iter(items)
    while part := list(islice(rest, WINDOW)):
        yield part


def estimate(paths: Iterable[Path], known: Known) -> Estimate:
    """Count what is to be sent for some files together.

    Memory: 13 bytes a line, and some more to count. Lines count as equal by 64 bits of their
    digest: among 25 million, the chance that one is missed is one in 60,000, and only the
    estimate would miss it.

    Args:
        paths: source files.
        known: which of some digests need no translation any more.

    Raises:
        InputError: a file is unreadable, or a line too long for the service.
    """
    counts = []
    keys, lengths, held = array("Q"), array("I"), array("B")
    for path in paths:
        for part in windows(read_sources(path)):
            done = known([line.digest for line in part])
            keys.extend(int.from_bytes(line.digest[:8], "little") for line in part)
            lengths.extend(line.characters for line in part)
            held.extend(line.digest in done for line in part)
    _, first = np.unique(np.asarray(keys, np.uint64), return_index=True)
    length = np.asarray(lengths, np.int64)[first]
    has = np.asarray(held, bool)[first]
    for group in (~has, has):
        counts += [int(group.sum()), int(length[group].sum())]
    return Estimate(*counts)


def _hours(characters: int, teacher: CloudTeacher) -> float:
    """The least that so many characters take under a teacher's quota."""
    return characters / teacher.characters_per_minute / 60


def in_words(found: Estimate, teacher: CloudTeacher) -> str:
    """An estimate in one line."""
    dollars = limits_of(teacher).price(found.characters)
    return (
        f"{found.lines:,} lines to send, {found.characters:,} characters: {dollars:,.2f} USD at"
        f" {teacher.usd_per_million:g} USD per million (price of {teacher.price_date}), at least"
        f" {_hours(found.characters, teacher):.2f} hours at {teacher.characters_per_minute:,}"
        f" characters a minute; {found.held:,} lines are paid for already"
    )


def spent_in_words(spent: Spent, teacher: CloudTeacher) -> str:
    """What a ledger says was spent, and the limit, in one line."""
    limit = "no limit is set" if teacher.max_usd is None else f"max_usd is {teacher.max_usd:,.2f}"
    return (
        f"{spent.usd:,.2f} USD spent so far, {spent.doubt_usd:,.2f} of it in doubt (sent, but no"
        f" answer came); {limit}"
    )


def plan_lines(config: Config, results: Path) -> list[str]:
    """What the Cloud Translation teachers that an experiment uses would cost, in lines.

    Args:
        config: the experiment.
        results: the folder of results.

    The ledger is only read: without one, nothing is paid for yet.
    """
    lines: list[str] = []
    used = {run.targets for run in config.trainings.values()}
    for name, teacher in config.teachers.items():
        if name not in used or not isinstance(teacher, CloudTeacher):
            continue
        ledger = open_to_read(Path(teacher.ledger).expanduser())
        with ledger or nullcontext():
            dollars, counted = 0.0, True
            for dataset, settings in config.datasets.items():
                corpus = Corpus(results, dataset, settings)
                for direction in settings.directions:
                    known = _known(ledger, teacher, direction)
                    words, price = _direction(corpus, direction, teacher, known)
                    lines.append(f"{name}, {dataset} {direction}: {words}")
                    dollars, counted = dollars + (price or 0.0), counted and price is not None
            spent = Spent(0.0, 0, 0.0)
            if ledger is not None:
                spent = ledger.spent(task_of(teacher, "", "").provider)
        lines.append(
            f"{name}: {dollars:,.2f} USD to come{'' if counted else ' and what is not known'};"
            f" {spent_in_words(spent, teacher)}"
        )
    return lines


def _direction(
    corpus: Corpus, direction: str, teacher: CloudTeacher, known: Known
) -> tuple[str, float | None]:
    """What a direction would cost, in words and in dollars; None where nobody knows."""
    source = direction.split("-")[0]
    sides = [corpus.side(split, source) for split in TAUGHT_SPLITS]
    files = [corpus.path(split, source) for split in TAUGHT_SPLITS]
    if all(side is not None and side.counted for side in sides):
        found = estimate(files, known)
        return in_words(found, teacher), limits_of(teacher).price(found.characters)
    stated = [side for side in sides if side is not None]
    if len(stated) < len(sides):
        return f"not known before the text is there ({files[0]})", None
    size = sum(side.size for side in stated)
    characters = size // CHARACTER_BYTES if source in CHARACTER_LANGUAGES else size
    price = limits_of(teacher).price(characters)
    return (
        f"about {price:,.2f} USD and {_hours(characters, teacher):.2f} hours:"
        f" {sum(side.lines for side in stated):,} lines as stated, and about {characters:,}"
        f" characters; counted when the text is there ({files[0]})",
        price,
    )


def open_to_read(path: Path) -> LedgerReader | None:
    """A ledger that only answers; None where nothing was ever paid for: no file, or an empty one.

    Raises:
        InputError: see `LedgerReader`; or the file cannot be reached.
    """
    try:
        size = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{shown(path)}: cannot read: {error.strerror}") from error
    return LedgerReader(path) if size else None


def known_to(reader: LedgerReader, task: int, teacher: CloudTeacher) -> Known:
    """What a ledger says needs no request any more: lines that are translated, and those that were
    refused where such are left empty."""
    left_out = reader.left_out(task) if teacher.refused == "leave_empty" else set()
    return lambda digests: reader.known(task, digests) | left_out.intersection(digests)


def _known(ledger: LedgerReader | None, teacher: CloudTeacher, direction: str) -> Known:
    task = task_of(teacher, *direction.split("-"))
    number = None if ledger is None else ledger.find_task(task)
    if ledger is None or number is None:
        return lambda digests: set()
    return known_to(ledger, number, teacher)
