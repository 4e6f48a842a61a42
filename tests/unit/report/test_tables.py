"""Tables in each format, with text that would break a careless writer."""

import csv
import io
import shutil
import subprocess

import pytest

from padir.report.page import environment
from padir.report.tables import Column, Table

NASTY = 'a_b & 50% #1 $x$ {y} ~^\\ <b>|"q" `c` *s*'
COLUMNS = (Column("name", "Näme & <i>"), Column("value", "BLEU", 2), Column("ends", "95%", 1))


def made(rows) -> Table:
    return Table("t", "Title_1 & more", COLUMNS, rows, ("note <1> & 100%",))


def test_csv_keeps_precision_and_splits_intervals():
    rows = [
        {"name": NASTY, "value": 1 / 3, "ends": (0.25, 0.5)},
        {"name": "b\nc", "value": None, "ends": None},
        {"name": "d", "value": "not run", "ends": "not run"},
    ]
    read = list(csv.reader(io.StringIO(made(rows).csv())))
    assert read == [
        ["name", "value", "ends_low", "ends_high"],
        [NASTY, repr(1 / 3), "0.25", "0.5"],
        ["b\nc", "", "", ""],
        ["d", "not run", "", ""],
    ]


def test_columns_of_numbers_alone_stand_to_the_right():
    rows = [{"name": "a", "value": "not run", "ends": (0.5, 1.0)}]
    assert made(rows).markdown().splitlines()[3] == "| --- | --- | ---: |"
    rows.append({"name": "b", "value": 0.5, "ends": None})
    assert made(rows).markdown().splitlines()[3] == "| --- | ---: | ---: |"


def test_markdown_by_hand():
    rows = [{"name": "a|b\nc", "value": -0.001, "ends": (-1.25, 2.0)}]
    lines = made(rows).markdown().splitlines()
    assert lines[2:5] == [
        "| Näme & \\<i> | BLEU | 95% |",
        "| --- | ---: | ---: |",
        "| a\\|b c | 0.00 | [−1.2, 2.0] |",
    ]


def test_html_is_escaped():
    table = made([{"name": "<script>alert('x')</script>&", "value": 1.0, "ends": None}])
    text = environment().get_template("parts.html").module.table(table)
    assert "<script>" not in text and "<i>" not in text
    assert "&lt;script&gt;" in text and "note &lt;1&gt; &amp; 100%" in text


def test_latex_by_hand():
    text = made([{"name": NASTY, "value": 2.0, "ends": (1.0, 3.0)}]).latex()
    assert (
        r"a\_b \& 50\% \#1 \$x\$ \{y\} \textasciitilde{}\textasciicircum{}\textbackslash{}"
        r" \textless{}b\textgreater{}\textbar{}\texttt{\char34}q\texttt{\char34}"
        r" \textasciigrave{}c\textasciigrave{} *s* & 2.00 & {[}1.0, 3.0{]} \\"
    ) in text
    assert r"\caption{Title\_1 \& more. note \textless{}1\textgreater{} \& 100\%}" in text


def test_latex_keeps_commands_as_they_are_typed():
    command = """snakemake --config 'theory={"seeds": [1]}' ---x"""
    text = made([{"name": f"AR's – {command}", "value": 1.0, "ends": None}]).latex()
    assert (
        r"AR's \textendash{} snakemake -{}-config \textquotesingle{}theory=\{"
        r"\texttt{\char34}seeds\texttt{\char34}: {[}1{]}\}\textquotesingle{} -{}-{}-x & 1.00"
    ) in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path):
    text = made([{"name": NASTY, "value": -2.0, "ends": (1.0, 3.0)}]).latex()
    whole = "\\documentclass{article}\n\\begin{document}\n" + text + "\\end{document}\n"
    (tmp_path / "t.tex").write_text(whole, encoding="utf-8")
    subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip


def test_a_shared_test_set_moves_to_the_heading():
    columns = (Column("dataset", "Dataset"), Column("direction", "Direction"), Column("x", "X"))
    toy_row, other_row = ({"dataset": d, "direction": "de-en", "x": 1} for d in ("toy", "other"))
    assert Table("t", "T", columns, [toy_row, toy_row]).markdown().startswith("**T, toy de-en**")
    both = Table("t", "T", columns, [toy_row, other_row]).markdown()
    assert "| Dataset | Direction | X |" in both and both.startswith("**T**")


def test_columns_without_a_value_are_not_shown():
    text = made([{"name": "a", "value": None, "ends": None}]).markdown()
    assert "BLEU" not in text and "| a |" in text


def test_a_table_is_empty_where_no_row_was_run():
    waiting = {"name": "a", "value": "not run", "ends": None}
    assert made([]).empty() and made([waiting, waiting]).empty()
    assert not made([waiting, {"name": "b", "value": 1.0, "ends": None}]).empty()


def test_a_row_must_fit_its_columns():
    with pytest.raises(ValueError, match=r"row and columns differ in \['ends', 'odd'\]"):
        made([{"name": "a", "value": 1.0, "odd": 2}])
