"""Counts of faults: commands are killed, their writes fail, their files are damaged, at random.

    python benchmarks/faults.py --write docs/reliability.md

Each trial starts a command in a process of its own, disturbs it, and runs the same command again
until it ends by itself. Its output must then be, byte for byte, that of a run that nothing
disturbed. Counted are trials, those with an output that is right in the end, those with a wrong
output and exit status 0, and those that the same command does not bring to an end.
"""

import argparse
import errno
import hashlib
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
ONE_LINE = re.compile(r"^padir [a-z-]+: (error: |stopped |interrupted)")
ATTEMPTS = 30
WORDS = ("ba", "ko", "mi", "re", "su", "ta")
TIMES = re.compile(rb'"(?:seconds|cpu_seconds|tokens_per_second)": [0-9.e+-]+')

Disturb = Callable[[], None]


@dataclass(frozen=True)
class Command:
    """A command and the files that it must leave.

    Attributes:
        name: of the verb.
        prepare: writes the inputs into a folder; returns the arguments.
        outputs: names under the folder that are compared, as patterns.
        damaged: names of files that may be damaged before the command runs again.
    """

    name: str
    prepare: Callable[[Path], list[str]]
    outputs: tuple[str, ...]
    damaged: tuple[str, ...] = ()


@dataclass
class Count:
    """Outcomes of one kind of fault.

    Attributes:
        tried: disturbed runs.
        survived: the output was right in the end.
        wrong: another output, and exit status 0.
        lost: the same command did not come to an end.
        untold: exit statuses other than 0 without one line of ours as the reason.
        left: trials after which a temporary file stayed.
    """

    tried: int = 0
    survived: int = 0
    wrong: int = 0
    lost: int = 0
    untold: int = 0
    left: int = 0
    notes: list[str] = field(default_factory=list)


def clean_arguments(folder: Path) -> list[str]:
    """Two languages, 8,000 training pairs with duplicates and empty sides."""
    from padir.config.data import Dataset, FilesSource
    from padir.files import write_json

    draw = random.Random(0)
    raw = folder / "raw"
    raw.mkdir()
    for split, pairs in (("train", 8_000), ("valid", 50), ("test", 50)):
        lines = [" ".join(draw.choices(WORDS, k=draw.randint(split != "train", 9)))
                 for _ in range(pairs)]  # fmt: skip
        (raw / f"{split}.de").write_text("".join(f"{split} {line}\n" for line in lines))
        (raw / f"{split}.en").write_text("".join(f"{line} {split}\n" for line in lines))
    sides = {split: {"files": {lang: str(raw / f"{split}.{lang}") for lang in ("de", "en")}}
             for split in ("train", "valid", "test")}  # fmt: skip
    dataset = Dataset(source=FilesSource(**sides), directions=["de-en"])
    write_json(folder / "dataset.json", dataset.model_dump(mode="json"))
    return [
        *("clean", "--config-dataset", str(folder / "dataset.json"), "--raw", str(raw)),
        *("--out", str(folder / "data"), "--threads", "1"),
    ]


def vocabulary_arguments(folder: Path) -> list[str]:
    """A vocabulary of 1,000 lines."""
    from padir.config.data import VocabularySettings
    from padir.files import write_json, write_lines

    draw = random.Random(1)
    letters = "abcdefghijklmnop"
    for language in ("de", "en"):
        write_lines(
            folder / f"train.{language}",
            (" ".join("".join(draw.choices(letters, k=4)) for _ in range(8)) for _ in range(1000)),
        )
    settings = VocabularySettings(kind="unigram", size=120)
    write_json(folder / "settings.json", settings.model_dump(mode="json"))
    texts = [str(folder / f"train.{language}") for language in ("de", "en")]
    return [
        *("vocab", "--settings", str(folder / "settings.json"), "--text", *texts),
        *("--out", str(folder / "spm.model")),
    ]


def train_arguments(folder: Path) -> list[str]:
    """A tiny AR training of 400 steps with a checkpoint every 20."""
    from tests.training import tiny_spec, train_arguments, write_toy

    write_toy(folder)
    spec = tiny_spec("ar", steps=400, checkpoint_every=20, validate_every=100, selection="average")
    return ["train", *train_arguments(folder, spec), "--threads", "1"]


COMMANDS = (
    Command("clean", clean_arguments, ("data/*.*",)),
    Command("vocab", vocabulary_arguments, ("spm.model",)),
    Command(
        "train",
        train_arguments,
        ("bundle/*", "metrics.jsonl"),
        ("work/checkpoints/**/*", "work/candidates/*", "work/saved/*", "work/metrics.jsonl"),
    ),
)


