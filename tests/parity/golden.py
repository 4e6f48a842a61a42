"""Load the published model's parameters into ours."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
from flax import nnx

from padir.config.training import Architecture
from padir.model.transformer import Transformer

FIXTURES = Path(__file__).parents[1] / "fixtures"
ATTENTIONS = {
    "attention": ("attention", "attention_norm", "pre_attention_layer_norm"),
    "self_attention": ("self_attention", "self_norm", "pre_self_attention_layer_norm"),
    "positional_attention": (
        "positional_attention",
        "position_norm",
        "pre_positional_attention_layer_norm",
    ),
    "encoder_decoder_attention": (
        "cross_attention",
        "cross_norm",
        "pre_cross_attention_layer_norm",
    ),
}


def golden_model(name: str, positional: bool) -> tuple[Transformer, dict[str, np.ndarray]]:
    """The model of a fixture, and the fixture's arrays; every parameter is used."""
    data = dict(np.load(FIXTURES / f"{name}.npz"))
    architecture = Architecture(
        width=16,
        heads=2,
        head_width=8,
        encoder_layers=2,
        decoder_layers=2,
        feed_forward_width=32,
        positional_attention=positional,
        tied_output=False,
        length_classes=12,
        dropout=0.0,
    )
    model = Transformer(architecture, 50, length_id=47, causal=False, rngs=nnx.Rngs(0))
    unused = {key for key in data if key.startswith("param/")}

    def put(parameter: nnx.Param, path: str) -> None:
        value = data[f"param/{path}"]
        assert parameter[...].shape == value.shape, path
        parameter[...] = jnp.asarray(value)
        unused.remove(f"param/{path}")

    put(model.embedder.embedding, "token_embedder/embedding")
    put(model.output.kernel, "decoder/logits_dense/kernel")
    put(model.length_predictor.lengths.embedding, "length_predictor/length_embed/embedding")
    if positional:
        put(model.decoder.positions.embedding, "decoder/abs_pos_embed/embedding")
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        put(stack.position_bias.embedding, f"{side}/relpos_bias/rel_embedding")
        put(stack.norm.scale, f"{side}/{side}_norm/scale")
        for index, layer in enumerate(stack.layers):
            base = f"{side}/layers_{index}"
            for theirs, (ours, norm, their_norm) in ATTENTIONS.items():
                if not any(key.startswith(f"param/{base}/{theirs}/") for key in data):
                    continue
                put(getattr(layer, norm).scale, f"{base}/{their_norm}/scale")
                for part in ("query", "key", "value", "out"):
                    put(
                        getattr(getattr(layer, ours), part).kernel, f"{base}/{theirs}/{part}/kernel"
                    )
            put(layer.feed_forward_norm.scale, f"{base}/pre_mlp_layer_norm/scale")
            put(layer.feed_forward.wi.kernel, f"{base}/mlp/wi/kernel")
            put(layer.feed_forward.wo.kernel, f"{base}/mlp/wo/kernel")
    assert not unused, unused
    return model, data
