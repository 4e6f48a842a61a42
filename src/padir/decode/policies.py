"""Policies of parallel decoding: initial tokens, updates, remasking and stopping.

start: the hypothesis before the first pass, drawn on the host.
update: the positions that take a pass's prediction.
remask: the tokens that are hidden again between passes.
stop: when a hypothesis is finished.

All but the start run inside compiled code. A new policy is a function and an entry of its mapping:
`padir.config.decoder` reads the names that settings allow from the mappings. Worked example:
CONTRIBUTING.md.

Paper: 3.2, L.1.2; Ghazvininejad et al. 2019 (decaying numbers); Savinov et al. 2022 (shares).
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from padir.config.decoder import RefinementDecoder
from padir.ids import FIRST_PIECE, MASK
from padir.tokens import lowest, stutters


@runtime_checkable
class Start(Protocol):
    """Draws initial tokens: for a source, of K candidates, up to the model's longest target L. They
    depend on the arguments alone, and the first rows and columns of a larger draw equal a smaller
    one with the same L."""

    def __call__(
        self, seed: int, vocabulary_size: int, source: Sequence[int], candidates: int, length: int
    ) -> Int[np.ndarray, "K L"]: ...


def sentence_key(seed: int, source: Sequence[int]) -> int:
    """128 bits that depend on the seed and the sentence's content alone."""
    content = np.array([seed, *source], "<i8").tobytes()
    return int.from_bytes(hashlib.sha256(content).digest()[:16], "little")


def random_start(
    seed: int, vocabulary_size: int, source: Sequence[int], candidates: int, length: int
) -> Int[np.ndarray, "K L"]:
    """Uniform over the pieces of text, as in training."""
    # Counter-based: the stream's key is a digest of seed and sentence, its counter is
    # candidate and position, so neighbours and padding cannot matter.
    generator = np.random.Philox(key=sentence_key(seed, source))
    draws = generator.random_raw(candidates * length)
    pieces = draws % np.uint64(vocabulary_size - FIRST_PIECE)
    return (pieces.astype(np.int32) + FIRST_PIECE).reshape(candidates, length)


def mask_start(
    seed: int, vocabulary_size: int, source: Sequence[int], candidates: int, length: int
) -> Int[np.ndarray, "K L"]:
    """The mask token everywhere."""
    return np.full((candidates, length), MASK, np.int32)


def position_mask_start(
    seed: int, vocabulary_size: int, source: Sequence[int], candidates: int, length: int
) -> Int[np.ndarray, "K L"]:
    """A mask token for each position: rows of the embedding table past the vocabulary."""
    row = vocabulary_size + np.arange(length, dtype=np.int32)
    return np.broadcast_to(row, (candidates, length)).copy()


class PassView(NamedTuple):
    """Information about a pass that a policy may use.

    Attributes:
        inputs: the tokens that the pass read.
        hidden: positions that were hidden in it.
        tokens: the hypothesis after the pass; EOS and padding stand in their places.
        log_probability: of each token; 0 where tokens are given.
        critic_probability: that the token is right, by the model's critic; 1 without a critic.
        is_piece: where tokens are predicted.
        passes_done: passes made before this one.
        passes: passes asked for (T).
        chance: uniform on [0, 1), drawn for this pass from each sentence's own stream: once for
            the update and once for remasking, independent of each other and of the tokens drawn.
        coupling: of each position with its left neighbour (`coupled_by`), where a policy
            asks for it; else None.
    """

    inputs: Int[Array, "B L"]
    hidden: Bool[Array, "B L"]
    tokens: Int[Array, "B L"]
    log_probability: Float[Array, "B L"]
    critic_probability: Float[Array, "B L"]
    is_piece: Bool[Array, "B L"]
    passes_done: Int[Array, ""]
    passes: Int[Array, ""]
    chance: Float[Array, "B L"]
    coupling: Float[Array, "B L"] | None = None

    def share(self, share: float | Float[Array, ""]) -> Int[Array, " B"]:
        """Number of positions in a share of each row's pieces, rounded down."""
        # 1e-4 absorbs rounding: 0.1 * 10 pieces must give 1.
        return jnp.floor(share * jnp.sum(self.is_piece, axis=1) + 1e-4).astype(jnp.int32)


@runtime_checkable
class Policy(Protocol):
    """Chooses positions: those that take the prediction, or those to remask."""

    def __call__(self, view: PassView) -> Bool[Array, "B L"]: ...


def all_positions(view: PassView) -> Bool[Array, "B L"]:
    """Every position."""
    return jnp.ones_like(view.is_piece)


def no_position(view: PassView) -> Bool[Array, "B L"]:
    """No position."""
    return jnp.zeros_like(view.is_piece)


def hidden_positions(view: PassView) -> Bool[Array, "B L"]:
    """Positions that were hidden in the pass; the others keep their tokens (Mask-Predict)."""
    return view.hidden


def random_share(view: PassView, share: float) -> Bool[Array, "B L"]:
    """A random share of the positions, each with this probability; all in the first pass."""
    return (view.chance < share) | (view.passes_done == 0)


def least_confident_share(view: PassView, share: float) -> Bool[Array, "B L"]:
    """The least confident share of the positions; all of them in the first pass."""
    count = view.share(share)
    return lowest(view.log_probability, view.is_piece, count) | (view.passes_done == 0)


def stutter_remask(view: PassView) -> Bool[Array, "B L"]:
    """Remasks tokens equal to their left neighbour, as later training stages do. Paper: L.2."""
    return stutters(view.tokens) & view.is_piece


