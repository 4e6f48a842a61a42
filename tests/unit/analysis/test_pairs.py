"""Which pairs there are, in which order, and which of them stutter."""

from itertools import combinations

import numpy as np
from scipy.special import entr, rel_entr

from padir.analysis.attention import AnalysedHypothesis, Extractor
from padir.analysis.pairs import PREDICTORS, collect, repeats
from tests.decoding import LINES, tiny_decoder, tiny_model

DECODER = tiny_decoder("padir")
SENTENCES = [line for line in LINES if line]
LENGTHS = [5, 3, 7, 2, 6, 4, 4, 5, 8]


def test_every_pair_stands_once_in_order_with_its_own_numbers(tmp_path):
    loaded = tiny_model(tmp_path / "bundle", "padir", buckets=(4, 16))
    sources = loaded.vocabulary.encode(SENTENCES)
    chosen = [AnalysedHypothesis(length) for length in LENGTHS]
    extractor = Extractor(loaded, DECODER, 3, 2, sentences=4)
    pairs = collect(extractor, sources, chosen, 1)
    expected = [
        (s, i, d)
        for s, length in enumerate(LENGTHS)
        for i in range(length - 2)
        for d in range(1, min(3, length - 2 - i) + 1)
    ]
    assert list(zip(pairs.sentence, pairs.left, pairs.distance, strict=True)) == expected
    assert set(pairs.values) == {*PREDICTORS, "probe"} | {"self_right", "self_left"}
    adjacent = pairs.adjacent.sum()
    assert all(len(values) == adjacent for values in [*pairs.heads.values(), *pairs.ranks.values()])
    for name in ("self_right", "cosine"):
        means = pairs.heads[name].mean(axis=(1, 2))
        np.testing.assert_allclose(means, pairs.values[name][pairs.adjacent], rtol=1e-5)
    # One sentence alone has the same pairs.
    alone = collect(extractor, sources[4:5], chosen[4:5], 1)
    in_sentence = pairs.sentence == 4
    for name, values in alone.values.items():
        np.testing.assert_allclose(values, pairs.values[name][in_sentence], atol=1e-5)


def test_the_probe_replaces_one_token_and_reads_the_other(tmp_path):
    """Against a loop over positions, tokens and answers."""
    import jax
    import jax.numpy as jnp

    from padir.ids import FIRST_PIECE

    loaded = tiny_model(tmp_path / "bundle", "padir")
    sources = loaded.vocabulary.encode(SENTENCES[:2])
    chosen = [AnalysedHypothesis(5), AnalysedHypothesis(4)]
    extractor = Extractor(loaded, DECODER, 4, 3)
    _, made, cross = next(extractor.passes(sources, chosen, 2))
    probe = np.asarray(extractor.probe(cross, made.input))
    tokens, visible = made.input
    pieces = slice(FIRST_PIECE, loaded.vocabulary.size)

    def answers(read):
        logits = loaded.model.decode(read, cross, visible)[:, :, pieces]
        return np.exp(np.asarray(jax.nn.log_softmax(logits), np.float64))

    base = answers(tokens)
    for i in range(4):
        order = np.argsort(-base[:, i], axis=1)[:, :3]
        weights = np.take_along_axis(base[:, i], order, axis=1)
        weights /= weights.sum(axis=1, keepdims=True)
        drawn = [answers(jnp.asarray(tokens).at[:, i].set(order[:, k] + 8)) for k in range(3)]
        for row, length in enumerate((5, 4)):
            for j in range(length):
                laws = np.stack([sample[row, j] for sample in drawn])
                mixture = weights[row] @ laws
                expected = weights[row] @ (laws * np.log(laws / mixture)).sum(axis=1)
                if i < length:
                    np.testing.assert_allclose(probe[row, i, j], expected, atol=1e-5)


def test_values_equal_plain_loops(tmp_path):
    """Every number of every pair, from the pass's probabilities and weights alone."""
    loaded = tiny_model(tmp_path / "bundle", "padir")
    sources = loaded.vocabulary.encode(SENTENCES)
    chosen = [AnalysedHypothesis(length) for length in LENGTHS]
    extractor = Extractor(loaded, DECODER, 3, 2, sentences=5)
    pairs = collect(extractor, sources, chosen, 2)
    twin = {
        (s, i, j): (values, heads)
        for batch, made, cross in extractor.passes(sources, chosen, 2)
        for s, i, j, values, heads in plain_values(extractor, batch, made, cross)
    }
    places = list(zip(pairs.sentence, pairs.left, pairs.left + pairs.distance, strict=True))
    assert sorted(twin) == places
    for name, extracted in pairs.values.items():
        expected = np.array([twin[place][0][name] for place in places])
        np.testing.assert_allclose(extracted, expected, atol=2e-5, err_msg=name)
        # Nothing that is everywhere alike would show a wrong place.
        assert len(np.unique(expected)) > 2
    adjacent = [place for place in places if place[2] - place[1] == 1]
    for name, extracted in pairs.heads.items():
        expected = np.array([twin[place][1][name] for place in adjacent])
        np.testing.assert_allclose(extracted, expected, atol=2e-5, err_msg=name)


def plain_values(extractor, batch, made, cross):
    """Sentence, positions, values and values by layer and head of each pair of a batch."""
    answers = np.asarray(extractor.probe(cross, made.input))
    log_probability, (attention, source) = extractor.weights(cross, made.input)
    probability = np.exp(np.asarray(log_probability, np.float64))
    attention, source = np.asarray(attention, np.float64), np.asarray(source, np.float64)
    for row, sentence in enumerate(batch.indices):
        pieces = LENGTHS[sentence] - 1
        for i, j in combinations(range(pieces), 2):
            if j - i > extractor.distance:
                continue
            a, b = source[row, :, :, i], source[row, :, :, j]
            norms = np.sqrt((a**2).sum(-1) * (b**2).sum(-1))
            heads = {
                "self_right": attention[row, :, :, i, j],
                "self_left": attention[row, :, :, j, i],
                "total_variation": np.abs(a - b).sum(-1) / 2,
                "cosine": 1 - (a * b).sum(-1) / norms,
                "jensen_shannon": (rel_entr(a, (a + b) / 2) + rel_entr(b, (a + b) / 2)).sum(-1) / 2,
            }
            values = {name: numbers.mean() for name, numbers in heads.items()}
            p, q = probability[row, i], probability[row, j]
            values |= {
                "self_attention": (values["self_right"] + values["self_left"]) / 2,
                "surprisal": -np.log(min(p.max(), q.max())),
                "entropy": min(entr(p).sum(), entr(q).sum()),
                "overlap": np.minimum(p, q).sum(),
                "distance": j - i,
                "probe": (answers[row, i, j] + answers[row, j, i]) / 2,
            }
            yield sentence, i, j, values, heads


def test_a_repeat_that_a_reference_has_is_no_stutter(tmp_path):
    loaded = tiny_model(tmp_path / "bundle", "padir")
    sources = loaded.vocabulary.encode(SENTENCES[:2])
    pairs = collect(
        Extractor(loaded, DECODER, 2, 2),
        sources,
        [AnalysedHypothesis(6), AnalysedHypothesis(4)],
        1,
    )
    tokens = [(8, 8, 9, 9, 10), (9, 9, 8)]
    references = [[(9, 9, 11), (8, 10, 8)], [(8, 8), (9, 8, 9)]]
    repeated = repeats(pairs, tokens, references)
    assert repeated.stutter.tolist() == [True, False, False, False, True, False]
    assert repeated.licensed.tolist() == [False, False, True, False, False, False]
