"""Parallel decoding by iterative refinement: each of T passes predicts all positions in parallel.

A hypothesis of length l holds EOS at position l - 1 in every pass, as in training; start tokens
before it; padding after it. Each pass predicts every position before EOS; the update policy says
which take the prediction; between passes the remask policy hides some again; after the last pass
it never does. Positions may be given: they keep their tokens throughout.

Paper: 3.2 and L.1.1. Where this differs from the published code:
docs/departures.md.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from padir.decode.joint import PairwiseRepetitionPenalty, TopTokens
from padir.decode.policies import PassView, Policy, Stop
from padir.decode.predict import (
    REMASK_DRAW,
    UPDATE_DRAW,
    RowKeys,
    chances,
    position_keys,
    top_tokens,
)
from padir.ids import EOS, MASK, PAD
from padir.tokens import first_argmax


class Prediction(NamedTuple):
    """The result of one pass of a model.

    Attributes:
        token: predicted at each position.
        log_probability: of that token.
        critic_probability: that it is right, by the model's critic; 1 without a critic.
        logits: over all ids, where a policy or the shortlist asks for them; else None.
        top_tokens: the likeliest tokens, where a pass chooses jointly; else None.
        coupling: of each position with those before it, nearest first, where a policy asks for it
            (`coupled_by`); else None.
    """

    token: Int[Array, "B L"]
    log_probability: Float[Array, "B L"]
    critic_probability: Float[Array, "B L"]
    logits: Float[Array, "B L V"] | None = None
    top_tokens: TopTokens | None = None
    coupling: Float[Array, "B L R"] | None = None


class Policies(NamedTuple):
    """The policies of one decoder; see `padir.decode.policies` and `padir.config.decoder`."""

    update: Policy
    remask: Policy
    stop: Stop
    replacement: str = "start"
    rescore_kept: bool = False
    easy_first: bool = False
    joint: PairwiseRepetitionPenalty | None = None
    shortlist: int = 0  # tokens that passes after the first choose from; 0: all


class Refinement(NamedTuple):
    """The loop's state, one row per hypothesis.

    Attributes:
        passes_done: passes made so far.
        inputs: tokens that the next pass reads.
        hidden: positions that are hidden in `inputs`.
        tokens: the hypothesis; the result.
        log_probability: of each token, at the pass that predicted it, or with `rescore_kept` of the
            latest prediction at its position; 0 where tokens are given.
        first_log_probability: of the first pass, the order of easy-first decoding.
        summed_logits: of all passes, where a policy asks for them; else None.
        shortlist: ids that passes after the first choose from, rising; None: all.
        passes: passes that changed or confirmed the row.
        finished: rows that no pass changes any more.
    """

    passes_done: Int[Array, ""]
    inputs: Int[Array, "B L"]
    hidden: Bool[Array, "B L"]
    tokens: Int[Array, "B L"]
    log_probability: Float[Array, "B L"]
    first_log_probability: Float[Array, "B L"]
    summed_logits: Float[Array, "B L V"] | None
    shortlist: Int[Array, "B C"] | None
    passes: Int[Array, " B"]
    finished: Bool[Array, " B"]


def easy_first_context(
    first: Float[Array, "B L"], is_piece: Bool[Array, "B L"], known: Bool[Array, "B L"]
) -> Bool[Array, "B L L"]:
    """Visible positions of each: EOS, given tokens, and more confident ones of the first pass.

    Equally confident ones count from the left. Kasai et al. 2020, section 3.2.
    """
    length = first.shape[1]
    position = jnp.arange(length)
    more_confident = first[:, None, :] > first[:, :, None]
    equal = first[:, None, :] == first[:, :, None]
    earlier = (position[None, :] < position[:, None])[None]
    return ((more_confident | (equal & earlier)) & is_piece[:, None, :]) | known[:, None, :]


def visible_positions(
    policies: Policies, state: Refinement, is_piece: Bool[Array, "B L"], known: Bool[Array, "B L"]
) -> Bool[Array, "B L"] | Bool[Array, "B L L"]:
    """Visible positions of the pass after `state`: the same for all, or by query and key.

    Args:
        policies: of the decoder.
        state: after the passes so far.
        is_piece: where tokens are predicted.
        known: EOS and given tokens.
    """
    if not policies.easy_first:
        return is_piece | known
    context = easy_first_context(state.first_log_probability, is_piece, known)
    nothing = jnp.broadcast_to(known[:, None, :], context.shape)
    return jnp.where(state.passes_done == 0, nothing, context)


def nearest_to_likeliest(
    logits: Float[Array, "B L V"], is_piece: Bool[Array, "B L"], count: int
) -> Int[Array, "B C"]:
    """Ids of each row, rising, whose logit comes nearest to the likeliest token's at some position.

    Every position's likeliest token is among them, if there are no more positions than `count`.

    Args:
        logits: of the first pass: finite, or -inf where prediction is not allowed.
        is_piece: positions that count.
        count: ids (C), at most V.
    """
    # +inf elsewhere, so that no logit there counts as near.
    top = jnp.where(is_piece, jnp.max(logits, axis=-1), jnp.inf)
    nearest = jnp.max(logits - top[..., None], axis=1)
    return jnp.sort(top_tokens(nearest, min(count, logits.shape[-1]))[1], axis=1)


class Passes(NamedTuple):
    """The passes of one decoding: `refine` runs them in a loop, a trace one by one.

    Attributes:
        state: before the first pass.
        one_pass: from a state to the next; finished rows stay as they are.
        visible: where the pass after a state may look; see `visible_positions`.
    """

    state: Refinement
    one_pass: Callable[[Refinement], Refinement]
    visible: Callable[[Refinement], Bool[Array, "B L"] | Bool[Array, "B L L"]]


def refine(
    predict: Callable[..., Prediction],
    start: Int[Array, "B L"],
    lengths: Int[Array, " B"],
    passes: Int[Array, ""],
    policies: Policies,
    keys: RowKeys,
    given: Bool[Array, "B L"] | None = None,
    may_repeat: Bool[Array, "B R"] | None = None,
) -> Refinement:
    """Refine all rows for up to `passes` passes.

    Args:
        predict: maps tokens [B, L], visibility ([B, L], or [B, L, L] by query and key), random
            keys [B, L] and, with a shortlist, its ids to a `Prediction`.
        start: initial tokens; those at a row's EOS and after it are not read.
        lengths: of each row with EOS, from 1 to L.
        passes: 0 returns the start. Traced: one program serves every number.
        policies: of this decoding. A finished row keeps its result; the loop ends when every row
            is finished.
        keys: of each row's random draws.
        given: positions that keep their start token; none by default.
        may_repeat: rows whose equal tokens a joint choice leaves alone, for each distance from 1;
            none by default.
    """
    state, one_pass, _ = refinement(
        predict, start, lengths, passes, policies, keys, given, may_repeat
    )

    def more(state: Refinement) -> Bool[Array, ""]:
        return (state.passes_done < passes) & ~jnp.all(state.finished)

    if policies.shortlist:
        # The first pass stands before the loop: its output layer is larger than theirs.
        first = one_pass(state)
        before = state._replace(shortlist=first.shortlist)
        state = jax.tree.map(partial(jnp.where, passes > 0), first, before)
    return jax.lax.while_loop(more, one_pass, state)


def refinement(
    predict: Callable[..., Prediction],
    start: Int[Array, "B L"],
    lengths: Int[Array, " B"],
    passes: Int[Array, ""],
    policies: Policies,
    keys: RowKeys,
    given: Bool[Array, "B L"] | None = None,
    may_repeat: Bool[Array, "B R"] | None = None,
) -> Passes:
    """The passes that `refine` makes, which has the same arguments."""
    batch, length = start.shape
    position = jnp.arange(length)[None, :]
    last = lengths[:, None] - 1
    inside, end = position < last, position == last
    is_piece = inside if given is None else inside & ~given
    known = end if given is None else end | (inside & given)
    first = jnp.where(inside, start, jnp.where(end, EOS, PAD))

    def one_pass(state: Refinement) -> Refinement:
        pass_keys = position_keys(keys, state.passes_done, length)
        within = () if state.shortlist is None else (state.shortlist,)
        prediction = predict(state.inputs, visible(state), pass_keys, *within)
        view = PassView(
            inputs=state.inputs,
            hidden=state.hidden,
            tokens=state.tokens,
            log_probability=state.log_probability,
            critic_probability=prediction.critic_probability,
            is_piece=is_piece,
            passes_done=state.passes_done,
            passes=passes,
            chance=chances(pass_keys, UPDATE_DRAW),
            coupling=None if prediction.coupling is None else prediction.coupling[:, :, 0],
        )
        taken = policies.update(view) & is_piece
        chosen, log_probability = prediction.token, prediction.log_probability
        if policies.joint is not None and prediction.top_tokens is not None:
            chosen, joint_score = policies.joint(
                prediction.top_tokens, state.tokens, taken, prediction.coupling, may_repeat
            )
            log_probability = jnp.where(taken, joint_score, log_probability)
        tokens = jnp.where(taken, chosen, state.tokens)
        scored = is_piece if policies.rescore_kept else taken
        score = jnp.where(scored, log_probability, state.log_probability)
        view = view._replace(
            tokens=tokens, log_probability=score, chance=chances(pass_keys, REMASK_DRAW)
        )
        hidden = policies.remask(view) & is_piece
        summed_logits = None
        if state.summed_logits is not None and prediction.logits is not None:
            summed_logits = state.summed_logits + prediction.logits
        masks = jnp.full_like(first, MASK)
        replacements = {"start": first, "mask": masks, "previous": state.inputs}
        if summed_logits is not None:
            replacements["summed"] = first_argmax(summed_logits)
        inputs = jnp.where(hidden, replacements[policies.replacement], tokens)
        shortlist = state.shortlist
        if policies.shortlist and shortlist is None and prediction.logits is not None:
            shortlist = nearest_to_likeliest(prediction.logits, is_piece, policies.shortlist)
        kept = state.finished
        rows = kept[:, None]
        return Refinement(
            passes_done=state.passes_done + 1,
            inputs=jnp.where(rows, state.inputs, inputs),
            hidden=jnp.where(rows, state.hidden, hidden),
            tokens=jnp.where(rows, state.tokens, tokens),
            log_probability=jnp.where(rows, state.log_probability, score),
            first_log_probability=jnp.where(
                state.passes_done == 0, prediction.log_probability, state.first_log_probability
            ),
            summed_logits=summed_logits,
            shortlist=shortlist,
            passes=state.passes + ~kept,
            # The first easy-first pass reads no tokens, so equal inputs of passes 1 and 2 do not
            # mean convergence.
            finished=kept
            | (
                policies.stop(state.inputs, inputs, score)
                & ~(policies.easy_first & (state.passes_done == 0))
            ),
        )

    def visible(state: Refinement) -> Bool[Array, "B L"] | Bool[Array, "B L L"]:
        return visible_positions(policies, state, is_piece, known)

    zeros = jnp.zeros((batch, length), jnp.float32)
    summed_logits = None
    if policies.replacement == "summed":
        shapes = jax.eval_shape(
            predict, first, inside | end, position_keys(keys, jnp.int32(0), length)
        )
        summed_logits = jnp.zeros(shapes.logits.shape, shapes.logits.dtype)
    state = Refinement(
        passes_done=jnp.int32(0),
        inputs=first,
        hidden=is_piece,
        tokens=first,
        log_probability=zeros,
        first_log_probability=zeros,
        summed_logits=summed_logits,
        shortlist=None,
        passes=jnp.zeros(batch, jnp.int32),
        finished=~jnp.any(is_piece, axis=1),
    )
    return Passes(state, one_pass, visible)


def by_candidate(
    state: Refinement, shape: tuple[int, ...]
) -> tuple[Int[Array, "B K L"], Float[Array, "B K"], Int[Array, "B K"]]:
    """Tokens, their summed log-probability and the passes of each sentence's candidates."""
    return (
        state.tokens.reshape(shape),
        state.log_probability.sum(axis=1).reshape(shape[:2]),
        state.passes.reshape(shape[:2]),
    )
