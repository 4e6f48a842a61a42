"""Draw one figure of the theory experiments, or tabulate their claims.

In: results of `padir theory`. Out: NAME.svg and NAME.csv, or theorems.csv, .md and .tex.

examples:
  padir theory-report figure1 --results results/theory/estimation/seed0.json --out figures
  padir theory-report theorems --results results/theory/*/seed0.json --out tables
"""

from padir.commands.arguments import needed, option, read_arguments

NAMES = ("figure1", "figure2", "figure3", "product_steps", "mask_design")
OPTIONS = (
    option("part", "figure to draw, or theorems for the table", choices=(*NAMES, "theorems")),
    needed(
        "--results F ...", "results of padir theory: one file for a figure, several for theorems"
    ),
    needed("--out DIR", "folder to write the figure or table to"),
)


def main(argv: list[str]) -> int:
    """Read, draw or tabulate, write."""
    arguments = read_arguments("theory-report", __doc__, OPTIONS, argv)
    from padir.files import InputError, read_json, shown
    from padir.provenance import check_written
    from padir.report.checked import checked
    from padir.report.claim_documents import DRAWN, Experiment
    from padir.report.theory_figures import DRAWINGS, draw, theorem_table

    check_written(*arguments.results)
    documents = [checked(str(path), read_json(path), Experiment) for path in arguments.results]
    if arguments.part == "theorems":
        theorem_table(documents).write(arguments.out)
        return 0
    if len(documents) != 1:
        raise InputError(f"--results has {len(documents)} files: {arguments.part} needs one")
    path = arguments.results[0]
    if documents[0]["experiment"] == DRAWINGS[arguments.part][0]:
        checked(str(path), documents[0], DRAWN[documents[0]["experiment"]])
    draw(arguments.part, documents[0], shown(path)).write(arguments.out)
    return 0
