"""Attention taken out of a pass: it changes nothing, sums to 1, and is what NumPy makes of it."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from padir.analysis.attention import AnalysedHypothesis, Extractor
from padir.decode.candidates import Candidate, LengthRule
from padir.decode.predict import predictable
from padir.decode.refiner import predictor
from padir.decode.translate import Translator
from padir.ids import PAD
from padir.model.attention import HIDDEN, relative_position_buckets
from padir.model.parameters import to_arrays
from tests.decoding import LINES, tiny_decoder, tiny_model

SENTENCES = [line for line in LINES if line]
RULE = LengthRule(0.0, 1.0)


def chosen_of(translator, sources):
    """The candidates that decoding chooses, and where they stand."""
    candidates = translator.candidates(sources)
    chosen = [AnalysedHypothesis.best(ranked, translator.rule) for ranked in candidates]
    return [ranked[each.number] for ranked, each in zip(candidates, chosen, strict=True)], chosen


SYSTEMS = {
    "padir": {"remask": "stutter"},
    "cmlm": {"remask": "linear", "update": "hidden", "start": "mask", "replacement": "mask"},
    "disco": {"context": "easy_first", "start": "mask"},
    "sundae": {"temperature": 0.7, "update": "share", "update_share": 0.5},
}


@pytest.mark.parametrize("system", ["padir", "cmlm"])
@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("weights", ["float32", "bfloat16"])
def test_analysis_extracts_the_pass_that_decoding_made(tmp_path, system, passes, weights):
    """Tokens of the pass, where it is asked for them, are those that decoding ends with."""
    loaded = tiny_model(tmp_path / "bundle", system, buckets=(8, 16))
    settings = SYSTEMS[system] | {"stop": "fixed", "weights": weights}
    decoder = tiny_decoder(system, RULE, **settings)
    translator = Translator(loaded, decoder, passes)
    sources = translator.encode(SENTENCES)
    hypotheses, chosen = chosen_of(translator, sources)
    seen = set()
    for batch, decoder_pass, _ in Extractor(loaded, decoder, 3, 2).passes(sources, chosen, passes):
        read, token = np.asarray(decoder_pass.input.tokens), np.asarray(decoder_pass.token)
        for row, index in enumerate(batch.indices):
            tokens = hypotheses[index].tokens
            after = (
                token[row] if system == "padir" else np.where(read[row] == 5, token[row], read[row])
            )
            np.testing.assert_array_equal(after[: len(tokens)], tokens)
            # PaDIR's score is the last pass's; rounded weights change it by hundredths.
            if system == "padir":
                score = float(np.asarray(decoder_pass.log_probability)[row][: len(tokens)].sum())
                assert score == pytest.approx(hypotheses[index].log_probability, abs=1e-4)
            seen.add(index)
    assert seen == set(range(len(SENTENCES)))


@pytest.mark.slow
def test_a_pass_reads_what_each_drawn_candidate_became_before(tmp_path):
    """Start tokens and draws are of the seed, the sentence and the candidate's number."""
    loaded = tiny_model(tmp_path / "bundle", "sundae")
    decoder = tiny_decoder("sundae", RULE, temperature=2.0)
    translator = Translator(loaded, decoder, 1)
    sources = translator.encode(SENTENCES[:3])
    candidates = translator.candidates(sources)
    extractor = Extractor(loaded, decoder, 1, 2)
    for number in range(3):
        chosen = [AnalysedHypothesis(ranked[number].length, number) for ranked in candidates]
        for batch, decoder_pass, _ in extractor.passes(sources, chosen, 2):
            for row, index in enumerate(batch.indices):
                tokens = candidates[index][number].tokens
                read = np.asarray(decoder_pass.input.tokens)[row, : len(tokens)]
                np.testing.assert_array_equal(read, tokens)


def test_the_first_of_equal_candidates_is_analysed():
    equal = [Candidate((8,) * length, length, -2.0, 0.0, 1) for length in (3, 4, 5)]
    better = replace(equal[2], log_probability=-1.0)
    assert AnalysedHypothesis.best(equal, RULE) == (3, 0)
    assert AnalysedHypothesis.best([*equal, better, better], RULE) == (5, 3)


