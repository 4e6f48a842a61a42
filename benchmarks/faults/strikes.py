"""The kinds of faults: each makes one trial of a command, and says what came of it."""

import errno
import mmap
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.faults.records import Outcome
from benchmarks.faults.trial import Disturb, Trial, ended, wait_for

KILLS = 4
"""Most kills in one trial."""
ATTEMPTS = 30
YEARS = 10 * 365 * 86_400.0


def under(folder: Path, path: object) -> bool:
    return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(str(folder))


def failing(folder: Path, number: int, code: int, struck: mmap.mmap) -> Disturb:
    """Make the n-th opening for writing, rename or fsync in a folder fail, and note that it did."""

    def disturb() -> None:
        left = [number]

        def event() -> None:
            left[0] -= 1
            if left[0] == 0:
                struck[0] = 1
                raise OSError(code, os.strerror(code))

        def hook(name: str, arguments: tuple) -> None:
            if name == "open" and under(folder, arguments[0]):
                if arguments[2] & (os.O_WRONLY | os.O_RDWR):
                    event()
            elif name == "os.rename" and under(folder, arguments[1]):
                event()

        fsync = os.fsync

        def failing_fsync(descriptor: int) -> None:
            event()
            fsync(descriptor)

        os.fsync = failing_fsync
        sys.addaudithook(hook)

    return disturb


def limited(size: int) -> Disturb:
    """Let no file grow past a size: the write that would fails, in C++ too."""

    def disturb() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return disturb


def kill(trial: Trial, draw: random.Random) -> Outcome:
    """SIGKILL at random moments, several to a trial."""
    strikes = 0
    for _ in range(draw.randint(1, KILLS)):
        if not trial.kill_after(draw.uniform(0, trial.seconds)):
            break
        strikes += 1
    return trial.judge(f"killed {strikes} times", strikes)


def write(trial: Trial, draw: random.Random) -> Outcome:
    """A failing call, or a file that may not grow."""
    if draw.random() < 0.25:
        # Room for the one line on stderr, which goes to a file too.
        size = int(10 ** draw.uniform(2.7, 5))
        status = trial.finish(limited(size))
        # A run that ends well was not short of room, or got along without.
        return trial.judge(f"files of {size} bytes", int(status != 0), status)
    code = draw.choice((errno.ENOSPC, errno.EIO, errno.EDQUOT))
    position = draw.randint(1, trial.command.calls)
    struck = mmap.mmap(-1, 1)
    status = trial.finish(failing(trial.folder, position, code, struck))
    return trial.judge(f"{errno.errorcode[code]} at call {position}", struck[0], status)


def full(trial: Trial, draw: random.Random) -> Outcome:
    """A disk without the room that the command needs, then with it."""
    room = os.statvfs(trial.folder)
    leave = int(draw.uniform(0, trial.growth))
    filler = trial.folder / "filler"
    filler.write_bytes(bytes(max(room.f_bavail * room.f_frsize - leave, 0)))
    status = trial.finish()
    filler.unlink()
    return trial.judge(f"{leave} bytes left on the disk", int(status != 0), status)


def spoil(path: Path, draw: random.Random) -> str:
    """Cut a file short or flip one bit of it, under the times that it had; which of both."""
    content, times = bytearray(path.read_bytes()), path.stat()
    if draw.random() < 0.5:
        what, content = "cut", content[: draw.randrange(len(content))]
    else:
        what = "flipped"
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return f"{path.name} {what}"


def files(trial: Trial, patterns: tuple[str, ...]) -> list[Path]:
    """Files that may be damaged, none empty."""
    paths = []
    for path in {path for pattern in patterns for path in trial.folder.glob(pattern)}:
        # A command at work takes files away.
        with suppress(FileNotFoundError):
            if path.is_file() and path.stat().st_size:
                paths.append(path)
    return sorted(paths)


def half_done(trial: Trial, draw: random.Random) -> bool:
    """Kill a run at work that has left something to damage; whether that could be done."""

    def ready() -> bool:
        return bool(files(trial, trial.command.damaged))

    for _ in range(ATTEMPTS):
        trial.clear()
        # What is there when it dies may still be taken away.
        if trial.kill_after(draw.uniform(0, 0.2) * trial.seconds, ready) and ready():
            return True
    return False


def damage(trial: Trial, draw: random.Random) -> Outcome:
    """A file of a half-finished run cut short, or one bit of it flipped."""
    if not half_done(trial, draw):
        return trial.judge("nothing to damage", 0)
    path = draw.choice(files(trial, trial.command.damaged))
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "copy"
        shutil.copytree(trial.folder, copy)

        def fix() -> None:
            if not trial.command.restarts:
                shutil.rmtree(trial.folder)
                shutil.copytree(copy, trial.folder)

        return trial.judge(spoil(path, draw), 1, fix=fix)


def damaged_input(trial: Trial, draw: random.Random) -> Outcome:
    """An input cut short, or one bit of it flipped; of a training, between two runs."""
    if trial.command.resumes and not half_done(trial, draw):
        return trial.judge("no run to resume", 0)
    path = draw.choice(files(trial, trial.command.inputs))
    return trial.judge(spoil(path, draw), 1, fix=trial.restore)


def two(trial: Trial, draw: random.Random) -> Outcome:
    """The same command twice at once."""
    wait = trial.command.name == "train" and draw.random() < 0.5
    if wait:
        trial.arguments.append("--wait")
    log = trial.errors.with_suffix(".second")
    first = trial.start()
    time.sleep(draw.uniform(0, 0.8) * trial.seconds)
    if (status := ended(first)) is not None:
        outcome = trial.judge("the second came late", 0, status)
    else:
        second = trial.start(log=log)
        statuses = [wait_for(process, trial.patience) for process in (first, second)]
        told = [trial.told(), trial.told(log)]
        bad = [status for status, line in zip(statuses, told, strict=True) if status and not line]
        # One that was refused leaves the other's output, which must be right.
        judged = trial.judge(f"statuses {statuses}", 1, 0 if 0 in statuses else None)
        note = judged.note + "".join(f": status {each} untold" for each in bad)
        outcome = Outcome(judged.verdict, 1, judged.untold + len(bad), judged.left, note)
    if wait:
        trial.arguments.remove("--wait")
    return outcome


def clock(trial: Trial, draw: random.Random) -> Outcome:
    """Years between the clocks of two runs, and file times of the past and the future."""

    def jump(seconds: float) -> Disturb:
        def disturb() -> None:
            now, now_ns = time.time, time.time_ns
            time.time = lambda: now() + seconds
            time.time_ns = lambda: now_ns() + int(seconds * 1e9)

        return disturb

    trial.kill_after(draw.uniform(0, 1) * trial.seconds)
    for path in sorted(trial.folder.rglob("*")):
        moment = time.time() + draw.uniform(-YEARS, YEARS)
        os.utime(path, (moment, moment), follow_symlinks=False)
    status = trial.finish(jump(draw.uniform(-YEARS, YEARS)))
    return trial.judge("clock moved", 1, status)


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[bool]:
    """A file system of its own; whether that was allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


STRIKES: dict[str, Callable[[Trial, random.Random], Outcome]] = {
    "kill": kill,
    "write": write,
    "full": full,
    "damage": damage,
    "input": damaged_input,
    "two": two,
    "clock": clock,
}
