"""However many processes and devices train a model, it is the same one: only the order of additions
differs, so that results agree within a stated tolerance, and one run may go on on others.
"""

import re
import subprocess
import sys

import numpy as np
import pytest

from padir.checksums import write_with_checksum
from padir.launch import join
from padir.peers import MEET_SECONDS
from tests.processes import (
    PATIENCE,
    difference,
    free_port,
    interrupt,
    parameters,
    saved,
    saving,
    start,
    train,
    valid_losses,
)
from tests.training import tiny_spec, write_toy

pytestmark = pytest.mark.slow

# Twelve Adam steps of at most 0.03 each; rounding may turn a near-zero gradient's sign.
TOLERANCE = 2e-3
# So many that a run which is killed while it saves step 8 has not come to its end.
STEPS = 28


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """Trains on so many devices, or finds what a test before trained: the folder."""
    runs = {}

    def run(processes: int, devices: int, shard: bool = False, steps: int = 12):
        key = (processes, devices, shard, steps)
        if key not in runs:
            runs[key] = tmp_path_factory.mktemp("run")
            train(runs[key], spec_of(shard, steps), processes, devices)
        return runs[key]

    return run


def spec_of(shard: bool, steps: int = 12):
    return tiny_spec(steps=steps, buckets=[9], **({"shard_parameters": True} if shard else {}))


@pytest.mark.parametrize(
    ("processes", "devices", "shard"),
    [(1, 8, False), (2, 4, False), (2, 4, True)],
    ids=["eight devices", "two processes", "two processes, parameters dealt out"],
)
def test_any_number_of_devices_and_processes_trains_the_same_model(once, processes, devices, shard):
    ours, alone = once(processes, devices, shard), once(1, 1)
    assert difference(parameters(ours), parameters(alone)) < TOLERANCE
    np.testing.assert_allclose(valid_losses(ours), valid_losses(alone), rtol=1e-4)


@pytest.mark.parametrize(
    ("before", "after"),
    [((2, 4, True), (1, 1)), ((1, 1, False), (2, 4))],
    ids=["fewer", "more"],
)
def test_a_killed_run_resumes_on_other_devices(once, tmp_path, before, after):
    processes, devices, shard = before
    folder = tmp_path / "run"
    training = start(folder, spec_of(shard, STEPS), processes, devices)
    interrupt(training, lambda: saving(folder, 8), processes - 1)
    assert 0 < max(saved(folder)) < STEPS
    train(folder, spec_of(shard, STEPS), *after)
    undisturbed = once(1, 1, steps=STEPS)
    assert difference(parameters(folder), parameters(undisturbed)) < TOLERANCE


@pytest.mark.parametrize(
    "others",
    ["host,2,0", "host:1,2,2", "host:1,2", "a b:1,2,0", "", "host:99999,2,0", f"host:1,{10**30},0"],
)
def test_a_wrong_description_of_the_other_processes_is_refused(others):
    with pytest.raises(ValueError, match="allowed: HOST:PORT,N,I"):
        join(others)


def test_a_wrong_work_folder_gives_every_process_a_line(tmp_path):
    write_toy(tmp_path)
    (tmp_path / "work").mkdir()
    write_with_checksum(tmp_path / "work" / "identity.json", {"seed": 17})
    with start(tmp_path, tiny_spec("ar", steps=4), processes=2) as training:
        (first, (told,)), (other, (referred,)) = training.ends()
    assert first == 2 and "belongs to another run" in told
    assert other == 75 and "process 0 of 2 (on 127.0.0.1) has ended" in referred


def test_processes_that_differ_train_nothing(tmp_path):
    command = ["sh", "-c", 'exec "$@" --seed 7', "sh"]
    with start(tmp_path, tiny_spec("ar", steps=4), 2, before=[["env"], command]) as training:
        ends = training.ends()
    said = [line for _, lines in ends for line in lines]
    assert any("--distributed: seed of process 1 differs from that of process 0" in x for x in said)
    assert all(status in (2, 75) for status, _ in ends)
    assert not (tmp_path / "bundle").exists() and not (tmp_path / "work/checkpoints").exists()


def test_a_missing_process_ends_the_others_in_one_line():
    code = f"from padir import launch; launch.join('127.0.0.1:{free_port()},2,0')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)  # fmt: skip
    assert done.returncode == 75
    line = done.stderr.strip().splitlines()[-1]
    assert re.search(
        rf"not all processes \(127.0.0.1:.*have come within {MEET_SECONDS:.0f} sec", line
    )
