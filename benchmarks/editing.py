"""What given text does to translations: BLEU, validity and what is restored, beside plain decoding.

    python -m benchmarks.editing --bundle BUNDLE --source test.xs --references test.xt test.xt.1 \\
        --target-language xt --grammar grammar.json --out results/bench/editing.md

From the root of the repository, with one parallel model and the first N sentences: two words given
as prefix or as terms, two words missing, and a whole translation as draft. Words are drawn by a
fixed seed. They come from the first reference, from the reference nearest to the model's own
output (least edit distance in words), or from that output itself. The second is the harder test of
the mode that a model translates in; the first also asks for modes that it never saw.
"""

import argparse
import math
import random
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from padir.launch import prepare

GAP = "___"


@dataclass(frozen=True)
class Task:
    """One way to give text.

    Attributes:
        title: what is given.
        origin: whose words they are.
        option: of `padir translate`.
        make: from a sentence's words and a random stream to the given text.
        whole: whether the sentence itself is what should come out.
    """

    title: str
    origin: str
    option: str
    make: Callable[[list[str], random.Random], str]
    whole: bool = False


def prefix(words: list[str], draw: random.Random) -> str:
    """The first two words."""
    return " ".join(words[:2])


def terms(words: list[str], draw: random.Random) -> str:
    """Two words, as terms."""
    return "\t".join(draw.sample(words, 2))


def gaps(words: list[str], draw: random.Random) -> str:
    """The sentence without two of its words."""
    missing = draw.sample(range(len(words)), 2)
    return " ".join(GAP if place in missing else word for place, word in enumerate(words))


def draft(words: list[str], draw: random.Random) -> str:
    """The whole sentence."""
    return " ".join(words)


def spoilt(words: list[str], draw: random.Random) -> str:
    """The sentence with two of its words replaced, each by another word of it that differs."""
    places = draw.sample(range(len(words)), 2)
    return " ".join(
        draw.choice([other for other in words if other != word] or words) if i in places else word
        for i, word in enumerate(words)
    )


FIRST, NEAREST, OWN = "first reference", "nearest reference", "own output"
TASKS = tuple(
    Task(title, origin, option, make, whole)
    for origin in (FIRST, NEAREST, OWN)
    for title, option, make, whole in (
        ("two words as prefix", "prefix", prefix, False),
        ("two words as terms", "terms", terms, False),
        ("two gaps in it", "infill", gaps, True),
        ("all of it as draft", "draft", draft, True),
        ("draft with two wrong words", "draft", spoilt, True),
    )
)


def given_text(task: Task, sentences: Sequence[str], seed: int) -> list[str]:
    """The given text of each sentence; empty where it has fewer than four words."""
    lines = []
    for number, sentence in enumerate(sentences):
        words = sentence.split()
        draw = random.Random(f"{seed} {number}")
        lines.append(task.make(words, draw) if len(words) > 3 else "")
    return lines


def constrained(
    translator: Any,
    task: Task,
    lines: Sequence[str],
    sources: Sequence[Sequence[int]],
    draft_margin: float | None,
) -> list[str] | None:
    """Translations under the given text; None where the model takes none of this kind."""
    from padir.decode.given_files import read_constraints
    from padir.files import InputError, write_lines

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / task.option
        write_lines(path, lines)
        try:
            constraints = read_constraints(translator, {task.option: path}, draft_margin)
        except InputError as error:
            print(f"{task.title}, {task.origin}: {error}", file=sys.stderr)
            return None
    return [each.hypothesis for each in constraints.translate(sources)]


