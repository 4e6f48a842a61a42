"""Predictors of the target length, EOS included. Paper: L.1.1.

A predictor maps encoder vectors to logits over `length_classes` lengths; class c is a target of
c + 1 tokens. All predictors share the loss and the choice of length candidates. A new predictor is
a class with the same call and the same two flags, and an entry in `PREDICTORS`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from padir.config.training import Architecture
from padir.model.layers import FLOAT32, Embedding, linear
from padir.shapes import LengthLogits, Memory, SourceMask

MAX_FERTILITY = 2


class LengthInput(NamedTuple):
    """The encoder's output for a length predictor.

    Args:
        encoded: one vector per source position, without that of the LENGTH token.
        visible: False at padding, whose vectors mean nothing.
        length_vector: the vector of the LENGTH token; None where none was put in front.
    """

    encoded: Memory
    visible: SourceMask
    length_vector: Float[Array, "B E"] | None


class LengthPredictor(nnx.Module):
    """Base of all predictors; `__call__` maps a `LengthInput` to logits."""

    reads_token = False
    """Whether the source gets an extra LENGTH token in front."""
    oracle = False
    """Whether nothing is predicted and the caller has to supply the lengths."""


class TokenLengthPredictor(LengthPredictor):
    """Reads the encoder's vector of an extra source token (Ghazvininejad et al. 2019)."""

    reads_token = True

    def __init__(self, architecture: Architecture, rngs: nnx.Rngs):
        self.lengths = Embedding(architecture.length_classes, architecture.width, FLOAT32, rngs)

    def __call__(self, given: LengthInput) -> LengthLogits:
        """Raises ValueError if the source was encoded without the extra token."""
        if given.length_vector is None:
            raise ValueError("the token length predictor needs a source with a LENGTH token")
        return self.lengths.attend(given.length_vector.astype(jnp.float32))


class PooledLengthPredictor(LengthPredictor):
    """Reads the mean of the encoder's vectors."""

    def __init__(self, architecture: Architecture, rngs: nnx.Rngs):
        self.lengths = Embedding(architecture.length_classes, architecture.width, FLOAT32, rngs)

    def __call__(self, given: LengthInput) -> LengthLogits:
        seen = given.visible[:, :, None]
        total = jnp.sum(jnp.where(seen, given.encoded.astype(jnp.float32), 0.0), axis=1)
        # A row of padding alone, which fills a batch up, has no mean.
        return self.lengths.attend(total / jnp.maximum(jnp.sum(seen, axis=1), 1))


def around(length: Float[Array, " B"], classes: int) -> LengthLogits:
    """-(l - length)^2 / 2 for every length l: a discretised Gaussian of variance 1.

    Its cross-entropy is half the squared error, which the published code sums, plus a normaliser
    that hardly moves while `length` lies among the classes. Its likeliest class is `length`
    rounded, and the nearest end where `length` lies outside; the published code rounds halves to
    the even number and never goes below 2.
    """
    lengths = jnp.arange(1, classes + 1, dtype=jnp.float32)
    return -0.5 * jnp.square(lengths[None, :] - length[:, None])


class AffineLengthPredictor(LengthPredictor):
    """factor * (source tokens) + offset; reads no vector, so that it trains no encoder."""

    def __init__(self, architecture: Architecture, rngs: nnx.Rngs):
        self.classes = architecture.length_classes
        # Both start at 1: Adafactor's steps grow with a parameter's size, and 0 would hardly move.
        self.factor = nnx.Param(jnp.ones((1,), jnp.float32))
        self.offset = nnx.Param(jnp.ones((1,), jnp.float32))

    def __call__(self, given: LengthInput) -> LengthLogits:
        tokens = jnp.sum(given.visible, axis=1).astype(jnp.float32)
        return around(self.factor[...] * tokens + self.offset[...], self.classes)


