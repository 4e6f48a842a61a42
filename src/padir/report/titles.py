"""Plain titles and groups of the claims, for the page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from padir.config.experiment import Config
from padir.report.catalogue import SECTIONS
from padir.report.claim_list import CLAIMS, Claim
from padir.report.claims import NOT_RUN, REPRODUCED
from padir.report.verdicts import at_candidates_passes

# By the section of the page that shows the results behind the claims.
HEADINGS = {
    "quality": "Translation quality",
    "latency": "Speed",
    "stutter": "Stutter",
    "ablations": "What helps",
    "dependency": "Attention at stutters",
    "theory": "Theory",
}
GROUPS = {name: HEADINGS.get(name, SECTIONS[name].title) for name in (*HEADINGS, *SECTIONS)}
HEADLINES = (
    *("near_ar", "near_ar_joint", "one_pass", "latency_p50_greedy", "latency_p50_beam"),
    *("stutter_before_drop", "distillation", "theory.masking_more", "theory.larger_k_is_faster"),
)
# A card with more records than this says how many have each verdict instead of their numbers.
MOST_LINES = 3


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


def _listed(record: Mapping[str, Any]) -> Claim | None:
    """The claim in `CLAIMS` of a record; some records append a suffix after a dot to its id."""
    return next((c for c in CLAIMS if f"{record['id']}.".startswith(f"{c.id}.")), None)


def anchored(records: Iterable[Mapping[str, Any]], config: Config) -> Iterator[dict[str, Any]]:
    """Records with their anchor, title and group. Records of one claim on several test sets or
    seeds need anchors of their own; for parts of claims and for claims that theory alone supplies,
    the title is the statement."""
    seen: dict[str, int] = {}
    for record in records:
        number = seen[record["id"]] = seen.get(record["id"], -1) + 1
        claim = _listed(record)
        title = record["statement"]
        if claim is not None and claim.id == record["id"]:
            title = at_candidates_passes(claim.title, config)
        yield {
            **record,
            "anchor": f"claim-{record['id']}" + (f"-{number}" if number else ""),
            "title": title,
            "group": claim.group if claim else "theory",
        }


def cards(records: Sequence[Mapping[str, Any]], config: Config) -> Iterator[Card]:
    """The headline claims that the config has; records are those of `anchored`."""
    for claim in CLAIMS:
        about = [record for record in records if _listed(record) is claim]
        if claim.id not in HEADLINES or not about:
            continue
        decided = [record["verdict"] for record in about if record["verdict"] != NOT_RUN]
        failed = next((verdict for verdict in decided if verdict != REPRODUCED), None)
        verdict = NOT_RUN if not decided else failed or REPRODUCED
        lines = [record["measured"] for record in about if record["measured"]]
        if len(about) > MOST_LINES:
            lines = [f"{about_verdict} of {len(about)}" for about_verdict in _counted(about)]
        title = at_candidates_passes(claim.title, config)
        yield Card(title, verdict, about[0]["anchor"], lines)


def _counted(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for verdict in dict.fromkeys(record["verdict"] for record in records):
        number = sum(record["verdict"] == verdict for record in records)
        yield f"{verdict}: {number}"
