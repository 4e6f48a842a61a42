"""What all samplers share: the state of many chains, what a step reports, how chains start."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int8, Int32

from padir.files import InputError


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ChainState:
    """Spins of all chains, values -1 and 1, shape (B, N)."""

    spins: Int8[Array, "B N"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StepInfo:
    """What one step did.

    Attributes:
        changed: number of spins that differ from before, per chain.
        accepted: whether the proposal was taken; always True without a Metropolis test.
    """

    changed: Int32[Array, " B"]
    accepted: Bool[Array, " B"]


@runtime_checkable
class Sampler(Protocol):
    """A Markov chain on spins, vectorised over chains."""

    def init(self, key: Array, chains: int) -> ChainState:
        """Independent fair spins for every chain."""
        ...

    def step(self, key: Array, state: ChainState) -> tuple[ChainState, StepInfo]:
        """One step of every chain."""
        ...


def fair_spins(key: Array, chains: int, spins: int) -> ChainState:
    """Independent fair spins for every chain."""
    if chains < 1:
        raise InputError(f"chains is {chains}: must be at least 1")
    up = jax.random.bernoulli(key, 0.5, (chains, spins))
    return ChainState(jnp.where(up, 1, -1).astype(jnp.int8))


def finish(old: Array, new: Array, accepted: Array | None = None) -> tuple[ChainState, StepInfo]:
    """The next state and what changed, from spins (B, N) before and after."""
    new = new.astype(jnp.int8)
    if accepted is None:
        accepted = jnp.ones(old.shape[0], bool)
    return ChainState(new), StepInfo(jnp.sum(old != new, axis=1, dtype=jnp.int32), accepted)


def ranks(scores: Float[Array, "B K"]) -> Int32[Array, "B K"]:
    """Rank of each score in its row, 0 the smallest, ties to the left."""
    width = scores.shape[1]
    if width > 64:
        return jnp.argsort(jnp.argsort(scores, axis=1), axis=1).astype(jnp.int32)
    # For short rows counting all pairs is several times faster than sorting.
    before = np.tril(np.ones((width, width), dtype=bool), -1)
    mine, other = scores[:, :, None], scores[:, None, :]
    return jnp.sum((other < mine) | ((other == mine) & before[None]), axis=2, dtype=jnp.int32)


def first_visits(
    sampler: Sampler, key: Array, start: ChainState, clique: int, steps: int
) -> Int32[Array, " B"]:
    """First step at which all clique spins are +1, per chain; steps + 1 if never."""

    def advance(carry, t):
        state, first = carry
        state, _ = sampler.step(jax.random.fold_in(key, t), state)
        there = jnp.all(state.spins[:, :clique] > 0, axis=1)
        return (state, jnp.where(there & (first > steps), t + 1, first)), None

    there = jnp.all(start.spins[:, :clique] > 0, axis=1)
    never = jnp.where(there, 0, steps + 1).astype(jnp.int32)
    (_, first), _ = jax.lax.scan(advance, (start, never), jnp.arange(steps, dtype=jnp.int32))
    return first
