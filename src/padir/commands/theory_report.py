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
    from padir.report.theory_figures import draw, theorem_table

    documents = [read_json(path) for path in arguments.results]
    for path, document in zip(arguments.results, documents, strict=True):
        if not isinstance(document, dict) or not isinstance(document.get("claims"), list):
            raise InputError(f"{shown(path)}: not the results of padir theory")
    if arguments.part == "theorems":
        try:
            table = theorem_table(documents)
        except (LookupError, TypeError, ValueError) as error:
            where = ", ".join(map(shown, arguments.results))
            raise InputError(f"{where}: a claim is not as padir theory writes it") from error
        table.write(arguments.out)
        return 0
    if len(documents) != 1:
        raise InputError(f"--results has {len(documents)} files: {arguments.part} needs one")
    draw(arguments.part, documents[0], shown(arguments.results[0])).write(arguments.out)
    return 0
