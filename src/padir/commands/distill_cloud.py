"""`padir distill-cloud`: translations bought from a service. In: sources, ledger. Out: text."""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

# Of the refused lines, so many are named on the screen.
LISTED_LINES = 100

EXAMPLES = """\
examples:
  padir distill-cloud --source train.de --source-language de --target-language en \\
      --out distilled.en
    Sends nothing: prints what it would cost.
  padir distill-cloud --source train.de --source-language de --target-language en \\
      --out distilled.en --max-usd 12.50
    The same command again after an interruption goes on where it stopped.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parse = argparse.ArgumentParser(
        prog="padir distill-cloud",
        description="Translate training sources with the Cloud Translation API, under Application"
        " Default Credentials. Every line is paid for once: the ledger keeps what was bought.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--source", type=Path, required=True, help="sources, one a line")
    parse.add_argument("--source-language", required=True, metavar="L", help="such as de")
    parse.add_argument("--target-language", required=True, metavar="L", help="such as en")
    parse.add_argument("--out", type=Path, required=True, help="translations to write")
    parse.add_argument(
        "--teacher", metavar="F",
        help="settings of a teacher of kind cloud (config/README.md): JSON, or a file with it",
    )  # fmt: skip
    parse.add_argument("--max-usd", type=float, help="dollars that the ledger may reach")
    parse.add_argument("--project", help="Google Cloud project (default: the credentials')")
    parse.add_argument("--ledger", help="SQLite file with what was bought before")
    return parse


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = parser().parse_args(argv)
    # A job that is ended by a scheduler keeps what is in flight, as after Ctrl-C.
    signal.signal(signal.SIGTERM, _interrupt)
    from padir.config.read import cloud_teacher
    from padir.distill.cloud import Sender, read_translations
    from padir.distill.estimate import estimate, in_words, known_to, spent_in_words
    from padir.distill.ledger import Ledger
    from padir.distill.service import connect
    from padir.distill.terms import limits_of, task_of
    from padir.files import InputError, shown, write_lines
    from padir.progress import Progress
    from padir.provenance import write_provenance

    given = {key: getattr(arguments, key) for key in ("max_usd", "project", "ledger")}
    changes = {key: value for key, value in given.items() if value is not None}
    teacher = cloud_teacher(arguments.teacher, changes)
    task = task_of(teacher, arguments.source_language, arguments.target_language)
    limits = limits_of(teacher)
    path = Path(teacher.ledger).expanduser()
    with Ledger(path) as ledger:
        ledger.settle()
        number = ledger.task(task)
        found = estimate([arguments.source], known_to(ledger, number, teacher))
        spent = ledger.spent(task.provider)
        print(f"{arguments.source}: {in_words(found, teacher)}")
        print(f"{path}: {spent_in_words(spent, teacher)}", flush=True)
        if found.lines and teacher.max_usd is None:
            raise InputError(
                f"nothing was sent: {limits.price(found.characters):.2f} USD are needed and there"
                " is no limit; give --max-usd, or max_usd of the teacher"
            )
        needed = spent.usd + limits.price(found.characters)
        if found.lines and needed > limits.usd + 1e-9:
            raise InputError(
                f"nothing was sent: {needed:.2f} USD in all are needed, {spent.usd:.2f} of them"
                f" spent already; max_usd is {limits.usd:.2f}"
            )
        if found.lines:
            sender = Sender(
                service=connect(teacher, task),
                ledger=ledger,
                task=task,
                limits=limits,
                name=str(arguments.source),
                concurrency=teacher.concurrency,
                request_characters=teacher.request_characters,
                leave_empty=teacher.refused == "leave_empty",
            )
            label = f"distill-cloud {task.source}-{task.target}"
            with Progress(found.lines, "lines", label) as progress:
                sender.translate(arguments.source, progress.update)
            print(f"{path}: {spent_in_words(ledger.spent(task.provider), teacher)}")
        empty: list[int] | None = [] if teacher.refused == "leave_empty" else None
        write_lines(arguments.out, read_translations(arguments.source, ledger, task, empty))
    write_provenance(
        arguments.out,
        ["distill-cloud", *argv],
        inputs=[arguments.source],
        spec={**teacher.what_it_writes(), "source": task.source, "target": task.target},
        notes={"refused_lines": empty} if empty else None,
    )
    if empty:
        print(f"{shown(arguments.source)}: {_left_empty(empty)}", file=sys.stderr)
    return 0


def _left_empty(numbers: list[int]) -> str:
    """Which lines were left empty; those past the first ones stand in the provenance."""
    some = ", ".join(map(str, numbers[:LISTED_LINES]))
    more = len(numbers) - LISTED_LINES
    return (
        f"{len(numbers)} left empty, as Cloud Translation refuses what stands there: line {some}"
        f"{f' and {more} more, see the provenance' if more > 0 else ''}"
    )


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
