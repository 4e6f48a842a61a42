"""Tunes the length rule on validation data, among the decoder's alphas and weights.

A parallel model decodes once: its candidates do not depend on the rule. A beam is searched again
for each alpha, as the penalty decides which hypotheses finish.
"""

from collections.abc import Callable, Sequence
from itertools import product, starmap

from padir.config.decoder import RefinementDecoder, SearchDecoder
from padir.decode.candidates import LengthRule
from padir.decode.translate import Translator


def length_rules(settings: SearchDecoder | RefinementDecoder) -> list[LengthRule]:
    """The length rules to choose from; the neutral one alone for a decoder without length rule."""
    if not settings.tuned:
        return [LengthRule()]
    weights = [0.0] if isinstance(settings, SearchDecoder) else settings.length_weights
    return list(starmap(LengthRule, product(settings.length_alphas, weights)))


def decodings_to_tune(settings: SearchDecoder | RefinementDecoder) -> int:
    """How often `tune` decodes the validation set."""
    return 1 if settings.parallel else len(length_rules(settings))


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
        report: called with the number of sentences just finished, of `decodings_to_tune` times as
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
