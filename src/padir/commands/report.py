"""Write tables, figures, the claims with their verdicts, and one HTML page, from finished results.

Prints table 1 and the page's path. Results that are missing or were made with other settings are
counted, and named in the page, with the command that makes them.

In: config files, or the merged config that the workflow writes, and the results below the working
folder that it asks for. Out: tables/, figures/, claims.json, claims.md and index.html in the output
folder.

examples:
  padir report --config config/corpus.yaml --out results/report
  padir report --config results/report/config.json --out results/report
  padir report --config results/report/config.json --out results/report/tables/table1.md \\
      --only table1
"""

import sys
from pathlib import Path

from padir.commands.arguments import needed, option, read_arguments
from padir.config.experiment import Config
from padir.report.catalogue import CATALOGUE, SCOPES

PARTS = [*(part.name for part in CATALOGUE), "claims", "page"]
OPTIONS = (
    needed(
        "--config F ...",
        "YAML files, merged in this order, or one JSON file of all settings",
        action="extend",
    ),
    needed("--out PATH", "output folder, or one output file"),
    option("--only NAME", f"part to write alone: {', '.join(PARTS)}", choices=PARTS),
    option(
        "--options TEXT",
        "options of snakemake that the commands in the report have (default: --configfile with the"
        " files of --config)",
    ),
    option(
        "--scope NAME",
        f"scope of the claims and the page: {', '.join(SCOPES)}",
        default="everything",
        choices=SCOPES,
    ),
)


def _read_config(paths: list[Path]) -> tuple[Config, str]:
    """The config of YAML files or of one JSON file, and options of snakemake that name the files.

    Raises:
        InputError: a file cannot be read, or holds no config.
    """
    from padir import invocation
    from padir.checksums import read_with_checksum, rerun_remedy
    from padir.config.read import check_config, load_config
    from padir.files import InputError, shown

    options = invocation.experiment_options([path.absolute() for path in paths], {})
    if len(paths) > 1 or paths[0].suffix in (".yaml", ".yml"):
        return load_config(paths), options
    content = read_with_checksum(paths[0], rerun_remedy(paths[0]))
    if not isinstance(content, dict):
        raise InputError(f"{shown(paths[0])}: not a JSON object")
    return check_config(content), options


def main(argv: list[str]) -> int:
    """Read what is asked for, write and print it."""
    arguments = read_arguments("report", __doc__, OPTIONS, argv)
    from padir.report import catalogue, claims
    from padir.report.load import Reader
    from padir.report.tables import Table
    from padir.report.write import Report, absence_notes, make, write_part

    config, options = _read_config(arguments.config)
    if arguments.options is not None:
        options = arguments.options
    if arguments.only in (None, "claims", "page"):
        report = Report(config, arguments.scope, options)
        if arguments.only == "claims":
            report.write_claims(arguments.out)
            print(claims.claims_table(report.claims).markdown())
        elif arguments.only == "page":
            print(report.write_page(arguments.out))
        else:
            path = report.write_all(arguments.out)
            print(report.table1())
            print(path)
        if note := report.absence():
            print(f"padir report: {note}", file=sys.stderr)
        return 0
    part = catalogue.part(config, arguments.only)
    results = Reader(config).load(part.needs(config))
    content = make(part, results, options)
    write_part(part, content, arguments.out)
    if isinstance(content, Table):
        print(content.markdown())
    for note in absence_notes(results, options):
        print(f"padir report: {note}", file=sys.stderr)
    return 0
