"""Signals that end a training: it saves, unlocks and goes on later, whatever was lost with it."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from padir.files import read_jsonl
from padir.locks import Lock
from tests.training import tiny_spec, train_arguments, write_toy

pytestmark = pytest.mark.slow
STEPS = 100_000


@pytest.fixture
def start(tmp_path: Path):
    """Starts `padir train` for far too many steps; it is killed at the end of the test."""
    started: list[subprocess.Popen[bytes]] = []
    write_toy(tmp_path)
    spec = tiny_spec("ar", steps=STEPS, checkpoint_every=STEPS, validate_every=STEPS)
    command = [sys.executable, "-m", "padir", "train", *train_arguments(tmp_path, spec)]

    def run(*arguments: str, **options) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([*command, *arguments], cwd=tmp_path, **options))
        return started[-1]

    yield run
    for process in started:
        process.kill()


def wait_for_steps(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the loop has written its first line."""
    metrics = folder / "work" / "metrics.jsonl"
    deadline = time.monotonic() + 300
    while not metrics.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)


def saved_step(folder: Path) -> int:
    """The step of the only checkpoint; the work folder is free again."""
    Lock(folder / "work" / "lock", "in use").close()
    (name,) = [path.name for path in (folder / "work" / "checkpoints").glob("[0-9]*")]
    return int(name)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_saves_and_unlocks(start, tmp_path, number):
    process = start(stderr=subprocess.PIPE)
    wait_for_steps(tmp_path, process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    step = saved_step(tmp_path)
    assert f"stopped at step {step}; the same command goes on from there" in errors.decode()


def test_a_lost_terminal_saves_too(start, tmp_path):
    """The kernel's own hang-up; whatever is written to the terminal afterwards fails."""
    controller, terminal = pty.openpty()
    streams = {"stdin": terminal, "stdout": terminal, "stderr": terminal}

    def take_terminal() -> None:
        os.setsid()
        os.close(os.open(os.ttyname(0), os.O_RDWR))

    process = start(**streams, preexec_fn=take_terminal)
    os.close(terminal)
    wait_for_steps(tmp_path, process)
    os.close(controller)
    assert process.wait(timeout=60) == 143
    assert 0 < saved_step(tmp_path) < STEPS


def test_nohup_keeps_a_training_at_work(start, tmp_path):
    process = start(
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    wait_for_steps(tmp_path, process)
    process.send_signal(signal.SIGHUP)
    time.sleep(1)
    assert process.poll() is None
    process.terminate()
    assert process.wait(timeout=60) == 143


def test_a_second_trainer_waits_and_goes_on(start, tmp_path):
    """What Snakemake starts again while the trainer of a killed run still works."""
    first = start(stderr=subprocess.DEVNULL)
    wait_for_steps(tmp_path, first)
    second = start("--wait", stderr=subprocess.PIPE)
    line = second.stderr.readline().decode()
    assert f"another trainer is using this work folder (process {first.pid} on " in line
    assert "; waiting for it to end" in line
    first.terminate()
    assert first.wait(timeout=60) == 143
    metrics = tmp_path / "work" / "metrics.jsonl"
    before = len(read_jsonl(metrics))
    deadline = time.monotonic() + 300
    while len(read_jsonl(metrics)) <= before:
        assert second.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    second.terminate()
    second.communicate(timeout=60)
    steps = [line["step"] for line in read_jsonl(metrics)]
    # No step twice: the second one went on from what the first one had saved.
    assert steps == [50 * (i + 1) for i in range(len(steps))]
