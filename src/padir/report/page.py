"""The report as one HTML file: styles and drawings inside, nothing fetched, no script."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jinja2
from markupsafe import Markup

from padir.config.experiment import Config
from padir.report.catalogue import SECTIONS, Part, Section
from padir.report.claims import NOT_REPRODUCED, NOT_RUN, REPRODUCED, counts, interval_text
from padir.report.results import Document, Results
from padir.report.tables import Table, shown_text
from padir.report.theme import Picture

MARKS = {REPRODUCED: ("yes", "✓"), NOT_REPRODUCED: ("no", "✗"), NOT_RUN: ("open", "○")}
CLAIMS = Section(
    "Claims of the paper",
    'A verdict comes from the test named with it. "Not reproduced" is meant at this scale of model'
    " and data.",
)
# Claims whose numbers stand in the lead.
HEADLINES = ("near_ar",)


def page(
    config: Config,
    results: Mapping[str, Results],
    contents: Sequence[tuple[Part, Table | Picture]],
    claims: Sequence[Mapping[str, Any]],
) -> str:
    """The whole page.

    Args:
        config: the merged config.
        results: of each part in scope, by its name.
        contents: each part with its table or picture, in the page's order; empty ones are named
            with their commands only.
        claims: from `claims.decide`.
    """
    absent = {a.artifact.path: a for loaded in results.values() for a in loaded.absent}
    places = dict.fromkeys(" ".join(p) for loaded in results.values() for p in loaded.places())
    template = environment().get_template("page.html")
    numbered = list(_numbered(claims))
    return template.render(
        places=list(places),
        headlines=[c["measured"] for c in claims if c["id"] in HEADLINES and c["measured"]],
        counts=counts(claims),
        sections=list(_sections(contents)),
        decided=[claim for claim in numbered if claim["verdict"] != NOT_RUN],
        waiting=[claim for claim in numbered if claim["verdict"] == NOT_RUN],
        facts=list(_facts(config, results)),
        unmade=[part for part, content in contents if content.empty()],
        absent=list(absent.values()),
    )


def environment() -> jinja2.Environment:
    """The templates; everything that is not marked as safe is escaped."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("padir.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    templates.filters |= {
        "cell": shown_text,
        "drawing": lambda picture: Markup(inline_svg(picture.name, picture.svg)),
        "mark": MARKS.__getitem__,
        "interval": interval_text,
    }
    return templates


def _sections(contents: Sequence[tuple[Part, Table | Picture]]) -> Iterator[dict[str, Any]]:
    """Sections that have something to show; the claims follow the first."""
    claims = {"anchor": "claims", **CLAIMS._asdict(), "entries": []}
    first = True
    for anchor, section in SECTIONS.items():
        entries = [
            {"part": part, "content": content}
            for part, content in contents
            if part.section == anchor and not content.empty()
        ]
        if entries:
            yield {"anchor": anchor, **section._asdict(), "entries": entries}
        if first:
            yield claims
            first = False


def _numbered(claims: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Records of one claim on several test sets or seeds need ids of their own."""
    seen: Counter[str] = Counter()
    for claim in claims:
        yield {**claim, "number": seen[claim["id"]]}
        seen[claim["id"]] += 1


def inline_svg(name: str, text: str) -> str:
    """A drawing without file header, its ids made its own so that drawings do not mix."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = text.replace("url(#", f"url(#{name}-")
    return text.replace('href="#', f'href="#{name}-')


def _facts(config: Config, results: Mapping[str, Results]) -> Iterator[tuple[str, str]]:
    """What made the results, each value once however many trainings share it."""
    trained: dict[Any, Document] = {}
    timed: dict[Any, Document] = {}
    for loaded in results.values():
        trained |= loaded.provenance
        timed |= loaded.latencies
    baseline = config.baseline()
    yield "Datasets", ", ".join(config.datasets)
    yield "Trainings", ", ".join(config.trainings)
    yield (
        "Split",
        f"{config.evaluation.split}; baseline {baseline.label if baseline else 'none'}",
    )
    for name, pick in (
        ("Git commit", _commit),
        ("Packages", lambda document: _join(document.get("packages"))),
        ("Python", lambda document: str(document.get("python"))),
        ("Platform", lambda document: str(document.get("platform"))),
        ("Devices", lambda document: ", ".join(document.get("devices") or ()) or "not recorded"),
    ):
        values = list(dict.fromkeys(pick(document) for document in trained.values()))
        yield name, "; ".join(values) or "no training provenance there"
    for (place, timing), document in timed.items():
        yield f"Timed on ({' '.join(place)}, {timing})", _join(document["machine"])


def _commit(document: Document) -> str:
    git = document.get("git") or {}
    commit = git.get("commit") or "unknown"
    return f"{commit} with uncommitted changes" if git.get("dirty") else commit


def _join(mapping: Any) -> str:
    if not isinstance(mapping, dict):
        return str(mapping)
    return ", ".join(f"{key} {value}" for key, value in mapping.items())
