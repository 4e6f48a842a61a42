"""What a chosen pass of a parallel model shows of every pair of target positions, batch by batch.

Decoding itself is left alone: for pass t of a hypothesis the earlier passes are made again, with
the same start, draws and policies as in decoding with t passes, and pass t is made once more with
its attention kept. Weights are reduced to numbers per pair on the device; those of one batch only
are ever held. Paper: 3.4, L.5.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float, Int

from padir.analysis import dependence
from padir.analysis.dependence import Measures, Ranks
from padir.decode.batches import Batch, bucket_of, length_buckets, padded_sources, plan_batches
from padir.decode.load import LoadedModel
from padir.decode.policies import STARTS, sentence_keys
from padir.decode.predict import entropy, forbid, predictable
from padir.decode.refine import Policies, Refinement, easy_first_context, refine
from padir.decode.refiner import policies_of, predictor
from padir.files import InputError
from padir.ids import FIRST_PIECE, PAD
from padir.model.decoder import Attentions, CrossMemory
from padir.tokens import first_argmax


class Chosen(NamedTuple):
    """The hypothesis of a sentence that is looked at.

    Attributes:
        length: with EOS.
        number: which candidate it is, as start tokens and draws depend on it.
    """

    length: int
    number: int = 0


class PassInput(NamedTuple):
    """What a pass reads, and where each position may look: for all alike, or by query and key."""

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
    """Makes single passes of one parallel model again, with attention.

    Args:
        loaded: the model.
        distance: largest distance of the pairs looked at.
        alternatives: tokens tried at a position by the probe.
        sentences: of a batch; as in decoding by default.

    Raises:
        InputError: the model chooses a pass's tokens together: what is looked at here is where
            tokens that are chosen apart fail.
    """

    def __init__(
        self, loaded: LoadedModel, distance: int, alternatives: int, sentences: int | None = None
    ):
        run, size = loaded.spec.run, loaded.vocabulary.size
        settings = run.decoding
        if settings.joint != "none":
            raise InputError(
                f"{loaded.spec.training}: decoding.joint is {settings.joint}: the analysis is of"
                " passes whose tokens are chosen apart; allowed is none"
            )
        self.distance, self.alternatives = distance, alternatives
        self.seed = loaded.seed
        self.longest = min(run.architecture.length_classes, run.architecture.max_positions)
        self.buckets = length_buckets(run)
        self.buffers = (*(b for b in self.buckets if b < self.longest), self.longest)
        self.sentences = sentences or settings.batch_sentences
        self.start = STARTS[settings.start](loaded.seed, size)
        policies = policies_of(settings)
        allowed = predictable(loaded.model.embedder.embedding.shape[0], size, eos=False)
        graph, state = nnx.split(loaded.model)
        self._leaves, structure = jax.tree.flatten(state)

        def model(leaves):
            return nnx.merge(graph, jax.tree.unflatten(structure, leaves))

        def answers(merged, read: PassInput, cross) -> tuple[Float[Array, "B L V"], Attentions]:
            hidden, attentions = merged.hidden(read.tokens, cross, read.visible)
            logits = forbid(merged.logits(hidden), allowed)
            return jax.nn.log_softmax(logits, axis=-1), attentions

        def make(leaves, source, start, lengths, keys, passes) -> tuple[Pass, CrossMemory]:
            merged = model(leaves)
            cross = merged.encode(source).cross
            # A policy that counts passes counts to the same end as in decoding.
            counted = policies._replace(
                update=_of_passes(policies.update, passes),
                remask=_of_passes(policies.remask, passes),
            )
            predict = predictor(merged, cross, allowed, settings)
            found = refine(predict, start, lengths, passes - 1, counted, keys)
            read = PassInput(found.fed, seen(found, lengths, policies))
            return reduced(read, *answers(merged, read, cross), distance), cross

        def probe(leaves, cross, read: PassInput) -> Float[Array, "L B L"]:
            merged = model(leaves)
            log_probability, _ = answers(merged, read, cross)
            likeliest, tokens = jax.lax.top_k(log_probability, alternatives)
            weights = jax.nn.softmax(likeliest, axis=-1)
            repeated = PassInput(*(jnp.repeat(x, alternatives, axis=0) for x in read))

            def intervene(position, reactions):
                given = tokens[:, position].reshape(-1)
                changed = repeated._replace(tokens=repeated.tokens.at[:, position].set(given))
                hidden, _ = merged.hidden(changed.tokens, cross, changed.visible)
                found = merged.logits(hidden)[:, :, FIRST_PIECE:size]
                found = found.reshape(-1, alternatives, *found.shape[1:])
                reaction = dependence.information(found, weights[:, position])
                return reactions.at[position].set(reaction)

            batch, length = read.tokens.shape
            # Nothing is asked about positions that are padding in every row.
            used = jnp.max(jnp.sum(read.tokens != PAD, axis=1))
            nothing = jnp.zeros((length, batch, length), jnp.float32)
            return jax.lax.fori_loop(0, used, intervene, nothing)

        self._make = jax.jit(make)
        self._probe = jax.jit(probe)
        self._answers = jax.jit(lambda leaves, cross, read: answers(model(leaves), read, cross))

    def passes(
        self, sources: Sequence[Sequence[int]], chosen: Sequence[Chosen], number: int
    ) -> Iterator[tuple[Batch, Pass, CrossMemory]]:
        """Pass `number` of each hypothesis, batch by batch, in an order of its own.

        Args:
            sources: piece ids without EOS, none empty.
            chosen: the hypothesis of each.
            number: from 1.

        Yields:
            a batch, its pass, and the encoded sources, for `probe` and `weights`.
        """
        for batch in plan_batches([len(s) + 1 for s in sources], self.buckets, self.sentences):
            mine = [chosen[index] for index in batch.indices]
            lengths = np.ones(batch.rows, np.int32)
            lengths[: len(mine)] = [one.length for one in mine]
            buffer = bucket_of(int(lengths.max()), self.buffers)
            start = np.full((batch.rows, buffer), PAD, np.int32)
            keys = sentence_keys(self.seed, [sources[index] for index in batch.indices], batch.rows)
            for row, (index, one) in enumerate(zip(batch.indices, mine, strict=True)):
                drawn = self.start.tokens(sources[index], one.number + 1, self.longest)
                start[row] = drawn[one.number, :buffer]
                keys[row, 1] += np.uint32(one.number)
            made, cross = self._make(
                self._leaves, padded_sources(sources, batch), start, lengths, keys, np.int32(number)
            )
            yield batch, made, cross

    def probe(self, cross: CrossMemory, read: PassInput) -> Float[Array, "L B L"]:
        """The probe: position replaced, sentence, position answering; see `dependence`."""
        return self._probe(self._leaves, cross, read)

    def weights(
        self, cross: CrossMemory, read: PassInput
    ) -> tuple[Float[Array, "B L V"], Attentions]:
        """The pass's log-probabilities and all its attention weights."""
        return self._answers(self._leaves, cross, read)


