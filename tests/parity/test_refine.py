"""The compiled refinement loop equals a plain-Python twin, for every policy."""

import jax.numpy as jnp
import numpy as np
import pytest

from padir.corrupt import next_hypothesis
from padir.decode.policies import NoRemask, StopUnchanged, StutterRemask
from padir.decode.refine import refine
from padir.ids import EOS, FIRST_PIECE, PAD

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


def fake_predict(tokens, visible):
    import jax

    def host(tokens, visible):
        token, score = look_up(tokens, np.arange(tokens.shape[1])[None] // 3, visible)
        return token.astype(np.int32), score.astype(np.float32)

    shapes = (
        jax.ShapeDtypeStruct(tokens.shape, jnp.int32),
        jax.ShapeDtypeStruct(tokens.shape, jnp.float32),
    )
    return jax.pure_callback(host, shapes, tokens, visible)


def plain_refine(start, length, passes, stutter):
    """One row, as the description reads."""
    pieces = range(length - 1)
    first = [*start[: length - 1], EOS, *[PAD] * (len(start) - length)]
    fed, used = list(first), 0
    predicted, score = list(first), 0.0
    for _ in range(passes):
        if not pieces:
            break
        tokens = np.array([fed])
        visible = np.arange(len(start))[None] < length
        token, scores = look_up(tokens, np.arange(len(start))[None] // 3, visible)
        predicted = [int(token[0, i]) if i in pieces else first[i] for i in range(len(start))]
        score = sum(float(scores[0, i]) for i in pieces)
        used += 1
        after = list(predicted)
        for i in pieces:
            if stutter and i and predicted[i] == predicted[i - 1]:
                after[i] = first[i]
        unchanged, fed = after == fed, after
        if unchanged:
            break
    return predicted, score, used


@pytest.mark.parametrize("passes", [1, 2, 5, 30])
@pytest.mark.parametrize("stutter", [False, True])
def test_equals_plain_python(passes, stutter):
    random = np.random.default_rng(0)
    start = random.integers(FIRST_PIECE, FIRST_PIECE + PIECES, (40, 9))
    lengths = random.integers(1, 10, 40)
    state = refine(
        fake_predict,
        jnp.asarray(start, jnp.int32),
        jnp.asarray(lengths, jnp.int32),
        jnp.int32(passes),
        StutterRemask() if stutter else NoRemask(),
        StopUnchanged(),
    )
    used = []
    for row, length in enumerate(lengths):
        predicted, score, count = plain_refine(start[row].tolist(), length, passes, stutter)
        assert np.asarray(state.predicted[row]).tolist() == predicted
        assert float(state.log_probability[row]) == pytest.approx(score, abs=1e-4)
        assert int(state.passes[row]) == count
        used.append(count)
    if passes == 30:
        assert len(set(used)) > 3  # rows stop at different passes


def test_stopping_early_changes_nothing_but_the_count():
    """A finished row holds what all T passes would have given it."""

    class Never:
        def __call__(self, before, after):
            return jnp.zeros(before.shape[0], bool)

    random = np.random.default_rng(1)
    start = jnp.asarray(random.integers(FIRST_PIECE, FIRST_PIECE + PIECES, (30, 8)), jnp.int32)
    lengths = jnp.asarray(random.integers(1, 9, 30), jnp.int32)
    early = refine(fake_predict, start, lengths, jnp.int32(20), StutterRemask(), StopUnchanged())
    full = refine(fake_predict, start, lengths, jnp.int32(20), StutterRemask(), Never())
    np.testing.assert_array_equal(early.predicted, full.predicted)
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
    state = refine(
        lambda tokens, visible: (predicted, jnp.zeros(tokens.shape)),
        start,
        lengths,
        jnp.int32(1),
        StutterRemask() if stutter else NoRemask(),
        StopUnchanged(),
    )
    position = jnp.arange(9)[None, :]
    last = lengths[:, None] - 1
    first = jnp.where(position < last, start, jnp.where(position == last, EOS, PAD))
    read = next_hypothesis(predicted, first, position < last, stutter)
    np.testing.assert_array_equal(state.fed, read)
    assert np.any(np.asarray(state.fed) != np.asarray(state.predicted)) == stutter
