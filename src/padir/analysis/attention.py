"""Extracts attention and predictions of one pass of a parallel model for pairs of positions.

Decoding itself is left alone: for pass t of a hypothesis the earlier passes are made again, with
the same start, draws and policies as in decoding with t passes, and pass t is made once more with
its attention kept. Weights are reduced to numbers per pair on the device; those of one batch only
are ever held. Paper: 3.4, L.5.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from padir.analysis import dependence
from padir.analysis.dependence import Measures, Ranks
from padir.config.decoder import SearchDecoder
from padir.decode.batches import Batch
from padir.decode.candidates import Candidate, LengthRule
from padir.decode.load import LoadedModel, TunedDecoder
from padir.decode.policies import STARTS, sentence_keys
from padir.decode.predict import entropy, forbid, predictable
from padir.decode.programs import CompiledModel
from padir.decode.refine import refine, visible_positions
from padir.decode.refiner import policies_of, predictor
from padir.files import InputError
from padir.ids import FIRST_PIECE, PAD
from padir.model.decoder import Attentions, CrossMemory
from padir.tokens import first_argmax


class AnalysedHypothesis(NamedTuple):
    """The hypothesis of a sentence that is analysed.

    Attributes:
        length: with EOS.
        number: which candidate it is, as start tokens and draws depend on it.
    """

    length: int
    number: int = 0

    @classmethod
    def best(cls, candidates: Sequence[Candidate], rule: LengthRule) -> "AnalysedHypothesis":
        """The candidate that the length rule chooses; the first of equals."""
        number = max(range(len(candidates)), key=lambda k: rule.score(candidates[k]))
        return cls(candidates[number].length, number)


class PassInput(NamedTuple):
    """Input of a pass, and the visible positions: the same for all, or by query and key."""

    tokens: Int[Array, "B L"]
    visible: Bool[Array, "B L"] | Bool[Array, "B L L"]


class Pass(NamedTuple):
    """One pass over a batch, reduced to numbers per position and pair.

    Attributes:
        input: what it read.
        token: the likeliest at each position.
        log_probability: of that token.
        entropy: of the prediction, nats.
        adjacent: by layer and head, of each position and its right neighbour.
        near: the mean over layers and heads, of each position and its right neighbour at distance
            1, 2, ...
        overlap: of predictions, at these distances.
        ranks: of each position and its right neighbour.
    """

    input: PassInput
    token: Int[Array, "B L"]
    log_probability: Float[Array, "B L"]
    entropy: Float[Array, "B L"]
    adjacent: Measures
    near: Measures
    overlap: Float[Array, "B D L"]
    ranks: Ranks


class Extractor:
    """Recomputes single passes of a parallel model with their attention weights.

    Args:
        loaded: the model.
        decoder: how its hypotheses were made.
        distance: largest distance of the pairs looked at.
        alternatives: tokens tried at a position by the probe.
        sentences: of a batch; see `CompiledModel`.

    Raises:
        InputError: the decoder chooses a pass's tokens jointly, or from a shortlist; the analysis
            asks where independent choices fail.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        decoder: TunedDecoder,
        distance: int,
        alternatives: int,
        sentences: int | None = None,
    ):
        run, size, settings = loaded.spec.run, loaded.vocabulary.size, decoder.settings
        if isinstance(settings, SearchDecoder) or not settings.analysable:
            raise InputError(
                f"decoder {decoder.name} does not fit: the analysis is of parallel passes with"
                " independent choices from the whole vocabulary; allowed are decoders of a parallel"
                " system with joint none and shortlist 0"
            )
        if alternatives > size - FIRST_PIECE:
            raise InputError(
                f"alternatives is {alternatives}: allowed are 2 to {size - FIRST_PIECE}, the"
                " pieces of the vocabulary"
            )
        self.distance, self.alternatives = distance, alternatives
        self.seed = loaded.seed
        self._compiled = compiled = CompiledModel(loaded.network(settings.weights), run, sentences)
        self.longest = compiled.longest_target
        self.start = partial(STARTS[settings.start], loaded.seed, size)
        policies = policies_of(settings)
        allowed = predictable(compiled.table_size, size, eos=False)

        def answers(model, cross, read: PassInput) -> tuple[Float[Array, "B L V"], Attentions]:
            hidden, attentions = model.hidden(read.tokens, cross, read.visible)
            logits = forbid(model.logits(hidden), allowed)
            return jax.nn.log_softmax(logits, axis=-1), attentions

        def make(model, source, start, lengths, keys, passes) -> tuple[Pass, CrossMemory]:
            cross = model.encode(source).cross
            # A policy that counts passes counts to the same end as in decoding.
            counted = policies._replace(
                update=_of_passes(policies.update, passes),
                remask=_of_passes(policies.remask, passes),
            )
            predict = predictor(model, cross, start.shape[1], allowed, settings)
            state = refine(predict, start, lengths, passes - 1, counted, keys)
            position, last = jnp.arange(state.inputs.shape[1])[None, :], lengths[:, None] - 1
            visible = visible_positions(policies, state, position < last, position == last)
            read = PassInput(state.inputs, visible)
            return reduced(read, *answers(model, cross, read), distance), cross

        def probe(model, cross, read: PassInput) -> Float[Array, "B L L"]:
            log_probability, _ = answers(model, cross, read)
            likeliest, tokens = jax.lax.top_k(log_probability, alternatives)
            weights = jax.nn.softmax(likeliest, axis=-1)
            repeated = PassInput(*(jnp.repeat(x, alternatives, axis=0) for x in read))

            def intervene(position, reactions):
                given = tokens[:, position].reshape(-1)
                changed = repeated._replace(tokens=repeated.tokens.at[:, position].set(given))
                hidden, _ = model.hidden(changed.tokens, cross, changed.visible)
                logits = model.logits(hidden)[:, :, FIRST_PIECE:size]
                logits = logits.reshape(-1, alternatives, *logits.shape[1:])
                reaction = dependence.information(logits, weights[:, position])
                return reactions.at[position].set(reaction)

            batch, length = read.tokens.shape
            # Nothing is asked about positions that are padding in every row.
            used = jnp.max(jnp.sum(read.tokens != PAD, axis=1))
            nothing = jnp.zeros((length, batch, length), jnp.float32)
            return jnp.swapaxes(jax.lax.fori_loop(0, used, intervene, nothing), 0, 1)

        self._make = compiled.compiled(make, [True, True, True, True, False])
        self.probe = compiled.compiled(probe, [True, True])
        """The probe [sentence, position replaced, position answering] of encoded sources and a
        pass's input; see `dependence`."""
        self.weights = compiled.compiled(answers, [True, True])
        """A pass's log-probabilities and all its attention weights, of the same arguments."""

    def passes(
        self, sources: Sequence[Sequence[int]], chosen: Sequence[AnalysedHypothesis], number: int
    ) -> Iterator[tuple[Batch, Pass, CrossMemory]]:
        """Pass `number` of each hypothesis, batch by batch; batches are ordered by length.

        Args:
            sources: piece ids without EOS, none empty.
            chosen: the hypothesis of each.
            number: from 1.

        Yields:
            a batch, its pass, and the encoded sources, for `probe` and `weights`.
        """
        for batch, source in self._compiled.batches(sources):
            hypotheses = [chosen[index] for index in batch.indices]
            lengths = np.ones(batch.rows, np.int32)
            lengths[: len(hypotheses)] = [each.length for each in hypotheses]
            length = self._compiled.padded_target(int(lengths.max()), batch.rows)
            start = np.full((batch.rows, length), PAD, np.int32)
            keys = sentence_keys(self.seed, [sources[index] for index in batch.indices], batch.rows)
            for row, (index, each) in enumerate(zip(batch.indices, hypotheses, strict=True)):
                drawn = self.start(sources[index], each.number + 1, self.longest)
                start[row] = drawn[each.number, :length]
                keys[row, 1] += np.uint32(each.number)
            analysed, cross = self._make(source, start, lengths, keys, np.int32(number))
            yield batch, analysed, cross


def reduced(
    read: PassInput, log_probability: Float[Array, "B L V"], attentions: Attentions, distance: int
) -> Pass:
    """The numbers of a pass for pairs up to a distance."""
    every = [dependence.measures(attentions, d) for d in range(1, distance + 1)]
    means = [jax.tree.map(lambda x: jnp.mean(x, axis=(1, 2)), each) for each in every]
    shared = [dependence.overlap(log_probability, d) for d in range(1, distance + 1)]
    return Pass(
        input=read,
        token=first_argmax(log_probability),
        log_probability=jnp.max(log_probability, axis=-1),
        entropy=entropy(log_probability),
        adjacent=every[0],
        near=jax.tree.map(lambda *values: jnp.stack(values, axis=1), *means),
        overlap=jnp.stack(shared, axis=1),
        ranks=dependence.ranks(attentions),
    )


def _of_passes(policy, passes):
    return lambda view: policy(view._replace(passes=passes))
