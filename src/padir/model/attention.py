"""Attention with relative position bias, in the T5 form: no division by sqrt(head width).

Paper: L.2; Raffel et al. 2020 for the bias. Weights come out as [B, H, query, key].
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float, Int

from padir.config.training import Architecture
from padir.model.layers import dropout, linear, or_zeros
from padir.shapes import DropoutKey

BUCKETS = 32
MAX_DISTANCE = 128
# Added to hidden positions; in float32 it swallows any logit, so a row with nothing visible
# attends to all keys alike. Such rows are padding and nothing reads them.
HIDDEN = -1e10


def relative_position_buckets(
    queries: int, keys: int, bidirectional: bool = True
) -> Int[np.ndarray, "Q K"]:
    """Bucket of each key's position relative to each query's, 0 to 31.

    Near distances have a bucket each, farther ones share buckets that widen with the logarithm
    up to 128. With `bidirectional`, keys to the right use the upper half; without, keys to the
    right all fall in bucket 0, as a causal mask hides them.
    """
    relative = np.arange(keys)[None, :] - np.arange(queries)[:, None]
    buckets = BUCKETS
    offset = np.zeros_like(relative)
    if bidirectional:
        buckets //= 2
        offset = np.where(relative > 0, buckets, 0)
        distance = np.abs(relative)
    else:
        distance = np.maximum(-relative, 0)
    exact = buckets // 2
    ratio = distance.astype(np.float32) / exact + np.finfo(np.float32).eps
    logarithmic = exact + (
        np.log(ratio) / math.log(MAX_DISTANCE / exact) * (buckets - exact)
    ).astype(np.int32)
    far = np.minimum(logarithmic, buckets - 1)
    return (offset + np.where(distance < exact, distance, far)).astype(np.int32)


class RelativePositionBias(nnx.Module):
    """One learnt number per head and bucket, added to attention logits; shared by a stack."""

    def __init__(self, heads: int, bidirectional: bool, rngs: nnx.Rngs):
        initial = or_zeros(nnx.initializers.variance_scaling(1.0, "fan_avg", "uniform"))
        self.embedding = nnx.Param(initial(rngs.params(), (heads, BUCKETS), jnp.float32))
        self.bidirectional = bidirectional

    def __call__(self, queries: int, keys: int) -> Float[Array, "1 H Q K"]:
        buckets = relative_position_buckets(queries, keys, self.bidirectional)
        return self.embedding[...][:, buckets][None]

    def row(self, query: Int[Array, ""], keys: int) -> Float[Array, "1 H 1 K"]:
        """The bias of one query position: what `self(keys, keys)[:, :, query]` holds."""
        buckets = jnp.asarray(relative_position_buckets(keys, keys, self.bidirectional))
        row = jax.lax.dynamic_index_in_dim(buckets, query, keepdims=False)
        return self.embedding[...][:, row][None, :, None]


def additive(visible: Bool[Array, "*axes"]) -> Float[Array, "*axes"]:
    """0 where visible, a very negative number where hidden."""
    return jnp.where(visible, 0.0, HIDDEN).astype(jnp.float32)


class Attention(nnx.Module):
    """Multi-head attention; queries, keys and values may come from different inputs."""

    def __init__(self, architecture: Architecture, dtype: jnp.dtype, rngs: nnx.Rngs):
        width = architecture.width
        self.heads, self.head_width = architecture.heads, architecture.head_width
        inner = self.heads * self.head_width
        # The logits are not divided by sqrt(head width): the query projection starts that
        # much smaller instead.
        self.query = linear(width, inner, dtype, rngs, scale=1.0 / self.head_width)
        self.key = linear(width, inner, dtype, rngs)
        self.value = linear(width, inner, dtype, rngs)
        self.out = linear(inner, width, dtype, rngs)
        self.rate = architecture.dropout if architecture.attention_dropout else 0.0

    def _heads(self, x: Float[Array, "B L F"]) -> Float[Array, "B L H D"]:
        return x.reshape(*x.shape[:2], self.heads, self.head_width)

    def project_keys(self, keys: Float[Array, "#B K E"]) -> Float[Array, "#B H K D"]:
        """Projected keys, heads before keys, as `logits` needs them.

        Stored the other way round, a cache would be transposed again in every pass.
        """
        return self._heads(self.key(keys)).swapaxes(1, 2)

    def project_values(self, values: Float[Array, "B K E"]) -> Float[Array, "B H K D"]:
        """Projected values, as `mix` needs them."""
        return self._heads(self.value(values)).swapaxes(1, 2)

    def project(
        self, memory: Float[Array, "B K E"]
    ) -> tuple[Float[Array, "B H K D"], Float[Array, "B H K D"]]:
        """Projected keys and values: computed once where several passes share them."""
        return self.project_keys(memory), self.project_values(memory)

    def logits(
        self, queries: Float[Array, "#B Q E"], keys: Float[Array, "#B H K D"]
    ) -> Float[Array, "#B H Q K"]:
        """Float32 logits, before the bias, with projected keys."""
        query = self._heads(self.query(queries))
        return jnp.einsum("bqhd,bhkd->bhqk", query, keys, preferred_element_type=jnp.float32)

    def mix(
        self,
        logits: Float[Array, "#B H Q K"],
        values: Float[Array, "B H K D"],
        key: DropoutKey = None,
    ) -> tuple[Float[Array, "B Q E"], Float[Array, "B H Q K"]]:
        """Mix projected values; logits may be those of one row for all.

        Returns the output and the attention weights (before dropout), which sum to 1 over K.
        """
        weights = jax.nn.softmax(logits, axis=-1)
        dropped = dropout(weights.astype(values.dtype), self.rate, key, shared_axis=2)
        mixed = jnp.einsum("bhqk,bhkd->bqhd", dropped, values)
        return self.out(mixed.reshape(*mixed.shape[:2], -1)), weights

    def attend(
        self,
        queries: Float[Array, "B Q E"],
        keys: Float[Array, "B H K D"],
        values: Float[Array, "B H K D"],
        bias: Float[Array, "#B #H Q K"],
        key: DropoutKey = None,
    ) -> tuple[Float[Array, "B Q E"], Float[Array, "B H Q K"]]:
        """Attend with projected keys and values; see `mix` for what it returns."""
        return self.mix(self.logits(queries, keys) + bias, values, key)

    def __call__(
        self,
        queries: Float[Array, "B Q E"],
        memory: Float[Array, "B K E"],
        bias: Float[Array, "#B #H Q K"],
        key: DropoutKey = None,
    ) -> tuple[Float[Array, "B Q E"], Float[Array, "B H Q K"]]:
        """Attend to vectors that give both keys and values."""
        return self.attend(queries, *self.project(memory), bias, key)