class FertilityLengthPredictor(LengthPredictor):
    """factor * (sum of fertilities) + offset: a source token's fertility is its target tokens.

    Each position chooses among -3 to 2 more than one token and the mean counts, so a fertility
    lies between -2 and 3 (the published code's choice). No gradient reaches the encoder.
    """

    def __init__(self, architecture: Architecture, rngs: nnx.Rngs):
        width = architecture.width
        self.classes = architecture.length_classes
        self.mlp = linear(width, 4 * width, FLOAT32, rngs)
        self.mlp_offset = nnx.Param(jnp.zeros((4 * width,), jnp.float32))
        self.choices = linear(4 * width, 2 * MAX_FERTILITY + 2, FLOAT32, rngs)
        # As in `AffineLengthPredictor`.
        self.factor = nnx.Param(jnp.ones((1,), jnp.float32))
        self.offset = nnx.Param(jnp.ones((1,), jnp.float32))

    def fertilities(self, given: LengthInput) -> Float[Array, "B S"]:
        """Expected target tokens of each source position; 0 at padding."""
        encoded = jax.lax.stop_gradient(given.encoded).astype(jnp.float32)
        offset = jnp.broadcast_to(self.mlp_offset[...], (*encoded.shape[:2], len(self.mlp_offset)))
        chosen = jax.nn.softmax(self.choices(jax.nn.gelu(self.mlp(encoded) + offset)), axis=-1)
        more = jnp.arange(-MAX_FERTILITY - 1, MAX_FERTILITY + 1, dtype=jnp.float32)
        return jnp.where(given.visible, 1.0 + chosen @ more, 0.0)

    def __call__(self, given: LengthInput) -> LengthLogits:
        total = jnp.sum(self.fertilities(given), axis=1)
        return around(self.factor[...] * total + self.offset[...], self.classes)


class OracleLengthPredictor(LengthPredictor):
    """Predicts nothing: uniform logits. The caller supplies the reference lengths."""

    oracle = True

    def __init__(self, architecture: Architecture, rngs: nnx.Rngs):
        self.classes = architecture.length_classes

    def __call__(self, given: LengthInput) -> LengthLogits:
        return jnp.zeros((given.visible.shape[0], self.classes), jnp.float32)


PREDICTORS = {
    "token": TokenLengthPredictor,
    "pooled": PooledLengthPredictor,
    "affine": AffineLengthPredictor,
    "fertility": FertilityLengthPredictor,
    "oracle": OracleLengthPredictor,
}


def top_lengths(logits: LengthLogits, count: int) -> tuple[Int[Array, "B K"], Float[Array, "B K"]]:
    """The `count` likeliest lengths and their log-probabilities, best first.

    Ties go to the shorter length. Lengths are distinct.

    Raises:
        ValueError: if `count` exceeds the number of classes.
    """
    log_probability = _log_probability(logits, count)
    order = jnp.argsort(-log_probability, axis=-1, stable=True)[:, :count]
    return order.astype(jnp.int32) + 1, jnp.take_along_axis(log_probability, order, axis=-1)


def window_lengths(
    logits: LengthLogits, count: int
) -> tuple[Int[Array, "B K"], Float[Array, "B K"]]:
    """The likeliest length and its neighbours, with their log-probabilities, nearest first.

    Among equally near lengths the likelier comes first, then the shorter. Lengths are distinct.
    Classes at -inf are passed over as if they did not exist, so that a window at an end grows to
    one side; they come last, and only where fewer than `count` others exist. The published code's
    offsets -b // 2 to b // 2 are this window, but clipped, which gives the end length twice.

    Raises:
        ValueError: if `count` exceeds the number of classes.
    """
    log_probability = _log_probability(logits, count)
    best = jnp.argmax(logits, axis=-1, keepdims=True)
    distance = jnp.abs(jnp.arange(logits.shape[-1])[None, :] - best)
    keys = (-log_probability, distance, jnp.isneginf(logits))
    order = jnp.lexsort(keys, axis=-1)[:, :count]
    return order.astype(jnp.int32) + 1, jnp.take_along_axis(log_probability, order, axis=-1)


def _log_probability(logits: LengthLogits, count: int) -> LengthLogits:
    """Normalised logits; ValueError where they are fewer than `count`."""
    if count > logits.shape[-1]:
        raise ValueError(f"length candidates: {count} asked, at most {logits.shape[-1]} exist")
    return logits - nnx.logsumexp(logits, axis=-1, keepdims=True)
