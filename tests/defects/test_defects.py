"""Each variant does what it says, by a plain twin or by hand; the shipped code does otherwise."""

import json
import math
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.config.decoder import RefinementDecoder
from padir.decode import refiner
from padir.decode.candidates import Candidate, LengthRule
from padir.decode.policies import random_start
from padir.decode.refine import Prediction, refine
from padir.decode.refiner import policies_of
from padir.decode.translate import Translator
from padir.decode.tune import tune
from padir.ids import EOS, FIRST_PIECE, PAD
from padir.model.parameters import build
from padir.model.transformer import Transformer
from padir.tokens import stutters
from padir.training import objective
from padir.training.corruption import first_hypothesis
from padir.training.corruption import next_hypothesis as shipped_next_hypothesis
from padir.training.objective import batch_losses
from tests.decoding import LINES, tiny_decoder, tiny_model
from tests.defects.variants import (
    Defects,
    circular_stutters,
    next_hypothesis,
    padding_visible,
    without_start,
)
from tests.parity.golden import FIXTURES
from tests.training import tiny_run

PIECES = 12
TABLE = np.random.default_rng(3).integers(0, PIECES, (2, PIECES + 2)).astype(np.int32)
SCORE = np.random.default_rng(4).uniform(-0.5, 0, (PIECES + 2, PIECES + 2)).astype(np.float32)
PLACE = np.random.default_rng(5).uniform(-3, 0, (1, 9)).astype(np.float32)
NOTHING, STOP = Defects(), Defects(stops_together=True, returns_remasked=True)
PUBLISHED = Defects(stops_together=True, returns_remasked=True, deletes_start=True)
REMASKS = {
    "stutter": {"remask": "stutter"},
    "stutter_previous": {"remask": "stutter", "replacement": "previous"},
    "constant": {"remask": "constant", "remask_share": 0.3},
}


# Padding in later training stages


@pytest.mark.parametrize(
    ("hide_stutter", "expected"),
    [(False, [8, 9, 9, EOS, 31, 31, 30]), (True, [8, 9, 22, EOS, 31, PAD, 30])],
)
def test_later_stages_read_predictions_past_the_end(hide_stutter, expected):
    """By hand: stutter falls back to the first hypothesis, which is padding past EOS."""
    start = jnp.asarray([[20, 21, 22, EOS, PAD, PAD, PAD]])
    predicted = jnp.asarray([[8, 9, 9, 30, 31, 31, 30]])
    piece = jnp.arange(7)[None] < 3
    hypothesis = next_hypothesis(predicted, start, piece, hide_stutter)
    np.testing.assert_array_equal(hypothesis[0], expected)
    shipped = shipped_next_hypothesis(predicted, start, piece, hide_stutter)
    np.testing.assert_array_equal(shipped[0], [*expected[:4], PAD, PAD, PAD])


def token_loss(logits: np.ndarray, target: np.ndarray) -> float:
    """Cross-entropy in nats, summed over the tokens that are not padding."""
    total = 0.0
    for row, answers in zip(logits.astype(np.float64), target, strict=True):
        for position, answer in zip(row, answers, strict=True):
            if answer != PAD:
                total += math.log(np.exp(position - position.max()).sum())
                total += position.max() - position[answer]
    return total


