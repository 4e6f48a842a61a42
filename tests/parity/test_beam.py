"""Beam search equals the published numbers, a plain-Python twin and exhaustive search.

`tests/fixtures/beam_search.json` holds logit tables [batch, position, previous, next] and the
results of the T5X search on them, best last. Forced prefixes are fed as tables that allow only the
forced token. Left out: stopping by a minimum log-probability, which this search does not have.
"""

import functools
import itertools
import json
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode.search import EMPTY, beam_search, greedy_search

CASES = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "beam_search.json").read_text(encoding="utf-8")
)["cases"]
NEVER = -1e7


def tables(case) -> np.ndarray:
    """The case's logits as [B, L, V, V], prefixes forced."""
    inputs = np.array(case["forced_prefix_inputs"])
    batch, length = inputs.shape
    logits = np.array(case["next_token_logits"], np.float32)
    if logits.ndim == 3:
        logits = np.broadcast_to(logits, (batch, *logits.shape))
    last = logits[:, -1:]
    extra = np.repeat(last, max(0, length - logits.shape[1]), axis=1)
    logits = np.concatenate([logits, extra], axis=1)[:, :length].copy()
    for row, position in np.argwhere(inputs[:, 1:] != 0):
        logits[row, position] = -np.inf
        logits[row, position, :, inputs[row, position + 1]] = 0.0
    return logits


def table_step(logits):
    """A step that reads tables and keeps no state."""

    def step(tokens, position, origin, state):
        now = jax.lax.dynamic_index_in_dim(logits, position, axis=1, keepdims=False)
        return jnp.take_along_axis(now, tokens[:, :, None], axis=1), state

    return step


@functools.cache
def compiled(beam, eos, results, ending_ranks):
    """The search as one program for all tables of a shape."""

    def run(logits, limits, alpha):
        return beam_search(
            table_step(logits),
            (),
            limits,
            alpha,
            beam=beam,
            length=logits.shape[1],
            start=0,
            eos=eos,
            results=results,
            ending_ranks=ending_ranks,
        )

    return jax.jit(run)


def search(logits, beam, alpha, eos, limits=None, results=None, ending_ranks=None):
    limits = np.full(len(logits), logits.shape[1]) if limits is None else np.array(limits)
    run = compiled(beam, eos, beam if results is None else results, ending_ranks)
    hypotheses = run(jnp.asarray(logits), jnp.asarray(limits, jnp.int32), jnp.float32(alpha))
    return jax.tree.map(np.asarray, hypotheses)


@pytest.mark.parametrize(
    "case", [c for c in CASES if "min_log_prob" not in c["options"]], ids=lambda c: c["name"]
)
def test_hypotheses_and_scores_equal_those_of_the_published_search(case):
    logits = tables(case)
    limit = case["options"].get("max_decode_step", logits.shape[1])
    hypotheses = search(
        logits,
        case["beam_size"],
        case["alpha"],
        case["eos_id"],
        [limit] * len(logits),
        ending_ranks=2 * case["beam_size"],
    )
    scores = np.array(case["expected_scores"])[:, ::-1]
    sequences = np.array(case["expected_sequences"])[:, ::-1]
    filled = scores > NEVER / 10
    np.testing.assert_allclose(hypotheses.scores[filled], scores[filled], rtol=2e-6, atol=2e-6)
    assert np.all(hypotheses.scores[~filled] <= EMPTY)
    for row in range(len(logits)):
        ours = [s.tolist() for s, ok in zip(hypotheses.tokens[row], filled[row], strict=True) if ok]
        theirs = [s.tolist() for s, ok in zip(sequences[row], filled[row], strict=True) if ok]
        if case["name"].startswith("random"):
            assert ours == theirs
            continue
        # Made of equal scores, which have no order: the sequences must be worth their scores.
        assert len(set(map(tuple, ours))) == len(ours)
        for place, tokens in enumerate(ours):
            body = tokens[: hypotheses.length[row, place]]
            total = plain_log_probability(logits[row], body)
            divisor = penalty(len(body), case["alpha"]) if case["eos_id"] in body else 1
            assert total / divisor == pytest.approx(scores[row, place], abs=1e-5)


def plain_log_probability(logits, tokens):
    pairs = zip([0, *tokens], tokens, strict=False)
    return sum(log_softmax(logits[t, a].tolist())[b] for t, (a, b) in enumerate(pairs))


def penalty(length, alpha):
    return ((5 + length) / 6) ** alpha


def log_softmax(row):
    top = max(row)
    total = math.log(sum(math.exp(x - top) for x in row)) + top
    return [x - total for x in row]


