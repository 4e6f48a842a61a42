"""Four processes train one model. One is killed: the others name it and end, and the same command
resumes from the last checkpoint, with four processes, two or one. One is told to stop: all stop at
the same step. All wait for another trainer of their work folder.

Every number of processes reads the same checkpoint into the same values, and the batch and the
corruption of a step do not depend on it. Only the order differs in which sums over the sentences of
a batch are added. So the same number of processes gives the same bytes, and another number the same
parameters up to rounding.
"""

import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.processes import (
    difference,
    interrupt,
    metrics,
    parameters,
    saved,
    saving,
    start,
    train,
    valid_losses,
)
from tests.training import tiny_spec

pytestmark = pytest.mark.slow

PROCESSES, STEPS = 4, 28
SPEC = tiny_spec("cmlm", steps=STEPS, buckets=[9])
# Between rounding, 2e-7 after twelve steps, and what the smallest fault does: a step left out.
TOLERANCE = 1e-5
LONG = 45
"""Seconds; devices that exchange something give each other up after 30."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    train(folder, SPEC, PROCESSES)
    return folder


def resumed(stopped: Path, copy: Path, processes: int) -> Path:
    """A copy of a run that has ended too early, finished by the same command."""
    before, last = metrics(stopped), max(saved(stopped))
    assert 0 < last < STEPS and not (stopped / "bundle").exists()
    shutil.copytree(stopped, copy)
    train(copy, SPEC, processes)
    # A run that starts over would write these lines again, with other times.
    kept = [line for line in before if line["step"] <= last]
    assert kept and metrics(copy)[: len(kept)] == kept
    steps = [line["step"] for line in metrics(copy)]
    assert steps == sorted(set(steps)) and steps[-1] == STEPS
    return copy


def model(folder: Path) -> bytes:
    return (folder / "bundle/model.safetensors").read_bytes()


def killed(folder: Path, victim: int, processes: int) -> Path:
    """A run one of whose processes was killed; the others have named it."""
    training = start(folder, SPEC, processes)
    ends = interrupt(training, lambda: saving(folder, 12), victim)
    assert ends.pop(victim) == (-signal.SIGKILL, [])
    line = (
        f"padir train: error: process {victim} of {processes} (on 127.0.0.1) has ended, its own log"
        " may say why; the same command on all hosts goes on from the last checkpoint"
    )
    assert [status for status, _ in ends] == [75] * (processes - 1)
    for _, lines in ends:
        # JAX's own lines come before it, where the first one was killed.
        assert lines[-1] == line and (victim == 0 or len(lines) == 1)
    return folder


def test_after_a_kill_of_a_process_training_goes_on_to_the_same_model(undisturbed, tmp_path):
    stopped = killed(tmp_path / "killed", 2, PROCESSES)
    again = resumed(stopped, tmp_path / "four", PROCESSES)
    assert model(again) == model(undisturbed)
    assert valid_losses(again) == valid_losses(undisturbed)
    again = resumed(stopped, tmp_path / "two", 2)
    assert difference(parameters(again), parameters(undisturbed)) < TOLERANCE


def test_after_a_kill_of_the_first_process_one_alone_goes_on(undisturbed, tmp_path):
    stopped = killed(tmp_path / "killed", 0, 2)
    again = resumed(stopped, tmp_path / "again", 1)
    assert difference(parameters(again), parameters(undisturbed)) < TOLERANCE


def test_all_processes_save_when_the_last_is_told_to_stop(tmp_path):
    stopped = tmp_path / "stopped"
    training = start(stopped, SPEC, PROCESSES)
    # The last process is told; the others, which were not, save too.
    ends = interrupt(training, lambda: saving(stopped, 12), PROCESSES - 1, signal.SIGTERM)
    step = max(saved(stopped))
    line = f"padir train: stopped at step {step}; the same command goes on from there"
    assert ends == [(143, [line])] * PROCESSES


def test_processes_wait_for_a_live_trainer_of_the_same_run(undisturbed, tmp_path):
    folder = tmp_path / "run"
    with start(folder, SPEC) as alone:
        alone.wait_for(lambda: saving(folder, 12))
        alone[0].send_signal(signal.SIGSTOP)
        with start(folder, SPEC, 2, options=["--wait"]) as together:
            while "waiting for it to end" not in (line := together[0].stderr.readline()):
                assert line, "it has ended"
            assert f"(process {alone[0].pid} on " in line
            time.sleep(LONG)
            assert [process.poll() for process in together] == [None, None]
            alone[0].send_signal(signal.SIGCONT)
            assert alone.ends() == [(0, [])]
            assert together.ends() == [(0, []), (0, [])]
    # Nothing was left to train.
    steps = [line["step"] for line in metrics(folder)]
    assert steps == sorted(set(steps)) and steps[-1] == STEPS
    assert difference(parameters(folder), parameters(undisturbed)) < TOLERANCE
