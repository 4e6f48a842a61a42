"""What one training step asks of a model: the losses of AR and of PaDIR.

Paper: section L.1.2. PaDIR trains S stages: stage 1 reads a random hypothesis, each later stage
the arg-max of the one before, exactly as decoding passes do; no gradient flows through tokens.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from padir.config.model import ModelRun
from padir.corrupt import next_hypothesis, random_tokens
from padir.ids import EOS, FIRST_PIECE, PAD, START
from padir.loss import cross_entropy, first_argmax, length_cross_entropy, masked_sum
from padir.model.transformer import Transformer, split_dropout
from padir.shapes import DropoutKey, Logits, SourceTokens, Tokens

Scalar = Float[Array, ""] | float


class Losses(NamedTuple):
    """Sums over a batch; divide by `tokens` or `sentences` for means.

    Attributes:
        token: cross-entropy in nats, averaged over stages, summed over tokens.
        length: cross-entropy of the length in nats, summed over sentences; 0 for AR.
        correct: target tokens that the last stage predicts, EOS left out for PaDIR.
        tokens: target tokens that count.
        sentences: sentences with any target.
    """

    token: Scalar
    length: Scalar
    correct: Scalar
    tokens: Scalar
    sentences: Scalar


def shifted(target: Tokens) -> Tokens:
    """What a causal decoder reads: START, then the target without its last token."""
    first = jnp.full((target.shape[0], 1), START, target.dtype)
    return jnp.concatenate([first, target[:, :-1]], axis=1)


def best_pieces(logits: Logits, vocabulary_size: int) -> Tokens:
    """The likeliest real piece at every position: neither special ids nor unused rows."""
    pieces = logits[..., FIRST_PIECE:vocabulary_size]
    return first_argmax(pieces) + FIRST_PIECE


def autoregressive_losses(
    model: Transformer, run: ModelRun, source: SourceTokens, target: Tokens, key: DropoutKey
) -> Losses:
    """Cross-entropy of each target token given the ones before it."""
    encoder_key, decoder_key = split_dropout(key)
    encoded = model.encode(source, encoder_key)
    real = target != PAD
    # Causality hides what follows, so padding needs no mask of its own.
    logits = model.decode(shifted(target), encoded.cross, jnp.ones_like(real), decoder_key)
    loss = cross_entropy(logits, target, run.objective.label_smoothing, run.objective.z_loss)
    correct = (first_argmax(logits) == target) & real
    return Losses(
        token=masked_sum(loss, real),
        length=jnp.zeros(()),
        correct=jnp.sum(correct, dtype=jnp.float32),
        tokens=jnp.sum(real, dtype=jnp.float32),
        sentences=jnp.sum(real[:, 0], dtype=jnp.float32),
    )


def parallel_losses(
    model: Transformer,
    run: ModelRun,
    vocabulary_size: int,
    source: SourceTokens,
    target: Tokens,
    noise_key: PRNGKeyArray,
    key: DropoutKey,
) -> Losses:
    """Cross-entropy at every position, averaged over the stages, and of the length."""
    objective = run.objective
    encoder_key, decoder_key = split_dropout(key)
    encoded = model.encode(source, encoder_key)
    if encoded.length_logits is None:
        raise ValueError("a causal model predicts no lengths: it is not trained in parallel")
    real = target != PAD
    is_piece = real & (target != EOS)
    start = random_tokens(noise_key, target, objective.unmasking_rate, vocabulary_size)
    hypothesis = start
    total = jnp.zeros(())
    predicted = start
    for stage in range(objective.stages):
        stage_key = None if decoder_key is None else jax.random.fold_in(decoder_key, stage)
        # The mask is the target's, at every stage: padding is never seen.
        logits = model.decode(hypothesis, encoded.cross, real, stage_key)
        loss = cross_entropy(logits, target, objective.label_smoothing, objective.z_loss)
        total = total + masked_sum(loss, real)
        predicted = best_pieces(jax.lax.stop_gradient(logits), vocabulary_size)
        hypothesis = next_hypothesis(predicted, start, is_piece, run.decoding.remask_stutter)
    length_loss = length_cross_entropy(encoded.length_logits, jnp.sum(real, axis=1))
    return Losses(
        token=total / objective.stages,
        length=masked_sum(length_loss, real[:, 0]),
        correct=jnp.sum((predicted == target) & is_piece, dtype=jnp.float32),
        tokens=jnp.sum(real, dtype=jnp.float32),
        sentences=jnp.sum(real[:, 0], dtype=jnp.float32),
    )


def batch_losses(
    model: Transformer,
    run: ModelRun,
    vocabulary_size: int,
    source: SourceTokens,
    target: Tokens,
    noise_key: PRNGKeyArray,
    key: DropoutKey,
) -> Losses:
    """The run's losses on one batch; `key` None switches dropout off."""
    if run.system == "ar":
        return autoregressive_losses(model, run, source, target, key)
    return parallel_losses(model, run, vocabulary_size, source, target, noise_key, key)
