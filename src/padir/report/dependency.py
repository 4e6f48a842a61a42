"""Tables 4 and 5 and the table of predictors, from the documents of `padir analyse`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from padir.files import InputError
from padir.report.results import Results
from padir.report.tables import Cell, Column, Table

GROUP = ("dataset", "direction")
KINDS = ("min", "mean", "max")
HEADINGS = {"min": "min", "mean": "avg", "max": "max"}
PLACE = (
    Column("dataset", "Dataset"),
    Column("direction", "Direction"),
    Column("model", "Model"),
    Column("targets", "Trained on"),
    Column("pass", "Pass"),
)
SEEDS_NOTE = "One training seed of each model, its first."
LOST = (
    "The paper's last two columns have lost their headings in the text at hand (values {values},"
    " yes and no); the columns after max here are natural candidates, not the paper's."
)
TESTS = (
    "d: difference of the means (yes - no) over the pooled standard deviation, with its 95%"
    " interval, bootstrapped over sentences. within: what stuttering pairs are above the mean of"
    " their own sentence's pairs, with its interval; within d: the same over the deviation that d"
    " has. p is of within, whose sign may be another than d's: labels exchanged within sentences."
)
# Column -> key of a contrast.
COMPARED = {
    "effect": "effect",
    "interval": "effect_interval",
    "within": "within",
    "within_interval": "within_interval",
    "within_effect": "within_effect",
    "p": "p_value",
}
PREDICTOR_NAMES = {
    "total_variation": "cross-attention, total variation (less)",
    "cosine": "cross-attention, cosine distance (less)",
    "jensen_shannon": "cross-attention, Jensen-Shannon (less)",
    "self_attention": "self-attention, both directions",
    "self_right": "self-attention, left to right neighbour",
    "self_left": "self-attention, right to left neighbour",
    "doubt": "doubt about the less certain token",
    "entropy": "entropy, the smaller of the two",
    "overlap": "overlap of the two predictions",
    "distance": "distance (less)",
    "probe": "probe",
}


def analyses(results: Results) -> Iterator[Mapping[str, Any]]:
    """The analyses, where they have all that tables and maps show.

    Raises:
        InputError: an older padir made one.
    """
    for document in results.analyses:
        for found in document["passes"]:
            told = [*found["heads"].values(), *found["contrasts"].values()]
            if any("within_effect" not in one for one in told):
                place = f"{document['dataset']} {document['direction']}, {document['model']}"
                raise InputError(
                    f"analysis of {place}: what stuttering pairs are above their own sentence's"
                    " mean is not told in deviations: an older padir made it; run padir analyse"
                    " again"
                )
        yield document


def _documents(results: Results) -> Iterator[tuple[dict[str, Cell], Mapping[str, Any]]]:
    for document in analyses(results):
        yield (
            {
                "dataset": document["dataset"],
                "direction": document["direction"],
                "model": document["model"],
                "targets": document["targets"],
            },
            document,
        )


def _rows(
    results: Results, groups: Sequence[tuple[str, str]], lost: Sequence[str]
) -> list[dict[str, Cell]]:
    """Two rows of each model and pass: stuttering pairs, and other adjacent ones."""
    rows: list[dict[str, Cell]] = []
    for place, document in _documents(results):
        for found in document["passes"]:
            contrasts = found["contrasts"]
            for stutter, prefix, count in (("yes", "", "stuttering"), ("no", "other_", "other")):
                row: dict[str, Cell] = {
                    **place, "pass": found["pass"], "stutter": stutter, "pairs": found[count],
                }  # fmt: skip
                for key, name in groups:
                    for kind in KINDS:
                        one = contrasts[f"{name} {kind}"]
                        row[f"{key}{kind}"] = one[f"{prefix}mean"]
                        row[f"{key}{kind}_sd"] = one[f"{prefix}deviation"]
                    one = contrasts[f"{name} mean"]
                    shown = stutter == "yes"
                    for column, kept in COMPARED.items():
                        row[f"{key}{column}"] = _shown(one[kept]) if shown else None
                for name in lost:
                    row[name] = contrasts[name][f"{prefix}mean"]
                rows.append(row)
    return rows


def _columns(groups: Sequence[tuple[str, str, str]], lost: Sequence[tuple[str, str]]):
    columns = [*PLACE, Column("stutter", "Stutter"), Column("pairs", "Pairs")]
    for key, _, heading in groups:
        for kind in KINDS:
            columns.append(Column(f"{key}{kind}", f"{heading}{HEADINGS[kind]}", 4))
            columns.append(Column(f"{key}{kind}_sd", "±", 4))
    columns += [Column(name, heading, 2) for name, heading in lost]
    for key, _, heading in groups:
        columns += [
            Column(f"{key}effect", f"{heading}d (avg)", 2),
            Column(f"{key}interval", "95% interval", 2),
            Column(f"{key}within", f"{heading}within (avg)", 4),
            Column(f"{key}within_interval", "95% interval", 4),
            Column(f"{key}within_effect", f"{heading}within d", 2),
            Column(f"{key}p", "p of within", 4),
        ]
    return columns


def table4(results: Results) -> Table:
    """Self-attention between the two positions of stuttering and of other adjacent pairs."""
    groups = [("", "self_attention", "")]
    lost = [("self_first", "Neighbour first"), ("self_few", "Neighbour in first 3")]
    return Table(
        "table4",
        "Table 4: decoder self-attention between adjacent positions",
        _columns(groups, lost),
        _rows(results, [(key, name) for key, name, _ in groups], [name for name, _ in lost]),
        (
            "min, avg, max: over layers, heads and both directions; mean and standard deviation"
            " (±) over pairs. Stutter: equal neighbouring pieces before the final drop, except of"
            " tokens that a reference repeats.",
            TESTS,
            LOST.format(values=".20/.17 and .39/.37"),
            "Neighbour first, in first 3: share of layers, heads and directions in which the"
            " neighbour is the position attended to most, or among three, the position's own left"
            " out.",
            "Paper (avg): 0.032 ± 0.023 with stutter, 0.033 ± 0.025 without.",
            SEEDS_NOTE,
        ),
    )


def table5(results: Results) -> Table:
    """Distance of the two positions' cross-attention in stuttering and other adjacent pairs."""
    groups = [("tv_", "total_variation", "TV "), ("cosine_", "cosine", "cosine ")]
    lost = [("same_first", "Same first token"), ("first_in_few", "First in other's 3")]
    return Table(
        "table5",
        "Table 5: distance between cross-attention of adjacent positions",
        _columns(groups, lost),
        _rows(results, [(key, name) for key, name, _ in groups], [name for name, _ in lost]),
        (
            "TV: total variation distance; cosine: 1 - cosine. min, avg, max: over layers and"
            " heads; mean and standard deviation (±) over pairs.",
            TESTS,
            LOST.format(values=".57/.40 and .89/.81"),
            "Same first token: share of layers and heads in which both attend most to the same"
            " source token; First in other's 3: in which the token that one attends to most is"
            " among the three of the other.",
            "Paper (avg): total variation 0.13 ± 0.09 with stutter, 0.23 ± 0.14 without; cosine"
            " 0.10 ± 0.06 and 0.20 ± 0.11.",
            SEEDS_NOTE,
        ),
    )


