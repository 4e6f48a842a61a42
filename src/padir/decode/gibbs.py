"""k-Gibbs sampling of translations from a parallel model, with optional Metropolis-Hastings
correction. A state x is a hypothesis of fixed length. A step draws a block S, a uniform k-subset of
the pieces, hides it in what the decoder reads, and samples all of S at once at temperature T:

    q(y_S | x_-S) = prod_{i in S} softmax(logits_i(x_-S, fill_S) / T)[y_i]

Without correction every move is accepted. Within a block the draws are independent, since one
decoder pass gives only the marginals (paper: 2.4.1): for k > 1 this is not the k-Gibbs step of
definition 10. Trained conditionals need not be consistent with a joint distribution, so that even
for k = 1 the stationary distribution is unknown.

The correction makes p(x) = exp(-E(x) / T) / Z stationary on the hypotheses of this length, with

    E(x) = - sum_i log P(x_i | x_-i), each position hidden alone: a row for each in one batch.

The move is taken with probability min(1, exp((E(x) - E(y)) / T) q(x_S | y_-S) / q(y_S | x_-S)).
The ratio is exact: S and its fill are drawn independently of x, and y_-S = x_-S, so that the
reverse move reads the same input and both q come from the same logits. The kernel is a mixture over
(S, fill) of kernels in detailed balance with p, and so in detailed balance itself.

A position is hidden as in training: by the mask token (or the mask token of the position), in a
disentangled decoder by attention, and otherwise, as in PaDIR, by a random piece. Random pieces are
drawn anew at each step. For E they are drawn once per sentence, so that E is a function of x and
the seed, the same for all chains of a sentence. A model that was trained to trust part of its input
may take a random piece for evidence.

T changes linearly over the steps; an annealed chain has no stationary distribution.
Paper: 2.4.
Sources: Wang and Cho 2019 (plain chains), Goyal et al. 2022 (correction, energy), Salazar et al.
2020 (-E is their pseudo-log-likelihood, there always behind the mask token).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from padir.config.decoder import LARGEST_TEMPERATURE, SMALLEST_TEMPERATURE
from padir.decode.batches import Batch
from padir.decode.lengths import encoded_lengths
from padir.decode.load import LoadedModel
from padir.decode.policies import sentence_keys
from padir.decode.predict import forbid, predictable, uniform
from padir.decode.programs import CompiledModel
from padir.files import InputError, shown
from padir.ids import EOS, FIRST_PIECE, MASK, PAD
from padir.model.transformer import Transformer
from padir.tokens import draw

CHAINS_TOGETHER = 32
"""Most chains of one compiled loop; their energies make as many rows as they have positions."""

Conditionals = Callable[[Array, Array, Array, Array], Array]
"""Maps tokens read [B, L], places in use [B, L], hidden ones [B, L] and positions asked for [B, K]
to logits [B, K, V] there, -inf at ids that may not be predicted. B may be a multiple of the
chains, the rows of one chain following each other."""

# What a chain draws, each from a stream of its own.
_BLOCK, _FILL, _TOKEN, _TEST = range(4)


@dataclass(frozen=True)
class Sampling:
    """Settings of the chains.

    Attributes:
        steps: after the start.
        block: pieces drawn per step (k); all, where a sentence has fewer.
        temperature, final_temperature: T at the first step and at the last.
        metropolis: whether moves are tested.
        energy_every: steps between measurements of E; the start, the last step and tested moves
            are always measured.

    Raises:
        InputError: a number out of its range.
    """

    steps: int
    block: int = 1
    temperature: float = 1.0
    final_temperature: float = 1.0
    metropolis: bool = False
    energy_every: int = 1

    def __post_init__(self) -> None:
        for name in ("steps", "block", "energy_every"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}: allowed are 1 and more")
        for name in ("temperature", "final_temperature"):
            value = getattr(self, name)
            if not SMALLEST_TEMPERATURE <= value <= LARGEST_TEMPERATURE:
                allowed = f"numbers from {SMALLEST_TEMPERATURE:g} to {LARGEST_TEMPERATURE:,}"
                raise InputError(f"{name} is {value}: allowed are {allowed}")

    @property
    def temperatures(self) -> Float[np.ndarray, " T"]:
        """Temperature of each step."""
        return np.linspace(self.temperature, self.final_temperature, self.steps, dtype=np.float32)


def hiding_tokens(kind: str, vocabulary_size: int, keys: Array, length: int) -> Int[Array, "B L"]:
    """A token to hide each position with from the model.

    Args:
        kind: mask, position_mask or random.
        vocabulary_size: ids in use.
        keys: one per row.
        length: positions.

    Raises:
        InputError: another kind.
    """
    position = _rows(jnp.arange(length, dtype=jnp.int32), keys.shape[0])
    if kind == "mask":
        return jnp.full_like(position, MASK)
    if kind == "position_mask":
        return vocabulary_size + position
    if kind != "random":
        raise InputError(f"k-Gibbs hides by mask, position_mask or random: corruption is {kind}")
    limits = {"minval": FIRST_PIECE, "maxval": vocabulary_size}
    drawn = jax.vmap(jax.vmap(partial(jax.random.randint, shape=(), **limits)))
    return drawn(_each(keys, position))


class Frame(NamedTuple):
    """Data that is constant over the steps of a chain.

    Attributes:
        keys: of each chain's draws.
        is_piece: positions that chains change.
        visible: those and EOS.
        fill: what hides a position where energy is measured.
    """

    keys: Array
    is_piece: Bool[Array, "B L"]
    visible: Bool[Array, "B L"]
    fill: Int[Array, "B L"]


class State(NamedTuple):
    """Chains after a step.

    Attributes:
        tokens: EOS and padding in their places.
        energy: of them; nan where it was not measured.
        best, best_energy: the measured state of least energy, the first of equals.
    """

    tokens: Int[Array, "B L"]
    energy: Float[Array, " B"]
    best: Int[Array, "B L"]
    best_energy: Float[Array, " B"]


def _rows(row: Array, count: int) -> Array:
    return jnp.broadcast_to(row[None], (count, *row.shape))


def _fold(keys: Array, data: Array | int) -> Array:
    return jax.vmap(lambda key: jax.random.fold_in(key, data))(keys)


def _each(keys: Array, numbers: Array) -> Array:
    """A key for each number [B, K] from a key per row [B]."""
    return jax.vmap(jax.vmap(jax.random.fold_in, (None, 0)))(keys, numbers)


def choose_block(
    keys: Array, is_piece: Bool[Array, "B L"], size: int
) -> tuple[Int[Array, "B K"], Bool[Array, "B K"]]:
    """A uniform subset of the positions of each row's pieces; False beyond a row's pieces."""
    chance = uniform(_each(keys, _rows(jnp.arange(is_piece.shape[1]), is_piece.shape[0])))
    order = jnp.argsort(jnp.where(is_piece, chance, jnp.inf), axis=1, stable=True)
    at = order[:, :size].astype(jnp.int32)
    return at, jnp.take_along_axis(is_piece, at, axis=1)


@dataclass(frozen=True)
class KGibbs:
    """The chains' kernel for one model; formulas in the module's docstring.

    `hiding` draws the tokens that hide positions, from a key per row and the number of positions.
    """

    conditionals: Conditionals
    hiding: Callable[[Array, int], Int[Array, "B L"]]
    sampling: Sampling

    def propose(
        self, frame: Frame, tokens: Int[Array, "B L"], step: Array, temperature: Array, block: int
    ) -> tuple[Int[Array, "B L"], Float[Array, " B"]]:
        """Draw a block: the new states, and log q of the reverse move minus log q of the move."""
        keys = _fold(frame.keys, step)
        rows = jnp.arange(tokens.shape[0])[:, None]
        at, counts = choose_block(_fold(keys, _BLOCK), frame.is_piece, block)
        hidden = jnp.zeros_like(frame.is_piece).at[rows, at].set(counts)
        fill = self.hiding(_fold(keys, _FILL), tokens.shape[1])
        inputs = jnp.where(hidden, fill, tokens)
        logits = self.conditionals(inputs, frame.visible, hidden, at) / temperature
        drawn = draw(logits, uniform(_each(_fold(keys, _TOKEN), at)))
        old = jnp.take_along_axis(tokens, at, axis=1)
        new = jnp.where(counts, drawn, old)
        # Both from the same logits: their normaliser cancels, position by position.
        pair = jnp.take_along_axis(logits, jnp.stack([old, new], axis=-1), axis=-1)
        back = jnp.where(counts, pair[..., 0] - pair[..., 1], 0.0)
        return tokens.at[rows, at].set(new), jnp.sum(back, axis=1)

    def energy(self, frame: Frame, tokens: Int[Array, "B L"]) -> Float[Array, " B"]:
        """Energy E of each row, from one call with a row per position."""
        rows, length = tokens.shape
        alone = jnp.broadcast_to(jnp.eye(length, dtype=bool)[None], (rows, length, length))
        inputs = jnp.where(alone, frame.fill[:, None, :], tokens[:, None, :])
        visible = jnp.broadcast_to(frame.visible[:, None, :], alone.shape)
        inputs, visible, hidden = (
            array.reshape(rows * length, length) for array in (inputs, visible, alone)
        )
        at = jnp.tile(jnp.arange(length, dtype=jnp.int32), rows)[:, None]
        log_p = jax.nn.log_softmax(self.conditionals(inputs, visible, hidden, at)[:, 0], axis=-1)
        scores = jnp.take_along_axis(log_p, tokens.reshape(-1, 1), axis=1).reshape(rows, length)
        return -jnp.sum(jnp.where(frame.is_piece, scores, 0.0), axis=1)

    def init(self, frame: Frame, temperature: Array) -> State:
        """Initial state: all pieces drawn at once."""
        # Pieces of no meaning: all are hidden.
        unread = jnp.where(frame.is_piece, FIRST_PIECE, jnp.where(frame.visible, EOS, PAD))
        tokens, _ = self.propose(frame, unread, jnp.int32(0), temperature, unread.shape[1])
        measured = self.energy(frame, tokens)
        return State(tokens, measured, tokens, measured)

    def step(
        self, frame: Frame, state: State, number: Array, temperature: Array
    ) -> tuple[State, Bool[Array, " B"]]:
        """Step `number`, counted from 1, of every chain, and which of them accepted their move.

        Where moves are tested, the energy of `state` must have been measured.
        """
        block = self.sampling.block
        tokens, back = self.propose(frame, state.tokens, number, temperature, block)
        taken = jnp.ones_like(state.energy, bool)
        if self.sampling.metropolis:
            proposed = self.energy(frame, tokens)
            ratio = (state.energy - proposed) / temperature + back
            chance = uniform(_fold(_fold(frame.keys, number), _TEST)[:, None])[:, 0]
            taken = jnp.log(chance) < ratio
            tokens = jnp.where(taken[:, None], tokens, state.tokens)
            measured = jnp.where(taken, proposed, state.energy)
        else:
            unknown = jnp.full_like(state.energy, jnp.nan)
            due = (number % self.sampling.energy_every == 0) | (number == self.sampling.steps)
            measure = partial(self.energy, frame)
            measured = jax.lax.cond(due, measure, lambda _: unknown, tokens)
        better = measured < state.best_energy
        best = jnp.where(better[:, None], tokens, state.best)
        least = jnp.where(better, measured, state.best_energy)
        return State(tokens, measured, best, least), taken

    def run(
        self, frame: Frame, temperatures: Float[Array, " T"]
    ) -> tuple[State, Float[Array, "B T1"], Bool[Array, "B T"]]:
        """All steps in one loop: last states, energies from the initial one on, accepted moves."""

        def one_step(state: State, now: tuple[Array, Array]):
            state, taken = self.step(frame, state, *now)
            return state, (state.energy, taken)

        start = self.init(frame, temperatures[0])
        numbers = jnp.arange(1, temperatures.shape[0] + 1, dtype=jnp.int32)
        last, (energies, taken) = jax.lax.scan(one_step, start, (numbers, temperatures))
        return last, jnp.concatenate([start.energy[None], energies]).T, taken.T


@dataclass(frozen=True)
class Chain:
    """The result of one chain.

    Attributes:
        tokens: the last state without EOS.
        best, best_energy: the measured state of least energy.
        energies: of the start and after each step; nan where not measured.
        taken: whether each step's move was taken.
    """

    tokens: tuple[int, ...]
    best: tuple[int, ...]
    best_energy: float
    energies: Float[np.ndarray, " T1"]
    taken: Bool[np.ndarray, " T"]


class Sampler:
    """Samples translations of encoded sources with one parallel model.

    A chain depends on the model, the seed, the sentence, its number and the way of sampling alone:
    not on the number of chains, the batch or its padding.

    Args:
        loaded: the model.
        sampling, seed: of all chains.
        chains: per sentence, all of its likeliest target length.
        sentences: of a batch; see `CompiledModel`. At most `CHAINS_TOGETHER` chains run together.

    Raises:
        InputError: an AR model, one with an oracle length predictor, or numbers out of range.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        sampling: Sampling,
        seed: int,
        chains: int = 1,
        sentences: int | None = None,
    ):
        run, where = loaded.spec.run, shown(loaded.folder)
        if not run.parallel:
            raise InputError(f"{where}: k-Gibbs needs a parallel system, not {run.system}")
        if loaded.model.length_oracle:
            raise InputError(f"{where}: length_predictor oracle predicts no length for chains")
        self._compiled = compiled = CompiledModel(loaded.model, run, sentences)
        longest = compiled.longest_target
        if chains < 1:
            raise InputError(f"{chains} chains: allowed are 1 and more")
        compiled.sentences = min(compiled.sentences, max(1, CHAINS_TOGETHER // chains))
        self.sampling, self.seed, self.chains = sampling, seed, chains
        # A disentangled decoder does not look at hidden positions at all; others read the mask or
        # random pieces there, as in training.
        unseen = run.architecture.disentangled
        masks = unseen or run.objective.corruption == "mixed"
        kind = "mask" if masks else run.objective.corruption
        hiding = partial(hiding_tokens, kind, loaded.vocabulary.size)
        allowed = predictable(compiled.table_size, loaded.vocabulary.size, eos=False)

        def encode(model: Transformer, source):
            cross, lengths, _ = encoded_lengths(model, source, 1, longest, "top")
            return cross, lengths

        def sample(model: Transformer, cross, last, raw_keys, temperatures, length: int):
            positional_logits = model.decoder.positional_logits(length)

            def conditionals(inputs, visible, hidden, at):
                if unseen:
                    seen = (visible & ~hidden)[:, None, :]
                    visible = jnp.broadcast_to(seen, (*inputs.shape, inputs.shape[1]))
                vectors, _ = model.hidden(inputs, cross, visible, None, positional_logits)
                asked = jnp.take_along_axis(vectors, at[..., None], axis=1)
                return forbid(model.logits(asked), allowed)

            sentence = jax.random.wrap_key_data(raw_keys, impl="threefry2x32")
            number = _rows(jnp.arange(1, chains + 1), sentence.shape[0])
            position, end = jnp.arange(length)[None], last.reshape(-1, 1)
            frame = Frame(
                keys=_each(sentence, number).reshape(-1),
                is_piece=position < end,
                visible=position <= end,
                fill=jnp.repeat(hiding(_fold(sentence, 0), length), chains, axis=0),
            )
            return KGibbs(conditionals, hiding, sampling).run(frame, temperatures)

        self._encode = compiled.compiled(encode, [True])
        self._sample = compiled.compiled(sample, [True, True, True, False], fixed=1)

    def batches(
        self, sources: Sequence[Sequence[int]]
    ) -> Iterator[tuple[Batch, list[list[Chain]]]]:
        """Each batch with the chains of its sentences; batches are ordered by length.

        `sources` are piece ids without EOS; an empty one is in no batch.
        """
        for batch, source in self._compiled.batches(sources):
            cross, lengths = self._encode(source)
            pieces = np.repeat(np.asarray(lengths) - 1, self.chains, axis=1)
            pieces[len(batch.indices) :] = 0
            length = self._compiled.padded_target(int(pieces.max()) + 1, batch.rows)
            keys = sentence_keys(self.seed, [sources[i] for i in batch.indices], batch.rows)
            result = self._sample(cross, pieces, keys, self.sampling.temperatures, length)
            last, energies, taken = jax.device_get(result)
            chains = [
                Chain(
                    tokens=tuple(last.tokens[row, :count].tolist()),
                    best=tuple(last.best[row, :count].tolist()),
                    best_energy=float(last.best_energy[row]),
                    energies=energies[row],
                    taken=taken[row],
                )
                for row, count in enumerate(pieces.reshape(-1).tolist())
            ]
            starts = range(0, len(batch.indices) * self.chains, self.chains)
            yield batch, [chains[start : start + self.chains] for start in starts]
