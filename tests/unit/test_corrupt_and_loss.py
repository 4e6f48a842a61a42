"""Corruption, next hypotheses, losses and the arg-max, by hand."""

import jax
import jax.numpy as jnp
import numpy as np

from padir.corrupt import next_hypothesis, random_tokens, stutters
from padir.loss import cross_entropy, first_argmax, length_cross_entropy, masked_sum
from padir.objective import shifted


def ids(*rows: list[int]) -> jax.Array:
    return jnp.asarray(rows, jnp.int32)


def test_random_tokens_keep_eos_and_padding_and_the_unmasking_rate() -> None:
    target = jnp.full((400, 50), 9, jnp.int32).at[:, 40].set(1).at[:, 41:].set(0)
    noised = random_tokens(jax.random.key(0), target, 0.3, 1008)
    np.testing.assert_array_equal(noised[:, 40:], target[:, 40:])
    body = np.asarray(noised[:, :40])
    assert body.min() >= 8 and body.max() < 1008
    # A position shows 9 with probability .3 + .7 / 1000; five standard errors of 16,000 draws.
    expected = 0.3 + 0.7 / 1000
    assert abs((body == 9).mean() - expected) < 5 * (expected * (1 - expected) / 16_000) ** 0.5


def test_unmasking_rate_of_one_shows_everything_and_of_zero_nothing() -> None:
    target = ids([9, 10, 11, 12, 1, 0])
    np.testing.assert_array_equal(random_tokens(jax.random.key(0), target, 1.0, 90), target)
    hidden = random_tokens(jax.random.key(0), jnp.tile(target, (50, 1)), 0.0, 10_000)
    # 200 draws, each right with probability 1 / 9992.
    assert int((np.asarray(hidden)[:, :4] == np.asarray(target)[:, :4]).sum()) < 5


def test_stutter_is_not_circular_and_ignores_padding() -> None:
    found = stutters(ids([9, 9, 10, 10, 10, 9, 0, 0]))
    np.testing.assert_array_equal(found, [[0, 1, 0, 1, 1, 0, 0, 0]])
    assert not bool(stutters(ids([9, 8, 9]))[0, 0])


def test_next_hypothesis_remasks_stutter_only_where_tokens_change() -> None:
    start = ids([20, 21, 22, 23, 1, 0])
    predicted = ids([9, 9, 10, 10, 77, 77])
    is_token = jnp.asarray([[True, True, True, True, False, False]])
    np.testing.assert_array_equal(
        next_hypothesis(predicted, start, is_token, True), ids([9, 21, 10, 23, 1, 0])
    )
    np.testing.assert_array_equal(
        next_hypothesis(predicted, start, is_token, False), ids([9, 9, 10, 10, 1, 0])
    )


def test_cross_entropy_of_a_perfect_smoothed_prediction_is_zero() -> None:
    soft = np.full(6, 0.2 / 5)
    soft[2] = 0.8
    loss = cross_entropy(jnp.log(jnp.asarray(soft, jnp.float32)), jnp.asarray(2), 0.2)
    assert abs(float(loss)) < 1e-6
    uniform = cross_entropy(jnp.zeros((8,)), jnp.asarray(3))
    np.testing.assert_allclose(uniform, np.log(8), rtol=1e-6)


def test_masked_sum_does_not_let_padding_through() -> None:
    values, mask = jnp.asarray([1.0, jnp.nan, 2.0]), jnp.asarray([True, False, True])
    assert float(masked_sum(values, mask)) == 3.0
    gradient = jax.grad(lambda x: masked_sum(jnp.log(x), mask))(jnp.asarray([1.0, 0.0, 2.0]))
    assert float(gradient[0]) == 1.0


def test_length_loss_reads_class_length_minus_one() -> None:
    logits = jnp.asarray([[0.0, 0.0, 50.0, 0.0]])
    assert float(length_cross_entropy(logits, jnp.asarray([3]))[0]) < 1e-6
    assert float(length_cross_entropy(logits, jnp.asarray([2]))[0]) > 40
    # Past the last class: the last class.
    assert float(length_cross_entropy(logits, jnp.asarray([9]))[0]) > 40


def test_first_argmax_is_numpy_argmax_with_ties() -> None:
    random = np.random.default_rng(0)
    logits = random.integers(0, 5, (40, 7, 30)).astype(np.float32)
    np.testing.assert_array_equal(first_argmax(jnp.asarray(logits)), logits.argmax(-1))


def test_causal_input_starts_with_start() -> None:
    np.testing.assert_array_equal(shifted(ids([9, 10, 1, 0])), ids([3, 9, 10, 1]))
