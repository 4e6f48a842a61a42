"""Policies of parallel decoding: initial tokens, updates, remasking and stopping.

start: the hypothesis before the first pass, drawn on the host.
update: the positions that take a pass's prediction.
remask: the tokens that are hidden again between passes.
stop: when a hypothesis is finished.

All but the start run inside compiled code. A new policy is a class and an entry of its mapping:
`padir.config.decoder` reads the names that settings allow from the mappings. Worked example:
CONTRIBUTING.md.

Paper: 3.2, L.1.2; Ghazvininejad et al. 2019 (decaying numbers); Savinov et al. 2022 (shares).
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from padir.config.decoder import RefinementDecoder
from padir.ids import FIRST_PIECE, MASK
from padir.tokens import lowest, stutters


@runtime_checkable
class Start(Protocol):
    """Draws initial tokens."""

    def tokens(self, source: Sequence[int], candidates: int, length: int) -> Int[np.ndarray, "K L"]:
        """Initial tokens of each candidate, up to the model's longest target.

        They depend on the policy and the arguments' values alone, and the first rows and columns
        of a larger draw equal a smaller one with the same `length`.
        """
        ...


def sentence_key(seed: int, source: Sequence[int]) -> int:
    """128 bits that depend on the seed and the sentence's content alone."""
    content = np.array([seed, *source], "<i8").tobytes()
    return int.from_bytes(hashlib.sha256(content).digest()[:16], "little")


@dataclass(frozen=True)
class RandomStart:
    """Uniform over the pieces of text, as in training.

    Attributes:
        seed: of the draw.
        vocabulary_size: pieces are FIRST_PIECE up to this, exclusive.
    """

    seed: int
    vocabulary_size: int

    def tokens(self, source: Sequence[int], candidates: int, length: int) -> Int[np.ndarray, "K L"]:
        # Counter-based: the stream's key is a digest of seed and sentence, its counter is
        # candidate and position, so neighbours and padding cannot matter.
        generator = np.random.Philox(key=sentence_key(self.seed, source))
        draws = generator.random_raw(candidates * length)
        pieces = draws % np.uint64(self.vocabulary_size - FIRST_PIECE)
        return (pieces.astype(np.int32) + FIRST_PIECE).reshape(candidates, length)


@dataclass(frozen=True)
class MaskStart:
    """The mask token everywhere."""

    seed: int
    vocabulary_size: int

    def tokens(self, source: Sequence[int], candidates: int, length: int) -> Int[np.ndarray, "K L"]:
        return np.full((candidates, length), MASK, np.int32)


@dataclass(frozen=True)
class PositionMaskStart:
    """A mask token for each position: rows of the embedding table past the vocabulary."""

    seed: int
    vocabulary_size: int

    def tokens(self, source: Sequence[int], candidates: int, length: int) -> Int[np.ndarray, "K L"]:
        row = self.vocabulary_size + np.arange(length, dtype=np.int32)
        return np.broadcast_to(row, (candidates, length)).copy()


class PassView(NamedTuple):
    """Information about a pass that a policy may use.

    Attributes:
        fed: the tokens that the pass read.
        hidden: positions that were hidden in it.
        tokens: the hypothesis after the pass; EOS and padding stand in their places.
        log_probability: of each token; 0 where tokens are given.
        critic_probability: that the token is right, by the model's critic; 1 without a critic.
        is_piece: where tokens are predicted.
        done: passes made before this one.
        passes: passes asked for (T).
        chance: uniform on [0, 1), drawn for this pass from each sentence's own stream,
            independent of the tokens drawn.
        coupling: of each position with its left neighbour (`coupled_by`), where a policy
            asks for it; else None.
    """

    fed: Int[Array, "B L"]
    hidden: Bool[Array, "B L"]
    tokens: Int[Array, "B L"]
    log_probability: Float[Array, "B L"]
    critic_probability: Float[Array, "B L"]
    is_piece: Bool[Array, "B L"]
    done: Int[Array, ""]
    passes: Int[Array, ""]
    chance: Float[Array, "B L"]
    coupling: Float[Array, "B L"] | None = None

    def share(self, share: float | Float[Array, ""]) -> Int[Array, " B"]:
        """Number of positions in a share of each row's pieces, rounded down."""
        # The small number takes up the rounding of the product: 0.1 * 10 pieces are 1.
        return jnp.floor(share * jnp.sum(self.is_piece, axis=1) + 1e-4).astype(jnp.int32)


