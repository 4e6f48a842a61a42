"""1-Gibbs on the periodic square lattice with 32 chains per machine word, for theory_samplers.py.

All sites of one checkerboard colour are conditionally independent given the other colour, so a
sweep resamples one colour, then the other: a systematic-scan block dynamics whose every step is
a product law. Each word holds one site of 32 chains; a site's new spin is U < P(+1 | neighbours)
with U of 24 random bits (the precision of a float32 uniform), compared bit by bit for 32 chains
at once. Random words come from Threefry-2x32 (Salmon et al. 2011) with 13 rounds, the fewest that
pass the authors' BigCrush tests; JAX uses 20. Each word is a pure function of (key, counter).
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt32

PRECISION = 24
CHAINS_PER_WORD = 32
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
        key: two words of a key that is used nowhere else.
        counter: first counter word.
        block: second counter word.
        rounds: 20 is the published default and JAX's choice.
    """
    schedule = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(PARITY))
    left = counter + schedule[0]
    right = jnp.asarray(block, jnp.uint32) + schedule[1]
    right = jnp.broadcast_to(right, left.shape)
    for number in range(rounds):
        left = left + right
        shift = ROTATIONS[number % 8]
        right = (right << shift) | (right >> (32 - shift))
        right = right ^ left
        if number % 4 == 3:
            inject = number // 4 + 1
            left = left + schedule[inject % 3]
            right = right + schedule[(inject + 1) % 3] + jnp.uint32(inject)
    return left, right


def key_words(key: Array) -> UInt32[Array, "2"]:
    """The two words of a JAX key."""
    return jax.random.key_data(key).astype(jnp.uint32).reshape(-1)[:2]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LatticeState:
    """Packed spins of both colours.

    Attributes:
        colours: shape (2, B / 32, rows, columns / 2); bit c of a word is chain c's spin.
            Site (r, j) of colour 0 is column 2 j + r mod 2, of colour 1 column 2 j + 1 - r mod 2.
    """

    colours: UInt32[Array, "2 words rows half"]


@dataclass(frozen=True)
class LatticeGibbs:
    """Checkerboard Gibbs sampling; `step` is one sweep, rows * columns updates per chain.

    Attributes:
        rows, columns: even numbers, at least 4.
        coupling, field: J and h, equal everywhere.
    """

    rows: int
    columns: int
    coupling: float
    field: float = 0.0

    def init(self, key: Array, chains: int) -> LatticeState:
        """Independent fair spins; the number of chains must be a multiple of 32."""
        shape = (2, chains // CHAINS_PER_WORD, self.rows, self.columns // 2)
        return LatticeState(jax.random.bits(key, shape, jnp.uint32))

    def thresholds(self) -> list[int]:
        """P(+1 | c plus neighbours) * 2^24 for c = 0..4, rounded."""
        fields = [2 * (self.coupling * (2 * c - 4) + self.field) for c in range(5)]
        # A limit of 2^24 has no 24-bit form: the largest number below it differs by 6e-8.
        largest = 2**PRECISION - 1
        return [min(largest, round(2**PRECISION / (1 + math.exp(-f)))) for f in fields]

    def step(self, key: Array, state: LatticeState) -> LatticeState:
        """One sweep: colour 0, then colour 1."""
        first_key, second_key = jax.random.split(key)
        new0 = self._resample(key_words(first_key), state.colours[1], 0)
        new1 = self._resample(key_words(second_key), new0, 1)
        return LatticeState(jnp.stack([new0, new1]))

    def _resample(self, key: Array, other: Array, colour: int) -> Array:
        """New spins of one colour given the other."""
        up, down = jnp.roll(other, 1, axis=1), jnp.roll(other, -1, axis=1)
        # The fourth neighbour is on the left in every second row and on the right in the others.
        leftward = (jnp.arange(self.rows) % 2 == colour)[None, :, None]
        side = jnp.where(leftward, jnp.roll(other, 1, axis=2), jnp.roll(other, -1, axis=2))
        pair_a, pair_b = up ^ down, other ^ side
        both_a, both_b = up & down, other & side
        odd = pair_a ^ pair_b
        carry = pair_a & pair_b
        # Bit set where exactly 0, 1, 2, 3 or 4 neighbours are plus.
        counts = (
            ~(up | down | other | side),
            odd & ~(both_a | both_b),
            (carry ^ both_a ^ both_b) & ~odd,
            odd & (both_a | both_b),
            both_a & both_b,
        )
        # Row b: bit b of each count's threshold, spread over a whole word.
        planes = jnp.array(
            [[0xFFFFFFFF * ((t >> b) & 1) for t in self.thresholds()] for b in range(PRECISION)],
            jnp.uint32,
        )
        sites = jnp.arange(other.size, dtype=jnp.uint32).reshape(other.shape)

        def compare(pair: Array, below: Array) -> Array:
            words = threefry_words(key, sites, pair.astype(jnp.uint32))
            for half, word in enumerate(words):
                plane = planes[2 * pair + half]
                limit = counts[0] & plane[0]
                for c in range(1, 5):
                    limit = limit | (counts[c] & plane[c])
                differs = word ^ limit
                below = (differs & limit) | (~differs & below)
            return below

        return jax.lax.fori_loop(0, PRECISION // 2, compare, jnp.zeros_like(other))
