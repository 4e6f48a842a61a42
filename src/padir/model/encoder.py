"""The encoder: pre-norm self-attention and feed-forward blocks with one final norm."""

import jax.numpy as jnp
from flax import nnx

from padir.config.training import Architecture
from padir.model.attention import Attention, RelativePositionBias, additive
from padir.model.layers import FeedForward, RMSNorm, dropout, split
from padir.shapes import DropoutKey, Memory, SourceMask


class EncoderLayer(nnx.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, architecture: Architecture, dtype: jnp.dtype, rngs: nnx.Rngs):
        self.attention_norm = RMSNorm(architecture.width, dtype)
        self.attention = Attention(architecture, dtype, rngs)
        self.feed_forward_norm = RMSNorm(architecture.width, dtype)
        self.feed_forward = FeedForward(architecture, dtype, rngs)
        self.rate = architecture.dropout

    def __call__(self, x: Memory, bias, key: DropoutKey) -> Memory:
        keys = split(key, 4)
        normed = self.attention_norm(x)
        update, _ = self.attention(normed, normed, bias, keys[0])
        x = x + dropout(update, self.rate, keys[1], shared_axis=1)
        update = self.feed_forward(self.feed_forward_norm(x), keys[2])
        return x + dropout(update, self.rate, keys[3], shared_axis=1)


class Encoder(nnx.Module):
    """Embedded source to memory vectors. Padding is hidden and its vectors mean nothing."""

    def __init__(self, architecture: Architecture, dtype: jnp.dtype, rngs: nnx.Rngs):
        self.position_bias = RelativePositionBias(architecture.heads, True, rngs)
        self.layers = nnx.List(
            EncoderLayer(architecture, dtype, rngs) for _ in range(architecture.encoder_layers)
        )
        self.norm = RMSNorm(architecture.width, dtype)
        self.rate = architecture.dropout
        self.rematerialise = architecture.rematerialise

    def __call__(self, x: Memory, visible: SourceMask, key: DropoutKey = None) -> Memory:
        keys = split(key, len(self.layers) + 2)
        pairs = visible[:, None, :, None] & visible[:, None, None, :]
        bias = self.position_bias(x.shape[1], x.shape[1]) + additive(pairs)
        x = dropout(x, self.rate, keys[0], shared_axis=1)
        run = nnx.remat(EncoderLayer.__call__) if self.rematerialise else EncoderLayer.__call__
        for layer, layer_key in zip(self.layers, keys[2:], strict=True):
            x = run(layer, x, bias, layer_key)
        return dropout(self.norm(x), self.rate, keys[1])
