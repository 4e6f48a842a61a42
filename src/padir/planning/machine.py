"""This machine: cores, memory, accelerators and speed of matrix products."""

import importlib.util
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from padir.launch import cores

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_DEVICE_FILES = Path("/dev")
# Files of the devices, and packages by which JAX computes on them.
_DEVICES = {
    "gpu": (
        # The last is that of Windows Subsystem for Linux.
        ("nvidia[0-9]*", "kfd", "dxg"),
        ("jax_cuda13_plugin", "jax_cuda12_plugin", "jax_rocm7_plugin", "jax_rocm60_plugin"),
    ),
    "tpu": (("accel[0-9]*", "vfio/[0-9]*"), ("libtpu",)),
}
# Training reaches this share of the speed of bare matrix products: a busy core that multiplies at
# 190 GFLOP/s took 0.054 s of processor time for an AR step of size tiny, and 0.097 s for PaDIR's.
TRAINING_SHARE = 0.28
# Sustained by one training on one core of a 2 vCPU AMD EPYC, measured for both systems with padded
# tokens counted; taken where nothing is measured.
CPU_GFLOPS = 50.0


@dataclass(frozen=True)
class Machine:
    """The machine's resources.

    Attributes:
        cores: that this process may use.
        memory: bytes that a training may take: of an accelerator, or of the machine.
        kind: of the devices, such as cpu.
        accelerators: number of devices that are no CPU.
        gflops: sustained by one training process.
    """

    cores: int
    memory: int
    kind: str
    accelerators: int
    gflops: float

    def __str__(self) -> str:
        devices = f", {self.accelerators} x {self.kind}" if self.accelerators else ""
        return (
            f"{self.cores} cores{devices}, {self.memory / 1e9:.1f} GB,"
            f" {self.gflops:,.0f} GFLOP/s for a training"
        )


def has_accelerator() -> bool:
    """Whether a GPU or TPU is there; asks the system, as loading JAX takes seconds."""
    return any(list(Path("/dev").glob(name)) for name in ("nvidia[0-9]*", "accel*", "kfd"))


def jax_computes_on(kind: str) -> bool:
    """Whether JAX is installed for devices of a kind, "gpu" or "tpu", and they are there.

    It is not asked itself: a process that loads it takes the devices.
    """
    hidden = kind == "gpu" and os.environ.get("CUDA_VISIBLE_DEVICES") == ""
    if hidden or os.environ.get("JAX_PLATFORMS") == "cpu":
        return False
    files, packages = _DEVICES[kind]
    return any(list(_DEVICE_FILES.glob(file)) for file in files) and any(
        importlib.util.find_spec(package) for package in packages
    )


def machine_memory() -> int:
    """Bytes of memory, or of the smallest limit of the process's control groups where that is
    less."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([memory, *_memory_limits()])


def _memory_limits() -> Iterator[int]:
    """Limits of the process's control group and of those above it, as Slurm limits the job and not
    its steps; of cgroup version 2 and 1."""
    try:
        lines = _OWN_GROUPS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        lines = ["0::/"]
    for line in lines:
        _, controllers, own = line.split(":", 2)
        if not controllers:
            root, name = _GROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = _GROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        # A container may see its own group as the root, and not the folders of this path.
        for group in (PurePosixPath(own), *PurePosixPath(own).parents):
            # ValueError: "max".
            with suppress(OSError, ValueError):
                yield int((root / group.relative_to("/") / name).read_text())


def measure() -> Machine:
    """Measure the machine, timing matrix products of a feed-forward block.

    Call after `padir.launch.prepare(1)`: on a CPU a training takes one thread, and the rate is that
    of a core without other work.
    """
    import jax
    import jax.numpy as jnp

    devices = jax.devices()
    on_cpu = devices[0].platform == "cpu"
    tokens, width = (640, 128) if on_cpu else (16_384, 512)
    times = 40 if on_cpu else 200
    inner, outer = (jnp.full(shape, 1e-3) for shape in ((width, 4 * width), (4 * width, width)))

    @jax.jit
    def blocks(values):
        def block(_, inside):
            return jnp.maximum(inside @ inner, 0) @ outer

        return jax.lax.fori_loop(0, times, block, values)

    values = jnp.ones((tokens, width))
    blocks(values).block_until_ready()
    # Processor time, as the cores may be busy with other work for now.
    clock = time.process_time if on_cpu else time.perf_counter
    seconds = []
    for _ in range(5):
        began = clock()
        blocks(values).block_until_ready()
        seconds.append(clock() - began)
    rate = 16 * tokens * width * width * times / min(seconds) / 1e9
    memory = machine_memory()
    if not on_cpu:
        memory = (devices[0].memory_stats() or {}).get("bytes_limit", memory)
    return Machine(
        cores(),
        memory,
        devices[0].device_kind,
        0 if on_cpu else len(devices),
        rate * TRAINING_SHARE,
    )
