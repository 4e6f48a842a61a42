"""The report as one HTML file: styles and drawings inside, nothing fetched, no script."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from padir.report.claims import NOT_REPRODUCED, NOT_RUN, REPRODUCED
from padir.report.claims_table import counts
from padir.report.figures import Figure
from padir.report.heat_maps import HeatMaps
from padir.report.results import Results
from padir.report.tables import Table
from padir.report.theory_figures import DRAWINGS, draw

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #f4f5f7;
  --line: #d4d8dd; --muted: #57606a; --link: #0b57a4; --yes: #116329; --yes-bg: #dcf5e3;
  --no: #8f1d1d; --no-bg: #fde3e1; --open: #4d5560; --open-bg: #e9ebee; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #15181c; --soft: #1f242a;
  --line: #3a424b; --muted: #a3adb8; --link: #7ab7ff; --yes: #a6ecb8; --yes-bg: #133d20;
  --no: #ffc2bd; --no-bg: #56201d; --open: #ccd2d9; --open-bg: #343b43; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 76rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.25rem; margin: 2.75rem 0 .75rem; padding-bottom: .3rem;
  border-bottom: 1px solid var(--line); }
a { color: var(--link); }
p { max-width: 46rem; }
.lead { color: var(--muted); margin-top: 0; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums;
  width: 100%; }
caption { text-align: left; font-weight: 600; padding: .25rem 0 .5rem; font-size: .95rem; }
th, td { padding: .32rem .45rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
thead th { border-bottom: 2px solid var(--line); vertical-align: bottom; }
td.number, th.number { text-align: right; }
td.number { white-space: nowrap; }
summary { cursor: pointer; margin: .75rem 0; }
tbody tr:hover { background: var(--soft); }
.notes { color: var(--muted); font-size: .84rem; max-width: 60rem; padding-left: 1.1rem; }
.notes li { overflow-wrap: anywhere; }
figure { margin: 1.25rem 0; }
figure .drawing { background: #fff; border: 1px solid var(--line); border-radius: 6px;
  padding: .5rem; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; display: block; margin: 0 auto; }
figcaption { color: var(--muted); font-size: .86rem; margin-top: .4rem; max-width: 60rem; }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; padding: 0; list-style: none; }
.cards li { border-radius: 6px; padding: .5rem .9rem; }
.cards strong { font-size: 1.3rem; margin-right: .35rem; }
.verdict { display: inline-block; border-radius: 999px; padding: 0 .6rem; font-weight: 600;
  font-size: .8rem; white-space: nowrap; }
.yes { background: var(--yes-bg); color: var(--yes); }
.no { background: var(--no-bg); color: var(--no); }
.open { background: var(--open-bg); color: var(--open); }
.claims td { min-width: 8rem; }
.claims .wide { min-width: 15rem; }
.claims .test { color: var(--muted); min-width: 17rem; }
code { font-size: .92em; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: .88rem; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
@media print { body { max-width: none; padding: 0; } nav { display: none; } }
"""
MARKS = {REPRODUCED: ("yes", "✓"), NOT_REPRODUCED: ("no", "✗"), NOT_RUN: ("open", "○")}
INTROS = {
    "systems": "Every system trained on the same data, with the same scorer, and with the same"
    " vocabulary and size unless its settings say otherwise, so that only the method differs; the"
    " paper's table 2 sets its numbers beside other papers'.",
    "samplers": "The trained conditionals inside a k-Gibbs sampler, as the paper's theory has it:"
    " one chain step is one decoder pass that redraws k tokens.",
    "dependency": "Which target positions depend on each other: what attention shows of it, what a"
    " probe finds, and, on the synthetic pair, what is true.",
    "ablations": "What each part of PaDIR does: two models that differ in the settings named, and"
    " whether the difference would be seen again with other sentences and other seeds.",
}


