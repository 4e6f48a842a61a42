"""After a kill of scheduler, job or both, the same command goes on, and trains nothing twice."""

import base64
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from padir.files import read_jsonl
from tests.workflow.conftest import TINY, job_counts
from tests.workflow.test_stale import trainer_of

pytestmark = pytest.mark.slow

RAW = Path("results/runs/toy/xs-xt/raw/seed0")
STEPS = 3000


@pytest.fixture
def longer(tmp_path: Path) -> list[str]:
    """Arguments for a training that takes some seconds of steps."""
    path = tmp_path / "longer.yaml"
    path.write_text(
        TINY.replace("  raw: {}", f"  raw: {{training: {{steps: {STEPS}, checkpoint_every: 500}}}}")
    )
    return ["--configfile", str(path), "--", str(RAW / "bundle/model.safetensors")]


def wait_for_steps(process, place: Path) -> tuple[int, Path]:
    """The trainer's process and its metrics, once it has written a line."""
    deadline = time.monotonic() + 400
    while True:
        assert process.poll() is None, (place / "started.log").read_text()[-2000:]
        assert time.monotonic() < deadline
        # The work folder is named by a digest.
        metrics = list(place.glob(f"{RAW}/work/*/metrics.jsonl"))
        trainer = trainer_of(place)
        if metrics and trainer is not None:
            return trainer, metrics[0]
        time.sleep(0.05)


def go_on_once_logged(trainer: int, said: str, process, place: Path) -> None:
    """Continue a stopped trainer once another run's log of the training says something."""
    log = place / RAW / "logs/train.log"
    deadline, text = time.monotonic() + 400, ""
    try:
        while said not in text:
            assert process.poll() is None and time.monotonic() < deadline, text
            time.sleep(0.05)
            # The second run's log takes the place of the first one's: for a moment there is none.
            with suppress(FileNotFoundError):
                text = log.read_text()
    finally:
        os.kill(trainer, signal.SIGCONT)


@pytest.mark.parametrize("victims", ["scheduler", "group"])
def test_the_same_command_goes_on(snakemake, start_snakemake, longer, tmp_path, victims):
    place = tmp_path / "place"
    process = start_snakemake(*longer)
    trainer, metrics = wait_for_steps(process, place)
    # It is still at work when the second run comes, however slow the machine is.
    os.kill(trainer, signal.SIGSTOP)
    if victims == "group":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    assert list(place.glob(".snakemake/locks/*.lock"))
    again = start_snakemake(*longer)
    named = f"(process {trainer} on "
    if victims == "scheduler":
        go_on_once_logged(trainer, named, again, place)
    printed = place / "started.log"
    assert again.wait(timeout=600) == 0, printed.read_text()[-3000:]
    assert "a killed run had left its lock here" in printed.read_text()
    log = (place / RAW / "logs/train.log").read_text()
    assert (named in log) == (victims == "scheduler"), log
    steps = [line["step"] for line in read_jsonl(metrics) if "train_loss" in line]
    assert steps == list(range(50, STEPS + 1, 50))
    # Nothing is left to do, and no lock is left.
    assert "Nothing to be done" in snakemake(*longer).stderr
    assert not list(place.glob(".snakemake/locks/*.lock"))


def test_files_that_a_killed_run_left_in_part_are_made_again(snakemake, stand_in, tiny, tmp_path):
    """A scheduler that is killed alone leaves jobs that finish their files, marked incomplete."""
    vocabulary = "results/vocab/toy/xs-xt/spm.model"
    command = ("--configfile", str(tiny), "--", vocabulary)
    assert snakemake(*command, env=stand_in).returncode == 0
    state = tmp_path / "place/.snakemake"
    # Snakemake names its marks by the files that are being made.
    (state / "incomplete" / base64.b64encode(vocabulary.encode()).decode()).touch()
    again = snakemake(*command, env=stand_in)
    assert again.returncode == 0, again.stderr
    assert job_counts(again.stdout + again.stderr) == {"vocab": 1}
    assert not [path for path in (state / "incomplete").iterdir() if path.is_file()]
    assert "Nothing to be done" in snakemake(*command, env=stand_in).stderr


def test_raw_text_that_a_killed_run_removed_in_part_is_no_harm(snakemake, tiny, tmp_path):
    """Snakemake removes raw text file by file; a kill meanwhile leaves a part, newer than what was
    cleaned from it."""
    cleaned = ("--configfile", str(tiny), "--", "results/data/toy/xs-xt/statistics.json")
    assert snakemake("--notemp", *cleaned).returncode == 0
    raw = tmp_path / "place/results/data/toy/xs-xt/raw"
    # Without Snakemake's own mark the folder has the date of this removal.
    (raw / ".snakemake_timestamp").unlink()
    (raw / "train.xs").unlink()
    again = snakemake(*cleaned)
    assert again.returncode == 0, again.stderr[-2000:]
    assert "raw: a killed run had left a part of it; removed" in again.stderr
    assert "Nothing to be done" in again.stderr and not raw.exists()
