"""The decoder: parallel (every position sees every other) or causal, with a cached step.

Each layer adds, in this order: self-attention, positional attention (parallel only, a setting),
cross-attention, feed-forward. Positional attention asks with absolute position vectors and
returns the residual stream itself, so position enters through attention weights alone: of equal
tokens, such as masks, only the distance from others differs. With `input_positions` the same
vectors are added to the tokens too, as mask-based systems need it.
Paper: L.2 (positional attention after Gu et al. 2018, Kreutzer et al. 2020).

A disentangled decoder (Kasai et al. 2020, DisCo) carries token and absolute position vectors, not
contextualised, as keys and values through all layers; the state starts as the position vectors
alone. What a position sees is then what its own row of the mask shows, whatever the others see.
Positional attention is off there: its values are states, which carry what other positions saw.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int

from padir.config.training import Architecture
from padir.model.attention import Attention, RelativePositionBias, additive
from padir.model.layers import Embedding, FeedForward, RMSNorm, dropout, split
from padir.shapes import DropoutKey, Hidden, Mask, Memory, SourceMask

PairMask = Bool[Array, "B L L"]
"""True where the query (second axis) may look at the key (third axis)."""


class CrossMemory(NamedTuple):
    """Each layer's cross-attention keys and values: computed once, read by every pass."""

    keys: tuple[Float[Array, "B H S D"], ...]
    values: tuple[Float[Array, "B H S D"], ...]
    bias: Float[Array, "B 1 1 S"]


class Cache(NamedTuple):
    """Self-attention keys and values of the positions decoded so far, for the causal decoder.

    N entries: positions, or positions times hypotheses (see `Decoder.step`).
    """

    keys: tuple[Float[Array, "B H N D"], ...]
    values: tuple[Float[Array, "B H N D"], ...]


PositionalLogits = tuple[Float[Array, "1 H L L"], ...]
"""Logits of each layer's positional attention, the same for all rows."""


class InputMemory(NamedTuple):
    """Keys and values of the input embeddings, which self-attention reads in every layer of a
    disentangled decoder.

    `has_visible_key` is False at queries without one, where attention would mix all keys alike.
    """

    vectors: Hidden
    has_visible_key: Bool[Array, "B L 1"]


class Attentions(NamedTuple):
    """Attention weights of one pass, after softmax: layer is the second axis."""

    self_attention: Float[Array, "B layer H L L"]
    cross_attention: Float[Array, "B layer H L S"]


