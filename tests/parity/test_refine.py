"""The compiled refinement loop equals a plain-Python twin, for every policy."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.config.decoding import Decoding
from padir.corrupt import next_hypothesis
from padir.decode.joint import Candidates
from padir.decode.refine import Prediction, easy_first_context, refine
from padir.decode.refiner import policies_of
from padir.ids import EOS, FIRST_PIECE, MASK, PAD

PIECES = 5
TABLE = np.random.default_rng(3).integers(0, PIECES, (PIECES + 2, PIECES + 2, PIECES + 2))
SCORE = np.random.default_rng(4).uniform(-3, 0, (PIECES + 2, PIECES + 2, PIECES + 2))


def code(tokens):
    """PAD and EOS to 0 and 1, pieces from 2."""
    return np.where(tokens >= FIRST_PIECE, tokens - FIRST_PIECE + 2, tokens)


def look_up(tokens, position, visible):
    """A fake model: a token depends on itself, its neighbours and where it stands."""
    padded = np.pad(np.where(visible, tokens, PAD), ((0, 0), (1, 1)))
    left, own, right = code(padded[:, :-2]), code(padded[:, 1:-1]), code(padded[:, 2:])
    token = (TABLE[left, own, right] + position) % PIECES + FIRST_PIECE
    return token, SCORE[left, own, right]


def fake_predict(tokens, visible, keys, count=3):
    def host(tokens, visible):
        token, score = look_up(tokens, np.arange(tokens.shape[1])[None] // 3, visible)
        return token.astype(np.int32), score.astype(np.float32)

    shapes = (
        jax.ShapeDtypeStruct(tokens.shape, jnp.int32),
        jax.ShapeDtypeStruct(tokens.shape, jnp.float32),
    )
    token, score = jax.pure_callback(host, shapes, tokens, visible)
    several = [(token - FIRST_PIECE + i) % PIECES + FIRST_PIECE for i in range(count)]
    scores = [score - gap * stretch(score) for gap in GAPS[:count]]
    candidates = Candidates(jnp.stack(several, axis=-1), jnp.stack(scores, axis=-1))
    return Prediction(token, score, jnp.exp(score), None, candidates, near_and_far(score))


GAPS = (0.0, 0.37, 0.81, 1.2, 1.9)
"""How much less likely than the first candidate the fake model calls each."""


def stretch(score):
    """Else two positions could give way at the same price, and rounding would choose."""
    return 1 + (score * 3.7) % 1.0


def coupling_of(score, distance=1):
    """The fake model's overlap of a position with one before it: any function will do."""
    return (score * (6.3 + distance)) % 1.0


def near_and_far(score):
    return jnp.stack([coupling_of(score), coupling_of(score, 2)], axis=-1)


def plain_joint(settings, first, scores, kept, update, may_repeat):
    """Tokens and log-probabilities of one row: the best path for each pair of last tokens."""
    count = 2 * settings.joint_reach + 1
    best = {(None, None): (0.0, [])}
    for i, token in enumerate(first):
        own = [(kept[i], 0.0)]
        if i in update:
            shifts = [
                (token - FIRST_PIECE + shift) % PIECES + FIRST_PIECE for shift in range(count)
            ]
            prices = (gap * stretch(scores[i]) for gap in GAPS)
            own = [(t, scores[i] - p) for t, p in zip(shifts, prices, strict=False)]
        costs = [0.0 if spared else settings.joint_cost for spared in may_repeat]
        if settings.joint == "attention":
            costs = [cost * coupling_of(scores[i], d) for d, cost in enumerate(costs, 1)]
        grown = {}
        for (before, left), (value, path) in best.items():
            for t, score in own:
                near = (left, before)
                paid = sum(cost for cost, other in zip(costs, near, strict=False) if other == t)
                total = value + score - paid
                if (left, t) not in grown or total > grown[left, t][0]:
                    grown[left, t] = (total, [*path, (t, score)])
        best = grown
    return max(best.values(), key=lambda one: one[0])[1]


def least(scores, positions, count):
    """The `count` positions with the smallest scores, leftmost first among equals."""
    return set(sorted(positions, key=lambda i: (scores[i], i))[:count])


