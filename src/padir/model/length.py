"""How long the target will be, EOS included. Paper: L.1.1.

A predictor turns the encoder's work into logits over `length_classes` lengths; class c means a
target of c + 1 tokens. A new predictor is a class with the same call, named in `PREDICTORS`.
"""

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from padir.config.model import Architecture
from padir.model.layers import Embedding
from padir.shapes import LengthLogits


class TokenLengthPredictor(nnx.Module):
    """Reads the encoder's vector of an extra source token (Ghazvininejad et al. 2019)."""

    def __init__(self, architecture: Architecture, rngs: nnx.Rngs):
        self.lengths = Embedding(
            architecture.length_classes, architecture.width, jnp.dtype(jnp.float32), rngs
        )

    def __call__(self, length_vector: Float[Array, "B E"]) -> LengthLogits:
        return self.lengths.attend(length_vector.astype(jnp.float32))


PREDICTORS = {"token": TokenLengthPredictor}


def top_lengths(logits: LengthLogits, count: int) -> tuple[Int[Array, "B K"], Float[Array, "B K"]]:
    """The `count` likeliest lengths and their log-probabilities, best first.

    Ties go to the shorter length. Lengths are distinct.

    Raises:
        ValueError: if `count` exceeds the number of classes.
    """
    if count > logits.shape[-1]:
        raise ValueError(f"length candidates: {count} asked, at most {logits.shape[-1]} exist")
    log_probability = logits - nnx.logsumexp(logits, axis=-1, keepdims=True)
    order = jnp.argsort(-log_probability, axis=-1, stable=True)[:, :count]
    return order.astype(jnp.int32) + 1, jnp.take_along_axis(log_probability, order, axis=-1)
