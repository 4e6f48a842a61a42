"""`padir theory-report`: draw one figure of the theory experiments, or tabulate their claims.

In: results of `padir theory`. Out: NAME.svg and NAME.csv, or theorems.csv, .md and .tex.
"""

import argparse
from pathlib import Path

NAMES = ("figure1", "figure2", "figure3", "product_steps", "mask_design")
EXAMPLES = """\
examples:
  padir theory-report figure1 --results results/theory/estimation/seed0.json --out figures
  padir theory-report theorems --results results/theory/*/seed0.json --out tables
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = argparse.ArgumentParser(
        prog="padir theory-report",
        description="Draw one figure of the theory experiments, or tabulate their claims.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", choices=(*NAMES, "theorems"), help="what to write")
    parser.add_argument(
        "--results", type=Path, nargs="+", required=True, metavar="F", help="one for a figure"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to")
    return parser


def main(argv: list[str]) -> int:
    """Read, draw or tabulate, write."""
    arguments = parser().parse_args(argv)
    from padir.files import InputError, read_json, shown
    from padir.report.theory_figures import draw, theorem_table

    documents = [read_json(path) for path in arguments.results]
    for path, document in zip(arguments.results, documents, strict=True):
        if not isinstance(document, dict) or "claims" not in document:
            raise InputError(f"{shown(path)}: not the results of padir theory")
    if arguments.part == "theorems":
        theorem_table(documents).write(arguments.out)
        return 0
    if len(documents) != 1:
        raise InputError(f"--results has {len(documents)} files: {arguments.part} needs one")
    draw(arguments.part, documents[0], shown(arguments.results[0])).write(arguments.out)
    return 0