def test_later_stages_see_predictions_past_the_end():
    """Both stages by hand; afterwards, as in decoding, padding is hidden again."""
    run, vocabulary_size, hidden = tiny_run(), 14, Transformer.hidden
    model = build(run, vocabulary_size, seed=1)
    source = jnp.asarray([[9, 10, 11, 12, EOS, 0, 0, 0], [13, 8, EOS, 0, 0, 0, 0, 0]])
    target = jnp.asarray([[12, 11, 10, 9, EOS, 0, 0, 0], [8, 13, EOS, 0, 0, 0, 0, 0]])
    key = jax.random.key(5)

    def loss() -> float:
        compiled = jax.jit(
            lambda key: batch_losses(model, run, vocabulary_size, source, target, key, None).token
        )
        return float(compiled(key))

    @jax.jit
    def decode(tokens):
        return model.decode(tokens, model.encode(source).cross, tokens != PAD)

    answers = np.asarray(target)
    start = np.asarray(first_hypothesis(key, target, run.objective, vocabulary_size).tokens)
    first = np.asarray(decode(start))
    read = np.array(start)
    for row in range(len(read)):
        best = first[row, :, FIRST_PIECE:].argmax(-1) + FIRST_PIECE
        written = [EOS if a == EOS else int(b) for a, b in zip(answers[row], best, strict=True)]
        for i, token in enumerate(written):
            stutter = i > 0 and token == written[i - 1]
            read[row, i] = start[row, i] if stutter else token
    assert np.any(read[answers == PAD] != PAD)
    second = np.asarray(decode(read))
    shipped = loss()
    with padding_visible():
        assert Transformer.hidden is not hidden
        defective = loss()
    assert Transformer.hidden is hidden
    assert objective.next_hypothesis is shipped_next_hypothesis
    expected = (token_loss(first, answers) + token_loss(second, answers)) / 2
    assert defective == pytest.approx(expected, rel=1e-5)
    assert abs(defective - shipped) > 1e-3


# The loop of passes


