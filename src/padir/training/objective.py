"""Training objectives: the losses of AR and of the parallel systems on one batch.

Paper: section L.1.2 and equation L.64, cross-entropy at every position. Parallel systems train S
stages. Stage 1 reads a hypothesis with hidden positions; each later stage reads the predictions of
the one before, as decoding passes do. No gradient flows through tokens.
"""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from padir.config.objective import Objective
from padir.config.training import TrainingRun
from padir.ids import FIRST_PIECE, PAD
from padir.model.decoder import CrossMemory
from padir.model.layers import split
from padir.model.transformer import Transformer
from padir.shapes import DropoutKey, Logits, Mask, SourceTokens, Tokens
from padir.tokens import draw, first_argmax, is_piece, lowest, shifted
from padir.training.corruption import CorruptedTargets, contexts, first_hypothesis, next_hypothesis

Scalar = Float[Array, ""] | float


class Losses(NamedTuple):
    """Sums over a batch; divide by the counts for means.

    Attributes:
        token: cross-entropy in nats, averaged over stages, summed over the positions that count; in
            stage 1 times the sentence's weight (`CorruptedTargets.weight`), in validation too.
            With `consistency` also its weighted divergence, over the number of stages.
        length: cross-entropy of the length in nats, summed over sentences; 0 for AR.
        critic: cross-entropy of the critic in nats, averaged over stages, summed over pieces; 0
            without a critic.
        correct: positions among `predicted` that the last stage gets right.
        tokens: positions that count in `token`, averaged over stages.
        predicted: positions that count in the last stage, without EOS for parallel systems, to
            which its place is given.
        sentences: sentences with any target.
    """

    token: Scalar
    length: Scalar
    critic: Scalar
    correct: Scalar
    tokens: Scalar
    predicted: Scalar
    sentences: Scalar


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


def kl_divergence(
    logits: Float[Array, "*axes V"], other: Float[Array, "*axes V"]
) -> Float[Array, "*axes"]:
    """KL divergence KL(softmax(logits) || softmax(other)) at each position, in nats."""
    log_probability, log_other = jax.nn.log_softmax(logits), jax.nn.log_softmax(other)
    return jnp.sum(jnp.exp(log_probability) * (log_probability - log_other), axis=-1)


def masked_sum(values: Float[Array, "*axes"], mask: Bool[Array, "*axes"]) -> Float[Array, ""]:
    """Sum over the True positions; other values are ignored, even NaN. Their gradient is 0, unless
    they have an infinite factor: 0 times infinity is NaN."""
    return jnp.sum(jnp.where(mask, values, 0.0))


def length_cross_entropy(
    logits: Float[Array, "B C"], length: Int[Array, " B"]
) -> Float[Array, " B"]:
    """Cross-entropy of the true length (EOS included), in nats per sentence; class c is length c+1.

    Lengths past the last class count as the last class.
    """
    classes = jnp.clip(length - 1, 0, logits.shape[-1] - 1)
    return cross_entropy(logits, classes)


def best_pieces(logits: Logits, vocabulary_size: int) -> Tokens:
    """The likeliest piece at every position, special ids and unused rows excluded."""
    pieces = logits[..., FIRST_PIECE:vocabulary_size]
    return first_argmax(pieces) + FIRST_PIECE


def drawn_pieces(key: PRNGKeyArray, logits: Logits, vocabulary_size: int) -> Tokens:
    """A piece at every position, sampled from the model's distribution."""
    pieces = logits[..., FIRST_PIECE:vocabulary_size]
    return draw(pieces, jax.random.uniform(key, pieces.shape[:-1])) + FIRST_PIECE


def count(mask: Bool[Array, "*axes"]) -> Float[Array, ""]:
    """Number of True entries."""
    return jnp.sum(mask, dtype=jnp.float32)


