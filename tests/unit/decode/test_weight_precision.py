"""Decoders whose weights are rounded to bfloat16."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from padir.config.base import short_digest
from padir.config.decoder import decoder_digest
from padir.decode.candidates import LengthRule
from padir.decode.export import exported
from padir.decode.load import load
from padir.decode.pseudo import PseudoLikelihood
from padir.decode.translate import Translator
from padir.model.parameters import flat_names
from tests.decoding import LINES, tiny_decoder, tiny_model

RULE = LengthRule(0.6, 1.0)
KINDS = ("beam", "greedy", "padir", "cmlm")
SYSTEMS = {"beam": "ar", "greedy": "ar"}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {kind: tiny_model(folder / kind, SYSTEMS.get(kind, kind)) for kind in KINDS}


def candidates(loaded, kind: str, **settings):
    passes = None if kind in SYSTEMS else 1
    translator = Translator(loaded, tiny_decoder(kind, RULE, **settings), passes)
    rows = translator.candidates(translator.encode([line for line in LINES if line]))
    return [candidate for row in rows for candidate in row]


def test_matrices_are_rounded_and_nothing_else(models):
    loaded = models["padir"]
    names = flat_names(nnx.state(loaded.model))
    plain, rounded = (
        jax.tree.leaves(nnx.to_pure_dict(nnx.state(loaded.network(weights))))
        for weights in ("float32", "bfloat16")
    )
    halved = {name for name, leaf in zip(names, rounded, strict=True) if leaf.dtype == jnp.bfloat16}
    assert halved == {name for name in names if name.endswith(("kernel", "columns"))}
    for leaf, before in zip(rounded, plain, strict=True):
        np.testing.assert_array_equal(leaf, before.astype(leaf.dtype))
        assert before.dtype == jnp.float32


@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_are_near_those_in_float32_and_not_the_same(models, kind):
    plain = candidates(models[kind], kind)
    rounded = candidates(models[kind], kind, weights="bfloat16")
    same_tokens = [
        (one.log_probability, other.log_probability)
        for one, other in zip(plain, rounded, strict=True)
        if one.tokens == other.tokens
    ]
    assert len(same_tokens) >= len(plain) // 2
    before, after = np.array(same_tokens).T
    # A term has eight bits and a sum few terms: a hundredth of a nat for each of up to 12 tokens.
    np.testing.assert_allclose(after, before, atol=0.12)
    assert (before != after).any()


def test_the_digest_names_the_precision_only_where_it_is_not_float32():
    plain, rounded = (
        tiny_decoder("padir", **more).settings for more in ({}, {"weights": "bfloat16"})
    )
    assert "weights" not in plain.model_dump(mode="json")
    assert decoder_digest(plain) != decoder_digest(rounded)
    explicit = tiny_decoder("padir", weights="float32").settings
    assert decoder_digest(plain) == decoder_digest(explicit)


def test_the_digest_names_the_precision_of_a_reranker_that_is_not_in_float32():
    plain, rounded = (
        tiny_decoder("padir", reranker="tiny_ar", **more).settings
        for more in ({}, {"weights": "bfloat16"})
    )
    before = {**rounded.model_dump(mode="json"), "reranker": {"training": "t", "seed": 0}}
    assert decoder_digest(rounded, "t", 0) != short_digest(before)
    before = {**plain.model_dump(mode="json"), "reranker": {"training": "t", "seed": 0}}
    assert decoder_digest(plain, "t", 0) == short_digest(before)


def test_a_model_is_rounded_once(models):
    loaded = load(models["padir"].folder)
    assert loaded.network("bfloat16") is loaded.network("bfloat16")
    assert loaded.network("float32") is loaded.model


@pytest.mark.parametrize("kind", ["padir", "cmlm"])
def test_an_exported_program_has_the_rounded_matrices(models, kind):
    def text(weights: str) -> str:
        decoder = tiny_decoder(kind, RULE, weights=weights)
        translator = Translator(models[kind], decoder, 2)
        return exported(translator).mlir_module()

    assert "bf16" in text("bfloat16")
    assert "bf16" not in text("float32")


def test_rounded_pseudo_likelihoods_are_those_of_the_rounded_model(models):
    """Editing ranks by them what the rounded model made."""
    loaded = models["padir"]
    translators = {
        weights: Translator(loaded, tiny_decoder("padir", RULE, weights=weights), 2)
        for weights in ("float32", "bfloat16")
    }
    sources = translators["float32"].encode([line for line in LINES if line])
    rows = translators["float32"].candidates(sources)
    scores = {
        weights: np.array(
            [
                [candidate.log_probability for candidate in row]
                for row in PseudoLikelihood(translator).score(sources, rows)
            ]
        )
        for weights, translator in translators.items()
    }
    np.testing.assert_allclose(scores["bfloat16"], scores["float32"], atol=0.12)
    assert (scores["bfloat16"] != scores["float32"]).any()
