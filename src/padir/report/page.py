"""The report as one HTML file: styles, scripts, drawings and traces inside, nothing fetched.

Without script all numbers are there; scripts sort and filter tables, filter claims, show the values
of marks at once, and run the viewer.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import jinja2
from markupsafe import Markup

from padir import invocation, layout
from padir.config.experiment import Config
from padir.report import titles, viewer
from padir.report.cards import absent_paths, cards
from padir.report.catalogue import SECTIONS, Part, Scope, Section
from padir.report.claims import NOT_REPRODUCED, NOT_RUN, REPRODUCED, counts, interval_text
from padir.report.load import command_for
from padir.report.results import Absence, Document, Results
from padir.report.tables import Cell, Column, Table, shown_text
from padir.report.theme import COLOURS, Picture

MARKS = {REPRODUCED: ("yes", "✓"), NOT_REPRODUCED: ("no", "✗"), NOT_RUN: ("open", "○")}
CLAIMS = Section(
    "Claims of the paper and ours",
    'A verdict comes from the test named with it. "Not reproduced" is meant at this scale of model'
    " and data, and does not say that a claim is refuted: seeds may be too few to tell.",
)
# The figure that stands with the headline claims.
MAIN_FIGURE = "quality_passes"


def page(
    config: Config,
    scope: Scope,
    results: Mapping[str, Results],
    contents: Sequence[tuple[Part, Table | Picture]],
    claims: Sequence[Mapping[str, Any]],
    traced: Results,
    options: str = "",
) -> str:
    """The whole page.

    Args:
        config: the merged config.
        scope: of the page.
        results: of each part in scope, by its name.
        contents: each part with its table or picture, in the page's order; empty ones are named
            with their commands only.
        claims: from `claims.decide`.
        traced: the traces that the viewer shows.
        options: of the commands; see `invocation.command`.
    """
    absent: dict[str, Absence] = {}
    absent_by_command: dict[str, list[Absence]] = {}
    for name, loaded in {**results, scope: traced}.items():
        more = {a.artifact.path: a for a in loaded.absent if a.artifact.path not in absent}
        absent |= more
        if more:
            command = command_for(name, more.values(), options)
            absent_by_command[command] = list(more.values())
    places = dict.fromkeys(" ".join(p) for loaded in results.values() for p in loaded.places())
    template = environment(options).get_template("page.html")
    records = list(titles.anchored(claims, config))
    entries = [
        {
            "part": part,
            "content": content,
            "sources": [a.path for a in part.needs(config) if a.path not in absent],
        }
        for part, content in contents
        if not content.empty()
    ]
    main = next((entry for entry in entries if entry["part"].name == MAIN_FIGURE), None)
    return template.render(
        places=list(places),
        headlines=list(titles.cards(records, config)),
        main=main,
        counts=counts(claims),
        sections=list(_sections([entry for entry in entries if entry is not main])),
        groups={
            name: (heading, [record for record in records if record["group"] == name])
            for name, heading in titles.GROUPS.items()
        },
        viewer=viewer.payload(traced),
        facts=list(_facts(config, results)),
        tables=[runs_table(config, results)],
        cards=list(cards(results.values(), config.datasets)),
        unmade=[part for part, content in contents if content.empty()],
        absent=absent,
        absent_by_command=absent_by_command,
    )


def runs_table(config: Config, results: Mapping[str, Results]) -> Table:
    """Every training run in scope: its length, time and files."""
    columns = (
        *(Column("dataset", "Dataset"), Column("direction", "Direction")),
        *(Column("training", "Training"), Column("system", "System"), Column("seed", "Seed")),
        *(Column("steps", "Steps"), Column("wall", "Wall, minutes", 1)),
        Column("processor", "Processor, minutes", 1),
        *(Column("card", "Model card"), Column("metrics", "Metrics")),
    )
    absent = absent_paths(results.values())
    curves = {key: lines for loaded in results.values() for key, lines in loaded.curves.items()}
    rows: list[dict[str, Cell]] = []
    for (place, training, seed), lines in curves.items():
        card = layout.model_card_path(place, training, seed)
        rows.append(
            {
                **place._asdict(),
                "training": training,
                "system": config.trainings[training].system,
                "seed": seed,
                "steps": max((line["step"] for line in lines if "step" in line), default=None),
                "wall": _minutes(lines, "seconds"),
                "processor": _minutes(lines, "cpu_seconds"),
                "card": None if card in absent else card,
                "metrics": layout.metrics_path(place, training, seed),
            }
        )
    wall, processor = (
        sum(value for row in rows if isinstance(value := row[key], float))
        for key in ("wall", "processor")
    )
    notes = (
        f"Cost of all trainings: {wall:.1f} minutes of wall time, {processor:.1f} of processor time"
        " over all threads, both with compilation and summed over trainings. A resumed training"
        " has the time up to the checkpoint that it resumed from, and from there on.",
        "Time and memory of every other job: in its log folder, beside its output, as a .tsv file.",
    )
    return Table("runs", "Trainings of this report and their cost", columns, rows, notes)


def _minutes(lines: Sequence[Document], clock: str) -> float | None:
    """The last reading of a clock in the metrics of a training; None: it has none."""
    seconds = [line[clock] for line in lines if line.get(clock) is not None]
    return max(seconds) / 60 if seconds else None


def environment(options: str = "") -> jinja2.Environment:
    """The templates; everything that is not marked as safe is escaped.

    Args:
        options: of the commands; see `invocation.command`.
    """
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
        "command": partial(invocation.command, options=options),
        "drawing": lambda picture: Markup(inline_svg(picture.name, picture.svg)),
        "mark": MARKS.__getitem__,
        "interval": interval_text,
        "address": address,
        "value": sort_value,
    }
    return templates


def _sections(entries: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Sections that have something to show; the claims stand first."""
    yield {"anchor": "claims", **CLAIMS._asdict(), "entries": []}
    for anchor, section in SECTIONS.items():
        inside = [entry for entry in entries if entry["part"].section == anchor]
        if inside:
            yield {"anchor": anchor, **section._asdict(), "entries": inside}


def address(path: str) -> str:
    """Link from the page to a file below `results/`. The core's page is a copy one folder deeper,
    where a script puts `../` in front of each link."""
    return "../" + path.removeprefix(f"{layout.RESULTS}/")


def sort_value(value: Cell) -> str:
    """Sort key of a cell: the number, the lower end of an interval, or the text."""
    if value is None:
        return ""
    return str(value[0] if isinstance(value, tuple) else value)


def inline_svg(name: str, text: str) -> str:
    """A drawing without file header, its ids made its own so that drawings do not mix."""
    text = text[text.index("<svg") :]
    # For the style sheet: the size at which text has its own.
    text = re.sub(
        r'<svg ([^>]*?)width="([\d.]+pt)"', r'<svg \1width="\2" style="--width: \2"', text, count=1
    )
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = text.replace("url(#", f"url(#{name}-")
    # The page's colours of series, which differ between light and dark.
    for number, colour in enumerate(COLOURS[:-1]):
        text = re.sub(f": {colour}\\b", f": var(--series-{number})", text, flags=re.IGNORECASE)
    return text.replace('href="#', f'href="#{name}-')


def _facts(config: Config, results: Mapping[str, Results]) -> Iterator[tuple[str, str]]:
    """Facts about the run that made the results, each value once."""
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
