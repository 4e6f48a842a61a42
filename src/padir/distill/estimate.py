"""Estimates of translation by a paid service: characters, dollars, hours.

Distinct lines of the files are counted, without those in the ledger. The size of text that does
not exist yet comes from the settings (`padir.data.size`).
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
from padir.distill.ledger import Limits
from padir.distill.ledger_reader import LedgerReader, Spending, Task
from padir.distill.packing import read_sources
from padir.files import InputError, shown
from padir.languages import written_without_spaces

Known = Callable[[Sequence[bytes]], set[bytes]]
T = TypeVar("T")

# Lines per lookup.
WINDOW = 10_000
TAUGHT_SPLITS = ("train", "valid")
# Of a character of Chinese or Japanese in UTF-8.
CHARACTER_BYTES = 3


class Estimate(NamedTuple):
    """Distinct non-blank lines: those to be sent with their characters, and those paid for."""

    lines: int
    characters: int
    paid_lines: int


def windows(items: Iterable[T]) -> Iterator[list[T]]:
    """The items in lists of `WINDOW`, the last one shorter."""
    rest = iter(items)
    while part := list(islice(rest, WINDOW)):
        yield part


def estimate(paths: Iterable[Path], known: Known) -> Estimate:
    """Count the lines and characters to send for some files, in 13 bytes of memory a line.

    Lines count as equal by 64 bits of their digest: among 25 million, the estimate misses one with
    a chance of one in 60,000.

    Args:
        paths: source files.
        known: the digests among some that need no translation.

    Raises:
        InputError: a file is unreadable, or a line too long for the service.
    """
    keys, lengths, paid = array("Q"), array("I"), array("B")
    for path in paths:
        for window in windows(read_sources(path)):
            translated = known([line.digest for line in window])
            keys.extend(int.from_bytes(line.digest[:8], "little") for line in window)
            lengths.extend(line.characters for line in window)
            paid.extend(line.digest in translated for line in window)
    _, first = np.unique(np.asarray(keys, np.uint64), return_index=True)
    length = np.asarray(lengths, np.int64)[first]
    is_paid = np.asarray(paid, bool)[first]
    return Estimate(int((~is_paid).sum()), int(length[~is_paid].sum()), int(is_paid.sum()))


def _least_time(characters: int, teacher: CloudTeacher) -> str:
    """The least time that so many characters take under a teacher's quota."""
    return time_in_words(characters / teacher.characters_per_minute / 60)


def time_in_words(hours: float) -> str:
    """Hours; minutes below one hour."""
    return f"{hours:.2f} hours" if hours >= 1 else f"{hours * 60:.2f} minutes"


def describe(estimate: Estimate, teacher: CloudTeacher) -> str:
    """An estimate in one line."""
    dollars = Limits.of(teacher).price(estimate.characters)
    return (
        f"{estimate.lines:,} lines to send, {estimate.characters:,} characters: {dollars:,.2f} USD"
        f" at {teacher.usd_per_million:g} USD per million (price of {teacher.price_date}), at least"
        f" {_least_time(estimate.characters, teacher)} at {teacher.characters_per_minute:,}"
        f" characters a minute; {estimate.paid_lines:,} lines are paid for already"
    )


def describe_spending(spent: Spending, teacher: CloudTeacher) -> str:
    """What a ledger says was spent, and the limit, in one line."""
    limit = "no limit is set" if teacher.max_usd is None else f"max_usd is {teacher.max_usd:,.2f}"
    return (
        f"{spent.usd:,.2f} USD spent so far, {spent.doubt_usd:,.2f} of it in doubt (sent, but no"
        f" answer came); {limit}"
    )


def plan_lines(config: Config, results: Path) -> list[str]:
    """Lines that say what an experiment's Cloud Translation teachers would cost.

    The ledger is only read; without one, nothing is paid for yet.

    Args:
        config: the experiment.
        results: the folder of results.
    """
    lines: list[str] = []
    used = {run.targets for run in config.trainings.values()}
    for name, teacher in config.teachers.items():
        if name not in used or not isinstance(teacher, CloudTeacher):
            continue
        ledger = open_to_read(teacher.ledger_path)
        with ledger or nullcontext():
            dollars, counted = 0.0, True
            for dataset, settings in config.datasets.items():
                corpus = Corpus(results, dataset, settings)
                for direction in settings.directions:
                    known = _known(ledger, teacher, direction)
                    cost, price = _direction(corpus, direction, teacher, known)
                    lines.append(f"{name}, {dataset} {direction}: {cost}")
                    dollars, counted = dollars + (price or 0.0), counted and price is not None
            spent = Spending(0.0, 0, 0.0)
            if ledger is not None:
                spent = ledger.spent(Task.of(teacher, "", "").provider)
        lines.append(
            f"{name}: {dollars:,.2f} USD to come{'' if counted else ' and what is not known'};"
            f" {describe_spending(spent, teacher)}"
        )
    return lines


def _direction(
    corpus: Corpus, direction: str, teacher: CloudTeacher, known: Known
) -> tuple[str, float | None]:
    """Cost of a direction, as text and in dollars; None while it is unknown."""
    source = direction.split("-")[0]
    sides = [corpus.side(split, source) for split in TAUGHT_SPLITS]
    files = [corpus.path(split, source) for split in TAUGHT_SPLITS]
    if all(side is not None and side.counted for side in sides):
        counted = estimate(files, known)
        return describe(counted, teacher), Limits.of(teacher).price(counted.characters)
    stated = [side for side in sides if side is not None]
    if len(stated) < len(sides):
        return f"not known before the text is there ({files[0]})", None
    size = sum(side.size for side in stated)
    characters = size // CHARACTER_BYTES if written_without_spaces(source) else size
    price = Limits.of(teacher).price(characters)
    return (
        f"about {price:,.2f} USD and {_least_time(characters, teacher)}:"
        f" {sum(side.lines for side in stated):,} lines as stated, and about {characters:,}"
        f" characters; counted when the text is there ({files[0]})",
        price,
    )


def open_to_read(path: Path) -> LedgerReader | None:
    """Open a ledger read-only; None where there is no file or an empty one.

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


def known_lines(reader: LedgerReader, task: int, teacher: CloudTeacher) -> Known:
    """A lookup of lines that need no request: translated, or refused and left empty."""
    left_out = reader.left_out(task) if teacher.refused == "leave_empty" else set()
    return lambda digests: reader.known(task, digests) | left_out.intersection(digests)


def _known(ledger: LedgerReader | None, teacher: CloudTeacher, direction: str) -> Known:
    task = Task.of(teacher, *direction.split("-"))
    number = None if ledger is None else ledger.find_task(task)
    if ledger is None or number is None:
        return lambda digests: set()
    return known_lines(ledger, number, teacher)
