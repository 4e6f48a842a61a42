"""Ablations: pairs of rows of `evaluation.ablations`, compared over seeds, and claims on them.

One comparison per entry and test set, over the seeds that both rows have. The claims about parts
are decided from these comparisons alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from padir.config.base import Settings
from padir.config.evaluation import Ablation
from padir.config.experiment import Config
from padir.config.rows import Row
from padir.layout import Place
from padir.report.columns import INTERVAL, PLACE, with_interval
from padir.report.results import Estimate, Results, ScoredRow
from padir.report.tables import Cell, Column, Table
from padir.report.verdicts import Finding, Test, too_bad
from padir.score.significance import FEWEST_SEEDS, Contrast, holm, over_seeds

LEVEL = 0.05
EQUIVALENCE_MARGIN = 1.0
HELPS, HURTS, NO_DIFFERENCE, NOT_RUN = "helps", "hurts", "no difference seen", "not run"
UNDECIDED = f"not decided: fewer than {FEWEST_SEEDS} seeds"


@dataclass(frozen=True)
class Comparison:
    """An entry of `evaluation.ablations` on one test set; differences are base minus variant.

    Attributes:
        base, variant: their rows, cut down to common seeds; None where no seed is scored in both.
        bleu, before_drop, final: differences in BLEU, and in stutter before and after the final
            drop of repeats; None where it is not measured.
        p_value: of the difference in BLEU, corrected for all comparisons of the table.
    """

    entry: Ablation
    place: Place
    base: ScoredRow | None = None
    variant: ScoredRow | None = None
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
        """The measured numbers, or what is missing, in words."""
        pair = f"{self.entry.base} against {self.entry.variant}"
        if self.bleu is None or self.p_value is None or self.base is None or self.variant is None:
            return f"{pair}: no seed scored in both"
        words = (
            f"{pair}: BLEU {self.base.bleu().value:.2f} and"
            f" {self.variant.bleu().value:.2f}, difference {self.bleu.difference:.2f}"
            f" [{self.bleu.low:.2f}, {self.bleu.high:.2f}], corrected p {self.p_value:.4f}"
        )
        return words if self.bleu.seeds_resampled else f"{words}, {UNDECIDED}"


def differing_settings(config: Config, base: Row, variant: Row) -> dict[str, tuple[Any, Any]]:
    """Dotted keys in which two rows differ, each with both values: settings of the training, which
    seeds are none of, those of the decoder, and the number of passes."""

    def leaves(value: object, path: str) -> dict[str, object]:
        # Not of `model_dump`, which leaves out defaults of settings that were `added` later.
        if not isinstance(value, dict | Settings):
            return {path: value}
        items = [
            leaves(inner, f"{path}.{key}" if path else key) for key, inner in dict(value).items()
        ]
        return {path: leaf for item in items for path, leaf in item.items()}

    def settings(row: Row) -> dict[str, object]:
        run = dict(config.trainings[row.training])
        del run["seeds"]
        decoder = config.decoders[row.decoding.decoder]
        return leaves(run | {"decoder": decoder, "passes": row.decoding.passes}, "")

    first, second = settings(base), settings(variant)
    pairs = {key: (first.get(key), second.get(key)) for key in {**first, **second}}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


# The table and each claim ask for the comparisons of the same results.
@lru_cache(maxsize=1)
def comparisons(results: Results) -> tuple[Comparison, ...]:
    """Every entry on every test set, p-values corrected together."""
    compared = [
        _compare(results, place, entry)
        for place in results.places()
        for entry in results.config.evaluation.ablations
    ]
    # Two rows may answer several questions; it is one test all the same.
    tests: dict[tuple[Place, frozenset[str]], float] = {}
    for entry in compared:
        if entry.bleu is not None:
            tests.setdefault(_rows_compared(entry), entry.bleu.p_value)
    corrected = dict(zip(tests, holm(list(tests.values())), strict=True))
    return tuple(replace(entry, p_value=corrected.get(_rows_compared(entry))) for entry in compared)


def _rows_compared(entry: Comparison) -> tuple[Place, frozenset[str]]:
    return entry.place, frozenset((entry.entry.base, entry.entry.variant))


def _compare(results: Results, place: Place, entry: Ablation) -> Comparison:
    base, variant = (results.row(place, Row.parse(text)) for text in (entry.base, entry.variant))
    common = set(base.seeds if base else ()) & set(variant.seeds if variant else ())
    if base is None or variant is None or not common:
        return Comparison(entry, place)
    base, variant = base.with_seeds(common), variant.with_seeds(common)
    return Comparison(
        entry,
        place,
        base,
        variant,
        bleu=contrast(base, variant, ScoredRow.bleu),
        before_drop=contrast(base, variant, lambda row: row.stutter(before_drop=True)),
        final=contrast(base, variant, lambda row: row.stutter(before_drop=False)),
    )


def contrast(
    base: ScoredRow, variant: ScoredRow, measure: Callable[[ScoredRow], Estimate | None]
) -> Contrast | None:
    """Base minus variant in one measure, over their seeds, which must be the same; None where a
    seed lacks it."""
    ours, theirs = measure(base), measure(variant)
    if ours is None or theirs is None:
        return None
    return over_seeds(
        [a - b for a, b in zip(ours.by_seed, theirs.by_seed, strict=True)],
        ours.replicates_by_seed - theirs.replicates_by_seed,
    )


def ablations_table(results: Results) -> Table:
    """One line per entry of `evaluation.ablations` and test set."""
    columns = (
        *PLACE,
        Column("name", "Ablation"),
        Column("base", "Base"),
        Column("variant", "Variant"),
        Column("settings", "Differ in (base | variant)"),
        Column("seeds", "Seeds"),
        Column("base_bleu", "BLEU base", 2),
        Column("variant_bleu", "BLEU variant", 2),
        Column("difference", "Difference", 2),
        Column("difference_interval", INTERVAL, 2),
        Column("over", "Resampled"),
        Column("p_value", "p (Holm)", 4),
        Column("verdict", "Verdict"),
        *with_interval("stutter", "Stutter before drop", 2),
        *with_interval("final", "Stutter final", 2),
    )
    compared = comparisons(results)
    rows = [_cells(results.config, entry) for entry in compared]
    tests = len({_rows_compared(entry) for entry in compared if entry.bleu is not None})
    notes = (
        "Rows are TRAINING/DECODER/T. Base has the feature, variant lacks it or has it changed. All"
        " differences are base minus variant, over the seeds that both have; stutter is per 100"
        " words, so that a negative difference is an improvement.",
        "Intervals are 95%, by bootstrap over sentences, paired on the same resamples; with"
        f" {FEWEST_SEEDS} seeds or more also over seeds, whose mean counts with Student's t."
        " All seeds share a teacher, a reranker and a model that training starts from, if any.",
        "p: two-sided, of the difference in BLEU, corrected by Holm's method for the number of"
        f" pairs of rows that this table compares, {tests}. Verdict:"
        f" what base does, where p is below {LEVEL:g}; fewer than {FEWEST_SEEDS} seeds decide"
        " nothing.",
    )
    return Table("ablations", "Ablations", columns, rows, notes)


def _cells(config: Config, compared: Comparison) -> dict[str, Cell]:
    entry, bleu = compared.entry, compared.bleu
    differing = differing_settings(config, Row.parse(entry.base), Row.parse(entry.variant))
    shown = (
        f"{key} {_shown(ours)} | {_shown(theirs)}" for key, (ours, theirs) in differing.items()
    )
    resampled = bleu and ("sentences and seeds" if bleu.seeds_resampled else "sentences only")
    return {
        **compared.place._asdict(),
        "name": entry.name,
        "base": entry.base,
        "variant": entry.variant,
        "settings": "; ".join(shown) or None,
        "seeds": ", ".join(map(str, compared.seeds)) or None,
        "base_bleu": compared.base and compared.base.bleu().value,
        "variant_bleu": compared.variant and compared.variant.bleu().value,
        **_difference("difference", bleu),
        "over": resampled,
        "p_value": compared.p_value,
        "verdict": compared.verdict,
        **_difference("stutter", compared.before_drop),
        **_difference("final", compared.final),
    }


def _shown(value: object) -> str:
    """A value as in a config file."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _difference(key: str, contrast: Contrast | None) -> dict[str, Cell]:
    if contrast is None:
        return {key: None, f"{key}_interval": None}
    return {key: contrast.difference, f"{key}_interval": (contrast.low, contrast.high)}


