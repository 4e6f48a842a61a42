"""Memory of the machine: the smallest limit of the process's control groups, on made folders."""

from pathlib import Path

import pytest

from padir.planning import machine

JOB = "system.slice/slurmstepd.scope/job_7"
STEP = f"{JOB}/step_0/user/task_0"


@pytest.fixture
def limited(tmp_path, monkeypatch):
    """Makes /proc/self/cgroup and files of limits, in which the machine's memory is asked for."""
    monkeypatch.setattr(machine, "_GROUPS", tmp_path)
    monkeypatch.setattr(machine, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(machine.os, "sysconf", lambda name: 2**16)

    def limited(own: str | None, limits: dict[str, str]) -> int:
        if own is not None:
            (tmp_path / "own").write_text(own)
        for name, limit in limits.items():
            path: Path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{limit}\n")
        return machine.machine_memory()

    return limited


@pytest.mark.parametrize(
    ("own", "limits", "memory"),
    [
        # Slurm limits the job, and neither its steps nor the root.
        (f"0::/{STEP}\n", {f"{STEP}/memory.max": "max", f"{JOB}/memory.max": "5000"}, 5000),
        (f"0::/{STEP}\n", {f"{STEP}/memory.max": "3000", f"{JOB}/memory.max": "5000"}, 3000),
        # A container, which sees its own group as the root.
        ("0::/\n", {"memory.max": "4000"}, 4000),
        ("0::/docker/7\n", {"memory.max": "4000"}, 4000),
        (None, {"memory.max": "4000"}, 4000),
        # Version 1, where no limit is a number above any memory.
        (
            "9:name=systemd:/\n5:cpu,memory:/a/b\n0::/\n",
            {"memory/a/memory.limit_in_bytes": "6000", "memory/memory.limit_in_bytes": "9" * 19},
            6000,
        ),
        ("5:cpu:/a\n0::/\n", {"memory/a/memory.limit_in_bytes": "6000"}, 2**32),
        (f"0::/{STEP}\n", {}, 2**32),
        ("0::/\n", {"memory.max": str(2**40)}, 2**32),
    ],
)
def test_the_smallest_limit_on_the_way_up_counts(limited, own, limits, memory):
    assert limited(own, limits) == memory


@pytest.mark.parametrize(
    ("files", "packages", "kinds"),
    [
        (["nvidia0", "nvidiactl"], ["jax_cuda12_plugin"], ["gpu"]),
        # The default installation, on a machine with a GPU; and that for GPUs on one without.
        (["nvidia0"], [], []),
        (["nvidiactl"], ["jax_cuda13_plugin"], []),
        (["accel0"], ["libtpu"], ["tpu"]),
        (["vfio/0"], ["libtpu"], ["tpu"]),
        (["dxg"], ["jax_cuda12_plugin"], ["gpu"]),
        (["vfio/vfio", "nvidia0"], ["libtpu"], []),
    ],
)
def test_jax_computes_on_devices_that_are_there_and_installed_for(
    files, packages, kinds, tmp_path, monkeypatch
):
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(machine, "_DEVICE_FILES", tmp_path)
    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda name: name in packages or None)
    for name in ("JAX_PLATFORMS", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    assert [kind for kind in ("gpu", "tpu") if machine.jax_computes_on(kind)] == kinds
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert not machine.jax_computes_on("gpu")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert not any(machine.jax_computes_on(kind) for kind in ("gpu", "tpu"))
