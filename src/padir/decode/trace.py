"""Traces: the state of each length candidate after every pass, for the viewer.

A trace has one JSON object per sentence, in order:

    id, source, hypothesis      number, text and finished output of the sentence
    reference                   text, where references are given
    source_pieces               pieces of the source, EOS last
    chosen                      index of the candidate that became the hypothesis; null for none
    candidates                  in the order in which their lengths were tried, each with
        length                      tokens with EOS
        length_log_probability      of the length, natural logarithm; 0 for AR
        log_probability             of the tokens; a reranker's, where one ranks
        score                       by the length rule; the greatest is chosen
        passes                      that changed or confirmed the tokens; AR: tokens
        states                      before the first pass, then after each; AR: the result alone
            tokens                      pieces without EOS
            confidence                  probability of each token, 3 digits, at the pass that
                                        predicted it, or with the decoder's `rescore_kept` of the
                                        latest prediction there; absent before pass 1
            hidden                      positions that are hidden from the next pass, if any
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
from padir.decode.programs import Hypotheses
from padir.decode.refine import by_candidate, refinement
from padir.decode.refiner import Refiner, candidates_of
from padir.decode.stream import MOST_CHARACTERS
from padir.decode.translate import Translator
from padir.files import shown
from padir.ids import MASK
from padir.model.transformer import Transformer

DIGITS = 3


class Steps(NamedTuple):
    """States of some hypotheses after each pass: [..., T, L].

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
    """A compiled function that runs `passes` passes and returns each state.

    It takes hypotheses and returns tokens [B, K, L], log-probability [B, K] and passes [B, K] of
    the result, as decoding does, and then the `Steps`.
    """

    def traced(model: Transformer, hypotheses: Hypotheses):
        sentences, count, length = hypotheses.start.shape
        prepared = refinement(*refiner.arguments(model, hypotheses))

        def traced_pass(state, _):
            _, attentions = model.hidden(state.inputs, hypotheses.cross, prepared.visible(state))
            attended = jnp.argmax(attentions.cross_attention[:, -1].mean(axis=1), axis=-1)
            after = prepared.one_pass(state)
            return after, Steps(after.tokens, after.log_probability, after.hidden, attended)

        state, first = prepared.state, []
        if refiner.shortlist:
            state, step = traced_pass(state, None)
            first = [jax.tree.map(lambda part: part[None], step)]
        state, later = jax.lax.scan(traced_pass, state, length=passes - len(first))
        steps = jax.tree.map(lambda *parts: jnp.concatenate(parts), *first, later)
        shape = sentences, count, passes, length
        result = by_candidate(state, hypotheses.start.shape)
        return *result, Steps(*(jnp.moveaxis(part, 0, 1).reshape(shape) for part in steps))

    return refiner.compiled(traced)


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
        warn: called with a message about each line that is cut, and as in `SourceWarnings`; None
            refuses lines that are too long.

    Raises:
        InputError: a line is too long for the model and `warn` is None, or an oracle length
            predictor has no references.
    """
    sources = translator.encode([line[:MOST_CHARACTERS] for line in lines])
    translator.fit(sources, name, warn)
    candidates: list[list[Candidate]] = [[] for _ in lines]
    translator.source_warnings(warn, f"{shown(name)}: ").check(lines, sources)
    states: list[list[list[dict[str, Any]]]] = [[] for _ in lines]
    if translator.decoding.passes is None:
        candidates = translator.candidates(sources, references=references)
        states = [[[_state(translator, each.tokens)] for each in row] for row in candidates]
    else:
        lengths = translator.reference_lengths(sources, references)
        for index, row, row_states in _refined(
            translator, sources, lengths, translator.decoding.passes
        ):
            candidates[index], states[index] = row, row_states
        candidates = translator.reranked(sources, candidates)
    records = []
    hypotheses = translator.finish(sources, candidates)
    for index, (line, hypothesis, row) in enumerate(
        zip(lines, hypotheses, candidates, strict=True)
    ):
        scores = [translator.rule.score(candidate) for candidate in row]
        records.append(
            {
                "id": index,
                "source": line,
                "hypothesis": hypothesis.hypothesis,
                **({} if references is None else {"reference": references[index]}),
                "source_pieces": [*map(translator.loaded.vocabulary.piece, sources[index]), "</s>"],
                "chosen": scores.index(max(scores)) if scores else None,
                "candidates": [
                    {
                        "length": candidate.length,
                        "length_log_probability": _rounded(candidate.length_log_probability),
                        "log_probability": _rounded(candidate.log_probability),
                        "score": _rounded(score),
                        "passes": candidate.passes,
                        "states": each,
                    }
                    for candidate, score, each in zip(row, scores, states[index], strict=True)
                ],
            }
        )
    return records


def _refined(
    translator: Translator,
    sources: Sequence[Sequence[int]],
    lengths: Sequence[int] | None,
    passes: int,
) -> Iterator[tuple[int, list[Candidate], list[list[dict[str, Any]]]]]:
    """Each sentence's index, candidates, and their states."""
    refiner = translator.refiner
    if passes not in refiner.tracers:
        refiner.tracers[passes] = _tracer(refiner, passes)
    run = refiner.tracers[passes]
    for batch, initial, scores in refiner.initial(sources, passes, lengths):
        *decoded, steps = jax.device_get(run(initial))
        start = np.asarray(initial.start)
        for row, index in enumerate(batch.indices):
            candidates = candidates_of(batch, initial.lengths, scores, *decoded)[row]
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
            for _, *after in states:
                if after:
                    # The policy's choice for a pass that is not made.
                    after[-1]["hidden"] = []
            yield index, candidates, states


def _state(
    translator: Translator, tokens: Any, log_probability=None, hidden=None, attended=None
) -> dict[str, Any]:
    """JSON of one candidate's state; `hidden` True hides all positions."""
    vocabulary = translator.loaded.vocabulary
    # A mask token for each position follows the vocabulary.
    pieces = np.where(np.asarray(tokens) < vocabulary.size, tokens, MASK)
    state: dict[str, Any] = {"tokens": [vocabulary.piece(int(piece)) for piece in pieces]}
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
    """The number rounded as in hypotheses; None where it is not finite."""
    return round(value, DIGITS) if math.isfinite(value) else None
