"""Pair measures and the probe against plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cosine, jensenshannon

from padir.analysis import dependence
from padir.decode.predict import entropy
from padir.model.decoder import Attentions

BATCH, LAYERS, HEADS, LENGTH, SOURCE = 2, 2, 3, 5, 6


@pytest.fixture
def attentions():
    generator = np.random.default_rng(0)

    def drawn(keys):
        weights = generator.gamma(0.3, size=(BATCH, LAYERS, HEADS, LENGTH, keys))
        return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)

    return Attentions(jnp.asarray(drawn(LENGTH)), jnp.asarray(drawn(SOURCE)))


@pytest.mark.parametrize("distance", [1, 3])
def test_measures_of_every_pair_equal_plain_numpy(attentions, distance):
    measures = dependence.measures(attentions, distance)
    self_attention, source = map(np.asarray, attentions)
    for index in np.ndindex(BATCH, LAYERS, HEADS, LENGTH - distance):
        head, left = index[:3], index[3]
        right = left + distance
        p, q = source[*head, left].astype(np.float64), source[*head, right].astype(np.float64)
        assert measures.self_right[index] == self_attention[*head, left, right]
        assert measures.self_left[index] == self_attention[*head, right, left]
        assert measures.total_variation[index] == pytest.approx(np.abs(p - q).sum() / 2, abs=1e-5)
        assert measures.cosine[index] == pytest.approx(cosine(p, q), abs=1e-5)
        assert measures.jensen_shannon[index] == pytest.approx(jensenshannon(p, q) ** 2, abs=1e-5)


def test_ranks_of_neighbours_equal_plain_sorting(attentions):
    ranks = dependence.ranks(attentions)
    self_attention, source = map(np.asarray, attentions)
    for sentence, left in np.ndindex(BATCH, LENGTH - 1):
        right = left + 1
        first, few, same, inside, common = [], [], [], [], []
        for head in np.ndindex(LAYERS, HEADS):
            for query, key in ((left, right), (right, left)):
                row = self_attention[sentence, *head, query]
                order = [k for k in np.argsort(-row) if k != query]
                first.append(order[0] == key)
                few.append(key in order[:3])
            a, b = (np.argsort(-source[sentence, *head, at])[:3].tolist() for at in (left, right))
            same.append(a[0] == b[0])
            inside += [a[0] in b, b[0] in a]
            common.append(len(set(a) & set(b)) / 3)
        expected = [np.mean(values) for values in (first, few, same, inside, common)]
        measured = [np.asarray(values)[sentence, left] for values in ranks[:5]]
        np.testing.assert_allclose(measured, expected, atol=1e-6)
        mean = source[sentence].mean(axis=(0, 1))
        a, b = (np.argsort(-mean[at])[:3].tolist() for at in (left, right))
        assert ranks.same_first_mean[sentence, left] == (a[0] == b[0])
        assert ranks.first_in_few_mean[sentence, left] == ((a[0] in b) + (b[0] in a)) / 2


def test_the_probe_is_the_mean_divergence_from_the_mixture():
    generator = np.random.default_rng(1)
    logits = generator.normal(size=(2, 3, 4, 7)).astype(np.float32) * 3
    weights = generator.dirichlet(np.ones(3), size=2).astype(np.float32)
    information = dependence.information(jnp.asarray(logits), jnp.asarray(weights))
    share = np.exp(np.asarray(jax.nn.log_softmax(logits), np.float64))
    for sentence, position in np.ndindex(2, 4):
        answers = share[sentence, :, position]
        mixture = weights[sentence] @ answers
        divergences = (answers * np.log(answers / mixture)).sum(axis=1)
        assert information[sentence, position] == pytest.approx(
            weights[sentence] @ divergences, abs=1e-5
        )


def test_the_probe_is_0_where_nothing_changes_and_at_most_the_entropy_of_the_draw():
    weights = jnp.asarray([[0.5, 0.25, 0.25]])
    same = jnp.tile(jnp.asarray([1.0, 2.0, 3.0]), (1, 3, 1, 1))
    assert dependence.information(same, weights)[0, 0] == 0
    # Also where float32 rounds, as it does over many tokens.
    many = np.random.default_rng(2).normal(size=(1, 1, 200, 300)).astype(np.float32) * 2
    assert not dependence.information(jnp.tile(many, (1, 3, 1, 1)), weights).any()
    # Each draw gives an answer of its own away.
    apart = 100.0 * jnp.eye(3)[None, :, None, :]
    assert dependence.information(apart, weights)[0, 0] == pytest.approx(1.5 * np.log(2), abs=1e-5)


def test_entropy_and_overlap_of_predictions_equal_those_by_hand():
    share = jnp.asarray([[[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [1.0, 0.0, 0.0]]])
    log = jnp.log(share)
    np.testing.assert_allclose(entropy(log)[0], [np.log(2), 1.5 * np.log(2), 0.0], atol=1e-6)
    np.testing.assert_allclose(dependence.overlap(log, 1)[0, :2], [0.5, 0.25], atol=1e-6)
    np.testing.assert_allclose(dependence.overlap(log, 2)[0, 0], 0.5, atol=1e-6)


def test_the_probe_reports_what_is_above_its_floor():
    """A hundred-thousandth of a nat is little, but no rounding."""
    shift = 0.01
    answers = np.float32([[shift, 0.0], [-shift, 0.0]])[None, :, None, :]
    information = jax.jit(dependence.information)(answers, np.float32([[0.5, 0.5]]))[0, 0]
    # Of two answers with odds that differ by little: p (1 - p) times the variance over 2.
    assert information == pytest.approx(0.25 * shift**2 / 2, rel=0.05)


def test_divergences_of_attention_that_is_all_but_equal_are_not_below_0():
    share = np.random.default_rng(0).dirichlet(np.ones(SOURCE), size=(BATCH, LAYERS, HEADS, 1))
    near = share * (1 + 1e-4 * np.random.default_rng(1).normal(size=(*share.shape[:3], 50, SOURCE)))
    source = (near / near.sum(-1, keepdims=True)).astype(np.float32)
    attention = np.full((BATCH, LAYERS, HEADS, 50, 50), 0.02, np.float32)
    measures = jax.jit(dependence.measures, static_argnums=1)
    divergences = measures(Attentions(attention, source), 1).jensen_shannon
    assert (np.asarray(divergences) >= 0).all()


@pytest.mark.parametrize("padding", [0, 4])
def test_two_source_tokens_are_the_first_of_both_with_any_padding(padding):
    weights = np.pad([[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]], ((0, 0), (0, padding)))
    source = np.tile(weights, (1, LAYERS, HEADS, 1, 1)).astype(np.float32)
    attention = np.full((1, LAYERS, HEADS, 3, 3), 1 / 3, np.float32)
    ranks = jax.jit(dependence.ranks)(Attentions(attention, source))
    assert ranks.same_first[0, :2].tolist() == [0, 0]
    assert ranks.first_in_few[0, :2].tolist() == [1, 1]
    assert ranks.few_common[0, :2].tolist() == [1, 1]
