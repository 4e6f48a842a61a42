"""Token and length losses, averaged over tokens or sentences.

Paper: equation L.64 (cross-entropy at every position) and multi-stage training.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


def cross_entropy(
    logits: Float[Array, "*axes V"],
    target: Int[Array, "*axes"],
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
) -> Float[Array, "*axes"]:
    """Cross-entropy against a smoothed target, in nats, less the smoothed target's entropy.

    The target's own probability is 1 - label_smoothing, every other token's
    label_smoothing / (V - 1); the loss of a perfect prediction is therefore 0.
    `z_loss` times logsumexp(logits)^2 is added.
    """
    size = logits.shape[-1]
    normaliser = jax.nn.logsumexp(logits, axis=-1)
    chosen = jnp.take_along_axis(logits, target[..., None], axis=-1)[..., 0]
    if label_smoothing == 0.0:
        loss = normaliser - chosen
    else:
        low, high = label_smoothing / (size - 1), 1.0 - label_smoothing
        entropy = -(high * math.log(high) + (size - 1) * low * math.log(low))
        total = jnp.sum(logits, axis=-1)
        loss = normaliser - (high - low) * chosen - low * total - entropy
    if z_loss:
        loss = loss + z_loss * jnp.square(normaliser)
    return loss


def masked_sum(values: Float[Array, "*axes"], mask: Bool[Array, "*axes"]) -> Float[Array, ""]:
    """Sum over the True positions; other values are ignored, even NaN."""
    return jnp.sum(jnp.where(mask, values, 0.0))


def length_cross_entropy(
    logits: Float[Array, "B C"], length: Int[Array, " B"]
) -> Float[Array, " B"]:
    """Cross-entropy of the true length (EOS included), in nats per sentence; class c is length c+1.

    Lengths past the last class count as the last class.
    """
    classes = jnp.clip(length - 1, 0, logits.shape[-1] - 1)
    return cross_entropy(logits, classes)
