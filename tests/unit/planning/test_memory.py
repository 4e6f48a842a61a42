"""Memory on a device: what each setting does to the estimate, and the compiler's own count."""

import runpy
from pathlib import Path

import pytest

from padir.config.training import TrainingRun
from padir.planning.cost import parameter_counts
from padir.planning.memory import about_parameters, device_memory
from padir.training.step import Trainer

BENCHMARK = Path(__file__).resolve().parents[3] / "benchmarks" / "training_scale.py"
PARAMETERS, TABLE = 67_000_000, 32_128 * 512


def run(architecture: dict | None = None, **training) -> TrainingRun:
    return TrainingRun(architecture=architecture or {}, training=training)


def test_devices_and_micro_batches_share_tokens_and_sharding_shares_the_state():
    single = device_memory(run(), PARAMETERS, TABLE, 1)
    eight = device_memory(run(), PARAMETERS, TABLE, 8)
    assert (eight.state, eight.gradients) == (single.state, single.gradients)
    assert eight.logits * 8 == single.logits and eight.activations * 8 == single.activations
    assert device_memory(run(accumulate=8), PARAMETERS, TABLE, 1) == eight
    dealt = device_memory(run(shard_parameters=True), PARAMETERS, TABLE, 8)
    assert dealt.state == pytest.approx(single.state / 8, abs=8)
    assert dealt.logits == eight.logits


def test_state_and_gradients_by_hand():
    """Of 4 bytes a value. Adafactor's factored moments are few; Adam has 2 of each parameter."""
    adafactor = device_memory(run(), 1000, 0, 1)
    assert 4000 < adafactor.state < 5000
    adam = device_memory(TrainingRun(optimizer={"kind": "adam"}), 1000, 0, 1)
    assert adam.state == 3 * 4000
    # Of a micro-batch, and their sum.
    assert adam.gradients == adafactor.gradients == 2 * 4000
    assert device_memory(run(shard_parameters=True), 1000, 0, 8).gradients == 2 * 4000 // 8


def test_logits_by_hand():
    # 2048 x 128 tokens on 8 devices, 32,128 logits of 4 bytes, 3 copies.
    assert device_memory(run(), PARAMETERS, TABLE, 8).logits == 262_144 // 8 * 32_128 * 4 * 3


@pytest.mark.parametrize(("system", "attentions"), [("ar", 2), ("padir", 3)])
def test_activations_by_hand(system, attentions):
    sizes = {
        "width": 8, "heads": 2, "head_width": 4, "feed_forward_width": 16, "encoder_layers": 2,
        "decoder_layers": 1,
    }  # fmt: skip
    small = TrainingRun(
        system=system, architecture=sizes, training={"buckets": [32], "batch_tokens": 640}
    )
    # Normed input, four of the heads' width, and three weights of each head on each of 32 tokens.
    attention, feed_forward = 2 * 8 + 4 * 8 + 3 * 2 * 32, 3 * 16
    # Each attention of the decoder brings normed inputs of two blocks.
    values = 2 * (attention + 16 + feed_forward) + attentions * (attention + 16) + feed_forward
    assert device_memory(small, 0, 0, 1).activations == 640 * 4 * values


@pytest.mark.parametrize(
    "changed", [{}, {"tied_output": False}, {"max_positions": 2000}, {"activation": "gated_gelu"}]
)
@pytest.mark.parametrize("system", ["ar", "padir"])
def test_parameters_without_jax_follow_the_architecture(system, changed):
    sizes = {"width": 64, "heads": 4, "head_width": 16, "feed_forward_width": 256}
    model = TrainingRun(system=system, architecture=sizes | changed)
    exact, about = parameter_counts(model, 1000), about_parameters(model, 1000)
    assert about.parameters == pytest.approx(exact.parameters, rel=0.02)
    assert about.encoder == pytest.approx(exact.encoder, rel=0.02)
    assert about.table == pytest.approx(exact.table, rel=0.02)


def test_rematerialisation_and_half_precision_lower_activations_alone():
    plain = device_memory(run(), PARAMETERS, TABLE, 8)
    less = device_memory(run({"rematerialise": True}), PARAMETERS, TABLE, 8)
    half = device_memory(run({"compute_dtype": "bfloat16"}), PARAMETERS, TABLE, 8)
    assert less.activations < plain.activations / 3
    assert half.activations == plain.activations / 2
    assert plain.total - less.total == plain.activations - less.activations


@pytest.mark.slow
@pytest.mark.parametrize("system", ["ar", "padir"])
def test_a_token_s_memory_is_the_compiler_s_within_a_third(system):
    """Within a third: which of the intermediate values share memory is the compiler's choice."""
    sizes = {
        "width": 64, "heads": 4, "head_width": 16, "feed_forward_width": 256, "dropout": 0.1,
        "encoder_layers": 3, "decoder_layers": 3,
    }  # fmt: skip
    rows, length = (16, 64), 32
    model = TrainingRun(
        system=system,
        architecture=sizes,
        training={"buckets": [length], "batch_tokens": length},
    )
    gradient_memory = runpy.run_path(str(BENCHMARK))["gradient_memory"]
    trainer = Trainer(model, 2_000, 2_000, seed=0)
    few, many = (gradient_memory(trainer, 1, count, length) for count in rows)
    measured = (many - few) / (rows[1] - rows[0])
    single = device_memory(model, 0, 2_000 * 64, 1)
    assert (single.activations + single.logits) / measured == pytest.approx(1, abs=1 / 3)
