"""Samplers of section 2.4 for thousands of chains: `init` and `step(key, state) -> (state, info)`.

    KGibbs               uniform k-subset, resampled jointly (definition 10)
    CliqueGibbs          the same for equation 6, at any k and any number of spins
    MaskedBlocks         blocks drawn from fixed weights or from p(S | x) (definitions 6 and 8)
    IndependentParallel  every spin from p(x_i | x_{-i}) at once (definition 11)
    MetropolisParallel   the same with a Metropolis-Hastings test

All are frozen structs whose arrays may differ between calls of one compiled `step`. KGibbs and
MaskedBlocks enumerate the 2^k states of a block per chain: k up to 14.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Bool, Float, Int8, Int32

from padir.files import InputError
from padir.theory.ising import Ising
from padir.theory.lumped import Clique, log_binomial
from padir.theory.masks import Masks, Subsets

MAX_BLOCK = 14
GROUP = 64


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ChainState:
    """Spins of all chains, values -1 and 1, shape (B, N)."""

    spins: Int8[Array, "B N"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StepInfo:
    """Per chain, how many spins changed and whether the proposal was accepted.

    Without a Metropolis-Hastings test `accepted` is always True.
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


def _advance(old: Array, new: Array, accepted: Array | None = None) -> tuple[ChainState, StepInfo]:
    """The next state and its info, from spins (B, N) before and after the step."""
    new = new.astype(jnp.int8)
    if accepted is None:
        accepted = jnp.ones(old.shape[0], bool)
    return ChainState(new), StepInfo(jnp.sum(old != new, axis=1, dtype=jnp.int32), accepted)


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
    sampler: Sampler, key: Array, start: ChainState, clique: int, steps: int
) -> Int32[Array, " B"]:
    """First step at which all clique spins are +1, per chain; steps + 1 if never."""

    def all_plus(state: ChainState) -> Array:
        return jnp.all(state.spins[:, :clique] > 0, axis=1)

    def advance(carry, t):
        state, first = carry
        state, _ = sampler.step(jax.random.fold_in(key, t), state)
        return (state, jnp.where(all_plus(state) & (first > steps), t + 1, first)), None

    never = jnp.where(all_plus(start), 0, steps + 1).astype(jnp.int32)
    (_, first), _ = jax.lax.scan(advance, (start, never), jnp.arange(steps, dtype=jnp.int32))
    return first


def _check_block(size: int, spins: int) -> None:
    if not 1 <= size <= spins:
        raise InputError(f"k is {size}: allowed is 1 to {spins}")
    if size > MAX_BLOCK:
        raise InputError(
            f"k is {size}: each chain would need 2^{size} block states; allowed is up to"
            f" {MAX_BLOCK} (clique_gibbs_sampler has no such limit)"
        )


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

    def init(self, key: Array, chains: int) -> ChainState:
        """Independent fair spins."""
        return fair_spins(key, chains, self.h.shape[0])


def _arrays(model: Ising) -> tuple[Array, Array]:
    return jnp.asarray(model.field, jnp.float32), jnp.asarray(model.coupling, jnp.float32)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class KGibbs(_IsingSampler):
    """k-Gibbs on any graph. Constructor: `k_gibbs`."""

    size: int = field(metadata={"static": True})

    def step(self, key: Array, state: ChainState) -> tuple[ChainState, StepInfo]:
        """Resample one uniform k-subset per chain jointly given the rest."""
        mask_key, spin_key = jax.random.split(key)
        chains, spins = state.spins.shape
        block = random_subsets(mask_key, chains, spins, self.size)
        x = state.spins.astype(jnp.float32)
        states = jnp.asarray(block_states(self.size))
        inside = jnp.take_along_axis(x, block, axis=1)
        coupling = self.j[block[:, :, None], block[:, None, :]]
        local = jnp.take_along_axis(self.h[None, :] + x @ self.j, block, axis=1)
        local = local - jnp.einsum("bij,bj->bi", coupling, inside)
        first, second = np.triu_indices(self.size, 1)
        pairs = states[:, first] * states[:, second]
        logits = local @ states.T + coupling[:, first, second] @ pairs.T
        fresh = states[choose(spin_key, logits)].astype(jnp.int8)
        return _advance(state.spins, state.spins.at[jnp.arange(chains)[:, None], block].set(fresh))


def k_gibbs(model: Ising, size: int) -> KGibbs:
    """k-Gibbs for a model; k from 1 to min(N, 14)."""
    _check_block(size, model.spins)
    return KGibbs(*_arrays(model), size)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MaskedBlocks(_IsingSampler):
    """Block dynamics with p(S | x) = softmax of a score. Constructor: `masked_blocks`.

    Attributes:
        sets: shape (M, longest); short sets are filled with the number N, a spin of no effect.
        score: maps spins (..., N) to scores (..., M).
    """

    sets: Int32[Array, "M k"]
    score: Callable[[Array], Array] = field(metadata={"static": True})

    def step(self, key: Array, state: ChainState) -> tuple[ChainState, StepInfo]:
        """Draw S from p(S | x), then x_S from p(. | x_{-S}, S), which carries p(S | y)."""
        mask_key, spin_key = jax.random.split(key)
        spins = state.spins.astype(jnp.float32)
        mask = choose(mask_key, self.score(spins))
        states = jnp.asarray(block_states(self.sets.shape[1]))
        chains, count = spins.shape[0], len(states)
        candidates = jnp.broadcast_to(spins[:, None, :], (chains, count, spins.shape[1]))
        rows, options = jnp.arange(chains)[:, None, None], jnp.arange(count)[None, :, None]
        block = self.sets[mask][:, None, :]
        candidates = candidates.at[rows, options, block].set(states[None], mode="drop")
        log_weight = candidates @ self.h
        log_weight += 0.5 * jnp.einsum("bci,bci->bc", candidates @ self.j, candidates)
        log_given = jax.nn.log_softmax(self.score(candidates), axis=-1)
        log_given = jnp.take_along_axis(log_given, mask[:, None, None], axis=2)[..., 0]
        drawn = choose(spin_key, log_weight + log_given)
        new = jnp.take_along_axis(candidates, drawn[:, None, None], axis=1)[:, 0]
        return _advance(state.spins, new)