def autoregressive_losses(
    model: Transformer,
    run: TrainingRun,
    source: SourceTokens,
    target: Tokens,
    dropout_key: DropoutKey,
) -> Losses:
    """Cross-entropy of each target token given the ones before it."""
    encoder_key, decoder_key = split(dropout_key, 2)
    encoded = model.encode(source, encoder_key)
    real = target != PAD
    # Causality hides what follows, so padding needs no mask of its own.
    logits = model.decode(shifted(target), encoded.cross, jnp.ones_like(real), decoder_key)
    loss = cross_entropy(logits, target, run.objective.label_smoothing, run.objective.z_loss)
    return Losses(
        token=masked_sum(loss, real),
        length=jnp.zeros(()),
        critic=jnp.zeros(()),
        correct=count((first_argmax(logits) == target) & real),
        tokens=count(real),
        predicted=count(real),
        sentences=count(real[:, 0]),
    )


def glanced(
    key: PRNGKeyArray, corrupted: CorruptedTargets, target: Tokens, predicted: Tokens, share: Scalar
) -> CorruptedTargets:
    """Reveal hidden positions in proportion to the errors of a first pass (Qian et al. 2021).

    Args:
        key: one per batch.
        corrupted: the input of the first pass.
        target: ids.
        predicted: the tokens predicted in the first pass.
        share: revealed positions per wrong prediction at a hidden position.
    """
    # What a visible position predicts may be untrained (`Objective.hidden_only`).
    wrong = jnp.sum((predicted != target) & corrupted.hidden, axis=1)
    revealed_count = jnp.floor(share * wrong).astype(jnp.int32)
    draws = jax.random.uniform(key, target.shape)
    revealed = lowest(draws, corrupted.hidden, revealed_count)
    return corrupted._replace(
        tokens=jnp.where(revealed, target, corrupted.tokens), hidden=corrupted.hidden & ~revealed
    )


def loss_positions(corrupted: CorruptedTargets, target: Tokens, objective: Objective) -> Mask:
    """Positions that count in the loss of stage 1."""
    if objective.hiding == "context":
        return is_piece(target)
    if objective.loss_on == "hidden":
        return corrupted.hidden
    if objective.loss_on == "noised":
        return corrupted.tokens != target
    return target != PAD


def stage_losses(
    model: Transformer,
    run: TrainingRun,
    vocabulary_size: int,
    cross: CrossMemory,
    target: Tokens,
    visible: Bool[Array, "B *L L"],
    corruption_key: PRNGKeyArray,
    dropout_key: DropoutKey,
    corrupted: CorruptedTargets,
) -> Losses:
    """Losses of all stages from one first hypothesis; those of sentences (length) are left at 0.

    Args:
        model: a parallel one.
        run: its settings.
        vocabulary_size: pieces that may be predicted.
        cross: the encoded sources.
        target: with EOS and padding.
        visible: what each position sees, at every stage.
        corruption_key: of corruption; sampled tokens have keys made from it.
        dropout_key: folded with the stage; None switches dropout off.
        corrupted: the input of stage 1.
    """
    objective = run.objective
    mask = loss_positions(corrupted, target, objective)
    real, piece = target != PAD, is_piece(target)
    hypothesis = best = corrupted.tokens
    predicted_mask = piece
    weight = corrupted.weight[:, None]
    total = tokens = critic = jnp.zeros(())
    predictions: list[Logits] = []
    first_mask = mask
    for stage in range(objective.stages):
        stage_key = None if dropout_key is None else jax.random.fold_in(dropout_key, stage)
        hidden, _ = model.hidden(hypothesis, cross, visible, stage_key)
        logits = model.logits(hidden)
        loss = cross_entropy(logits, target, objective.label_smoothing, objective.z_loss)
        total = total + masked_sum(weight * loss, mask)
        tokens = tokens + count(mask)
        predictions.append(logits)
        fixed = jax.lax.stop_gradient(logits)
        predicted = best = best_pieces(fixed, vocabulary_size)
        if objective.unroll == "sample":
            stage_key = jax.random.fold_in(corruption_key, 3 + stage)
            predicted = drawn_pieces(stage_key, fixed, vocabulary_size)
        if objective.critic_weight:
            right = (predicted == target).astype(jnp.int32)
            critic = critic + masked_sum(cross_entropy(model.critic_logits(hidden), right), piece)
        predicted_mask = mask & piece
        hypothesis = next_hypothesis(predicted, corrupted.tokens, piece, objective.hide_stutter)
        # Later stages correct whole hypotheses, wherever the loss of stage 1 counts.
        mask, weight = real, jnp.ones_like(weight)
    if objective.consistency:
        last = jax.lax.stop_gradient(predictions[-1])
        divergence = kl_divergence(last, predictions[0])
        total = total + objective.consistency * masked_sum(divergence, first_mask)
    return Losses(
        token=total / objective.stages,
        length=jnp.zeros(()),
        critic=critic / objective.stages,
        correct=count((best == target) & predicted_mask),
        tokens=tokens / objective.stages,
        predicted=count(predicted_mask),
        sentences=jnp.zeros(()),
    )


