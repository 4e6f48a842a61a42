"""Choosing the length rule on validation data, among the settings' alphas and weights.

PaDIR decodes once and chooses offline: its candidates do not depend on the rule. A beam is
searched again for each alpha, as the penalty decides which hypotheses finish.
"""

from collections.abc import Callable, Sequence
from itertools import product, starmap
from typing import Any

from padir.decode.load import Decoding, LoadedModel
from padir.decode.rank import LengthRule
from padir.decode.rerank import Reranker
from padir.decode.translate import Hypothesis, Translator

Score = Callable[[Sequence[str]], float]


def tuning_decoding(loaded: LoadedModel) -> Decoding:
    """What the rule is chosen with: the beam, or the number of passes that the settings name."""
    run = loaded.spec.run
    return Decoding.parse("beam" if not run.parallel else f"T{run.decoding.tuning_passes}")


def tune(
    loaded: LoadedModel,
    lines: Sequence[str],
    name: str,
    bleu: Score,
    references: Sequence[str],
    report: Callable[[int], None] | None = None,
    reranker: Reranker | None = None,
    warn: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Try every rule on validation sentences.

    Args:
        loaded: the model.
        lines: validation sources.
        name: of their file, for messages.
        bleu: corpus BLEU of hypotheses against the validation references.
        references: one of them per line, whose lengths a model with an oracle is told.
        report: called with the number of sentences just finished, of `passes_over(loaded)` times
            as many as there are lines.
        reranker: of the model, where its settings name one; candidates are reranked once.
        warn: called with a message about each line that is too long for the model and cut; None
            refuses such lines.

    Returns:
        the content of decoding.json: every rule with its validation BLEU, and the best one; the
        first of equals, in the order of the settings.
    """
    decoding = tuning_decoding(loaded)
    settings = loaded.spec.run.decoding
    rows: list[dict[str, float]] = []

    def add(rule: LengthRule, found: Sequence[Hypothesis]) -> None:
        score = bleu([one.hypothesis for one in found])
        rows.append({"alpha": rule.alpha, "weight": rule.weight, "bleu": score})

    translator = Translator(loaded, decoding, LengthRule(), reranker=reranker)
    sources = translator.encode(lines)
    translator.fit(sources, name, warn)
    if decoding.passes:
        candidates = translator.candidates(sources, report, references)
        for rule in starmap(LengthRule, product(settings.length_alphas, settings.length_weights)):
            translator.use(rule)
            add(rule, translator.finish(sources, candidates))
    else:
        for rule in map(LengthRule, settings.length_alphas):
            translator.use(rule)
            add(rule, translator.finish(sources, translator.candidates(sources, report)))
    best = max(rows, key=lambda row: row["bleu"])
    return {
        "format": 1,
        "decoding": decoding.name,
        "sentences": len(lines),
        "chosen": {"alpha": best["alpha"], "weight": best["weight"]},
        "candidates": rows,
    }


def passes_over(loaded: LoadedModel) -> int:
    """How often `tune` decodes the validation set."""
    run = loaded.spec.run
    return 1 if run.parallel else len(run.decoding.length_alphas)
