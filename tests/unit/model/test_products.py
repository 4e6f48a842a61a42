"""Products of vectors and matrices: the same numbers, however they lie in memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from padir.model.layers import FEW_ROWS, Embedding, product

ROWS = (1, 2, FEW_ROWS, FEW_ROWS + 1)


def drawn(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape), jnp.float32)


@pytest.mark.parametrize("rows", ROWS)
def test_product_is_that_of_numpy_for_any_number_of_vectors(rows: int) -> None:
    x, kernel = drawn(rows, 1, 7), drawn(7, 5)
    exact, size = (
        np.einsum("blk,kn->bln", *(np.asarray(array, np.float64) for array in arrays))
        for arrays in ((x, kernel), (abs(x), abs(kernel)))
    )
    # The bound for a float32 sum of seven terms in any order; where they cancel, a bound relative
    # to the sum would depend on the order.
    assert (abs(product(x, kernel) - exact) <= 7 * np.finfo(np.float32).eps * size).all()


@pytest.mark.parametrize("rows", ROWS)
def test_a_bfloat16_matrix_multiplies_rounded_vectors_and_sums_in_float32(rows: int) -> None:
    x, kernel = drawn(rows, 1, 70), drawn(70, 50).astype(jnp.bfloat16)
    exact, size = (
        np.einsum("blk,kn->bln", *(np.asarray(array, np.float64) for array in arrays))
        for arrays in (
            (x.astype(jnp.bfloat16), kernel),
            (abs(x.astype(jnp.bfloat16)), abs(kernel)),
        )
    )
    bound = 70 * np.finfo(np.float32).eps * size
    for multiply in (product, jax.jit(product)):
        result = multiply(x, kernel)
        assert result.dtype == jnp.float32
        assert (abs(result - exact) <= bound).all()
    # Neither unrounded vectors nor sums in bfloat16 would do.
    unrounded = np.asarray(x, np.float64) @ np.asarray(kernel, np.float64)
    coarse = jnp.asarray(exact, jnp.bfloat16).astype(jnp.float32)
    assert (abs(unrounded - exact) > bound).any() and (abs(coarse - exact) > bound).any()


@pytest.mark.parametrize("rows", ROWS)
def test_gradients_of_a_product_are_those_of_numpy(rows: int) -> None:
    x, kernel, weight = drawn(rows, 7), drawn(7, 5), drawn(rows, 5)
    by_x, by_kernel = jax.grad(lambda x, k: jnp.sum(weight * product(x, k)), (0, 1))(x, kernel)
    np.testing.assert_allclose(by_x, weight @ kernel.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(by_kernel, x.T @ weight, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rows", ROWS)
def test_kept_columns_change_no_logits(rows: int) -> None:
    table = Embedding(9, 4, jnp.dtype(jnp.float32), nnx.Rngs(params=jax.random.key(0)))
    x = drawn(rows, 4)
    before = table.attend(x)
    table.keep_columns()
    np.testing.assert_allclose(table.attend(x), before, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(before, x @ table.embedding[...].T, rtol=1e-5, atol=1e-6)
