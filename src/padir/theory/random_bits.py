"""Cheap counter-based random words for samplers that draw many.

Threefry-2x32 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") with 13 rounds,
the fewest at which it passes the authors' BigCrush tests; JAX's own generator uses 20. Every word
is a pure function of (key, counter), so results depend on neither order nor device.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt32

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
PARITY = 0x1BD11BDA


def threefry_words(
    key: UInt32[Array, "2"],
    counter: UInt32[Array, "*shape"],
    block: UInt32[Array, ""] | int,
    rounds: int = 13,
) -> tuple[UInt32[Array, "*shape"], UInt32[Array, "*shape"]]:
    """Two random words per counter.

    Args:
        key: two words, from `jax.random.key_data` of a key that is used nowhere else.
        counter: first counter word, different wherever words must be independent.
        block: second counter word, for further words at the same place.
        rounds: 20 is the published default and equals JAX's generator.
    """
    schedule = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(PARITY))
    left = counter + schedule[0]
    right = jnp.asarray(block, jnp.uint32) + schedule[1]
    right = jnp.broadcast_to(right, left.shape)
    for turn in range(rounds):
        left = left + right
        shift = ROTATIONS[turn % 8]
        right = (right << shift) | (right >> (32 - shift))
        right = right ^ left
        if turn % 4 == 3:
            inject = turn // 4 + 1
            left = left + schedule[inject % 3]
            right = right + schedule[(inject + 1) % 3] + jnp.uint32(inject)
    return left, right


def key_words(key: Array) -> UInt32[Array, "2"]:
    """The two words of a JAX key."""
    return jax.random.key_data(key).astype(jnp.uint32).reshape(-1)[:2]
