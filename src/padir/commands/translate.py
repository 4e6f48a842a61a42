"""`padir translate`: standard input to standard output, line for line."""

import argparse
import sys
from pathlib import Path

from padir.launch import prepare

EXAMPLES = """\
examples:
  padir translate --model bundle < in.de > out.en
  padir translate --model bundle --steps 10 < in.de > out.en
  padir translate --model reranked --reranker ar < in.de > out.en
  echo "Ein Hund rennt." | padir translate --model ar --beam 5
text that has to stand in the output (parallel models; line i belongs to input line i):
  padir translate --model bundle --prefix starts < in.de    # line i: A dog
  padir translate --model bundle --suffix ends < in.de      # line i: in the snow.
  padir translate --model bundle --infill gaps < in.de      # line i: A ___ runs ___.
  padir translate --model bundle --terms terms < in.de      # line i: dog<tab>running race
a draft to repair, every word of which may change (PaDIR and SUNDAE):
  padir translate --model bundle --draft drafts < in.de     # line i: A dogs running run.
"""
DEFAULT_STEPS = 4
CONSTRAINTS = {
    "prefix": "how each translation begins",
    "suffix": "how each translation ends; punctuation without a space before it joins a word",
    "infill": "translations with gaps to fill, each written ___ (one token or more)",
    "draft": "translations to repair; their number of tokens stays",
    "terms": "words or phrases that each translation holds, separated by tabs",
}


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    from padir.commands.decode import add_reranker_argument, add_rule_arguments

    parse = argparse.ArgumentParser(
        prog="padir translate",
        description="Translate standard input to standard output with a trained model: one line"
        " out for each line in. A line longer than the model reads is cut, with a warning.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--model", type=Path, required=True, help="folder of the model bundle")
    how = parse.add_mutually_exclusive_group()
    how.add_argument(
        "--steps", type=int, metavar="T", help=f"decoder passes of PaDIR (default {DEFAULT_STEPS})"
    )
    how.add_argument(
        "--beam", type=int, metavar="N", help="beam width of AR (default: greedy search)"
    )
    add_rule_arguments(parse)
    add_reranker_argument(parse)
    constraints = parse.add_argument_group(
        "constraints",
        "Files with a line for each input line; an empty one asks for nothing. --prefix and"
        " --suffix go together, the others alone. A text stands in the output as whole words.",
    )
    for option, holds in CONSTRAINTS.items():
        constraints.add_argument(f"--{option}", type=Path, metavar="FILE", help=holds)
    parse.add_argument("--chunk", type=int, default=64, help="lines read ahead (default 64)")
    parse.add_argument("--threads", type=int, help="most CPU threads (default: all cores)")
    return parse


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = parser().parse_args(argv)
    prepare(arguments.threads)
    from padir.commands.decode import given_reranker, given_rule
    from padir.decode.constrain import read_constraints
    from padir.decode.load import Decoding, load
    from padir.decode.stream import translate_stream
    from padir.decode.translate import Translator
    from padir.files import InputError, decode_lines

    for option in ("beam", "chunk"):
        value = getattr(arguments, option)
        if value is not None and value < 1:
            raise InputError(f"--{option} is {value}: allowed are 1 and more")
    loaded = load(arguments.model)
    if arguments.steps is not None:
        name = f"T{arguments.steps}"
    elif arguments.beam is not None:
        name = "beam"
    else:
        name = f"T{DEFAULT_STEPS}" if loaded.spec.run.parallel else "greedy"
    translator = Translator(
        loaded,
        Decoding.parse(name),
        given_rule(arguments),
        beam=arguments.beam,
        reranker=given_reranker(arguments),
    )
    paths = {option: getattr(arguments, option) for option in CONSTRAINTS}
    given = {option: path for option, path in paths.items() if path is not None}
    constraints = read_constraints(translator, given) if given else None
    out = sys.stdout.buffer

    def write(line: str) -> None:
        out.write(line.encode("utf-8") + b"\n")
        out.flush()

    def warn(message: str) -> None:
        print(f"padir translate: warning: {message}", file=sys.stderr)

    chunk = 1 if sys.stdin.isatty() else arguments.chunk
    lines = decode_lines(sys.stdin.buffer, "standard input")
    translate_stream(translator, lines, write, warn, chunk, constraints)
    return 0