def masked_blocks(
    model: Ising, masks: Masks, score: Callable[[Array], Array] | None = None
) -> MaskedBlocks:
    """Block dynamics of a model.

    Args:
        masks: fixed weights, or the sets of an adaptive distribution.
        score: maps spins (..., N) to scores (..., M) whose softmax is p(S | x); by default the
            fixed weights of `masks`.

    Raises:
        InputError: adaptive masks without a score, masks of another number of spins, k above 14.
    """
    if masks.spins != model.spins:
        raise InputError(f"masks for {masks.spins} spins, model of {model.spins}")
    if score is None:
        if masks.adaptive:
            raise InputError("the masks depend on the state: a score is needed")
        with np.errstate(divide="ignore"):
            log_weights = jnp.asarray(np.log(masks.weights), jnp.float32)

        def constant(spins: Array) -> Array:
            return jnp.broadcast_to(log_weights, (*spins.shape[:-1], len(log_weights)))

        score = constant
    return MaskedBlocks(*_arrays(model), _padded(masks.sets, model.spins), score)


def _padded(sets: Subsets, spins: int) -> Array:
    longest = max(len(block) for block in sets)
    _check_block(longest, spins)
    rows = [[*block, *[spins] * (longest - len(block))] for block in sets]
    return jnp.asarray(rows, jnp.int32)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class IndependentParallel(_IsingSampler):
    """All spins at once, each from its conditional. Constructor: `independent_parallel`."""

    def propose(self, key: Array, spins: Array) -> Array:
        """Every spin from p(x_i | x_{-i}), values -1 and 1."""
        up = jax.nn.sigmoid(2 * (self.h[None, :] + spins @ self.j))
        return jnp.where(jax.random.uniform(key, spins.shape) < up, 1.0, -1.0)

    def step(self, key: Array, state: ChainState) -> tuple[ChainState, StepInfo]:
        """Resample all spins independently."""
        return _advance(state.spins, self.propose(key, state.spins.astype(jnp.float32)))


def independent_parallel(model: Ising) -> IndependentParallel:
    """Independent parallel sampling for a model."""
    return IndependentParallel(*_arrays(model))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MetropolisParallel(IndependentParallel):
    """Independent parallel proposals with a Metropolis-Hastings test."""

    def _log_balance(self, spins: Array) -> Array:
        """x J x / 2 - sum_i log 2 cosh(local field i); differences are log acceptance ratios."""
        coupled = spins @ self.j
        local = self.h[None, :] + coupled
        normaliser = jnp.sum(jnp.logaddexp(local, -local), axis=1)
        return 0.5 * jnp.sum(coupled * spins, axis=1) - normaliser

    def step(self, key: Array, state: ChainState) -> tuple[ChainState, StepInfo]:
        """Propose all spins at once; keep the old state where the proposal is rejected."""
        move_key, test_key = jax.random.split(key)
        spins = state.spins.astype(jnp.float32)
        new = self.propose(move_key, spins)
        log_ratio = self._log_balance(new) - self._log_balance(spins)
        accepted = jnp.log(jax.random.uniform(test_key, log_ratio.shape)) < log_ratio
        return _advance(state.spins, jnp.where(accepted[:, None], new, spins), accepted)


def metropolis_parallel(model: Ising) -> MetropolisParallel:
    """Metropolis-Hastings corrected parallel sampling for a model."""
    return MetropolisParallel(*_arrays(model))


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

    def init(self, key: Array, chains: int) -> ChainState:
        """Independent fair spins."""
        return fair_spins(key, chains, self.spins)

    def step(self, key: Array, state: ChainState) -> tuple[ChainState, StepInfo]:
        """Resample one uniform k-subset per chain: the number of plus spins, then their places."""
        mask_key, count_key, outside_key = jax.random.split(key, 3)
        scores = jax.random.uniform(mask_key, state.spins.shape)
        selected = ranks(scores) < self.size
        inside = selected[:, : self.clique]
        plus = state.spins[:, : self.clique] > 0
        kept = jnp.sum(plus & ~inside, axis=1)
        law = self.table[jnp.sum(inside, axis=1), kept]
        fresh = jnp.sum(law <= jax.random.uniform(count_key, (len(kept), 1)), axis=1)
        # Given which clique spins are selected, the order of their scores is uniform.
        order = ranks(jnp.where(inside, scores[:, : self.clique], 2.0))
        new_clique = jnp.where(inside, order < fresh[:, None], plus)
        outside = state.spins[:, self.clique :] > 0
        drawn = jax.random.uniform(outside_key, outside.shape) < self.outside_up
        new_outside = jnp.where(selected[:, self.clique :], drawn, outside)
        new = jnp.concatenate([new_clique, new_outside], axis=1)
        return _advance(state.spins, jnp.where(new, 1, -1))


def clique_gibbs_sampler(model: Clique, size: int) -> CliqueGibbs:
    """k-Gibbs for a clique model, any k from 1 to N."""
    if not 1 <= size <= model.spins:
        raise InputError(f"k is {size}: allowed is 1 to {model.spins}")
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
