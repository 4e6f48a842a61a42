"""What one training step asks of a model: the losses of AR and of the parallel systems.

Paper: section L.1.2. Parallel systems train S stages: stage 1 reads a hypothesis with hidden
positions, each later stage what the one before predicts, as decoding passes do; no gradient
flows through tokens.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from padir.config.training import TrainingRun
from padir.ids import FIRST_PIECE, PAD, START
from padir.model.decoder import CrossMemory
from padir.model.transformer import Transformer, split_dropout
from padir.shapes import DropoutKey, Hidden, Logits, Mask, SourceTokens, Tokens
from padir.tokens import draw, first_argmax, is_piece, lowest
from padir.training.corruption import Corrupted, contexts, first_hypothesis, next_hypothesis
from padir.training.loss import cross_entropy, length_cross_entropy, masked_sum

Scalar = Float[Array, ""] | float


class Losses(NamedTuple):
    """Sums over a batch; divide by the counts for means.

    Attributes:
        token: cross-entropy in nats, averaged over stages, summed over the positions that count.
        length: cross-entropy of the length in nats, summed over sentences; 0 for AR.
        critic: cross-entropy of right against wrong, averaged over stages; 0 without that head.
        correct: of `predicted`, those that the last stage gets right.
        tokens: positions that count in `token`, averaged over stages.
        predicted: positions that count and whose token is not given: EOS is, for parallel systems.
        sentences: sentences with any target.
    """

    token: Scalar
    length: Scalar
    critic: Scalar
    correct: Scalar
    tokens: Scalar
    predicted: Scalar
    sentences: Scalar


def shifted(target: Tokens) -> Tokens:
    """What a causal decoder reads: START, then the target without its last token."""
    first = jnp.full((target.shape[0], 1), START, target.dtype)
    return jnp.concatenate([first, target[:, :-1]], axis=1)


def best_pieces(logits: Logits, vocabulary_size: int) -> Tokens:
    """The likeliest real piece at every position: neither special ids nor unused rows."""
    pieces = logits[..., FIRST_PIECE:vocabulary_size]
    return first_argmax(pieces) + FIRST_PIECE


def drawn_pieces(key: PRNGKeyArray, logits: Logits, vocabulary_size: int) -> Tokens:
    """A real piece at every position, drawn from the model's distribution."""
    pieces = logits[..., FIRST_PIECE:vocabulary_size]
    return draw(pieces, jax.random.uniform(key, pieces.shape[:-1])) + FIRST_PIECE


def count(mask: Bool[Array, "*axes"]) -> Float[Array, ""]:
    """Number of True entries."""
    return jnp.sum(mask, dtype=jnp.float32)


def autoregressive_losses(
    model: Transformer, run: TrainingRun, source: SourceTokens, target: Tokens, key: DropoutKey
) -> Losses:
    """Cross-entropy of each target token given the ones before it."""
    encoder_key, decoder_key = split_dropout(key)
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
    key: PRNGKeyArray, corrupted: Corrupted, target: Tokens, predicted: Tokens, share: Scalar
) -> Corrupted:
    """Show more of the target, the more of it a first look got wrong (Qian et al. 2021).

    Args:
        key: one per batch.
        corrupted: what the first look read.
        target: ids.
        predicted: what it predicted.
        share: of the wrong predictions, how many hidden positions are shown.
    """
    wrong = jnp.sum((predicted != target) & is_piece(target), axis=1)
    number = jnp.floor(share * wrong).astype(jnp.int32)
    chance = jax.random.uniform(key, target.shape)
    shown = lowest(chance, corrupted.hidden, number)
    return corrupted._replace(
        tokens=jnp.where(shown, target, corrupted.tokens), hidden=corrupted.hidden & ~shown
    )


def counted(corrupted: Corrupted, target: Tokens, loss_on: str) -> Mask:
    """Positions that count in the loss of stage 1."""
    if loss_on == "hidden":
        return corrupted.hidden
    if loss_on == "noised":
        return corrupted.tokens != target
    return target != PAD


def critic_loss(model: Transformer, hidden: Hidden, right: Mask) -> Float[Array, "B L"]:
    """Cross-entropy of the head that tells right predictions (class 1) from wrong ones."""
    return cross_entropy(model.keeps(hidden), right.astype(jnp.int32))


class Stages(NamedTuple):
    """Sums over the stages from one first hypothesis; see `Losses`."""

    token: Scalar
    critic: Scalar
    correct: Scalar
    tokens: Scalar
    predicted: Scalar


