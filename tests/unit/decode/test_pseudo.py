"""Pseudo-likelihood of hypotheses, and where it decides, with tiny random models."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode import constrain
from padir.decode.candidates import Candidate, LengthRule
from padir.decode.constrain import Constraints
from padir.decode.given import GAP, Speller
from padir.decode.predict import forbid, predictable
from padir.decode.pseudo import PseudoLikelihood
from padir.ids import EOS
from tests.decoding import LINES, tiny_translator

RULE = LengthRule(0.6, 1.0)
SOURCES = [line for line in LINES if line]


@pytest.fixture(scope="module", params=["padir", "disco"])
def translator(request, tmp_path_factory):
    return tiny_translator(tmp_path_factory.mktemp(request.param), request.param, 3, RULE)


def expected(translator, source, tokens):
    """The plain twin: one sentence without padding, token by token."""
    model, size = translator.loaded.model, translator.loaded.vocabulary.size
    encoded = model.encode(jnp.array([[*source, EOS]]))
    count = len(tokens) + 1
    visible = np.ones((1, count), bool)
    if translator.refiner.easy_first:
        visible = np.array([[[query != key for key in range(count)] for query in range(count)]])
    hidden, _ = model.hidden(jnp.array([[*tokens, EOS]]), encoded.cross, jnp.array(visible))
    table = predictable(translator.refiner.table_size, size, eos=False)
    scores = jax.nn.log_softmax(forbid(model.logits(hidden), table), axis=-1)[0]
    length = jax.nn.log_softmax(encoded.length_logits, axis=-1)[0, count - 1]
    return sum(float(scores[place, token]) for place, token in enumerate(tokens)), float(length)


def test_scores_are_those_of_each_hypothesis_alone(translator):
    sources = translator.encode(SOURCES)
    rows = [row[: 1 + number % 3] for number, row in enumerate(translator.candidates(sources))]
    scored = PseudoLikelihood(translator).score(sources, rows)
    for source, row, scores in zip(sources, rows, scored, strict=True):
        assert [each.tokens for each in scores] == [each.tokens for each in row]
        for candidate in scores:
            actual = (candidate.log_probability, candidate.length_log_probability)
            assert actual == pytest.approx(expected(translator, source, candidate.tokens), abs=1e-4)


def test_templates_are_ranked_by_pseudo_likelihood(translator):
    speller, sources = Speller(translator), translator.encode(SOURCES)
    lines = [speller.template(GAP.split("ba ___ ko ___"), "here")] * len(sources)
    for source, hypothesis in zip(
        sources, Constraints(translator, speller, lines, "here").translate(sources), strict=True
    ):
        plain = Candidate(hypothesis.tokens, hypothesis.length, 0.0, 0.0, 1)
        [[scored]] = PseudoLikelihood(translator).score([source], [[plain]])
        assert hypothesis.log_probability == pytest.approx(scored.log_probability, abs=1e-4)


@pytest.mark.parametrize("kind", ["template", "terms"])
def test_an_unconstrained_translation_that_fits_stays_unless_a_change_gains_the_margin(
    tmp_path, monkeypatch, kind
):
    translator = tiny_translator(tmp_path, "padir", 3, RULE)
    sentences = ["su ba", "ko", "re mi no"]
    speller, sources = Speller(translator), translator.encode(sentences)
    plain = [each.hypothesis for each in translator.translate(sentences, "here")]
    if kind == "template":
        holed = [" ".join(["___", *text.split()[1:]]) for text in plain]
        lines = [speller.template(GAP.split(text), "here") for text in holed]
    else:
        lines = [speller.terms(text.split()[0], "here") for text in plain]

    def translated(margin):
        monkeypatch.setattr(constrain, "MARGIN", margin)
        translations = Constraints(translator, speller, lines, "here").translate(sources)
        return [each.hypothesis for each in translations]

    assert translated(np.inf) == plain
    assert translated(-np.inf) != plain
