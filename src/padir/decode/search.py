"""Left-to-right search with a causal model: greedy, and beam search after Wu et al. 2016.

Both are compiled loops over a callable step, so that tests can feed tables instead of a model.
Conventions of the beam: that of T5X (see tests/parity/test_beam.py), with stated differences.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from padir.decode.candidates import length_penalty
from padir.decode.predict import log_normaliser, top_tokens


def narrowing_loop(
    body: Callable[[Any], Any],
    finished: Callable[[Any], Bool[Array, " B"]],
    search: Any,
    sizes: Sequence[int],
) -> Any:
    """Repeat `body` until all rows are finished, shrinking the batch as they finish.

    Otherwise a few long rows would keep the whole batch running. Rows are independent, so that
    their results do not depend on the batch.

    Args:
        body: one step of a search; `finished` tells its finished rows.
        finished: reads them from a search.
        search: a NamedTuple: `position` without rows, everything else with rows first.
        sizes: batch sizes in descending order; once no more rows than the next one are unfinished,
            the batch shrinks to it.

    Returns:
        the last state of every row. `position` and `state` are those of the first batch.
    """
    target = sizes[0] if sizes else 0
    search = jax.lax.while_loop(lambda s: jnp.sum(~finished(s)) > target, body, search)
    if not sizes:
        return search
    chosen = jnp.argsort(finished(search), stable=True)[:target]
    kept = {"position": search.position, "state": search.state}
    rows = search._replace(position=None, state=None)
    part = jax.tree.map(lambda array: array[chosen], search._replace(position=None))._replace(
        position=search.position
    )
    part = narrowing_loop(body, finished, part, sizes[1:])._replace(position=None, state=None)
    return jax.tree.map(lambda whole, new: whole.at[chosen].set(new), rows, part)._replace(**kept)


# Score of a place that holds no hypothesis; far below any real one.
EMPTY = -1e7


GreedyStep = Callable[
    [Int[Array, " B"], Int[Array, ""], Any], tuple[Int[Array, " B"], Float[Array, " B"], Any]
]
"""The likeliest next token: (tokens, position, state) -> (next, log-probability, state)."""


class Greedy(NamedTuple):
    """State and result of greedy search.

    Attributes:
        position: output positions filled.
        tokens: the hypothesis, EOS included; padding 0 after it.
        log_probability: of the tokens, EOS included.
        length: tokens with EOS; tokens alone where the limit was reached first.
        finished: EOS or the limit was reached.
        limits: most tokens.
        state: the step's own, rows first.
    """

    position: Int[Array, ""]
    tokens: Int[Array, "B L"]
    log_probability: Float[Array, " B"]
    length: Int[Array, " B"]
    finished: Bool[Array, " B"]
    limits: Int[Array, " B"]
    state: Any


def greedy_search(
    step: GreedyStep,
    state: Any,
    limits: Int[Array, " B"],
    length: int,
    start: int,
    eos: int,
    sizes: Sequence[int] = (),
) -> Greedy:
    """Take the likeliest token at each position until EOS or the row's limit.

    Args:
        step: see `GreedyStep`; position 0 is fed `start`.
        state: given to the first step.
        limits: most tokens per row, EOS included; 0 for rows that are not decoded.
        length: of the buffer, at least every limit.
        start: first input token.
        eos: token that ends a hypothesis.
        sizes: see `narrowing_loop`; at most the number of rows.
    """

    def one_step(search: Greedy) -> Greedy:
        previous = search.tokens[:, jnp.maximum(search.position - 1, 0)]
        inputs = jnp.where(search.position == 0, start, previous)
        token, log_probability, state = step(inputs, search.position, search.state)
        token = jnp.where(search.finished, 0, token)
        going = ~search.finished
        filled = search.position + 1
        return Greedy(
            position=filled,
            tokens=search.tokens.at[:, search.position].set(token),
            log_probability=search.log_probability + jnp.where(going, log_probability, 0.0),
            length=search.length + going,
            finished=search.finished | (token == eos) | (filled >= search.limits),
            limits=search.limits,
            state=state,
        )

    rows = limits.shape[0]
    initial = Greedy(
        position=jnp.int32(0),
        tokens=jnp.zeros((rows, length), jnp.int32),
        log_probability=jnp.zeros(rows, jnp.float32),
        length=jnp.zeros(rows, jnp.int32),
        finished=limits <= 0,
        limits=limits,
        state=state,
    )
    return narrowing_loop(one_step, lambda search: search.finished, initial, sizes)


BeamStep = Callable[
    [Int[Array, "B K"], Int[Array, ""], Int[Array, "B K L"], Any],
    tuple[Float[Array, "B K V"], Any],
]
"""Next-token logits of K hypotheses per row: (tokens, position, origin, state) -> (logits, state).

