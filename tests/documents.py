"""Commands and code of the documents, and what checks each of them.

A command is a line of an indented block or of a fenced block of a shell, or a code span that begins
with a known program and has arguments. `way_of` says what checks it: it is run on tiny models, or
the first entry of `INSTEAD` that fits says what is done instead and why. A command that nothing
checks fails `tests/test_docs.py`.
"""

import importlib
import io
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, NamedTuple

from padir.cli import VERBS
from padir.commands.arguments import ONE_OF, Option, read_arguments
from padir.files import InputError
from padir.report.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[1]


def documents() -> list[Path]:
    """Every Markdown file of the repository."""
    tracked = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--", "*.md"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tracked.returncode == 0:
        return sorted(ROOT / name for name in tracked.stdout.split("\0") if name)
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("config/*.md")])


DOCUMENTS = documents()
# The changelog tells what commands once were.
PAGES = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]

# Ways to check a command that is not run.
PLAN, MAKE, PARSE, SCRIPT, NAME = (
    "planned by snakemake -n",
    "printed by make -n",
    "parsed by the verb's own parser",
    "parsed by the script's own parser",
    "files that it names exist",
)
RUN, MENTION = "run on tiny models", "part of a command in a sentence: verb and options are parsed"
# Which commands are not run, how they are checked instead, and why. The first pattern counts.
INSTEAD = (
    (r"(snakemake|padir report --only) lengths", NAME, "has a test, tests/test_contributing.py"),
    (r"snakemake --lint", NAME, "has a test, tests/workflow/test_dry_run.py"),
    (r"snakemake\b", PLAN, "needs minutes to days; test_end_to_end.py runs a tiny config"),
    (r"make docs", NAME, "has a test, tests/unit/test_site.py"),
    (r"make\b", MAKE, "needs minutes to hours, the network or root"),
    (r"padir launch\b", PARSE, "needs a cluster or a cloud account"),
    (r"((srun|mpirun) .*)?padir train .*--distributed", PARSE, "needs several hosts"),
    (r"python -m cProfile -m snakemake", NAME, "needs minutes: a profile of a run"),
    (r"python -m benchmarks\.|python benchmarks/", SCRIPT, "needs minutes to hours"),
    (r"pytest\b", NAME, "is a test"),
    (r"(gcloud|xpk|sky|sbatch|scancel|scontrol) ", NAME, "needs a cluster, or credentials"),
    (r"(pip|conda) ", NAME, "needs the network"),
    (r"source \.venv/bin/activate", NAME, "needs what make setup installs"),
)
PROGRAMS = {
    *("padir", "snakemake", "make", "python", "pytest", "srun", "mpirun", "gcloud", "xpk", "sky"),
    *("sbatch", "scancel", "scontrol", "pip", "conda", "source", "git", "docker", "apt-get", "uv"),
}
# Indented blocks that are no commands, by how they begin.
SAMPLES = ("Eine Frau in einem blauen Kleid", "FILE: cannot write: no space left")
# Options of snakemake that take one value, before the targets.
VALUED = ("--cores", "--jobs", "--local-cores", "--configfile", "--config", "--workflow-profile")
SHELLS, OTHERS = ("", "bash", "sh", "shell"), ("python", "yaml", "diff", "bibtex", "json")
# What the documents write for a value of the reader's -> a value.
PLACEHOLDERS = (
    (r"--config FILE\b|--config F\b", "--config config/paper.yaml"),
    (r"--configfile (FILE|F)\b", "--configfile config/config.yaml"),
    (r"--cores N\b", "--cores 2"),
    (r"\bEXPERIMENT\b", "identities"),
    (r"\[(--[^\]]*)\]", r"\1"),
)


class Command(NamedTuple):
    """A command as a document has it, on one line; `page` is relative to the repository.

    Attributes:
        whole: a line of a block; else a code span, which may be cut to what a sentence is about.
    """

    page: str
    text: str
    whole: bool

    @property
    def filled(self) -> str:
        """The command with values for placeholders."""
        text = self.text
        for pattern, value in PLACEHOLDERS:
            text = re.sub(pattern, value, text)
        return text


def fences(text: str) -> list[tuple[str, str]]:
    """Language and content of every fenced block."""
    return re.findall(r"^ *```([^\n]*)\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)


def without_fences(text: str) -> str:
    """The text between fenced blocks."""
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)


def indented_blocks(text: str) -> Iterator[list[str]]:
    """Lines of every indented block: four spaces or more, after an empty line."""
    for paragraph in re.split(r"\n[ \t]*\n", "\n\n" + without_fences(text)):
        lines = [line for line in paragraph.splitlines() if line.strip()]
        if lines and all(re.match(r" {4}", line) for line in lines):
            yield [line.strip() for line in lines]


def code_spans(text: str) -> list[str]:
    """Code inside sentences and tables, spaces and line ends as one space."""
    paragraphs = re.split(r"\n[ \t]*\n|\n(?=\|)", without_fences(text))
    spans = [s for p in paragraphs for s in re.findall(r"(?<!`)`([^`]+)`(?!`)", p)]
    return [" ".join(span.split()) for span in spans]


def without_comment(line: str) -> str:
    """A line of a shell without the comment behind it; runs of spaces as one."""
    return re.sub(r" +", " ", re.sub(r"(^| +)# .*$", "", line)).strip()


