"""Length predictors: hand-written twins, what they learn, and which candidates come of them."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from hypothesis import given
from hypothesis import strategies as st

from padir.config.training import Architecture
from padir.model.length import PREDICTORS, LengthInput, top_lengths, window_lengths
from padir.model.parameters import to_arrays
from padir.model.transformer import Transformer
from padir.training.objective import length_cross_entropy

SMALL = Architecture(
    width=16,
    heads=2,
    head_width=8,
    encoder_layers=1,
    decoder_layers=1,
    feed_forward_width=32,
    length_classes=30,
    max_positions=32,
)
TRAINED_ON = {"token": True, "pooled": True, "affine": False, "fertility": False, "oracle": False}


def transformer(predictor: str, length_id: int = 4) -> Transformer:
    architecture = SMALL.model_copy(update={"length_predictor": predictor})
    return Transformer(architecture, 40, length_id=length_id, causal=False, rngs=nnx.Rngs(params=0))


def encoder_output(batch: int = 4, source: int = 7) -> tuple[LengthInput, np.ndarray]:
    """Random vectors, rows of different lengths, and these lengths."""
    random = np.random.default_rng(5)
    encoded = random.normal(size=(batch, source, SMALL.width)).astype(np.float32)
    tokens = random.integers(1, source + 1, batch)
    visible = np.arange(source)[None] < tokens[:, None]
    vector = random.normal(size=(batch, SMALL.width)).astype(np.float32)
    return LengthInput(jnp.asarray(encoded), jnp.asarray(visible), jnp.asarray(vector)), tokens


def squared_errors(length: np.ndarray) -> np.ndarray:
    classes = [[-((c + 1 - f) ** 2) / 2 for c in range(SMALL.length_classes)] for f in length]
    return np.array(classes, np.float64)


def put(parameter: nnx.Param, *values: float) -> np.ndarray:
    parameter[...] = jnp.asarray(values, jnp.float32)
    return np.array(values)


def test_affine_equals_plain_numbers() -> None:
    output, tokens = encoder_output()
    predictor = PREDICTORS["affine"](SMALL, nnx.Rngs(0))
    factor, offset = put(predictor.factor, 1.3), put(predictor.offset, -0.4)
    expected = squared_errors(factor * tokens + offset)
    np.testing.assert_allclose(predictor(output), expected, rtol=1e-5, atol=1e-5)


def test_fertility_equals_plain_numbers() -> None:
    output, tokens = encoder_output()
    predictor = PREDICTORS["fertility"](SMALL, nnx.Rngs(params=3))
    factor, offset = put(predictor.factor, 1.7), put(predictor.offset, 2.5)
    shift = np.random.default_rng(6).normal(size=4 * SMALL.width)
    put(predictor.mlp_offset, *shift)
    mlp, choices = (
        np.asarray(k.kernel[...], np.float64) for k in (predictor.mlp, predictor.choices)
    )
    lengths = []
    for row, count in enumerate(tokens):
        total = 0.0
        for position in range(count):
            x = np.asarray(output.encoded[row, position], np.float64) @ mlp + shift
            gelu = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
            weights = np.exp(gelu @ choices)
            weights /= weights.sum()
            total += 1 + sum(w * k for w, k in zip(weights, (-3, -2, -1, 0, 1, 2), strict=True))
        lengths.append(factor[0] * total + offset[0])
    expected = squared_errors(np.array(lengths))
    np.testing.assert_allclose(predictor(output), expected, rtol=2e-5, atol=2e-5)


def test_pooled_equals_plain_numbers() -> None:
    output, tokens = encoder_output()
    predictor = PREDICTORS["pooled"](SMALL, nnx.Rngs(params=3))
    table = np.asarray(predictor.lengths.embedding[...], np.float64)
    means = [
        np.asarray(row)[:n].mean(axis=0) for row, n in zip(output.encoded, tokens, strict=True)
    ]
    np.testing.assert_allclose(predictor(output), np.array(means) @ table.T, atol=2e-5)


def test_the_likeliest_length_of_a_line_is_the_line_rounded_inside_the_classes() -> None:
    predictor = PREDICTORS["affine"](SMALL, nnx.Rngs(0))
    visible = jnp.ones((1, 10), bool)
    output = LengthInput(jnp.zeros((1, 10, 16)), visible, None)
    for factor, likeliest in ((1.24, 12), (1.26, 13), (-3.0, 1), (50.0, 30)):
        put(predictor.factor, factor)
        put(predictor.offset, 0.0)
        assert int(top_lengths(predictor(output), 1)[0][0, 0]) == likeliest


@pytest.mark.parametrize("name", [name for name in PREDICTORS if name != "oracle"])
def test_each_predictor_learns(name: str) -> None:
    # Two kinds of source tokens with two and three target tokens; the kind stands in the vector.
    random = np.random.default_rng(8)
    kind = random.integers(0, 2, (64, 8))
    visible = np.arange(8)[None] < random.integers(1, 9, (64, 1))
    length = np.where(visible, kind + 2, 0).sum(axis=1)
    encoded = random.normal(size=(2, SMALL.width))[kind]
    vector = random.normal(size=(30, SMALL.width))[length]
    output = LengthInput(
        jnp.asarray(encoded, jnp.float32), jnp.asarray(visible), jnp.asarray(vector, jnp.float32)
    )
    target = jnp.asarray(length)
    model = PREDICTORS[name](SMALL, nnx.Rngs(params=1))
    graph, parameters = nnx.split(model)
    optimizer = optax.adam(0.03)

    @jax.jit
    def step(parameters, state):
        def loss(parameters):
            return jnp.mean(length_cross_entropy(nnx.merge(graph, parameters)(output), target))

        value, gradient = jax.value_and_grad(loss)(parameters)
        update, state = optimizer.update(gradient, state)
        return optax.apply_updates(parameters, update), state, value

    state, losses = optimizer.init(parameters), []
    for _ in range(60):
        parameters, state, value = step(parameters, state)
        losses.append(float(value))
    assert losses[-1] < 0.6 * losses[0], losses


@pytest.mark.parametrize("name", sorted(TRAINED_ON))
def test_padding_changes_no_length_and_the_encoder_learns_from_the_loss_or_not(name: str) -> None:
    """Padding changes nothing; the encoder learns from the loss or it does not; the flags."""
    model = transformer(name)
    source = jnp.asarray([[9, 10, 11, 1, 0], [12, 1, 0, 0, 0]], jnp.int32)
    encoded = model.encode(source)
    assert encoded.length_logits.shape == (2, 30)
    assert encoded.cross.bias.shape == (2, 1, 1, 5)
    assert model.length_oracle == (name == "oracle")
    wider = model.encode(jnp.pad(source, ((0, 0), (0, 4))))
    np.testing.assert_allclose(wider.length_logits, encoded.length_logits, atol=2e-4)
    # A batch is filled up with empty rows.
    empty = model.encode(jnp.zeros((1, 5), jnp.int32))
    assert bool(jnp.all(jnp.isfinite(empty.length_logits)))

    def loss(model: Transformer) -> jax.Array:
        logits = model.encode(source).length_logits
        return jnp.sum(length_cross_entropy(logits, jnp.asarray([5, 3])))

    gradient = to_arrays(nnx.grad(loss)(model))
    moved = {key.split("/")[0] for key, values in gradient.items() if np.abs(values).max() > 0}
    expected = {"length_predictor"} if name != "oracle" else set()
    assert moved == expected | ({"encoder", "embedder"} if TRAINED_ON[name] else set())


@pytest.mark.parametrize("name", sorted(TRAINED_ON))
def test_only_the_token_predictor_reads_a_length_token(name: str) -> None:
    source = jnp.asarray([[9, 10, 11, 1]], jnp.int32)
    memory, other_memory = (transformer(name, length_id=i).memory(source) for i in (4, 5))
    assert memory.encoded.shape == (1, 4, 16)
    assert (memory.length_vector is None) == (name != "token")
    same = bool(jnp.array_equal(memory.encoded, other_memory.encoded))
    assert same == (name != "token")


def test_a_causal_model_predicts_no_length() -> None:
    model = Transformer(SMALL, 40, length_id=4, causal=True, rngs=nnx.Rngs(params=0))
    assert model.encode(jnp.asarray([[9, 1]], jnp.int32)).length_logits is None
    assert not model.length_oracle


def test_top_lengths_are_distinct_and_ties_go_to_the_shorter() -> None:
    lengths, log_probability = top_lengths(jnp.asarray([[0.0, 2.0, 2.0, 1.0]]), 3)
    np.testing.assert_array_equal(lengths, [[2, 3, 4]])
    assert float(jnp.exp(log_probability).sum()) < 1
    with pytest.raises(ValueError, match="at most 4 exist"):
        top_lengths(jnp.zeros((1, 4)), 5)


def test_window_lengths_by_hand() -> None:
    never = -jnp.inf
    logits = jnp.asarray(
        [
            [0.0, 1.0, 5.0, 2.0, 4.0, 4.5],  # inside: the likelier neighbour first
            [5.0, 1.0, 1.0, 1.0, 1.0, 4.0],  # at the end: one side
            [never, 5.0, 1.0, never, 3.0, 4.0],  # past what is impossible
            [1.0, 0.0, 0.0, 0.0, 1.0, 1.0],  # ties: the shorter arg-max
            [never, never, never, never, 1.0, 2.0],  # not enough: the impossible come last
        ]
    )
    lengths, log_probability = window_lengths(logits, 4)
    expected = [[3, 4, 2, 5], [1, 2, 3, 4], [2, 3, 5, 6], [1, 2, 3, 4], [6, 5, 4, 3]]
    np.testing.assert_array_equal(lengths, expected)
    top, top_log_probability = top_lengths(logits, 6)
    for row in range(5):
        known = dict(zip(top[row].tolist(), top_log_probability[row].tolist(), strict=True))
        assert [known[n] for n in lengths[row].tolist()] == log_probability[row].tolist()
    with pytest.raises(ValueError, match="at most 6 exist"):
        window_lengths(logits, 7)


@given(
    st.lists(st.one_of(st.integers(-3, 3), st.none()), min_size=12, max_size=12),
    st.integers(1, 12),
)
def test_window_lengths_are_distinct_near_and_possible(scores, count: int) -> None:
    logits = np.array([-np.inf if score is None else float(score) for score in scores])
    possible = np.flatnonzero(np.isfinite(logits)).tolist()
    if not possible:
        return
    lengths, log_probability = window_lengths(jnp.asarray(logits[None], jnp.float32), count)
    classes = (np.asarray(lengths)[0] - 1).tolist()
    assert len(set(classes)) == count
    best = int(np.argmax(logits))
    ranked = sorted(possible, key=lambda c: (abs(c - best), -logits[c], c))
    known = min(count, len(possible))
    assert classes[:known] == ranked[:known]
    assert np.all(np.isfinite(log_probability[0, :known]))
    assert np.all(np.isneginf(log_probability[0, known:]))
