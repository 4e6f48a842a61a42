"""The schedule by hand, and Adafactor against a plain NumPy twin of its publication."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest

from padir.config.training import Optimizer
from padir.training.optimizer import learning_rate, make_optimizer


def test_schedule_ramps_then_decays_as_a_cosine() -> None:
    settings = Optimizer(peak_learning_rate=1.0, final_learning_rate=0.1, warmup_steps=4)
    rates = [learning_rate(settings, step, 104) for step in range(104)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[4] == 1.0
    assert rates[54] == pytest.approx(0.55)
    assert rates[29] == pytest.approx(0.1 + 0.45 * (1 + math.cos(math.pi / 4)))
    assert all(a >= b for a, b in itertools.pairwise(rates[4:]))
    assert learning_rate(settings, 104, 104) == pytest.approx(0.1)


def numpy_adafactor(gradients: list[np.ndarray], start: np.ndarray, rate: float) -> np.ndarray:
    """Shazeer and Stern 2018, algorithm 4, without momentum, factored over both axes."""
    value = start.astype(np.float64)
    row, column = np.zeros(value.shape[0]), np.zeros(value.shape[1])
    for step, gradient in enumerate(gradients, start=1):
        decay = 1.0 - step**-0.8
        square = gradient.astype(np.float64) ** 2 + 1e-30
        row = decay * row + (1 - decay) * square.mean(axis=1)
        column = decay * column + (1 - decay) * square.mean(axis=0)
        second = np.outer(row, column) / row.mean()
        update = gradient / np.sqrt(second)
        update /= max(1.0, np.sqrt((update**2).mean()))
        scale = max(1e-3, np.sqrt((value**2).mean()))
        value = value - rate * scale * update
    return value


def test_adafactor_equals_its_publication() -> None:
    random = np.random.default_rng(0)
    start = random.normal(size=(130, 140)).astype(np.float32)
    # Where gradients grow, the update's RMS is above 1, and clipped.
    gradients = [
        random.normal(size=start.shape).astype(np.float32) * np.float32(10**power)
        for power in (0.0, -1.0, 1.0, 0.5)
    ]
    optimizer = make_optimizer(Optimizer(kind="adafactor"))
    value = jnp.asarray(start)
    state = optimizer.init(value)
    for gradient in gradients:
        update, state = optimizer.update(jnp.asarray(gradient), state, value)
        value = value + 0.01 * update
    np.testing.assert_allclose(value, numpy_adafactor(gradients, start, 0.01), atol=2e-5)


def test_adafactor_without_relative_steps_does_not_read_the_size_of_parameters() -> None:
    optimizer = make_optimizer(Optimizer(kind="adafactor", relative_steps=False))
    small, large = (
        optimizer.update(jnp.ones(2), optimizer.init(value), value)[0]
        for value in (jnp.asarray([1.0, -2.0]), jnp.asarray([10.0, -20.0]))
    )
    np.testing.assert_allclose(small, large, rtol=1e-6)


@pytest.mark.parametrize("relative", [False, True])
def test_adam_first_step_is_the_sign_of_the_gradient(relative: bool) -> None:
    """Of size 1, or of the parameter's root mean square: here sqrt((1 + 4 + 9) / 3)."""
    optimizer = make_optimizer(Optimizer(kind="adam", relative_steps=relative))
    value = jnp.asarray([1.0, -2.0, 3.0])
    update, _ = optimizer.update(jnp.asarray([0.5, -4.0, 0.0]), optimizer.init(value), value)
    size = math.sqrt(14 / 3) if relative else 1.0
    np.testing.assert_allclose(update, [-size, size, 0.0], rtol=1e-6)


def test_adam_reads_the_decay_of_both_moments() -> None:
    settings = Optimizer(kind="adam", adam_b1=0.8, adam_b2=0.5, relative_steps=False)
    optimizer, value = make_optimizer(settings), jnp.asarray([1.0])
    state = optimizer.init(value)
    for gradient in (1.0, 3.0):
        update, state = optimizer.update(jnp.asarray([gradient]), state, value)
    mean = (0.8 * 0.2 * 1 + 0.2 * 3) / (1 - 0.8**2)
    square = (0.5 * 0.5 * 1**2 + 0.5 * 3**2) / (1 - 0.5**2)
    np.testing.assert_allclose(update, [-mean / math.sqrt(square)], rtol=1e-5)


def test_weight_decay_pulls_towards_0() -> None:
    optimizer = make_optimizer(Optimizer(kind="adam", weight_decay=0.1))
    value = jnp.asarray([3.0, -4.0])
    update, _ = optimizer.update(jnp.zeros(2), optimizer.init(value), value)
    np.testing.assert_allclose(update, [-0.3, 0.4], rtol=1e-6)


def test_clipping_bounds_the_gradient_norm_before_adam_sees_it() -> None:
    clipped = make_optimizer(Optimizer(kind="adam", clip_norm=1.0, weight_decay=0.1))
    value = jnp.asarray([3.0, 4.0])
    _, state = clipped.update(jnp.asarray([30.0, 40.0]), clipped.init(value), value)
    mean = next(part.mu for part in state if hasattr(part, "mu"))
    np.testing.assert_allclose(mean, [0.06, 0.08], rtol=1e-5)