def reduced(
    read: PassInput, log_probability: Float[Array, "B L V"], attentions: Attentions, distance: int
) -> Pass:
    """The numbers of a pass for pairs up to a distance."""
    every = [dependence.measures(attentions, d) for d in range(1, distance + 1)]
    means = [jax.tree.map(lambda x: jnp.mean(x, axis=(1, 2)), one) for one in every]
    shared = [dependence.overlap(log_probability, d) for d in range(1, distance + 1)]
    return Pass(
        input=read,
        token=first_argmax(log_probability),
        log_probability=jnp.max(log_probability, axis=-1),
        entropy=entropy(log_probability),
        adjacent=every[0],
        near=jax.tree.map(lambda *several: jnp.stack(several, axis=1), *means),
        overlap=jnp.stack(shared, axis=1),
        ranks=dependence.ranks(attentions),
    )


def _of_passes(policy, passes):
    return lambda view: policy(view._replace(passes=passes))


def seen(state: Refinement, lengths: Int[Array, " B"], policies: Policies):
    """Where the pass after `state` may look, as in `refine`."""
    position = jnp.arange(state.fed.shape[1])[None, :]
    last = lengths[:, None] - 1
    visible = position <= last
    if not policies.easy_first:
        return visible
    known = position == last
    context = easy_first_context(state.first, position < last, known)
    nothing = jnp.broadcast_to(known[:, None, :], context.shape)
    return jnp.where(state.done == 0, nothing, context)
