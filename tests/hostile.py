"""Hostile text for property tests, and a watch over what a command starts and writes."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

CANARY = "canary-4f1c"
# Each would leave the canary if a shell, a format string, a template or a path join read it.
SPELLS = (
    *(f"$(touch {CANARY})", f"`touch {CANARY}`", f";touch {CANARY};", f"\n touch {CANARY}\n"),
    *(f"|touch {CANARY}", f"&& touch {CANARY} #", f"'; touch {CANARY}; '", f'";touch {CANARY};"'),
    *(f"<(touch {CANARY})", f">{CANARY}", f"../{CANARY}", f"../../{CANARY}", f"/tmp/{CANARY}"),
    *("{input}", "{wildcards.training}", "{0.__class__}", "%(x)s%s%n", "{{", "}", "!!python/none"),
    *("-", "--out", f"--out={CANARY}", "-rf", "~", "~root", "$HOME", "${IFS}", "*", "?", "[a-z]"),
    *("'", '"', "\\", "\\n", "\r", "\t", "\0", "\x1b[31m", "\x7f", "\u2028", "\u202e", "\ufeff"),
    *(
        "é",
        "ß",
        "漢字",
        "\U0001f600",
        "e\u0301",
        "\ud800",
        "a" * 300,
        "x" * 5000,
        "",
        " ",
        ".",
        "..",
    ),
    *("con", "NaN", "null", "1e999", "0x10", "<script>", "</td>", "[[x]]", "::", "@", "#", "\\x00"),
)
TEXT = st.lists(st.sampled_from(SPELLS) | st.text(max_size=8), min_size=1, max_size=4).map("".join)
# What a file can be called.
NAMES = TEXT.map(lambda text: text.replace("/", "∕").replace("\0", "")).filter(
    lambda name: (
        name not in ("", ".", "..")
        and not any("\ud800" <= letter <= "\udfff" for letter in name)
        and len(name.encode()) <= 200
    )
)


@dataclass
class Watch:
    """What was started and written while the watch was on."""

    started: list[str] = field(default_factory=list)
    written: set[str] = field(default_factory=set)


_watches: list[Watch] = []
_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn")
_CHANGES = {"os.mkdir": 1, "os.rename": 2, "os.remove": 1, "os.rmdir": 1, "os.link": 2}
_CHANGES |= {"os.symlink": 2, "os.truncate": 1, "os.chmod": 1, "shutil.rmtree": 1}


def _audit(event: str, arguments: tuple) -> None:
    if not _watches:
        return
    if event in _STARTS:
        # Fixed words: git for the commit in a provenance file, uname for its machine.
        words = arguments[1] if event == "subprocess.Popen" else arguments
        if words != ["uname", "-p"] and words[:3] != ["git", "--no-optional-locks", "-C"]:
            _watches[-1].started.append(f"{event} {words}")
    elif event == "open":
        path, _, flags = arguments
        # A file without a name is none that stays.
        nameless = flags & os.O_TMPFILE == os.O_TMPFILE
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not nameless
        if isinstance(path, str | bytes) and writes:
            _watches[-1].written.add(os.path.abspath(os.fsdecode(path)))
    elif event in _CHANGES:
        # The last argument of a removal is the open folder that its path is relative to, or -1.
        folder = arguments[-1] if event in ("os.remove", "os.rmdir") else -1
        base = os.readlink(f"/proc/self/fd/{folder}") if folder >= 0 else ""
        for path in arguments[: _CHANGES[event]]:
            if isinstance(path, str | bytes | os.PathLike):
                _watches[-1].written.add(os.path.abspath(os.path.join(base, os.fsdecode(path))))


@contextmanager
def watched() -> Iterator[Watch]:
    """Note the processes that are started and the paths that are written, by Python's own hooks."""
    if not getattr(watched, "on", False):
        sys.addaudithook(_audit)
        watched.on = True  # type: ignore[attr-defined]
    watch = Watch()
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.remove(watch)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file and folder below a folder."""
    return {
        os.fspath(path): path.read_bytes() if path.is_file() else b"folder"
        for path in folder.rglob("*")
    }


def outside(watch: Watch, *allowed: Path) -> list[str]:
    """Paths that were written outside of these folders, temporary and compiled files left out."""
    roots = [os.path.abspath(path) for path in allowed]
    free = ["/dev/", os.path.join(tempfile.gettempdir(), "tmp")]
    free += filter(None, [os.environ.get("XDG_CACHE_HOME")])
    return sorted(
        path
        for path in watch.written
        if not path.startswith(tuple(free))
        and "/__pycache__/" not in path
        and not any(path == root or path.startswith(root + os.sep) for root in roots)
    )
