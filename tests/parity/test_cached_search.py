"""Cached search with a model equals full causal passes over the same tokens."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode.autoregressive import Memory, Searcher, beam_step, target_limit
from padir.decode.predict import predictable
from padir.decode.search import beam_search
from padir.ids import EOS, START
from tests.decoding import LINES, tiny_decoder, tiny_model

LENGTH = 16


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    return tiny_model(tmp_path_factory.mktemp("ar") / "bundle", "ar")


@pytest.fixture(scope="module")
def full_pass(loaded):
    """Log-probabilities [LENGTH, V] of the next token after each of START and the tokens."""
    run = jax.jit(
        lambda source, inputs: loaded.model.decode(inputs, loaded.model.encode(source).cross)
    )
    size = loaded.vocabulary.size

    def scores(source, tokens):
        padded = np.zeros((1, 10), np.int32)
        padded[0, : len(source) + 1] = [*source, EOS]
        inputs = np.zeros((1, LENGTH + 1), np.int32)
        inputs[0, : len(tokens) + 1] = [START, *tokens]
        logits = np.array(run(padded, inputs)[0], np.float64)
        logits[:, ~predictable(logits.shape[1], size, eos=True)] = -np.inf
        return logits - np.log(np.exp(logits).sum(1, keepdims=True))

    return scores


@pytest.fixture(scope="module")
def decoded(loaded):
    """By search, pairs of source and what was found for it."""
    return {search: pairs(loaded, search) for search in ("greedy", "beam")}


def pairs(loaded, search):
    found_pairs = []
    settings = tiny_decoder(search).settings
    searcher = Searcher(loaded.model, loaded.spec.run, settings, loaded.vocabulary.size, 0.6)
    given = [ids for ids in loaded.vocabulary.encode(LINES) if ids]
    for batch, hypotheses in searcher.batches(given):
        for index, (hypothesis,) in zip(batch.indices, hypotheses, strict=True):
            found_pairs.append((given[index], hypothesis))
    return found_pairs


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_log_probability_is_that_of_a_full_pass(full_pass, decoded, search):
    count = 0
    for source, hypothesis in decoded[search]:
        tokens = (
            [*hypothesis.tokens, EOS]
            if hypothesis.length > len(hypothesis.tokens)
            else list(hypothesis.tokens)
        )
        scores = full_pass(source, tokens)
        expected = sum(scores[i, token] for i, token in enumerate(tokens))
        assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)
        assert hypothesis.passes == hypothesis.length == len(tokens)
        count += 1
    assert count == sum(map(bool, LINES))


def test_greedy_takes_the_best_token_of_each_full_pass(full_pass, decoded):
    for source, hypothesis in decoded["greedy"]:
        tokens = []
        while len(tokens) < target_limit(len(source) + 1, LENGTH) and EOS not in tokens:
            tokens.append(int(full_pass(source, tokens)[len(tokens)].argmax()))
        assert hypothesis.tokens == tuple(token for token in tokens if token != EOS)


def test_every_live_hypothesis_of_a_beam_reads_its_own_past(loaded, full_pass):
    """Hypotheses change places at each step, and the cache is never reordered."""
    model, beam, length = loaded.model, 4, 7
    sources = [[8, 9, 10], [11, 12], [13, 14, 15, 8], [9, 15], [12, 12, 10], [10]]
    padded = np.zeros((len(sources), 10), np.int32)
    for row, source in enumerate(sources):
        padded[row, : len(source) + 1] = [*source, EOS]
    # Pieces only, so that nothing ends and all live hypotheses are returned.
    allowed = predictable(loaded.vocabulary.size + 2, loaded.vocabulary.size, eos=False)

    @jax.jit
    def run(source):
        cross = model.encode(source).cross
        memory = Memory(model.decoder.empty_cache(len(sources), beam * length), cross)
        limits = jnp.full(len(sources), length)
        return beam_search(
            beam_step(model, allowed), memory, limits, 0.0,
            beam=beam, length=length, start=START, eos=EOS,
        )  # fmt: skip

    cached = jax.tree.map(np.asarray, run(padded))
    for row, source in enumerate(sources):
        assert len(set(map(tuple, cached.tokens[row].tolist()))) == beam
        for tokens, log_probability in zip(
            cached.tokens[row].tolist(), cached.log_probability[row], strict=True
        ):
            scores = full_pass(source, tokens)[:length].copy()
            # Without EOS, the other tokens share its probability.
            scores -= np.log1p(-np.exp(scores[:, EOS : EOS + 1]))
            expected = sum(scores[i, token] for i, token in enumerate(tokens))
            assert log_probability == pytest.approx(expected, abs=1e-3)
