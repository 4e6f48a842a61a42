"""Corruption, next hypotheses, losses and the arg-max, by hand."""

from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.config.objective import Objective
from padir.ids import FIRST_PIECE, MASK
from padir.tokens import first_argmax, lowest, shifted, stutters
from padir.training.corruption import (
    FILLERS,
    HIDING,
    CorruptedTargets,
    Draws,
    contexts,
    first_hypothesis,
    next_hypothesis,
)
from padir.training.objective import (
    cross_entropy,
    drawn_pieces,
    glanced,
    length_cross_entropy,
    masked_sum,
)


def ids(*rows: list[int]) -> jax.Array:
    return jnp.asarray(rows, jnp.int32)


def shown(target: jax.Array, seed: int = 0, size: int = 1008, **settings) -> CorruptedTargets:
    return first_hypothesis(jax.random.key(seed), target, Objective(**settings), size)


BATCH = jnp.full((400, 50), 9, jnp.int32).at[:, 40].set(1).at[:, 41:].set(0)


@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize("corruption", FILLERS)
def test_every_corruption_changes_pieces_alone_and_hides_where_it_says(hiding, corruption) -> None:
    # The first sentence has no piece, the last fills its row.
    target = ids([1, 0, 0, 0, 0], [9, 10, 1, 0, 0], [9, 9, 10, 11, 1])
    for seed in range(20):
        made = shown(target, seed, hiding=hiding, corruption=corruption, stages=1)
        tokens, hidden = np.asarray(made.tokens), np.asarray(made.hidden)
        assert not (hidden & (np.asarray(target) < FIRST_PIECE)).any()
        np.testing.assert_array_equal(tokens[~hidden], np.asarray(target)[~hidden])
        assert np.all((tokens[hidden] >= FIRST_PIECE) | (tokens[hidden] == MASK))
        # Each sentence is learnt from; a weight may be above 1.
        assert np.all((np.asarray(made.weight) > 0) & np.isfinite(made.weight))


@pytest.mark.parametrize("hiding", HIDING)
def test_the_weight_of_a_sentence_is_finite_where_zero_is_drawn(hiding) -> None:
    """Infinity times the gradient of a position that does not count, 0, is not a number."""
    zeros = Draws(jnp.zeros(2), jnp.zeros((2, 4)))
    weights = get_args(Objective.model_fields["time_weight"].annotation)
    for time_weight in weights if hiding == "time" else ["none"]:
        objective = Objective(hiding=hiding, time_weight=time_weight, stages=1)
        weight = HIDING[hiding](zeros, jnp.ones((2, 4), bool), objective)[1]
        assert np.isfinite(weight).all()


def test_the_rate_hides_pieces_alone_and_as_often_as_it_says() -> None:
    corrupted = shown(BATCH, unmasking_rate=0.3)
    np.testing.assert_array_equal(corrupted.tokens[:, 40:], BATCH[:, 40:])
    assert not np.asarray(corrupted.hidden[:, 40:]).any()
    body = np.asarray(corrupted.tokens[:, :40])
    assert body.min() >= 8 and body.max() < 1008
    # A position shows 9 with probability .3 + .7 / 1000; five standard errors of 16,000 draws.
    expected = 0.3 + 0.7 / 1000
    assert abs((body == 9).mean() - expected) < 5 * (expected * (1 - expected) / 16_000) ** 0.5


def test_unmasking_rate_of_one_shows_everything_and_of_zero_nothing() -> None:
    target = ids([9, 10, 11, 12, 1, 0])
    np.testing.assert_array_equal(shown(target, unmasking_rate=1.0).tokens, target)
    hidden = shown(jnp.tile(target, (50, 1)), size=10_000, unmasking_rate=0.0).tokens
    # 200 draws, each right with probability 1 / 9992.
    assert int((np.asarray(hidden)[:, :4] == np.asarray(target)[:, :4]).sum()) < 5


def test_uniform_count_hides_one_to_all_equally_often() -> None:
    target = jnp.tile(ids([9, 10, 11, 12, 1, 0]), (8000, 1))
    corrupted = shown(target, hiding="uniform_count", corruption="mask")
    counts = np.bincount(np.asarray(corrupted.hidden).sum(1), minlength=5)
    assert counts[0] == 0
    # 8000 draws of four values: five standard errors.
    assert np.all(np.abs(counts[1:] / 8000 - 0.25) < 5 * (0.25 * 0.75 / 8000) ** 0.5)
    np.testing.assert_array_equal(np.asarray(corrupted.tokens) == MASK, corrupted.hidden)
    # Each position as often as the others, 2.5 times in 4.
    shares = np.asarray(corrupted.hidden)[:, :4].mean(0)
    assert np.all(np.abs(shares - 0.625) < 5 * (0.625 * 0.375 / 8000) ** 0.5)


