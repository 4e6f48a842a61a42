"""The twin of the refinement loop in plain Python, row by row, and fake models for both.

The models look their answers up in tables. One is sure of its tokens; one, for sampling, gives
logits; one sees a context of its own at each position.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from padir.decode.joint import TopTokens
from padir.decode.predict import choose
from padir.decode.refine import Prediction
from padir.ids import EOS, FIRST_PIECE, MASK, PAD

PIECES = 5
TABLE = np.random.default_rng(3).integers(0, PIECES, (PIECES + 2, PIECES + 2, PIECES + 2))
SCORE = np.random.default_rng(4).uniform(-3, 0, (PIECES + 2, PIECES + 2, PIECES + 2))
LOGITS = np.random.default_rng(6).normal(0, 0.1, (PIECES + 2, PIECES + 2, PIECES + 2, PIECES))
"""Of the pieces; at SUNDAE's temperature of 0.1 each of them is drawn now and then."""
ALLOWED = np.arange(FIRST_PIECE + PIECES) >= FIRST_PIECE


def code(tokens):
    """PAD and EOS to 0 and 1, pieces from 2."""
    return np.where(tokens >= FIRST_PIECE, tokens - FIRST_PIECE + 2, tokens)


def look_up(tokens, position, visible):
    """A fake model: a token depends on itself, its neighbours and where it stands."""
    padded = np.pad(np.where(visible, tokens, PAD), ((0, 0), (1, 1)))
    left, centre, right = code(padded[:, :-2]), code(padded[:, 1:-1]), code(padded[:, 2:])
    token = (TABLE[left, centre, right] + position) % PIECES + FIRST_PIECE
    return token, SCORE[left, centre, right]


def look_up_logits(tokens, visible):
    """Of every id at each position, from itself and its neighbours; zero at ids of no piece."""
    padded = np.pad(np.where(visible, tokens, PAD), ((0, 0), (1, 1)))
    left, centre, right = code(padded[:, :-2]), code(padded[:, 1:-1]), code(padded[:, 2:])
    return np.pad(LOGITS[left, centre, right], ((0, 0), (0, 0), (FIRST_PIECE, 0))).astype(
        np.float32
    )


