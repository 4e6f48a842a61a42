"""What each part of PaDIR does: pairs of models of `evaluation.ablations`, and the claims on them.

One comparison per entry and test set, over the seeds that both models have. The claims about parts
are decided from these comparisons alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from padir.config.experiment import Ablation
from padir.config.training import TrainingRun
from padir.report.results import Estimate, Group, Results, Row
from padir.report.selection import compared_decoding
from padir.report.tables import Cell, Column, Table
from padir.report.translation import PLACE, place
from padir.report.verdicts import Finding, Test
from padir.score.significance import FEWEST_SEEDS, Contrast, holm, over_seeds

LEVEL = 0.05
EQUIVALENCE_MARGIN = 1.0
HELPS, HURTS, NO_DIFFERENCE, NOT_RUN = "helps", "hurts", "no difference seen", "not run"
UNDECIDED = f"not decided: fewer than {FEWEST_SEEDS} seeds"


@dataclass(frozen=True)
class Comparison:
    """An entry of `evaluation.ablations` on one test set; differences are base minus variant.

    Attributes:
        decoding: of both models; None where they share none.
        base, variant: their rows, cut down to common seeds; None where no seed is scored in both.
        bleu, before_drop, final: differences in BLEU, and in stutter before and after the final
            drop of repeats; None where it is not measured.
        p_value: of the difference in BLEU, corrected for all comparisons of the report.
    """

    entry: Ablation
    group: Group
    decoding: str | None
    base: Row | None = None
    variant: Row | None = None
    bleu: Contrast | None = None
    before_drop: Contrast | None = None
    final: Contrast | None = None
    p_value: float | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds in common, rising."""
        return () if self.base is None else self.base.seeds

    @property
    def verdict(self) -> str:
        """Whether base is better than variant in BLEU, by the corrected p-value."""
        if self.bleu is None or self.p_value is None:
            return NOT_RUN
        if not self.bleu.seeds_resampled:
            return UNDECIDED
        if self.p_value >= LEVEL:
            return NO_DIFFERENCE
        return HELPS if self.bleu.difference > 0 else HURTS

    def text(self) -> str:
        """The numbers, or what is missing."""
        pair = f"{self.entry.base} against {self.entry.variant}"
        if self.decoding is None:
            return f"{pair}: no decoding in common"
        if self.bleu is None or self.p_value is None or self.base is None or self.variant is None:
            return f"{pair}, {self.decoding}: no seed scored in both"
        words = (
            f"{pair}, {self.decoding}: BLEU {self.base.bleu().value:.2f} and"
            f" {self.variant.bleu().value:.2f}, difference {self.bleu.difference:.2f}"
            f" [{self.bleu.low:.2f}, {self.bleu.high:.2f}], corrected p {self.p_value:.4f}"
        )
        return words if self.bleu.seeds_resampled else f"{words}, {UNDECIDED}"


def differing_settings(one: TrainingRun, other: TrainingRun) -> dict[str, tuple[Any, Any]]:
    """Dotted keys in which two models differ, each with both values.

    Seeds, the list of decodings, and whose parameters a model takes are no such settings.
    """

    def leaves(value: object, path: str) -> dict[str, object]:
        if not isinstance(value, dict):
            return {path: value}
        found: dict[str, object] = {}
        for key, inner in value.items():
            found |= leaves(inner, f"{path}.{key}" if path else key)
        return found

    apart = {"seeds", "decode", "parameters"}
    first, second = (leaves(m.model_dump(mode="json", exclude=apart), "") for m in (one, other))
    return {key: (first[key], second[key]) for key in first if first[key] != second[key]}


def comparisons(results: Results) -> list[Comparison]:
    """Every entry on every test set, p-values corrected together."""
    found = [
        _compare(results, group, entry)
        for group in results.groups()
        for entry in results.config.evaluation.ablations
    ]
    tested = [one.bleu.p_value for one in found if one.bleu is not None]
    corrected = iter(holm(tested))
    return [one if one.bleu is None else replace(one, p_value=next(corrected)) for one in found]


def _compare(results: Results, group: Group, entry: Ablation) -> Comparison:
    decoding = compared_decoding(results.config, entry)
    empty = Comparison(entry, group, decoding)
    if decoding is None:
        return empty
    base = results.row(group, entry.base, decoding)
    variant = results.row(group, entry.variant, decoding)
    common = set(base.seeds if base else ()) & set(variant.seeds if variant else ())
    if base is None or variant is None or not common:
        return empty
    base, variant = (
        replace(row, scores=tuple(s for s in row.scores if s["seed"] in common))
        for row in (base, variant)
    )
    return replace(
        empty,
        base=base,
        variant=variant,
        bleu=contrast(base, variant, lambda row: row.bleu()),
        before_drop=contrast(base, variant, lambda row: row.stutter(before_drop=True)),
        final=contrast(base, variant, lambda row: row.stutter(before_drop=False)),
    )


def contrast(base: Row, variant: Row, measure: Callable[[Row], Estimate | None]) -> Contrast | None:
    """Base minus variant in one measure, over their seeds, which must be the same; None where a
    seed lacks it."""
    values: list[float] = []
    replicates: list[np.ndarray] = []
    for ours, theirs in zip(base.scores, variant.scores, strict=True):
        one, other = (
            measure(replace(row, scores=(score,)))
            for row, score in ((base, ours), (variant, theirs))
        )
        if one is None or other is None:
            return None
        values.append(one.value - other.value)
        replicates.append(one.replicates - other.replicates)
    return over_seeds(values, np.array(replicates))