def test_uniform_rate_hides_a_different_share_of_every_sentence() -> None:
    share = np.asarray(shown(BATCH, hiding="uniform_rate").hidden)[:, :40].mean(1)
    assert abs(share.mean() - 0.5) < 5 * (1 / 12 / 400) ** 0.5
    # Shares of one common rate would spread like sqrt(.25 / 40); these spread like sqrt(1 / 12).
    assert abs(share.std() - (1 / 12 + 1 / 6 / 40) ** 0.5) < 0.05


def test_times_weigh_and_hide_together() -> None:
    target = jnp.tile(BATCH[:1], (6000, 1))
    corrupted = shown(
        target, hiding="time", time_weight="linear", diffusion_steps=4, corruption="mask"
    )
    share, weight = np.asarray(corrupted.hidden)[:, :40].mean(1), np.asarray(corrupted.weight)
    np.testing.assert_allclose(np.unique(weight), [0.25, 0.5, 0.75, 1.0])
    for time in (1, 2, 3, 4):
        rows = share[np.isclose(weight, 1 - (time - 1) / 4)]
        assert abs(len(rows) / 6000 - 0.25) < 5 * (0.25 * 0.75 / 6000) ** 0.5
        assert abs(rows.mean() - time / 4) < 0.01
    reciprocal = shown(target, hiding="time", time_weight="reciprocal", diffusion_steps=4)
    np.testing.assert_allclose(np.unique(reciprocal.weight), [0.25, 1 / 3, 0.5, 1.0], rtol=1e-6)


def test_of_two_coupled_times_the_smaller_set_lies_within_the_larger() -> None:
    settings = Objective(
        hiding="time", corruption="mask", diffusion_steps=10, time_weight="linear", stages=1
    )
    key = jax.random.key(3)
    first, other = (
        first_hypothesis(key, BATCH, settings, 1008, second) for second in (False, True)
    )
    hidden = np.asarray(first.hidden), np.asarray(other.hidden)
    both, sizes = (hidden[0] & hidden[1]).sum(1), np.stack([h.sum(1) for h in hidden])
    np.testing.assert_array_equal(both, sizes.min(0))
    # Two independent draws of ten times agree in a tenth of the sentences.
    assert abs(np.mean(np.asarray(first.weight) == np.asarray(other.weight)) - 0.1) < 0.075
    # Both are drawn alike: 5.5 of 10 times, on average, over 400 sentences.
    assert np.all(np.abs(sizes.mean(1) / 40 - 0.55) < 5 * (0.0825 / 400 + 0.25 / 16_000) ** 0.5)


def test_hidden_positions_hold_the_corruption() -> None:
    kinds = {
        kind: np.asarray(shown(BATCH, unmasking_rate=0.0, corruption=kind).tokens)[:, :40]
        for kind in ("mask", "position_mask", "mixed")
    }
    assert np.all(kinds["mask"] == MASK)
    np.testing.assert_array_equal(kinds["position_mask"], np.tile(1008 + np.arange(40), (400, 1)))
    masked = (kinds["mixed"] == MASK).mean(1)
    assert set(masked) == {0.0, 1.0}
    assert abs(masked.mean() - 0.5) < 5 * (0.25 / 400) ** 0.5


def test_contexts_show_others_and_eos_never_the_position_itself() -> None:
    target = jnp.tile(ids([9, 10, 11, 1, 0]), (9000, 1))
    seen = np.asarray(contexts(jax.random.key(0), target))
    assert not seen[:, range(3), range(3)].any()
    assert seen[:, :, 3].all() and not seen[:, :, 4].any()
    # 0, 1 or 2 of the two other pieces, equally often.
    counts = np.bincount(seen[:, 0, :3].sum(1), minlength=3) / 9000
    assert np.all(np.abs(counts - 1 / 3) < 5 * (2 / 9 / 9000) ** 0.5)