@pytest.mark.slow
@pytest.mark.parametrize("system", sorted(SYSTEMS))
def test_attention_analysis_is_batch_invariant_for_every_system(tmp_path, system):
    loaded = tiny_model(tmp_path / "bundle", system)
    decoder = tiny_decoder(system, RULE, **SYSTEMS[system])
    translator = Translator(loaded, decoder, 2)
    sources = translator.encode(SENTENCES)
    _, chosen = chosen_of(translator, sources)
    together = Extractor(loaded, decoder, 2, 2)
    alone = Extractor(loaded, decoder, 2, 2, sentences=1)
    for batch, decoder_pass, _ in together.passes(sources, chosen, 2):
        for row, index in enumerate(batch.indices):
            single = next(alone.passes([sources[index]], [chosen[index]], 2))[1]
            length = chosen[index].length
            np.testing.assert_array_equal(
                decoder_pass.input.tokens[row, :length], single.input.tokens[0, :length]
            )
            for ours, theirs in zip(decoder_pass.near, single.near, strict=True):
                np.testing.assert_allclose(
                    np.asarray(ours)[row, 0, : length - 2],
                    np.asarray(theirs)[0, 0, : length - 2],
                    atol=1e-5,
                )


def test_asking_for_weights_changes_no_answer_and_they_sum_to_one(tmp_path):
    loaded = tiny_model(tmp_path / "bundle", "padir")
    extractor = Extractor(loaded, tiny_decoder("padir", RULE), 2, 2)
    sources = loaded.vocabulary.encode(SENTENCES)
    allowed = predictable(
        loaded.model.embedder.embedding.shape[0], loaded.vocabulary.size, eos=False
    )
    for _, decoder_pass, cross in extractor.passes(
        sources, [AnalysedHypothesis(5)] * len(sources), 2
    ):
        answers, weights = extractor.weights(cross, decoder_pass.input)
        plain = loaded.model.decode(decoder_pass.input.tokens, cross, decoder_pass.input.visible)
        plain = jax.nn.log_softmax(np.where(allowed, plain, -np.inf), axis=-1)
        np.testing.assert_allclose(answers, plain, atol=1e-5)
        for kind in weights:
            np.testing.assert_allclose(np.asarray(kind).sum(axis=-1), 1.0, atol=1e-5)


def coupled_predictions(tmp_path, **settings):
    """Pass by pass: the coupling that decoders read; log-probabilities and attention weights."""
    loaded = tiny_model(tmp_path / "bundle", "padir", decoder_layers=2)
    decoder = tiny_decoder("padir", RULE, remask="coupled", **settings)
    extractor = Extractor(loaded, decoder, 2, 2)
    sources = loaded.vocabulary.encode(SENTENCES)
    allowed = predictable(
        loaded.model.embedder.embedding.shape[0], loaded.vocabulary.size, eos=False
    )
    predictions = []
    for _, decoder_pass, cross in extractor.passes(
        sources, [AnalysedHypothesis(6)] * len(sources), 2
    ):
        tokens = decoder_pass.input.tokens
        predict = predictor(loaded.model, cross, tokens.shape[1], allowed, decoder.settings)
        keys = jax.numpy.zeros((*tokens.shape, 2), np.uint32)
        coupling = np.asarray(predict(tokens, decoder_pass.input.visible, keys).coupling)
        law, weights = extractor.weights(cross, decoder_pass.input)
        assert np.all(coupling[:, 0] == 0)
        predictions.append((coupling, np.asarray(law, np.float64), weights))
    assert predictions
    return predictions


def test_the_coupling_that_decoders_read_is_the_overlap_of_the_last_layers_attention(tmp_path):
    for coupling, _, weights in coupled_predictions(tmp_path, joint_reach=2):
        layers = np.asarray(weights.cross_attention).mean(axis=2)
        for distance in (1, 2):
            least = np.minimum(layers[:, :, distance:], layers[:, :, :-distance]).sum(axis=-1)
            np.testing.assert_allclose(coupling[:, distance:, distance - 1], least[:, 1], atol=1e-5)
            # The first layer's would be other numbers.
            assert np.abs(least[:, 1] - least[:, 0]).max() > 0.01


