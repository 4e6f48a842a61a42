"""Constrained translation: templates with gaps, drafts, terms that must appear.

A parallel model refines any hypothesis, so text may be given anywhere in it. Given tokens never
change and are seen by every pass; `Refiner.proposed` predicts the others.

Template: fixed texts and gaps. Those predicted lengths are tried that the fixed texts fit in. The
other tokens are shared evenly among the gaps and start as in unconstrained decoding, or from its
result. The length rule ranks by pseudo-likelihood (`padir.decode.pseudo`), to which given tokens
count too; a reranker ranks these candidates like others. An unconstrained translation that fits the
template stays, unless a candidate is much likelier (`MARGIN`).
Draft: replaced by its repair, or by an unconstrained translation, if that is much likelier
(`padir.decode.drafts`). The repair starts from it; no token is fixed, and the length stays.
Terms: texts that must appear somewhere. They are placed in an unconstrained translation, which
stays like one that fits a template if it has them all (`_place_terms`).

A model trained to predict hidden tokens only (`Objective.hidden_only`: CMLM, RDM) makes no useful
prediction at a visible token. It takes no drafts, and around terms it starts from masks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from padir.decode.candidates import Candidate
from padir.decode.drafts import UNTUNED, Replacement, gain
from padir.decode.given import Constraint, Draft, Speller, Template, Terms, Tokens
from padir.decode.pseudo import PseudoLikelihood
from padir.decode.refiner import Proposal
from padir.decode.translate import Hypothesis, Translator
from padir.files import InputError

PLACEMENTS = 8
"""Placements of a term in one row of a batch; changes no result unless tokens are drawn."""
LENGTH_CHANGES = (0, -1, 1)
"""Changes of the hypothesis's length that placing a term may make; of equals the first wins."""
MARGIN = 5.0
"""Nats that a candidate must gain in pseudo-likelihood over an unconstrained translation that fits
the template or has all terms."""


