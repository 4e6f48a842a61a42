"""k-Gibbs for the clique model of equation 6, at any k and any number of spins.

With equal fields the clique's block conditional depends on counts only: draw how many of the
selected clique spins are plus from a table, then which. Nothing is exponential in k.
"""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Float, Int32

from padir.files import InputError
from padir.theory.chains import ChainState, StepInfo, fair_spins, finish, ranks
from padir.theory.lumped import Clique


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CliqueGibbs:
    """k-Gibbs for equation 6 with equal fields. Make it with `clique_gibbs_sampler`.

    Attributes:
        table: table[s, a] is the cumulative law of the number of plus spins among s selected
            clique spins when a of the others are plus; shape (m + 1, m + 1, m + 1).
        outside_up: P(+1) of an outside spin.
        size: k; no shape depends on it, so one compiled step serves every k.
    """

    table: Float[Array, "m1 m1 m1"]
    outside_up: Float[Array, ""]
    size: Int32[Array, ""]
    spins: int = field(metadata={"static": True})
    clique: int = field(metadata={"static": True})

    def init(self, key: Array, chains: int) -> ChainState:
        """Independent fair spins."""
        return fair_spins(key, chains, self.spins)

    def step(self, key: Array, state: ChainState) -> tuple[ChainState, StepInfo]:
        """Resample one uniform k-subset per chain: how many plus spins, then which."""
        mask_key, count_key, outside_key = jax.random.split(key, 3)
        scores = jax.random.uniform(mask_key, state.spins.shape)
        selected = ranks(scores) < self.size
        inside = selected[:, : self.clique]
        plus = state.spins[:, : self.clique] > 0
        kept = jnp.sum(plus & ~inside, axis=1)
        law = self.table[jnp.sum(inside, axis=1), kept]
        draw = jax.random.uniform(count_key, (len(kept), 1))
        fresh = jnp.sum(law <= draw, axis=1)
        # Given which clique spins are selected, the order of their scores is uniform.
        order = ranks(jnp.where(inside, scores[:, : self.clique], 2.0))
        new_clique = jnp.where(inside, order < fresh[:, None], plus)
        rest = state.spins[:, self.clique :] > 0
        drawn = jax.random.uniform(outside_key, rest.shape) < self.outside_up
        new_rest = jnp.where(selected[:, self.clique :], drawn, rest)
        new = jnp.concatenate([new_clique, new_rest], axis=1)
        return finish(state.spins, jnp.where(new, 1, -1))


def clique_gibbs_sampler(model: Clique, size: int) -> CliqueGibbs:
    """k-Gibbs for a clique model, any k from 1 to N."""
    if not 1 <= size <= model.spins:
        raise InputError(f"k is {size}: allowed is 1 to {model.spins}")
    m = model.clique
    table = np.ones((m + 1, m + 1, m + 1))
    for s in range(m + 1):
        fresh = np.arange(s + 1)
        choices = scipy.special.gammaln([s + 1]) - scipy.special.gammaln(fresh + 1)
        choices = choices - scipy.special.gammaln(s - fresh + 1)
        for kept in range(m - s + 1):
            law = scipy.special.softmax(choices + model.log_energy(kept + fresh))
            table[s, kept, : s + 1] = np.cumsum(law)
            table[s, kept, s:] = 2.0
    return CliqueGibbs(
        jnp.asarray(table, jnp.float32),
        jnp.asarray(1 / (1 + np.exp(-2 * model.outside_field)), jnp.float32),
        jnp.asarray(size, jnp.int32),
        model.spins,
        m,
    )
