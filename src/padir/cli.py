"""Entry point of the `padir` command: a table of verbs, each loaded when it is called.

A command is `padir.commands.<verb>.main(argv) -> int`. Errors that the user can fix come out as
one line on stderr with exit status 2; anything else is a defect and keeps its traceback.
"""

import difflib
import errno
import importlib
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

# Title of a group -> verb -> help in one line.
GROUPS = {
    "start and look": {
        "init": "write a config for text of your own",
        "plan": "what a config would run, and what it would cost",
        "doctor": "check machine and folder, and say how to fix what is wrong",
        "status": "what runs, how far it is, and what is done",
        "launch": "run a command on a cluster or cloud, submitted once",
    },
    "use a model": {
        "translate": "translate standard input line by line",
        "serve": "a page for live input and a small HTTP API",
        "export": "a folder for a model hub, or a program without code",
        "score": "BLEU, chrF and stutter of a hypothesis file",
    },
    "stages of the pipeline": {
        "fetch": "get the raw text of a dataset, or generate it",
        "clean": "drop unusable pairs and count them by reason",
        "extra-sources": "clean text that a teacher translates too",
        "vocab": "learn one SentencePiece vocabulary for a language pair",
        "train": "train one model with one seed; resumes by itself",
        "tune": "choose the length rule of decoding on validation data",
        "distill": "translate the training sources with a teacher",
        "distill-cloud": "buy translations from Cloud Translation",
        "distill-card": "describe distilled targets and their quality",
        "decode": "translate a file, with one JSON line per sentence",
        "trace": "record each pass over the first sentences of a file",
        "rate": "a further score of a hypothesis file: BLEURT, chrF++",
        "latency": "time whole translations at batch size 1",
        "analyse": "dependence between target positions, by attention",
        "sample": "run k-Gibbs chains over the translations of a file",
        "theory": "run one Ising experiment",
        "report": "write tables, figures, claims and the HTML page",
    },
    "maintain": {"schema": "write the config's schema and its documentation"},
}
# Verb -> (module, help in one line).
VERBS = {
    verb: (f"padir.commands.{verb.replace('-', '_')}", text)
    for group in GROUPS.values()
    for verb, text in group.items()
}

# glibc settings for long training: huge pages and a heap that is never trimmed. They change
# speed only, and glibc reads them once, at the start of a process.
ALLOCATOR = (
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=8000000000"
    ":glibc.malloc.trim_threshold=16000000000"
)
LONG_RUNNING = ("train", "distill")
# Verbs with nothing to save: an interrupt ends them at once, also while a program is compiled.
INTERRUPTIBLE = ("translate", "serve")
INTERRUPTED = 130
TERMINATED = 143


