"""A table, and how it is written as CSV, Markdown and LaTeX; the page's templates write HTML."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from padir.files import write_text
from padir.score.rating import NOT_RUN

Interval = tuple[float, float]
Cell = str | int | float | Interval | None

PLACE_KEYS = ("dataset", "direction", "pair")

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        # After a line break a bracket would be taken for an argument.
        "[": "{[}",
        "]": "{]}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # The roman fonts of the standard classes have no straight one.
        '"': r"\texttt{\char34}",
        "`": r"\textasciigrave{}",
        "–": r"\textendash{}",
        "±": r"$\pm$",
        "×": r"$\times$",
        "−": r"$-$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "\n": " ",
    }
)
_MARKDOWN = str.maketrans({c: "\\" + c for c in "\\|<*`["} | {"\n": " "})


@dataclass(frozen=True)
class Column:
    """One column: its key in rows and CSV, its heading, and decimal places for numbers."""

    key: str
    heading: str
    digits: int | None = None


@dataclass(frozen=True)
class Table:
    """Rows by column key. A missing value is None: empty in CSV, a dash elsewhere.

    Attributes:
        name: of the files.
        title: one line.
        notes: shown below the table; what a reader must know to read it rightly.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Cell]]
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        keys = {column.key for column in self.columns}
        for row in self.rows:
            if row.keys() != keys:
                odd = sorted(row.keys() ^ keys)
                raise ValueError(f"table {self.name}: row and columns differ in {odd}")

    def without(self, key: str) -> "Table":
        """The same table without one column."""
        columns = [column for column in self.columns if column.key != key]
        rows = [{name: row[name] for name in row if name != key} for row in self.rows]
        return replace(self, columns=columns, rows=rows)

    def with_notes(self, *notes: str) -> "Table":
        """The same table with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def empty(self) -> bool:
        """Whether no row says anything but that it was not run."""
        return all(NOT_RUN in row.values() for row in self.rows)

    def shown_columns(self) -> list[Column]:
        """Columns in which at least one row has a value, without those that the heading says."""
        said = self._common()
        return [
            column
            for column in self.columns
            if column.key not in said and any(row[column.key] is not None for row in self.rows)
        ]

    def heading(self) -> str:
        """The title, with the test set if all rows are of one."""
        said = " ".join(str(value) for value in self._common().values())
        return f"{self.title}, {said}" if said else self.title

    def _common(self) -> dict[str, Cell]:
        """Values of the leading columns that name the test set, where all rows share them."""
        keys = [column.key for column in self.columns if column.key in PLACE_KEYS]
        values = {key: {row[key] for row in self.rows} for key in keys}
        if any(len(distinct) != 1 for distinct in values.values()):
            return {}
        return {key: distinct.pop() for key, distinct in values.items()}

    def csv(self) -> str:
        """Full precision; an interval becomes two columns."""
        intervals = {
            c.key for c in self.columns if any(isinstance(row[c.key], tuple) for row in self.rows)
        }
        heads: list[str] = []
        for column in self.columns:
            split = column.key in intervals
            heads += [f"{column.key}_low", f"{column.key}_high"] if split else [column.key]
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(heads)
        for row in self.rows:
            cells: list[object] = []
            for column in self.columns:
                value = row[column.key]
                if column.key in intervals:
                    cells += value if isinstance(value, tuple) else ["", ""]
                else:
                    cells.append("" if value is None else value)
            writer.writerow(cells)
        return buffer.getvalue()

    def markdown(self) -> str:
        """GitHub's tables."""
        columns = self.shown_columns()
        right = [self.is_number(column) for column in columns]
        lines = [f"**{self.heading().translate(_MARKDOWN)}**", ""]
        lines.append(_bar(column.heading.translate(_MARKDOWN) for column in columns))
        lines.append(_bar("---:" if number else "---" for number in right))
        lines += [
            _bar(_markdown_cell(row[column.key], column.digits) for column in columns)
            for row in self.rows
        ]
        lines += ["", *(f"- {note.translate(_MARKDOWN)}" for note in self.notes)]
        return "\n".join(lines).rstrip() + "\n"

    def latex(self) -> str:
        """A tabular that needs no package beyond the standard classes, of LaTeX since 2020."""
        columns = self.shown_columns()
        shape = "".join("r" if self.is_number(column) else "l" for column in columns)
        lines = [
            f"% {self.name}",
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{{shape}}}",
        ]
        lines += [r"\hline", _ampersand(c.heading for c in columns), r"\hline"]
        lines += [
            _ampersand(shown_text(row[c.key], c.digits) for c in columns) for row in self.rows
        ]
        caption = _latex(" ".join((f"{self.heading()}.", *self.notes)))
        lines += [r"\hline", r"\end{tabular}", rf"\caption{{{caption}}}", r"\end{table}"]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> list[Path]:
        """Write NAME.csv, NAME.md and NAME.tex; return their paths."""
        contents = {"csv": self.csv(), "md": self.markdown(), "tex": self.latex()}
        paths = []
        for suffix, text in contents.items():
            paths.append(folder / f"{self.name}.{suffix}")
            write_text(paths[-1], text)
        return paths

    def is_number(self, column: Column) -> bool:
        """Whether all values of a column are numbers or intervals."""
        nothing = (None, NOT_RUN)
        values = [row[column.key] for row in self.rows if row[column.key] not in nothing]
        return bool(values) and not any(isinstance(value, str) for value in values)


def shown_text(value: Cell, digits: int | None) -> str:
    """A cell for readers: rounded to so many decimal places, a dash for a missing value."""
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return f"[{shown_text(value[0], digits)}, {shown_text(value[1], digits)}]"
    if isinstance(value, float) and digits is not None:
        rounded = f"{value:.{digits}f}"
        # No "-0.00", and a typographic minus.
        return rounded.lstrip("-") if float(rounded) == 0 else rounded.replace("-", "−")
    return str(value)


def _markdown_cell(value: Cell, digits: int | None) -> str:
    text = shown_text(value, digits)
    return text.translate(_MARKDOWN) if isinstance(value, str) else text


def _bar(cells) -> str:
    return "| " + " | ".join(cells) + " |"


def _ampersand(cells) -> str:
    return " & ".join(map(_latex, cells)) + r" \\"


def _latex(text: str) -> str:
    """Text with its own hyphens, backticks and quotes, of which TeX would make dashes and curly
    quotes: a command works when copied. Apostrophes inside words stay curly."""
    text = re.sub("-(?=-)", "-{}", text.translate(_LATEX))
    return re.sub(r"(?<!\w)'|'(?!\w)", r"\\textquotesingle{}", text)
