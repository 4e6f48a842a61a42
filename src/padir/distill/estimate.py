"""What translating files with a paid service would take: characters, dollars, hours.

Counted from the files themselves: every line once, without those that the ledger has already.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from padir.config.experiment import Config
from padir.config.teacher import CloudTeacher
from padir.distill.ledger import Ledger, Spent, Task
from padir.distill.packing import read_sources
from padir.distill.terms import limits_of, task_of

Known = Callable[[Sequence[bytes]], set[bytes]]
T = TypeVar("T")

# Lines that are looked up together.
WINDOW = 10_000


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


def in_words(found: Estimate, teacher: CloudTeacher) -> str:
    """An estimate in one line."""
    dollars = limits_of(teacher).price(found.characters)
    hours = found.characters / teacher.characters_per_minute / 60
    return (
        f"{found.lines:,} lines to send, {found.characters:,} characters: {dollars:,.2f} USD at"
        f" {teacher.usd_per_million:g} USD per million (price of {teacher.price_date}), at least"
        f" {hours:.2f} hours at {teacher.characters_per_minute:,} characters a minute;"
        f" {found.held:,} lines are paid for already"
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
        results: the folder of results; where a dataset's text is not there yet, it is said.
    """
    lines: list[str] = []
    used = {run.targets for run in config.models.values()}
    for name, teacher in config.teachers.items():
        if name not in used or not isinstance(teacher, CloudTeacher):
            continue
        path = Path(teacher.ledger).expanduser()
        ledger = Ledger(path, check=False) if path.is_file() else None
        dollars, unknown = 0.0, 0
        for dataset, settings in config.datasets.items():
            for direction in settings.directions:
                source, target = direction.split("-")
                folder = results / "data" / dataset / settings.pair
                files = [folder / f"{split}.{source}" for split in ("train", "valid")]
                label = f"{name}, {dataset} {direction}"
                if not all(file.is_file() for file in files):
                    unknown += 1
                    lines.append(f"{label}: not known before the text is there ({files[0]})")
                    continue
                found = estimate(files, _known(ledger, task_of(teacher, source, target)))
                dollars += limits_of(teacher).price(found.characters)
                lines.append(f"{label}: {in_words(found, teacher)}")
        spent = Spent(0.0, 0, 0.0)
        if ledger is not None:
            spent = ledger.spent(task_of(teacher, "", "").provider)
            ledger.close()
        lines.append(
            f"{name}: {dollars:,.2f} USD to come{' and what is not known' if unknown else ''};"
            f" {spent_in_words(spent, teacher)}"
        )
    return lines


def _known(ledger: Ledger | None, task: Task) -> Known:
    if ledger is None:
        return lambda digests: set()
    number = ledger.task(task)
    return lambda digests: ledger.known(number, digests)