@dataclass(frozen=True)
class Constraints:
    """The given text of each line of an input.

    Attributes:
        translator: of a parallel model.
        speller: of that model.
        lines: a constraint for each input line; None for plain translation.
        name: of the files they come from, for messages.
        draft_margin: in nats (`padir.decode.drafts`); the decoder's by default.
    """

    translator: Translator
    speller: Speller
    lines: Sequence[Constraint | None]
    name: str
    draft_margin: float | None = None

    def translate(self, sources: Sequence[Sequence[int]], first: int = 0) -> list[Hypothesis]:
        """Translate sources under the constraints of lines `first` and on, counted from 0.

        Raises:
            InputError: a constraint on an empty line, which no model sees; an oracle length
                predictor, where lengths have to be predicted.
        """
        constraints = self.lines[first : first + len(sources)]
        for index, (source, constraint) in enumerate(zip(sources, constraints, strict=True)):
            if constraint and not source:
                raise InputError(
                    f"line {first + index + 1} of the input is empty, but that of {self.name} is"
                    " not"
                )
        candidates: list[list[Candidate]] = [[] for _ in sources]

        def decode(kind, decoder) -> None:
            """Fill in the candidates of one kind of constraint."""
            chosen = [i for i, each in enumerate(constraints) if sources[i] and type(each) is kind]
            if chosen:
                rows = decoder([sources[i] for i in chosen], [constraints[i] for i in chosen])
                for index, row in zip(chosen, rows, strict=True):
                    candidates[index] = row

        decode(type(None), lambda free, _: self.translator.candidates(free))
        decode(Template, self._fill)
        decode(Draft, self._replace)
        decode(Terms, self._place_terms)
        # Repeats of given text are its author's, as are those of a draft that stays.
        whole = [
            any(each.tokens == constraint.tokens for each in row)
            if isinstance(constraint, Draft)
            else constraint is not None
            for constraint, row in zip(constraints, candidates, strict=True)
        ]
        return self.translator.finish(sources, candidates, whole)

    @cached_property
    def _pseudo_likelihood(self) -> PseudoLikelihood | None:
        """Of the model; None where it has none."""
        if self.translator.loaded.spec.run.objective.hidden_only:
            return None
        return PseudoLikelihood(self.translator)

    def _refined(
        self,
        sources: Sequence[Sequence[int]],
        proposals: Sequence[Sequence[Proposal]],
        width: int,
        passes: int | None = None,
        judge: PseudoLikelihood | None = None,
    ) -> list[list[Candidate]]:
        """`Refiner.proposed`, scored by the judge, with `width` proposals per row, so that few
        programs are compiled.
        """
        rows = [
            (index, start)
            for index, source_proposals in enumerate(proposals)
            for start in range(0, len(source_proposals), width)
        ]
        groups = [list(proposals[index][start : start + width]) for index, start in rows]
        for group in groups:
            group += [group[-1]] * (width - len(group))
        row_sources = [sources[index] for index, _ in rows]
        passes = passes or self.translator.decoding.passes or 1
        openings = self.speller.openings
        refined = self.translator.refiner.proposed(row_sources, groups, passes, openings)
        if judge:
            refined = judge.score(row_sources, refined)
        result: list[list[Candidate]] = [[] for _ in sources]
        for (index, start), candidates in zip(rows, refined, strict=True):
            result[index] += candidates[: len(proposals[index]) - start]
        return result

    def _fill(
        self, sources: Sequence[Sequence[int]], templates: Sequence[Template]
    ) -> list[list[Candidate]]:
        """Candidates at the predicted lengths that fit the template, or at its smallest length.

        Where the model judges whole hypotheses, gaps start from the unconstrained translations too,
        which may themselves fit, and the smallest length is always tried, but for a prefix or
        suffix alone.
        """
        if self.translator.needs_lengths:
            raise self.translator.lengths_missing()
        refiner = self.translator.refiner
        predicted = refiner.predicted(sources)
        judge = None if self.translator.reranker else self._pseudo_likelihood
        free: list[list[Candidate]] = [[] for _ in sources]
        if judge:
            free = self.translator.candidates(sources)
        proposals, scores = [], []
        for source, template, lengths, translations in zip(
            sources, templates, predicted, free, strict=True
        ):
            starts = refiner.start(source, len(lengths), refiner.longest).tolist()
            least = template.least + 1
            tried = [
                (start, length, score)
                for start, (length, score) in zip(starts, lengths, strict=True)
                if length == least or (length > least and template.gaps)
            ]
            missing = least not in [length for _, length, _ in tried]
            if not tried or (judge and missing and len(template.segments) > 2):
                tried += [(start, least, 0.0) for start in starts[: refiner.restarts]]
            if template.gaps and not refiner.easy_first:
                fitting = [each for each in translations if each.length >= least]
                tried += [(each.tokens, each.length, 0.0) for each in fitting]
            filled = [template.fill(start, length - 1) for start, length, _ in tried]
            proposals.append([self.speller.proposal(tokens, given) for tokens, given in filled])
            scores.append([score for _, _, score in tried])
        refined = self._refined(sources, proposals, refiner.lengths * refiner.restarts)
        scored = [
            [
                replace(candidate, length_log_probability=score)
                for candidate, score in zip(candidates, length_scores, strict=True)
            ]
            for candidates, length_scores in zip(refined, scores, strict=True)
        ]
        if not judge:
            return self.translator.reranked(sources, scored)
        plain = [each.tokens for each in self.translator.finish(sources, free)]
        fits = [self.speller.fits(*pair) for pair in zip(templates, plain, strict=True)]
        for row, tokens, stays in zip(scored, plain, fits, strict=True):
            if stays:
                row.append(replace(row[0], tokens=tokens, length=len(tokens) + 1))
        judged = judge.score(sources, scored)
        return [_likelier(row) if stays else row for row, stays in zip(judged, fits, strict=True)]

    def _replace(
        self, sources: Sequence[Sequence[int]], drafts: Sequence[Draft]
    ) -> list[list[Candidate]]:
        """One candidate each: the draft, or its replacement if that gains more than the margin."""
        rule = self.translator.decoder.draft_rule or UNTUNED
        margin = rule.margin if self.draft_margin is None else self.draft_margin
        pairs = self.replacements(sources, drafts, rule.replacement)
        return [[new if gain(old, new) > margin else old] for old, new in pairs]

    def replacements(
        self, sources: Sequence[Sequence[int]], drafts: Sequence[Draft], kind: Replacement
    ) -> list[tuple[Candidate, Candidate]]:
        """Each draft and what may replace it, with pseudo-likelihoods, whatever is gained.

        Raises:
            ValueError: the model has no pseudo-likelihood, so that it takes no drafts.
            InputError: a translation by a model with an oracle length predictor.
        """
        if not (judge := self._pseudo_likelihood):
            raise ValueError("a model trained on hidden tokens alone takes no drafts")
        if kind == "translation":
            rows = self.translator.candidates(sources)
            best = [(self.translator.rule.choose(row), row) for row in rows]
            replacements = [replace(new, passes=max(c.passes for c in row)) for new, row in best]
        else:
            proposals = [[Proposal(each.tokens, (False,) * len(each.tokens))] for each in drafts]
            replacements = [repair for [repair] in self._refined(sources, proposals, 1)]
        pairs = [
            [replace(new, tokens=old.tokens, length=len(old.tokens) + 1), new]
            for old, new in zip(drafts, replacements, strict=True)
        ]
        return [(old, new) for old, new in judge.score(sources, pairs)]

    def _place_terms(
        self, sources: Sequence[Sequence[int]], terms: Sequence[Terms]
    ) -> list[list[Candidate]]:
        """One candidate each: the unconstrained translation, refined around its terms.

        A term that stands in it stays there. Each other term is tried in every place for one pass,
        also where the hypothesis gets shorter or longer, and given the place with the highest score
        by the length rule, from the pseudo-likelihood of the whole, to which the term counts too. A
        reranker has no say. A model without pseudo-likelihood keeps the length and ranks by the
        other tokens' log-probability. A translation that has all terms stays, unless the refined
        one is likelier by `MARGIN`.
        """
        judge = self._pseudo_likelihood
        changes = LENGTH_CHANGES if judge else (0,)
        free = self.translator.finish(sources, self.translator.candidates(sources))
        chosen = [
            TermPlacement(list(hypothesis.tokens), list(each.terms), self.speller)
            for hypothesis, each in zip(free, terms, strict=True)
        ]
        complete = [not placement.next_missing() for placement in chosen]
        while missing := [i for i, placement in enumerate(chosen) if placement.next_missing()]:
            placements = [chosen[index].placements(changes) for index in missing]
            missing_sources = [sources[index] for index in missing]
            proposals = [
                [self._around(source, placement) for placement in row]
                for source, row in zip(missing_sources, placements, strict=True)
            ]
            tried = self._refined(missing_sources, proposals, PLACEMENTS, passes=1, judge=judge)
            for index, row, candidates in zip(missing, placements, tried, strict=True):
                scores = [self.translator.rule.score(candidate) for candidate in candidates]
                best = scores.index(max(scores))
                chosen[index] = replace(row[best], tokens=list(candidates[best].tokens))
        proposals = [[self._around(*pair)] for pair in zip(sources, chosen, strict=True)]
        refined = self._refined(sources, proposals, 1)
        if judge is None:
            return refined
        pairs = [
            [*row, replace(row[0], tokens=hypothesis.tokens)] if has_all else row
            for row, hypothesis, has_all in zip(refined, free, complete, strict=True)
        ]
        return [_likelier(row)[:1] for row in judge.score(sources, pairs)]

    def _around(self, source: Sequence[int], placement: "TermPlacement") -> Proposal:
        """The hypothesis to refine around its placed terms."""
        tokens = placement.tokens
        if self.translator.loaded.spec.run.objective.hidden_only:
            refiner = self.translator.refiner
            [start] = refiner.start(source, 1, refiner.longest).tolist()
            positions = zip(tokens, placement.given, start, strict=False)
            tokens = [token if given else other for token, given, other in positions]
        return self.speller.proposal(tokens, placement.given)


