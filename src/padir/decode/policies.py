"""The interchangeable decisions of parallel decoding, each a frozen dataclass behind a protocol.

start: the hypothesis before the first pass, drawn on the host.
remask: which tokens are hidden again between passes, inside compiled code.
stop: when a hypothesis is finished, inside compiled code.

A new policy is a class here and an entry in its mapping. Paper: 3.2, L.1.2.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from padir.corrupt import stutters
from padir.ids import FIRST_PIECE, MASK


@runtime_checkable
class Start(Protocol):
    """Draws initial tokens."""

    def tokens(self, source: Sequence[int], candidates: int, length: int) -> Int[np.ndarray, "K L"]:
        """Initial tokens of each candidate, up to the model's longest target.

        They depend on the policy and the arguments' values alone, and the first rows and columns
        of a larger draw equal a smaller one with the same `length`.
        """
        ...


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
        content = np.array([self.seed, *source], "<i8").tobytes()
        key = int.from_bytes(hashlib.sha256(content).digest()[:16], "little")
        draws = np.random.Philox(key=key).random_raw(candidates * length)
        pieces = draws % np.uint64(self.vocabulary_size - FIRST_PIECE)
        return (pieces.astype(np.int32) + FIRST_PIECE).reshape(candidates, length)


@dataclass(frozen=True)
class MaskStart:
    """The mask token everywhere."""

    seed: int
    vocabulary_size: int

    def tokens(self, source: Sequence[int], candidates: int, length: int) -> Int[np.ndarray, "K L"]:
        return np.full((candidates, length), MASK, np.int32)


class PassView(NamedTuple):
    """What a policy may look at after a pass.

    Attributes:
        predicted: the tokens of this pass; EOS and padding stand in their places.
        log_probability: of each predicted token; 0 elsewhere.
        is_piece: where tokens are predicted.
        done: passes made before this one.
        passes: passes asked for (T).
    """

    predicted: Int[Array, "B L"]
    log_probability: Float[Array, "B L"]
    is_piece: Bool[Array, "B L"]
    done: Int[Array, ""]
    passes: Int[Array, ""]


@runtime_checkable
class Remask(Protocol):
    """Chooses tokens to hide again."""

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        """True where the token goes back to its start token before the next pass."""
        ...


@dataclass(frozen=True)
class NoRemask:
    """Every prediction is kept."""

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        return jnp.zeros_like(view.is_piece)


@dataclass(frozen=True)
class StutterRemask:
    """Hide a token that equals its left neighbour, as later training stages do. Paper: 3.2."""

    def __call__(self, view: PassView) -> Bool[Array, "B L"]:
        return stutters(view.predicted) & view.is_piece


@runtime_checkable
class Stop(Protocol):
    """Decides which hypotheses are finished."""

    def __call__(self, before: Int[Array, "B L"], after: Int[Array, "B L"]) -> Bool[Array, " B"]:
        """True where no further pass is wanted, given the tokens fed to a pass and to the next."""
        ...


@dataclass(frozen=True)
class StopUnchanged:
    """Finished when the next pass would be fed what this one was, as it would predict the same."""

    def __call__(self, before: Int[Array, "B L"], after: Int[Array, "B L"]) -> Bool[Array, " B"]:
        return jnp.all(before == after, axis=1)


STARTS: dict[str, type[RandomStart] | type[MaskStart]] = {
    "random": RandomStart,
    "mask": MaskStart,
}
REMASKS: dict[str, type[NoRemask] | type[StutterRemask]] = {
    "none": NoRemask,
    "stutter": StutterRemask,
}
STOPS: dict[str, type[StopUnchanged]] = {"unchanged": StopUnchanged}