def test_predictions_couple_by_what_they_share_or_by_the_smaller_entropy(tmp_path):
    for coupling, law, _ in coupled_predictions(tmp_path / "one", coupled_by="predictions"):
        shared = np.minimum(np.exp(law[:, 1:]), np.exp(law[:, :-1])).sum(axis=-1)
        np.testing.assert_allclose(coupling[:, 1:, 0], shared, atol=1e-5)
        assert shared.min() < 0.9
    for coupling, law, _ in coupled_predictions(tmp_path / "two", coupled_by="entropy"):
        entropy = -(np.exp(law) * np.where(np.isfinite(law), law, 0)).sum(axis=-1)
        least = np.minimum(entropy[:, 1:], entropy[:, :-1])
        np.testing.assert_allclose(coupling[:, 1:, 0], least, atol=1e-5)
        assert least.max() > 0.01


def test_weights_are_those_of_a_plain_twin(tmp_path):
    """One layer in NumPy, float64: self-attention, positional attention, cross-attention."""
    loaded = tiny_model(tmp_path / "bundle", "padir")
    sources = loaded.vocabulary.encode(SENTENCES)[:4]
    extractor = Extractor(loaded, tiny_decoder("padir", RULE), 2, 2)
    _, decoder_pass, cross = next(
        extractor.passes(sources, [AnalysedHypothesis(n) for n in (5, 4, 6, 3)], 1)
    )
    _, weights = extractor.weights(cross, decoder_pass.input)
    self_weights, cross_weights = twin(
        loaded, np.asarray(decoder_pass.input.tokens), jax.device_get(cross)
    )
    used = np.asarray(decoder_pass.input.tokens) != PAD
    for row in range(4):
        rows = used[row]
        np.testing.assert_allclose(
            weights.self_attention[row, 0][:, rows], self_weights[row][:, rows], atol=1e-4
        )
        np.testing.assert_allclose(
            weights.cross_attention[row, 0][:, rows], cross_weights[row][:, rows], atol=1e-4
        )


def twin(loaded, tokens, cross):
    """Attention weights of the only decoder layer: [B, H, L, L] and [B, H, L, S]."""
    from flax import nnx

    arrays = {
        k: np.asarray(v, np.float64)
        for k, v in to_arrays(nnx.state(loaded.model, nnx.Param)).items()
    }
    prefix = next(k for k in arrays if k.endswith("self_norm/scale")).removesuffix(
        "self_norm/scale"
    )
    heads, width = 2, 8
    batch, length = tokens.shape

    def norm(x, name):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * arrays[f"{prefix}{name}/scale"]

    def split(x):
        return x.reshape(*x.shape[:-1], heads, width).swapaxes(-2, -3)

    def softmax(x):
        x = np.exp(x - x.max(-1, keepdims=True))
        return x / x.sum(-1, keepdims=True)

    def project(x, name):
        return split(x @ arrays[f"{prefix}{name}/kernel"])

    table = next(v for k, v in arrays.items() if "position_bias" in k)
    visible = tokens != PAD
    visible[:, 0] = True
    pairs = visible[:, None, :, None] & visible[:, None, None, :]
    bias = table[:, relative_position_buckets(length, length)][None] + np.where(pairs, 0, HIDDEN)

    def attend(name, queries, keys, values):
        weights = softmax(
            project(queries, f"{name}/query") @ project(keys, f"{name}/key").swapaxes(-1, -2) + bias
        )
        mixed = (
            (weights @ project(values, f"{name}/value")).swapaxes(1, 2).reshape(batch, length, -1)
        )
        return mixed @ arrays[f"{prefix}{name}/out/kernel"], weights

    x = arrays["embedder/embedding"][tokens]
    normed = norm(x, "self_norm")
    update, self_weights = attend("self_attention", normed, normed, normed)
    x = x + update
    positions = norm(arrays["decoder/positions/embedding"][:length], "position_norm")
    positions = np.broadcast_to(positions, x.shape)
    x = x + attend("positional_attention", positions, positions, x)[0]
    queries = project(norm(x, "cross_norm"), "cross_attention/query")
    cross_weights = softmax(
        queries @ np.asarray(cross.keys[0], np.float64).swapaxes(-1, -2) + cross.bias
    )
    return self_weights, cross_weights