def page(
    results: Results,
    tables: Mapping[str, Table],
    figures: Sequence[Figure],
    heat_maps: Sequence[HeatMaps],
    claims: Sequence[Mapping[str, Any]],
) -> str:
    """The whole page.

    Args:
        tables: by name; empty ones are left out.
        figures: empty ones are left out.
        heat_maps: empty ones are left out.
        claims: from `claims.decide`.
    """
    drawn = {figure.name: figure for figure in figures if not figure.empty()}
    sections = [
        ("quality", "Quality", ("table1", "table3"), ("quality_passes", "quality_latency")),
        ("systems", "Systems", ("table2",), ()),
        ("ablations", "Ablations", ("ablations",), ()),
        ("samplers", "Gibbs sampling", ("samplers",), ()),
        ("stutter", "Stutter", ("stutter",), ("stutter_passes",)),
        ("latency", "Latency", ("latency",), ()),
        ("training", "Training", (), ("training", "training_time")),
        ("data", "Data and distillation", ("distillation", "data"), ()),
    ]
    parts, links = [], [("claims", "Claims")]
    for anchor, title, names, pictures in sections:
        inside = [_figure(drawn[name]) for name in pictures if name in drawn]
        shown = [tables[name].html() for name in names if name in tables and tables[name].rows]
        if inside or shown:
            parts.append(_section(anchor, title, _intro(anchor) + "".join(shown + inside)))
            links.append((anchor, title))
    if results.analyses:
        names = ("table4", "table5", "dependency")
        inside = "".join(tables[name].html() for name in names if name in tables)
        inside += "".join(_heat_maps(one) for one in heat_maps if not one.empty())
        parts.append(_section("dependency", "Dependency", _intro("dependency") + inside))
        links.append(("dependency", "Dependency"))
    theory = _theory(results)
    if theory:
        parts.append(_section("theory", "Theory", theory))
        links.append(("theory", "Theory"))
    links.append(("provenance", "Provenance"))
    menu = "".join(f'<li><a href="#{anchor}">{title}</a></li>' for anchor, title in links)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>PaDIR: measured claims</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>Generative masked language modelling, measured</h1>\n{_lead(results)}"
        f'<nav aria-label="Sections"><ul>{menu}</ul></nav></header>\n<main>\n'
        f"{_summary(claims)}"
        f"{_section('claims', 'Claims of the paper', _claims(claims))}"
        f"{''.join(parts)}"
        f"{_section('provenance', 'Provenance', _provenance(results))}"
        "</main>\n</body>\n</html>\n"
    )


def _intro(anchor: str) -> str:
    return f"<p>{html.escape(INTROS[anchor])}</p>\n" if anchor in INTROS else ""


def _section(anchor: str, title: str, inside: str) -> str:
    return f'<section id="{anchor}"><h2>{html.escape(title)}</h2>\n{inside}</section>\n'


def _lead(results: Results) -> str:
    sets = ", ".join(" ".join(group) for group in results.groups()) or "no translation scored"
    text = f'<p class="lead">Translation by parallel refinement against AR: {html.escape(sets)}.'
    if results.missing:
        text += f" {len(results.missing)} scores that the config asks for are not there yet."
    return f"{text}</p>\n"


def _summary(claims: Sequence[Mapping[str, Any]]) -> str:
    items = "".join(
        f'<li class="{MARKS[verdict][0]}"><strong>{number}</strong>{verdict}</li>'
        for verdict, number in counts(claims).items()
    )
    return f'<ul class="cards" aria-label="Verdicts">{items}</ul>\n'


def _figure(figure: Figure) -> str:
    described = "; ".join(
        f"{panel.title}: "
        + ", ".join([series.name for series in panel.series] + [name for name, _ in panel.levels])
        for panel in figure.panels
    )
    axes = f"{figure.y} against {figure.x}"
    caption = (
        f"<strong>{html.escape(figure.title)}.</strong> {html.escape(axes)}; bars, where drawn,"
        f" are 95% intervals. {html.escape(figure.note)}"
    )
    return _drawing(figure.name, figure.svg, f"{figure.title}: {axes}. {described}", caption)


def _heat_maps(maps: HeatMaps) -> str:
    caption = f"<strong>{html.escape(maps.title)}.</strong> {html.escape(maps.note)}"
    return _drawing(maps.name, maps.svg, f"{maps.title}. {maps.note}", caption)


def _drawing(name: str, svg: str, label: str, caption: str) -> str:
    return (
        f'<figure id="figure-{name}"><div class="drawing" role="img"'
        f' aria-label="{html.escape(label, quote=True)}">{inline_svg(name, svg)}</div>\n'
        f"<figcaption>{caption} Points: <code>figures/{name}.csv</code>.</figcaption></figure>\n"
    )


def _theory(results: Results) -> str:
    """The theory experiments' drawings that there are results for."""
    parts = []
    for name, (experiment, _) in DRAWINGS.items():
        if experiment in results.theory:
            drawing = draw(name, results.theory[experiment], f"theory/{experiment}")
            # The caption stands under the drawing, inside it.
            parts.append(_drawing(name, drawing.svg(), drawing.caption, ""))
    return "".join(parts)


