"""One pass of a model as the loop calls it: what may be predicted, the critic, the draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.config.decoder import RefinementDecoder
from padir.decode.candidates import LengthRule
from padir.decode.predict import predictable
from padir.decode.refiner import predictor
from padir.ids import EOS
from tests.decoding import tiny_model, tiny_translator

TOKENS = np.array([[8, 9, 10, 11, EOS]], np.int32)
KEYS = jnp.zeros((1, 5, 2), jnp.uint32)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """A model with a critic."""
    folder = tmp_path_factory.mktemp("critic") / "model"
    return tiny_model(folder, "padir", objective={"critic_weight": 0.5})


def one_pass(loaded, shortlist=None, barred=None, **settings):
    """The prediction of a pass over `TOKENS`, and its logits at every id."""
    model = loaded.model
    size = model.embedder.embedding.shape[0]
    cross = model.encode(jnp.asarray([[9, 8, EOS]])).cross
    visible = jnp.ones(TOKENS.shape, bool)
    allowed = predictable(size, loaded.vocabulary.size, eos=False)
    decoder = RefinementDecoder(stop="fixed", **settings)
    predict = predictor(model, cross, TOKENS.shape[1], allowed, decoder, barred)
    more = () if shortlist is None else (jnp.asarray(shortlist),)
    hidden, _ = model.hidden(jnp.asarray(TOKENS), cross, visible)
    return predict(jnp.asarray(TOKENS), visible, KEYS, *more), hidden, model.logits(hidden)


def test_the_critic_says_how_likely_a_token_is_right(loaded):
    prediction, hidden, _ = one_pass(loaded, remask="critic")
    right = jax.nn.softmax(loaded.model.critic_logits(hidden))[..., 1]
    np.testing.assert_allclose(prediction.critic_probability, right, atol=1e-5)
    assert np.abs(np.asarray(right) - 0.5).max() > 0.01
    assert np.all(one_pass(loaded)[0].critic_probability == 1)


def test_of_a_shortlist_the_likeliest_that_may_stand_at_a_position_is_taken(loaded):
    _, _, logits = one_pass(loaded)
    logits, size = np.asarray(logits)[0], logits.shape[-1]
    shortlist = np.array([[8, 10, 11, 13, 15]], np.int32)
    barred = np.zeros((1, 5, size), bool)
    # At every other position the likeliest of the shortlist.
    for place in (0, 2):
        barred[0, place, shortlist[0, logits[place, shortlist[0]].argmax()]] = True
    prediction, _, _ = one_pass(loaded, shortlist, jnp.asarray(barred), joint="neighbours")
    for place in range(5):
        ids = [token for token in shortlist[0] if not barred[0, place, token]]
        law = jax.nn.log_softmax(logits[place, ids])
        best = int(np.argmax(law))
        assert prediction.token[0, place] == ids[best]
        np.testing.assert_allclose(prediction.log_probability[0, place], law[best], atol=1e-5)
        order = np.argsort(-np.asarray(law), kind="stable")[:3]
        assert prediction.top_tokens.tokens[0, place].tolist() == [ids[i] for i in order]
    free, _, _ = one_pass(loaded, shortlist)
    assert np.any(np.asarray(free.token) != np.asarray(prediction.token))


def test_candidates_of_a_sentence_draw_from_streams_of_their_own(tmp_path):
    """Else restarts from masks would all become the same."""
    translator = tiny_translator(tmp_path, "padir", 1, LengthRule(), restarts=2)
    ((_, hypotheses, _),) = translator.refiner.initial([[8, 9], [9, 8]], 1)
    keys = np.asarray(translator.refiner.arguments(translator.loaded.model, hypotheses)[5])
    # Two sentences, three lengths, two starts of each.
    assert keys.shape == (12, 2) and len({tuple(key) for key in keys.tolist()}) == 12
