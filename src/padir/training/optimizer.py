"""Adafactor with T5X defaults, or Adam, and the paper's schedule. Paper: L.2."""

import math

import optax

from padir.config.training import Optimizer


def make_optimizer(settings: Optimizer) -> optax.GradientTransformation:
    """Updates for a learning rate of 1: the caller multiplies by `learning_rate`.

    Keeping the rate outside lets runs that differ only in schedule share one compiled program.
    """
    parts = [optax.clip_by_global_norm(settings.clip_norm)] if settings.clip_norm else []
    if settings.kind == "adafactor":
        # T5X: second moments factored from 128 on, decay 1 - step^-0.8, update clipping at
        # RMS 1, steps scaled by the parameter's RMS, no first moment.
        parts.append(
            optax.adafactor(
                learning_rate=None,
                decay_rate=0.8,
                clipping_threshold=1.0,
                multiply_by_parameter_scale=settings.relative_steps,
            )
        )
    else:
        parts.append(optax.scale_by_adam(b1=settings.adam_b1, b2=settings.adam_b2, eps=1e-9))
        if settings.relative_steps:
            parts.append(optax.scale_by_param_block_rms(min_scale=1e-3))
        if settings.weight_decay:
            parts.append(optax.add_decayed_weights(settings.weight_decay))
        parts.append(optax.scale(-1.0))
    return optax.chain(*parts)


def learning_rate(settings: Optimizer, step: int, steps: int) -> float:
    """Linear ramp from 0 over the warm-up, then cosine decay to the final rate.

    Args:
        settings: peak, final rate and warm-up.
        step: 0 for the first update.
        steps: updates in all.
    """
    if step < settings.warmup_steps:
        return settings.peak_learning_rate * (step + 1) / settings.warmup_steps
    span = max(steps - settings.warmup_steps, 1)
    share = min((step - settings.warmup_steps) / span, 1.0)
    drop = 0.5 * (1.0 + math.cos(math.pi * share))
    return settings.final_learning_rate + drop * (
        settings.peak_learning_rate - settings.final_learning_rate
    )