@runtime_checkable
class Policy(Protocol):
    """Chooses positions: those that take the prediction, or those to remask."""

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        """True at the chosen positions."""
        ...


@dataclass(frozen=True)
class AllPositions:
    """Every position."""

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        return jnp.ones_like(view.is_piece)


@dataclass(frozen=True)
class NoPosition:
    """No position."""

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        return jnp.zeros_like(view.is_piece)


@dataclass(frozen=True)
class HiddenPositions:
    """Positions that were hidden in the pass; the others keep their tokens (Mask-Predict)."""

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        return view.hidden


@dataclass(frozen=True)
class RandomShare:
    """A random share of the positions, each with this probability; all in the first pass."""

    share: float

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        return (view.chance < self.share) | (view.done == 0)


@dataclass(frozen=True)
class LeastCertainShare:
    """The least confident share of the positions; all of them in the first pass."""

    share: float

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        count = view.share(self.share)
        return lowest(view.log_probability, view.is_piece, count) | (view.done == 0)


@dataclass(frozen=True)
class StutterRemask:
    """Remasks tokens equal to their left neighbour, as later training stages do. Paper: 3.2."""

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        return stutters(view.tokens) & view.is_piece


def neighbour_pairs(
    view: PassView, pair: Bool[Array, "B L"]
) -> tuple[Bool[Array, "B L"], Bool[Array, "B L"]]:
    """Adjacent pairs of predicted tokens, and which token of each pair is less certain.

    Args:
        view: after the pass.
        pair: where a position and its left neighbour are a pair.

    Returns:
        the pairs, at their right positions, and where the right one is no more probable than its
        left neighbour: of equals the right one counts as less certain.
    """
    left = jnp.pad(view.is_piece[:, :-1], ((0, 0), (1, 0)))
    before = jnp.pad(view.log_probability[:, :-1], ((0, 0), (1, 0)))
    return pair & view.is_piece & left, view.log_probability <= before


def at_left(flags: Bool[Array, "B L"]) -> Bool[Array, "B L"]:
    """Each position's value at its right neighbour; False where there is none."""
    return jnp.pad(flags[:, 1:], ((0, 0), (0, 1)))


@dataclass(frozen=True)
class WeakerStutterRemask:
    """Remasks the less certain of two equal neighbours, left or right."""

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        pair, right = neighbour_pairs(view, stutters(view.tokens))
        return (pair & right) | at_left(pair & ~right)


@dataclass(frozen=True)
class CoupledRemask:
    """Remasks the least certain of coupled neighbours, so that blocks are decoded independently.

    A position is remasked if it is less certain than each neighbour that it is coupled with; of
    equals the right one. So no two coupled neighbours are remasked at once, and of a run at least
    one is. With `update: hidden` the others stay, and the next pass predicts it given them: tokens
    that change at once depend less on each other. The paper's slides leave such a sampler open.
    Positions are coupled by attention to the same source tokens (hypothesis 2 of section 3.4), or
    by their predictions.

    Attributes:
        threshold: least coupling of neighbours that count as coupled.
    """

    threshold: float

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        if view.coupling is None:
            raise ValueError("remask coupled needs the coupling of neighbours")
        pair, right = neighbour_pairs(view, view.coupling >= self.threshold)
        surer = (pair & ~right) | at_left(pair & right)
        return (pair | at_left(pair)) & ~surer


