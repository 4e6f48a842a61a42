"""Defects of the published PaDIR code, as changes to ours that tests and measurements switch on.

Nothing here is part of the package. Training and decoding are patched while a context is open, so
whatever is traced in it (a training step, a `Translator`) has the defect.

Source: the code published with Li et al. 2024 (google-research, folder padir, Apache-2.0), read and
described in our own words; docs/departures.md says what stands in place of each defect.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

import jax.numpy as jnp
from jaxtyping import Array, Bool

from padir.decode import refiner
from padir.decode.candidates import Candidate
from padir.decode.policies import PassView, stutter_remask
from padir.decode.refine import Policies, Refinement, refine
from padir.decode.translate import Hypothesis, Translator
from padir.ids import EOS, PAD
from padir.model.transformer import Transformer
from padir.shapes import Mask, Tokens
from padir.training import corruption, objective


def next_hypothesis(predicted: Tokens, start: Tokens, piece: Mask, hide_stutter: bool) -> Tokens:
    """What a later stage reads where predictions past EOS stay.

    Stuttering positions fall back to `start`, which is padding there. EOS keeps its place.
    """
    return corruption.next_hypothesis(predicted, start, start != EOS, hide_stutter)


_hidden = Transformer.hidden


def hidden(self: Transformer, tokens: Tokens, cross, visible=None, key=None):
    """The decoder of the model with every id but padding visible, whatever `visible` says."""
    return _hidden(self, tokens, cross, None, key)


@contextmanager
def padding_visible() -> Iterator[None]:
    """Training whose stages from the second on predict past EOS and see what they predicted.

    The first stage reads padding there, so that it sees what ours does. Decoding, outside of this
    context, never sees padding.
    """
    with (
        mock.patch.object(objective, "next_hypothesis", next_hypothesis),
        mock.patch.object(Transformer, "hidden", hidden),
    ):
        yield


def stop_together(before, after, log_probability) -> Bool[Array, " B"]:
    """No row is finished before all rows of the batch are unchanged in the same pass."""
    return jnp.broadcast_to(jnp.all(before == after), before.shape[:1])


def circular_stutters(tokens: Tokens) -> Mask:
    """True where a token equals its left neighbour; position 0's is the buffer's last position."""
    return (tokens == jnp.roll(tokens, 1, axis=1)) & (tokens != PAD)


def circular_stutter_remask(view: PassView) -> Bool[Array, "B L"]:
    """Remasks tokens that equal their circular left neighbour."""
    return circular_stutters(view.tokens) & view.is_piece


@dataclass(frozen=True)
class Defects:
    """Which defects a decoding has.

    Attributes:
        stops_together: the loop ends when the whole batch is unchanged; no row is frozen.
        returns_remasked: the text is what the next pass would read: stutter is remasked after the
            last pass too; what any other policy hides is shown after pass T, but not where the loop
            ends before.
        deletes_start: a token that equals the start token of its position is deleted, and its
            log-probability is no part of the candidate's score; the length penalty is still that of
            the length tried. Set `drop_repeats: none` with it: the published code drops no repeats.
        circular: position 0 stutters where it equals the buffer's last position.
    """

    stops_together: bool = False
    returns_remasked: bool = False
    deletes_start: bool = False
    circular: bool = False

    def refine(
        self, predict, start, lengths, passes, policies: Policies, keys, given=None, may_repeat=None
    ) -> Refinement:
        """`padir.decode.refine.refine` with these defects; deleted tokens still stand."""
        stutter = policies.remask is stutter_remask
        if self.stops_together:
            policies = policies._replace(stop=stop_together)
        if self.circular and stutter:
            policies = policies._replace(remask=circular_stutter_remask)
        state = refine(predict, start, lengths, passes, policies, keys, given, may_repeat)
        if self.returns_remasked:
            shown = state.tokens if not stutter else state.inputs
            tokens = jnp.where(state.passes_done < passes, state.inputs, shown)
            state = state._replace(tokens=tokens)
        if self.deletes_start:
            score = jnp.where(state.tokens == start, 0.0, state.log_probability)
            state = state._replace(log_probability=score)
        return state

    @contextmanager
    def decoding(self) -> Iterator[Callable[..., Translator]]:
        """Translators that are made and used in here have these defects.

        Yields:
            the class of translators to make.
        """
        with mock.patch.object(refiner, "refine", self.refine):
            yield DeletingTranslator if self.deletes_start else Translator


def without_start(tokens: Sequence[int], start: Sequence[int]) -> tuple[int, ...]:
    """The tokens that differ from the start token of their position; the holes are closed."""
    return tuple(int(token) for token, first in zip(tokens, start, strict=False) if token != first)


class DeletingTranslator(Translator):
    """Deletes what equals the chosen candidate's start, after any final drop of repeats."""

    def finish(
        self,
        sources: Sequence[Sequence[int]],
        candidates: Sequence[Sequence[Candidate]],
        whole: Sequence[bool] | None = None,
    ) -> list[Hypothesis]:
        """As in `Translator`.

        Raises:
            ValueError: the final drop of repeats is on, which moves tokens off their positions.
        """
        if self.drop != "none":
            raise ValueError(f"drop_repeats {self.drop}: start tokens are compared by position")
        finished = super().finish(sources, candidates, whole)
        cleaned = []
        for source, ranked, hypothesis in zip(sources, candidates, finished, strict=True):
            tokens = hypothesis.tokens
            if ranked:
                chosen = self.rule.choose(ranked)
                number = next(k for k, candidate in enumerate(ranked) if candidate is chosen)
                start = self.refiner.start(source, len(ranked), self.refiner.longest)
                tokens = without_start(tokens, start[number].tolist())
            cleaned.append(tokens)
        texts = self.loaded.vocabulary.decode(cleaned)
        return [
            dataclasses.replace(hypothesis, hypothesis=text, tokens=tokens)
            for hypothesis, text, tokens in zip(finished, texts, cleaned, strict=True)
        ]