def plain_search(logits, beam, alpha, eos, limit, ending_ranks):
    """The twin: lists, sorting and no early stop."""
    live, ended = [((), 0.0)], []
    for position in range(limit):
        continuations = []
        for tokens, log_probability in live:
            scores = log_softmax(logits[position][tokens[-1] if tokens else 0].tolist())
            continuations += [((*tokens, t), log_probability + s) for t, s in enumerate(scores)]
        best = sorted(continuations, key=lambda item: -item[1])[: 2 * beam]
        for rank, (tokens, log_probability) in enumerate(best):
            if tokens[-1] == eos and rank < ending_ranks:
                ended.append((tokens, log_probability / penalty(position + 1, alpha)))
        ended = sorted(ended, key=lambda item: -item[1])[:beam]
        live = [item for item in best if item[0][-1] != eos][:beam]
    return ended or live


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5, -0.5])
@pytest.mark.parametrize("beam", [1, 2, 4])
@pytest.mark.parametrize("results", ["best", "all"])
def test_beam_search_equals_plain_python(alpha, beam, results):
    random = np.random.default_rng(beam)
    logits = random.normal(0, 2, (12, 7, 6, 6)).astype(np.float32)
    logits[:, :, :, 1] += random.uniform(-2, 2, (12, 1, 1))
    limits = random.integers(1, 8, 12)
    wanted = beam if results == "all" else 1
    hypotheses = search(logits, beam, alpha, 1, limits, wanted)
    for row, limit in enumerate(limits):
        expected = plain_search(logits[row], beam, alpha, 1, limit, beam)[:wanted]
        ours = [
            tuple(hypotheses.tokens[row, k, : hypotheses.length[row, k]].tolist())
            for k in range(len(expected))
        ]
        assert ours == [tokens for tokens, _ in expected]
        np.testing.assert_allclose(
            hypotheses.scores[row, : len(expected)], [score for _, score in expected], atol=1e-5
        )


def test_a_short_finished_hypothesis_does_not_stop_a_better_long_one():
    """EOS at once scores log 0.6 = -0.51; seven tokens score log 0.4 / 2 = -0.46 in the end, but
    log 0.4 = -0.92 by the penalty of the first step."""
    logits = np.full((1, 7, 3, 3), -30.0, np.float32)
    logits[0, 0, :, 1], logits[0, 0, :, 2] = np.log(0.6), np.log(0.4)
    logits[0, 1:6, :, 2] = 30.0
    logits[0, 6, :, 1] = 30.0
    hypotheses = search(logits, 2, 1.0, 1, results=1)
    assert hypotheses.tokens[0, 0].tolist() == [2, 2, 2, 2, 2, 2, 1]
    assert hypotheses.scores[0, 0] == pytest.approx(np.log(0.4) / 2, abs=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_wide_beam_is_exhaustive(alpha):
    """With a beam as wide as all hypotheses of the limit, the best of all is found."""
    logits = np.random.default_rng(5).normal(0, 1, (3, 4, 3, 3)).astype(np.float32)
    hypotheses = search(logits, 27, alpha, 1, results=1)
    for row in range(3):
        best = -math.inf
        for body in itertools.chain.from_iterable(
            itertools.product((0, 2), repeat=n) for n in range(4)
        ):
            tokens, total, previous = (*body, 1), 0.0, 0
            for position, token in enumerate(tokens):
                total += log_softmax(logits[row, position, previous].tolist())[token]
                previous = token
            best = max(best, total / penalty(len(tokens), alpha))
        assert hypotheses.scores[row, 0] == pytest.approx(best, abs=1e-5)


def test_beam_of_one_is_greedy():
    random = np.random.default_rng(9)
    logits = random.normal(0, 2, (20, 8, 7, 7)).astype(np.float32)
    limits = random.integers(1, 9, 20)
    hypotheses = search(logits, 1, 0.0, 1, limits)
    table = jnp.asarray(logits)

    def step(tokens, position, state):
        now = jax.lax.dynamic_index_in_dim(table, position, axis=1, keepdims=False)
        row = jnp.take_along_axis(now, tokens[:, None, None], axis=1)[:, 0]
        scores = jax.nn.log_softmax(row)
        return scores.argmax(1).astype(jnp.int32), scores.max(1), state

    greedy = greedy_search(step, (), jnp.asarray(limits), 8, 0, 1)
    np.testing.assert_array_equal(greedy.tokens, hypotheses.tokens[:, 0])
    np.testing.assert_array_equal(greedy.length, hypotheses.length[:, 0])
    np.testing.assert_allclose(greedy.log_probability, hypotheses.log_probability[:, 0], atol=1e-5)
    ended = [1 in row for row in np.asarray(greedy.tokens)]
    assert 2 < sum(ended) < 18  # both kinds of end occur


@pytest.mark.parametrize("sizes", [(), (5,), (6, 2)])
def test_repacking_does_not_change_hypotheses(sizes):
    """Tables as state, so that they follow their rows into smaller batches."""
    random = np.random.default_rng(11)
    logits = random.normal(0, 2, (14, 9, 6, 6)).astype(np.float32)
    limits = random.integers(0, 10, 14)

    def step(tokens, position, origin, tables):
        return table_step(tables)(tokens, position, origin, ())[0], tables

    def greedy(tokens, position, tables):
        scores = jax.nn.log_softmax(step(tokens[:, None], position, None, tables)[0][:, 0])
        return scores.argmax(1).astype(jnp.int32), scores.max(1), tables

    arguments = (jnp.asarray(logits), jnp.asarray(limits, jnp.int32))
    hypotheses = beam_search(
        step, *arguments, 0.6, beam=3, length=9, start=0, eos=1, results=3, sizes=sizes
    )
    expected = search(logits, 3, 0.6, 1, limits)
    jax.tree.map(np.testing.assert_array_equal, hypotheses, expected)
    searched = greedy_search(greedy, *arguments, 9, 0, 1, sizes)
    other = greedy_search(greedy, *arguments, 9, 0, 1)
    np.testing.assert_array_equal(searched.tokens, other.tokens)
    np.testing.assert_array_equal(searched.length, other.length)
    assert len(set(np.asarray(searched.length).tolist())) > 3