def _shown(value: Any) -> Cell:
    return tuple(value) if isinstance(value, list) else value


# Column -> (target, pairs) of a prediction.
_ASKED = {
    "stutter": ("stutter", "adjacent"),
    "probe_adjacent": ("probe", "adjacent"),
    "probe_near": ("probe", "near"),
    "exact_adjacent": ("exact", "adjacent"),
    "exact_near": ("exact", "near"),
}


def dependency_table(results: Results) -> Table:
    """How well each number tells stutter, strong dependence by the probe, and true dependence."""
    columns = [*PLACE, Column("predictor", "Predictor")]
    headings = {
        "stutter": "Stutter, adjacent",
        "probe_adjacent": "Probe, adjacent",
        "probe_near": "Probe, near",
        "exact_adjacent": "Exact, adjacent",
        "exact_near": "Exact, near",
    }
    for name, heading in headings.items():
        columns += [Column(name, heading, 2), Column(f"{name}_interval", "95% interval", 2)]
    columns += [
        Column("correlation", "Rank correlation with exact, near", 2),
        Column("correlation_interval", "95% interval", 2),
    ]
    rows = [
        row
        for place, document in _documents(results)
        for found in document["passes"]
        for row in _predictors(place, found, document["exact"])
    ]
    distances = sorted({document["distance"] for document in results.analyses})
    within = ", ".join(map(str, distances))
    return Table(
        "dependency",
        "What tells that positions depend on each other: area under the ROC curve",
        columns,
        rows,
        (
            "0.5 is chance; intervals are 95%, bootstrapped over sentences. Each predictor is"
            " turned as its hypothesis has it: an area below 0.5 speaks against the hypothesis.",
            "Stutter: equal neighbouring pieces. Probe: the tenth of the pairs where replacing one"
            " token changes the other's prediction most (mutual information under the model, above"
            " the rounding of 1e-6 nats). No area is told of fewer than ten pairs of a kind."
            " Exact: pairs that depend on each other under the grammar's own law of translations,"
            " given source and length, at the first pass listed.",
            f"adjacent: neighbours; near: up to {within} pieces apart. Overlap is close to a"
            " definition of stutter: equal likeliest tokens overlap.",
            SEEDS_NOTE,
        ),
    )


def _predictors(place, found, exact) -> Iterator[dict[str, Cell]]:
    own = [*found["prediction"]]
    if exact is not None and exact["pass"] == found["pass"]:
        own += exact["prediction"]
    told = {(one["target"], one["pairs"], one["predictor"]): one for one in own}
    for name, heading in PREDICTOR_NAMES.items():
        row: dict[str, Cell] = {**place, "pass": found["pass"], "predictor": heading}
        for column, (target, pairs) in _ASKED.items():
            one = told.get((target, pairs, name))
            auc = None if one is None else one["auc"]
            row[column] = auc
            row[f"{column}_interval"] = None if one is None or auc is None else _ends(one)
        one = told.get(("exact", "near", name))
        row["correlation"] = None if one is None else one["correlation"]
        row["correlation_interval"] = None if one is None else _ends(one, "correlation_interval")
        yield row


def _ends(one: Mapping[str, Any], key: str = "interval") -> tuple[float, float]:
    low, high = one[key]
    return low, high
