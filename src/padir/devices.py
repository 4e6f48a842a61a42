"""Data parallelism over all devices of all processes: batches are split along B.

Parameters are copied to every device, or dealt out as well (`training.shard_parameters`). With
several processes, each holds the whole text and hands over its own devices' share of a batch.
"""

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

LONGEST_WAIT = 30 * 24 * 3600 * 1000
"""Timeout of `wait_long_for_all` in milliseconds: 30 days."""


def data_mesh() -> Mesh:
    """One axis, `data`, over every device of every process."""
    return Mesh(np.array(jax.devices()), ("data",))


def replicated(mesh: Mesh) -> NamedSharding:
    """Sharding with a full copy on every device."""
    return NamedSharding(mesh, PartitionSpec())


def split_sentences(mesh: Mesh, axis: int) -> NamedSharding:
    """Sharding of sentences, along `axis`, evenly over the devices."""
    return NamedSharding(mesh, PartitionSpec(*(None,) * axis, "data"))


def sharded_leaves(mesh: Mesh, shapes: Any) -> Any:
    """A sharding per leaf: its longest axis that the devices divide evenly, or copies of it.

    Args:
        shapes: a tree of arrays or of their shapes.
    """

    def leaf_sharding(leaf: Any) -> NamedSharding:
        axes = [axis for axis, size in enumerate(leaf.shape) if size and size % mesh.size == 0]
        if not axes:
            return replicated(mesh)
        return split_sentences(mesh, max(axes, key=lambda axis: leaf.shape[axis]))

    return jax.tree.map(leaf_sharding, shapes)


def placed(values: np.ndarray, sharding: NamedSharding) -> jax.Array:
    """Place an array that every process has whole, each shard on its device."""
    return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])


def padded_rows(rows: int, devices: int) -> int:
    """The smallest row count from `rows` up that the devices divide evenly.

    The added rows are padding and count nowhere, so the device count changes no result beyond
    the order of additions.
    """
    return -(-rows // devices) * devices


def is_first_process() -> bool:
    """Whether this process writes what only one may write."""
    return jax.process_index() == 0


def on_any_process(flag: bool) -> bool:
    """Whether the flag is set on any process; a collective call of all processes."""
    if jax.process_count() == 1:
        return flag
    from jax.experimental import multihost_utils

    return bool(np.any(multihost_utils.process_allgather(np.array(flag))))


def gathered(values: list[bytes]) -> list[list[bytes]]:
    """The values of each process, by its number; a collective call of all processes.

    Args:
        values: every process gives as many, and all have one length.
    """
    if jax.process_count() == 1:
        return [values]
    from jax.experimental import multihost_utils

    own = np.array([list(value) for value in values], np.uint8)
    every = np.asarray(multihost_utils.process_allgather(own), np.uint8)
    return [[bytes(value) for value in process] for process in every]


def wait_for_all(name: str) -> None:
    """Barrier: wait until every process has reached this call."""
    if jax.process_count() > 1:
        from jax.experimental import multihost_utils

        multihost_utils.sync_global_devices(name)


def wait_long_for_all(name: str) -> None:
    """Barrier of up to 30 days, by JAX's coordination service: the barrier of `wait_for_all` is a
    collective of the devices, which times out after half a minute.

    Args:
        name: not given to an earlier call.
    """
    if jax.process_count() > 1:
        from jax._src.distributed import global_state

        client: Any = global_state.client
        client.wait_at_barrier(f"padir/{name}", LONGEST_WAIT)
