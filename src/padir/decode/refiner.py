"""Decodes encoded sources with one parallel model: length candidates, starts, compiled passes.

Paper: 3.2, L.1.1. One call encodes and predicts lengths, one makes all passes; one sentence on an
accelerator takes a single call (`padir.decode.one_call`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from padir.config.decoder import RefinementDecoder
from padir.config.training import TrainingRun
from padir.decode.batches import Batch
from padir.decode.candidates import Candidate
from padir.decode.joint import (
    joint_choice,
    lesser_entropy,
    overlap,
    repeats_within,
    top_k_tokens,
)
from padir.decode.lengths import SHORTEST, encoded_lengths
from padir.decode.one_call import OneCall
from padir.decode.policies import REMASKS, STARTS, STOPS, UPDATES, sentence_keys
from padir.decode.predict import choose, forbid, predictable
from padir.decode.programs import (
    HYPOTHESES_HAVE_ROWS,
    CandidateThreads,
    CompiledModel,
    Hypotheses,
)
from padir.decode.refine import Policies, Prediction, by_candidate, refine
from padir.files import InputError
from padir.ids import PAD
from padir.model.decoder import CrossMemory
from padir.model.transformer import Transformer


@dataclass(frozen=True)
class Proposal:
    """A given initial hypothesis.

    Attributes:
        tokens: without EOS.
        given: whether each token stays as it is.
        opening: whether each token, where it is predicted, has to be one of a set of openings.
    """

    tokens: tuple[int, ...]
    given: tuple[bool, ...]
    opening: tuple[bool, ...] = ()


def policies_of(settings: RefinementDecoder) -> Policies:
    """The policies that the settings name."""
    return Policies(
        update=UPDATES[settings.update](settings),
        remask=REMASKS[settings.remask](settings),
        stop=STOPS[settings.stop](settings),
        replacement=settings.replacement,
        rescore_kept=settings.rescore_kept,
        easy_first=settings.context == "easy_first",
        joint=joint_choice(settings),
        shortlist=settings.shortlist,
    )


def predictor(
    model: Transformer,
    cross: CrossMemory,
    length: int,
    allowed: Bool[np.ndarray, " V"],
    settings: RefinementDecoder,
    barred: Bool[Array, "B L V"] | None = None,
) -> Callable[..., Prediction]:
    """One pass of a model, as `refine` calls it.

    Args:
        model: a parallel model.
        cross: the sources; rows of a pass may be a multiple of them.
        length: of targets, padded.
        allowed: ids that may be predicted.
        settings: how tokens are chosen, and which quantities the policies and the shortlist read.
        barred: ids that may not stand at a position; None: no such position.
    """
    joint = joint_choice(settings)
    coupled_by = settings.coupled_by if settings.remask == "coupled" else None
    if settings.joint == "attention":
        coupled_by = "attention"
    positional_logits = model.decoder.positional_logits(length)

    def predict(tokens, visible, position_keys, shortlist=None):
        hidden, attentions = model.hidden(tokens, cross, visible, None, positional_logits)
        logits = model.logits(hidden, shortlist)
        # From here to the shortlist's ids below, a token is its place on the last axis.
        possible, impossible = allowed, barred
        if shortlist is not None:
            logits = jnp.where(jnp.asarray(allowed)[shortlist][:, None, :], logits, -jnp.inf)
            possible = np.ones(shortlist.shape[1], bool)
            if barred is not None:
                impossible = jnp.take_along_axis(barred, shortlist[:, None, :], axis=2)
        if impossible is not None:
            logits = jnp.where(impossible, -jnp.inf, logits)
        token, log_probability = choose(logits, possible, position_keys, settings)
        logits = forbid(logits, possible)
        critic_probability = jnp.ones_like(log_probability)
        if settings.remask == "critic":
            critic_probability = jax.nn.softmax(model.critic_logits(hidden), axis=-1)[..., 1]
        coupling = None
        if coupled_by == "attention":
            weights = attentions.cross_attention[:, -1].mean(axis=1)
            coupling = overlap(weights, settings.joint_reach)
        elif coupled_by is not None:
            all_log = jax.nn.log_softmax(logits, axis=-1)
            by_prediction = coupled_by == "predictions"
            coupling = overlap(jnp.exp(all_log), 1) if by_prediction else lesser_entropy(all_log)
        top = None if joint is None else top_k_tokens(logits, joint.top_k)
        if shortlist is not None:
            token = jnp.take_along_axis(shortlist, token, axis=1)
            if top is not None:
                tokens = jnp.take_along_axis(shortlist[:, None, :], top.tokens, axis=2)
                top = top._replace(tokens=tokens)
        makes_shortlist = settings.shortlist > 0 and shortlist is None
        return Prediction(
            token,
            log_probability,
            critic_probability,
            logits if settings.replacement == "summed" or makes_shortlist else None,
            top,
            coupling,
        )

    return predict


class Refiner:
    """Decodes encoded sources with one parallel model.

    Args:
        model: a parallel model.
        run: its settings.
        settings: length candidates and policies.
        vocabulary_size: ids in use.
        seed: of random start tokens and draws.
        sentences: of a batch; see `CompiledModel`.

    Raises:
        InputError: more candidates than there are lengths, or a shortlist without room for a token
            of each position.
    """

    def __init__(
        self,
        model: Transformer,
        run: TrainingRun,
        settings: RefinementDecoder,
        vocabulary_size: int,
        seed: int,
        sentences: int | None = None,
    ):
        self.seed = seed
        self._compiled = compiled = CompiledModel(model, run, sentences)
        self.longest, self.table_size = compiled.longest_target, compiled.table_size
        self.lengths, self.restarts = settings.length_candidates, settings.restarts
        if self.lengths > self.longest + 1 - SHORTEST:
            raise InputError(
                f"length_candidates is {self.lengths}; this model has"
                f" {self.longest + 1 - SHORTEST} lengths to choose from"
            )
        self.shortlist = settings.shortlist
        if 0 < self.shortlist < self.longest:
            raise InputError(
                f"shortlist is {self.shortlist}; this model writes up to {self.longest} tokens:"
                f" allowed are 0 and {self.longest} or more"
            )
        self.start = partial(STARTS[settings.start], seed, vocabulary_size)
        policies = policies_of(settings)
        self.joint, self.easy_first = policies.joint, policies.easy_first
        allowed = predictable(self.table_size, vocabulary_size, eos=False)
        count, longest, search = self.lengths, self.longest, settings.length_search

        def encode(model: Transformer, source):
            return encoded_lengths(model, source, count, longest, search)

        def arguments(model: Transformer, hypotheses: Hypotheses):
            """Arguments of `refine`."""
            sentences, candidates, length = hypotheses.start.shape
            rows = (sentences * candidates, length)
            given = hypotheses.given
            opening, openings = hypotheses.opening, hypotheses.openings
            barred = None
            if opening is not None and openings is not None:
                barred = opening.reshape(rows)[:, :, None] & ~openings[None, None, :]
            # Each candidate draws from its own stream: the sentence's key and the candidate's
            # number.
            number = jnp.arange(candidates, dtype=jnp.uint32)
            key = jnp.broadcast_to(hypotheses.keys[:, :1], (sentences, candidates))
            keys = jnp.stack([key, hypotheses.keys[:, 1:] + number[None, :]], axis=-1)
            may_repeat = hypotheses.may_repeat
            return (
                predictor(model, hypotheses.cross, length, allowed, settings, barred),
                hypotheses.start.reshape(rows),
                hypotheses.lengths.reshape(-1),
                hypotheses.passes,
                policies,
                keys.reshape(-1, 2),
                None if given is None else given.reshape(rows),
                None if may_repeat is None else jnp.repeat(may_repeat, candidates, axis=0),
            )

        def decode(model: Transformer, hypotheses: Hypotheses):
            return by_candidate(refine(*arguments(model, hypotheses)), hypotheses.start.shape)

        self._encode = compiled.compiled(encode, [True])
        self.arguments = arguments
        self.decode = CandidateThreads(self.compiled(decode), compiled.threads)
        self._one_call = (
            None if compiled.on_cpu else OneCall(compiled, settings, self.start, encode, decode)
        )
        # By number of passes; `padir.decode.trace` keeps them here, as compiling takes seconds.
        self.tracers: dict[int, Callable[..., Any]] = {}

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Compile a function of a model and hypotheses; the compiled one takes hypotheses."""
        return self._compiled.compiled(function, [HYPOTHESES_HAVE_ROWS])

    def batches(
        self,
        sources: Sequence[Sequence[int]],
        passes: int,
        lengths: Sequence[int] | None = None,
    ) -> Iterator[tuple[Batch, list[list[Candidate]]]]:
        """Decode batch by batch; batches are ordered by length, not as given.

        Args:
            sources: piece ids without EOS; an empty one is in no batch.
            passes: decoder passes (T), at least 1.
            lengths: of the references with EOS, for a model with an oracle length predictor.

        Yields:
            a batch, and for each of its sentences the candidates, likeliest length first.
        """
        for batch, source in self._compiled.batches(sources):
            decoded = None
            if self._one_call and batch.rows == 1 and lengths is None:
                ids = sources[batch.indices[0]]
                decoded = self._one_call(ids, source, *self.draws_and_repeats([ids], 1), passes)
            if decoded is None:
                initial, scores = self._initial(sources, batch, source, passes, lengths)
                decoded = initial.lengths, scores, *self.decode(initial)
            yield batch, candidates_of(batch, *decoded)

    def initial(
        self,
        sources: Sequence[Sequence[int]],
        passes: int,
        lengths: Sequence[int] | None = None,
    ) -> Iterator[tuple[Batch, Hypotheses, Float[np.ndarray, "B K"]]]:
        """What `batches` decodes: each batch, its initial hypotheses, and the log-probabilities of
        their lengths."""
        for batch, source in self._compiled.batches(sources):
            yield batch, *self._initial(sources, batch, source, passes, lengths)

    def _initial(
        self, sources, batch: Batch, source, passes: int, lengths: Sequence[int] | None
    ) -> tuple[Hypotheses, Float[np.ndarray, "B K"]]:
        """A batch's initial hypotheses, and the log-probabilities of their lengths."""
        cross, tried, scores = self._encode(source)
        tried, scores = np.array(tried), np.asarray(scores)
        if lengths is not None:
            oracle = [lengths[index] for index in batch.indices]
            tried = np.clip(np.array(oracle)[:, None], SHORTEST, self.longest)
            tried = np.pad(tried, ((0, batch.rows - len(oracle)), (0, 0)), constant_values=1)
            scores = np.zeros(tried.shape, np.float32)
        tried[len(batch.indices) :] = 1
        tried, scores = (np.repeat(array, self.restarts, axis=1) for array in (tried, scores))
        start = self._padding(tried)
        for row, index in enumerate(batch.indices):
            drawn = self.start(sources[index], tried.shape[1], self.longest)
            start[row] = drawn[:, : start.shape[2]]
        return self._hypotheses(sources, batch, cross, start, tried, passes), scores

    def _padding(self, lengths: Int[np.ndarray, "B K"]) -> Int[np.ndarray, "B K L"]:
        length = self._compiled.padded_target(int(lengths.max()), len(lengths))
        return np.full((*lengths.shape, length), PAD, np.int32)

    def predicted(self, sources: Sequence[Sequence[int]]) -> list[list[tuple[int, float]]]:
        """The lengths that are tried without proposals, and their log-probabilities.

        Args:
            sources: piece ids without EOS, none empty.

        Returns:
            of each source lengths with EOS, likeliest first, each as often as there are restarts.
        """
        result: list[list[tuple[int, float]]] = [[] for _ in sources]
        for batch, source in self._compiled.batches(sources):
            _, *arrays = self._encode(source)
            lengths, scores = (np.repeat(array, self.restarts, axis=1).tolist() for array in arrays)
            for row, index in enumerate(batch.indices):
                result[index] = list(zip(lengths[row], scores[row], strict=True))
        return result

    def proposed(
        self,
        sources: Sequence[Sequence[int]],
        proposals: Sequence[Sequence[Proposal]],
        passes: int,
        openings: Bool[np.ndarray, " V"] | None = None,
    ) -> list[list[Candidate]]:
        """Decode from given initial hypotheses; their length scores are 0.

        Args:
            sources: piece ids without EOS, none empty.
            proposals: of each source at least one.
            passes: decoder passes (T), at least 1.
            openings: ids that `Proposal.opening` allows, over `table_size`; None: all.

        Returns:
            of each source one candidate per proposal, in order.
        """
        result: list[list[Candidate]] = [[] for _ in sources]
        for batch, source in self._compiled.batches(sources):
            cross, _, _ = self._encode(source)
            rows = [proposals[index] for index in batch.indices]
            # A power of two, so that few programs are compiled.
            width = 1 << (max(map(len, rows)) - 1).bit_length()
            lengths = np.ones((batch.rows, width), np.int32)
            for row, row_proposals in enumerate(rows):
                lengths[row, : len(row_proposals)] = [len(p.tokens) + 1 for p in row_proposals]
            start = self._padding(lengths)
            given, opening = np.zeros((2, *start.shape), bool)
            for row, row_proposals in enumerate(rows):
                for place, proposal in enumerate(row_proposals):
                    start[row, place, : len(proposal.tokens)] = proposal.tokens
                    given[row, place, : len(proposal.given)] = proposal.given
                    opening[row, place, : len(proposal.opening)] = proposal.opening
            initial = self._hypotheses(sources, batch, cross, start, lengths, passes)
            initial = initial._replace(given=given)
            if openings is not None:
                initial = initial._replace(opening=opening, openings=openings)
            decoded = self.decode(initial)
            refined = candidates_of(batch, lengths, np.zeros(lengths.shape), *decoded)
            for index, row_proposals, candidates in zip(batch.indices, rows, refined, strict=True):
                result[index] = candidates[: len(row_proposals)]
        return result

    def _hypotheses(
        self, sources, batch: Batch, cross: CrossMemory, start, lengths, passes: int
    ) -> Hypotheses:
        held = [sources[index] for index in batch.indices]
        keys, may_repeat = self.draws_and_repeats(held, batch.rows)
        return Hypotheses(cross, start, lengths, np.asarray(passes, np.int32), keys, may_repeat)

    def draws_and_repeats(
        self, sources: Sequence[Sequence[int]], rows: int
    ) -> tuple[UInt32[np.ndarray, "B 2"], Bool[np.ndarray, "B R"] | None]:
        """Random keys of sentences, and what a joint choice lets repeat; padded to `rows`."""
        keys = sentence_keys(self.seed, sources, rows)
        if self.joint is None:
            return keys, None
        # More is spared at a distance than side by side, where it would be stutter.
        reaches = range(1, self.joint.reach + 1)
        may_repeat = np.zeros((rows, len(reaches)), bool)
        for row, source in enumerate(sources):
            may_repeat[row] = [repeats_within(source, reach) for reach in reaches]
        return keys, may_repeat


def candidates_of(
    batch: Batch, lengths, length_scores, tokens, log_probability, passes
) -> list[list[Candidate]]:
    """Candidates of each sentence of a batch, from arrays [B, K] and tokens [B, K, L]."""
    tokens, scores, used = map(np.asarray, (tokens, log_probability, passes))
    return [
        [
            Candidate(
                tokens=tuple(tokens[row, k, : lengths[row, k] - 1].tolist()),
                length=int(lengths[row, k]),
                log_probability=float(scores[row, k]),
                length_log_probability=float(length_scores[row, k]),
                passes=int(used[row, k]),
            )
            for k in range(lengths.shape[1])
        ]
        for row in range(len(batch.indices))
    ]
