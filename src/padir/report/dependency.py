"""Tables 4 and 5 and the table of predictors, from the documents of `padir analyse`."""

from collections.abc import Iterator, Sequence

from padir.report.claim_documents import KINDS
from padir.report.columns import INTERVAL, PLACE, with_interval
from padir.report.results import Document, Results
from padir.report.tables import Cell, Column, Table

HEADINGS = {"min": "min", "mean": "avg", "max": "max"}
ANALYSIS_COLUMNS = (
    *PLACE,
    Column("training", "Training"),
    Column("decoder", "Decoder"),
    Column("targets", "Targets"),
    Column("seed", "Seed"),
    Column("pass", "Pass"),
)
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
    "surprisal": "surprisal of the less confident token",
    "entropy": "smaller entropy of the two",
    "overlap": "overlap of the two predictions",
    "distance": "distance (less)",
    "probe": "probe",
}


def _labels(document: Document) -> dict[str, Cell]:
    keys = ("dataset", "direction", "training", "decoder", "targets", "seed")
    return {key: document[key] for key in keys}


def _rows(
    results: Results, groups: Sequence[tuple[str, str, str]], lost: Sequence[tuple[str, str]]
) -> list[dict[str, Cell]]:
    """Two rows of each analysis and pass: stuttering pairs, and other adjacent ones."""
    rows: list[dict[str, Cell]] = []
    for document in results.analyses.values():
        for analysed in document["passes"]:
            contrasts = analysed["contrasts"]
            for stutter, prefix, count in (("yes", "", "stuttering"), ("no", "other_", "other")):
                row: dict[str, Cell] = {
                    **_labels(document),
                    "pass": analysed["pass"],
                    "stutter": stutter,
                    "pairs": analysed[count],
                }
                for key, name, _ in groups:
                    for kind in KINDS:
                        contrast = contrasts[f"{name} {kind}"]
                        row[f"{key}{kind}"] = contrast[f"{prefix}mean"]
                        row[f"{key}{kind}_sd"] = contrast[f"{prefix}deviation"]
                    contrast = contrasts[f"{name} mean"]
                    for column, source in COMPARED.items():
                        value = contrast[source] if stutter == "yes" else None
                        row[f"{key}{column}"] = tuple(value) if isinstance(value, list) else value
                for name, _ in lost:
                    row[name] = contrasts[name][f"{prefix}mean"]
                rows.append(row)
    return rows


def _columns(groups: Sequence[tuple[str, str, str]], lost: Sequence[tuple[str, str]]):
    columns = [*ANALYSIS_COLUMNS, Column("stutter", "Stutter"), Column("pairs", "Pairs")]
    for key, _, heading in groups:
        for kind in KINDS:
            columns.append(Column(f"{key}{kind}", f"{heading}{HEADINGS[kind]}", 4))
            columns.append(Column(f"{key}{kind}_sd", "±", 4))
    columns += [Column(name, heading, 2) for name, heading in lost]
    for key, _, heading in groups:
        columns += [
            Column(f"{key}effect", f"{heading}d (avg)", 2),
            Column(f"{key}interval", INTERVAL, 2),
            Column(f"{key}within", f"{heading}within (avg)", 4),
            Column(f"{key}within_interval", INTERVAL, 4),
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
        _rows(results, groups, lost),
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
        _rows(results, groups, lost),
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
        ),
    )


# Column, its heading, and what is predicted of which pairs.
PREDICTED = (
    ("stutter", "Stutter, adjacent", "stutter", "adjacent"),
    ("probe_adjacent", "Probe, adjacent", "probe", "adjacent"),
    ("probe_near", "Probe, near", "probe", "near"),
    ("exact_adjacent", "Exact, adjacent", "exact", "adjacent"),
    ("exact_near", "Exact, near", "exact", "near"),
)


def dependency_table(results: Results) -> Table:
    """How well each predictor detects stutter, and strong dependence by the probe or exactly."""
    columns = [*ANALYSIS_COLUMNS, Column("predictor", "Predictor")]
    for name, heading, _, _ in PREDICTED:
        columns += with_interval(name, heading, 2)
    columns += with_interval("correlation", "Rank correlation with exact, near", 2)
    rows = [
        row
        for document in results.analyses.values()
        for analysed in document["passes"]
        for row in _predictors(_labels(document), analysed, document["exact"])
    ]
    distances = sorted({document["distance"] for document in results.analyses.values()})
    return Table(
        "dependency",
        "Predictors of dependence between positions: area under the ROC curve",
        columns,
        rows,
        (
            "0.5 is chance; intervals are 95%, bootstrapped over sentences. Each predictor has the"
            " sign of its hypothesis: an area below 0.5 speaks against the hypothesis.",
            "Stutter: equal neighbouring pieces. Probe: the tenth of the pairs where replacing one"
            " token changes the other's prediction most (mutual information under the model, above"
            " the rounding of 1e-6 nats). Fewer than ten pairs of a kind give no area."
            " Exact: pairs that depend on each other under the grammar's own distribution of"
            " translations, given source and length, at the first pass listed.",
            f"adjacent: neighbours; near: up to {', '.join(map(str, distances))} pieces apart."
            " Overlap is close to a definition of stutter: equal likeliest tokens overlap.",
        ),
    )


def _predictors(
    labels: dict[str, Cell], analysed: Document, exact: Document | None
) -> Iterator[dict[str, Cell]]:
    predictions = [*analysed["prediction"]]
    if exact is not None and exact["pass"] == analysed["pass"]:
        predictions += exact["prediction"]
    by_kind = {
        (entry["target"], entry["pairs"], entry["predictor"]): entry for entry in predictions
    }
    for name, heading in PREDICTOR_NAMES.items():
        row: dict[str, Cell] = {**labels, "pass": analysed["pass"], "predictor": heading}
        for column, _, target, pairs in PREDICTED:
            entry = by_kind.get((target, pairs, name))
            auc = entry and entry["auc"]
            row[column] = auc
            row[f"{column}_interval"] = None if entry is None or auc is None else _ends(entry)
        entry = by_kind.get(("exact", "near", name))
        row["correlation"] = entry and entry["correlation"]
        row["correlation_interval"] = entry and _ends(entry, "correlation_interval")
        yield row


def _ends(entry: Document, key: str = "interval") -> tuple[float, float]:
    low, high = entry[key]
    return low, high
