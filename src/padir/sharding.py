"""Data parallelism over all local devices: batches are split along B, parameters copied."""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def data_mesh() -> Mesh:
    """One axis, `data`, over every device of this process."""
    return Mesh(np.array(jax.local_devices()), ("data",))


def replicated(mesh: Mesh) -> NamedSharding:
    """The same values on every device."""
    return NamedSharding(mesh, PartitionSpec())


def split_sentences(mesh: Mesh, axis: int) -> NamedSharding:
    """Sentences, counted along `axis`, dealt out evenly to the devices."""
    return NamedSharding(mesh, PartitionSpec(*(None,) * axis, "data"))


def padded_rows(rows: int, mesh: Mesh, micro_batches: int) -> int:
    """The smallest row count from `rows` up that devices and micro-batches divide evenly.

    The added rows are padding and count nowhere, so the device count changes no result beyond
    the order of additions.
    """
    unit = mesh.size * micro_batches
    return -(-rows // unit) * unit
