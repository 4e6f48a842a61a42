"""Samplers of section 2.4 for thousands of chains: `init` and `step(key, state) -> (state, info)`.

All of them are frozen structs whose arrays may differ between calls of one compiled `step`.

    KGibbs               uniform k-subset, resampled jointly (definition 10)
    WeightedBlocks       blocks drawn from fixed weights (definition 6)
    AdaptiveBlocks       blocks drawn from p(S | x), resampled given S (definition 8)
    IndependentParallel  every spin from p(x_i | x_{-i}) at once (definition 11)
    MetropolisParallel   the same, accepted or refused so that the model's law is stationary

The first three list the 2^k states of a block per chain: k up to 14. `clique_sampler` has k-Gibbs
for equation 6 without that limit, `lattice` a fast one for the square lattice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32

from padir.files import InputError
from padir.theory.chains import ChainState, StepInfo, fair_spins, finish, ranks
from padir.theory.ising import Ising
from padir.theory.masks import Masks

MAX_BLOCK = 14
GROUP = 64


def _check_block(size: int, spins: int) -> None:
    if not 1 <= size <= spins:
        raise InputError(f"k is {size}: allowed is 1 to {spins}")
    if size > MAX_BLOCK:
        raise InputError(
            f"k is {size}: each chain would need 2^{size} block states; allowed is up to"
            f" {MAX_BLOCK} (clique_sampler has no such limit)"
        )


def block_states(size: int) -> Float[np.ndarray, "states k"]:
    """All states of a block of k spins, values -1 and 1."""
    return (((np.arange(2**size)[:, None] >> np.arange(size)) & 1) * 2 - 1).astype(np.float32)


def choose(key: Array, logits: Float[Array, "B C"]) -> Int32[Array, " B"]:
    """One category per row with probability softmax(logits), from one uniform number a row.

    Past 64 categories a group of 64 is drawn first, then one of the group: XLA's cumulative sum
    costs the square of the length on a CPU, and a triangular product of short rows does not.
    """
    count = logits.shape[1]
    weights = jnp.exp(logits - logits.max(axis=1, keepdims=True))
    if count <= GROUP:
        draw = jax.random.uniform(key, (logits.shape[0], 1))
        return _pick(weights, draw)
    groups = -(-count // GROUP)
    weights = jnp.pad(weights, ((0, 0), (0, groups * GROUP - count)))
    weights = weights.reshape(-1, groups, GROUP)
    group_key, inner_key = jax.random.split(key)
    group = choose(group_key, jnp.log(weights.sum(axis=2)))
    inside = jnp.take_along_axis(weights, group[:, None, None], axis=1)[:, 0]
    inner = _pick(inside, jax.random.uniform(inner_key, (logits.shape[0], 1)))
    return jnp.minimum(group * GROUP + inner, count - 1)


def _pick(weights: Array, uniform: Array) -> Array:
    """Index in each row at which the cumulative weight passes uniform * total."""
    size = weights.shape[1]
    upper = jnp.asarray(np.triu(np.ones((size, size), np.float32)))
    cumulative = jnp.matmul(weights, upper, precision=jax.lax.Precision.HIGHEST)
    picks = jnp.sum(cumulative <= uniform * cumulative[:, -1:], axis=1, dtype=jnp.int32)
    return jnp.minimum(picks, size - 1)


def random_subsets(key: Array, chains: int, spins: int, size: int) -> Int32[Array, "B k"]:
    """A uniform k-subset of 0..N-1 per chain, in random order."""
    scores = jax.random.uniform(key, (chains, spins))
    if spins > GROUP:
        return jax.lax.top_k(scores, size)[1]
    # For few spins this is several times faster than sorting: position of each rank below k.
    hits = ranks(scores)[:, None, :] == jnp.arange(size, dtype=jnp.int32)[None, :, None]
    return jnp.argmax(hits, axis=2).astype(jnp.int32)


def _block_logits(
    states: Array, local: Array, coupling: Array, inside: Array, chosen: Array
) -> Array:
    """Log-weights of all states of each chain's block given the rest: shape (B, 2^k)."""
    field_now = jnp.einsum("bij,bj->bi", coupling, inside)
    outer = jnp.take_along_axis(local, chosen, axis=1) - field_now
    first, second = np.triu_indices(states.shape[1], 1)
    pairs = states[:, first] * states[:, second]
    return outer @ states.T + coupling[:, first, second] @ pairs.T


