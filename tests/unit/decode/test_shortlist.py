"""A shortlist: passes after the first choose from the tokens that came near in the first one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pydantic import ValidationError

from padir.config.decoder import RefinementDecoder
from padir.decode.candidates import LengthRule
from padir.decode.refine import nearest_to_likeliest
from padir.decode.translate import Translator
from padir.files import InputError
from padir.ids import EOS, FIRST_PIECE
from tests.decoding import LINES, WORDS, tiny_decoder, tiny_model

RULE = LengthRule(0.6, 1.0)
SOME = LINES[2:5]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    words = (*WORDS, *(f"{word}{more}" for word in WORDS for more in WORDS))
    return tiny_model(tmp_path_factory.mktemp("models") / "model", "padir", words=words)


def candidates(loaded, passes: int, **settings):
    translator = Translator(loaded, tiny_decoder("padir", RULE, **settings), passes)
    return translator, translator.candidates(translator.encode(SOME))


def test_the_shortlist_holds_the_ids_nearest_to_the_likeliest_of_a_position():
    random = np.random.default_rng(0)
    logits = random.normal(0, 1, (6, 5, 200)).astype(np.float32)
    counts = random.random((6, 5)) < 0.7
    logits[:, :, :3] = -np.inf  # as where prediction is not allowed
    logits[~counts] *= 1e30  # padding, whatever it holds
    ids = np.asarray(nearest_to_likeliest(jnp.asarray(logits), jnp.asarray(counts), 9))
    for row in range(6):
        behind = [
            min(logits[row, i].max() - logits[row, i, token] for i in np.flatnonzero(counts[row]))
            for token in range(200)
        ]
        assert ids[row].tolist() == sorted(np.argsort(behind)[:9])
        assert set(logits[row].argmax(1)[counts[row]]) <= set(ids[row].tolist())


@pytest.mark.parametrize("joint", ["none", "neighbours"])
def test_a_shortlist_of_the_whole_vocabulary_changes_nothing(loaded, joint):
    size = loaded.model.embedder.embedding.shape[0]
    _, plain = candidates(loaded, 3, joint=joint)
    _, listed = candidates(loaded, 3, joint=joint, shortlist=size)
    for row, others in zip(plain, listed, strict=True):
        for candidate, other in zip(row, others, strict=True):
            assert (candidate.tokens, candidate.passes) == (other.tokens, other.passes)
            assert candidate.log_probability == pytest.approx(other.log_probability, abs=1e-4)


def step_by_step(model, size: int, source, start, count: int, passes: int):
    """Tokens and summed log-probability of one candidate: no padding, no loop."""
    cross = model.encode(jnp.asarray([[*source, EOS]], jnp.int32)).cross
    tokens, ids = start, np.arange(FIRST_PIECE, size)
    for _ in range(passes):
        inputs = jnp.asarray([[*tokens, EOS]], jnp.int32)
        hidden, _ = model.hidden(inputs, cross, jnp.ones(inputs.shape, bool))
        logits = np.asarray(model.logits(hidden))[0, :-1, ids].T
        log_probability = np.asarray(jax.nn.log_softmax(logits, axis=-1))
        tokens = ids[log_probability.argmax(1)].tolist()
        behind = (logits.max(1, keepdims=True) - logits).min(0)
        ids = np.sort(ids[np.argsort(behind, kind="stable")[:count]])
    return tuple(tokens), float(log_probability.max(1).sum())


def test_later_passes_choose_from_the_shortlist_of_the_first(loaded):
    settings = {"remask": "none", "stop": "fixed", "shortlist": 12}
    translator, listed = candidates(loaded, 2, **settings)
    _, plain = candidates(loaded, 2, **settings | {"shortlist": 0})
    size, refiner = loaded.vocabulary.size, translator.refiner
    assert size - FIRST_PIECE > 12
    sources, differing = translator.encode(SOME), 0
    for source, row, others in zip(sources, listed, plain, strict=True):
        starts = refiner.start(source, len(row), refiner.longest)
        for start, candidate, other in zip(starts, row, others, strict=True):
            begun = start[: candidate.length - 1].tolist()
            tokens, score = step_by_step(loaded.model, size, source, begun, 12, 2)
            assert candidate.tokens == tokens
            assert candidate.log_probability == pytest.approx(score, abs=1e-4)
            differing += abs(candidate.log_probability - other.log_probability) > 1e-2
    assert differing


def test_one_pass_has_no_shortlist(loaded):
    assert candidates(loaded, 1)[1] == candidates(loaded, 1, shortlist=12)[1]


def test_a_shortlist_holds_a_token_of_each_position_and_sums_nothing(loaded):
    with pytest.raises(InputError, match="shortlist is 11; this model writes up to 12 tokens"):
        _ = candidates(loaded, 2, shortlist=11)
    with pytest.raises(ValidationError, match="shortlist 64 with replacement summed"):
        RefinementDecoder(shortlist=64, replacement="summed", stop="fixed")


def test_no_pass_returns_the_start_with_a_shortlist_too(loaded):
    decoder = tiny_decoder("padir", RULE, shortlist=12)
    refiner = Translator(loaded, decoder, 1).refiner
    for _, hypotheses, _ in refiner.initial([[8, 9, 10]], 0):
        tokens, log_probability, passes = map(np.asarray, refiner.decode(hypotheses))
        rows = zip(tokens[0], hypotheses.start[0], hypotheses.lengths[0], strict=True)
        for row, start, length in rows:
            assert row[: length - 1].tolist() == start[: length - 1].tolist()
        assert not passes.any() and not log_probability.any()
