"""Samplers of section 2.4 for thousands of chains: `init` and `step(key, state) -> (state, info)`.

    KGibbs               uniform k-subset, resampled jointly (definition 10)
    CliqueGibbs          the same for equation 6, at any k and any number of spins
    IndependentParallel  every spin from p(x_i | x_{-i}) at once (definition 11)

The state is the spins of all chains, values -1 and 1; the info is how many spins of each chain
changed. All are frozen structs whose arrays may differ between calls of one compiled `step`. KGibbs
enumerates the 2^k states of a block per chain: k up to 14.
"""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Float, Int8, Int32

from padir.files import InputError
from padir.theory.ising import Ising
from padir.theory.lumped import Clique, log_binomial
from padir.theory.masks import MAX_BLOCK, check_size

GROUP = 64
Spins = Int8[Array, "B N"]
Changed = Int32[Array, " B"]


@runtime_checkable
class Sampler(Protocol):
    """A Markov chain on spins, vectorised over chains."""

    def init(self, key: Array, chains: int) -> Spins:
        """Independent fair spins for every chain."""
        ...

    def step(self, key: Array, state: Spins) -> tuple[Spins, Changed]:
        """One step of every chain."""
        ...


def fair_spins(key: Array, chains: int, spins: int) -> Spins:
    """Independent fair spins for every chain."""
    if chains < 1:
        raise InputError(f"chains is {chains}: must be at least 1")
    up = jax.random.bernoulli(key, 0.5, (chains, spins))
    return jnp.where(up, 1, -1).astype(jnp.int8)


def _advance(old: Spins, new: Array) -> tuple[Spins, Changed]:
    new = new.astype(jnp.int8)
    return new, jnp.sum(old != new, axis=1, dtype=jnp.int32)


def ranks(scores: Float[Array, "B K"]) -> Int32[Array, "B K"]:
    """Rank of each score in its row, 0 the smallest; ties go to the left."""
    width = scores.shape[1]
    if width > GROUP:
        return jnp.argsort(jnp.argsort(scores, axis=1), axis=1).astype(jnp.int32)
    # Counting all pairs of a short row is several times faster than sorting.
    left = np.tril(np.ones((width, width), dtype=bool), -1)
    score, other = scores[:, :, None], scores[:, None, :]
    return jnp.sum((other < score) | ((other == score) & left[None]), axis=2, dtype=jnp.int32)


def first_visits(
    sampler: Sampler, key: Array, start: Spins, clique: int, steps: int
) -> Int32[Array, " B"]:
    """First step at which all clique spins are +1, per chain; steps + 1 if never."""

    def all_plus(state: Spins) -> Array:
        return jnp.all(state[:, :clique] > 0, axis=1)

    def advance(carry, t):
        state, first = carry
        state, _ = sampler.step(jax.random.fold_in(key, t), state)
        return (state, jnp.where(all_plus(state) & (first > steps), t + 1, first)), None

    never = jnp.where(all_plus(start), 0, steps + 1).astype(jnp.int32)
    (_, first), _ = jax.lax.scan(advance, (start, never), jnp.arange(steps, dtype=jnp.int32))
    return first


def block_states(size: int) -> Float[np.ndarray, "states k"]:
    """All states of a block of k spins, values -1 and 1."""
    return (((np.arange(2**size)[:, None] >> np.arange(size)) & 1) * 2 - 1).astype(np.float32)


