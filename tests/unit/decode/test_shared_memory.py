"""Several hypotheses of one source read its projected memory together, with the same result."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.model.decoder import CrossMemory
from padir.model.parameters import build
from tests.decoding import tiny_run


def test_shared_memory_equals_repeated_memory():
    model = build(tiny_run("padir"), 18, seed=3)
    cross = model.encode(jnp.array([[8, 9, 1, 0], [10, 11, 12, 1]])).cross
    tokens = jax.random.randint(jax.random.key(0), (6, 5), 8, 16)
    hidden, attentions = model.hidden(tokens, cross)
    repeated = CrossMemory(*jax.tree.map(lambda array: jnp.repeat(array, 3, axis=0), tuple(cross)))
    expected, expected_attentions = model.hidden(tokens, repeated)
    np.testing.assert_allclose(hidden, expected, atol=1e-5)
    for ours, theirs in zip(attentions, expected_attentions, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_several_hypotheses_need_to_know_what_they_may_read():
    model = build(tiny_run("ar"), 18)
    cross = model.encode(jnp.array([[8, 1]])).cross
    cache = model.decoder.empty_cache(1, 8)
    with pytest.raises(ValueError, match="2 hypotheses per source need readable"):
        model.decoder.step(jnp.zeros((1, 2, 16)), jnp.int32(0), cache, cross)