def inline_svg(name: str, text: str) -> str:
    """A drawing without file header, its ids made its own so that drawings do not mix."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = text.replace("url(#", f"url(#{name}-")
    return text.replace('href="#', f'href="#{name}-')


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    decided = [claim for claim in claims if claim["verdict"] != NOT_RUN]
    waiting = [claim for claim in claims if claim["verdict"] == NOT_RUN]
    text = (
        '<p>A verdict comes from the test named beside it. "Not reproduced" is meant at this'
        " scale of model and data.</p>\n"
    )
    if decided:
        text += _claim_rows("What the paper says, and what was measured", decided)
    if waiting:
        title = f"{len(waiting)} not run"
        inside = _claim_rows("What would decide them", waiting)
        opened = "" if decided else " open"
        text += f"<details{opened}><summary>{title}</summary>\n{inside}</details>\n"
    return text


def _claim_rows(caption: str, claims: Sequence[Mapping[str, Any]]) -> str:
    heads = ("Verdict", "Claim", "Paper", "Measured", "Test")
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    return (
        f'<div class="scroll"><table class="claims"><caption>{caption}</caption>\n'
        f"<thead><tr>{top}</tr></thead>\n<tbody>\n{''.join(map(_claim, claims))}</tbody>"
        "</table></div>\n"
    )


def _claim(claim: Mapping[str, Any]) -> str:
    kind, mark = MARKS[claim["verdict"]]
    measured = [html.escape(claim["measured"])] if claim["measured"] else []
    if isinstance(claim["interval"], list) and len(claim["interval"]) == 2:
        low, high = claim["interval"]
        measured.append(f"95% interval [{low:.3g}, {high:.3g}]")
    if claim["seeds"]:
        measured.append(f"seeds {', '.join(map(str, claim['seeds']))}")
    if claim["dataset"]:
        measured.append(html.escape(str(claim["dataset"])))
    test = html.escape(claim["test_says"] or "")
    if claim["verdict"] == NOT_RUN:
        command = claim["command"]
        wanted = (
            f"Run: <code>{html.escape(command)}</code>" if command else "Nothing computes it yet."
        )
        test += f" {wanted}"
    section = f"<br><small>{html.escape(str(claim['section'] or ''))}</small>"
    return (
        f'<tr id="claim-{html.escape(str(claim["id"]), quote=True)}">'
        f'<td><span class="verdict {kind}"><span aria-hidden="true">{mark} </span>'
        f"{claim['verdict']}</span></td>"
        f'<td class="wide">{html.escape(claim["statement"])}{section}</td>'
        f"<td>{html.escape(str(claim['paper'] or '–'))}</td>"
        f'<td class="wide">{"<br>".join(measured) or "–"}</td>'
        f'<td class="test">{test or "–"}</td></tr>\n'
    )


def _provenance(results: Results) -> str:
    items = [(name, value) for name, value in _facts(results)]
    listed = "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>\n" for name, value in items
    )
    absent = "".join(f"<li><code>{html.escape(path)}</code></li>" for path in results.missing)
    late = f"<details><summary>Scores not there</summary><ul>{absent}</ul></details>\n"
    return f"<dl>\n{listed}</dl>\n{late if absent else ''}"


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    """What made the models, each value once however many runs share it."""
    documents = results.provenance.values()
    evaluation = results.config.evaluation
    yield "Datasets", ", ".join(results.config.datasets)
    yield "Models", ", ".join(results.config.models)
    yield "Split", f"{evaluation.split}; baseline {evaluation.baseline}"
    for name, pick in (
        ("Git commit", _commit),
        ("Packages", lambda d: _join(d.get("packages"))),
        ("Python", lambda d: str(d.get("python"))),
        ("Platform", lambda d: str(d.get("platform"))),
        ("Devices", lambda d: ", ".join(d.get("devices") or ()) or "not recorded"),
    ):
        values = list(dict.fromkeys(pick(document) for document in documents))
        yield name, "; ".join(values) or "no training provenance found"
    for (dataset, direction), document in results.latency.items():
        yield f"Timed on ({dataset} {direction})", _join(document["machine"])
    if results.left_out:
        yield "Left out", f"{results.left_out} score files that this config does not ask for"


def _commit(document: Mapping[str, Any]) -> str:
    git = document.get("git") or {}
    commit = git.get("commit") or "unknown"
    return f"{commit} with uncommitted changes" if git.get("dirty") else commit


def _join(mapping: Any) -> str:
    if not isinstance(mapping, dict):
        return str(mapping)
    return ", ".join(f"{key} {value}" for key, value in mapping.items())
