"""Locks: one holder, waiting, removed folders; runs of Snakemake and what killed ones leave."""

import io
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from padir.files import InputError
from padir.locks import Lock, Run, try_lock
from padir.provenance import write_provenance

HOLD = """
import sys
from pathlib import Path
from padir.locks import Lock, Run
path = Path(sys.argv[2])
held = Lock(path, "in use") if sys.argv[1] == "lock" else Run(path)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder():
    """Starts a process that holds a lock or a run until it is killed or its input ends."""
    started: list[subprocess.Popen[str]] = []

    def start(path: Path, kind: str = "lock") -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLD, kind, str(path)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


class Stderr(io.StringIO):
    """Does something as soon as a lock says that it waits."""

    def __init__(self, do: Callable[[], object]):
        super().__init__()
        self.do = do

    def write(self, text: str) -> int:
        if "waiting for it to end" in text:
            self.do()
        return super().write(text)


def test_a_held_lock_is_refused_and_its_holder_named(tmp_path, holder):
    process = holder(tmp_path / "lock")
    where = rf"in use \(process {process.pid} on {platform.node()}\); wait for it, or stop it"
    with pytest.raises(InputError, match=where):
        Lock(tmp_path / "lock", "in use")
    process.kill()
    process.wait()
    with Lock(tmp_path / "lock", "in use") as lock:
        assert not lock.waited
    assert json.loads((tmp_path / "lock").read_text())["process"] == os.getpid()


def test_a_waiting_lock_reports_once_and_is_acquired(tmp_path, holder, monkeypatch):
    process = holder(tmp_path / "lock")
    monkeypatch.setattr(sys, "stderr", stderr := Stderr(process.stdin.close))
    with Lock(tmp_path / "lock", "in use", wait=True) as lock:
        assert process.wait(10) == 0
        assert lock.waited
    assert stderr.getvalue().count("waiting for it to end") == 1


def test_a_lock_whose_folder_its_holder_removes_is_taken_in_a_new_one(
    tmp_path, holder, monkeypatch
):
    folder = tmp_path / "work"
    process = holder(folder / "lock")

    def finish() -> None:
        shutil.rmtree(folder)
        process.stdin.close()

    monkeypatch.setattr(sys, "stderr", Stderr(finish))
    with Lock(folder / "lock", "in use", wait=True), pytest.raises(InputError, match="in use"):
        Lock(folder / "lock", "in use")


def test_a_folder_that_its_holder_removes_while_the_lock_is_opened_is_made_again(
    tmp_path, monkeypatch
):
    folder, mkdir = tmp_path / "work", Path.mkdir
    calls = []

    def raced(self, *given, **named):
        calls.append(self)
        mkdir(self, *given, **named)
        if len(calls) == 1:
            self.rmdir()
        if len(calls) == 2:
            raise FileExistsError(self)

    monkeypatch.setattr(Path, "mkdir", raced)
    with Lock(folder / "lock", "in use"):
        assert calls == [folder] * 3
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        Lock(tmp_path / "file/lock", "in use")


def test_a_look_at_a_killed_run_does_not_keep_its_lock(tmp_path, monkeypatch):
    Run(tmp_path)
    left = tmp_path / "locks" / "0.output.lock"
    left.parent.mkdir()
    left.write_text("results/a\n")
    looks = [False, False]
    monkeypatch.setattr("padir.locks.try_lock", lambda *of: looks.pop() if looks else try_lock(*of))
    Run(tmp_path)
    assert not left.exists()


def test_locks_of_killed_runs_are_removed_and_those_of_live_ones_stay(tmp_path, holder, capsys):
    left = tmp_path / "locks" / "0.output.lock"
    process = holder(tmp_path, "run")
    left.parent.mkdir()
    left.write_text("results/a\n")
    second = Run(tmp_path)
    assert left.exists()
    process.kill()
    process.wait()
    # The second run still works here.
    Run(tmp_path)
    assert left.exists()
    del second
    Run(tmp_path)
    assert not left.exists()
    assert "a killed run had left its lock here" in capsys.readouterr().err


def test_a_damaged_name_of_a_host_stops_no_run(tmp_path):
    (tmp_path / "padir.runs").write_bytes(b"\xf6m\n")
    Run(tmp_path)
    assert (tmp_path / "padir.runs").read_text() == f"{platform.node()}\n"


def test_the_lock_of_a_run_on_another_host_stays_and_is_named(tmp_path, capsys):
    left = tmp_path / "locks" / "0.input.lock"
    left.parent.mkdir()
    left.write_text("results/a\n")
    (tmp_path / "padir.runs").write_text("far.example\n")
    Run(tmp_path)
    assert left.exists()
    assert "locked by a run on far.example; once that has ended, add --unlock" in (
        capsys.readouterr().err
    )
    left.unlink()
    Run(tmp_path)
    assert (tmp_path / "padir.runs").read_text() == f"{platform.node()}\n"


def raw_text(results: Path, name: str) -> Path:
    folder = results / "data" / name / "xs-xt/raw"
    folder.mkdir(parents=True)
    for file in ("train.xs", "train.xt"):
        (folder / file).write_text("a\n")
    write_provenance(folder, ["fetch"], outputs=sorted(folder.iterdir()))
    return folder


def test_raw_text_that_a_killed_run_removed_in_part_is_removed(tmp_path, holder, capsys):
    whole, part, unnamed, empty = (raw_text(tmp_path, name) for name in "abcd")
    (part / "train.xt").unlink()
    (unnamed / "provenance.json").unlink()
    for path in empty.iterdir():
        path.unlink()
    process = holder(tmp_path / "state", "run")
    # Another run, which may be fetching.
    Run(tmp_path / "state").finish_removals(tmp_path)
    assert part.exists() and not capsys.readouterr().err
    process.kill()
    process.wait()
    Run(tmp_path / "state").finish_removals(tmp_path)
    assert [path.exists() for path in (whole, part, unnamed, empty)] == [True, False, False, False]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 and lines[0].endswith("a killed run had left a part of it; removed")


def test_files_that_vanish_while_dates_are_settled_are_passed_over(tmp_path, monkeypatch, capsys):
    future = 4e9
    for name in ("a", "b"):
        (tmp_path / "results").mkdir(exist_ok=True)
        path = tmp_path / "results" / name
        path.touch()
        os.utime(path, (future, future))
    lstat = Path.lstat

    def vanishing(self):
        if self.name == "a":
            raise FileNotFoundError
        return lstat(self)

    run = Run(tmp_path / "state")
    monkeypatch.setattr(Path, "lstat", vanishing)
    run.settle_dates(tmp_path / "results")
    monkeypatch.undo()
    assert (tmp_path / "results/b").stat().st_mtime < future
    assert capsys.readouterr().err.startswith("1 file(s) were dated after the system's clock")
