"""Self-conditioning: passes after the first read the expected embedding of the last prediction."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode.candidates import LengthRule
from padir.decode.translate import Translator
from padir.ids import EOS, FIRST_PIECE, PAD
from padir.training.corruption import first_hypothesis
from padir.training.objective import batch_losses
from tests.decoding import LINES, tiny_decoder, tiny_model, tiny_run

SOME = LINES[1:5]


def expected_embedding(model, logits):
    return jax.nn.softmax(logits) @ model.embedder.embedding[...]


def pass_of(model, tokens, visible, cross, expected):
    x = model.embedder(tokens)
    if expected is not None:
        x = x + expected @ model.conditioning.kernel[...]
    return model.logits(model.decoder(x, visible, cross)[0])


def test_decoding_feeds_the_last_prediction_back(tmp_path):
    loaded = tiny_model(tmp_path / "model", "padir", self_conditioning=True)
    settings = {"remask": "none", "stop": "fixed"}
    rule = LengthRule(0.6, 1.0)
    translator = Translator(loaded, tiny_decoder("padir", rule, **settings), 3)
    model, refiner = loaded.model, translator.refiner
    size = loaded.vocabulary.size
    sources, differing = translator.encode(SOME), 0
    for source, row in zip(sources, translator.candidates(sources), strict=True):
        cross = model.encode(jnp.asarray([[*source, EOS]], jnp.int32)).cross
        starts = refiner.start(source, len(row), refiner.longest)
        for number, candidate in enumerate(row):
            count = len(candidate.tokens)
            tokens = blind = starts[number, :count].tolist()
            expected = None
            for _ in range(3):
                inputs = jnp.asarray([[*tokens, EOS]], jnp.int32)
                logits = pass_of(model, inputs, jnp.ones(inputs.shape, bool), cross, expected)
                expected = expected_embedding(model, logits)
                tokens = np.asarray(logits)[0, :-1, FIRST_PIECE:size].argmax(1) + FIRST_PIECE
                inputs = jnp.asarray([[*blind, EOS]], jnp.int32)
                logits = pass_of(model, inputs, jnp.ones(inputs.shape, bool), cross, None)
                blind = np.asarray(logits)[0, :-1, FIRST_PIECE:size].argmax(1) + FIRST_PIECE
            assert candidate.tokens == tuple(tokens.tolist())
            differing += candidate.tokens != tuple(blind.tolist())
    assert differing


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_the_second_stage_reads_what_the_first_expected(tmp_path, weight):
    objective = {"hide_stutter": False, "later_weight": weight}
    settings = {"self_conditioning": True, "objective": objective}
    loaded = tiny_model(tmp_path / "model", "padir", **settings)
    run, model, size = tiny_run("padir", **settings), loaded.model, loaded.vocabulary.size
    random = np.random.default_rng(0)
    target = jnp.asarray([[*random.integers(FIRST_PIECE, size, 5), EOS, PAD]], jnp.int32)
    source = jnp.asarray([[*random.integers(FIRST_PIECE, size, 4), EOS]], jnp.int32)
    key = jax.random.key(3)
    losses = batch_losses(model, run, size, source, target, key, None)
    corrupted = first_hypothesis(key, target, run.objective, size)
    cross, real = model.encode(source).cross, target != PAD
    first = pass_of(model, corrupted.tokens, real, cross, None)
    best = np.asarray(first)[..., FIRST_PIECE:size].argmax(-1) + FIRST_PIECE
    read = jnp.where((target == PAD) | (target == EOS), target, best)
    second = pass_of(model, read, real, cross, expected_embedding(model, first))
    mean = []
    for logits in (first, second):
        law = jax.nn.log_softmax(logits)
        mean.append(-float(sum(law[0, i, target[0, i]] for i in range(6))))
    by_hand = (mean[0] + weight * mean[1]) / (1 + weight)
    assert float(losses.token) == pytest.approx(by_hand, rel=1e-5)
