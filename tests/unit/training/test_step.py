"""The compiled steps: accumulation, determinism, compilations, a non-finite loss, evaluation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.config.objective import Objective
from padir.training.corruption import first_hypothesis
from padir.training.objective import Losses, batch_losses
from padir.training.step import OFF_IN_VALIDATION, Trainer, means, micro_batches
from tests.training import VOCABULARY, batch, numpy_cross_entropy, quiet, tiny_run


def close(a: dict, b: dict, tolerance: float) -> None:
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, atol=tolerance)


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


def test_a_call_has_no_room_for_steps_past_the_next_pause(monkeypatch) -> None:
    def asked(ids, capacity, *rest):
        raise LookupError(capacity)

    monkeypatch.setattr("padir.training.step.micro_batches", asked)
    for more, most in (({}, 5), ({"validate_every": 1000, "checkpoint_every": 1000}, 50)):
        run = tiny_run(**{"dispatch_steps": 1_000_000, "checkpoint_every": 6} | more)
        trainer = Trainer(run, VOCABULARY, VOCABULARY, 0)
        with pytest.raises(LookupError) as caught:
            trainer.steps(trainer.initial_state(), *batch(2), [0.01, 0.02])
        assert caught.value.args == (most,)


def test_a_step_is_compiled_once_per_shape() -> None:
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


def test_evaluation_is_of_plain_losses_and_corruption_of_its_own() -> None:
    switched_off = {"label_smoothing": 0.2, "z_loss": 0.1, "glancing": 0.5, "consistency": 0.5}
    assert set(switched_off) == set(OFF_IN_VALIDATION)
    run = quiet(tiny_run(), unmasking_rate=0.3, **switched_off)
    trainer = Trainer(run, VOCABULARY, VOCABULARY, 5)
    parameters = trainer.initial_state().parameters
    source, target = (side[0] for side in batch(1, seed=3))
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(5), 2**31 - 1), 0)
    ids = jnp.asarray(source), jnp.asarray(target)
    plain = quiet(run, **dict.fromkeys(switched_off, 0.0))
    losses = batch_losses(trainer.model(parameters), plain, VOCABULARY, *ids, key, None)
    mean_losses = trainer.evaluate(parameters, [(source, target)])
    np.testing.assert_allclose(mean_losses["token_loss"], losses.token / losses.tokens, rtol=1e-5)
    np.testing.assert_allclose(
        mean_losses["length_loss"], losses.length / losses.sentences, rtol=1e-5
    )
    np.testing.assert_allclose(
        mean_losses["accuracy"], losses.correct / losses.predicted, rtol=1e-6
    )
    assert (losses.tokens, losses.sentences) == ((target != 0).sum(), len(target))


def test_every_setting_of_the_objective_is_kept_in_validation_or_switched_off() -> None:
    """Else a new term of the loss would select the parameters, unseen."""
    kept = {
        *("stages", "corruption", "hiding", "unmasking_rate", "diffusion_steps", "time_weight"),
        *("coupled_times", "loss_on", "unroll", "hide_stutter", "glancing_end"),
        *("critic_weight", "length_loss_weight"),
    }
    assert not kept & set(OFF_IN_VALIDATION)
    said = "name it in OFF_IN_VALIDATION of padir/training/step.py, or here"
    assert kept | set(OFF_IN_VALIDATION) == set(Objective.model_fields), said


def test_evaluation_reveals_no_targets() -> None:
    run = quiet(tiny_run(), stages=1, unmasking_rate=0.3, loss_on="hidden")
    losses = []
    for glancing in (0.0, 1.0):
        trainer = Trainer(
            quiet(run, glancing=glancing, glancing_end=glancing), VOCABULARY, VOCABULARY, 5
        )
        parameters = trainer.initial_state().parameters
        losses.append(trainer.evaluate(parameters, [tuple(side[0] for side in batch(1, seed=3))]))
    assert losses[0] == losses[1]


def test_the_glancing_share_follows_the_steps() -> None:
    run = quiet(tiny_run(steps=12), stages=1, unmasking_rate=0.0, loss_on="hidden")
    run = quiet(run, glancing=1.0, glancing_end=0.0)
    trainer = Trainer(run, VOCABULARY, VOCABULARY, 0)
    source, target = batch(1)
    counts = []
    for step in (0, 6, 12):
        state = trainer.initial_state()._replace(step=jnp.int32(step))
        _, totals = trainer.steps(state, source, target, [0.0])
        counts.append(float(totals.losses.tokens))
    # A first look of fresh parameters is nearly always wrong: at first nearly all is shown.
    assert counts[0] < 0.3 * counts[2] < 0.4 * counts[2] < counts[1] < 0.8 * counts[2]
    assert counts[2] == (target > 1).sum()


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
    mean_losses = trainer.evaluate(parameters, [(source, target)])
    np.testing.assert_allclose(mean_losses["token_loss"], sum(losses) / sum(counts), rtol=1e-5)


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


def test_the_mean_loss_weighs_the_critic_as_training_does() -> None:
    losses = Losses(30.0, 8.0, 12.0, 5.0, 10.0, 8.0, 4.0)
    run = quiet(tiny_run(), critic_weight=0.5, length_loss_weight=0.1)
    mean_losses = means(losses, run)
    assert mean_losses["critic_loss"] == pytest.approx(1.2)
    assert mean_losses["loss"] == pytest.approx(3.0 + 0.1 * 2.0 + 0.5 * 1.2)
    plain = means(losses, quiet(run, critic_weight=0.0))
    assert plain["loss"] == pytest.approx(3.2) and "critic_loss" not in plain
    # Training minimises the same sum.
    trainer = Trainer(run, VOCABULARY, VOCABULARY, 0)
    parameters = trainer.initial_state().parameters
    source, target = (jnp.asarray(side[0]) for side in batch(1))
    counts = [float(np.sum(ids)) for ids in (np.asarray(target) != 0, np.ones(len(target)))]
    keys = jax.random.key(0), None
    scalar, sums = trainer._loss(parameters, source, target, *keys, 1.0, *counts)
    assert means(sums, run)["loss"] == pytest.approx(float(scalar), rel=1e-5)


def test_the_number_of_devices_moves_no_sentence_to_another_micro_batch():
    ids = np.arange(1, 2 * 10 * 3 + 1, dtype=np.int32).reshape(2, 10, 3)
    single_device = micro_batches(ids, capacity=4, micro=4, devices=1)
    assert single_device.shape == (4, 4, 3, 3)
    np.testing.assert_array_equal(single_device[1].reshape(12, 3)[:10], ids[1])
    assert not single_device[2:].any() and not single_device[:2].reshape(2, 12, 3)[:, 10:].any()
    for devices in (2, 8):
        several_devices = micro_batches(ids, capacity=4, micro=4, devices=devices)
        assert several_devices.shape[2] % devices == 0 and not several_devices[:, :, 3:].any()
        np.testing.assert_array_equal(several_devices[:, :, :3], single_device)


@pytest.fixture
def drawing(monkeypatch) -> Trainer:
    """A trainer whose losses are the numbers that the keys of corruption and dropout draw."""

    def draw(*arguments):
        corruption_key, dropout_key = arguments[5:7]
        zeros = Losses(*(jnp.zeros(()) for _ in Losses._fields))
        losses = zeros._replace(token=jax.random.uniform(corruption_key))
        if dropout_key is None:
            return losses
        return losses._replace(critic=jax.random.uniform(dropout_key))

    monkeypatch.setattr("padir.training.step.batch_losses", draw)
    trainer = Trainer(tiny_run(), VOCABULARY, VOCABULARY, 0)
    monkeypatch.setattr(trainer, "model", lambda parameters: None)
    return trainer


def test_every_step_and_micro_batch_draws_corruption_and_dropout_of_its_own(drawing) -> None:
    def drawn(step: int, micro: int) -> np.ndarray:
        ids = jnp.ones((micro, 3, 4), jnp.int32)
        parameters = {"weight": jnp.ones(())}
        _, losses = drawing._gradient(parameters, ids, ids, jnp.int32(step), jnp.uint32(5))
        return np.array([losses.token, losses.critic])

    one = drawn(step=0, micro=1)
    assert (drawn(step=1, micro=1) != one).all()
    second = drawn(step=0, micro=2) - one
    assert (abs(second - one) > 1e-6).all()


def test_every_batch_of_validation_draws_corruption_of_its_own(drawing) -> None:
    ids = jnp.ones((3, 4), jnp.int32)
    one, other = (
        drawing._run_evaluation({}, ids, ids, jnp.int32(index), jnp.uint32(5)) for index in (0, 1)
    )
    assert one.token != other.token