def test_contexts_of_positions_are_random_and_independent_of_each_other() -> None:
    seen = np.asarray(contexts(jax.random.key(0), jnp.tile(ids([9, 10, 11, 1]), (40_000, 1))))
    others = [(query, key) for query in range(3) for key in range(3) if key != query]
    error = 5 / 40_000**0.5
    for query, key in others:
        assert abs(seen[:, query, key].mean() - 0.5) < 0.5 * error
        for other, its_key in others:
            if other > query:
                pair = seen[:, query, key], seen[:, other, its_key]
                assert abs(np.corrcoef(*pair)[0, 1]) < error


def test_lowest_takes_the_leftmost_of_equals_and_no_more_than_there_are() -> None:
    scores = jnp.asarray([[2.0, 1.0, 1.0, 0.0], [5.0, 5.0, 5.0, 5.0]])
    eligible = jnp.asarray([[True, True, True, False], [True, True, True, True]])
    chosen = lowest(scores, eligible, jnp.asarray([2, 1]))
    np.testing.assert_array_equal(chosen, [[0, 1, 1, 0], [1, 0, 0, 0]])
    np.testing.assert_array_equal(lowest(scores, eligible, jnp.asarray([9, 0])).sum(1), [3, 0])


def test_glancing_shows_as_many_as_the_first_look_got_wrong() -> None:
    target = ids([9, 10, 11, 12, 13, 1, 0])
    corrupted = shown(target, unmasking_rate=0.0, corruption="mask")
    predicted = ids([9, 70, 71, 72, 73, 70, 70])
    looked = glanced(jax.random.key(1), corrupted, target, predicted, 0.5)
    assert int(looked.hidden.sum()) == 5 - 2
    np.testing.assert_array_equal(np.asarray(looked.tokens) == MASK, looked.hidden)
    np.testing.assert_array_equal(
        np.asarray(looked.tokens)[~np.asarray(looked.hidden)],
        np.asarray(target)[~np.asarray(looked.hidden)],
    )


def test_glancing_counts_no_errors_where_tokens_are_visible() -> None:
    target = ids([9, 10, 11, 12, 13, 14, 1])
    corrupted = shown(target, unmasking_rate=0.0, corruption="mask")
    visible = np.asarray([[0, 0, 1, 1, 1, 1, 0]], bool)
    corrupted = corrupted._replace(
        tokens=np.where(visible, target, corrupted.tokens), hidden=corrupted.hidden & ~visible
    )
    predicted = ids([9, 10, 71, 72, 73, 74, 1])
    looked = glanced(jax.random.key(1), corrupted, target, predicted, 1.0)
    np.testing.assert_array_equal(looked.hidden, corrupted.hidden)


def test_stutter_is_not_circular_and_ignores_padding() -> None:
    repeated = stutters(ids([9, 9, 10, 10, 10, 9, 0, 0]))
    np.testing.assert_array_equal(repeated, [[0, 1, 0, 1, 1, 0, 0, 0]])
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


@pytest.mark.parametrize("size", [1, 30, 528, 1020, 1024, 1030, 2111])
@pytest.mark.parametrize("values", [2, 5, 10_000])
def test_first_argmax_is_numpy_argmax_with_ties(size: int, values: int) -> None:
    random = np.random.default_rng(0)
    logits = random.integers(0, values, (40, 7, size)).astype(np.float32)
    logits[0] = -np.inf
    logits[1, :, :-1] = -np.inf
    np.testing.assert_array_equal(first_argmax(jnp.asarray(logits)), logits.argmax(-1))


def test_causal_input_starts_with_start() -> None:
    np.testing.assert_array_equal(shifted(ids([9, 10, 1, 0])), ids([3, 9, 10, 1]))


def test_pieces_are_drawn_as_often_as_the_model_says_and_no_others() -> None:
    probability = np.array([0.0, 0.5, 0.0, 0.2, 0.299, 0.001, 0.0])
    # Reserved ids and unused rows are likelier than any piece, and never drawn.
    logits = np.full(8 + len(probability) + 3, 9.0, np.float32)
    with np.errstate(divide="ignore"):
        logits[8:-3] = np.log(probability) + 3
    count = 200_000
    drawn = drawn_pieces(jax.random.key(0), jnp.tile(logits, (count, 1, 1)), 15)
    share = np.bincount(np.asarray(drawn).ravel(), minlength=18) / count
    assert share[:8].sum() == share[15:].sum() == 0
    error = np.sqrt(probability * (1 - probability) / count)
    np.testing.assert_array_less(np.abs(share[8:15] - probability), 5 * error + 1e-12)