class Trial:
    """Runs of one command in a folder.

    Args:
        command: what runs.
        folder: an empty one; all trials of a command use the same, since outputs name their inputs.
    """

    def __init__(self, command: Command, folder: Path):
        self.command, self.folder = command, folder
        self.seconds = 0.0
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.arguments = command.prepare(folder)
        self.inputs = {path for path in folder.rglob("*") if path.is_file()}
        self.errors = folder.with_name(f"{folder.name}.log")

    def start(self, disturb: Disturb | None = None) -> int:
        """Start the command in a fork of this process; its process id."""
        sys.stdout.flush()
        process = os.fork()
        if process:
            return process
        status = 99
        try:
            log = os.open(self.errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            if disturb is not None:
                disturb()
            from padir.cli import main

            status = main(self.arguments)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            with suppress(OSError):
                sys.stderr.flush()
            os._exit(status)

    def finish(self, disturb: Disturb | None = None) -> int:
        """Run the command to its end; its exit status."""
        began = time.monotonic()
        status = os.waitstatus_to_exitcode(os.waitpid(self.start(disturb), 0)[1])
        self.seconds = time.monotonic() - began
        return status

    def kill_after(self, seconds: float) -> bool:
        """Start the command and kill it after some seconds; whether it was still at work."""
        process = self.start()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if os.waitpid(process, os.WNOHANG)[0]:
                return False
            time.sleep(0.002)
        os.kill(process, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL

    def told(self) -> bool:
        """Whether the last run's reason is one line of ours."""
        lines = self.errors.read_text(errors="replace").splitlines()
        trace = any(line.startswith("Traceback") for line in lines)
        return bool(lines) and not trace and any(ONE_LINE.match(line) for line in lines[-2:])

    def outputs(self) -> str:
        """A digest of the outputs, but for clocks and provenance."""
        whole = hashlib.sha256()
        for pattern in self.command.outputs:
            for path in sorted(self.folder.glob(pattern)):
                if path.is_file() and not path.name.endswith("provenance.json"):
                    whole.update(path.name.encode() + TIMES.sub(b"", path.read_bytes()))
        return whole.hexdigest()

    def leftovers(self) -> list[Path]:
        """Temporary files that the finished command left."""
        return [path for path in self.folder.rglob("*")
                if path.name.endswith(".tmp") or ".orbax-checkpoint-tmp" in path.name]  # fmt: skip

    def clear(self) -> None:
        """Remove all but the inputs."""
        for path in self.folder.iterdir():
            if path.is_dir() and not any(path in file.parents for file in self.inputs):
                shutil.rmtree(path)
            elif path.is_file() and path not in self.inputs:
                path.unlink()

    def judge(self, count: Count, expected: str, what: str) -> None:
        """Run the same command until it ends by itself, and compare."""
        for _ in range(3):
            status = self.finish()
            if status == 0:
                break
            if not self.told():
                count.untold += 1
                count.notes.append(f"{what}: status {status}: {self.errors.read_text()[-400:]}")
        count.left += bool(self.leftovers())
        if status:
            count.lost += 1
            count.notes.append(f"{what}: never ends: {self.errors.read_text()[-400:]}")
        elif self.outputs() == expected:
            count.survived += 1
        else:
            count.wrong += 1
            count.notes.append(f"{what}: another output")


def under(folder: Path, path: object) -> bool:
    return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(str(folder))


def failing(folder: Path, number: int, code: int) -> Disturb:
    """Make the n-th opening for writing, rename or fsync in a folder fail."""

    def disturb() -> None:
        left = [number]

        def event() -> None:
            left[0] -= 1
            if left[0] == 0:
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
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return disturb


def kills(trial: Trial, expected: str, trials: int, draw: random.Random) -> Count:
    """SIGKILL at random moments, several to a run."""
    count = Count()
    while count.tried < trials:
        trial.clear()
        for _ in range(draw.randint(1, 4)):
            if not trial.kill_after(draw.uniform(0, trial.seconds)):
                break
            count.tried += 1
        before = count.survived
        trial.judge(count, expected, "killed")
        # Outcomes are those of the round; all its kills share it.
        if count.survived > before:
            count.survived = count.tried
    return count


def failed_writes(trial: Trial, expected: str, trials: int, draw: random.Random) -> Count:
    """A failing call, or a file that may not grow."""
    count = Count()
    for number in range(trials):
        trial.clear()
        if number % 4 == 3:
            # Room for the one line on stderr, which goes to a file too.
            what, disturb = "size", limited(int(10 ** draw.uniform(2.7, 5)))
        else:
            code = draw.choice((errno.ENOSPC, errno.EIO, errno.EDQUOT))
            position = draw.randint(1, 12 if trial.command.name != "train" else 120)
            what = f"{errno.errorcode[code]} at call {position}"
            disturb = failing(trial.folder, position, code)
        status = trial.finish(disturb)
        count.tried += 1
        if status not in (0, 2) or (status == 2 and not trial.told()):
            count.untold += 1
            count.notes.append(f"{what}: status {status}: {trial.errors.read_text()[-600:]}")
        trial.judge(count, expected, what)
    return count


def damages(trial: Trial, expected: str, trials: int, draw: random.Random) -> Count:
    """A file of a half-finished run cut short or with one bit flipped."""
    count = Count()
    while count.tried < trials:
        trial.clear()
        for _ in range(ATTEMPTS):
            # At work, and with something on disk.
            if trial.kill_after(draw.uniform(0.6, 1) * trial.seconds) and victims(trial):
                break
        path = draw.choice(victims(trial))
        content = bytearray(path.read_bytes())
        if draw.random() < 0.5:
            what = f"{path.relative_to(trial.folder)} cut"
            content = content[: draw.randrange(len(content))]
        else:
            what = f"{path.relative_to(trial.folder)} flipped"
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(content)
        count.tried += 1
        before = count.lost
        trial.judge(count, expected, what)
        if count.lost > before and trial.told():
            # Said in one line, which names --restart; nothing wrong was written.
            trial.arguments.append("--restart")
            count.lost -= trial.finish() == 0
            count.survived += 1
            count.notes[-1] += " (after --restart: right)"
            trial.arguments.pop()
    return count


def victims(trial: Trial) -> list[Path]:
    """Files that may be damaged, none empty."""
    patterns = trial.command.damaged
    files = {path for pattern in patterns for path in trial.folder.glob(pattern)}
    return sorted(path for path in files if path.is_file() and path.stat().st_size)


FAULTS = {
    "SIGKILL at a random moment": kills,
    "a write, rename or fsync fails, or a file may not grow": failed_writes,
    "a file of the work folder cut short, or one bit flipped": damages,
}


def counted(
    folder: Path, verbs: list[str], kinds: list[str], trials: int, seed: int
) -> Iterator[tuple[str, str, Count]]:
    """Verb, kind of fault and outcomes."""
    for command in COMMANDS:
        if command.name not in verbs:
            continue
        trial = Trial(command, folder / command.name)
        if trial.finish() or trial.clear() or trial.finish():
            raise SystemExit(f"{command.name} fails undisturbed: {trial.errors.read_text()}")
        expected = trial.outputs()
        for kind, (title, fault) in zip(("kill", "write", "damage"), FAULTS.items(), strict=True):
            if kind in kinds and (fault is not damages or command.damaged):
                draw = random.Random(f"{seed} {command.name} {kind}")
                yield command.name, title, fault(trial, expected, trials, draw)


def table(rows: list[tuple[str, str, Count]], arguments: list[str]) -> str:
    """The counts in Markdown, under the command that made them."""
    lines = [
        f"    python benchmarks/faults.py {' '.join(arguments)}",
        "",
        "| command | fault | tried | survived | wrong | lost | without one line | files left |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for verb, title, c in rows:
        cells = (c.tried, c.survived, c.wrong, c.lost, c.untold, c.left)
        lines.append(f"| `padir {verb}` | {title} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> int:
    """Count, print, and write the table into a page."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--trials", type=int, default=20, help="of each kind (default 20)")
    parse.add_argument("--seed", type=int, default=0)
    parse.add_argument("--verbs", nargs="+", default=[c.name for c in COMMANDS])
    parse.add_argument("--kinds", nargs="+", default=["kill", "write", "damage"])
    parse.add_argument("--write", type=Path, metavar="PAGE", help="page with the markers")
    given = parse.parse_args()
    # Imports once, JAX's devices never: each trial is a fork of this process.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from padir.launch import prepare

    prepare(1)
    import tests.training  # noqa: F401

    rows = []
    with tempfile.TemporaryDirectory(prefix="padir-faults-") as name:
        for row in counted(Path(name), given.verbs, given.kinds, given.trials, given.seed):
            rows.append(row)
            print(*row[:2], row[2], file=sys.stderr, flush=True)
    text = table(rows, [a for a in sys.argv[1:] if a != "--write" and a != str(given.write)])
    print(text)
    if given.write:
        page = given.write.read_text()
        before, rest = page.split(BEGIN)
        given.write.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