def stage_losses(
    model: Transformer,
    run: TrainingRun,
    vocabulary_size: int,
    cross: CrossMemory,
    target: Tokens,
    corrupted: Corrupted,
    visible: Bool[Array, "B *L L"],
    mask: Mask,
    noise_key: PRNGKeyArray,
    decoder_key: DropoutKey,
) -> Stages:
    """Losses of stage 1, which reads `corrupted`, and of the stages that follow it.

    Args:
        model: in training.
        run: its settings.
        vocabulary_size: ids in use.
        cross: of the encoded sources.
        target: ids with EOS, padding 0.
        corrupted: what stage 1 reads.
        visible: what each position sees, at every stage.
        mask: positions that count in stage 1.
        noise_key: of sampled tokens.
        decoder_key: of dropout; None switches it off.
    """
    objective = run.objective
    real, piece = target != PAD, is_piece(target)
    hypothesis = best = corrupted.tokens
    predicted_mask = piece
    weight = corrupted.weight[:, None]
    total = tokens = critic = jnp.zeros(())
    for stage in range(objective.stages):
        stage_key = None if decoder_key is None else jax.random.fold_in(decoder_key, stage)
        hidden, _ = model.hidden(hypothesis, cross, visible, stage_key)
        logits = model.logits(hidden)
        loss = cross_entropy(logits, target, objective.label_smoothing, objective.z_loss)
        total = total + masked_sum(weight * loss, mask)
        tokens = tokens + count(mask)
        fixed = jax.lax.stop_gradient(logits)
        predicted = best = best_pieces(fixed, vocabulary_size)
        if objective.unroll == "sample":
            stage_noise = jax.random.fold_in(noise_key, 3 + stage)
            predicted = drawn_pieces(stage_noise, fixed, vocabulary_size)
        if objective.critic_weight:
            right = critic_loss(model, hidden, predicted == target)
            critic = critic + masked_sum(right, piece)
        predicted_mask = mask & piece
        hypothesis = next_hypothesis(predicted, corrupted.tokens, piece, objective.hide_stutter)
        # Later stages correct whole hypotheses, whatever stage 1 was asked.
        mask, weight = real, jnp.ones_like(weight)
    return Stages(
        token=total / objective.stages,
        critic=critic / objective.stages,
        correct=count((best == target) & predicted_mask),
        tokens=tokens / objective.stages,
        predicted=count(predicted_mask),
    )


def parallel_losses(
    model: Transformer,
    run: TrainingRun,
    vocabulary_size: int,
    source: SourceTokens,
    target: Tokens,
    noise_key: PRNGKeyArray,
    key: DropoutKey,
    progress: Scalar,
) -> Losses:
    """Cross-entropy at the positions that count, averaged over the stages, and of the length."""
    objective = run.objective
    encoder_key, decoder_key = split_dropout(key)
    encoded = model.encode(source, encoder_key)
    if encoded.length_logits is None:
        raise ValueError("a causal model predicts no lengths: it is not trained in parallel")
    real, piece = target != PAD, is_piece(target)
    corrupted = first_hypothesis(noise_key, target, objective, vocabulary_size)
    # The mask is the target's, at every stage: padding is never seen.
    visible, mask = real, counted(corrupted, target, objective.loss_on)
    if objective.hiding == "context":
        visible, mask = contexts(jax.random.fold_in(noise_key, 2), target), piece
    if objective.glancing:
        look = model.decode(corrupted.tokens, encoded.cross, visible)
        predicted = best_pieces(jax.lax.stop_gradient(look), vocabulary_size)
        share = objective.glancing + (objective.glancing_end - objective.glancing) * progress
        glance_key = jax.random.fold_in(noise_key, 1)
        corrupted = glanced(glance_key, corrupted, target, predicted, share)
        mask = counted(corrupted, target, objective.loss_on)

    def stages(corrupted: Corrupted, mask: Mask) -> Stages:
        keys = noise_key, decoder_key
        return stage_losses(
            model, run, vocabulary_size, encoded.cross, target, corrupted, visible, mask, *keys
        )

    sums = stages(corrupted, mask)
    if objective.coupled_times:
        other = first_hypothesis(noise_key, target, objective, vocabulary_size, second=True)
        second = stages(other, counted(other, target, objective.loss_on))
        sums = jax.tree.map(lambda one, two: (one + two) / 2, sums, second)
    length_loss = jnp.zeros(())
    if not model.length_oracle:
        lengths = length_cross_entropy(encoded.length_logits, jnp.sum(real, axis=1))
        length_loss = masked_sum(lengths, real[:, 0])
    return Losses(length=length_loss, sentences=count(real[:, 0]), **sums._asdict())


def batch_losses(
    model: Transformer,
    run: TrainingRun,
    vocabulary_size: int,
    source: SourceTokens,
    target: Tokens,
    noise_key: PRNGKeyArray,
    key: DropoutKey,
    progress: Scalar = 1.0,
) -> Losses:
    """The run's losses on one batch.

    Args:
        model: in training.
        run: its settings.
        vocabulary_size: ids in use.
        source: ids, padding 0.
        target: ids with EOS, padding 0.
        noise_key: of what is hidden and drawn.
        key: of dropout; None switches it off.
        progress: share of the training steps that are done, for the glancing share.
    """
    if not run.parallel:
        return autoregressive_losses(model, run, source, target, key)
    return parallel_losses(model, run, vocabulary_size, source, target, noise_key, key, progress)