def commands_in(page: str, text: str) -> list[Command]:
    """Every command of a document, each once.

    Raises:
        ValueError: a fence of an unknown language, or an indented line that begins with no program
            of `PROGRAMS` and stands in no block of `SAMPLES`.
    """
    text = re.sub(r" *\\\n\s*", " ", text)
    lines = []
    for language, content in fences(text):
        if language not in (*SHELLS, *OTHERS):
            raise ValueError(f"{page}: nothing checks fenced blocks of {language!r}")
        lines += content.splitlines() if language in SHELLS else []
    for block in indented_blocks(text):
        lines += [] if block[0].startswith(SAMPLES) else block
    whole = [line for line in map(without_comment, lines) if line]
    for line in whole:
        if program(line) not in PROGRAMS:
            raise ValueError(f"{page}: nothing checks commands of {program(line)!r}: {line}")
    spans = [s for s in code_spans(text) if program(s) in PROGRAMS and " " in s]
    commands = [Command(page, line, True) for line in whole]
    return list(dict.fromkeys([*commands, *(Command(page, span, False) for span in spans)]))


def program(line: str) -> str:
    """The first word of a command."""
    return line.split(maxsplit=1)[0]


def all_commands() -> list[Command]:
    """Every command of every document."""
    return [
        command
        for path in PAGES
        for command in commands_in(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    ]


def snakemake_targets(words: list[str]) -> list[str]:
    """Rules and files that a snakemake command asks for."""
    if "--" in words:
        cut = words.index("--")
        return snakemake_targets(words[:cut]) + words[cut + 1 :]
    positional, rest = [], list(words)
    while rest:
        word = rest.pop(0)
        if word in ("--set-threads", "--set-resources", "--resources"):
            while rest and "=" in rest[0]:
                rest.pop(0)
        elif word in VALUED:
            rest.pop(0)
            # Several config files, one over the other, or several settings.
            more = {"--configfile": r".*\.yaml", "--config": r"\w+=.*"}.get(word)
            while more and rest and re.fullmatch(more, rest[0], re.DOTALL):
                rest.pop(0)
            greedy = word.startswith("--config") and rest and not rest[0].startswith("-")
            assert not greedy, f"{word} would take {rest[0]} for one more value"
        elif not word.startswith("-"):
            positional.append(word)
    return positional


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def rule_names() -> set[str]:
    """Rules, and the target of each table and figure of the report."""
    files = [ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk")]
    rules = {name for path in files for name in re.findall(r"^rule (\w+):", path.read_text(), re.M)}
    return rules | {part.name for part in CATALOGUE}


def way_of(command: Command) -> tuple[str, str]:
    """What checks a command, and why it is not run (empty for those that are).

    Raises:
        ValueError: nothing does.
    """
    for pattern, way, reason in INSTEAD:
        if re.match(pattern, command.filled):
            return way, reason
    if program(command.text) != "padir":
        raise ValueError(f"{command.page}: nothing checks {command.text!r}")
    if command.whole:
        return RUN, ""
    try:
        parse_padir(shell_words(command.filled))
    except ValueError:
        return MENTION, "a part of a command"
    return RUN, ""


def shell_words(line: str) -> list[str]:
    """Words of a command, without redirections and pipes."""
    return shlex.split(re.sub(r"(?<=\s)[<>|].*", "", line))


def parse_padir(words: Sequence[str], fill: bool = False) -> None:
    """Parse `padir VERB ...` by the verb's own parser, and a command behind `--` as well.

    Args:
        words: of the command; `...` stands for the required options that are left out.
        fill: the required options that are missing are added, and a value behind a last option.

    Raises:
        ValueError: the parser refuses it; or no such verb exists.
    """
    words = list(words)
    while words and Path(words[0]).name != "padir":
        # srun and its options.
        words.pop(0)
    if len(words) < 2 or words[1] not in VERBS:
        raise ValueError(f"no verb: {' '.join(words)}")
    verb, rest = words[1], words[2:]
    if rest == ["--help"]:
        return
    if "--" in rest:
        cut = rest.index("--")
        if any(Path(word).name == "padir" for word in rest[cut:]):
            parse_padir(rest[cut + 1 :], fill)
    module: Any = importlib.import_module(VERBS[verb][0])
    if fill or "..." in rest:
        cut = rest.index("--") if "--" in rest else len(rest)
        rest = [*_filled([w for w in rest[:cut] if w != "..."], module.OPTIONS), *rest[cut:]]
    printed = io.StringIO()
    try:
        with redirect_stderr(printed):
            read_arguments(verb, module.__doc__, module.OPTIONS, rest)
    except (SystemExit, InputError) as error:
        raise ValueError(f"{' '.join(words)}: {error}: {printed.getvalue()}") from error


def _filled(words: list[str], options: Sequence[Option]) -> list[str]:
    """Words of a verb with values for what is missing."""
    used = {word.partition("=")[0] for word in words}
    by_name = {option.name: option for option in options}
    last = by_name.get(words[-1]) if words else None
    if last is not None and not {"action", "nargs"} & last.settings.keys():
        words = [*words, _value(last)]
    missing = [o for o in options if o.settings.get("required") and o.name not in used]
    one_of = [o for o in options if o.group == ONE_OF]
    if one_of and not used & {o.name for o in one_of}:
        missing.append(one_of[0])
    positional = [
        o for o in options if not o.name.startswith("-") and o.settings.get("nargs") in (None, "+")
    ]
    added = [word for o in missing for word in (o.name, _value(o))]
    given = bool(words) and not words[0].startswith("-")
    return [*([] if given else map(_value, positional)), *words, *added]


def _value(option: Option) -> str:
    """A value that an option takes."""
    choices = option.settings.get("choices")
    # Files by the name of their option: no two may be the same.
    other = f"{option.name}.file".strip("-") if option.settings.get("metavar") == "F" else "1"
    if option.name == "--target-language":
        other = "xt"
    return str(choices[0]) if choices else other
