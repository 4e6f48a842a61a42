"""The Python interface: load a bundle, translate, measure stutter.

`padir.load`, `padir.score` and the other short names of `padir` lead here.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any

from padir.config.rows import DEFAULT_PASSES
from padir.decode.candidates import LengthRule
from padir.decode.load import (
    LoadedModel,
    TunedDecoder,
    decoder_names,
    default_decoder,
    find_decoder,
)
from padir.decode.load import load as load_bundle
from padir.decode.rerank import Reranker
from padir.decode.stream import Translation, translated
from padir.decode.trace import traces
from padir.decode.translate import Translator
from padir.files import InputError
from padir.score import score_lines

LOG = logging.getLogger("padir")
Key = tuple[str | None, Path | None]


@dataclass
class Model:
    """A trained model that translates.

    Programs are compiled for the first sentence of each length and number of passes, and kept.

    Attributes:
        loaded: network, vocabulary and settings.
    """

    loaded: LoadedModel
    _translators: dict[Key, Translator] = field(default_factory=dict, repr=False)

    @property
    def direction(self) -> str:
        """Such as de-en."""
        return self.loaded.spec.direction

    @property
    def system(self) -> str:
        """Such as padir or ar."""
        return self.loaded.spec.run.system

    @property
    def parallel(self) -> bool:
        """Whether it predicts all positions at once: every system but AR."""
        return self.loaded.spec.run.parallel

    def translate(
        self,
        lines: Iterable[str],
        steps: int | None = None,
        decoder: str | None = None,
        reranker: str | Path | None = None,
    ) -> list[str]:
        """Translate lines, in order.

        Args:
            lines: a blank one gives an empty translation, one longer than the model reads is cut.
                Of that, and of text that the model has not learnt, the logger `padir` warns.
            steps: decoder passes of a parallel model, `DEFAULT_PASSES` by default.
            decoder: name of a decoder of the bundle or of a built-in one, or a file; by default
                that of the model's system (see `padir.decode.load.default_decoder`), greedy for AR.
            reranker: bundle of the AR model that the decoder names, where it names one.

        Raises:
            InputError: parts that do not fit each other.
        """
        details = self.details(lines, steps, decoder, reranker)
        return [each.hypothesis.hypothesis for each in details]

    def details(
        self,
        lines: Iterable[str],
        steps: int | None = None,
        decoder: str | None = None,
        reranker: str | Path | None = None,
        best: int = 1_000,
        warn: Callable[[str], None] = LOG.warning,
    ) -> list[Translation]:
        """As `translate`, with scores, passes and the `best` distinct candidates of each line.

        Args:
            lines, steps, decoder, reranker: as of `translate`.
            best: most candidates of a line, from 1.
            warn: called with a message about each line that is cut, about lines longer than in
                training, and about text that the vocabulary cannot spell.
        """
        if isinstance(best, bool) or not isinstance(best, int) or best < 1:
            raise InputError(f"best is {best!r}: allowed are whole numbers from 1")
        texts = _texts(lines)
        translator = self._kept(decoder, steps, reranker)
        return list(translated(translator, [texts], warn, best=best, whole=True))

    def traces(
        self,
        lines: Iterable[str],
        steps: int | None = None,
        decoder: str | None = None,
        reranker: str | Path | None = None,
        warn: Callable[[str], None] = LOG.warning,
    ) -> list[dict[str, Any]]:
        """As `translate`, with a trace of the passes, as `padir.decode.trace` describes it.

        Args:
            lines, steps, decoder, reranker: as of `translate`.
            warn: called with a message about each line that is cut, about lines longer than in
                training, and about text that the vocabulary cannot spell.
        """
        texts = _texts(lines)
        return traces(self._kept(decoder, steps, reranker), texts, "input", warn=warn)

    def named_decoders(self) -> list[str]:
        """Names of the bundle's decoders and the built-in ones, whether or not they fit."""
        return decoder_names(self.loaded)

    def decoders(self) -> list[str]:
        """Names that `translate` takes, the default first: decoders that fit this model and need
        no reranker."""
        default = default_decoder(self.loaded) if self.parallel else "greedy"
        return [
            name
            for name in dict.fromkeys([default, *decoder_names(self.loaded)])
            if self._fits(name)
        ]

    def _fits(self, decoder: str) -> bool:
        try:
            self.translator(decoder)
        except InputError:
            return False
        return True

    def _kept(
        self, decoder: str | None, steps: int | None, reranker: str | Path | None
    ) -> Translator:
        """A cached translator; translators that differ in `steps` alone share their programs."""
        key = decoder, None if reranker is None else Path(reranker)
        if key not in self._translators:
            self._translators[key] = self.translator(decoder, steps, key[1])
        kept = self._translators[key]
        return kept.with_passes(_passes(kept.decoder, steps))

    def translator(
        self,
        decoder: str | TunedDecoder | None = None,
        steps: int | None = None,
        reranker: Path | None = None,
        rule: LengthRule | None = None,
    ) -> Translator:
        """A translator of this model; arguments as of `translate`, and the length rule.

        Raises:
            InputError: parts that do not fit each other.
        """
        if not isinstance(decoder, TunedDecoder):
            default = None if self.parallel else "greedy"
            decoder = find_decoder(self.loaded, decoder, default)
        ranking = None if reranker is None else Reranker(load_bundle(reranker))
        return Translator(self.loaded, decoder, _passes(decoder, steps), rule, ranking)


def _texts(lines: Iterable[str]) -> list[str]:
    """The lines as a list; raises InputError for what is no line of text."""
    if isinstance(lines, str):
        raise InputError("lines is one text; a list of lines is needed")
    texts = list(lines)
    for number, line in enumerate(texts, start=1):
        if not isinstance(line, str):
            raise InputError(f"line {number}: found {type(line).__name__}, allowed is text")
        if any("\ud800" <= character <= "\udfff" for character in line):
            raise InputError(f"line {number}: holds half a surrogate pair, which is no text")
    return texts


def _passes(decoder: TunedDecoder, steps: int | None) -> int | None:
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, Integral)):
        raise InputError(f"steps is {steps!r}: allowed are whole numbers")
    return DEFAULT_PASSES if steps is None and decoder.settings.parallel else steps


def load(folder: str | Path) -> Model:
    """Load a model bundle, which is found again after a change of the working folder.

    Raises:
        InputError: not a whole bundle of ours.
    """
    loaded = load_bundle(Path(folder))
    return Model(replace(loaded, folder=loaded.folder.absolute()))


def stutter(
    hypotheses: Sequence[str], references: Sequence[str], target_language: str
) -> dict[str, Any]:
    """Repeated words per 100 words of the output, beyond those of the references.

    Args:
        hypotheses: one sentence each.
        references: one per hypothesis.
        target_language: code, such as en or zh; decides the unit: words, or characters of Chinese
            and Japanese.

    Returns:
        The summary of `padir score`: rate per 100, its 95% interval, counts.

    Raises:
        InputError: as `padir.score`.
    """
    return score_lines(hypotheses, references, target_language)["stutter"]["words"]