def _resample_blocks(key: Array, x: Array, h: Array, j: Array, chosen: Array) -> Array:
    """Resample each chain's block (B, k) of spins jointly given the rest."""
    rows = jnp.arange(x.shape[0])[:, None]
    spins = x.astype(jnp.float32)
    states = jnp.asarray(block_states(chosen.shape[1]))
    inside = jnp.take_along_axis(spins, chosen, axis=1)
    coupling = j[chosen[:, :, None], chosen[:, None, :]]
    logits = _block_logits(states, h[None, :] + spins @ j, coupling, inside, chosen)
    return x.at[rows, chosen].set(states[choose(key, logits)].astype(x.dtype))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class KGibbs:
    """k-Gibbs on any graph. Make it with `k_gibbs`."""

    h: Float[Array, " N"]
    j: Float[Array, "N N"]
    size: int = field(metadata={"static": True})

    def init(self, key: Array, chains: int) -> ChainState:
        """Independent fair spins."""
        return fair_spins(key, chains, self.h.shape[0])

    def step(self, key: Array, state: ChainState) -> tuple[ChainState, StepInfo]:
        """Resample one uniform k-subset per chain."""
        mask_key, spin_key = jax.random.split(key)
        chosen = random_subsets(mask_key, state.spins.shape[0], state.spins.shape[1], self.size)
        return finish(state.spins, _resample_blocks(spin_key, state.spins, self.h, self.j, chosen))


def _arrays(model: Ising) -> tuple[Array, Array]:
    return jnp.asarray(model.field, jnp.float32), jnp.asarray(model.coupling, jnp.float32)


def k_gibbs(model: Ising, size: int) -> KGibbs:
    """k-Gibbs for a model; k from 1 to min(N, 14)."""
    _check_block(size, model.spins)
    return KGibbs(*_arrays(model), size)


def _padded_sets(masks: Masks) -> np.ndarray:
    """Sets as rows of equal length; free dummy spins (number N) fill short ones."""
    longest = max(len(block) for block in masks.sets)
    _check_block(longest, masks.spins)
    rows = [list(block) + [masks.spins] * (longest - len(block)) for block in masks.sets]
    return np.array(rows, dtype=np.int32)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class WeightedBlocks:
    """Block dynamics with fixed weights. Make it with `weighted_blocks`.

    Attributes:
        h, j: with one free dummy spin more than the model, which fills short blocks.
        sets: shape (M, longest), log_weights: shape (M,).
    """

    h: Float[Array, " N1"]
    j: Float[Array, "N1 N1"]
    sets: Int32[Array, "M k"]
    log_weights: Float[Array, " M"]

    def init(self, key: Array, chains: int) -> ChainState:
        """Independent fair spins."""
        return fair_spins(key, chains, self.h.shape[0] - 1)

    def step(self, key: Array, state: ChainState) -> tuple[ChainState, StepInfo]:
        """Draw one block per chain and resample it."""
        mask_key, spin_key = jax.random.split(key)
        chains = state.spins.shape[0]
        picks = choose(
            mask_key, jnp.broadcast_to(self.log_weights[None, :], (chains, len(self.sets)))
        )
        padded = jnp.pad(state.spins, ((0, 0), (0, 1)), constant_values=1)
        new = _resample_blocks(spin_key, padded, self.h, self.j, self.sets[picks])
        return finish(state.spins, new[:, :-1])


