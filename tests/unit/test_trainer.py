"""The compiled steps: accumulation, determinism, compilations, a non-finite loss, a plain twin."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.config.model import ModelRun
from padir.corrupt import first_hypothesis
from padir.trainer import Trainer, micro_batches
from tests.training import tiny_run

VOCABULARY = 20


def batch(
    steps: int, rows: int = 16, width: int = 6, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    ids = random.integers(8, VOCABULARY, (2, steps, rows, width)).astype(np.int32)
    for side in ids:
        ends = random.integers(2, width, (steps, rows))
        columns = np.arange(width)
        side[columns[None, None] == ends[..., None]] = 1
        side[columns[None, None] > ends[..., None]] = 0
    return ids[0], ids[1]


def close(a: dict, b: dict, tolerance: float) -> None:
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, atol=tolerance)


def quiet(run: ModelRun, **objective) -> ModelRun:
    """The run without anything random but the noise."""
    return run.model_copy(
        update={
            "architecture": run.architecture.model_copy(update={"dropout": 0.0}),
            "objective": run.objective.model_copy(update=objective),
        }
    )


def test_steps_in_one_call_equal_steps_one_by_one() -> None:
    source, target = batch(3)
    trainer = Trainer(tiny_run(), VOCABULARY, VOCABULARY, 0)
    together, _ = trainer.steps(trainer.initial_state(), source, target, [0.01, 0.02, 0.03])
    state = trainer.initial_state()
    for i, rate in enumerate([0.01, 0.02, 0.03]):
        state, _ = trainer.steps(state, source[i : i + 1], target[i : i + 1], [rate])
    for x, y in zip(jax.tree.leaves(together), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(x, y)
    assert trainer.traces == 1


def test_one_compilation_per_shape() -> None:
    trainer = Trainer(tiny_run(), VOCABULARY, VOCABULARY, 0)
    state = trainer.initial_state()
    for width, count in ((6, 2), (9, 3), (6, 1), (9, 4), (6, 4)):
        state, _ = trainer.steps(state, *batch(count, width=width), [0.01] * count)
    assert trainer.traces == 2


def test_accumulation_gives_the_whole_batch_gradient() -> None:
    # Autoregressive and without dropout nothing is random, so only the order of sums differs.
    source, target = batch(2)
    states = []
    for accumulate in (1, 4):
        run = quiet(tiny_run("ar", accumulate=accumulate))
        trainer = Trainer(run, VOCABULARY, VOCABULARY, 0)
        # One gradient step of plain size: Adam's sign-like first step would hide differences.
        states.append(trainer.steps(trainer.initial_state(), source, target, [0.01, 0.01]))
    close(states[0][0].optimizer, states[1][0].optimizer, 1e-6)
    np.testing.assert_allclose(states[0][1].losses, states[1][1].losses, rtol=1e-5)


def test_a_non_finite_loss_stops_before_it_is_applied() -> None:
    source, target = batch(4)
    trainer = Trainer(quiet(tiny_run("ar")), VOCABULARY, VOCABULARY, 0)
    good, _ = trainer.steps(trainer.initial_state(), source[:2], target[:2], [0.01, 0.01])
    broken, totals = trainer.steps(
        trainer.initial_state(), source, target, [0.01, 0.01, float("inf"), 0.01]
    )
    # The third update is applied (its gradient is finite); the fourth step's loss is not finite.
    assert int(totals.finite) == 3
    assert int(broken.step) == 3
    spoilt = trainer.initial_state()
    parameters = jax.tree.map(lambda leaf: leaf * jnp.nan, spoilt.parameters)
    state, totals = trainer.steps(
        spoilt._replace(parameters=parameters), source[:2], target[:2], [0.01, 0.01]
    )
    assert int(totals.finite) == 0 and int(state.step) == 0
    assert int(good.step) == 2


def numpy_cross_entropy(logits: np.ndarray, target: np.ndarray) -> np.ndarray:
    logits = logits.astype(np.float64)
    shifted = logits - logits.max(-1, keepdims=True)
    log_probability = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -np.take_along_axis(log_probability, target[..., None], -1)[..., 0]


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_parallel_stages_equal_a_plain_loop(stages: int) -> None:
    run = quiet(tiny_run(), stages=stages, unmasking_rate=0.3)
    trainer = Trainer(run, VOCABULARY, VOCABULARY, 5)
    parameters = trainer.initial_state().parameters
    model = trainer.model(parameters)
    source, target = (side[0] for side in batch(1, seed=3))
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(5), 2**31 - 1), 0)
    objective = run.objective
    start = np.asarray(first_hypothesis(key, jnp.asarray(target), objective, VOCABULARY).tokens)
    encoded = model.encode(jnp.asarray(source))
    hypothesis, total = start.copy(), 0.0
    for _ in range(stages):
        logits = np.asarray(model.decode(jnp.asarray(hypothesis), encoded.cross))
        total += numpy_cross_entropy(logits, target)[target != 0].sum() / stages
        predicted = logits[..., 8:VOCABULARY].argmax(-1) + 8
        hypothesis = start.copy()
        for row in range(len(target)):
            for i in range(target.shape[1]):
                if target[row, i] > 1:
                    hypothesis[row, i] = predicted[row, i]
        before = hypothesis.copy()
        for row in range(len(target)):
            for i in range(1, target.shape[1]):
                if target[row, i] > 1 and before[row, i] == before[row, i - 1]:
                    hypothesis[row, i] = start[row, i]
    found = trainer.evaluate(parameters, [(source, target)])
    np.testing.assert_allclose(found["token_loss"], total / (target != 0).sum(), rtol=1e-5)
    right = (predicted == target)[target > 1].mean()
    np.testing.assert_allclose(found["accuracy"], right, rtol=1e-6)
    lengths = (target != 0).sum(1)
    length_loss = numpy_cross_entropy(np.asarray(encoded.length_logits), lengths - 1)
    np.testing.assert_allclose(found["length_loss"], length_loss.mean(), rtol=1e-5)


def test_coupled_times_average_two_losses_each_of_its_own_hidden_tokens() -> None:
    settings = {"hiding": "time", "diffusion_steps": 8, "time_weight": "linear", "stages": 1}
    run = quiet(tiny_run(), **settings, loss_on="hidden", coupled_times=True)
    trainer = Trainer(run, VOCABULARY, VOCABULARY, 5)
    parameters = trainer.initial_state().parameters
    model = trainer.model(parameters)
    source, target = (side[0] for side in batch(1, seed=3))
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(5), 2**31 - 1), 0)
    cross = model.encode(jnp.asarray(source)).cross
    losses, counts = [], []
    for second in (False, True):
        read = first_hypothesis(key, jnp.asarray(target), run.objective, VOCABULARY, second)
        hidden = np.asarray(read.hidden)
        logits = np.asarray(model.decode(read.tokens, cross, jnp.asarray(target != 0)))
        weighted = numpy_cross_entropy(logits, target) * np.asarray(read.weight)[:, None]
        losses.append(weighted[hidden].sum())
        counts.append(hidden.sum())
    assert counts[0] != counts[1]
    found = trainer.evaluate(parameters, [(source, target)])
    np.testing.assert_allclose(found["token_loss"], sum(losses) / sum(counts), rtol=1e-5)


def test_losses_are_means_and_padding_rows_count_nowhere() -> None:
    run = quiet(tiny_run("ar"))
    trainer = Trainer(run, VOCABULARY, VOCABULARY, 0)
    parameters = trainer.initial_state().parameters
    source, target = (side[0] for side in batch(1))
    once = trainer.evaluate(parameters, [(source, target)])
    twice = trainer.evaluate(parameters, [(source, target), (source, target)])
    empty = np.zeros_like(source)
    padded = trainer.evaluate(parameters, [(source, target), (empty, empty)])
    for name in once:
        assert once[name] == pytest.approx(twice[name], rel=1e-6)
        assert once[name] == pytest.approx(padded[name], rel=1e-6)


def test_the_number_of_devices_moves_no_sentence_to_another_micro_batch():
    ids = np.arange(1, 2 * 10 * 3 + 1, dtype=np.int32).reshape(2, 10, 3)
    one = micro_batches(ids, capacity=4, micro=4, devices=1)
    assert one.shape == (4, 4, 3, 3)
    np.testing.assert_array_equal(one[1].reshape(12, 3)[:10], ids[1])
    assert not one[2:].any() and not one[:2].reshape(2, 12, 3)[:, 10:].any()
    for devices in (2, 8):
        more = micro_batches(ids, capacity=4, micro=4, devices=devices)
        assert more.shape[2] % devices == 0 and not more[:, :, 3:].any()
        np.testing.assert_array_equal(more[:, :, :3], one)