def hidden_again(settings, tokens, scores, pieces, done, passes, coupling):
    """Positions to hide after `done` passes, as the settings' descriptions read."""
    share = {
        "linear": 1 - done / passes,
        "cosine": math.cos(done / passes * math.pi / 2),
        "constant": settings.remask_share,
    }
    if settings.remask == "stutter":
        return {i for i in pieces if i and tokens[i] == tokens[i - 1]}
    weaker = {
        "weaker_stutter": lambda i: tokens[i] == tokens[i - 1],
        "coupled": lambda i: coupling[i] >= settings.coupling_threshold,
    }
    if settings.remask in weaker:
        pairs = [i for i in pieces if i - 1 in pieces and weaker[settings.remask](i)]
        return {i if scores[i] <= scores[i - 1] else i - 1 for i in pairs}
    if settings.remask == "rejecter":
        return {i for i in pieces if math.exp(scores[i]) < 0.5}
    if settings.remask == "count":
        return least(scores, pieces, settings.remask_count)
    if settings.remask in share:
        return least(scores, pieces, math.floor(share[settings.remask] * len(pieces) + 1e-4))
    return set()


def plain_refine(start, length, passes, settings, given, may_repeat):
    """One row, as the description reads."""
    pieces = [i for i in range(length - 1) if not given[i]]
    first = [*start[: length - 1], EOS, *[PAD] * (len(start) - length)]
    fed, tokens, used = list(first), list(first), 0
    scores, hidden = [0.0] * len(start), set(pieces)
    for done in range(1, passes + 1):
        if not pieces:
            break
        visible = np.arange(len(start))[None] < length
        found, fresh = look_up(np.array([fed]), np.arange(len(start))[None] // 3, visible)
        update = {
            "all": set(pieces),
            "hidden": hidden,
            "uncertain": least(
                scores, pieces, math.floor(settings.update_share * len(pieces) + 1e-4)
            ),
        }[settings.update]
        if done == 1:
            update = set(pieces)
        first_choice = [
            (int(t), float(np.float32(s))) for t, s in zip(found[0], fresh[0], strict=True)
        ]
        chosen = first_choice
        if settings.joint != "none":
            both = map(list, zip(*first_choice, strict=True))
            chosen = plain_joint(settings, *both, list(tokens), update, may_repeat)
        for i in pieces:
            if i in update:
                tokens[i], scores[i] = chosen[i]
            elif settings.rescore:
                scores[i] = first_choice[i][1]
        used += 1
        judged = [float(np.float32(fresh[0, i])) for i in range(len(start))]
        hidden = hidden_again(
            settings,
            tokens,
            judged if settings.remask == "rejecter" else scores,
            pieces,
            done,
            passes,
            coupling_of(fresh[0]),
        )
        instead = {"start": first, "mask": [MASK] * len(start), "previous": fed}
        after = [
            instead[settings.replacement][i] if i in hidden else t for i, t in enumerate(tokens)
        ]
        finished = {
            "fixed": False,
            "unchanged": after == fed,
            "confidence": all(
                scores[i] >= math.log(settings.stop_confidence) for i in range(len(start))
            ),
        }[settings.stop]
        fed = after
        if finished:
            break
    return tokens, sum(scores), used


SETTINGS = {
    "padir": {"remask": "stutter"},
    "plain": {"remask": "none"},
    "cmlm": {"remask": "linear", "update": "hidden", "replacement": "mask", "stop": "fixed"},
    "rdm": {"remask": "cosine", "update": "hidden", "rescore": True, "stop": "fixed"},
    "constant": {"remask": "constant", "replacement": "previous", "stop": "fixed"},
    "count": {"remask": "count", "remask_count": 3, "replacement": "mask", "stop": "fixed"},
    "rejecter": {"remask": "rejecter", "stop": "fixed"},
    "uncertain": {"remask": "none", "update": "uncertain", "update_share": 0.4, "stop": "fixed"},
    "confident": {"remask": "none", "stop": "confidence", "stop_confidence": 0.2},
    "weaker": {"remask": "weaker_stutter"},
    "coupled": {"remask": "coupled", "coupling_threshold": 0.5},
    "joint": {"remask": "none", "joint": "neighbours", "joint_cost": 0.5},
    "joint_attention": {"joint": "attention", "joint_cost": 0.9},
    "joint_far": {"remask": "none", "joint": "neighbours", "joint_cost": 0.7, "joint_reach": 2},
    "joint_far_attention": {"joint": "attention", "joint_cost": 1.1, "joint_reach": 2},
    "joint_hidden": {
        **{"joint": "neighbours", "remask": "linear", "update": "hidden", "stop": "fixed"},
        **{"replacement": "mask", "rescore": True},
    },
}


@pytest.mark.parametrize("passes", [1, 2, 5, 30])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("some_given", [False, True])
def test_equals_plain_python(passes, name, some_given):
    random = np.random.default_rng(0)
    settings = Decoding(**SETTINGS[name])
    start = random.integers(FIRST_PIECE, FIRST_PIECE + PIECES, (40, 9))
    lengths = random.integers(1, 10, 40)
    given = random.random(start.shape) < (0.3 if some_given else 0)
    may_repeat = random.random((40, settings.joint_reach)) < 0.3
    state = refine(
        partial(fake_predict, count=2 * settings.joint_reach + 1),
        jnp.asarray(start, jnp.int32),
        jnp.asarray(lengths, jnp.int32),
        jnp.int32(passes),
        policies_of(settings),
        jnp.zeros((40, 2), jnp.uint32),
        jnp.asarray(given) if some_given else None,
        jnp.asarray(may_repeat),
    )
    used = []
    for row, length in enumerate(lengths):
        expected = plain_refine(
            start[row].tolist(), length, passes, settings, given[row], may_repeat[row]
        )
        assert np.asarray(state.tokens[row]).tolist() == expected[0]
        assert float(state.log_probability[row].sum()) == pytest.approx(expected[1], abs=1e-4)
        assert int(state.passes[row]) == expected[2]
        used.append(expected[2])
    if passes == 30 and settings.stop == "unchanged":
        assert len(set(used)) > 3  # rows stop at different passes


def test_stopping_early_changes_nothing_but_the_count():
    """A finished row holds what all T passes would have given it."""
    random = np.random.default_rng(1)
    start = jnp.asarray(random.integers(FIRST_PIECE, FIRST_PIECE + PIECES, (30, 8)), jnp.int32)
    lengths = jnp.asarray(random.integers(1, 9, 30), jnp.int32)
    keys = jnp.zeros((30, 2), jnp.uint32)
    early, full = (
        refine(fake_predict, start, lengths, jnp.int32(20), policies_of(Decoding(stop=stop)), keys)
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
        policies_of(Decoding(remask="stutter" if stutter else "none")),
        jnp.zeros((30, 2), jnp.uint32),
    )
    position = jnp.arange(9)[None, :]
    last = lengths[:, None] - 1
    first = jnp.where(position < last, start, jnp.where(position == last, EOS, PAD))
    read = next_hypothesis(predicted, first, position < last, stutter)
    np.testing.assert_array_equal(state.fed, read)
    assert np.any(np.asarray(state.fed) != np.asarray(state.tokens)) == stutter


def test_summed_logits_replace_what_is_hidden():
    """The likeliest token by the logits of all passes so far, at every stuttering position."""
    table = np.random.default_rng(5).normal(size=(6, 1, 7, 12)).astype(np.float32)
    table[..., :FIRST_PIECE] = -np.inf

    def predict(tokens, visible, keys):
        logits = jnp.asarray(table)[jnp.sum(tokens) % 6]
        token = jnp.argmax(logits, -1).astype(jnp.int32)
        return Prediction(token, jnp.zeros(token.shape), jnp.ones(token.shape), logits)

    start = np.full((1, 7), 9, np.int32)
    settings = Decoding(remask="constant", remask_share=0.5, replacement="summed", stop="fixed")
    fed = np.where(np.arange(7) < 6, 9, EOS)[None]
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
        logits = table[fed.sum() % 6]
        summed = summed + logits
        tokens = np.where(np.arange(7) < 6, logits.argmax(-1), EOS)
        # All scores are equal: the leftmost half is hidden.
        fed = np.where(np.arange(7) < 3, summed.argmax(-1), tokens)
        np.testing.assert_array_equal(state.fed, fed)


def test_easy_first_sees_what_the_first_pass_was_surer_of():
    """By hand: pass 1 sees EOS alone, later passes the surer tokens, equals from the left."""
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

    settings = Decoding(remask="none", context="easy_first", stop="fixed", start="mask")
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


def test_a_random_share_is_updated():
    """Each position about as often as the share says; all of them in the first pass."""
    settings = Decoding(remask="none", update="share", update_share=0.3, stop="fixed")

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
