"""How a process uses the machine: threads and the cache of compiled programs.

Called by commands before JAX starts; neither choice changes a result beyond rounding.
"""

import os
import sys
from pathlib import Path


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

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "padir" / "compiled"
    jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
