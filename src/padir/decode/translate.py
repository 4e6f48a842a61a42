"""Text to text with one model: encode, decode, choose, drop repeats, and back to text."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from padir.decode.autoregressive import Searcher
from padir.decode.batches import Batch
from padir.decode.drop import drop_repeats
from padir.decode.load import Decoding, LoadedModel
from padir.decode.rank import Candidate, LengthRule
from padir.decode.refiner import Refiner
from padir.decode.rerank import Reranker, check_reranker
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
        """The JSON line of sentence `number`. Log-probability is rounded to 4 decimals, more
        than rounding in different batch shapes moves it."""
        fields = asdict(self)
        fields["log_probability"] = round(self.log_probability, 4)
        return {"id": number, **fields}


EMPTY_HYPOTHESIS = Hypothesis("", "", (), (), 0, 0.0, 0, 0)


class Translator:
    """Translates lines with one model and one decoding.

    Args:
        loaded: the model.
        decoding: must fit it.
        rule: the length rule; the bundle's own by default.
        beam: beam width; the spec's by default.
        candidates: target lengths tried; the spec's by default.
        reranker: ranks candidates; needed where the spec names one, refused where it does not.

    Raises:
        InputError: a decoding or reranker that does not fit, or no length rule where one is needed.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        decoding: Decoding,
        rule: LengthRule | None = None,
        beam: int | None = None,
        candidates: int | None = None,
        reranker: Reranker | None = None,
    ):
        loaded.check(decoding)
        check_reranker(loaded, reranker)
        self.loaded, self.decoding, self.reranker = loaded, decoding, reranker
        run = loaded.spec.run
        settings = run.decoding
        count = settings.length_candidates if candidates is None else candidates
        chosen = rule or loaded.rule or _only_rule(loaded)
        if chosen is None:
            if decoding.name != "greedy" and not (decoding.passes and count == 1):
                raise InputError(
                    f"{shown(loaded.folder)}: no length rule chosen yet: run padir tune, or give"
                    " --length-alpha and --length-weight"
                )
            chosen = LengthRule()
        self.rule = chosen
        self.drop = settings.drop_repeats if decoding.passes else "none"
        self.longest_source = run.architecture.max_positions - 1
        size = loaded.vocabulary.size
        self._refiner: Refiner | None = None
        self._searcher: Searcher | None = None
        if decoding.passes:
            self._refiner = Refiner(loaded.model, run, size, loaded.seed, count)
        else:
            name = "greedy" if decoding.name == "greedy" else "beam"
            self._searcher = Searcher(loaded.model, run, size, name, chosen.alpha, beam)

    @property
    def files(self) -> list[Path]:
        """What translations depend on, for provenance."""
        return [*self.loaded.files, *(self.reranker.files if self.reranker else [])]

    def use(self, rule: LengthRule) -> None:
        """Change the length rule; nothing is compiled again."""
        self.rule = rule
        if self._searcher:
            self._searcher.alpha = rule.alpha

    def with_decoding(self, decoding: Decoding) -> "Translator":
        """The same PaDIR translator with another number of passes; programs are shared.

        Raises:
            InputError: a decoding that does not fit.
        """
        self.loaded.check(decoding)
        if not decoding.passes and decoding != self.decoding:
            raise InputError(f"greedy and beam share no programs: asked for {decoding.name}")
        other = copy.copy(self)
        other.decoding = decoding
        return other

    def _batches(
        self, sources: Sequence[Sequence[int]], lengths: Sequence[int] | None
    ) -> Iterator[tuple[Batch, list[list[Candidate]]]]:
        if self._refiner:
            return self._refiner.batches(sources, self.decoding.passes, lengths)
        if self._searcher:
            return self._searcher.batches(sources)
        raise ValueError("no decoder")

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Piece ids of each line, however long."""
        return self.loaded.vocabulary.encode(lines)

    @property
    def refiner(self) -> Refiner:
        """What refines given hypotheses.

        Raises:
            InputError: the model is AR.
        """
        if self._refiner is None:
            raise InputError(
                f"{shown(self.loaded.folder)}: a model of system {self.loaded.spec.run.system}"
                " writes token after token: only parallel models keep given text or repair a draft"
            )
        return self._refiner

    @property
    def needs_lengths(self) -> bool:
        """Whether the model is to be told the references' lengths: an oracle predicts none."""
        return self.loaded.model.length_oracle

    def lengths_missing(self) -> InputError:
        """What an oracle says without references."""
        return InputError(
            f"{shown(self.loaded.folder)}: length_predictor oracle is told the reference's"
            " length: name the references"
        )

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
            references: whose lengths a model with an oracle is told; not read otherwise.

        Raises:
            ValueError: a source is too long.
            InputError: a model with an oracle and no references.
        """
        lengths = None
        if self.needs_lengths:
            if references is None:
                raise self.lengths_missing()
            encoded = self.encode(references)
            lengths = [len(one) + 1 for one, source in zip(encoded, sources, strict=True) if source]
        filled = [index for index, source in enumerate(sources) if source]
        found: list[list[Candidate]] = [[] for _ in sources]
        for batch, candidates in self._batches([sources[index] for index in filled], lengths):
            for index, several in zip(batch.indices, candidates, strict=True):
                found[filled[index]] = several
            if report:
                report(len(batch.indices))
        if report and len(filled) < len(sources):
            report(len(sources) - len(filled))
        return self.reranked(sources, found)

    def reranked(
        self, sources: Sequence[Sequence[int]], candidates: list[list[Candidate]]
    ) -> list[list[Candidate]]:
        """The candidates as the reranker ranks them; as they are where there is none."""
        return self.reranker.rerank(sources, candidates) if self.reranker else candidates

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
        chosen = [self.rule.choose(several) if several else None for several in candidates]
        before = [() if one is None else one.tokens for one in chosen]
        drops = ["none" if stays else self.drop for stays in whole or [False] * len(sources)]
        after = [
            drop_repeats(tokens, source, drop, vocabulary.piece)
            for tokens, source, drop in zip(before, sources, drops, strict=True)
        ]
        texts, raw_texts = vocabulary.decode(after), vocabulary.decode(before)
        return [
            EMPTY_HYPOTHESIS
            if one is None
            else Hypothesis(
                hypothesis=texts[index],
                before_drop=raw_texts[index],
                tokens=after[index],
                tokens_before_drop=before[index],
                steps=max(candidate.passes for candidate in candidates[index]),
                log_probability=one.log_probability,
                length=one.length,
                candidates=len(candidates[index]),
            )
            for index, one in enumerate(chosen)
        ]

    def reads(self, source: Sequence[int]) -> bool:
        """Whether the model has positions for all of a source's tokens."""
        return len(source) <= self.longest_source

    def readable(self, lines: Sequence[str]) -> list[bool]:
        """Which lines the model has positions for."""
        return [self.reads(source) for source in self.encode(lines)]

    def check_lengths(self, sources: Sequence[Sequence[int]], name: str) -> None:
        """Refuse sources longer than the model reads.

        Raises:
            InputError: with the first such line's number, from 1, in the file `name`.
        """
        for number, source in enumerate(sources, start=1):
            if not self.reads(source):
                raise InputError(
                    f"{shown(name)}: line {number}: {len(source)} tokens, this model reads at"
                    f" most {self.longest_source}"
                )

    def fit(self, sources: list[list[int]], name: str, warn: Callable[[str], None] | None) -> None:
        """Cut sources to what the model reads, in place.

        Args:
            name: of their file.
            warn: called with a message about each line that is cut; None refuses such lines.

        Raises:
            InputError: as `check_lengths`, where nobody is told.
        """
        if warn is None:
            self.check_lengths(sources, name)
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
            lines: an empty one gives an empty hypothesis.
            name: of the file, for messages.
            report, references: as in `candidates`.
            warn: as in `fit`.

        Raises:
            InputError: a line is too long for the model, and `warn` is None.
        """
        sources = self.encode(lines)
        self.fit(sources, name, warn)
        return self.finish(sources, self.candidates(sources, report, references))


def shortened(sources: list[list[int]], longest: int, first_line: int) -> Iterator[str]:
    """Cut sources to what the model reads, in place; yield a warning for each line cut."""
    for index, source in enumerate(sources):
        if len(source) > longest:
            yield (
                f"line {first_line + index}: {len(source)} tokens, cut to the first {longest},"
                " all that this model reads"
            )
            del source[longest:]


def _only_rule(loaded: LoadedModel) -> LengthRule | None:
    """The rule where the settings leave no choice."""
    settings = loaded.spec.run.decoding
    weights = settings.length_weights if loaded.spec.run.parallel else [0.0]
    if len(settings.length_alphas) == 1 and len(weights) == 1:
        return LengthRule(settings.length_alphas[0], weights[0])
    return None