def parallel_losses(
    model: Transformer,
    run: TrainingRun,
    vocabulary_size: int,
    source: SourceTokens,
    target: Tokens,
    corruption_key: PRNGKeyArray,
    dropout_key: DropoutKey,
    progress: Scalar | None,
) -> Losses:
    """Cross-entropy at the positions that count, averaged over the stages, and of the length."""
    objective = run.objective
    encoder_key, decoder_key = split(dropout_key, 2)
    encoded = model.encode(source, encoder_key)
    if encoded.length_logits is None:
        raise ValueError("a causal model predicts no lengths: it is not trained in parallel")
    real = target != PAD
    corrupted = first_hypothesis(corruption_key, target, objective, vocabulary_size)
    # The mask is the target's, at every stage: padding is never seen.
    visible = real
    if objective.hiding == "context":
        visible = contexts(jax.random.fold_in(corruption_key, 2), target)
    if objective.glancing:
        if progress is None:
            raise ValueError("glancing needs the share of training steps done")
        logits = model.decode(corrupted.tokens, encoded.cross, visible)
        predicted = best_pieces(jax.lax.stop_gradient(logits), vocabulary_size)
        share = objective.glancing + (objective.glancing_end - objective.glancing) * progress
        glance_key = jax.random.fold_in(corruption_key, 1)
        corrupted = glanced(glance_key, corrupted, target, predicted, share)

    losses_from = partial(
        stage_losses,
        model,
        run,
        vocabulary_size,
        encoded.cross,
        target,
        visible,
        corruption_key,
        decoder_key,
    )
    losses = losses_from(corrupted)
    if objective.coupled_times:
        other = first_hypothesis(corruption_key, target, objective, vocabulary_size, second=True)
        losses = jax.tree.map(lambda a, b: (a + b) / 2, losses, losses_from(other))
    sentences = real[:, 0]
    if not model.length_oracle:
        length = length_cross_entropy(encoded.length_logits, jnp.sum(real, axis=1))
        losses = losses._replace(length=masked_sum(length, sentences))
    return losses._replace(sentences=count(sentences))


def batch_losses(
    model: Transformer,
    run: TrainingRun,
    vocabulary_size: int,
    source: SourceTokens,
    target: Tokens,
    corruption_key: PRNGKeyArray,
    dropout_key: DropoutKey,
    progress: Scalar | None = 1.0,
) -> Losses:
    """The run's losses on one batch.

    Args:
        model: in training.
        run: settings of the model.
        vocabulary_size: ids in use.
        source: ids, padding 0.
        target: ids with EOS, padding 0.
        corruption_key: of corruption and sampled tokens.
        dropout_key: None switches dropout off.
        progress: share of the training steps done, 0 to 1, which the glancing share follows; None
            where the objective does not depend on it (`follows_progress`).
    """
    if not run.parallel:
        return autoregressive_losses(model, run, source, target, dropout_key)
    return parallel_losses(
        model, run, vocabulary_size, source, target, corruption_key, dropout_key, progress
    )