@dataclass(frozen=True)
class DecayingSchedule:
    """Remasks the n least confident tokens, n decaying to 0 at the last pass.

    Attributes:
        cosine: whether n decays as a quarter of a cosine; else linearly.
    """

    cosine: bool

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        past = (view.done + 1) / view.passes
        share = jnp.cos(past * jnp.pi / 2) if self.cosine else 1 - past
        return lowest(view.log_probability, view.is_piece, view.share(share))


@dataclass(frozen=True)
class ConstantShare:
    """Remasks the least confident tokens, a constant share after every pass."""

    share: float

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        return lowest(view.log_probability, view.is_piece, view.share(self.share))


@dataclass(frozen=True)
class ConstantCount:
    """Remasks the least confident tokens, a constant number after every pass."""

    count: int

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        count = jnp.full(view.is_piece.shape[0], self.count, jnp.int32)
        return lowest(view.log_probability, view.is_piece, count)


@dataclass(frozen=True)
class CriticRemask:
    """Remasks the tokens that the model's critic rejects."""

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        return (view.critic_probability < 0.5) & view.is_piece


@runtime_checkable
class Stop(Protocol):
    """Decides which hypotheses are finished."""

    def __call__(
        self,
        before: Int[Array, "B L"],
        after: Int[Array, "B L"],
        log_probability: Float[Array, "B L"],
    ) -> Bool[Array, " B"]:
        """True where no further pass is wanted.

        Args:
            before, after: the tokens fed to a pass and to the next.
            log_probability: of each token; 0 where tokens are given.
        """
        ...


@dataclass(frozen=True)
class StopNever:
    """All passes are made."""

    def __call__(self, before, after, log_probability) -> Bool[Array, " B"]:
        return jnp.zeros(before.shape[0], bool)


@dataclass(frozen=True)
class StopUnchanged:
    """Finished when the next pass would read the same input, and so predict the same."""

    def __call__(self, before, after, log_probability) -> Bool[Array, " B"]:
        return jnp.all(before == after, axis=1)


@dataclass(frozen=True)
class StopConfident:
    """Finished when every token has at least this probability."""

    probability: float

    def __call__(self, before, after, log_probability) -> Bool[Array, " B"]:
        return jnp.all(log_probability >= jnp.log(self.probability), axis=1)


STARTS: dict[str, type[RandomStart] | type[MaskStart] | type[PositionMaskStart]] = {
    "random": RandomStart,
    "mask": MaskStart,
    "position_mask": PositionMaskStart,
}
UPDATES: dict[str, Callable[[RefinementDecoder], Policy]] = {
    "all": lambda settings: AllPositions(),
    "hidden": lambda settings: HiddenPositions(),
    "share": lambda settings: RandomShare(settings.update_share),
    "uncertain": lambda settings: LeastCertainShare(settings.update_share),
}
REMASKS: dict[str, Callable[[RefinementDecoder], Policy]] = {
    "none": lambda settings: NoPosition(),
    "stutter": lambda settings: StutterRemask(),
    "weaker_stutter": lambda settings: WeakerStutterRemask(),
    "coupled": lambda settings: CoupledRemask(settings.coupling_threshold),
    "linear": lambda settings: DecayingSchedule(cosine=False),
    "cosine": lambda settings: DecayingSchedule(cosine=True),
    "constant": lambda settings: ConstantShare(settings.remask_share),
    "count": lambda settings: ConstantCount(settings.remask_count),
    "critic": lambda settings: CriticRemask(),
}
STOPS: dict[str, Callable[[RefinementDecoder], Stop]] = {
    "fixed": lambda settings: StopNever(),
    "unchanged": lambda settings: StopUnchanged(),
    "confidence": lambda settings: StopConfident(settings.stop_confidence),
}


def sentence_keys(
    seed: int, sources: Sequence[Sequence[int]], rows: int
) -> UInt32[np.ndarray, "B 2"]:
    """Raw random keys of each sentence, zero for filling rows; independent of the start tokens."""
    keys = np.zeros((rows, 2), np.uint32)
    for row, source in enumerate(sources):
        bits = sentence_key(seed, source)
        keys[row] = bits >> 96, (bits >> 64) & 0xFFFFFFFF
    return keys
