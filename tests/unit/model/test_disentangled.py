"""The disentangled decoder: a position sees what its row of the mask shows, in every layer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from padir.config.training import Architecture
from padir.model.transformer import Transformer
from tests.training import parameter_count

LENGTH = 6


def transformer(causal: bool = False, **settings) -> Transformer:
    architecture = Architecture(
        width=16,
        heads=2,
        head_width=8,
        encoder_layers=1,
        decoder_layers=3,
        feed_forward_width=32,
        length_classes=12,
        max_positions=32,
        **{"disentangled": True, **settings},
    )
    return Transformer(architecture, 40, length_id=4, causal=causal, rngs=nnx.Rngs(params=1))


@pytest.fixture(scope="module")
def model() -> Transformer:
    return transformer()


SOURCE = jnp.asarray([[9, 10, 11, 1], [12, 13, 1, 0]], jnp.int32)
TOKENS = jnp.asarray([[20, 21, 22, 23, 24, 1], [25, 26, 27, 28, 1, 0]], jnp.int32)


def moved(model: Transformer, mask: jax.Array, key: int, dropout_key=None) -> np.ndarray:
    """[B, L]: how far outputs move when the token at position `key` changes."""
    cross = model.encode(SOURCE).cross
    changed = TOKENS.at[:, key].set(33)
    before, after = (model.decode(t, cross, mask, dropout_key) for t in (TOKENS, changed))
    return np.abs(np.asarray(before - after)).max(axis=2)


@pytest.mark.parametrize("seed", range(4))
def test_a_hidden_token_never_matters_and_a_visible_one_does(model, seed: int) -> None:
    # Sparse to dense, so that some rows show nothing at all.
    share = (0.1, 0.3, 0.6, 0.9)[seed]
    mask = jax.random.bernoulli(jax.random.key(seed), share, (2, LENGTH, LENGTH))
    visible = np.asarray(mask)
    for key in range(LENGTH):
        moves = moved(model, mask, key)
        assert np.all(moves[~visible[:, :, key]] == 0)
        assert np.all(moves[visible[:, :, key]] > 1e-5)


def test_a_position_never_sees_its_own_hidden_token(model) -> None:
    # Through others it would, were keys and values contextualised: all others see it.
    mask = jnp.broadcast_to(~jnp.eye(LENGTH, dtype=bool), (2, LENGTH, LENGTH))
    for key in range(LENGTH):
        moves = moved(model, mask, key)
        assert np.all(moves[:, key] == 0)
        assert np.all(np.delete(moves, key, axis=1) > 1e-5)
        assert np.all(moved(model, mask, key, jax.random.key(7))[:, key] == 0)


def test_an_ordinary_decoder_leaks_through_its_layers() -> None:
    # What the tests above would show of a decoder that is not disentangled.
    mask = jnp.broadcast_to(~jnp.eye(LENGTH, dtype=bool), (2, LENGTH, LENGTH))
    assert np.all(moved(transformer(disentangled=False), mask, 2)[:, 2] > 1e-5)


def test_first_layer_equals_plain_numbers() -> None:
    model = transformer()
    layer = model.decoder.layers[0]
    scale = np.random.default_rng(2).uniform(0.5, 2, 16)
    layer.self_norm.scale[...] = jnp.asarray(scale, jnp.float32)
    _, attentions = model.hidden(TOKENS[:1], model.encode(SOURCE[:1]).cross)

    def projected(x: np.ndarray, kernel: jax.Array) -> np.ndarray:
        normed = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6) * scale
        return (normed @ np.asarray(kernel, np.float64)).reshape(LENGTH, 2, 8)

    positions = np.asarray(model.decoder.positions.embedding[:LENGTH], np.float64)
    tokens = np.asarray(model.embedder.embedding[...], np.float64)[np.asarray(TOKENS[0])]
    query = projected(positions, layer.self_attention.query.kernel[...])
    key = projected(tokens + positions, layer.self_attention.key.kernel[...])
    bias = np.asarray(model.decoder.position_bias(LENGTH, LENGTH)[0])
    weights = np.exp(np.einsum("qhd,khd->hqk", query, key) + bias)
    weights /= weights.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(attentions.self_attention[0, 0], weights, atol=1e-5)


def test_equal_tokens_at_different_positions_give_different_outputs(model) -> None:
    tokens = jnp.full((2, LENGTH), 20, jnp.int32)
    logits = model.decode(tokens, model.encode(SOURCE).cross)
    assert float(jnp.abs(logits[:, 1:] - logits[:, :-1]).max(axis=2).min()) > 1e-3


def test_pairs_of_one_row_equal_the_row(model) -> None:
    cross = model.encode(SOURCE).cross
    row = TOKENS != 0
    pairs = row[:, :, None] & row[:, None, :]
    np.testing.assert_array_equal(
        model.decode(TOKENS, cross, row), model.decode(TOKENS, cross, pairs)
    )
    # The first position is opened in a row, never in pairs.
    hidden = row.at[:, 0].set(False)
    np.testing.assert_array_equal(
        model.decode(TOKENS, cross, hidden), model.decode(TOKENS, cross, row)
    )
    assert np.all(moved(model, pairs.at[:, :, 0].set(False), 0) == 0)


def test_pairs_hide_the_right_from_a_causal_decoder_too() -> None:
    causal = transformer(causal=True, disentangled=False)
    full = jnp.ones((2, LENGTH, LENGTH), bool)
    np.testing.assert_array_equal(moved(causal, full, 3)[:, :3], 0.0)


def test_positions_are_embedded_and_positional_attention_is_never_there() -> None:
    # Whether positional attention is asked for or not: it would leak, so it is not there.
    assert parameter_count(transformer()) == parameter_count(
        transformer(positional_attention=False)
    )
    table = 32 * 16
    plain = transformer(disentangled=False, positional_attention=False)
    assert parameter_count(transformer()) == parameter_count(plain) + table


def test_an_autoregressive_model_is_refused() -> None:
    with pytest.raises(ValueError, match=r"architecture\.disentangled .* autoregressive"):
        transformer(causal=True)
