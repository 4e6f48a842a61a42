"""Forward pass, critic, relative buckets and cross-entropy: the published code's numbers.

The tolerances are what float32 supports and were stated with the numbers: forward 2e-5 absolute,
loss 1e-5 relative, gradients 1e-4 relative to each tensor's largest entry.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from padir.config.training import Architecture
from padir.model.attention import relative_position_buckets
from padir.model.length import top_lengths
from padir.model.transformer import Transformer
from padir.training.objective import cross_entropy
from tests.parity.golden import FIXTURES, golden_model


@pytest.mark.parametrize(
    ("name", "positional"), [("forward_base", True), ("forward_no_positional_attention", False)]
)
def test_the_forward_pass_equals_the_published_arrays(name: str, positional: bool) -> None:
    model, data = golden_model(name, positional)
    source = jnp.asarray(data["in/encoder_input_tokens"])
    tokens = jnp.asarray(data["in/decoder_input_tokens"])
    memory, _, length_vector = model.memory(source)
    encoded = model.encode(source)
    hidden, attentions = model.hidden(tokens, encoded.cross)
    ours = {
        "encoded": memory,
        "length_embeddings": length_vector,
        "raw_length_predictions": encoded.length_logits,
        "decoder_embeddings": hidden,
        "decoder_logits": model.logits(hidden),
        "self_attentions": attentions.self_attention,
        "cross_attentions": attentions.cross_attention,
    }
    compared = 0
    for key, value in ours.items():
        if f"out/{key}" in data:
            np.testing.assert_allclose(value, data[f"out/{key}"], atol=2e-5, rtol=0, err_msg=key)
            compared += 1
    assert compared >= 5
    if "out/predicted_lengths" in data:
        lengths, _ = top_lengths(encoded.length_logits, 3)
        np.testing.assert_array_equal(lengths, data["out/predicted_lengths"])


def test_the_critics_logits_equal_the_published_arrays() -> None:
    data = np.load(FIXTURES / "rejecters.npz")
    model = Transformer(
        Architecture(width=16, heads=2, head_width=8, encoder_layers=1, decoder_layers=1),
        50,
        length_id=47,
        causal=False,
        critic=True,
        rngs=nnx.Rngs(0),
    )
    kernel = jnp.asarray(data["learned/param/rejecter/binary_projection/kernel"])
    assert model.critic.kernel[...].shape == kernel.shape
    model.critic.kernel[...] = kernel
    logits = model.critic_logits(jnp.asarray(data["in/decoder_embeddings"]))
    np.testing.assert_allclose(logits, data["learned/binary_logits"], atol=2e-5, rtol=0)
    kept = jnp.argmax(logits, axis=-1)
    np.testing.assert_array_equal(kept, data["learned/approved_mask"])


def test_every_distance_falls_into_its_published_bucket() -> None:
    table = json.loads((FIXTURES / "relative_position_buckets.json").read_text())
    buckets = relative_position_buckets(300, 300)
    for relative, bucket in table.items():
        shift = int(relative)
        query = max(0, -shift)
        assert buckets[query, query + shift] == bucket, relative


@pytest.mark.parametrize("number", range(7))
def test_cross_entropy_and_its_gradient_equal_the_published(number: int) -> None:
    case = json.loads((FIXTURES / "weighted_cross_entropy.json").read_text())[
        "weighted_cross_entropy"
    ][number]
    target = jnp.asarray(case["targets"])
    weights = jnp.ones(target.shape) if case["weights"] is None else jnp.asarray(case["weights"])
    factor = case["normalizing_factor"] or 1.0

    def total(logits: jax.Array) -> jax.Array:
        each = cross_entropy(logits, target, float(case["label_smoothing"]), float(case["z_loss"]))
        return jnp.sum(each * weights) / factor

    logits = jnp.asarray(case["logits"], jnp.float32)
    loss, gradient = jax.value_and_grad(total)(logits)
    np.testing.assert_allclose(loss, case["loss"], rtol=1e-5)
    expected = np.asarray(case["grad_logits"])
    np.testing.assert_allclose(gradient, expected, atol=1e-4 * np.abs(expected).max(), rtol=0)