class DecoderLayer(nnx.Module):
    """One decoder layer: the attentions of the module docstring, then feed-forward."""

    def __init__(self, architecture: Architecture, positional: bool, dtype, rngs: nnx.Rngs):
        width = architecture.width
        self.self_norm = RMSNorm(width, dtype)
        self.self_attention = Attention(architecture, dtype, rngs)
        if positional:
            self.position_norm = RMSNorm(width, dtype)
            self.positional_attention = Attention(architecture, dtype, rngs)
        self.cross_norm = RMSNorm(width, dtype)
        self.cross_attention = Attention(architecture, dtype, rngs)
        self.feed_forward_norm = RMSNorm(width, dtype)
        self.feed_forward = FeedForward(architecture, dtype, rngs)
        self.rate = architecture.dropout

    def _after_self_attention(self, x, cross, cross_bias, keys):
        """Cross-attention and feed-forward: the part that passes and cached steps share.

        Where `x` holds several hypotheses of each source, they read its keys and values together.
        """
        sources, heads = cross[0].shape[0], self.cross_attention.heads
        batch, length, width = x.shape
        queries = self.cross_norm(x).reshape(sources, -1, width)
        bias = jnp.broadcast_to(cross_bias, (sources, 1, queries.shape[1], cross_bias.shape[3]))
        update, weights = self.cross_attention.attend(queries, cross[0], cross[1], bias, keys[0])
        x = x + dropout(update.reshape(x.shape), self.rate, keys[1], shared_axis=1)
        weights = weights.reshape(sources, heads, batch // sources, length, -1)
        weights = weights.swapaxes(1, 2).reshape(batch, heads, length, -1)
        update = self.feed_forward(self.feed_forward_norm(x), keys[2])
        return x + dropout(update, self.rate, keys[3], shared_axis=1), weights

    def positional_logits(self, positions: Float[Array, "1 L E"]) -> Float[Array, "1 H L L"]:
        """Logits of positional attention, which are the same for all rows."""
        normed = self.position_norm(positions)
        return self.positional_attention.logits(
            normed, self.positional_attention.project_keys(normed)
        )

    def __call__(
        self,
        x: Hidden,
        positional_logits: Float[Array, "1 H L L"] | None,
        bias,
        cross,
        cross_bias,
        key: DropoutKey,
        input_memory: InputMemory | None,
    ):
        """The layer's output [B, L, E], and weights of self- and cross-attention.

        Args:
            x: of each position.
            positional_logits: of `positional_logits`; None: the layer has no positional attention.
            bias: of relative positions, and very negative where a query may not look [B, H, L, L].
            cross: keys and values [A, H, S, D] of A sources; B / A hypotheses of a source follow
                each other.
            cross_bias: very negative at padding of the sources [A, 1, 1, S].
            key: of dropout.
            input_memory: what a disentangled layer reads instead of `x`.
        """
        keys = split(key, 7)
        normed = self.self_norm(x)
        read = normed if input_memory is None else self.self_norm(input_memory.vectors)
        update, self_weights = self.self_attention(normed, read, bias, keys[4])
        if input_memory is not None:
            update = jnp.where(input_memory.has_visible_key, update, 0)
        x = x + dropout(update, self.rate, keys[5], shared_axis=1)
        if positional_logits is not None:
            values = self.positional_attention.project_values(x)
            x = x + self.positional_attention.mix(positional_logits + bias, values, keys[6])[0]
        x, cross_weights = self._after_self_attention(x, cross, cross_bias, keys[:4])
        return x, self_weights, cross_weights

    def step(self, x: Float[Array, "B K E"], cached, position, bias, cross, cross_bias):
        """One position of the causal decoder; returns the output and the extended cache.

        Args:
            x: the K hypotheses of each of B sources.
            cached: keys and values of the positions so far, K of each beside each other.
            position: that of `x`; it is the same for all.
            bias, cross, cross_bias: as in a call.
        """
        normed = self.self_norm(x)
        key, value = self.self_attention.project(normed)
        start = position * x.shape[1]
        keys = jax.lax.dynamic_update_slice_in_dim(cached[0], key, start, axis=2)
        values = jax.lax.dynamic_update_slice_in_dim(cached[1], value, start, axis=2)
        update, _ = self.self_attention.attend(normed, keys, values, bias)
        x, _ = self._after_self_attention(x + update, cross, cross_bias, (None,) * 4)
        return x, (keys, values)


class Decoder(nnx.Module):
    """Embedded hypothesis and memory to decoder vectors.

    Raises:
        ValueError: if the decoder is both causal and disentangled.
    """

    def __init__(self, architecture: Architecture, causal: bool, dtype, rngs: nnx.Rngs):
        self.causal = causal
        self.disentangled = architecture.disentangled
        if causal and self.disentangled:
            raise ValueError(
                "architecture.disentangled true does not fit an autoregressive model (system ar):"
                " its cached steps need contextualised keys and values"
            )
        self.positional = architecture.positional_attention and not causal and not self.disentangled
        self.position_bias = RelativePositionBias(architecture.heads, not causal, rngs)
        self.input_positions = architecture.input_positions and not causal
        if self.positional or self.disentangled or self.input_positions:
            self.positions = Embedding(architecture.max_positions, architecture.width, dtype, rngs)
        self.layers = nnx.List(
            DecoderLayer(architecture, self.positional, dtype, rngs)
            for _ in range(architecture.decoder_layers)
        )
        self.norm = RMSNorm(architecture.width, dtype)
        self.rate = architecture.dropout
        self.rematerialise = architecture.rematerialise

    def cross_memory(self, memory: Memory, visible: SourceMask) -> CrossMemory:
        """Project the encoder's output for every layer's cross-attention."""
        projected = [layer.cross_attention.project(memory) for layer in self.layers]
        keys, values = zip(*projected, strict=True)
        return CrossMemory(keys, values, additive(visible)[:, None, None, :])

    def positional_logits(self, length: int) -> PositionalLogits | None:
        """Logits of positional attention over so many positions; None without it.

        They depend on parameters alone, so that all passes of a decoding share them.
        """
        if not self.positional:
            return None
        positions = self.positions(jnp.arange(length))[None]
        return tuple(layer.positional_logits(positions) for layer in self.layers)

    def __call__(
        self,
        x: Hidden,
        visible: Mask | PairMask,
        cross: CrossMemory,
        key: DropoutKey = None,
        positional_logits: PositionalLogits | None = None,
    ) -> tuple[Hidden, Attentions]:
        """One pass over all positions.

        Args:
            x: embedded hypothesis.
            visible: False at padding, position 0 being always visible; or for each pair whether
                the query may look at the key, taken as given. Unless the decoder is disentangled,
                a later layer also sees what the visible positions saw before.
            cross: the sources, from `cross_memory`; B may be a multiple of their number, with the
                hypotheses of one source in consecutive rows.
            key: for dropout; None switches it off.
            positional_logits: from the method of this name; by default computed here.
        """
        length = x.shape[1]
        keys = split(key, len(self.layers) + (3 if self.disentangled else 2))
        if visible.ndim == 2:
            visible = visible.at[:, 0].set(True)
            pairs = visible[:, None, :, None] & visible[:, None, None, :]
        else:
            pairs = visible[:, None, :, :]
        if self.causal:
            pairs = pairs & jnp.tril(jnp.ones((length, length), bool))[None, None]
        bias = self.position_bias(length, length) + additive(pairs)
        if self.input_positions:
            x = x + self.positions(jnp.arange(length))[None]
        if positional_logits is None:
            positional_logits = self.positional_logits(length)
        input_memory = None
        if self.disentangled:
            positions = jnp.broadcast_to(self.positions(jnp.arange(length))[None], x.shape)
            vectors = dropout(x + positions, self.rate, keys[0], shared_axis=1)
            input_memory = InputMemory(vectors, jnp.any(pairs, axis=3)[:, 0, :, None])
            x = dropout(positions, self.rate, keys[-1], shared_axis=1)
        else:
            x = dropout(x, self.rate, keys[0], shared_axis=1)
        self_weights, cross_weights = [], []
        run = nnx.remat(DecoderLayer.__call__) if self.rematerialise else DecoderLayer.__call__
        for index, layer in enumerate(self.layers):
            pair = (cross.keys[index], cross.values[index])
            positional = None if positional_logits is None else positional_logits[index]
            arguments = (x, positional, bias, pair, cross.bias, keys[2 + index], input_memory)
            x, *weights = run(layer, *arguments)
            self_weights.append(weights[0])
            cross_weights.append(weights[1])
        x = dropout(self.norm(x), self.rate, keys[1], shared_axis=1)
        # Unread, these cost nothing: the compiler drops the stacking.
        return x, Attentions(jnp.stack(self_weights, 1), jnp.stack(cross_weights, 1))

    def empty_cache(self, batch: int, length: int) -> Cache:
        """A cache of `length` entries of a causal decoder."""
        attention = self.layers[0].self_attention
        shape = (batch, attention.heads, length, attention.head_width)
        zeros = tuple(jnp.zeros(shape, self.norm.dtype) for _ in self.layers)
        return Cache(zeros, zeros)

    def step(
        self,
        x: Float[Array, "B K E"],
        position: Int[Array, ""],
        cache: Cache,
        cross: CrossMemory,
        readable: Bool[Array, "B K N"] | None = None,
    ) -> tuple[Float[Array, "B K E"], Cache]:
        """Decode one position with cached keys and values of the earlier ones.

        K hypotheses of each source advance together. Hypothesis k's entry of position t stands
        at t * K + k of the cache, and the cache is never reordered: a search that replaces
        hypotheses says with `readable` whose entries each one now continues.

        Args:
            x: embedded tokens before this position.
            position: its index, 0 up to the number of positions in the cache - 1.
            cache: as returned by the previous step; N = positions * K entries.
            cross: the sources.
            readable: cache entries that each hypothesis may read, among those of positions up
                to this one. Needed when K > 1.

        Raises:
            ValueError: K > 1 without `readable`.
        """
        hypotheses, entries = x.shape[1], cache.keys[0].shape[2]
        if readable is None and hypotheses > 1:
            raise ValueError(f"{hypotheses} hypotheses per source need readable cache entries")
        reached = (jnp.arange(entries) < (position + 1) * hypotheses)[None, None, :]
        seen = reached if readable is None else readable & reached
        row = self.position_bias.row(position, entries // hypotheses)
        bias = jnp.repeat(row, hypotheses, axis=3) + additive(seen)[:, None]
        keys, values = [], []
        for index, layer in enumerate(self.layers):
            x, (key, value) = layer.step(
                x,
                (cache.keys[index], cache.values[index]),
                position,
                bias,
                (cross.keys[index], cross.values[index]),
                cross.bias,
            )
            keys.append(key)
            values.append(value)
        return self.norm(x), Cache(tuple(keys), tuple(values))
