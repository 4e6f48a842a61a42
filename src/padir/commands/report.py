"""`padir report`: every table, figure and claim, and one HTML page, from finished results.

In: a results folder and the merged config. Out: tables/, figures/, claims.json, claims.md and
index.html in the output folder.
"""

import argparse
from pathlib import Path

EXAMPLES = """\
examples:
  padir report --results results --config results/report/config.json --out results/report
  padir report --results results --config results/report/config.json --out results/report \\
      --only table1
"""
CHOICES = (
    *("table1", "table2", "table3", "table4", "table5", "ablations", "samplers", "stutter"),
    *("latency", "distillation", "data", "dependency", "dependency_decoding", "redundancy"),
    *("self_attention_heads", "cross_attention_heads"),
    *("quality_passes", "quality_latency", "stutter_passes"),
    *("training", "training_time"),
    *("claims", "page"),
)


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = argparse.ArgumentParser(
        prog="padir report",
        description="Write tables, figures, the claims with their verdicts, and index.html; print"
        " table 1 and the page's path.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--results", type=Path, required=True, metavar="DIR", help="results folder")
    made.add_argument("--config", type=Path, required=True, metavar="F", help="merged config, JSON")
    made.add_argument("--out", type=Path, required=True, metavar="DIR", help="output folder")
    made.add_argument("--only", choices=CHOICES, help="write this one part alone")
    return made


def main(argv: list[str]) -> int:
    """Read all results, write what was asked for, print it."""
    arguments = parser().parse_args(argv)
    from padir.config.read import check_config
    from padir.files import InputError, read_json, shown
    from padir.report import claims, claims_table, write

    settings = read_json(arguments.config)
    if not isinstance(settings, dict):
        raise InputError(f"{shown(arguments.config)}: not a JSON object of settings")
    results = write.load_results(arguments.results, check_config(settings))
    if arguments.only == "claims":
        records = claims.decide(results)
        claims_table.write_claims(records, arguments.out)
        print(claims_table.claims_table(records).markdown())
        return 0
    if arguments.only == "page":
        print(write.write_page(results, arguments.out))
        return 0
    for drawn in (write.FIGURES, write.HEAT_MAPS):
        if arguments.only in drawn:
            drawn[arguments.only](results).write(arguments.out / "figures")
            return 0
    if arguments.only is not None:
        table = write.TABLES[arguments.only](results)
        table.write(arguments.out / "tables")
        print(table.markdown())
        return 0
    path = write.write_report(results, arguments.out)
    print(write.TABLES["table1"](results).markdown())
    print(path)
    return 0
