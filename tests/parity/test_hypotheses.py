"""Start tokens, what a pass sees, EOS and replaced tokens: the published code's numbers.

Left out is what docs/departures.md names: no search for EOS, no start token, no cut windows of
lengths (D40); stutter is not circular (D21); finished hypotheses stay as they are (D23).
"""

import json
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode.lengths import length_candidates
from padir.decode.policies import (
    all_positions,
    mask_start,
    no_position,
    position_mask_start,
    stop_never,
)
from padir.decode.refine import Policies, Prediction, refine
from padir.ids import EOS, MASK
from padir.tokens import stutters
from tests.parity.golden import FIXTURES

CASES = json.loads((FIXTURES / "hypotheses.json").read_text(encoding="utf-8"))
SCHEMES = {"initial_tokens": "start", "previous_tokens": "previous", "logits_sum": "summed"}
REMASKED = [
    case
    for case in CASES["replace_rejected_predictions"]
    if case["start_token"] is None and not (case["ended"] and case["remask_stutter"])
]


@dataclass(frozen=True)
class FromSecond:
    """Told positions, after every pass but the first."""

    positions: np.ndarray

    def __call__(self, view):
        return jnp.asarray(self.positions) & (view.passes_done > 0)


@dataclass(frozen=True)
class Finished:
    """Told rows."""

    rows: np.ndarray

    def __call__(self, before, after, log_probability):
        return jnp.asarray(self.rows)


def wide(tokens) -> np.ndarray:
    """With a place for EOS after the last token, which the published code's arguments have not."""
    return np.pad(np.asarray(tokens, np.int32), ((0, 0), (0, 1)))


def refined(predict, start, lengths, passes, policies):
    rows = len(start)
    return refine(
        predict,
        jnp.asarray(start, jnp.int32),
        jnp.asarray(lengths, jnp.int32),
        jnp.int32(passes),
        policies,
        jnp.zeros((rows, 2), jnp.uint32),
    )


def after_two_passes(start, first, second, hidden, replacement, stop=None, logits=None):
    """What a third pass is fed, where the first two predict `first` and `second`, and the second
    hides again; `logits` are those of each pass."""
    start, first, second = wide(start), wide(first), wide(second)
    length = start.shape[1]

    def predict(inputs, visible, keys):
        token = jnp.where(jnp.all(inputs[:, :-1] == start[:, :-1]), first, second)
        return Prediction(token, jnp.zeros(inputs.shape), jnp.ones(inputs.shape), logits)

    policies = Policies(
        all_positions, FromSecond(wide(hidden).astype(bool)), stop or stop_never, replacement
    )
    return refined(predict, start, [length] * len(start), 2, policies).inputs[:, :-1]


@pytest.mark.parametrize("case", CASES["remasking_scheme"], ids=lambda case: case["scheme"])
def test_hidden_positions_hold_the_corruption(case):
    start, previous = case["initial_tokens"], case["previous_tokens"]
    logits = np.pad(np.asarray(case["logits_sum"], np.float32) / 2, ((0, 0), (0, 1), (0, 0)))
    refined_tokens = after_two_passes(
        start,
        previous,
        np.full(np.shape(previous), 40),
        np.ones(np.shape(previous)),
        SCHEMES[case["scheme"]],
        logits=jnp.asarray(logits),
    )
    np.testing.assert_array_equal(refined_tokens, case["result"])


@pytest.mark.parametrize("case", REMASKED)
def test_remasked_tokens_are_replaced_but_in_finished_rows(case):
    tokens = np.asarray(case["predictions"])
    hidden = np.asarray(case["approved_mask"]) == 0
    if case["remask_stutter"]:
        hidden |= np.asarray(stutters(jnp.asarray(tokens, jnp.int32)))
    ended = np.ravel(case["ended"] or [[False]] * len(tokens))
    refined_tokens = after_two_passes(
        case["replacements"],
        tokens,
        tokens,
        hidden & (tokens != 0),  # padding is never hidden; here it is never predicted
        "start",
        Finished(ended),
    )
    first = 1 if case["remask_stutter"] else 0
    np.testing.assert_array_equal(refined_tokens[:, first:], np.asarray(case["result"])[:, first:])


def test_passes_see_a_hypothesis_up_to_its_eos_and_padding_follows():
    cases = [case for case in CASES["eos_mask"] if EOS in case["tokens"]]
    assert len(cases) >= 7

    def predict(inputs, visible, keys):
        logits = visible[..., None].astype(jnp.float32)
        return Prediction(inputs, jnp.zeros(inputs.shape), jnp.ones(inputs.shape), logits)

    state = refined(
        predict,
        [case["tokens"] for case in cases],
        [case["tokens"].index(EOS) + 1 for case in cases],
        1,
        Policies(all_positions, no_position, stop_never, "summed"),
    )
    np.testing.assert_array_equal(state.summed_logits[..., 0], [case["mask"] for case in cases])
    np.testing.assert_array_equal(state.tokens, [case["pad_after_eos"] for case in cases])


@pytest.mark.parametrize("case", CASES["restore_eos_for_length_beams"])
def test_each_initial_hypothesis_ends_in_eos(case):
    result, start = np.asarray(case["result"]), case["expanded_tokens"]
    place = np.argmax(result == case["eos_id"], axis=1)
    policies = Policies(all_positions, all_positions, stop_never)
    keep = jax.jit(lambda inputs, visible, keys: Prediction(inputs, inputs * 0.0, inputs * 0.0))
    np.testing.assert_array_equal(refined(keep, start, place + 1, 1, policies).inputs, result)
    # The lengths themselves, where the window of the published code is not cut at an end. A place
    # past the buffer, which no length here has, moves the others there.
    width, count = result.shape[1], case["beam_length"]
    if np.max(case["eos_positions"]) >= width:
        return
    tried = place[:: case["parallel_decodes"]].reshape(-1, count)
    for middle, places in zip(np.ravel(case["eos_positions"]), tried, strict=True):
        if middle - count // 2 >= 1 and middle + count // 2 < width:
            logits = 10.0 * jax.nn.one_hot(jnp.asarray([middle]), width)
            lengths, _ = length_candidates(logits, count, width, "window")
            assert sorted(np.asarray(lengths)[0] - 1) == sorted(places)


def test_start_tokens_equal_the_published_input():
    theirs = CASES["initial_decoder_input"]
    ours = mask_start(0, 50, [9], 2, 6)
    np.testing.assert_array_equal(ours == MASK, np.asarray(theirs["mask"]) == theirs["mask_id"])
    ranged = np.asarray(theirs["mask_range"])
    ours = position_mask_start(0, 50, [9], 2, 6)
    np.testing.assert_array_equal(ours - ours[0, 0], ranged - ranged[0, 0])
