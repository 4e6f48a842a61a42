"""The `padir` command: one verb per stage, each found in one table and loaded when asked for.

A command is `padir.commands.<verb>.main(argv) -> int`. Errors that the user can mend come out as
one line on stderr with exit status 2; anything else is a defect and keeps its traceback.
"""

import difflib
import importlib
import os
import sys
from collections.abc import Sequence

from padir.files import InputError

# verb -> (module, help in one line); the order is that of the pipeline.
VERBS: dict[str, tuple[str, str]] = {
    "fetch": ("padir.commands.fetch", "get the raw text of a dataset, or generate it"),
    "clean": ("padir.commands.clean", "drop unusable pairs and count them by reason"),
    "extra-sources": ("padir.commands.extra_sources", "clean text that a teacher translates too"),
    "vocab": ("padir.commands.vocab", "learn one SentencePiece vocabulary for a language pair"),
    "train": ("padir.commands.train", "train one model with one seed; resumes by itself"),
    "tune": ("padir.commands.tune", "choose the length rule of decoding on validation data"),
    "distill": ("padir.commands.distill", "translate the training sources with a teacher"),
    "distill-cloud": ("padir.commands.distill_cloud", "buy translations from Cloud Translation"),
    "distill-card": ("padir.commands.distill_card", "describe distilled targets and their quality"),
    "decode": ("padir.commands.decode", "translate a file, with one JSON line per sentence"),
    "score": ("padir.commands.score", "BLEU, chrF and stutter of a hypothesis file"),
    "rate": ("padir.commands.rate", "a further score of a hypothesis file: BLEURT, chrF++"),
    "latency": ("padir.commands.latency", "time whole translations at batch size 1"),
    "analyse": ("padir.commands.analyse", "dependence between target positions, by attention"),
    "theory": ("padir.commands.theory", "run one Ising experiment"),
    "theory-report": ("padir.commands.theory_report", "draw or tabulate Ising experiments"),
    "report": ("padir.commands.report", "write tables, figures, claims and the HTML page"),
    "translate": ("padir.commands.translate", "translate standard input line by line"),
    "sample": ("padir.commands.sample", "run k-Gibbs chains over the translations of a file"),
    "plan": ("padir.commands.plan", "what a config would run, and what it would cost"),
    "doctor": ("padir.commands.doctor", "check this machine and say what to mend"),
    "schema": ("padir.commands.schema", "write the config's schema and its documentation"),
}

# glibc settings for long training: huge pages and a heap that is never trimmed. They change
# speed only, and glibc reads them once, at the start of a process.
ALLOCATOR = (
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=8000000000"
    ":glibc.malloc.trim_threshold=16000000000"
)
LONG_RUNNING = ("train", "distill")


def usage() -> str:
    """The text of `padir --help`."""
    width = max(map(len, VERBS))
    lines = [
        "usage: padir VERB [arguments]",
        "",
        "Non-autoregressive translation by parallel refinement, measured.",
        "",
        "verbs:",
        *(f"  {verb:<{width}}  {text}" for verb, (_, text) in VERBS.items()),
        "",
        "padir VERB --help explains one verb; padir --version prints the version.",
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb.

    Args:
        argv: arguments after the program's name; those of the process by default.

    Returns:
        The exit status: 0 done, 2 the input or the command line is at fault, 130 interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        from padir.provenance import package_version

        print(f"padir {package_version('padir')}")
        return 0
    verb, *rest = arguments
    if verb not in VERBS:
        nearest = difflib.get_close_matches(verb, VERBS, n=1, cutoff=0)
        print(f"padir: error: no verb {verb!r}; the nearest is {nearest[0]}", file=sys.stderr)
        return 2
    if argv is None and verb in LONG_RUNNING:
        _restart_with_allocator()
    try:
        return importlib.import_module(VERBS[verb][0]).main(rest)
    except InputError as error:
        message = "\n".join(f"padir {verb}: error: {line}" for line in str(error).splitlines())
        print(message, file=sys.stderr)
        return 2
    except OSError as error:
        # A full disk, a missing file, a folder without write access: the system's own words.
        name = f"{error.filename}: " if error.filename else ""
        print(f"padir {verb}: error: {name}{error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"padir {verb}: interrupted", file=sys.stderr)
        return 130


def _restart_with_allocator() -> None:
    """Start this process again under `ALLOCATOR`, unless the user has chosen settings."""
    if sys.platform == "linux" and "GLIBC_TUNABLES" not in os.environ:
        environment = {**os.environ, "GLIBC_TUNABLES": ALLOCATOR}
        os.execve(sys.executable, [sys.executable, "-m", "padir", *sys.argv[1:]], environment)
