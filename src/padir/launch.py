"""How a process uses the machine: cores, threads and the cache of compiled programs.

`prepare` is called by commands before JAX starts; no choice changes a result beyond rounding.
"""

import os
import re
import sys
import zlib
from functools import wraps
from pathlib import Path
from typing import Any

from padir.peers import MEET_SECONDS, Group, SingleProcess, deadline

AUTOMATIC = "automatic"


def prepare(threads: int | None = None) -> None:
    """Set JAX up for this process; call before anything is computed.

    Args:
        threads: most CPU threads for one operation; None lets JAX take every core. Two processes
            of one thread train faster than one process of two.

    Raises:
        RuntimeError: if `threads` is given after JAX has started its devices.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if threads is not None:
        # The CPU runtime sizes its thread pool by this variable, once, and has no other switch.
        os.environ["NPROC"] = str(threads)
        if "jax" in sys.modules and sys.modules["jax"]._src.xla_bridge.backends_are_initialized():
            raise RuntimeError("the number of threads must be set before JAX computes anything")
    import jax

    cache = compiled_cache()
    if cache is None:
        return
    jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    _replace_damaged(cache)


def compiled_cache() -> Path | None:
    """The folder of compiled programs; None where the user has no home folder."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return None if caches.startswith("~") else Path(caches) / "padir" / "compiled"


def _replace_damaged(cache: Path) -> None:
    """Compile anew what the cache cannot give back; JAX would warn of it at every start.

    JAX writes entries in place, and none that is there: one that a full disk or a kill cut short
    would stay.
    """
    from jax._src import compilation_cache

    # No public interface reaches single entries; without this one JAX warns as before.
    read = getattr(compilation_cache, "get_executable_and_time", None)
    if read is None or hasattr(read, "__wrapped__"):
        return

    compressions = (getattr(compilation_cache, name, None) for name in ("zstd", "zstandard"))
    damage = (
        *(OSError, ValueError, RuntimeError, zlib.error),
        *(compression.ZstdError for compression in compressions if compression),
    )

    @wraps(read)
    def read_or_remove(key: str, *given: Any, **named: Any) -> Any:
        try:
            return read(key, *given, **named)
        except damage:
            entry = cache / f"{key}-cache"
            if not entry.is_file():
                raise
            entry.unlink(missing_ok=True)
            return None, None

    compilation_cache.get_executable_and_time = read_or_remove


def cores() -> int:
    """CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_threads() -> int:
    """Threads of XLA's products on a CPU: those of `prepare`, else all cores."""
    limit = os.environ.get("NPROC", "")
    return int(limit) if limit.isdecimal() and int(limit) else cores()


def join(others: str | None) -> SingleProcess | Group:
    """Train together with other processes, one on each host; call right after `prepare`.

    Args:
        others: None: this process is alone. `AUTOMATIC`: JAX finds out from Slurm, Open MPI or the
            TPU's own metadata. Else "HOST:PORT,N,I": where the first process listens, how many
            there are, and which one this is, from 0.

    Returns:
        A context manager for all that is done together. Its `first` says whether this process is
        the first, or alone: the one that writes results. Where not all processes come within
        `MEET_SECONDS`, or one ends, the others end with a line and status 75.

    Raises:
        ValueError: another form, or a number out of range.
    """
    if others is None:
        return SingleProcess()
    parts = re.fullmatch(r"([^,\s]+:(\d{1,5})),(\d{1,6}),(\d{1,6})", others)
    port, count, index = map(int, parts.groups()[1:]) if parts else (0, 0, 0)
    if others != AUTOMATIC and not (0 < port < 1 << 16 and index < count):
        raise ValueError(
            f"found {others!r}, allowed: HOST:PORT,N,I with I from 0 to N - 1, a port up to 65535"
            " and N up to 999999, or nothing"
        )
    import jax
    from jax._src.distributed import global_state

    given: tuple[Any, ...] = (parts[1], count, index) if parts else ()
    missing = (
        f"not all processes ({others}) have come within {MEET_SECONDS:.0f} seconds: start the same"
        " command on every host, with the same first host, and check that its port is open"
    )
    # JAX's own would take SIGTERM, also before the training listens to it.
    jax.config.update("jax_enable_preemption_service", False)
    with deadline(MEET_SECONDS, missing):
        jax.distributed.initialize(*given, initialization_timeout=int(2 * MEET_SECONDS))
        host = str(global_state.coordinator_address).rpartition(":")[0].strip("[]")
        group = Group(
            global_state.process_id, global_state.num_processes, host, global_state.client
        )
    connect()
    return group


def connect() -> None:
    """Connect every device with every other one by a sum over all of them.

    Connections are made at the first exchange, with half a minute's patience. Here all processes
    come at the same moment; when they have compiled their first step, they may not.
    """
    import jax
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))
    split, everywhere = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (("data",), ()))
    ranks = jax.jit(lambda: jax.numpy.arange(mesh.size), out_shardings=split)()
    jax.jit(lambda ranks: ranks.sum(), out_shardings=everywhere)(ranks).block_until_ready()
