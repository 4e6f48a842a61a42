"""What a report shows, without times: two folders with the same settings show the same.

Times are named here by column, figure and claim. All else is compared as it is written.
"""

import csv
import io
import json
import re
from pathlib import Path

TIMES = {
    *("training_seconds", "p50_ms", "p50_interval_low", "p50_interval_high", "p90_ms", "p99_ms"),
    *("mean_ms", "compile_s", "greedy_p50", "greedy_p99", "beam_p50", "beam_p99"),
}
"""Columns of tables as CSV."""
HEADINGS = {
    *("Training, s", "p50 ms", "p90 ms", "p99 ms", "Mean ms", "Compile s", "× greedy p50"),
    *("× greedy p99", "Wall, minutes", "Processor, minutes"),
}
"""The same columns, and those of the page's table of costs, in Markdown and on the page."""
FIGURES = {"quality_latency": {"x"}, "training": {"label"}, "training_time": {"label", "x"}}
"""Figures with times, and the columns of their CSV that hold them; their drawings are left out."""
CLAIMS = r"latency_\w+"
"""Claims about speed."""
MACHINE = r"load_average [\d.]+, matmul_gflops [\d.]+|Cost of all trainings: .* processor time"
"""The state of the machine, and the sum of all times."""


def shown(place: Path) -> dict[str, str]:
    """The texts of a report by file: tables, figures, claims and pages, of core and everything."""
    report = place / "results/report"
    texts = {}
    for path in sorted(report.rglob("*")):
        name = str(path.relative_to(report))
        if path.parent.name == "logs" or path.is_dir() or name == "config.json":
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".csv":
            drawn = path.parent.name == "figures"
            rows = _csv(text, FIGURES.get(path.stem, set()) if drawn else TIMES)
            # A figure lists its points by time.
            text = "\n".join(sorted(rows) if drawn else rows)
        elif path.name == "claims.json":
            claims = [c for c in json.loads(text) if not re.fullmatch(CLAIMS, c["id"])]
            text = json.dumps(claims, indent=2)
        elif path.suffix == ".md":
            text = _markdown(re.sub(rf"^\| {CLAIMS} \|.*\n", "", text, flags=re.MULTILINE))
        elif path.suffix == ".html":
            text = _page(text)
        elif path.stem in FIGURES or path.suffix == ".tex":
            continue  # LaTeX is made of the same cells as Markdown.
        texts[name] = text
    return texts


def different(place: dict[str, str], other: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    """Files that differ, each with its first lines that do; an absent file is empty."""
    names = [name for name in {**place, **other} if place.get(name) != other.get(name)]
    lines = {name: [texts.get(name, "").split("\n") for texts in (place, other)] for name in names}
    return {
        name: [pair for pair in zip(*sides, strict=False) if pair[0] != pair[1]][:3]
        for name, sides in lines.items()
    }


def _csv(text: str, times: set[str]) -> list[str]:
    return [
        json.dumps({key: cell for key, cell in row.items() if key not in times})
        for row in csv.DictReader(io.StringIO(text))
    ]


def _kept(headings: list[str]) -> list[bool]:
    """Which columns hold no times; the interval of a time stands right of it."""
    timed = [heading in HEADINGS for heading in headings]
    return [
        not (time or (heading == "95% interval" and before))
        for heading, time, before in zip(headings, timed, [False, *timed], strict=False)
    ]


def _without(cells: list[str], kept: list[bool]) -> list[str]:
    assert len(cells) == len(kept), cells
    return [cell for cell, keep in zip(cells, kept, strict=True) if keep]


def _markdown(text: str) -> str:
    lines, kept = [], None
    for line in text.split("\n"):
        if line.startswith("| "):
            cells = re.split(r"(?<!\\) ?\| ?", line)[1:-1]
            kept = kept or _kept(cells)
            line = " | ".join(_without(cells, kept))
        else:
            kept = None
        lines.append(re.sub(MACHINE, "", line))
    return "\n".join(lines)


def _table(match: re.Match[str]) -> str:
    rows = [
        re.findall(r"<t[dh][ >].*?</t[dh]>", row, re.DOTALL)
        for row in re.findall(r"<tr.*?</tr>", match[0], re.DOTALL)
    ]
    kept = _kept([re.sub(r"<[^>]*>", "", cell).strip() for cell in rows[0]])
    return "\n".join(" ".join(_without(row, kept)) for row in rows)


def _page(text: str) -> str:
    """The page as text between its tables, with drawings, traces and cards."""
    for name in FIGURES:
        text = _cut(text, rf'<figure id="drawing-{name}">.*?</svg>')
    text = _cut(text, rf'<details class="claim" id="claim-{CLAIMS}".*?</details>')
    text = _cut(text, rf'<li class="card"><h3><a href="#claim-{CLAIMS}">.*?</li>')
    # Verdicts on speed count too.
    text = _cut(text, r'<ul class="counts".*?</ul>')
    text = re.sub(r"<table.*?</table>", _table, text, flags=re.DOTALL)
    return re.sub(MACHINE, "", text)


def _cut(text: str, pattern: str) -> str:
    return re.sub(pattern, "", text, flags=re.DOTALL)