def choose(key: Array, logits: Float[Array, "B C"]) -> Int32[Array, " B"]:
    """One category per row with probability softmax(logits), from one uniform number per row.

    Past 64 categories a group of 64 is drawn first, then a member: XLA's cumulative sum costs the
    square of the length on a CPU, a triangular product of short rows does not.
    """
    count = logits.shape[1]
    weights = jnp.exp(logits - logits.max(axis=1, keepdims=True))
    if count <= GROUP:
        return _invert(weights, jax.random.uniform(key, (logits.shape[0], 1)))
    groups = -(-count // GROUP)
    weights = jnp.pad(weights, ((0, 0), (0, groups * GROUP - count)))
    weights = weights.reshape(-1, groups, GROUP)
    group_key, member_key = jax.random.split(key)
    group = choose(group_key, jnp.log(weights.sum(axis=2)))
    members = jnp.take_along_axis(weights, group[:, None, None], axis=1)[:, 0]
    member = _invert(members, jax.random.uniform(member_key, (logits.shape[0], 1)))
    return jnp.minimum(group * GROUP + member, count - 1)


def _invert(weights: Array, uniform: Array) -> Array:
    """Index in each row at which the cumulative weight passes uniform * total."""
    size = weights.shape[1]
    upper = jnp.asarray(np.triu(np.ones((size, size), np.float32)))
    cumulative = jnp.matmul(weights, upper, precision=jax.lax.Precision.HIGHEST)
    index = jnp.sum(cumulative <= uniform * cumulative[:, -1:], axis=1, dtype=jnp.int32)
    return jnp.minimum(index, size - 1)


def random_subsets(key: Array, chains: int, spins: int, size: int) -> Int32[Array, "B k"]:
    """A uniform k-subset of 0..N-1 per chain, in random order."""
    scores = jax.random.uniform(key, (chains, spins))
    if spins > GROUP:
        return jax.lax.top_k(scores, size)[1]
    # Locating each rank below k is several times faster than sorting a short row.
    hits = ranks(scores)[:, None, :] == jnp.arange(size, dtype=jnp.int32)[None, :, None]
    return jnp.argmax(hits, axis=2).astype(jnp.int32)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _IsingSampler:
    """Fields and couplings of a model in float32."""

    h: Float[Array, " N"]
    j: Float[Array, "N N"]

    def init(self, key: Array, chains: int) -> Spins:
        """Independent fair spins."""
        return fair_spins(key, chains, self.h.shape[0])


def _arrays(model: Ising) -> tuple[Array, Array]:
    return jnp.asarray(model.field, jnp.float32), jnp.asarray(model.coupling, jnp.float32)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class KGibbs(_IsingSampler):
    """k-Gibbs on any graph. Constructor: `k_gibbs`."""

    size: int = field(metadata={"static": True})

    def step(self, key: Array, state: Spins) -> tuple[Spins, Changed]:
        """Resample one uniform k-subset per chain jointly given the rest."""
        mask_key, spin_key = jax.random.split(key)
        chains, spins = state.shape
        block = random_subsets(mask_key, chains, spins, self.size)
        x = state.astype(jnp.float32)
        states = jnp.asarray(block_states(self.size))
        inside = jnp.take_along_axis(x, block, axis=1)
        coupling = self.j[block[:, :, None], block[:, None, :]]
        local = jnp.take_along_axis(self.h[None, :] + x @ self.j, block, axis=1)
        local = local - jnp.einsum("bij,bj->bi", coupling, inside)
        first, second = np.triu_indices(self.size, 1)
        pairs = states[:, first] * states[:, second]
        logits = local @ states.T + coupling[:, first, second] @ pairs.T
        fresh = states[choose(spin_key, logits)].astype(jnp.int8)
        return _advance(state, state.at[jnp.arange(chains)[:, None], block].set(fresh))


def k_gibbs(model: Ising, size: int) -> KGibbs:
    """k-Gibbs for a model; k from 1 to min(N, 14)."""
    check_size(size, model.spins)
    if size > MAX_BLOCK:
        raise InputError(
            f"k is {size}: each chain would need 2^{size} block states; allowed is up to"
            f" {MAX_BLOCK} (clique_gibbs_sampler has no such limit)"
        )
    return KGibbs(*_arrays(model), size)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class IndependentParallel(_IsingSampler):
    """All spins at once, each from its conditional. Constructor: `independent_parallel`."""

    def step(self, key: Array, state: Spins) -> tuple[Spins, Changed]:
        """Resample all spins independently."""
        up = jax.nn.sigmoid(2 * (self.h[None, :] + state.astype(jnp.float32) @ self.j))
        return _advance(state, jnp.where(jax.random.uniform(key, state.shape) < up, 1, -1))


def independent_parallel(model: Ising) -> IndependentParallel:
    """Independent parallel sampling for a model."""
    return IndependentParallel(*_arrays(model))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CliqueGibbs:
    """k-Gibbs for equation 6 with equal fields. Constructor: `clique_gibbs_sampler`.

    A block's conditional depends on counts only: the number of plus spins among the selected clique
    spins comes from a table, then their places. Nothing is exponential in k.

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

    def init(self, key: Array, chains: int) -> Spins:
        """Independent fair spins."""
        return fair_spins(key, chains, self.spins)

    def step(self, key: Array, state: Spins) -> tuple[Spins, Changed]:
        """Resample one uniform k-subset per chain: the number of plus spins, then their places."""
        mask_key, count_key, outside_key = jax.random.split(key, 3)
        scores = jax.random.uniform(mask_key, state.shape)
        selected = ranks(scores) < self.size
        inside = selected[:, : self.clique]
        plus = state[:, : self.clique] > 0
        kept = jnp.sum(plus & ~inside, axis=1)
        law = self.table[jnp.sum(inside, axis=1), kept]
        fresh = jnp.sum(law <= jax.random.uniform(count_key, (len(kept), 1)), axis=1)
        # Given which clique spins are selected, the order of their scores is uniform.
        order = ranks(jnp.where(inside, scores[:, : self.clique], 2.0))
        new_clique = jnp.where(inside, order < fresh[:, None], plus)
        outside = state[:, self.clique :] > 0
        drawn = jax.random.uniform(outside_key, outside.shape) < self.outside_up
        new_outside = jnp.where(selected[:, self.clique :], drawn, outside)
        new = jnp.concatenate([new_clique, new_outside], axis=1)
        return _advance(state, jnp.where(new, 1, -1))


def clique_gibbs_sampler(model: Clique, size: int) -> CliqueGibbs:
    """k-Gibbs for a clique model, any k from 1 to N."""
    check_size(size, model.spins)
    m = model.clique
    table = np.ones((m + 1, m + 1, m + 1))
    for s in range(m + 1):
        fresh = np.arange(s + 1)
        for kept in range(m - s + 1):
            law = scipy.special.softmax(log_binomial(s, fresh) + model.log_energy(kept + fresh))
            table[s, kept, : s + 1] = np.cumsum(law)
            table[s, kept, s:] = 2.0
    outside_up = 1 / (1 + np.exp(-2 * model.outside_field))
    return CliqueGibbs(
        jnp.asarray(table, jnp.float32),
        jnp.asarray(outside_up, jnp.float32),
        jnp.asarray(size, jnp.int32),
        model.spins,
        m,
    )