def _decide(results: Results, place: Place, name: str, helps: bool) -> Finding:
    """Whether every comparison of that name on one test set says what the claim says."""
    compared = [
        entry for entry in comparisons(results) if (entry.place, entry.entry.name) == (place, name)
    ]
    if not compared:
        return Finding(None, f"no entry {name} under evaluation.ablations")
    if any(entry.entry.helps != helps for entry in compared):
        return Finding(
            None, f"entry {name} under evaluation.ablations must say helps: {str(helps).lower()}"
        )
    for entry in compared:
        # A variant may be that bad: this is what the claim is about.
        if entry.base is not None and (reason := too_bad(entry.base)):
            return Finding(None, reason, None, entry.seeds)
    outcomes = [_as_claimed(entry) for entry in compared]
    return Finding(
        False if False in outcomes else None if None in outcomes else True,
        "; ".join(entry.text() for entry in compared),
        _only_interval(compared),
        tuple(sorted({seed for entry in compared for seed in entry.seeds})),
    )


def _as_claimed(compared: Comparison) -> bool | None:
    if compared.bleu is None or not compared.bleu.seeds_resampled:
        return None
    if compared.entry.helps:
        return compared.verdict == HELPS
    return max(abs(compared.bleu.low), abs(compared.bleu.high)) < EQUIVALENCE_MARGIN


def _only_interval(compared: Sequence[Comparison]) -> tuple[float, float] | None:
    only = compared[0].bleu if len(compared) == 1 else None
    return None if only is None else (only.low, only.high)


def claim_test(entry: str, helps: bool) -> Test:
    """Test of a claim that the entries of this name help, or that they matter little. It is named
    as this function, so that the report leads here; what it says names the entry."""

    def test(results: Results, place: Place) -> Finding:
        return _decide(results, place, entry, helps)

    test.__name__ = claim_test.__name__
    each = f"In every entry {entry} of evaluation.ablations, over {FEWEST_SEEDS} seeds or more,"
    test.__doc__ = (
        f"{each} BLEU(base) is above BLEU(variant), two-sided p below {LEVEL:g}, corrected by"
        " Holm's method over the table of ablations."
        if helps
        else f"{each} the interval of BLEU(base) - BLEU(variant) lies within"
        f" {EQUIVALENCE_MARGIN:g} of 0."
    )
    return test
