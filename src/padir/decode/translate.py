"""Translates text with one model and one decoder: encoding, decoding, ranking, final drop."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from padir.config.base import short_digest
from padir.config.decoder import MOST_PASSES, SearchDecoder, decoder_digest
from padir.config.rows import Decoding, with_hypotheses
from padir.decode.autoregressive import Searcher
from padir.decode.batches import Batch
from padir.decode.candidates import Candidate, LengthRule, drop_repeats
from padir.decode.load import LoadedModel, TunedDecoder, own_rule
from padir.decode.refiner import Refiner
from padir.decode.rerank import Reranker, check_reranker
from padir.decode.sources import SourceWarnings, check_lengths, longest_trained, shortened
from padir.files import InputError, shown


@dataclass(frozen=True)
class Hypothesis:
    """The translation of one line.

    Attributes:
        hypothesis: the text.
        before_drop: the text before the final drop of repeats; the same for AR.
        tokens: ids without EOS, after the drop.
        tokens_before_drop: ids before it.
        steps: decoder passes: the most that any candidate took; AR: tokens. The pass of a
            reranker is not among them.
        log_probability: of the chosen candidate (see `Candidate`), before the drop.
        length: of the chosen candidate, EOS included; 0 for an empty source.
        candidates: hypotheses that were compared; 0 for an empty source, which no model sees.
    """

    hypothesis: str
    before_drop: str
    tokens: tuple[int, ...]
    tokens_before_drop: tuple[int, ...]
    steps: int
    log_probability: float
    length: int
    candidates: int

    def record(self, number: int) -> dict[str, Any]:
        """The JSON line of sentence `number`.

        Log-probability is rounded to 3 decimals: in float32 batch shapes and the number of devices
        change one line in 500 in the 4th. In bfloat16 they may change the 3rd.
        """
        fields = asdict(self)
        fields["log_probability"] = round(self.log_probability, 3)
        return {"id": number, **fields}


EMPTY_HYPOTHESIS = Hypothesis("", "", (), (), 0, 0.0, 0, 0)


class Translator:
    """Translates lines with one model and one decoder.

    Args:
        loaded: the model.
        decoder: must fit it.
        passes: decoder passes (T) of a parallel decoder; None for AR.
        rule: the length rule; the decoder's own by default.
        reranker: ranks candidates; needed where the decoder names one, refused where it does not.
        sentences: of a batch; see `CompiledModel`.
        oracle_length: whether a parallel model takes the references' lengths, whatever it predicts:
            an upper bound, so its digests are those of no system.

    Raises:
        InputError: a decoder, number of passes or reranker that does not fit, no length rule where
            one is needed, or an oracle length for AR.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        decoder: TunedDecoder,
        passes: int | None = None,
        rule: LengthRule | None = None,
        reranker: Reranker | None = None,
        sentences: int | None = None,
        oracle_length: bool = False,
    ):
        run, settings, size = loaded.spec.run, decoder.settings, loaded.vocabulary.size
        try:
            run.check_decoder(decoder.name, settings)
        except ValueError as error:
            raise InputError(f"{shown(loaded.folder)}: {error}") from error
        _check_passes(decoder, passes)
        check_reranker(loaded, decoder, reranker)
        if oracle_length and not settings.parallel:
            raise InputError(f"decoder {decoder.name} predicts no lengths to take from references")
        self.oracle_length = oracle_length
        self.loaded, self.decoder, self.reranker = loaded, decoder, reranker
        self.decoding = Decoding(decoder.name, passes)
        self.rule = rule or own_rule(decoder, loaded)
        self.longest_source = run.architecture.max_positions - 1
        self._refiner: Refiner | None = None
        self._searcher: Searcher | None = None
        network = loaded.network(settings.weights)
        if isinstance(settings, SearchDecoder):
            self.drop = "none"
            self._searcher = Searcher(network, run, settings, size, self.rule.alpha, sentences)
        else:
            self.drop = settings.drop_repeats
            self._refiner = Refiner(network, run, settings, size, loaded.seed, sentences)

    @property
    def files(self) -> list[Path]:
        """Files that translations depend on, for provenance."""
        decoder = [self.decoder.path] if self.decoder.path else []
        reranker = self.reranker.loaded.files if self.reranker else []
        return [*self.loaded.files, *decoder, *reranker]

    @property
    def labels(self) -> dict[str, Any]:
        """Training, decoder and passes, as provenance and documents name them."""
        decoder, passes = self.decoding
        lengths = {"lengths": "references"} if self.oracle_length else {}
        return {**self.loaded.labels, "decoder": decoder, "passes": passes, **lengths}

    @property
    def digests(self) -> dict[str, str]:
        """Digests of the training, the decoder and their hypotheses."""
        digests = dict(self.loaded.spec.digests)
        ranking = self.reranker.loaded if self.reranker else None
        digests["decoder"] = decoder_digest(
            self.decoder.settings,
            ranking and ranking.spec.digests.get("training"),
            ranking and ranking.seed,
        )
        if self.oracle_length:
            # No table of the report asks for this digest, nor for that of the hypotheses.
            digests["decoder"] = short_digest([digests["decoder"], "oracle length"])
        if "training" not in digests:
            return digests
        return with_hypotheses(digests, self.loaded.seed, self.decoding.passes)

    def use(self, rule: LengthRule) -> None:
        """Change the length rule; nothing is compiled again."""
        self.rule = rule
        if self._searcher:
            self._searcher.use(rule.alpha)

    def with_passes(self, passes: int | None) -> "Translator":
        """The same translator with another number of passes; programs are shared.

        Raises:
            InputError: a number that does not fit the decoder.
        """
        _check_passes(self.decoder, passes)
        other = copy.copy(self)
        other.decoding = Decoding(self.decoder.name, passes)
        return other

    def _batches(
        self, sources: Sequence[Sequence[int]], lengths: Sequence[int] | None
    ) -> Iterator[tuple[Batch, list[list[Candidate]]]]:
        if self._refiner and self.decoding.passes:
            return self._refiner.batches(sources, self.decoding.passes, lengths)
        if self._searcher:
            return self._searcher.batches(sources)
        raise ValueError("no decoder")

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Piece ids of each line, none for a blank one, without a limit on the length."""
        return self.loaded.encode(lines)

    @property
    def refiner(self) -> Refiner:
        """The refiner of a parallel model, which refines given hypotheses too.

        Raises:
            InputError: the model is AR.
        """
        if self._refiner is None:
            raise InputError(
                f"{shown(self.loaded.folder)}: a model of system {self.loaded.spec.run.system}"
                " writes token after token: only parallel models take given text or drafts"
            )
        return self._refiner

    @property
    def needs_lengths(self) -> bool:
        """Whether the references' lengths are read: by an oracle length predictor, or asked for."""
        return self.loaded.model.length_oracle or self.oracle_length

    def lengths_missing(self) -> InputError:
        """The error to raise for an oracle length predictor without references."""
        return InputError(
            f"{shown(self.loaded.folder)}: length_predictor oracle and --oracle-length read the"
            " references' lengths: name the references"
        )

    def reference_lengths(
        self, sources: Sequence[Sequence[int]], references: Sequence[str] | None
    ) -> list[int] | None:
        """Lengths that an oracle length predictor reads, with EOS, one of each source; None for
        other models.

        Raises:
            InputError: an oracle length predictor and no references.
        """
        if not self.needs_lengths:
            return None
        if references is None:
            raise self.lengths_missing()
        pairs = zip(self.encode(references), sources, strict=True)
        return [len(reference) + 1 for reference, _ in pairs]

    def candidates(
        self,
        sources: Sequence[Sequence[int]],
        report: Callable[[int], None] | None = None,
        references: Sequence[str] | None = None,
    ) -> list[list[Candidate]]:
        """Candidates of each source, reranked, in order; none for an empty one.

        Args:
            sources: piece ids, at most `longest_source` each.
            report: called with the number of sentences just finished.
            references: whose lengths an oracle length predictor reads; not read otherwise.

        Raises:
            ValueError: a source is too long.
            InputError: an oracle length predictor and no references.
        """
        lengths = self.reference_lengths(sources, references)
        result: list[list[Candidate]] = [[] for _ in sources]
        for batch, rows in self._batches(sources, lengths):
            for index, candidates in zip(batch.indices, rows, strict=True):
                result[index] = candidates
            if report:
                report(len(batch.indices))
        if report and (empty := sum(not source for source in sources)):
            report(empty)
        return self.reranked(sources, result)

    def reranked(
        self, sources: Sequence[Sequence[int]], candidates: list[list[Candidate]]
    ) -> list[list[Candidate]]:
        """The candidates with the reranker's log-probabilities; unchanged without a reranker."""
        if self.reranker is None:
            return candidates
        return self.reranker.rerank(sources, candidates, self.decoder.settings.weights)

    def finish(
        self,
        sources: Sequence[Sequence[int]],
        candidates: Sequence[Sequence[Candidate]],
        whole: Sequence[bool] | None = None,
    ) -> list[Hypothesis]:
        """Choose among candidates by the length rule, drop repeats, turn ids into text.

        Args:
            sources: piece ids.
            candidates: of each source; none gives an empty hypothesis.
            whole: sentences whose repeats stay; none by default.
        """
        vocabulary = self.loaded.vocabulary
        chosen = [self.rule.choose(row) if row else None for row in candidates]
        before = [() if candidate is None else candidate.tokens for candidate in chosen]
        drops = ["none" if stays else self.drop for stays in whole or [False] * len(sources)]
        after = [
            drop_repeats(tokens, source, drop, vocabulary.piece)
            for tokens, source, drop in zip(before, sources, drops, strict=True)
        ]
        texts, raw_texts = vocabulary.decode(after), vocabulary.decode(before)
        return [
            EMPTY_HYPOTHESIS
            if candidate is None
            else Hypothesis(
                hypothesis=texts[index],
                before_drop=raw_texts[index],
                tokens=after[index],
                tokens_before_drop=before[index],
                steps=max(each.passes for each in candidates[index]),
                log_probability=candidate.log_probability,
                length=candidate.length,
                candidates=len(candidates[index]),
            )
            for index, candidate in enumerate(chosen)
        ]

    def source_warnings(
        self, warn: Callable[[str], None] | None, place: str = "", whole: bool = True
    ) -> SourceWarnings:
        """Warnings of what this model has not learnt to translate."""
        trained, unknown = longest_trained(self.loaded.spec.run), self.loaded.vocabulary.unknown
        return SourceWarnings(warn, trained, unknown, place, whole)

    def reads(self, source: Sequence[int]) -> bool:
        """Whether a source fits in the model's positions."""
        return len(source) <= self.longest_source

    def readable(self, lines: Sequence[str]) -> list[bool]:
        """Which lines fit in the model's positions."""
        return [self.reads(source) for source in self.encode(lines)]

    def fit(self, sources: list[list[int]], name: str, warn: Callable[[str], None] | None) -> None:
        """Truncate sources to the model's maximum length, in place.

        Args:
            name: of their file.
            warn: called with a message about each line that is cut; None refuses such lines.

        Raises:
            InputError: with the number of the first line that is too long, without `warn`.
        """
        if warn is None:
            check_lengths(sources, name, self.longest_source)
            return
        for message in shortened(sources, self.longest_source, 1):
            warn(f"{shown(name)}: {message}")

    def translate(
        self,
        lines: Sequence[str],
        name: str,
        report: Callable[[int], None] | None = None,
        references: Sequence[str] | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> list[Hypothesis]:
        """Translate lines, in order.

        Args:
            lines: a blank one gives an empty hypothesis.
            name: of the file, for messages.
            report, references: as in `candidates`.
            warn: as in `fit`, and as in `SourceWarnings`.

        Raises:
            InputError: a line is too long for the model, and `warn` is None.
        """
        sources = self.encode(lines)
        self.fit(sources, name, warn)
        self.source_warnings(warn, f"{shown(name)}: ").check(lines, sources)
        return self.finish(sources, self.candidates(sources, report, references))


def _check_passes(decoder: TunedDecoder, passes: int | None) -> None:
    if not decoder.settings.parallel and passes is not None:
        raise InputError(
            f"decoder {decoder.name} makes one pass per token: a number of passes is not allowed"
        )
    if decoder.settings.parallel and (passes is None or not 1 <= passes <= MOST_PASSES):
        raise InputError(
            f"decoder {decoder.name} is parallel: the number of passes is"
            f" {'missing' if passes is None else passes}, allowed are 1 to {MOST_PASSES}"
        )
