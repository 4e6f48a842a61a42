"""Tunes a decoder on validation data: its length rule, among its alphas and weights, and its rule
for drafts.

A parallel model decodes once: its candidates do not depend on the rule. A beam is searched again
for each alpha, as the penalty decides which hypotheses finish.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import product, starmap
from math import isfinite

from padir.config.decoder import RefinementDecoder, SearchDecoder
from padir.decode.candidates import LengthRule
from padir.decode.constrain import Constraints
from padir.decode.drafts import KEPT, DraftRule, Replacement, gain, margin_that_keeps, preferred
from padir.decode.given import Draft, Speller
from padir.decode.translate import Translator
from padir.files import InputError

MOST_DRAFTS = 500
"""Maximum number of validation references that are given as drafts, evenly spaced."""


def length_rules(settings: SearchDecoder | RefinementDecoder) -> list[LengthRule]:
    """The length rules to choose from; the neutral one alone for a decoder without length rule."""
    if not settings.tuned:
        return [LengthRule()]
    weights = [0.0] if isinstance(settings, SearchDecoder) else settings.length_weights
    return list(starmap(LengthRule, product(settings.length_alphas, weights)))


def tune(
    translator: Translator,
    lines: Sequence[str],
    name: str,
    bleu: Callable[[Sequence[str]], float],
    references: Sequence[str],
    report: Callable[[int], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> list[tuple[LengthRule, float]]:
    """Try every rule of a decoder on validation sentences.

    Args:
        translator: of the model and the decoder; candidates are reranked once.
        lines: validation sources.
        name: of their file, for messages.
        bleu: corpus BLEU of hypotheses against the validation references.
        references: one of them per line, whose lengths an oracle length predictor reads.
        report: called with the number of sentences just finished, of `tuning_decodings` times as
            many as there are lines.
        warn: as of `Translator.fit`.

    Returns:
        each rule with its BLEU, in the order of the settings.
    """
    sources = translator.encode(lines)
    translator.fit(sources, name, warn)
    settings = translator.decoder.settings
    candidates = translator.candidates(sources, report, references) if settings.parallel else []
    scores = []
    for rule in length_rules(settings):
        translator.use(rule)
        if not settings.parallel:
            candidates = translator.candidates(sources, report)
        hypotheses = translator.finish(sources, candidates)
        scores.append((rule, bleu([each.hypothesis for each in hypotheses])))
    return scores


def tune_draft_rule(
    translator: Translator, lines: Sequence[str], references: Sequence[str]
) -> DraftRule | None:
    """The rule for drafts that keeps `KEPT` of the references, with the preferred replacement.

    Pairs that the model cannot read or write whole are left out.

    Args:
        translator: of the model, the decoder and the length rule.
        lines: validation sources.
        references: a correct translation of each.

    Returns:
        None for a model that takes no drafts, and where no reference is left.
    """
    run = translator.loaded.spec.run
    if not run.parallel or run.objective.hidden_only or translator.refiner.easy_first:
        return None
    speller, count = Speller(translator), min(len(lines), MOST_DRAFTS)
    chosen = [number * len(lines) // count for number in range(count)]
    sources: list[Sequence[int]] = []
    drafts: list[Draft] = []
    for source, number in zip(
        translator.encode([lines[number] for number in chosen]), chosen, strict=True
    ):
        # A reference may be too long for the model to write.
        with suppress(InputError):
            draft = speller.draft(references[number], "")
            if draft and source and translator.reads(source):
                sources.append(source)
                drafts.append(draft)
    if not drafts:
        return None
    constraints = Constraints(translator, speller, drafts, "")
    rules = []
    replacements: list[Replacement] = ["repair"]
    # An oracle length predictor translates nothing without references.
    if not translator.needs_lengths:
        replacements.append("translation")
    for replacement in replacements:
        pairs = constraints.replacements(sources, drafts, replacement)
        # A reference that the vocabulary cannot spell has a log-probability of minus infinity.
        gains = [gain(*pair) for pair in pairs if isfinite(pair[0].log_probability)]
        if gains:
            rules.append(DraftRule(replacement, margin_that_keeps(gains, KEPT)))
    return preferred(rules)
