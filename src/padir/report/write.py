"""Writes the report to files: one part, the claims, the page, or everything that has results."""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from padir import invocation, layout
from padir.config.experiment import Config
from padir.files import InputError, shown, write_text
from padir.report.catalogue import Part, Scope, parts_in
from padir.report.claims import decide, write_claims
from padir.report.load import MISSING, Reader, command_for
from padir.report.page import page
from padir.report.results import Results
from padir.report.tables import Table
from padir.report.theme import Picture

NAMED = 3


def absence_notes(results: Results, options: str = "") -> list[str]:
    """Notes on artifacts that are not shown, with the commands that make the first few.

    Args:
        options: of the commands; see `invocation.command`.
    """
    notes = [
        f"Not shown: {artifact.path}: {reason};"
        f" run: {invocation.command(artifact.path, options, force=reason != MISSING)}"
        for artifact, reason in results.absent[:NAMED]
    ]
    more = len(results.absent) - NAMED
    return [*notes, f"Not shown: {more} more."] if more > 0 else notes


def make(part: Part, results: Results, options: str = "") -> Table | Picture:
    """A part's table or figure; notes under a table say what is missing."""
    content = part.make(results)
    if not isinstance(content, Table):
        return content
    return content.with_notes(*absence_notes(results, options))


def _folder(out: Path, inside: str, names: list[str]) -> Path:
    """Output folder: `out`'s parent if `out` is named as one of the files, else a folder in `out`.

    Raises:
        InputError: `out` is a file of another name.
    """
    if out.name in names:
        return out.parent
    if out.suffix and not out.is_dir():
        raise InputError(f"--out {shown(out)}: allowed are a folder, or {', '.join(names)} in one")
    return out / inside


def write_part(part: Part, content: Table | Picture, out: Path) -> None:
    """Write a table or figure: to `out` if it is one of its files, else to out/tables or
    out/figures."""
    content.write(_folder(out, f"{part.kind}s", part.files))


class Report:
    """The parts of one scope with their results, each file read once.

    Args:
        options: of the commands that it prints; see `invocation.command`.
    """

    def __init__(self, config: Config, scope: Scope, options: str = ""):
        self.reader = reader = Reader(config)
        self.config, self.options = config, options
        self.scope: Scope = scope
        self.parts = parts_in(config, scope)
        self.results: Mapping[str, Results] = {
            part.name: reader.load(part.needs(config)) for part in self.parts
        }
        self.claims = decide(config, self.results, options)

    def absence(self) -> str:
        """How many results are not shown, and the command that makes them; empty if there is
        none."""
        absent = {a.artifact.path: a for r in self.results.values() for a in r.absent}
        if not absent:
            return ""
        needed = {a.path for part in self.parts for a in part.needs(self.config)}
        counts = Counter(absence.reason for absence in absent.values()).items()
        why = ", ".join(f"{count} {reason}" for reason, count in counts)
        return (
            f"{len(absent)} of {len(needed | absent.keys())} results are not shown ({why});"
            f" run: {command_for(self.scope, absent.values(), self.options)}"
        )

    def table1(self) -> str:
        """Table 1 as Markdown."""
        _, content = self.contents[0]
        return content.markdown() if isinstance(content, Table) else ""

    @cached_property
    def contents(self) -> list[tuple[Part, Table | Picture]]:
        """Every part with its table or figure, each made once."""
        return [(part, make(part, self.results[part.name], self.options)) for part in self.parts]

    def write_claims(self, out: Path) -> None:
        """Write claims.json and claims.md, for the core also the copies that stand outside it."""
        for folder in self._folders(out, ["claims.json", "claims.md"]):
            write_claims(self.claims, folder)

    def write_page(self, out: Path) -> Path:
        """Write index.html, for the core also the copy that stands outside it; return its path."""
        traced = self.reader.load(layout.traces(self.config, self.scope))
        text = page(
            self.config, self.scope, self.results, self.contents, self.claims, traced, self.options
        )
        folder = out
        for folder in self._folders(out, ["index.html"]):
            write_text(folder / "index.html", text)
        return folder / "index.html"

    def write_all(self, out: Path) -> Path:
        """Write every part that has something to show, the claims, and last the page."""
        for part, content in self.contents:
            if not content.empty():
                write_part(part, content, out)
        self.write_claims(out)
        return self.write_page(out)

    def _folders(self, out: Path, names: list[str]) -> list[Path]:
        """Folders to write to. The core's own is the last, so that its files are the newer ones."""
        folder = _folder(out, "core" if self.scope == "core" else "", names)
        is_core = self.scope == "core" and folder.name == "core"
        return [folder.parent, folder] if is_core else [folder]