def neighbour_pairs(
    view: PassView, pair: Bool[Array, "B L"]
) -> tuple[Bool[Array, "B L"], Bool[Array, "B L"]]:
    """Adjacent pairs of predicted tokens, and which token of each pair is less confident.

    Args:
        view: after the pass.
        pair: where a position and its left neighbour are a pair.

    Returns:
        the pairs, at their right positions, and where the right one is no more probable than its
        left neighbour: of equals the right one counts as less confident.
    """
    left = jnp.pad(view.is_piece[:, :-1], ((0, 0), (1, 0)))
    before = jnp.pad(view.log_probability[:, :-1], ((0, 0), (1, 0)))
    return pair & view.is_piece & left, view.log_probability <= before


def at_left(flags: Bool[Array, "B L"]) -> Bool[Array, "B L"]:
    """Each position's value at its right neighbour; False where there is none."""
    return jnp.pad(flags[:, 1:], ((0, 0), (0, 1)))


def weaker_stutter_remask(view: PassView) -> Bool[Array, "B L"]:
    """Remasks the less confident of two equal neighbours, left or right."""
    pair, right = neighbour_pairs(view, stutters(view.tokens))
    return (pair & right) | at_left(pair & ~right)


def coupled_remask(view: PassView, threshold: float) -> Bool[Array, "B L"]:
    """Remasks the least confident of coupled neighbours, so that blocks are decoded independently.

    A position is remasked if it is less confident than each neighbour that it is coupled with; of
    equals the right one. So no two coupled neighbours are remasked at once, and of a run at least
    one is. With `update: hidden` the others stay, and the next pass predicts it given them: tokens
    that change at once depend less on each other. The paper's slides leave such a sampler open.
    Positions are coupled by attention to the same source tokens (hypothesis 2 of section 3.4), or
    by their predictions.

    Args:
        view: after the pass, with the coupling.
        threshold: least coupling of neighbours that count as coupled.
    """
    if view.coupling is None:
        raise ValueError("remask coupled needs the coupling of neighbours")
    pair, right = neighbour_pairs(view, view.coupling >= threshold)
    more_confident = (pair & ~right) | at_left(pair & right)
    return (pair | at_left(pair)) & ~more_confident


def decaying_schedule(view: PassView, cosine: bool) -> Bool[Array, "B L"]:
    """Remasks the n least confident tokens, n decaying to 0 at the last pass: as a quarter of a
    cosine, or linearly."""
    past = (view.passes_done + 1) / view.passes
    share = jnp.cos(past * jnp.pi / 2) if cosine else 1 - past
    return lowest(view.log_probability, view.is_piece, view.share(share))


def constant_share(view: PassView, share: float) -> Bool[Array, "B L"]:
    """Remasks the least confident tokens, a constant share after every pass."""
    return lowest(view.log_probability, view.is_piece, view.share(share))


def constant_count(view: PassView, count: int) -> Bool[Array, "B L"]:
    """Remasks the least confident tokens, a constant number after every pass."""
    counts = jnp.full(view.is_piece.shape[0], count, jnp.int32)
    return lowest(view.log_probability, view.is_piece, counts)


def critic_remask(view: PassView) -> Bool[Array, "B L"]:
    """Remasks the tokens that the model's critic rejects."""
    return (view.critic_probability < 0.5) & view.is_piece


@runtime_checkable
class Stop(Protocol):
    """Says which hypotheses want no further pass, from the tokens fed to a pass, those fed to the
    next, and the log-probability of each token, 0 where tokens are given."""

    def __call__(
        self,
        before: Int[Array, "B L"],
        after: Int[Array, "B L"],
        log_probability: Float[Array, "B L"],
    ) -> Bool[Array, " B"]: ...


def stop_never(before, after, log_probability) -> Bool[Array, " B"]:
    """All passes are made."""
    return jnp.zeros(before.shape[0], bool)


def stop_unchanged(before, after, log_probability) -> Bool[Array, " B"]:
    """Finished when the next pass would read the same input, and so predict the same."""
    return jnp.all(before == after, axis=1)


def stop_confident(before, after, log_probability, probability: float) -> Bool[Array, " B"]:
    """Finished when every token has at least this probability."""
    return jnp.all(log_probability >= jnp.log(probability), axis=1)


STARTS: dict[str, Start] = {
    "random": random_start,
    "mask": mask_start,
    "position_mask": position_mask_start,
}
CONSTANT_STARTS = ("mask", "position_mask")
"""Starts that depend on the number of candidates and the length alone."""
UPDATES: dict[str, Callable[[RefinementDecoder], Policy]] = {
    "all": lambda settings: all_positions,
    "hidden": lambda settings: hidden_positions,
    "share": lambda settings: partial(random_share, share=settings.update_share),
    "uncertain": lambda settings: partial(least_confident_share, share=settings.update_share),
}
REMASKS: dict[str, Callable[[RefinementDecoder], Policy]] = {
    "none": lambda settings: no_position,
    "stutter": lambda settings: stutter_remask,
    "weaker_stutter": lambda settings: weaker_stutter_remask,
    "coupled": lambda settings: partial(coupled_remask, threshold=settings.coupling_threshold),
    "linear": lambda settings: partial(decaying_schedule, cosine=False),
    "cosine": lambda settings: partial(decaying_schedule, cosine=True),
    "constant": lambda settings: partial(constant_share, share=settings.remask_share),
    "count": lambda settings: partial(constant_count, count=settings.remask_count),
    "critic": lambda settings: critic_remask,
}
STOPS: dict[str, Callable[[RefinementDecoder], Stop]] = {
    "fixed": lambda settings: stop_never,
    "unchanged": lambda settings: stop_unchanged,
    "confidence": lambda settings: partial(stop_confident, probability=settings.stop_confidence),
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
