"""Layers that act on each position alone: norm, dropout, embedding and feed-forward.

Paper: L.2 (T5 size and recipe); Raffel et al. 2020 for the T5 form of each part.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from flax.typing import Dtype, Initializer
from jaxtyping import Array, Float, Int

from padir.config.training import Architecture
from padir.shapes import DropoutKey

NORM_EPSILON = 1e-6
FLOAT32 = jnp.dtype(jnp.float32)
BFLOAT16 = jnp.dtype(jnp.bfloat16)
FEW_ROWS = 48
"""Most vectors that `product` hands over as columns; docs/performance.md shows where it pays."""


class Columns(nnx.Variable):
    """An embedding table with its vectors as columns; follows from a parameter, is no parameter."""


def product(
    x: Float[Array, "*axes K"], kernel: Float[Array, "K N"], dtype: jnp.dtype | None = None
) -> Float[Array, "*axes N"]:
    """Vectors times a matrix.

    A few vectors, as in beam search, are handed over as columns: with them as rows, XLA's product
    takes up to twice as long on CPUs.

    Args:
        x: the vectors; where they are float32 and the matrix is bfloat16, they are rounded to
            bfloat16, and products are summed and returned in float32.
        kernel: the matrix.
        dtype: of the result; by default that of the vectors. That of rounded products is float32.
    """
    rows = math.prod(x.shape[:-1])
    if kernel.dtype == BFLOAT16 and x.dtype == FLOAT32:
        return _rounded_product(x.reshape(rows, -1), kernel).reshape(*x.shape[:-1], -1)
    if not 1 < rows <= FEW_ROWS or jax.default_backend() != "cpu":
        return jnp.matmul(x, kernel, preferred_element_type=dtype)
    # The barrier keeps the compiler from folding the transposition back into the product.
    columns = jax.lax.optimization_barrier(x.reshape(rows, -1).T)
    contracted = (((0,), (0,)), ((), ()))
    result = jax.lax.dot_general(columns, kernel, contracted, preferred_element_type=dtype)
    return result.reshape(*x.shape[:-1], -1)


def _rounded_product(x: Float[Array, "R K"], kernel: Float[Array, "K N"]) -> Float[Array, "R N"]:
    """Product of vectors, rounded to bfloat16, and a bfloat16 matrix, in float32."""
    # XLA's product of one such vector takes ten times as long or more on CPUs as that of five
    # (`benchmarks/trials.py products`).
    alone = x.shape[0] == 1 and jax.default_backend() == "cpu"
    rows = jnp.broadcast_to(x, (4, x.shape[1])) if alone else x
    # XLA has no product of a transposed bfloat16 matrix on CPUs: keep this one as it is.
    rows, kernel = jax.lax.optimization_barrier((rows.astype(BFLOAT16), kernel))
    return jnp.matmul(rows, kernel, preferred_element_type=FLOAT32)[: x.shape[0]]


class NoKeys(nnx.Rngs):
    """In place of random keys, for a model of which only the shapes are read: the random numbers of
    every parameter need not be traced."""

    def __init__(self):
        pass

    def params(self) -> None:
        """No key."""


def or_zeros(initializer: Initializer) -> Initializer:
    """The initializer; where there is no key it gives zeros."""

    def initial(key, shape, dtype):
        return jnp.zeros(shape, dtype) if key is None else initializer(key, shape, dtype)

    return initial


def as_weights(matrix: Float[Array, "K N"], dtype: Dtype | None) -> Float[Array, "K N"]:
    """A matrix in the precision of the activations; a rounded one stays as it is."""
    return matrix if matrix.dtype == BFLOAT16 else matrix.astype(dtype)


class Projection(nnx.Linear):
    """A bias-free projection of the last axis."""

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, x: Float[Array, "*axes K"]
    ) -> Float[Array, "*axes N"]:
        dtype = self.dtype
        return product(x.astype(dtype), as_weights(self.kernel[...], dtype))


def linear(fan_in: int, fan_out: int, dtype: jnp.dtype, rngs: nnx.Rngs, scale: float = 1.0):
    """A bias-free projection whose weights start with variance scale / fan_in."""
    return Projection(
        fan_in,
        fan_out,
        use_bias=False,
        dtype=dtype,
        kernel_init=or_zeros(
            nnx.initializers.variance_scaling(scale, "fan_in", "truncated_normal")
        ),
        rngs=rngs,
    )


def split(key: DropoutKey, count: int) -> tuple[DropoutKey, ...]:
    """`count` keys from one, or as many None where dropout is off."""
    return (None,) * count if key is None else tuple(jax.random.split(key, count))


def dropout(
    x: Float[Array, "..."], rate: float, key: DropoutKey, shared_axis: int | None = None
) -> Float[Array, "..."]:
    """Zero each entry with probability `rate` and scale the rest by 1 / (1 - rate).

    Args:
        x: any shape.
        rate: 0 up to below 1.
        key: None switches dropout off.
        shared_axis: one mask serves all entries along this axis, as in T5X; this also saves
            most of the random numbers.
    """
    if key is None or rate == 0.0:
        return x
    shape = list(x.shape)
    if shared_axis is not None:
        shape[shared_axis] = 1
    keep = jax.random.bernoulli(key, 1.0 - rate, shape)
    return jnp.where(keep, x / jnp.asarray(1.0 - rate, x.dtype), jnp.zeros((), x.dtype))


class RMSNorm(nnx.Module):
    """x / sqrt(mean(x^2) + 1e-6) * scale: no mean subtraction, no bias; computed in float32."""

    def __init__(self, width: int, dtype: jnp.dtype):
        self.scale = nnx.Param(jnp.ones((width,), jnp.float32))
        self.dtype = dtype

    def __call__(self, x: Float[Array, "*axes E"]) -> Float[Array, "*axes E"]:
        x = x.astype(jnp.float32)
        mean_square = jnp.mean(jnp.square(x), axis=-1, keepdims=True)
        scale = jnp.broadcast_to(self.scale[...], x.shape)
        return (x * jax.lax.rsqrt(mean_square + NORM_EPSILON) * scale).astype(self.dtype)


class Embedding(nnx.Module):
    """A table of vectors, started from N(0, 1) as in T5."""

    def __init__(self, rows: int, width: int, dtype: jnp.dtype, rngs: nnx.Rngs):
        normal = or_zeros(jax.random.normal)
        self.embedding = nnx.Param(normal(rngs.params(), (rows, width), jnp.float32))
        self.columns: Columns | None = nnx.data(None)
        self.dtype = dtype

    def keep_columns(self) -> None:
        """Keep a transposed copy, which `attend` reads faster; for a model that is read only."""
        self.columns = nnx.data(Columns(jnp.asarray(self.embedding[...].T)))

    def __call__(self, ids: Int[Array, "*axes"]) -> Float[Array, "*axes E"]:
        """The rows at `ids`; an id past the table gives the zero vector."""
        # Rounded after the choice of rows: gradients of one row, thousands for EOS, are summed in
        # the dtype of the table that rows are chosen from, and bfloat16 loses most of them.
        return self.embedding[...].at[ids].get(mode="fill", fill_value=0).astype(self.dtype)

    def attend(self, x: Float[Array, "*axes E"]) -> Float[Array, "*axes V"]:
        """Products of `x` with every row, in float32."""
        if self.columns is not None:
            return product(x, as_weights(self.columns[...], self.dtype), FLOAT32)
        # No columns here, whatever the number of vectors: a transposed table wants rows.
        table = self.embedding[...].astype(self.dtype)
        return jnp.matmul(x, table.T, preferred_element_type=FLOAT32)

    def attend_to(self, x: Float[Array, "B L E"], ids: Int[Array, "B C"]) -> Float[Array, "B L C"]:
        """Products of `x` with each row's own choice of table rows, in float32.

        Also where `columns` are rounded: the gathered rows are few, and nothing is gained.
        """
        table = self.embedding[...].astype(self.dtype)[ids]
        return jnp.einsum("ble,bce->blc", x, table, preferred_element_type=FLOAT32)


class FeedForward(nnx.Module):
    """Two projections with an activation, optionally gated, between them."""

    def __init__(self, architecture: Architecture, dtype: jnp.dtype, rngs: nnx.Rngs):
        width, hidden = architecture.width, architecture.feed_forward_width
        self.gated = architecture.activation == "gated_gelu"
        self.activation = jax.nn.relu if architecture.activation == "relu" else jax.nn.gelu
        self.wi = linear(width, hidden, dtype, rngs)
        if self.gated:
            self.gate = linear(width, hidden, dtype, rngs)
        self.wo = linear(hidden, width, dtype, rngs)
        self.rate = architecture.dropout

    def __call__(self, x: Float[Array, "B L E"], key: DropoutKey) -> Float[Array, "B L E"]:
        hidden = self.activation(self.wi(x))
        if self.gated:
            hidden = hidden * self.gate(x)
        return self.wo(dropout(hidden, self.rate, key, shared_axis=1))
