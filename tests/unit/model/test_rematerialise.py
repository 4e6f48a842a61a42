"""Computing layers twice changes no value and keeps little for the backward pass."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from padir.model.parameters import build
from tests.training import tiny_run

pytestmark = pytest.mark.slow

LAYERS = {"encoder_layers": 2, "decoder_layers": 2}


def loss_and_start(system: str, rematerialise: bool):
    """A loss with dropout as a function of the parameters, and the parameters."""
    run = tiny_run(system)
    more = {**LAYERS, "rematerialise": rematerialise, "dropout": 0.2}
    run = run.model_copy(update={"architecture": run.architecture.model_copy(update=more)})
    graph, parameters = nnx.split(build(run, 32))
    ids = jnp.asarray([[9, 8, 7, 1, 0, 0], [7, 7, 8, 9, 9, 1]], jnp.int32)

    def loss(state):
        model = nnx.merge(graph, state)
        encoder_key, decoder_key = jax.random.split(jax.random.key(3))
        encoded = model.encode(ids, encoder_key)
        return jnp.mean(model.decode(ids, encoded.cross, key=decoder_key) ** 2)

    return loss, parameters


def kept_bytes(loss, parameters) -> int:
    """Bytes of all that the backward pass reads but the parameters themselves."""
    residuals = jax.eval_shape(lambda state: jax.vjp(loss, state)[1], parameters)
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(residuals))


@pytest.mark.parametrize("system", ["ar", "padir", "disco"])
def test_the_same_gradient_from_less_that_is_kept(system):
    plain, parameters = loss_and_start(system, False)
    again, same = loss_and_start(system, True)
    first = jax.jit(jax.value_and_grad(plain))(parameters)
    second = jax.jit(jax.value_and_grad(again))(same)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    parameter_bytes = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(parameters))
    kept, less = (
        kept_bytes(plain, parameters) - parameter_bytes,
        kept_bytes(again, same) - parameter_bytes,
    )
    assert less < kept / 2
