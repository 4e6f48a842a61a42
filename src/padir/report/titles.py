"""Plain titles and groups of the claims, for the page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from padir.report.claims import CLAIMS, NOT_RUN, REPRODUCED

GROUPS = {
    "quality": "Translation quality",
    "speed": "Speed",
    "stutter": "Stutter",
    "ablations": "What helps",
    "attention": "Attention at stutters",
    "theory": "Theory",
}
# The group of a claim by the part that it is decided from.
GROUP_OF = {
    "table1": "quality",
    "table3": "quality",
    "latency": "speed",
    "stutter": "stutter",
    "ablations": "ablations",
    "table4": "attention",
    "table5": "attention",
    "theorems": "theory",
}
TITLES = {
    "near_ar": "Near AR with 4 passes",
    "near_ar_joint": "Near AR with joint decoding",
    "near_ar_bleurt": "Near AR in BLEURT",
    "one_pass": "One pass is already reasonable",
    "saturation": "Quality saturates after 4 passes",
    "early_gain": "The first passes gain most",
    "fewer_passes": "Seven times fewer decoder passes than AR",
    "latency_p50_greedy": "Twice as fast as greedy AR (median)",
    "latency_p99_greedy": "Five times as fast as greedy AR (99th percentile)",
    "latency_p50_beam": "Twice as fast as AR beam search (median)",
    "latency_p99_beam": "Five times as fast as AR beam search (99th percentile)",
    "stutter_final": "Twice AR's stutter, in the final text",
    "stutter_before_drop": "Twice AR's stutter, before the final drop",
    "distillation": "Distillation helps",
    "masking_ratio": "A large masking ratio helps",
    "unmasking": "Some unmasked tokens help",
    "positional_attention": "Positional attention helps",
    "custom_vocabulary": "A vocabulary of one's own helps",
    "second_stage": "A second training stage helps",
    "stutter_handling": "Stutter remasking helps",
    "length_candidates": "Several length candidates help",
    "remasking": "The remasking schedule hardly matters",
    "self_attention": "Self-attention is no larger at stutters",
    "cross_attention": "Cross-attention is closer at stutters",
    "theory.masking_more": "Masking more lowers the estimation error",
    "theory.information_matrix": "Information-matrix equality",
    "theory.covariance_order": "Covariance falls in k",
    "theory.variance_bound": "Variance is bounded by mixing",
    "theory.dirichlet_form": "Dirichlet form identity",
    "theory.finite_sample_bound": "Finite-sample bound",
    "theory.convexity": "k-MPLE is convex",
    "theory.larger_k_is_faster": "k-Gibbs reaches the larger mode, faster for larger k",
    "theory.parallel_is_slower": "Independent parallel sampling misses the larger mode",
    "theory.product_steps": "A parallel step is a product distribution",
}
HEADLINES = (
    *("near_ar", "near_ar_joint", "one_pass", "latency_p50_greedy", "latency_p50_beam"),
    *("stutter_before_drop", "distillation", "theory.masking_more", "theory.larger_k_is_faster"),
)
# A card with more records than this says how many have each verdict instead of their numbers.
MOST_LINES = 3
OF_PART = {claim.id: GROUP_OF.get(claim.part, "quality") for claim in CLAIMS}


class Card(NamedTuple):
    """A headline claim.

    Attributes:
        title: plain words.
        verdict: reproduced where each record with a verdict is, else the first that is not.
        anchor: of its first record on the page.
        lines: the measured numbers, or how many records have each verdict.
    """

    title: str
    verdict: str
    anchor: str
    lines: list[str]


def listed_id(record_id: str) -> str | None:
    """Id of a record's claim in `CLAIMS`; some records append a suffix after a dot."""
    return next((known for known in TITLES if f"{record_id}.".startswith(f"{known}.")), None)


def title(record: Mapping[str, Any]) -> str:
    """Title in plain words; for parts of claims and for claims of our own, the statement."""
    return TITLES.get(record["id"]) or str(record["statement"])


def anchored(records: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Records with their anchor, title and group. Records of one claim on several test sets or
    seeds need anchors of their own."""
    seen: dict[str, int] = {}
    for record in records:
        number = seen[record["id"]] = seen.get(record["id"], -1) + 1
        yield {
            **record,
            "anchor": f"claim-{record['id']}" + (f"-{number}" if number else ""),
            "title": title(record),
            "group": OF_PART.get(listed_id(record["id"]) or "", "theory"),
        }


def cards(records: Sequence[Mapping[str, Any]]) -> Iterator[Card]:
    """The headline claims that the config has; records are those of `anchored`."""
    for name in HEADLINES:
        about = [record for record in records if listed_id(record["id"]) == name]
        if not about:
            continue
        decided = [record["verdict"] for record in about if record["verdict"] != NOT_RUN]
        failed = next((verdict for verdict in decided if verdict != REPRODUCED), None)
        verdict = NOT_RUN if not decided else failed or REPRODUCED
        lines = [record["measured"] for record in about if record["measured"]]
        if len(about) > MOST_LINES:
            lines = [f"{about_verdict} of {len(about)}" for about_verdict in _counted(about)]
        yield Card(TITLES[name], verdict, about[0]["anchor"], lines)


def _counted(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for verdict in dict.fromkeys(record["verdict"] for record in records):
        number = sum(record["verdict"] == verdict for record in records)
        yield f"{verdict}: {number}"
