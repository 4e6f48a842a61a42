"""A disk that fills while a training writes: one line, nothing lost, the same command goes on."""

import errno
import logging
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from padir.files import InputError
from padir.training import storage
from padir.training.loop import train
from padir.training.storage import FullDisk
from tests.required import unavailable
from tests.training import tiny_spec, write_toy

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, of some megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        unavailable("namespaces", "only root may mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Parameters of a training that nothing disturbs."""
    folder = tmp_path_factory.mktemp("whole")
    text, vocabulary = write_toy(folder)
    return train(tiny_spec("ar"), vocabulary, text, 0, folder / "work").arrays


def fill(folder: Path, leave: int) -> Path:
    """Take the disk's space but for so many bytes."""
    stats = os.statvfs(folder)
    path = folder / "filler"
    path.write_bytes(bytes(max(stats.f_bavail * stats.f_frsize - leave, 0)))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("leave", [0, 60_000, 150_000, 400_000])
def test_a_full_disk_is_one_line_and_the_same_command_goes_on(
    small_disk, whole, tmp_path, monkeypatch, capfd, leave
):
    """Too little for metrics, for the first or second checkpoint, or for what Orbax adds."""
    monkeypatch.setattr(storage, "OVERHEAD", 0)
    text, vocabulary = write_toy(tmp_path)
    filler = fill(small_disk, leave)
    message = rf"cannot (write|keep the encoded text): no space left on {small_disk}: .* free; "
    with pytest.raises(InputError, match=message + "free some and run the same command"):
        train(tiny_spec("ar"), vocabulary, text, 0, small_disk / "work")
    assert "ERROR:absl" not in capfd.readouterr().err
    filler.unlink()
    again = train(tiny_spec("ar"), vocabulary, text, 0, small_disk / "work")
    for name, array in whole.items():
        np.testing.assert_array_equal(again.arrays[name], array)


@pytest.mark.parametrize(
    "error", [FULL, ValueError(f"RESOURCE_EXHAUSTED: Error writing: {os.strerror(errno.EDQUOT)}")]
)
def test_what_orbax_raises_for_it_becomes_one_line_and_frees_what_was_written(tmp_path, error):
    checkpoint = tmp_path / "checkpoints" / "12"
    (checkpoint.parent / "12.orbax-checkpoint-tmp").mkdir(parents=True)
    for other in ("4", "120"):
        (checkpoint.parent / other).mkdir()
    reason = "no space left on" if error is FULL else "quota exceeded on"
    message = f"12: cannot write: {reason} .*: 1,000 bytes needed, "
    with pytest.raises(InputError, match=message), FullDisk(checkpoint, 1000):
        raise error
    assert {path.name for path in checkpoint.parent.iterdir()} == {"4", "120"}


def test_other_errors_of_a_save_stay_what_they_are(tmp_path):
    logger = logging.getLogger("absl")
    before = logger.level
    with pytest.raises(ValueError, match="something else"), FullDisk(tmp_path / "12", 0):
        # Stacks of its threads are not shown, but later messages are.
        assert logger.level == logging.CRITICAL
        raise ValueError("something else")
    assert logger.level == before != logging.CRITICAL


def test_a_save_that_cannot_fit_is_not_begun(tmp_path):
    message = r"no space left on .*: 10,000,000,001,048,576 bytes needed, "
    with pytest.raises(InputError, match=message), FullDisk(tmp_path / "12", 10**16):
        pytest.fail("it began")


def test_a_metrics_file_on_a_full_disk_ends_the_training_instead_of_blocking_it(
    tmp_path, monkeypatch
):
    """TensorBoard's events were written by a thread that died, and its queue then blocked."""
    text, vocabulary = write_toy(tmp_path)

    def full(*_: object) -> None:
        raise FULL

    monkeypatch.setattr("tensorboardX.event_file_writer.EventsWriter.write_event", full)
    with pytest.raises(InputError, match="tensorboard: cannot write: no space left on"):
        train(tiny_spec("ar"), vocabulary, text, 0, tmp_path / "work")
