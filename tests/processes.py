"""`padir train` in several processes, as tests start, watch, kill and compare them."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from padir.bundle import read_bundle
from padir.config.training import RunSpec
from tests.training import train_arguments, write_toy

PATIENCE = 600
"""Seconds after which a test gives a process up; four start at once where two cores are busy."""

ENDS_SECONDS = 60
"""Most seconds from a kill to the end of the others, on a busy machine; JAX alone takes 93."""


# Every process compiles for itself, and optimising is half of that.
QUICKLY = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}


class Training(list["subprocess.Popen[str]"]):
    """The processes of one training, in their order; a context manager that leaves none alive."""

    def __enter__(self) -> "Training":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self:
            process.kill()
            process.communicate()

    def wait_for(self, happened: Callable[[], bool]) -> None:
        """Until something has happened, while all processes run."""
        deadline = time.monotonic() + PATIENCE
        while not happened():
            ended = [process for process in self if process.poll() is not None]
            assert not ended, "\n".join(process.communicate()[1][-2000:] for process in ended)
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def ends(self, within: float = PATIENCE) -> list[tuple[int, list[str]]]:
        """Exit status and last words of each process: its lines but for those of progress. All have
        to end within so many seconds."""
        deadline = time.monotonic() + within
        texts = [
            process.communicate(timeout=max(0.0, deadline - time.monotonic()))[1]
            for process in self
        ]
        return [
            (process.returncode, [line for line in text.splitlines() if line[:6] != "train "])
            for process, text in zip(self, texts, strict=True)
        ]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(
    folder: Path,
    spec: RunSpec,
    processes: int = 1,
    devices: int = 1,
    host: str = "127.0.0.1",
    before: Sequence[Sequence[str]] = (),
    options: Sequence[str] = (),
) -> Training:
    """Train on the toy text in a folder.

    Args:
        folder: gets the text if it has none, a work folder and the bundle.
        spec: of the training.
        processes: that train together.
        devices: virtual ones of each process.
        host: where the first process is reached.
        before: for each process, words before its command.
        options: more words of the command.
    """
    if not (folder / "spm.model").exists():
        folder.mkdir(exist_ok=True)
        write_toy(folder)
    command = [sys.executable, "-m", "padir", "train", *train_arguments(folder, spec), *options]
    flags = f"--xla_force_host_platform_device_count={devices}"
    port = free_port()
    together = [["--distributed", f"{host}:{port},{processes},{i}"] for i in range(processes)]
    return Training(
        subprocess.Popen(
            [*(before[index] if before else ()), *command, *(place if processes > 1 else ())],
            env={**os.environ, **QUICKLY, "XLA_FLAGS": flags}, stderr=subprocess.PIPE, text=True,
        )
        for index, place in enumerate(together)
    )  # fmt: skip


def train(folder: Path, spec: RunSpec, processes: int = 1, devices: int = 1) -> None:
    """Train to the end."""
    with start(folder, spec, processes, devices) as training:
        ends = training.ends()
        assert ends == [(0, [])] * processes, ends
    provenance = json.loads((folder / "provenance.json").read_text())
    assert len(provenance["devices"]) == devices * processes


def interrupt(
    training: Training, happened: Callable[[], bool], victim: int, number: int = signal.SIGKILL
) -> list[tuple[int, list[str]]]:
    """Send one process a signal once something has happened; how all of them end."""
    with training:
        training.wait_for(happened)
        training[victim].send_signal(number)
        # The others of a killed one save nothing.
        return training.ends(ENDS_SECONDS if number == signal.SIGKILL else PATIENCE)


def saving(folder: Path, step: int) -> bool:
    """Whether the checkpoint of a step is being written, or was."""
    return (folder / f"work/saved/{step}.json").exists()


def saved(folder: Path) -> list[int]:
    """Steps of whole checkpoints."""
    return sorted(int(path.name) for path in (folder / "work/checkpoints").iterdir()
                  if path.name.isdecimal())  # fmt: skip


def metrics(folder: Path) -> list[dict]:
    lines = (folder / "work/metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def valid_losses(folder: Path) -> list[float]:
    return [line["valid_loss"] for line in metrics(folder) if "valid_loss" in line]


def parameters(folder: Path) -> dict[str, np.ndarray]:
    return read_bundle(folder / "bundle").arrays


def difference(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> float:
    """The largest one between two models' parameters."""
    assert ours.keys() == theirs.keys()
    return max(float(np.abs(ours[name] - theirs[name]).max()) for name in theirs)