def weighted_blocks(model: Ising, masks: Masks) -> WeightedBlocks:
    """Weighted block dynamics for a model."""
    if masks.adaptive:
        raise InputError("the masks depend on the state: use adaptive_blocks")
    if masks.spins != model.spins:
        raise InputError(f"masks for {masks.spins} spins, model of {model.spins}")
    h, j = _arrays(model)
    with np.errstate(divide="ignore"):
        log_weights = jnp.asarray(np.log(masks.weights), jnp.float32)
    return WeightedBlocks(
        jnp.pad(h, (0, 1)),
        jnp.pad(j, ((0, 1), (0, 1))),
        jnp.asarray(_padded_sets(masks)),
        log_weights,
    )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AdaptiveBlocks:
    """Block dynamics with p(S | x) = softmax of a score. Make it with `adaptive_blocks`.

    Attributes:
        score: maps spins (..., N) to scores (..., M).
    """

    h: Float[Array, " N"]
    j: Float[Array, "N N"]
    sets: Int32[Array, "M k"]
    score: Callable[[Array], Array] = field(metadata={"static": True})

    def init(self, key: Array, chains: int) -> ChainState:
        """Independent fair spins."""
        return fair_spins(key, chains, self.h.shape[0])

    def step(self, key: Array, state: ChainState) -> tuple[ChainState, StepInfo]:
        """Draw S from p(S | x), then x_S from p(. | x_{-S}, S), which carries p(S | y)."""
        mask_key, spin_key = jax.random.split(key)
        spins = state.spins.astype(jnp.float32)
        picks = choose(mask_key, self.score(spins))
        chosen = self.sets[picks]
        states = jnp.asarray(block_states(chosen.shape[1]))
        rows = jnp.arange(spins.shape[0])[:, None, None]
        options = jnp.arange(len(states))[None, :, None]
        candidates = jnp.broadcast_to(
            spins[:, None, :], (spins.shape[0], len(states), spins.shape[1])
        )
        candidates = candidates.at[rows, options, chosen[:, None, :]].set(states[None])
        log_weight = candidates @ self.h
        log_weight += 0.5 * jnp.einsum("bci,bci->bc", candidates @ self.j, candidates)
        log_given = jax.nn.log_softmax(self.score(candidates), axis=-1)
        log_given = jnp.take_along_axis(log_given, picks[:, None, None], axis=2)[..., 0]
        best = choose(spin_key, log_weight + log_given)
        new = jnp.take_along_axis(candidates, best[:, None, None], axis=1)[:, 0]
        return finish(state.spins, new)


def adaptive_blocks(
    model: Ising, sets: tuple[tuple[int, ...], ...], score: Callable[[Array], Array]
) -> AdaptiveBlocks:
    """Adaptive block dynamics; all sets must have one size."""
    if len({len(block) for block in sets}) != 1:
        raise InputError("adaptive blocks must all have one size")
    uniform = Masks(model.spins, sets, np.full(len(sets), 1 / max(1, len(sets))))
    return AdaptiveBlocks(*_arrays(model), jnp.asarray(_padded_sets(uniform)), score)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class IndependentParallel:
    """All spins at once, each from its conditional. Make it with `independent_parallel`."""

    h: Float[Array, " N"]
    j: Float[Array, "N N"]

    def init(self, key: Array, chains: int) -> ChainState:
        """Independent fair spins."""
        return fair_spins(key, chains, self.h.shape[0])

    def propose(self, key: Array, spins: Array) -> Array:
        """Every spin from p(x_i | x_{-i}), values -1 and 1."""
        up = jax.nn.sigmoid(2 * (self.h[None, :] + spins @ self.j))
        return jnp.where(jax.random.uniform(key, spins.shape) < up, 1.0, -1.0)

    def step(self, key: Array, state: ChainState) -> tuple[ChainState, StepInfo]:
        """Resample all spins independently."""
        return finish(state.spins, self.propose(key, state.spins.astype(jnp.float32)))


def independent_parallel(model: Ising) -> IndependentParallel:
    """Independent parallel sampling for a model."""
    return IndependentParallel(*_arrays(model))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MetropolisParallel:
    """Independent parallel proposals with a Metropolis-Hastings test."""

    proposal: IndependentParallel

    def init(self, key: Array, chains: int) -> ChainState:
        """Independent fair spins."""
        return self.proposal.init(key, chains)

    def log_ratio_term(self, spins: Array) -> Array:
        """x J x / 2 - sum_i log 2 cosh(local field): acceptance is the exponential difference.

        The terms linear in x and the symmetric x J x' cancel between the two directions.
        """
        coupled = spins @ self.proposal.j
        local = self.proposal.h[None, :] + coupled
        return 0.5 * jnp.sum(coupled * spins, axis=1) - jnp.sum(
            jnp.logaddexp(local, -local), axis=1
        )

    def step(self, key: Array, state: ChainState) -> tuple[ChainState, StepInfo]:
        """Propose all spins at once; keep the old state where refused."""
        move_key, test_key = jax.random.split(key)
        spins = state.spins.astype(jnp.float32)
        new = self.proposal.propose(move_key, spins)
        log_ratio = self.log_ratio_term(new) - self.log_ratio_term(spins)
        accepted = jnp.log(jax.random.uniform(test_key, log_ratio.shape)) < log_ratio
        return finish(state.spins, jnp.where(accepted[:, None], new, spins), accepted)


def metropolis_parallel(model: Ising) -> MetropolisParallel:
    """Metropolis-Hastings corrected parallel sampling for a model."""
    return MetropolisParallel(independent_parallel(model))