def look_up_seen(tokens, contexts):
    """Token and score of one row [L], from all that each position sees: `contexts` [query, key]."""
    coded, answers = code(np.asarray(tokens)).tolist(), []
    for i, sees in enumerate(np.asarray(contexts).tolist()):
        known = [(j, coded[j]) for j in range(len(coded)) if sees[j]]
        first, second = (sum(c * (j + k) for j, c in known) % (PIECES + 2) for k in (1, 3))
        token = (TABLE[first, second, i % (PIECES + 2)] + i // 2) % PIECES + FIRST_PIECE
        # Positions that see the same have one score where their squares are alike: some, not all.
        answers.append((token, SCORE[first, second, i * i % 5]))
    return [np.array(both) for both in zip(*answers, strict=True)]


def fake_predict(tokens, visible, keys, count=3):
    def host(tokens, visible):
        tokens, visible = np.asarray(tokens), np.asarray(visible)
        if visible.ndim == 3:
            rows = [look_up_seen(*row) for row in zip(tokens, visible, strict=True)]
            token, score = (np.stack(both) for both in zip(*rows, strict=True))
        else:
            token, score = look_up(tokens, np.arange(tokens.shape[1])[None] // 3, visible)
        return token.astype(np.int32), score.astype(np.float32)

    shapes = (
        jax.ShapeDtypeStruct(tokens.shape, jnp.int32),
        jax.ShapeDtypeStruct(tokens.shape, jnp.float32),
    )
    token, score = jax.pure_callback(host, shapes, tokens, visible)
    several = [(token - FIRST_PIECE + i) % PIECES + FIRST_PIECE for i in range(count)]
    scores = [score - gap * stretch(score) for gap in GAPS[:count]]
    top_tokens = TopTokens(jnp.stack(several, axis=-1), jnp.stack(scores, axis=-1))
    return Prediction(token, score, jnp.exp(score), None, top_tokens, near_and_far(score))


def fake_draw(settings):
    """A fake model whose tokens are drawn."""

    def predict(tokens, visible, keys):
        shape = jax.ShapeDtypeStruct((*tokens.shape, len(ALLOWED)), jnp.float32)
        logits = jax.pure_callback(look_up_logits, shape, tokens, visible)
        token, score = choose(logits, ALLOWED, keys, settings)
        return Prediction(token, score, jnp.exp(score))

    return predict


GAPS = (0.0, 0.37, 0.81, 1.2, 1.9)
"""How much less likely than the first candidate the fake model calls each."""


def stretch(score):
    """Else two positions could give way at the same price, and rounding would choose."""
    return 1 + (score * 3.7) % 1.0


def coupling_of(score, distance=1):
    """The fake model's overlap of a position with one before it: any function will do."""
    return (score * (6.3 + distance)) % 1.0


def near_and_far(score):
    return jnp.stack([coupling_of(score), coupling_of(score, 2)], axis=-1)


def plain_joint(settings, first, scores, kept, update, may_repeat):
    """Tokens and log-probabilities of one row: the best path for each pair of last tokens."""
    count = 2 * settings.joint_reach + 1
    best = {(None, None): (0.0, [])}
    for i, token in enumerate(first):
        options = [(kept[i], 0.0)]
        if i in update:
            shifts = [
                (token - FIRST_PIECE + shift) % PIECES + FIRST_PIECE for shift in range(count)
            ]
            prices = (gap * stretch(scores[i]) for gap in GAPS)
            options = [(t, scores[i] - p) for t, p in zip(shifts, prices, strict=False)]
        penalties = [0.0 if spared else settings.joint_penalty for spared in may_repeat]
        if settings.joint == "attention":
            penalties = [cost * coupling_of(scores[i], d) for d, cost in enumerate(penalties, 1)]
        grown = {}
        for (before, left), (value, path) in best.items():
            for t, score in options:
                near = (left, before)
                paid = sum(cost for cost, other in zip(penalties, near, strict=False) if other == t)
                total = value + score - paid
                if (left, t) not in grown or total > grown[left, t][0]:
                    grown[left, t] = (total, [*path, (t, score)])
        best = grown
    return max(best.values(), key=lambda scored_path: scored_path[0])[1]


def least(scores, positions, count):
    """The `count` positions with the smallest scores, leftmost first among equals."""
    return set(sorted(positions, key=lambda i: (scores[i], i))[:count])


def hidden_again(settings, tokens, scores, pieces, done, passes, coupling, key):
    """Positions to hide after `done` passes, as the settings' descriptions read; one that draws
    takes the last of `numbers(key, done - 1, position)`."""
    share = {
        "linear": 1 - done / passes,
        "cosine": math.cos(done / passes * math.pi / 2),
        "constant": settings.remask_share,
    }
    if settings.remask == "stutter":
        return {i for i in pieces if i and tokens[i] == tokens[i - 1]}
    if settings.remask == "weaker_stutter":
        pairs = [i for i in pieces if i - 1 in pieces and tokens[i] == tokens[i - 1]]
        return {i if scores[i] <= scores[i - 1] else i - 1 for i in pairs}
    if settings.remask == "coupled":
        least_overlap = settings.coupling_threshold
        bonds = [i for i in pieces if i - 1 in pieces and coupling[i] >= least_overlap]
        partners = {i: [j for b in bonds if i in (b, b - 1) for j in (b, b - 1)] for i in pieces}
        rank = {i: (scores[i], -i) for i in pieces}
        return {i for i in pieces if partners[i] and rank[i] == min(map(rank.get, partners[i]))}
    if settings.remask == "critic":
        return {i for i in pieces if math.exp(scores[i]) < 0.5}
    if settings.remask == "count":
        return least(scores, pieces, settings.remask_count)
    if settings.remask in share:
        return least(scores, pieces, math.floor(share[settings.remask] * len(pieces) + 1e-4))
    if settings.remask == "none":
        return set()
    raise NotImplementedError(f"write remask {settings.remask} in plain Python: hidden_again")


@jax.jit
def _numbers(key, done, position):
    key = jax.random.wrap_key_data(key, impl="threefry2x32")
    position_key = jax.random.fold_in(jax.random.fold_in(key, done), position)
    keys = [position_key, *(jax.random.fold_in(position_key, number) for number in (1, 2))]
    return [jax.random.uniform(key) for key in keys]


@functools.cache
def numbers(key, done, position):
    """What a position draws in the pass after `done` others: for its token, for taking it, for
    hiding it again."""
    return [float(number) for number in _numbers(np.array(key, np.uint32), done, position)]


def plain_draw(logits, temperature, number):
    """The piece that a number draws, and its log-probability before temperature.

    The pieces' weights lie side by side on a line; the number is a share of it, from its end.
    """
    weights = [math.exp(value / temperature) for value in logits]
    rest = (1 - number) * sum(weights)
    piece = 0
    while piece < len(weights) - 1 and rest > weights[piece]:
        rest -= weights[piece]
        piece += 1
    total = math.log(sum(math.exp(value) for value in logits))
    return piece + FIRST_PIECE, logits[piece] - total


def plain_context(order, pieces, known):
    """What each position sees: EOS and given tokens, and of the others those with a larger score
    in `order`, equals from the left; none before there is an order."""
    sees = []
    for i, score in enumerate(order):
        more_confident = {j for j in pieces if order[j] > score or (order[j] == score and j < i)}
        sees.append([j in more_confident | known for j in range(len(order))])
    return sees


def plain_answers(settings, inputs, length, pieces, known, order, draws):
    """Token and score at each position of one row, by the fake model that fits the settings.

    Args:
        inputs: what the pass reads.
        known: EOS and given positions.
        order: scores of the first pass; None in it.
        draws: a number for each piece, where tokens are drawn.
    """
    row, visible = np.array([inputs]), np.arange(len(inputs))[None] < length
    if settings.temperature:
        answers = [(PAD, 0.0)] * len(inputs)
        logits = look_up_logits(row, visible)[0, :, FIRST_PIECE:].tolist()
        for i, number in zip(pieces, draws, strict=True):
            answers[i] = plain_draw(logits[i], settings.temperature, number)
        return answers
    if settings.context == "easy_first":
        sees = plain_context(order or [0.0] * len(inputs), pieces if order else [], known)
        predicted = look_up_seen(row[0], sees)
    else:
        predicted = [
            values[0] for values in look_up(row, np.arange(len(inputs))[None] // 3, visible)
        ]
    return [(int(t), float(np.float32(s))) for t, s in zip(*predicted, strict=True)]


def updated(settings, pieces, hidden, scores, key, done):
    """Positions that take the prediction of pass `done`, counted from 1."""
    share = settings.update_share
    if done == 1 or settings.update == "all":
        return set(pieces)
    if settings.update == "hidden":
        return hidden
    if settings.update == "uncertain":
        return least(scores, pieces, math.floor(share * len(pieces) + 1e-4))
    return {i for i in pieces if numbers(key, done - 1, i)[1] < share}


def plain_refine(start, length, passes, settings, given, may_repeat, key):
    """One row, as the description reads."""
    pieces = [i for i in range(length - 1) if not given[i]]
    known = {i for i in range(length) if i not in pieces}
    order = None
    first = [*start[: length - 1], EOS, *[PAD] * (len(start) - length)]
    inputs, tokens, used = list(first), list(first), 0
    scores, hidden = [0.0] * len(start), set(pieces)
    for done in range(1, passes + 1):
        if not pieces:
            break
        draws = [numbers(key, done - 1, i)[0] for i in pieces] if settings.temperature else []
        first_choice = plain_answers(settings, inputs, length, pieces, known, order, draws)
        fresh = [score for _, score in first_choice]
        order = order or fresh
        update = updated(settings, pieces, hidden, scores, key, done)
        chosen = first_choice
        if settings.joint != "none":
            both = map(list, zip(*first_choice, strict=True))
            chosen = plain_joint(settings, *both, list(tokens), update, may_repeat)
        for i in pieces:
            if i in update:
                tokens[i], scores[i] = chosen[i]
            elif settings.rescore_kept:
                scores[i] = first_choice[i][1]
        used += 1
        hidden = hidden_again(
            settings,
            tokens=tokens,
            scores=fresh if settings.remask == "critic" else scores,
            pieces=pieces,
            done=done,
            passes=passes,
            coupling=coupling_of(np.array(fresh)),
            key=key,
        )
        instead = {"start": first, "mask": [MASK] * len(start), "previous": inputs}
        after = [
            instead[settings.replacement][i] if i in hidden else t for i, t in enumerate(tokens)
        ]
        finished = {
            "fixed": False,
            # The first pass that sees nothing says nothing of the second.
            "unchanged": after == inputs and not (settings.context == "easy_first" and done == 1),
            "confidence": all(
                scores[i] >= math.log(settings.stop_confidence) for i in range(len(start))
            ),
        }[settings.stop]
        inputs = after
        if finished:
            break
    return tokens, sum(scores), used
