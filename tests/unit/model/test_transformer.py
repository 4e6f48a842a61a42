"""The model's invariants: padding, causality, the cache, dropout, size, parameters by name."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from padir.config.objective import Objective
from padir.config.training import Architecture, TrainingRun
from padir.model.layers import dropout
from padir.model.parameters import build, from_arrays, table_size, to_arrays, warm_start
from padir.model.transformer import Transformer
from tests.training import parameter_count

SMALL = Architecture(
    width=16,
    heads=2,
    head_width=8,
    encoder_layers=2,
    decoder_layers=2,
    feed_forward_width=32,
    length_classes=12,
    max_positions=32,
)


def run(system: str, **architecture) -> TrainingRun:
    merged = SMALL.model_copy(update=architecture)
    return TrainingRun(system=system, architecture=merged, training={"buckets": [16]})


def ids(*rows: list[int]) -> jax.Array:
    return jnp.asarray(rows, jnp.int32)


def test_the_default_architecture_has_67_million_parameters() -> None:
    model = nnx.eval_shape(
        lambda: Transformer(Architecture(), 32_128, length_id=4, causal=False, rngs=nnx.Rngs(0))
    )
    assert parameter_count(model) == 66_997_760


def test_table_size_is_rounded_up() -> None:
    paper = Architecture(extra_ids=100, table_multiple=128)
    assert table_size(paper, 32_000) == 32_128
    assert table_size(Architecture(), 321) == 321


@pytest.mark.parametrize("system", ["ar", "padir"])
def test_padding_changes_nothing(system: str) -> None:
    model = build(run(system), 40)
    source, tokens = ids([9, 10, 11, 1]), ids([12, 13, 14, 15, 1])
    short = model.decode(tokens, model.encode(source).cross)
    wider_source = jnp.pad(source, ((0, 0), (0, 3)))
    wider = model.decode(jnp.pad(tokens, ((0, 0), (0, 4))), model.encode(wider_source).cross)
    np.testing.assert_allclose(wider[:, :5], short, atol=2e-5)


def test_parallel_decoder_sees_both_sides_and_causal_only_the_left() -> None:
    source = ids([9, 10, 1])
    tokens = ids([12, 13, 14, 15])
    changed = tokens.at[0, 2].set(20)
    for system, sees_right in (("padir", True), ("ar", False)):
        model = build(run(system), 40)
        cross = model.encode(source).cross
        difference = jnp.abs(model.decode(tokens, cross) - model.decode(changed, cross))
        assert (float(difference[0, 0].max()) > 1e-6) == sees_right
        assert float(difference[0, 3].max()) > 1e-6


def test_cached_steps_equal_the_full_pass() -> None:
    model = build(run("ar"), 40)
    cross = model.encode(ids([9, 10, 11, 1, 0], [12, 1, 0, 0, 0])).cross
    tokens = ids([3, 20, 21, 22], [3, 30, 31, 32])
    full = model.decode(tokens, cross)
    cache = model.decoder.empty_cache(2, 4)
    for position in range(4):
        logits, cache = model.step(tokens[:, position], jnp.int32(position), cache, cross)
        np.testing.assert_allclose(logits, full[:, position], atol=5e-6)


def test_absolute_position_enters_through_positional_attention_only() -> None:
    # With equal tokens everywhere, relative bias alone cannot tell positions apart: attention
    # mixes equal values. Positional attention keeps it so too: position is never a value.
    source, tokens = ids([9, 10, 1]), ids([12, 12, 12, 12])
    for positional in (True, False):
        model = build(run("padir", positional_attention=positional), 40)
        logits = model.decode(tokens, model.encode(source).cross)
        assert float(jnp.ptp(logits, axis=1).max()) < 1e-5


def test_input_positions_are_added_to_what_a_parallel_decoder_reads() -> None:
    settings = run("padir", input_positions=True)
    model = build(settings, 40, seed=1)
    cross = model.encode(ids([9, 10, 11, 1])).cross
    masks = model.embedder(ids([5, 5, 5, 5, 1]))
    visible = jnp.ones((1, 5), bool)
    with_positions, _ = model.decoder(masks, visible, cross)
    positions = model.decoder.positions(jnp.arange(5))[None]
    model.decoder.input_positions = False
    by_hand, _ = model.decoder(masks + positions, visible, cross)
    np.testing.assert_allclose(with_positions, by_hand, atol=1e-6)
    without, _ = model.decoder(masks, visible, cross)
    assert np.abs(np.asarray(with_positions - without)).max() > 0.1
    # A causal decoder has none, so that cached steps stay what the full pass is.
    causal = build(run("ar", input_positions=True), 40, seed=1)
    assert not causal.decoder.input_positions and not hasattr(causal.decoder, "positions")


def test_dropout_needs_a_key_and_keeps_the_mean() -> None:
    x = jnp.ones((200, 5, 40))
    np.testing.assert_array_equal(dropout(x, 0.5, None), x)
    dropped = dropout(x, 0.25, jax.random.key(0), shared_axis=1)
    # 8000 independent draws of 0 or 4/3: five standard errors of the mean.
    assert abs(float(dropped.mean()) - 1) < 5 * (0.25 / 0.75) ** 0.5 / 8000**0.5
    assert float(jnp.ptp(dropped, axis=1).max()) == 0.0


def test_dropout_moves_the_model_and_no_key_is_repeatable() -> None:
    model = build(run("padir"), 40)
    source, tokens = ids([9, 10, 11, 1]), ids([12, 13, 14, 1])
    cross = model.encode(source).cross
    quiet = model.decode(tokens, cross)
    np.testing.assert_array_equal(quiet, model.decode(tokens, cross))
    keys = jax.random.split(jax.random.key(1))
    noisy = [model.decode(tokens, cross, key=key) for key in keys]
    assert float(jnp.abs(noisy[0] - quiet).max()) > 1e-3
    assert float(jnp.abs(noisy[0] - noisy[1]).max()) > 1e-3


@pytest.mark.parametrize("dropped", [True, False])
def test_attention_weights_are_dropped_where_the_setting_says_so(dropped: bool) -> None:
    model = build(run("padir", dropout=0.5, attention_dropout=dropped), 40)
    attention = model.encoder.layers[0].attention
    x, bias = jax.random.normal(jax.random.key(2), (1, 4, 16)), jnp.zeros((1, 1, 4, 4))
    quiet, noisy = (attention(x, x, bias, key)[0] for key in (None, jax.random.key(1)))
    assert bool(jnp.array_equal(quiet, noisy)) != dropped


def test_an_id_past_the_table_embeds_to_zero() -> None:
    model = build(run("padir"), 40)
    np.testing.assert_array_equal(model.embedder(jnp.asarray([40, 1000])), 0.0)


def test_bfloat16_stays_near_float32_and_keeps_float32_parameters() -> None:
    full = build(run("padir"), 40)
    half = build(run("padir", compute_dtype="bfloat16"), 40)
    assert {leaf.dtype.name for leaf in jax.tree.leaves(nnx.state(half))} == {"float32"}
    source, tokens = ids([9, 10, 11, 1]), ids([12, 13, 14, 1])
    a = full.decode(tokens, full.encode(source).cross)
    b = half.decode(tokens, half.encode(source).cross)
    assert b.dtype == jnp.float32
    # Eight bits of mantissa through four residual blocks.
    assert float(jnp.abs(a - b).max()) < 0.1 * float(jnp.abs(a).max())


def test_gradients_of_a_frequent_token_are_summed_in_float32() -> None:
    # Added one by one in bfloat16, 4,096 equal gradients would come to 256 of them.
    model = build(run("padir", compute_dtype="bfloat16"), 40)
    tokens = jnp.full((4096, 1), 9, jnp.int32)
    gradient = nnx.grad(lambda model: jnp.sum(model.embedder(tokens).astype(jnp.float32)))(model)
    np.testing.assert_array_equal(gradient.embedder.embedding[...][9], 4096.0)


@pytest.mark.parametrize("tied", [True, False])
def test_logits_of_bfloat16_vectors_are_summed_and_kept_in_float32(tied) -> None:
    model = build(run("padir", compute_dtype="bfloat16", tied_output=tied), 40)
    hidden = jax.random.normal(jax.random.key(1), (2, 50, 16)).astype(jnp.bfloat16)
    kernel = model.embedder.embedding[...].T / 4 if tied else model.output.kernel[...]
    exact = np.asarray(hidden, np.float64) @ np.asarray(kernel.astype(jnp.bfloat16), np.float64)
    chosen = jnp.tile(jnp.arange(40), (2, 1))
    for logits in (model.logits(hidden), model.logits(hidden, chosen)):
        np.testing.assert_allclose(logits, exact, atol=1e-5)


def test_the_critic_is_a_head_of_its_own_that_trains_nothing_below() -> None:
    plain = build(run("padir"), 40)
    with pytest.raises(ValueError, match="no critic"):
        plain.critic_logits(jnp.zeros((1, 3, 16)))
    weighted = run("padir").model_copy(update={"objective": Objective(critic_weight=0.5)})
    model = build(weighted, 40)
    assert parameter_count(model) == parameter_count(plain) + 2 * 16
    source, tokens = ids([9, 10, 11, 1]), ids([12, 13, 14, 1])

    def kept(model: Transformer) -> jax.Array:
        hidden, _ = model.hidden(tokens, model.encode(source).cross)
        return jnp.sum(nnx.log_softmax(model.critic_logits(hidden))[..., 1])

    gradient = to_arrays(nnx.grad(kept)(model))
    moved = {name for name, values in gradient.items() if np.abs(values).max() > 0}
    assert moved == {"critic/kernel"}


def test_parameters_survive_the_way_through_named_arrays() -> None:
    original = build(run("padir"), 40, seed=3)
    arrays = to_arrays(nnx.state(original, nnx.Param))
    assert "encoder/layers/0/attention/query/kernel" in arrays
    again = from_arrays(run("padir"), 40, arrays)
    source, tokens = ids([9, 1]), ids([12, 13, 1])
    np.testing.assert_array_equal(
        again.decode(tokens, again.encode(source).cross),
        original.decode(tokens, original.encode(source).cross),
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda a: a.pop("embedder/embedding"), "is missing"),
        (lambda a: a.update(other=np.zeros(3)), "'other' does not belong"),
        (lambda a: a.update({"embedder/embedding": np.zeros((41, 16))}), r"\(41, 16\).*\(40, 16\)"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(spoil, message: str) -> None:
    arrays = to_arrays(nnx.state(build(run("ar"), 40), nnx.Param))
    spoil(arrays)
    with pytest.raises(ValueError, match=message):
        from_arrays(run("ar"), 40, arrays)


def test_a_parallel_bundle_is_no_autoregressive_model() -> None:
    arrays = to_arrays(nnx.state(build(run("padir"), 40), nnx.Param))
    with pytest.raises(ValueError, match="does not belong to this ar model"):
        from_arrays(run("ar"), 40, arrays)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("encoder/norm", None, "parameter 'encoder/norm' is missing; shape (2,) is needed"),
        ("embedder/table", np.zeros((3, 1)), "'embedder/table' has shape (3, 1); shape (3, 2) is"),
    ],
)
def test_a_warm_start_from_another_architecture_is_refused(name, array, message: str) -> None:
    fresh = {
        "encoder": {"norm": jnp.zeros(2)},
        "embedder": {"table": jnp.zeros((3, 2))},
        "decoder": {"norm": jnp.zeros(2)},
    }
    arrays = {"encoder/norm": np.ones(2), "embedder/table": np.ones((3, 2))}
    warm = warm_start(fresh, arrays | {"decoder/norm": np.ones(9)})
    assert warm["encoder"]["norm"].tolist() == [1, 1] and warm["decoder"]["norm"].tolist() == [0, 0]
    arrays[name] = array
    with pytest.raises(ValueError, match=re.escape(message)):
        warm_start(fresh, {name: array for name, array in arrays.items() if array is not None})