def ablations_table(results: Results) -> Table:
    """One line per entry of `evaluation.ablations` and test set."""
    columns = (
        *PLACE,
        Column("name", "Ablation"),
        Column("base", "Base"),
        Column("variant", "Variant"),
        Column("settings", "Differ in (base | variant)"),
        Column("decoding", "Decoding"),
        Column("seeds", "Seeds"),
        Column("base_bleu", "BLEU base", 2),
        Column("variant_bleu", "BLEU variant", 2),
        Column("difference", "Difference", 2),
        Column("difference_interval", "95% interval", 2),
        Column("over", "Resampled"),
        Column("p_value", "p (Holm)", 4),
        Column("verdict", "Verdict"),
        Column("stutter", "Stutter before drop", 2),
        Column("stutter_interval", "95% interval", 2),
        Column("final", "Stutter final", 2),
        Column("final_interval", "95% interval", 2),
    )
    found = comparisons(results)
    rows = [_cells(results, one) for one in found]
    notes = (
        "Base has the feature, variant lacks it or has it changed. All differences are base minus"
        " variant, over the seeds that both have; stutter is per 100 words, so that a negative"
        " difference is an improvement.",
        "Intervals are 95%, by bootstrap over sentences, paired on the same resamples; with"
        f" {FEWEST_SEEDS} seeds or more also over seeds, whose mean counts with Student's t.",
        "p: two-sided, of the difference in BLEU, corrected by Holm's method for the"
        f" {sum(one.bleu is not None for one in found)} comparisons of this table. Verdict: what"
        f" base does, where p is below {LEVEL:g}; fewer than {FEWEST_SEEDS} seeds decide nothing.",
    )
    return Table("ablations", "Ablations", columns, rows, notes)


def _cells(results: Results, one: Comparison) -> dict[str, Cell]:
    models = results.config.models
    differing = differing_settings(models[one.entry.base], models[one.entry.variant])
    resampled = None
    if one.bleu is not None:
        resampled = "sentences and seeds" if one.bleu.seeds_resampled else "sentences only"
    return {
        **place(one.group),
        "name": one.entry.name,
        "base": one.entry.base,
        "variant": one.entry.variant,
        "settings": "; ".join(
            f"{key} {_shown(ours)} | {_shown(theirs)}" for key, (ours, theirs) in differing.items()
        )
        or None,
        "decoding": one.decoding,
        "seeds": ", ".join(map(str, one.seeds)) or None,
        "base_bleu": None if one.base is None else one.base.bleu().value,
        "variant_bleu": None if one.variant is None else one.variant.bleu().value,
        **_difference("difference", one.bleu),
        "over": resampled,
        "p_value": one.p_value,
        "verdict": one.verdict,
        **_difference("stutter", one.before_drop),
        **_difference("final", one.final),
    }


def _shown(value: object) -> str:
    """As in a config file."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _difference(key: str, found: Contrast | None) -> dict[str, Cell]:
    if found is None:
        return {key: None, f"{key}_interval": None}
    return {key: found.difference, f"{key}_interval": (found.low, found.high)}


def _decide(results: Results, group: Group, name: str, helps: bool) -> Finding:
    """Whether every comparison of that name on one test set says what the claim says."""
    found = [one for one in comparisons(results) if one.group == group and one.entry.name == name]
    if not found:
        return Finding(None, f"no entry {name} under evaluation.ablations")
    if any(one.entry.helps != helps for one in found):
        return Finding(
            None, f"entry {name} under evaluation.ablations must say helps: {str(helps).lower()}"
        )
    outcomes = [_as_claimed(one) for one in found]
    return Finding(
        False if False in outcomes else None if None in outcomes else True,
        "; ".join(one.text() for one in found),
        _only_interval(found),
        tuple(sorted({seed for one in found for seed in one.seeds})),
    )


def _as_claimed(one: Comparison) -> bool | None:
    if one.bleu is None or not one.bleu.seeds_resampled:
        return None
    if one.entry.helps:
        return one.verdict == HELPS
    return max(abs(one.bleu.low), abs(one.bleu.high)) < EQUIVALENCE_MARGIN


def _only_interval(found: Sequence[Comparison]) -> tuple[float, float] | None:
    only = found[0].bleu if len(found) == 1 else None
    return None if only is None else (only.low, only.high)


def _claim(name: str, helps: bool, function: str) -> Test:
    def test(results: Results, group: Group) -> Finding:
        return _decide(results, group, name, helps)

    test.__name__ = function
    each = f"In every entry {name} of evaluation.ablations, over {FEWEST_SEEDS} seeds or more,"
    test.__doc__ = (
        f"{each} BLEU(base) is above BLEU(variant), two-sided p below {LEVEL:g}, corrected by"
        " Holm's method over the table of ablations."
        if helps
        else f"{each} the interval of BLEU(base) - BLEU(variant) lies within"
        f" {EQUIVALENCE_MARGIN:g} of 0."
    )
    return test


distillation_helps = _claim("distillation", True, "distillation_helps")
unmasking_helps = _claim("unmasking", True, "unmasking_helps")
positional_attention_helps = _claim("positional_attention", True, "positional_attention_helps")
vocabulary_helps = _claim("vocabulary", True, "vocabulary_helps")
second_stage_helps = _claim("second_stage", True, "second_stage_helps")
stutter_handling_helps = _claim("stutter_handling", True, "stutter_handling_helps")
length_candidates_help = _claim("length_candidates", True, "length_candidates_help")
remasking_matters_little = _claim("remasking", False, "remasking_matters_little")
