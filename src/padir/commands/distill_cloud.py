"""Translate training sources with the Cloud Translation API.

It runs under Application Default Credentials. Every line is paid for once: the ledger keeps what
was bought.

In: sources, ledger. Out: text, line for line.

examples:
  padir distill-cloud --source train.de --source-language de --target-language en \\
      --out distilled.en
    Sends nothing: prints what it would cost, and exits with 2, as --out is not written.
  padir distill-cloud --source train.de --source-language de --target-language en \\
      --out distilled.en --max-usd 12.50
    After an interruption the same command resumes where it stopped.
"""

import signal
import sys
from types import FrameType

from padir.commands.arguments import needed, option, read_arguments

# Of the refused lines, so many are named on the screen.
LISTED_LINES = 100
OPTIONS = (
    needed("--source F", "source text, one sentence a line"),
    needed("--source-language L", "code of the source language, such as de"),
    needed("--target-language L", "code of the target language, such as en"),
    needed("--out F", "file to write the translations to, one a line", written=True),
    option(
        "--teacher JSON",
        "settings of a teacher of kind cloud (config/README.md), as JSON text or a JSON file",
    ),
    option("--max-usd X", "spending limit in dollars, over all requests in the ledger"),
    option("--project NAME", "Google Cloud project (default: that of the credentials)"),
    option("--ledger F", "SQLite file with all translations paid for so far", type=str),
)


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = read_arguments("distill-cloud", __doc__, OPTIONS, argv)
    # A job that a scheduler or a lost terminal ends keeps what is in flight, as after Ctrl-C.
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _interrupt)
    from padir.cleaned import check_cleaned
    from padir.config.read import cloud_teacher
    from padir.distill.cloud import Sender, read_translations
    from padir.distill.estimate import describe, describe_spending, estimate, known_lines
    from padir.distill.ledger import Ledger, Limits
    from padir.distill.ledger_reader import Task
    from padir.distill.service import connect
    from padir.files import InputError, shown, write_lines
    from padir.progress import Progress
    from padir.provenance import write_provenance

    check_cleaned(arguments.source)
    options = {key: getattr(arguments, key) for key in ("max_usd", "project", "ledger")}
    changes = {key: value for key, value in options.items() if value is not None}
    teacher = cloud_teacher(arguments.teacher, changes)
    task = Task.of(teacher, arguments.source_language, arguments.target_language)
    limits = Limits.of(teacher)
    path = teacher.ledger_path
    if arguments.out.resolve() == path.resolve():
        raise InputError(f"--out {shown(arguments.out)}: is the ledger, allowed is another file")
    with Ledger(path) as ledger:
        ledger.settle()
        number = ledger.task(task)
        estimated = estimate([arguments.source], known_lines(ledger, number, teacher))
        spent = ledger.spent(task.provider)
        print(f"{shown(arguments.source)}: {describe(estimated, teacher)}")
        print(f"{shown(path)}: {describe_spending(spent, teacher)}", flush=True)
        price = limits.price(estimated.characters)
        if estimated.lines and teacher.max_usd is None:
            raise InputError(
                f"nothing was sent: {price:.2f} USD are needed and there is no limit; give"
                " --max-usd, or max_usd of the teacher"
            )
        if estimated.lines:
            ledger.reserve(task.provider, price, limits)
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
            with Progress(estimated.lines, "lines", label) as progress:
                sender.translate(arguments.source, progress.update)
            print(f"{shown(path)}: {describe_spending(ledger.spent(task.provider), teacher)}")
        empty: list[int] | None = [] if teacher.refused == "leave_empty" else None
        blank: list[int] = []
        texts = read_translations(arguments.source, ledger, task, empty, blank)
        write_lines(arguments.out, texts)
    write_provenance(
        arguments.out,
        ["distill-cloud", *argv],
        inputs=[arguments.source],
        spec={**teacher.translation_settings(), "source": task.source, "target": task.target},
        notes={k: v for k, v in (("refused_lines", empty), ("blank_lines", blank)) if v} or None,
    )
    for numbers, reason in (
        (empty or [], "left empty, as Cloud Translation refuses what stands there"),
        (blank, "have an empty translation, and training leaves their pairs out"),
    ):
        if numbers:
            print(f"{shown(arguments.source)}: {_listed(numbers, reason)}", file=sys.stderr)
    return 0


def _listed(numbers: list[int], reason: str) -> str:
    """List the numbers of the affected lines; the provenance has those past the first few."""
    some = ", ".join(map(str, numbers[:LISTED_LINES]))
    more = len(numbers) - LISTED_LINES
    rest = f" and {more} more, see the provenance" if more > 0 else ""
    return f"{len(numbers)} {reason}: line {some}{rest}"


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
