"""Traces: what each pass of a decoding does to each length candidate, for readers.

A trace has one JSON object per sentence, in order:

    id, source, hypothesis      number, text and finished output of the sentence
    reference                   text, where references are given
    source_pieces               pieces of the source, EOS last
    chosen                      index of the candidate that became the hypothesis; null for none
    candidates                  in the order in which their lengths were tried, each with
        length                      tokens with EOS
        length_log_probability      of the length, natural logarithm; 0 for AR
        log_probability             of the tokens; a reranker's, where one ranks them
        score                       by the length rule; the greatest is chosen; null where the
                                    candidate was dropped after the first pass
        passes                      that changed or confirmed the tokens; AR: tokens
        states                      before the first pass, then after each; AR: the result alone
            tokens                      pieces without EOS
            confidence                  probability of each token, 3 digits; absent before pass 1
            hidden                      positions that are hidden from the next pass
            attended                    source piece to which the last layer's cross-attention,
                                        mean over heads, gives most; of each position; absent
                                        before pass 1

Passes are those of `refine`, made one after another; the final tokens are equal.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from padir.decode.candidates import Candidate
from padir.decode.lengths import best_candidates
from padir.decode.refine import refinement
from padir.decode.refiner import Refiner, candidates_of, rule_numbers
from padir.decode.stream import MOST_CHARACTERS
from padir.decode.translate import Translator

DIGITS = 3


class Steps(NamedTuple):
    """What the passes of some hypotheses give, pass by pass: [..., T, L].

    Attributes:
        tokens: after each pass.
        log_probability: of each token; see `Refinement`.
        hidden: positions hidden from the next pass.
        attended: index of the source piece that each position attends to most.
    """

    tokens: Any
    log_probability: Any
    hidden: Any
    attended: Any


def _tracer(refiner: Refiner, passes: int) -> Callable[..., Any]:
    """A compiled function that makes `passes` passes one after another.

    It takes the arguments of a call of `Refiner.calls`, length scores [B, K] and the length rule's
    numbers, and returns tokens [B, K, L], log-probability [B, K] and passes [B, K] of the result,
    as decoding does, then the `Steps`, and which candidates were kept, [B, K].
    """

    def traced(model, cross, start, *rest):
        *rest, length_scores, alpha, weight = rest
        sentences, count, length = start.shape
        of_refine = refiner.arguments(model, cross, start, *rest)
        prepared = refinement(*of_refine)

        def still_kept(state, after, kept):
            """Dropped candidates are finished, so that their tokens stay as they are."""
            if refiner.keep is None:
                return kept
            lengths = of_refine[2].reshape(sentences, count)
            rows = best_candidates(after, lengths, length_scores, alpha, weight, refiner.keep)
            best = jnp.zeros_like(kept).at[rows].set(True)
            return jnp.where(state.done == 0, best, kept)

        def traced_pass(carry, _):
            state, kept = carry
            _, attentions = model.hidden(state.fed, cross, prepared.visible(state))
            attended = jnp.argmax(attentions.cross_attention[:, -1].mean(axis=1), axis=-1)
            after = prepared.one_pass(state)
            kept = still_kept(state, after, kept)
            after = after._replace(finished=after.finished | ~kept)
            steps = Steps(after.tokens, after.log_probability, after.hidden, attended)
            return (after, kept), steps

        start_of_all = prepared.state, jnp.ones(sentences * count, bool)
        (state, kept), steps = jax.lax.scan(traced_pass, start_of_all, length=passes)
        shape = sentences, count, passes, length
        return (
            state.tokens.reshape(start.shape),
            state.log_probability.sum(axis=1).reshape(sentences, count),
            state.passes.reshape(sentences, count),
            Steps(*(jnp.moveaxis(part, 0, 1).reshape(shape) for part in steps)),
            kept.reshape(sentences, count),
        )

    return refiner.compiled(traced, [True, False, False])


def traces(
    translator: Translator,
    lines: Sequence[str],
    name: str,
    references: Sequence[str] | None = None,
    warn: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:
    """Translate lines and record the passes: one object per line, as the module describes.

    Args:
        translator: of a parallel model or of AR.
        lines: an empty one has no candidates.
        name: of their file, for messages.
        references: shown beside the output; an oracle length predictor reads their lengths.
        warn: called with a message about each line that is cut; None refuses such lines.

    Raises:
        InputError: a line is too long for the model and `warn` is None, or an oracle length
            predictor has no references.
    """
    sources = translator.encode([line[:MOST_CHARACTERS] for line in lines])
    translator.fit(sources, name, warn)
    candidates: list[list[Candidate]] = [[] for _ in lines]
    states: list[list[list[dict[str, Any]]]] = [[] for _ in lines]
    kept_of: list[list[int]] = [[] for _ in lines]
    if translator.decoding.passes is None:
        candidates = translator.candidates(sources, references=references)
        states = [[[_state(translator, each.tokens)] for each in row] for row in candidates]
        kept_of = [list(range(len(row))) for row in candidates]
    else:
        lengths = translator.reference_lengths(sources, references)
        for index, row, row_states, kept in _refined(
            translator, sources, lengths, translator.decoding.passes
        ):
            candidates[index], states[index], kept_of[index] = row, row_states, kept
        ranked_of = translator.reranked(sources, _chosen_from(candidates, kept_of))
        for row, kept, ranked in zip(candidates, kept_of, ranked_of, strict=True):
            for k, candidate in zip(kept, ranked, strict=True):
                row[k] = candidate
    records = []
    hypotheses = translator.finish(sources, _chosen_from(candidates, kept_of))
    for index, (line, hypothesis, row) in enumerate(
        zip(lines, hypotheses, candidates, strict=True)
    ):
        kept = kept_of[index]
        scores = {k: translator.rule.score(row[k]) for k in kept}
        records.append(
            {
                "id": index,
                "source": line,
                "hypothesis": hypothesis.hypothesis,
                **({} if references is None else {"reference": references[index]}),
                "source_pieces": [*map(translator.loaded.vocabulary.piece, sources[index]), "</s>"],
                "chosen": max(kept, key=scores.__getitem__) if kept else None,
                "candidates": [
                    {
                        "length": candidate.length,
                        "length_log_probability": _rounded(candidate.length_log_probability),
                        "log_probability": _rounded(candidate.log_probability),
                        "score": _rounded(scores[k]) if k in scores else None,
                        "passes": candidate.passes,
                        "states": each,
                    }
                    for k, (candidate, each) in enumerate(zip(row, states[index], strict=True))
                ],
            }
        )
    return records


def _chosen_from(
    candidates: Sequence[Sequence[Candidate]], kept_of: Sequence[Sequence[int]]
) -> list[list[Candidate]]:
    """The candidates of each sentence that were kept after the first pass."""
    return [[row[k] for k in kept] for row, kept in zip(candidates, kept_of, strict=True)]


def _refined(
    translator: Translator,
    sources: Sequence[Sequence[int]],
    lengths: Sequence[int] | None,
    passes: int,
) -> Iterator[tuple[int, list[Candidate], list[list[dict[str, Any]]], list[int]]]:
    """Each sentence's index, candidates, their states, and which were not dropped."""
    nonempty = [index for index, source in enumerate(sources) if source]
    refiner = translator.refiner
    if passes not in refiner.tracers:
        refiner.tracers[passes] = _tracer(refiner, passes)
    run = refiner.tracers[passes]
    calls = refiner.calls([sources[index] for index in nonempty], passes, lengths)
    for batch, call, tried, scores in calls:
        numbers = rule_numbers(translator.rule)
        *decoded, steps, kept = jax.device_get(run(*call, scores, *numbers))
        start = np.asarray(call[1])
        for row, index in enumerate(batch.indices):
            candidates = candidates_of(batch, tried, scores, *decoded)[row]
            states = [
                [
                    _state(translator, start[row, k, : candidate.length - 1], hidden=True),
                    *(
                        _state(
                            translator,
                            *(part[row, k, done, : candidate.length - 1] for part in steps),
                        )
                        for done in range(candidate.passes)
                    ),
                ]
                for k, candidate in enumerate(candidates)
            ]
            yield nonempty[index], candidates, states, np.flatnonzero(kept[row]).tolist()


def _state(
    translator: Translator, tokens: Any, log_probability=None, hidden=None, attended=None
) -> dict[str, Any]:
    """A state of one candidate; `hidden` True hides all positions."""
    state: dict[str, Any] = {
        "tokens": [translator.loaded.vocabulary.piece(int(token)) for token in tokens]
    }
    if log_probability is not None:
        confidence = np.exp(np.minimum(log_probability, 0.0))
        state["confidence"] = [round(float(value), DIGITS) for value in confidence]
    if hidden is True:
        state["hidden"] = list(range(len(tokens)))
    elif hidden is not None:
        state["hidden"] = np.flatnonzero(hidden).tolist()
    if attended is not None:
        state["attended"] = [int(place) for place in attended]
    return state


def _rounded(value: float) -> float | None:
    """Rounded as hypotheses are; None where no number is."""
    return round(value, DIGITS) if math.isfinite(value) else None