def _likelier(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those with a pseudo-likelihood above that of the last one by `MARGIN`, or the last one."""
    *changes, kept = candidates
    least = kept.log_probability + MARGIN
    return [each for each in changes if each.log_probability > least] or [kept]


@dataclass
class TermPlacement:
    """A hypothesis in which terms are being placed.

    Attributes:
        tokens: of the hypothesis.
        missing: terms without a place.
        speller: of the model.
        owner: the number of the term that each token is part of; 0 where it is free.
        placed: terms that have their place.
    """

    tokens: list[int]
    missing: list[Tokens]
    speller: Speller
    owner: list[int] = field(default_factory=list)
    placed: int = 0

    def __post_init__(self):
        self.owner = self.owner or [0] * len(self.tokens)

    @property
    def given(self) -> list[bool]:
        """Whether each token is part of a placed term."""
        return [owner > 0 for owner in self.owner]

    def next_missing(self) -> bool:
        """Fix the terms that already appear; return whether a term is missing."""
        for term in list(self.missing):
            for place in self._free_places(len(term)):
                after = place + len(term)
                ends = after == len(self.tokens) or self.speller.openings[self.tokens[after]]
                if ends and tuple(self.tokens[place:after]) == term:
                    self._mark_placed(place, term)
                    break
        return bool(self.missing)

    def placements(self, changes: Sequence[int]) -> list["TermPlacement"]:
        """Every placement of the first missing term that covers no other term and changes the
        length of the hypothesis by one of `changes`.

        Where there is none, the hypothesis grows to take it in between two tokens; past the
        model's limit, the last free tokens go.
        """
        length = len(self.missing[0])
        return [
            self._insert_missing(place, place + length - change)
            for change in changes
            if change <= min(length, self.speller.most - len(self.tokens))
            for place in self._free_places(length - change)
        ] or [self._insert_missing(place, place) for place in self._free_places(0)]

    def _free_places(self, length: int) -> list[int]:
        """Starts of all runs of `length` free tokens; for 0, the gaps that are in no term."""
        if not length:
            edges = [0, *self.owner, 0]
            gaps = range(len(self.tokens) + 1)
            return [gap for gap in gaps if not edges[gap] or edges[gap] != edges[gap + 1]]
        last = len(self.tokens) - length
        return [place for place in range(last + 1) if not any(self.owner[place : place + length])]

    def _mark_placed(self, place: int, term: Tokens) -> None:
        self.placed += 1
        self.owner[place : place + len(term)] = [self.placed] * len(term)
        self.missing.remove(term)

    def _insert_missing(self, place: int, after: int) -> "TermPlacement":
        """A copy with the first missing term in place of tokens `place` to `after`, exclusive."""
        term = self.missing[0]
        other = replace(
            self,
            tokens=[*self.tokens[:place], *term, *self.tokens[after:]],
            owner=[*self.owner[:place], *([0] * len(term)), *self.owner[after:]],
            missing=list(self.missing),
        )
        other._mark_placed(place, term)
        while len(other.tokens) > self.speller.most:
            last = max(index for index, owner in enumerate(other.owner) if not owner)
            del other.tokens[last], other.owner[last]
        return other
