"""Every command of every document is run, or checked in a way that a table names with its reason.

`tests/documents.py` has the table. What is run, and what Snakemake plans, is in
`tests/workflow/test_documented_commands.py`.
"""

import json
import re
import shlex
import subprocess
import sys

import pytest

from tests.documents import (
    INSTEAD,
    MAKE,
    MENTION,
    NAME,
    PAGES,
    PARSE,
    PLAN,
    ROOT,
    RUN,
    SCRIPT,
    Command,
    all_commands,
    code_spans,
    commands_in,
    parse_padir,
    program,
    rule_names,
    shell_words,
    snakemake_targets,
    way_of,
)

COMMANDS = all_commands()
# Parses the arguments of scripts by their own parsers and stops them there.
PARSER = """
import argparse, contextlib, io, json, os, runpy, sys
class Parsed(BaseException):
    pass
parse = argparse.ArgumentParser.parse_args
def stop(self, *arguments):
    parse(self, *arguments)
    raise Parsed
argparse.ArgumentParser.parse_args = stop
for words in json.load(sys.stdin):
    said = io.StringIO()
    start = sys.path[:]
    try:
        with contextlib.redirect_stderr(said):
            if words[1] == "-m":
                sys.argv = words[2:]
                sys.path.insert(0, os.getcwd())
                runpy.run_module(words[2], run_name="__main__", alter_sys=True)
            else:
                sys.argv = words[1:]
                sys.path.insert(0, os.path.dirname(words[1]))
                runpy.run_path(words[1], run_name="__main__")
        print(*words, "parsed nothing")
    except Parsed:
        pass
    except SystemExit:
        print(*words, said.getvalue())
    sys.path[:] = start
"""


def checked_by(*ways: str) -> list[Command]:
    """Commands that are checked in one of these ways, each text once."""
    chosen = {c.text: c for c in COMMANDS if way_of(c)[0] in ways}
    return list(chosen.values())


def test_every_command_of_every_document_is_run_or_says_why_not():
    """Reading them fails where nothing checks a command (`commands_in`, `way_of`)."""
    ways = {command: way_of(command) for command in COMMANDS}
    assert {command.page for command in COMMANDS} >= {"README.md", "CONTRIBUTING.md"}
    for command, (way, reason) in ways.items():
        assert way == RUN or reason, command
        # Only what cannot be run here, and parts of commands in sentences, may be left out.
        assert way != MENTION or not command.whole, command
    for pattern, _, reason in INSTEAD:
        assert any(re.match(pattern, c.filled) for c in COMMANDS), f"{pattern} fits no command"
        assert re.match("needs|has|is", reason), reason


@pytest.mark.parametrize(
    "text",
    [
        "Say:\n\n    frobnicate --all\n",
        "Say:\n\n```bash\nfrobnicate --all\n```\n",
        "- item\n\n      frobnicate \\\n        --all\n",
        "```fortran\nPRINT *\n```\n",
    ],
)
def test_a_command_that_nothing_checks_is_found(text):
    with pytest.raises(ValueError, match=r"^page\.md: nothing checks"):
        commands_in("page.md", text)


def test_commands_of_all_kinds_are_found():
    text = """Say `make x` and `padir y --
z`, not `padir` or `a b`; then

    snakemake --cores 2 \\
      table1 one # comment

| `make in a table` |
|---|

``` bash
snakemake --configfile F -- two  > out
```
""".replace("``` bash", "```bash")
    commands = commands_in("page.md", text)
    assert [(c.text, c.whole) for c in commands] == [
        ("snakemake --configfile F -- two > out", True),
        ("snakemake --cores 2 table1 one", True),
        ("make x", False),
        ("padir y -- z", False),
        ("make in a table", False),
    ]
    asked = [snakemake_targets(shell_words(c.text)[1:]) for c in commands[:2]]
    assert asked == [["two"], ["table1", "one"]]
    with pytest.raises(AssertionError, match="--configfile would take table2"):
        snakemake_targets(["--configfile", "F", "table2"])


@pytest.mark.parametrize("command", checked_by(RUN, PARSE, MENTION), ids=lambda c: c.text)
def test_the_parser_takes_a_padir_command(command):
    parse_padir(shell_words(command.filled), fill=way_of(command)[0] != RUN)


@pytest.mark.parametrize(
    "line",
    [
        "padir translate --model bundle --bogus",
        "padir translte --model bundle",
        "padir tune --decoder",
        "padir launch --handle h -- padir train ... --restrat",
        "padir theory identites --out F",
    ],
)
def test_a_wrong_padir_command_is_found(line):
    with pytest.raises(ValueError):
        parse_padir(shell_words(line), fill="launch" in line)


@pytest.mark.parametrize("command", checked_by(PLAN), ids=lambda c: c.text)
def test_what_a_snakemake_command_asks_for_exists(command):
    for target in snakemake_targets(shlex.split(command.filled)[1:]):
        assert target in rule_names() or "/" in target, target


@pytest.mark.parametrize("command", checked_by(MAKE), ids=lambda c: c.text)
def test_make_knows_what_a_document_asks_for(command):
    words = shlex.split(command.filled)[1:]
    done = subprocess.run(["make", "-n", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_scripts_take_the_options_of_the_documents():
    words = [shell_words(command.filled) for command in checked_by(SCRIPT)]
    for line in words:
        if line[1] != "-m":
            line[1] = str(ROOT / line[1])
    wrong = [sys.executable, str(ROOT / "benchmarks/products.py"), "--bogus"]
    done = subprocess.run(
        [sys.executable, "-c", PARSER],
        input=json.dumps([*words, wrong]),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (refused,) = [line for line in done.stdout.splitlines() if " --" in line and "usage" in line]
    assert "--bogus" in refused and done.stdout.count("error:") == 1, done.stdout


@pytest.mark.parametrize("command", checked_by(NAME), ids=lambda c: c.text)
def test_files_that_another_command_names_exist(command):
    for word in shell_words(command.filled)[1:]:
        if program(command.text) != "source" and re.search(r"/|\.(yml|yaml|txt)$", word):
            assert (ROOT / word).exists(), word


def features() -> list[tuple[str, str]]:
    """Number and our own cell of every row of the comparison."""
    text = (ROOT / "docs/comparison.md").read_text(encoding="utf-8")
    return re.findall(r"^\| (\d+) \|[^|]+\|([^|]+)\|", text, re.MULTILINE)


def test_the_comparison_has_at_least_twenty_features():
    assert [int(number) for number, _ in features()] == list(range(1, len(features()) + 1))
    assert len(features()) >= 20


@pytest.mark.parametrize(("number", "cell"), features(), ids=[n for n, _ in features()])
def test_every_feature_of_the_comparison_has_a_command_or_a_picture(number, cell):
    checked = {c.text for c in COMMANDS if c.page == "docs/comparison.md" and not is_part(c)}
    pictures = re.findall(r"\]\(([^)]+\.(?:png|svg))\)", cell)
    assert {*code_spans(cell)} & checked or pictures, cell
    assert all((ROOT / "docs" / picture).is_file() for picture in pictures)


def is_part(command: Command) -> bool:
    """Whether it is a part of a command, which nothing runs."""
    return way_of(command)[0] == MENTION


def test_every_page_is_read():
    names = {str(path.relative_to(ROOT)) for path in PAGES}
    assert {"README.md", "config/README.md", "docs/faq.md", "docs/results/README.md"} <= names