def measure(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """One row per task, plain decoding first."""
    from padir.commands.options import open_translator
    from padir.data.grammar import Grammar
    from padir.decode.drafts import edit_distance
    from padir.decode.load import find_decoder, load
    from padir.files import read_aligned
    from padir.score.bleu import RepeatedBleu

    loaded = load(arguments.bundle)
    decoder = find_decoder(loaded, arguments.decoder)
    translator = open_translator(arguments, loaded, decoder, arguments.passes)
    texts = read_aligned(arguments.source, *arguments.references)
    lines, *references = (text[: arguments.sentences] for text in texts)
    bleu = RepeatedBleu(references, arguments.target_language)
    grammar = arguments.grammar and Grammar.load(arguments.grammar)
    sources = translator.encode(lines)
    plain = [each.hypothesis for each in translator.translate(lines, str(arguments.source))]
    nearest = [
        min(choices, key=lambda text: edit_distance(text.split(), output.split()))
        for output, *choices in zip(plain, *references, strict=True)
    ]
    origins = {FIRST: references[0], NEAREST: nearest, OWN: plain}

    def row(title: str, origin: str | None, hypotheses: list[str] | None) -> dict[str, Any]:
        cells: dict[str, Any] = dict.fromkeys(("bleu", "valid", "unchanged"))
        cells |= {"given": title, "origin": origin}
        if hypotheses is not None:
            cells["bleu"] = bleu(hypotheses)
            if grammar:
                valid = grammar.valid_lines(lines, hypotheses, str(arguments.source))
                cells["valid"] = 100 * sum(valid) / len(lines)
        return cells

    rows = [row("nothing", None, plain)]
    for task in (task for task in TASKS if task.option in arguments.given):
        originals = origins[task.origin]
        given = given_text(task, originals, arguments.seed)
        hypotheses = constrained(translator, task, given, sources, arguments.draft_margin)
        rows.append(row(task.title, task.origin, hypotheses))
        if task.whole and hypotheses is not None:
            pairs = [pair for *pair, text in zip(hypotheses, originals, given, strict=True) if text]
            rows[-1]["unchanged"] = 100 * sum(made == meant for made, meant in pairs) / len(pairs)
    return rows


def page(rows: list[dict[str, Any]], arguments: argparse.Namespace, command: str) -> str:
    """The table with its command."""
    from padir.provenance import git_state
    from padir.report.tables import Column, Table

    table = Table(
        name="editing",
        title="Editing: given text",
        columns=[
            Column("given", "Given"),
            Column("origin", "Words of"),
            Column("bleu", "BLEU", 2),
            Column("valid", "Valid %", 1),
            Column("unchanged", "Comes out as it was %", 1),
        ],
        rows=rows,
    )
    margin = arguments.draft_margin
    notes = (
        f"The first {arguments.sentences} sentences, T{arguments.passes},"
        f" {len(arguments.references)} reference(s), seed {arguments.seed}, commit"
        f" {git_state()['commit']}.",
        "Sentences of fewer than four words are translated without given text.",
        "A sentence with gaps, or a draft, should come out as it was: whole, or untouched.",
        "Margin for drafts: " + ("the decoder's." if margin is None else f"{margin:g}."),
    )
    return f"{table.with_notes(*notes).markdown()}\n\n    {command}\n"


def main(argv: list[str]) -> int:
    """Measure one model and write the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.editing", description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--decoder", help="of a parallel model (default: as padir decode)")
    parser.add_argument("--reranker", type=Path, help="that the decoder names")
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--references", type=Path, nargs="+", required=True)
    parser.add_argument("--target-language", required=True)
    parser.add_argument("--grammar", type=Path, help="of the synthetic pair: adds validity")
    options = list(dict.fromkeys(task.option for task in TASKS))
    parser.add_argument("--given", nargs="+", choices=options, default=options)
    parser.add_argument("--draft-margin", type=float, help="as of padir translate")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="Markdown file to write; printed otherwise")
    arguments = parser.parse_args(argv)
    if not math.isfinite(arguments.draft_margin or 0.0):
        parser.error(f"--draft-margin {arguments.draft_margin}: allowed are finite numbers")
    prepare(None)
    from padir.files import InputError

    try:
        rows = measure(arguments)
    except InputError as error:
        parser.error(str(error))
    text = page(rows, arguments, shlex.join(["python", "-m", "benchmarks.editing", *argv]))
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
