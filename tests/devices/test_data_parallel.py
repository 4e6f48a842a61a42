"""However many processes and devices train a model, it is the same one: only the order of additions
differs, so that results agree within a stated tolerance, and one run may go on on others.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from padir.bundle import read_bundle
from padir.launch import join
from tests.training import tiny_spec, train_arguments, write_toy

pytestmark = pytest.mark.slow

# Twelve Adam steps of at most 0.03 each; rounding may turn a near-zero gradient's sign.
TOLERANCE = 2e-3


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(folder: Path, spec, devices: int, processes: int = 1) -> list[subprocess.Popen[str]]:
    """`padir train` on `devices` virtual devices in each of so many processes."""
    command = [sys.executable, "-m", "padir", "train", *train_arguments(folder, spec)]
    flags = f"--xla_force_host_platform_device_count={devices}"
    environment = {**os.environ, "XLA_FLAGS": flags}
    port = free_port()
    return [
        subprocess.Popen(
            [*command, *([] if processes == 1 else together(port, processes, index))],
            env=environment, stderr=subprocess.PIPE, text=True,
        )
        for index in range(processes)
    ]  # fmt: skip


def together(port: int, processes: int, index: int) -> list[str]:
    return ["--distributed", f"127.0.0.1:{port},{processes},{index}"]


def finished(running: list[subprocess.Popen[str]]) -> list[int]:
    try:
        ends = [process.communicate(timeout=600) for process in running]
    finally:
        for process in running:
            process.kill()
    codes = [process.returncode for process in running]
    assert set(codes) <= {0, 143}, "\n".join(error[-2000:] for _, error in ends)
    return codes


def trained(folder: Path, spec, devices: int, processes: int = 1) -> dict[str, np.ndarray]:
    if not (folder / "spm.model").exists():
        folder.mkdir(exist_ok=True)
        write_toy(folder)
    assert set(finished(start(folder, spec, devices, processes))) == {0}
    provenance = json.loads((folder / "provenance.json").read_text())
    assert len(provenance["devices"]) == devices * processes
    return read_bundle(folder / "bundle").arrays


def losses(folder: Path) -> list[float]:
    lines = map(json.loads, (folder / "work" / "metrics.jsonl").read_text().splitlines())
    return [line["valid_loss"] for line in lines if "valid_loss" in line]


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """Trains on so many devices, or tells of it where a test before did: folder and parameters."""
    runs = {}

    def run(processes: int, devices: int, shard: bool = False):
        key = (processes, devices, shard)
        if key not in runs:
            folder = tmp_path_factory.mktemp("run")
            runs[key] = folder, trained(folder, spec_of(shard), devices, processes)
        return runs[key]

    return run


def spec_of(shard: bool):
    return tiny_spec(buckets=[9], **({"shard_parameters": True} if shard else {}))


def same(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> None:
    assert ours.keys() == theirs.keys()
    for name, array in theirs.items():
        np.testing.assert_allclose(ours[name], array, atol=TOLERANCE, err_msg=name)


@pytest.mark.parametrize(
    ("processes", "devices", "shard"),
    [(1, 8, False), (2, 4, False), (2, 4, True)],
    ids=["eight devices", "two processes", "two processes, parameters dealt out"],
)
def test_the_same_model(once, processes, devices, shard):
    folder, parameters = once(processes, devices, shard)
    alone, expected = once(1, 1)
    same(parameters, expected)
    np.testing.assert_allclose(losses(folder), losses(alone), rtol=1e-4)


@pytest.mark.parametrize(
    ("before", "after"),
    [((2, 4, True), (1, 1)), ((1, 1, False), (2, 4))],
    ids=["fewer", "more"],
)
def test_a_run_goes_on_on_other_devices(once, tmp_path, before, after):
    folder = shutil.copytree(once(*before)[0], tmp_path / "run")
    # Back to the checkpoint of step 8 of 12.
    shutil.rmtree(folder / "work/checkpoints/12")
    shutil.rmtree(folder / "bundle")
    same(trained(folder, spec_of(before[2]), after[1], after[0]), once(1, 1)[1])


def test_asked_to_stop_one_process_stops_all_and_they_go_on(tmp_path):
    spec = tiny_spec(steps=4000, buckets=[9], checkpoint_every=4000, validate_every=4000)
    write_toy(tmp_path)
    running = start(tmp_path, spec, devices=1, processes=2)
    metrics = tmp_path / "work" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not metrics.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    # The second process is told; the first, which was not, saves too.
    running[1].send_signal(signal.SIGTERM)
    assert finished(running) == [143, 143]
    saved = [int(path.name) for path in (tmp_path / "work/checkpoints").iterdir()]
    assert len(saved) == 1 and 0 < saved[0] < 4000


@pytest.mark.parametrize("others", ["host,2,0", "host:1,2,2", "host:1,2", "a b:1,2,0", ""])
def test_a_wrong_description_of_the_others(others):
    with pytest.raises(ValueError, match="allowed: HOST:PORT,N,I"):
        join(others)


def wait_for_metrics(folder: Path, running: list[subprocess.Popen[str]]) -> None:
    """Until the loop has written a line."""
    deadline = time.monotonic() + 300
    while not (folder / "work" / "metrics.jsonl").exists():
        assert all(process.poll() is None for process in running)
        assert time.monotonic() < deadline
        time.sleep(0.05)


def last_lines(running: list[subprocess.Popen[str]], seconds: float) -> list[tuple[int, str]]:
    """Exit status and last line of processes that end within so many seconds."""
    deadline = time.monotonic() + seconds
    ends = [process.communicate(timeout=max(deadline - time.monotonic(), 0.1))
            for process in running]  # fmt: skip
    return [(process.returncode, error.strip().splitlines()[-1])
            for process, (_, error) in zip(running, ends, strict=True)]  # fmt: skip


@pytest.mark.parametrize("victim", [0, 1], ids=["first", "other"])
def test_a_killed_process_ends_the_others_with_a_line(tmp_path, victim):
    spec = tiny_spec("ar", steps=100_000, buckets=[9], checkpoint_every=5, validate_every=100_000)
    write_toy(tmp_path)
    running = start(tmp_path, spec, devices=1, processes=2)
    try:
        wait_for_metrics(tmp_path, running)
        running[victim].kill()
        ((status, line),) = last_lines([running[1 - victim]], seconds=20)
    finally:
        for process in running:
            process.kill()
    assert status == 75
    assert f"padir train: error: process {victim} of 2 (on 127.0.0.1) has ended" in line
    assert "the same command on all hosts goes on from the last checkpoint" in line


def test_a_wrong_work_folder_gives_every_process_a_line(tmp_path):
    write_toy(tmp_path)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "identity.json").write_text('{"seed": 17}')
    running = start(tmp_path, tiny_spec("ar", steps=4), devices=1, processes=2)
    first, other = last_lines(running, seconds=240)
    assert first[0] == 2 and "belongs to another run" in first[1]
    assert other[0] == 75 and "process 0 of 2 (on 127.0.0.1) has ended" in other[1]


def test_a_missing_process_is_told():
    code = (
        "from padir import launch; launch.MEET_SECONDS = 3.0;"
        f"launch.join('127.0.0.1:{free_port()},2,0')"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 75
    line = done.stderr.strip().splitlines()[-1]
    assert "not all processes (127.0.0.1:" in line and "have come within 3 seconds" in line
