"""Write tables, figures, the claims with their verdicts, and one HTML page, from finished results.

Prints table 1 and the page's path. Results that are missing or were made with other settings are
named with the command that makes them.

In: the merged config, and the results below the working folder that it asks for. Out: tables/,
figures/, claims.json, claims.md and index.html in the output folder.

examples:
  padir report --config results/report/config.json --out results/report
  padir report --config results/report/config.json --out results/report/tables/table1.md \\
      --only table1
"""

import sys

from padir.commands.arguments import needed, option, read_arguments
from padir.report.catalogue import CATALOGUE, SCOPES

PARTS = [*(part.name for part in CATALOGUE), "claims", "page"]
OPTIONS = (
    needed("--config F", "JSON file of the merged config"),
    needed("--out PATH", "output folder, or one output file"),
    option("--only NAME", f"part to write alone: {', '.join(PARTS)}", choices=PARTS),
    option(
        "--options TEXT",
        "options of snakemake that the commands in the report have, such as"
        " '--configfile config/corpus.yaml'",
        default="",
    ),
    option(
        "--scope NAME",
        f"scope of the claims and the page: {', '.join(SCOPES)}",
        default="everything",
        choices=SCOPES,
    ),
)


def main(argv: list[str]) -> int:
    """Read what is asked for, write and print it."""
    arguments = read_arguments("report", __doc__, OPTIONS, argv)
    from padir.config.read import check_config
    from padir.files import InputError, read_json, shown
    from padir.report import catalogue, claims
    from padir.report.load import Reader
    from padir.report.tables import Table
    from padir.report.write import Report, absence_notes, make, write_part

    settings = read_json(arguments.config)
    if not isinstance(settings, dict):
        raise InputError(f"{shown(arguments.config)}: not a JSON object of settings")
    config = check_config(settings)
    if arguments.only in (None, "claims", "page"):
        report = Report(config, arguments.scope, arguments.options)
        if arguments.only == "claims":
            report.write_claims(arguments.out)
            print(claims.claims_table(report.claims).markdown())
        elif arguments.only == "page":
            print(report.write_page(arguments.out))
        else:
            path = report.write_all(arguments.out)
            print(report.table1())
            print(path)
        return 0
    part = catalogue.part(config, arguments.only)
    results = Reader(config).load(part.needs(config))
    content = make(part, results, arguments.options)
    write_part(part, content, arguments.out)
    if isinstance(content, Table):
        print(content.markdown())
    for note in absence_notes(results, arguments.options):
        print(f"padir report: {note}", file=sys.stderr)
    return 0