def look_up(xp, tokens, visible):
    """A fake model: a token depends on its right neighbour and a little on itself.

    As with a trained model, most rows settle after some passes.
    """
    seen = xp.where(visible, tokens, PAD)
    seen = xp.where(seen >= FIRST_PIECE, seen - FIRST_PIECE + 2, seen)
    right = xp.pad(seen, ((0, 0), (0, 1)))[:, 1:]
    token = xp.asarray(TABLE)[seen // (PIECES + 1), right] + FIRST_PIECE
    return token, xp.asarray(SCORE)[seen, right] + xp.asarray(PLACE)


def fake_predict(tokens, visible, keys) -> Prediction:
    token, score = look_up(jnp, tokens, visible)
    return Prediction(token, score, jnp.exp(score))


def rows(number: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Start tokens and lengths."""
    random = np.random.default_rng(seed)
    start = random.integers(FIRST_PIECE, FIRST_PIECE + PIECES, (number, 9)).astype(np.int32)
    return start, random.integers(2, 10, number).astype(np.int32)


@cache
def program(defects: Defects, name: str):
    """The compiled loop with these defects; without any it is the shipped loop."""
    run = refine if defects == NOTHING else defects.refine
    chosen = policies_of(RefinementDecoder(**REMASKS[name]))

    @jax.jit
    def compiled(start, lengths, passes):
        keys = jnp.zeros((len(start), 2), jnp.uint32)
        return run(fake_predict, start, lengths, passes, chosen, keys)

    return compiled


def decoded(defects: Defects, name: str, start, lengths, passes: int):
    """The loop's end, a `Refinement`."""
    return program(defects, name)(start, lengths, np.int32(passes))


def published_loop(start, lengths, passes, settings):
    """Returned tokens and score of each row, as the published code's loop is described.

    Of the departures, the place of EOS and the number of hidden tokens are ours (D18, D27).
    """
    settings = RefinementDecoder(**settings)
    position = np.arange(start.shape[1])[None]
    last = lengths[:, None] - 1
    inputs = np.where(position < last, start, np.where(position == last, EOS, PAD))
    scores = np.zeros(start.shape)
    for step in range(passes):
        greedy, log_probability = look_up(np, inputs, position <= last)
        new = np.where(position < last, greedy, inputs)
        for row in range(len(new)):
            pieces = range(lengths[row] - 1)
            hidden = []
            if settings.remask == "stutter":
                hidden = [i for i in pieces if i and new[row, i] == new[row, i - 1]]
            elif step < passes - 1:
                count = math.floor(settings.remask_share * len(pieces) + 1e-4)
                hidden = sorted(pieces, key=lambda i: (log_probability[row, i], i))[:count]
            instead = inputs if settings.replacement == "previous" else start
            new[row, hidden] = instead[row, hidden]
        scores = np.where(position < last, log_probability, 0)
        unchanged, inputs = np.array_equal(new, inputs), new
        if unchanged:
            break
    return inputs, np.where(inputs == start, 0, scores).sum(axis=1)


@pytest.mark.parametrize("passes", [1, 3, 8])
@pytest.mark.parametrize("name", REMASKS)
def test_the_published_loop_equals_a_plain_one(name, passes):
    start, lengths = rows(30)
    state = decoded(PUBLISHED, name, start, lengths, passes)
    tokens, scores = published_loop(start, lengths, passes, REMASKS[name])
    np.testing.assert_array_equal(state.tokens, tokens)
    np.testing.assert_allclose(state.log_probability.sum(axis=1), scores, atol=1e-4)
    shipped = decoded(NOTHING, name, start, lengths, passes)
    assert np.any(np.asarray(shipped.log_probability != state.log_probability))
    # What a number hides stands in the text only where the loop ends early.
    apart = name != "constant" or int(state.passes_done) < passes
    assert np.any(np.asarray(shipped.tokens) != tokens) == apart


def test_the_batch_stops_together():
    """Rows alone and in a batch: what is fed depends on the batch where hidden tokens return."""
    start, lengths = rows(30)

    def differing(defects: Defects) -> int:
        together = np.asarray(decoded(defects, "constant", start, lengths, 5).tokens)
        alone = [
            np.asarray(decoded(defects, "constant", start[[i]], lengths[[i]], 5).tokens[0])
            for i in range(len(start))
        ]
        return sum(not np.array_equal(a, b) for a, b in zip(together, alone, strict=True))

    assert differing(NOTHING) == 0
    assert differing(STOP) > 3


@pytest.mark.parametrize("name", ["stutter", "stutter_previous"])
@pytest.mark.parametrize("passes", [4, 9])
def test_stopping_together_changes_nothing_where_rows_are_fixed_points(name, passes):
    """The next input is a function of the last one alone: an unchanged row stays so."""
    start, lengths = rows(40, seed=1)
    ours = decoded(NOTHING, name, start, lengths, passes)
    theirs = decoded(Defects(stops_together=True), name, start, lengths, passes)
    np.testing.assert_array_equal(ours.tokens, theirs.tokens)
    used = np.asarray(theirs.passes[lengths > 1])
    assert len(set(used.tolist())) == 1
    assert np.any(np.asarray(ours.passes) < used[0])


def test_the_last_pass_is_remasked_as_published():
    """Numbers of the published code's replacement function, every token approved."""
    predicted = jnp.asarray([[8, 8, 8, 9, 0, 0]])

    def predict(tokens, visible, keys) -> Prediction:
        return Prediction(predicted, jnp.zeros((1, 6)), jnp.ones((1, 6)))

    start, lengths = jnp.asarray([[31, 32, 33, 34, 35, 36]]), jnp.asarray([5])
    arguments = (predict, start, lengths, jnp.int32(1), policies_of(RefinementDecoder()))
    keys = jnp.zeros((1, 2), jnp.uint32)
    state = Defects(returns_remasked=True).refine(*arguments, keys)
    np.testing.assert_array_equal(state.tokens[0], [8, 32, 33, 9, EOS, PAD])
    np.testing.assert_array_equal(refine(*arguments, keys).tokens[0], [8, 8, 8, 9, EOS, PAD])


def test_a_token_remasked_at_every_pass_stays_the_start_token_and_is_deleted():
    """By hand, replacement previous: position 1 always stutters, so its input never changes."""

    def predict(tokens, visible, keys) -> Prediction:
        return Prediction(jnp.asarray([[9, 9, 10, 0]]), jnp.zeros((1, 4)), jnp.ones((1, 4)))

    start = jnp.asarray([[21, 22, 10, 0]])
    policies = policies_of(RefinementDecoder(replacement="previous"))
    arguments = (predict, start, jnp.asarray([4]), jnp.int32(4), policies)
    state = PUBLISHED.refine(*arguments, jnp.zeros((1, 2), jnp.uint32))
    np.testing.assert_array_equal(state.tokens[0], [9, 22, 10, EOS])
    # 10 is right, and goes too.
    assert without_start(state.tokens[0, :3].tolist(), start[0].tolist()) == (9,)
    shipped = refine(*arguments, jnp.zeros((1, 2), jnp.uint32))
    np.testing.assert_array_equal(shipped.tokens[0], [9, 9, 10, EOS])


def test_circular_stutter_equals_the_published_mask():
    cases = json.loads((FIXTURES / "remasking.json").read_text())["stutter_mask"]
    apart = 0
    for case in cases:
        tokens = jnp.asarray([case["tokens"]], jnp.int32)
        np.testing.assert_array_equal(circular_stutters(tokens)[0], np.asarray(case["mask"], bool))
        apart += bool(stutters(tokens)[0, 0] != bool(case["mask"][0]))
    assert apart == 3


def test_circular_stutter_changes_nothing_where_eos_stands_in_its_place():
    """The buffer's last position then holds EOS or padding, which no piece equals."""
    start, lengths = rows(40, seed=2)
    ours = decoded(NOTHING, "stutter", start, lengths, 6)
    theirs = decoded(Defects(circular=True), "stutter", start, lengths, 6)
    np.testing.assert_array_equal(ours.tokens, theirs.tokens)


# Deletion


def test_tokens_equal_to_the_start_are_deleted(tmp_path):
    """With one candidate per sentence; the length rule is tuned on what is left."""
    loaded = tiny_model(tmp_path / "bundle", "padir")
    decoder = tiny_decoder("padir", LengthRule(), drop_repeats="none", length_candidates=1)
    plain = Translator(loaded, decoder, 4).translate(LINES, "lines")
    scored = []

    def score(texts) -> float:
        scored.append(list(texts))
        return 0.0

    with Defects(deletes_start=True).decoding() as translator_class:
        deleted = translator_class(loaded, decoder, 4).translate(LINES, "lines")
        tune(translator_class(loaded, decoder, 4), LINES, "lines", score, LINES)
    size = loaded.vocabulary.size
    for line, ours, theirs in zip(LINES, plain, deleted, strict=True):
        assert theirs.tokens_before_drop == ours.tokens
        assert theirs.before_drop == ours.hypothesis
        expected = []
        if line:
            source = loaded.vocabulary.encode([line])[0]
            start = random_start(loaded.seed, size, source, 1, 12)[0]
            expected = [t for t, s in zip(ours.tokens, start.tolist(), strict=False) if t != s]
        assert list(theirs.tokens) == expected
        assert theirs.hypothesis == loaded.vocabulary.decode([expected])[0]
    assert sum(len(a.tokens) - len(b.tokens) for a, b in zip(plain, deleted, strict=True)) >= 3
    assert scored[0] == [hypothesis.hypothesis for hypothesis in deleted]
    assert refiner.refine is refine


def test_the_start_is_that_of_the_chosen_candidate(tmp_path):
    loaded = tiny_model(tmp_path / "bundle", "padir")
    decoder = tiny_decoder("padir", LengthRule(), drop_repeats="none")
    source = loaded.vocabulary.encode(["ba ko mi"])[0]
    start = random_start(loaded.seed, loaded.vocabulary.size, source, 3, 12).tolist()
    candidates = [
        Candidate(tuple(tokens[:5]), 6, score, 0.0, 1)
        for tokens, score in zip(start, (-3.0, -1.0, -2.0), strict=True)
    ]
    right = 8 if start[1][2] != 8 else 9
    changed = (*start[1][:2], right, *start[1][3:5])
    candidates[1] = Candidate(changed, 6, -1.0, 0.0, 1)
    with Defects(deletes_start=True).decoding() as translator_class:
        translator = translator_class(loaded, decoder, 1)
        (hypothesis,) = translator.finish([source], [candidates])
        assert hypothesis.tokens == (right,)
        assert hypothesis.tokens_before_drop == changed


def test_deletion_refuses_the_final_drop(tmp_path):
    loaded = tiny_model(tmp_path / "bundle", "padir")
    with Defects(deletes_start=True).decoding() as translator_class:
        translator = translator_class(loaded, tiny_decoder("padir", LengthRule()), 1)
        with pytest.raises(ValueError, match="drop_repeats words"):
            translator.finish([], [])
