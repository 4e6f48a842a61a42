"""The compiled refinement loop equals a plain-Python twin, for every system and policy."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.config.decoder import RefinementDecoder
from padir.config.systems import SYSTEMS
from padir.decode.policies import REMASKS
from padir.decode.refine import Prediction, easy_first_context, refine
from padir.decode.refiner import policies_of
from padir.ids import EOS, FIRST_PIECE, MASK, PAD
from padir.training.corruption import next_hypothesis
from tests.parity.plain_refine import (
    PIECES,
    fake_draw,
    fake_predict,
    hidden_again,
    numbers,
    plain_refine,
)

SETTINGS = {
    **{name: {"kind": name} for name in SYSTEMS if name != "ar"},
    "plain": {"remask": "none"},
    "linear": {"remask": "linear", "update": "hidden", "replacement": "mask", "stop": "fixed"},
    "cosine": {"remask": "cosine", "update": "hidden", "rescore_kept": True, "stop": "fixed"},
    "share": {"remask": "none", "update": "share", "update_share": 0.4, "stop": "fixed"},
    "drawn": {"remask": "stutter", "temperature": 0.3, "stop": "fixed"},
    "constant": {"remask": "constant", "replacement": "previous", "stop": "fixed"},
    "count": {"remask": "count", "remask_count": 3, "replacement": "mask", "stop": "fixed"},
    "critic": {"remask": "critic", "stop": "fixed"},
    "uncertain": {"remask": "none", "update": "uncertain", "update_share": 0.4, "stop": "fixed"},
    "confident": {"remask": "none", "stop": "confidence", "stop_confidence": 0.2},
    "weaker": {"remask": "weaker_stutter"},
    "coupled": {"remask": "coupled", "coupling_threshold": 0.5},
    "coupled_hidden": {
        **{"remask": "coupled", "coupling_threshold": 0.5, "update": "hidden", "stop": "fixed"},
    },
    "joint": {"remask": "none", "joint": "neighbours", "joint_penalty": 0.5},
    "joint_attention": {"joint": "attention", "joint_penalty": 0.9},
    "joint_far": {"remask": "none", "joint": "neighbours", "joint_penalty": 0.7, "joint_reach": 2},
    "joint_far_attention": {"joint": "attention", "joint_penalty": 1.1, "joint_reach": 2},
    "joint_hidden": {
        **{"joint": "neighbours", "remask": "linear", "update": "hidden", "stop": "fixed"},
        **{"replacement": "mask", "rescore_kept": True},
    },
}
# A remasking policy that no entry above has is tested with the other settings at their defaults.
SETTINGS |= {
    name: {"remask": name, "stop": "fixed"}
    for name in REMASKS
    if not any(settings.get("remask") == name for settings in SETTINGS.values())
}


@cache
def compiled(name):
    """`refine` on a fake model with these settings, compiled once for every number of passes."""
    settings = RefinementDecoder(**SETTINGS[name])
    predict = partial(fake_predict, count=2 * settings.joint_reach + 1)
    if settings.temperature:
        predict = fake_draw(settings)
    policies = policies_of(settings)

    def run(start, lengths, passes, keys, given, may_repeat):
        return refine(predict, start, lengths, passes, policies, keys, given, may_repeat)

    return jax.jit(run)


@pytest.mark.parametrize("passes", [1, 2, 5, 30])
@pytest.mark.parametrize("some_given", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
def test_refinement_equals_plain_python(passes, name, some_given):
    random = np.random.default_rng(0)
    settings = RefinementDecoder(**SETTINGS[name])
    start = random.integers(FIRST_PIECE, FIRST_PIECE + PIECES, (40, 9))
    lengths = random.integers(1, 10, 40)
    given = random.random(start.shape) < (0.3 if some_given else 0)
    may_repeat = random.random((40, settings.joint_reach)) < 0.3
    keys = random.integers(0, 2**32, (40, 2)).astype(np.uint32)
    if settings.start == "mask":
        start = np.where(given, start, MASK)
    state = compiled(name)(
        jnp.asarray(start, jnp.int32),
        jnp.asarray(lengths, jnp.int32),
        jnp.int32(passes),
        jnp.asarray(keys),
        # None gives nothing, too.
        None if name == "padir" and not some_given else jnp.asarray(given),
        jnp.asarray(may_repeat),
    )
    used = []
    for row, length in enumerate(lengths):
        key = tuple(keys[row].tolist())
        expected = plain_refine(
            start[row].tolist(), length, passes, settings, given[row], may_repeat[row], key
        )
        assert np.asarray(state.tokens[row]).tolist() == expected[0]
        assert float(state.log_probability[row].sum()) == pytest.approx(expected[1], abs=1e-4)
        assert int(state.passes[row]) == expected[2]
        used.append(expected[2])
    if passes == 30 and settings.stop == "unchanged":
        assert len(set(used)) > 3  # rows stop at different passes


def test_a_policy_that_plain_python_lacks_is_named():
    """Else it would count as none."""
    settings = RefinementDecoder().model_copy(update={"remask": "own"})
    with pytest.raises(NotImplementedError, match="write remask own in plain Python"):
        hidden_again(settings, [9, 9], [0.0, 0.0], [0, 1], 1, 4, [0.0, 0.0], (0, 0))


def test_stopping_early_changes_nothing_but_the_count():
    """A finished row holds what all T passes would have given it."""
    random = np.random.default_rng(1)
    start = jnp.asarray(random.integers(FIRST_PIECE, FIRST_PIECE + PIECES, (30, 8)), jnp.int32)
    lengths = jnp.asarray(random.integers(1, 9, 30), jnp.int32)
    keys = jnp.zeros((30, 2), jnp.uint32)
    early, full = (
        refine(
            fake_predict,
            start,
            lengths,
            jnp.int32(20),
            policies_of(RefinementDecoder(stop=stop)),
            keys,
        )
        for stop in ("unchanged", "fixed")
    )
    np.testing.assert_array_equal(early.tokens, full.tokens)
    np.testing.assert_allclose(early.log_probability, full.log_probability, atol=1e-6)
    assert np.all(np.asarray(early.passes) <= np.asarray(full.passes))
    assert np.any(np.asarray(early.passes) < 20)


@pytest.mark.parametrize("stutter", [False, True])
def test_a_pass_is_fed_what_a_later_training_stage_reads(stutter):
    """Else a model would decode from hypotheses that it never saw."""
    random = np.random.default_rng(2)
    start = jnp.asarray(random.integers(FIRST_PIECE, FIRST_PIECE + PIECES, (30, 9)), jnp.int32)
    lengths = jnp.asarray(random.integers(2, 10, 30), jnp.int32)
    predicted = jnp.asarray(random.integers(FIRST_PIECE, FIRST_PIECE + 2, (30, 9)), jnp.int32)
    zeros = jnp.zeros(predicted.shape)
    state = refine(
        lambda tokens, visible, keys: Prediction(predicted, zeros, zeros),
        start,
        lengths,
        jnp.int32(1),
        policies_of(RefinementDecoder(remask="stutter" if stutter else "none")),
        jnp.zeros((30, 2), jnp.uint32),
    )
    position = jnp.arange(9)[None, :]
    last = lengths[:, None] - 1
    first = jnp.where(position < last, start, jnp.where(position == last, EOS, PAD))
    read = next_hypothesis(predicted, first, position < last, stutter)
    np.testing.assert_array_equal(state.inputs, read)
    assert np.any(np.asarray(state.inputs) != np.asarray(state.tokens)) == stutter


def test_summed_logits_replace_what_is_hidden():
    """The likeliest token by the logits of all passes so far, at every stuttering position."""
    table = np.random.default_rng(5).normal(size=(6, 1, 7, 12)).astype(np.float32)
    table[..., :FIRST_PIECE] = -np.inf

    def predict(tokens, visible, keys):
        logits = jnp.asarray(table)[jnp.sum(tokens) % 6]
        token = jnp.argmax(logits, -1).astype(jnp.int32)
        return Prediction(token, jnp.zeros(token.shape), jnp.ones(token.shape), logits)

    start = np.full((1, 7), 9, np.int32)
    settings = RefinementDecoder(
        remask="constant", remask_share=0.5, replacement="summed", stop="fixed"
    )
    inputs = np.where(np.arange(7) < 6, 9, EOS)[None]
    summed = 0.0
    for done in range(1, 5):
        state = refine(
            predict,
            jnp.asarray(start),
            jnp.asarray([7], jnp.int32),
            jnp.int32(done),
            policies_of(settings),
            jnp.zeros((1, 2), jnp.uint32),
        )
        logits = table[inputs.sum() % 6]
        summed = summed + logits
        tokens = np.where(np.arange(7) < 6, logits.argmax(-1), EOS)
        # All scores are equal: the leftmost half is hidden.
        inputs = np.where(np.arange(7) < 3, summed.argmax(-1), tokens)
        np.testing.assert_array_equal(state.inputs, inputs)


def test_easy_first_sees_more_confident_tokens_of_the_first_pass():
    """By hand: pass 1 sees EOS alone, later passes more confident tokens, equals from the left."""
    score = jnp.asarray([[-2.0, -1.0, -2.0, -3.0, 0.0]])
    end = jnp.asarray([[False, False, False, True, False]])
    inside = jnp.asarray([[True, True, True, False, False]])
    context = np.asarray(easy_first_context(score, inside, end)[0])
    np.testing.assert_array_equal(context[0], [0, 1, 0, 1, 0])
    np.testing.assert_array_equal(context[1], [0, 0, 0, 1, 0])
    np.testing.assert_array_equal(context[2], [1, 1, 0, 1, 0])
    seen = []

    def predict(tokens, visible, keys):
        jax.debug.callback(lambda v: seen.append(np.asarray(v[0])), visible)
        token = jnp.full(tokens.shape, FIRST_PIECE, jnp.int32)
        return Prediction(token, jnp.broadcast_to(score, tokens.shape), jnp.ones(tokens.shape))

    settings = RefinementDecoder(remask="none", context="easy_first", stop="fixed", start="mask")
    state = refine(
        predict,
        jnp.full((1, 5), MASK, jnp.int32),
        jnp.asarray([4], jnp.int32),
        jnp.int32(3),
        policies_of(settings),
        jnp.zeros((1, 2), jnp.uint32),
    )
    jax.block_until_ready(state)
    jax.effects_barrier()
    assert len(seen) == 3
    np.testing.assert_array_equal(seen[0], np.tile([0, 0, 0, 1, 0], (5, 1)))
    np.testing.assert_array_equal(seen[1][:3], context[:3])
    np.testing.assert_array_equal(seen[2], seen[1])


def test_policies_that_draw_are_given_the_numbers_of_the_twin():
    """Updates and remasking draw apart, so that neither follows from the other."""
    keys = np.random.default_rng(0).integers(0, 2**32, (3, 2)).astype(np.uint32)
    given = {"update": [], "remask": []}

    def watching(name):
        def policy(view):
            jax.debug.callback(given[name].append, view.chance, ordered=True)
            return view.is_piece

        return policy

    policies = policies_of(RefinementDecoder(remask="none", stop="fixed"))._replace(
        update=watching("update"), remask=watching("remask")
    )
    start, lengths = jnp.full((3, 4), 9, jnp.int32), jnp.full(3, 5, jnp.int32)
    refine(fake_predict, start, lengths, jnp.int32(2), policies, jnp.asarray(keys))
    jax.effects_barrier()
    for place, chances in enumerate(given.values(), 1):
        plain = [
            [[numbers(tuple(key), done, i)[place] for i in range(4)] for key in keys.tolist()]
            for done in range(2)
        ]
        np.testing.assert_array_equal(np.array(chances), np.array(plain, np.float32))


def test_a_random_share_is_updated():
    """Each position about as often as the share says; all of them in the first pass."""
    settings = RefinementDecoder(remask="none", update="share", update_share=0.3, stop="fixed")

    def predict(tokens, visible, keys):
        token = jnp.where(tokens == 9, 10, 9).astype(jnp.int32)
        return Prediction(token, jnp.zeros(tokens.shape), jnp.ones(tokens.shape))

    def after(passes):
        state = refine(
            predict,
            jnp.full((200, 11), 9, jnp.int32),
            jnp.full(200, 11, jnp.int32),
            jnp.int32(passes),
            policies_of(settings),
            jnp.asarray(np.random.default_rng(0).integers(0, 2**32, (200, 2)), jnp.uint32),
        )
        return np.asarray(state.tokens[:, :10])

    assert np.all(after(1) == 10)
    # 2000 positions: five standard errors.
    assert abs((after(2) == 9).mean() - 0.3) < 5 * (0.3 * 0.7 / 2000) ** 0.5
