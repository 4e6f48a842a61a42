"""Data cards and model cards as parts of the page: the Markdown files of `padir clean` and `train`.

HTML is made of the Markdown that the cards are written in: metadata, headings, tables, lists, code
and paragraphs. Everything in them is escaped.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup, escape

from padir import layout
from padir.cards import metadata, with_license
from padir.config.data import Dataset
from padir.files import InputError, read_lines, shown
from padir.report.results import Results


class Card(NamedTuple):
    """One card on the page.

    Attributes:
        title: which data or model it is of.
        html: its content.
        paths: its files.
    """

    title: str
    html: Markup
    paths: list[str]


def cards(loaded: Collection[Results], datasets: Mapping[str, Dataset]) -> Iterator[Card]:
    """Cards of the datasets, then of the trainings, one for all seeds of a training; without those
    that are absent.

    Args:
        loaded: results of all parts of the page.
        datasets: those of the config, whose licences the cards get.
    """
    data: dict[tuple[str, str], str] = {}
    models: dict[tuple[layout.Place, str], dict[int, str]] = {}
    absent = absent_paths(loaded)
    for results in loaded:
        for dataset, pair in results.statistics:
            if (path := layout.data_card_path(dataset, pair)) not in absent:
                data[dataset, pair] = path
        for place, training, seed in results.curves:
            path = layout.model_card_path(place, training, seed)
            if path not in absent:
                models.setdefault((place, training), {})[seed] = path
    for (dataset, pair), path in data.items():
        yield from _card(f"Data card: {dataset}, {pair}", [path], datasets[dataset])
    for (place, training), paths in models.items():
        seeds = f"seed{'s' if len(paths) > 1 else ''} {', '.join(map(str, sorted(paths)))}"
        title = f"Model card: {training}, {' '.join(place)}, {seeds}"
        files = [paths[seed] for seed in sorted(paths)]
        yield from _card(title, files, datasets[place.dataset])


def absent_paths(loaded: Iterable[Results]) -> set[str]:
    """Paths of all artifacts that are not shown."""
    return {absence.artifact.path for results in loaded for absence in results.absent}


def _card(title: str, paths: list[str], dataset: Dataset) -> Iterator[Card]:
    texts = [_with_license(path, dataset) for path in paths if Path(path).is_file()]
    if texts:
        yield Card(title, Markup("\n").join(map(html, merged(texts))), paths)


def carried_digests(path: str) -> Mapping[str, str]:
    """Digests of the settings that a card is of. A card of an earlier version has none, nor has
    what is no card."""
    try:
        digests = metadata(_text(path)).get("digests")
    except ValueError:
        return {}
    return digests if isinstance(digests, dict) else {}


def _text(path: str) -> str:
    return "".join(f"{line}\n" for line in read_lines(path))


def _with_license(path: str, dataset: Dataset) -> list[str]:
    try:
        return with_license(_text(path), dataset.stated_license).split("\n")
    except ValueError as error:
        raise InputError(f"{shown(path)}: not a card of padir: {error}") from error


def merged(texts: list[list[str]]) -> list[list[str]]:
    """One card of several seeds': what is equal once, and what differs with the values of all seeds
    in their order. Cards of different length stay as they are.

    Args:
        texts: lines of each seed's card.
    """
    if len(set(map(len, texts))) > 1:
        return texts
    lines: list[str] = []
    for versions in zip(*texts, strict=True):
        distinct = list(dict.fromkeys(versions))
        cells = [_cells(version) for version in versions]
        if len(distinct) > 1 and all(len(row) == 2 and row[0] == cells[0][0] for row in cells):
            distinct = [f"| {cells[0][0]} | {'; '.join(row[1] for row in cells)} |"]
        lines += distinct
    return [lines]


def html(lines: list[str]) -> Markup:
    """The Markdown of a card as HTML."""
    lines, parts = list(lines), []
    if lines[:1] == ["---"] and "---" in lines[1:]:
        end = lines.index("---", 1)
        parts.append(_pre(lines[1:end]))
        lines = lines[end + 1 :]
    for kind, block in groupby(lines, _kind):
        texts = list(block)
        if kind == "table":
            parts.append(_table(texts))
        elif kind == "list":
            items = Markup().join(Markup("<li>{}</li>").format(_inline(t[2:])) for t in texts)
            parts.append(Markup("<ul>{}</ul>").format(items))
        elif kind == "code":
            parts.append(_pre(text[4:] for text in texts))
        elif kind == "heading":
            for text in texts:
                marks, _, words = text.partition(" ")
                level = min(2 + len(marks), 6)
                parts.append(Markup("<h{0}>{1}</h{0}>").format(level, _inline(words)))
        elif kind == "text":
            parts.append(Markup("<p>{}</p>").format(_inline(" ".join(texts))))
    return Markup("\n").join(parts)


def _kind(line: str) -> str:
    if not line.strip():
        return ""
    starts = {"|": "table", "- ": "list", "    ": "code", "#": "heading"}
    return next((kind for start, kind in starts.items() if line.startswith(start)), "text")


def _cells(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _table(lines: list[str]) -> Markup:
    """A table; its head, the first line, is left out where that is empty."""
    rows = [
        Markup("<tr>{}</tr>").format(
            Markup().join(
                Markup("<{0}>{1}</{0}>").format("td" if number else "th", _inline(cell))
                for cell in _cells(line)
            )
        )
        for number, line in enumerate(lines)
        # The line of dashes under the head, and a head without words.
        if number > 1 or not re.fullmatch(r"[|\s:-]*", line)
    ]
    region = Markup('<div class="scroll" tabindex="0" role="region" aria-label="{}">').format(
        "Table of the card"
    )
    return region + Markup("<table>{}</table></div>").format(Markup().join(rows))


def _pre(lines: Iterable[str]) -> Markup:
    return Markup("<pre>{}</pre>").format("\n".join(lines))


def _inline(text: str) -> Markup:
    """Text with code between backticks, of which any number fences."""
    parts = re.split(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", text)
    pieces = [escape(parts[0])]
    for _, code, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        pieces += [Markup("<code>{}</code>").format(code.strip()), escape(after)]
    return Markup().join(pieces)
