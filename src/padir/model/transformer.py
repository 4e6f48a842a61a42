"""The whole model: one embedding table, an encoder, a decoder and a length predictor.

The same class serves autoregressive (causal decoder, no length predictor) and parallel systems.
Paper: sections 3.2, L.1, L.2.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from padir.config.training import Architecture
from padir.ids import PAD
from padir.model.decoder import (
    Attentions,
    Cache,
    CrossMemory,
    Decoder,
    PairMask,
    PositionalLogits,
)
from padir.model.encoder import Encoder
from padir.model.layers import FLOAT32, Embedding, as_weights, linear, product
from padir.model.length import PREDICTORS, LengthInput
from padir.shapes import DropoutKey, Hidden, LengthLogits, Logits, Mask, SourceTokens, Tokens


class EncodedSources(NamedTuple):
    """One batch of sources, ready for any number of decoder passes.

    `length_logits` is None for a causal model.
    """

    cross: CrossMemory
    length_logits: LengthLogits | None


class Transformer(nnx.Module):
    """Encoder-decoder over one shared vocabulary.

    Args:
        architecture: sizes and options.
        table_size: rows of the embedding table (V).
        length_id: id of the extra source token that the length predictor `token` reads.
        causal: True for autoregressive models.
        critic: whether the model has a critic, a head that tells right predictions from wrong ones.
        rngs: a `params` stream, for the initial values.

    Attributes:
        length_oracle: True where the caller of the decoder has to supply the target lengths.

    Raises:
        ValueError: if the model is both causal and disentangled.
    """

    def __init__(
        self,
        architecture: Architecture,
        table_size: int,
        *,
        length_id: int,
        causal: bool,
        critic: bool = False,
        rngs: nnx.Rngs,
    ):
        dtype = jnp.dtype(architecture.compute_dtype)
        self.width = architecture.width
        self.length_id = length_id
        self.causal = causal
        self.embedder = Embedding(table_size, architecture.width, dtype, rngs)
        self.encoder = Encoder(architecture, dtype, rngs)
        self.decoder = Decoder(architecture, causal, dtype, rngs)
        self.tied = architecture.tied_output
        if not self.tied:
            self.output = linear(architecture.width, table_size, dtype, rngs)
        predictor = None if causal else PREDICTORS[architecture.length_predictor]
        self.length_token = predictor is not None and predictor.reads_token
        self.length_oracle = predictor is not None and predictor.oracle
        if predictor is not None:
            self.length_predictor = predictor(architecture, rngs)
        self.has_critic = critic
        if critic:
            self.critic = linear(architecture.width, 2, dtype, rngs)

    def memory(self, source: SourceTokens, key: DropoutKey = None) -> LengthInput:
        """The encoder's vectors, where they stand for a token, and that of the LENGTH token.

        Only the length predictor `token` has such a token put in front of the source.
        """
        if self.length_token:
            first = jnp.full((source.shape[0], 1), self.length_id, source.dtype)
            source = jnp.concatenate([first, source], axis=1)
        visible = source != PAD
        encoded = self.encoder(self.embedder(source), visible, key)
        if self.length_token:
            return LengthInput(encoded[:, 1:], visible[:, 1:], encoded[:, 0])
        return LengthInput(encoded, visible, None)

    def encode(self, source: SourceTokens, key: DropoutKey = None) -> EncodedSources:
        """Encode source ids, 0 being padding; cross-attention never sees the length token."""
        memory = self.memory(source, key)
        cross = self.decoder.cross_memory(memory.encoded, memory.visible)
        return EncodedSources(cross, None if self.causal else self.length_predictor(memory))

    def logits(self, hidden: Hidden, ids: Int[Array, "B C"] | None = None) -> Logits:
        """Decoder vectors to float32 logits over the vocabulary, or over some ids of each row."""
        if ids is not None:
            if self.tied:
                return self.embedder.attend_to(hidden, ids) / jnp.sqrt(jnp.float32(self.width))
            kernel = self.output.kernel[...].astype(hidden.dtype)[:, ids]
            return jnp.einsum("ble,ebc->blc", hidden, kernel, preferred_element_type=jnp.float32)
        if self.tied:
            return self.embedder.attend(hidden) / jnp.sqrt(jnp.float32(self.width))
        return product(hidden, as_weights(self.output.kernel[...], hidden.dtype), FLOAT32)

    def critic_logits(self, hidden: Hidden) -> Float[Array, "B L 2"]:
        """Float32 logits of the critic at each position; class 1 is a right prediction.

        No gradient reaches the decoder. Source: the published code, which calls it the rejecter.

        Raises:
            ValueError: if the model was built without a critic.
        """
        if not self.has_critic:
            raise ValueError("this model has no critic: objective.critic_weight is 0")
        kernel = as_weights(self.critic.kernel[...], hidden.dtype)
        return product(jax.lax.stop_gradient(hidden), kernel, FLOAT32)

    def hidden(
        self,
        tokens: Tokens,
        cross: CrossMemory,
        visible: Mask | PairMask | None = None,
        key: DropoutKey = None,
        positional_logits: PositionalLogits | None = None,
    ) -> tuple[Hidden, Attentions]:
        """Decoder vectors and attention weights of one pass.

        `visible` is where the decoder may look, for all positions or for each; by default
        wherever `tokens` is not padding. `positional_logits` are those of the decoder, computed
        once for several passes.
        """
        if visible is None:
            visible = tokens != PAD
        return self.decoder(self.embedder(tokens), visible, cross, key, positional_logits)

    def decode(
        self,
        tokens: Tokens,
        cross: CrossMemory,
        visible: Mask | PairMask | None = None,
        key: DropoutKey = None,
    ) -> Logits:
        """Logits of one pass over all positions."""
        return self.logits(self.hidden(tokens, cross, visible, key)[0])

    def step(
        self, token: Int[Array, " B"], position: Int[Array, ""], cache: Cache, cross: CrossMemory
    ) -> tuple[Float[Array, "B V"], Cache]:
        """Logits after one token of a causal model, with cached keys and values."""
        x, cache = self.decoder.step(self.embedder(token[:, None]), position, cache, cross)
        return self.logits(x)[:, 0], cache
