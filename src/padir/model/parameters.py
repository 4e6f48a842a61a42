"""Builds models from specs, and converts parameters to and from named arrays."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, UInt32

from padir.config.training import Architecture, TrainingRun
from padir.ids import LENGTH
from padir.model.layers import NoKeys
from padir.model.transformer import Transformer


def table_size(architecture: Architecture, vocabulary_size: int) -> int:
    """Rows of the embedding table: the vocabulary and the extra ids, rounded up."""
    rows, multiple = vocabulary_size + architecture.extra_ids, architecture.table_multiple
    return -(-rows // multiple) * multiple


def build(run: TrainingRun, table_size: int, seed: int | UInt32[Array, ""] = 0) -> Transformer:
    """A freshly initialised model of the run's architecture and system."""
    return _build(run, table_size, nnx.Rngs(params=jax.random.key(seed)))


def abstract(run: TrainingRun, table_size: int) -> Transformer:
    """A model of the run's architecture and system with the shapes of parameters, not values."""
    return nnx.eval_shape(lambda: _build(run, table_size, NoKeys()))


def _build(run: TrainingRun, table_size: int, rngs: nnx.Rngs) -> Transformer:
    return Transformer(
        run.architecture,
        table_size,
        length_id=LENGTH,
        causal=not run.parallel,
        critic=run.parallel and run.objective.critic_weight > 0,
        rngs=rngs,
    )


def _parts(path: tuple) -> list[str]:
    """The parts of a path of JAX's keys."""
    return [str(getattr(part, "key", part)) for part in path]


def _name(path: tuple) -> str:
    """The name of a leaf at a path of JAX's keys."""
    return "/".join(_parts(path))


def flat_names(state: nnx.State) -> list[str]:
    """Names of a state's leaves, in the order of `jax.tree.leaves`."""
    paths = jax.tree_util.tree_leaves_with_path(nnx.to_pure_dict(state))
    return [_name(path) for path, _ in paths]


def to_arrays(state: nnx.State) -> dict[str, np.ndarray]:
    """A parameter state as named float32 arrays."""
    leaves = jax.tree.leaves(nnx.to_pure_dict(state))
    return {name: np.asarray(leaf) for name, leaf in zip(flat_names(state), leaves, strict=True)}


def with_rounded_weights(model: Transformer) -> Transformer:
    """A model for decoding whose projections, and output matrix, are rounded to bfloat16.

    Embeddings, norms, position biases and activations keep their precision.
    """
    graph, state = nnx.split(model)

    def rounded(path: tuple, leaf: Array) -> Array:
        matrix = "kernel" in _parts(path) or "columns" in _parts(path)
        return leaf.astype(jnp.bfloat16) if matrix else leaf

    return nnx.merge(graph, jax.tree_util.tree_map_with_path(rounded, state))


def from_arrays(run: TrainingRun, table_size: int, arrays: Mapping[str, np.ndarray]) -> Transformer:
    """The run's model with the given parameters.

    Raises:
        ValueError: on a missing, unknown or wrongly shaped array; it names the first.
    """
    graph, state = nnx.split(abstract(run, table_size))
    names = flat_names(state)
    for name in arrays:
        if name not in names:
            raise ValueError(f"parameter {name!r} does not belong to this {run.system} model")
    pure = nnx.to_pure_dict(state)
    leaves, structure = jax.tree.flatten(pure)
    values = []
    for name, leaf in zip(names, leaves, strict=True):
        if name not in arrays:
            raise ValueError(f"parameter {name!r} is missing from this {run.system} model")
        if arrays[name].shape != leaf.shape:
            raise ValueError(
                f"parameter {name!r} has shape {arrays[name].shape}, the spec asks for {leaf.shape}"
            )
        values.append(jnp.asarray(arrays[name], leaf.dtype))
    nnx.replace_by_pure_dict(state, jax.tree.unflatten(structure, values))
    return nnx.merge(graph, state)


WARM_STARTED_PARTS = ("encoder", "embedder")


def warm_start(parameters: dict, arrays: Mapping[str, np.ndarray]) -> dict:
    """Parameters with the encoder and the embedding table of another model.

    Args:
        parameters: of the model, as nested dictionaries.
        arrays: parameters of the other model, by name.

    Raises:
        ValueError: an array of these parts is missing or has another shape; it names the first.
    """

    def initial(path, leaf):
        name = _name(path)
        if name.partition("/")[0] not in WARM_STARTED_PARTS:
            return leaf
        array = arrays.get(name)
        if array is None or array.shape != leaf.shape:
            problem = "is missing" if array is None else f"has shape {array.shape}"
            raise ValueError(f"parameter {name!r} {problem}; shape {leaf.shape} is needed")
        return jnp.asarray(array, leaf.dtype)

    return jax.tree_util.tree_map_with_path(initial, parameters)