`origin[b, k, t]` is the slot whose step at position t belongs to hypothesis k's past: the search
never reorders `state`."""


class Hypotheses(NamedTuple):
    """K hypotheses per row, best first.

    Attributes:
        tokens: EOS included, padding 0 after it.
        scores: log-probability / penalty; `EMPTY` where there is none.
        log_probability: of the tokens, EOS included.
        length: tokens with EOS.
    """

    tokens: Int[Array, "B K L"]
    scores: Float[Array, "B K"]
    log_probability: Float[Array, "B K"]
    length: Int[Array, "B K"]


class Beam(NamedTuple):
    """State of beam search: live hypotheses, and finished ones by score.

    Attributes:
        position: output positions filled.
        live: without EOS; `scores` and `log_probability` are the same.
        origin: see `BeamStep`.
        ended: with EOS.
        closed: rows whose result is settled.
        limits: most tokens.
        state: the step's own, rows first.
    """

    position: Int[Array, ""]
    live: Hypotheses
    origin: Int[Array, "B K L"]
    ended: Hypotheses
    closed: Bool[Array, " B"]
    limits: Int[Array, " B"]
    state: Any


def beam_search(
    step: BeamStep,
    state: Any,
    limits: Int[Array, " B"],
    alpha: Float[Array, ""] | float,
    *,
    beam: int,
    length: int,
    start: int,
    eos: int,
    results: int = 1,
    ending_ranks: int | None = None,
    sizes: Sequence[int] = (),
) -> Hypotheses:
    """Beam search with length-normalised scores.

    Args:
        step: see `BeamStep`; position 0 is fed `start`.
        state, limits, length, start, eos, sizes: as of `greedy_search`.
        alpha: of the penalty ((5 + length) / 6) ** alpha; any sign.
        beam: live hypotheses per row (K).
        results: how many of the best finished hypotheses must be right: a row is closed once no
            live one can still enter them.
        ending_ranks: a hypothesis may end when it is among this many best continuations of its
            row. By default `beam`, so that a beam of 1 with alpha 0 is greedy search; T5X allows
            2 * beam.

    Returns:
        `beam` hypotheses per row. Where none finished within the limit, the live ones, with
        undivided scores.
    """
    ending_ranks = beam if ending_ranks is None else ending_ranks
    slots = jnp.arange(beam, dtype=jnp.int32)

    def one_step(search: Beam) -> Beam:
        position, live, limits = search.position, search.live, search.limits
        rows = limits.shape[0]
        inputs = jnp.where(position == 0, start, live.tokens[:, :, jnp.maximum(position - 1, 0)])
        origin = search.origin.at[:, :, position].set(slots[None, :])
        logits, state = step(inputs, position, origin, search.state)
        filled = position + 1

        # The best 2 * beam continuations of a row are among the best 2 * beam of each hypothesis.
        width = min(2 * beam, logits.shape[-1])
        best, token = top_tokens(logits.reshape(rows * beam, -1), width)
        best = best.reshape(rows, beam, width) - log_normaliser(logits)[..., None]
        total = (live.log_probability[:, :, None] + best).reshape(rows, beam * width)
        kept = min(2 * beam, beam * width)
        total, flat = jax.lax.top_k(total, kept)
        token = jnp.take_along_axis(token.reshape(rows, beam * width), flat, axis=1)
        parent = flat // width
        ends = token == eos

        def select(array, index):
            shaped = index.reshape(*index.shape, *[1] * (array.ndim - 2))
            return jnp.take_along_axis(array, shaped, axis=1)

        tokens = select(live.tokens, parent).at[:, :, position].set(token)

        # Live: the best that do not end.
        _, rank = jax.lax.top_k(jnp.where(ends, EMPTY, total), beam)
        log_probability = jnp.where(select(ends, rank), EMPTY, select(total, rank))
        alive = Hypotheses(
            tokens=select(tokens, rank),
            scores=log_probability,
            log_probability=log_probability,
            length=jnp.full((rows, beam), filled),
        )

        # Finished: old and new ones by score.
        may_end = ends & (jnp.arange(kept) < ending_ranks)[None, :] & ~search.closed[:, None]
        scores = jnp.where(may_end, total / length_penalty(filled, alpha), EMPTY)
        both = Hypotheses(
            tokens=jnp.concatenate([search.ended.tokens, tokens], axis=1),
            scores=jnp.concatenate([search.ended.scores, scores], axis=1),
            log_probability=jnp.concatenate([search.ended.log_probability, total], axis=1),
            length=jnp.concatenate([search.ended.length, jnp.full((rows, kept), filled)], axis=1),
        )
        _, order = jax.lax.top_k(both.scores, beam)
        ended = Hypotheses(*(select(array, order) for array in both))
        empty = ended.scores <= EMPTY
        ended = ended._replace(tokens=jnp.where(empty[:, :, None], 0, ended.tokens))

        # A live hypothesis can gain nothing but length: its score never exceeds its present
        # log-probability under the most favourable penalty still reachable.
        largest = jnp.maximum(
            length_penalty(jnp.minimum(filled + 1, limits), alpha), length_penalty(limits, alpha)
        )
        bound = alive.log_probability[:, 0] / largest
        settled = ended.scores[:, results - 1] >= bound
        return Beam(
            position=filled,
            live=jax.tree.map(
                lambda new, old: jnp.where(_broadcast_rows(search.closed, new), old, new),
                alive,
                live,
            ),
            origin=select(origin, select(parent, rank)),
            ended=ended,
            closed=search.closed | settled | (filled >= limits),
            limits=limits,
            state=state,
        )

    rows = limits.shape[0]
    nothing = jnp.full((rows, beam), EMPTY, jnp.float32)
    # One live hypothesis to start with, or all would be copies.
    first = nothing.at[:, 0].set(0.0)
    tokens = jnp.zeros((rows, beam, length), jnp.int32)
    zero = jnp.zeros((rows, beam), jnp.int32)
    search = narrowing_loop(
        one_step,
        lambda search: search.closed,
        Beam(
            position=jnp.int32(0),
            live=Hypotheses(tokens, first, first, zero),
            origin=tokens,
            ended=Hypotheses(tokens, nothing, nothing, zero),
            closed=limits <= 0,
            limits=limits,
            state=state,
        ),
        sizes,
    )
    some = jnp.any(search.ended.scores > EMPTY, axis=1)
    return jax.tree.map(
        lambda ended, live: jnp.where(_broadcast_rows(some, ended), ended, live),
        search.ended,
        search.live,
    )


def _broadcast_rows(rows: Bool[Array, " B"], array: Array) -> Array:
    """A mask of rows, reshaped to broadcast against `array`."""
    return rows.reshape(-1, *[1] * (array.ndim - 1))