def usage() -> str:
    """The text of `padir --help`."""
    width = max(map(len, VERBS))
    lines = [
        "usage: padir VERB [arguments]",
        "",
        "Non-autoregressive translation by parallel refinement, measured.",
        "",
        *(
            line
            for title, verbs in GROUPS.items()
            for line in (
                f"{title}:",
                *(f"  {verb:<{width}}  {text}" for verb, text in verbs.items()),
                "",
            )
        ),
        "padir VERB --help explains one verb; padir --version prints the version.",
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb.

    Args:
        argv: arguments after the program's name; those of the process by default.

    Returns:
        The exit status: 0 done, 2 the input or the command line is at fault, 130 interrupted, 141
        nobody reads the output.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = " ".join(["padir", *arguments[:1]])
    if sys.stderr is None:
        # The caller closed it: `print` would write what is meant for it to the output.
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    elif argv is None and isinstance(sys.stderr, io.TextIOWrapper):
        # Unbuffered (PYTHONUNBUFFERED), a line and its end are written one after the other, and a
        # thread that ends the process would come between them.
        sys.stderr.reconfigure(line_buffering=True, write_through=False)
    try:
        if argv is None:
            _hear_interrupts(command)
            if os.getpid() == 1:
                # In a container: the kernel spares this process what SIGTERM does by default.
                signal.signal(signal.SIGTERM, lambda *_: os._exit(TERMINATED))
        status = _run(arguments, argv is None)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has what it wanted; Python's own last flush must not fail either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 141
    except OSError as error:
        # A full disk, a missing file, a folder without write access: the system's own words.
        from padir.files import shown

        name = f"{shown(os.fsdecode(error.filename))}: " if error.filename else ""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "; free some and run the same command" if full else ""
        _say(f"{command}: error: {name}{error.strerror or error}{advice}")
        status = 2
        if argv is None and not name:
            # It may have been standard output, whose last flush would fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except KeyboardInterrupt:
        _say(f"{command}: interrupted")
        status = INTERRUPTED
    if argv is None:
        # All is done; the way out of the process has nothing that an interrupt could spare.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    interruptible = arguments[:1] and arguments[0] in INTERRUPTIBLE
    if argv is None and (interruptible or status == INTERRUPTED):
        # A thread may still wait for input, which Python's finalisation cannot end, or run a
        # compiled program, whose memory it would free.
        os._exit(status)
    return status


def _run(arguments: list[str], is_process: bool) -> int:
    """Run the verb; `is_process` says whether this process does nothing else."""
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
    if is_process and verb in LONG_RUNNING:
        _restart_with_allocator()
    from padir.files import InputError

    try:
        for word in rest:
            # Provenance and logs are UTF-8.
            if word != word.encode(errors="replace").decode():
                raise InputError(f"{word!a}: not UTF-8; rename the file")
        return importlib.import_module(VERBS[verb][0]).main(rest)
    except InputError as error:
        _say("\n".join(f"padir {verb}: error: {line}" for line in str(error).splitlines()))
        return 2


def _say(message: str) -> None:
    """Write to stderr; errors such as a closed terminal or a full disk are ignored."""
    with suppress(OSError):
        # In one write, as `main` asks for: `print` would write the end of several lines alone.
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()


def _restart_with_allocator() -> None:
    """Restart this process with allocator settings `ALLOCATOR`, unless the user has set others."""
    if sys.platform == "linux" and "GLIBC_TUNABLES" not in os.environ:
        environment = {**os.environ, "GLIBC_TUNABLES": ALLOCATOR}
        # An interrupt waits until the new process hears it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.execve(sys.executable, [sys.executable, "-m", "padir", *sys.argv[1:]], environment)


def _hear_interrupts(command: str) -> None:
    """Make SIGINT end this process with one line, whatever it does; status `INTERRUPTED`.

    It raises KeyboardInterrupt, so that files are closed and temporary ones removed. Where that
    exception would be lost or become another one, the process ends at once: while a module is
    imported, as JAX is for a second, and in callbacks, such as XLA's of the garbage collector. The
    same holds for `INTERRUPTIBLE` verbs.

    Args:
        command: "padir" and the verb, for the line.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    at_once = command.rpartition(" ")[2] in INTERRUPTIBLE
    ending = threading.Lock()

    def end() -> None:
        if ending.acquire(blocking=False):
            with suppress(OSError):
                os.write(2, f"{command}: interrupted\n".encode())
            os._exit(INTERRUPTED)

    def hear(number: int, frame: FrameType | None) -> None:
        if at_once or _imports(frame):
            end()
            # It was begun before: by the second thread, or by this one, which a signal came upon.
            time.sleep(1)
            return
        raise KeyboardInterrupt

    unraisable = sys.unraisablehook

    def lost(failure: "sys.UnraisableHookArgs") -> None:
        if issubclass(failure.exc_type, KeyboardInterrupt):
            end()
        unraisable(failure)

    sys.unraisablehook = lost
    signal.signal(signal.SIGINT, hear)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if at_once:
        _end_while_compiling(end)


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _end_while_compiling(end: Callable[[], None]) -> None:
    """Let a second thread end this process on SIGINT.

    Python runs signal handlers between two instructions of the main thread, and compiling a program
    can take seconds. So the signal is also written to a pipe, which the thread reads. The handler
    is needed where the signal arrives at the end of the input, as the process may end before the
    thread runs.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def wait() -> None:
        while os.read(reader, 1) != bytes([signal.SIGINT]):
            pass
        end()

    threading.Thread(target=wait, daemon=True).start()
