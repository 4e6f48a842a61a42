"""`padir theory`: run one Ising experiment with one seed.

In: the experiment's settings as JSON. Out: one JSON document with its settings, the constants of
its models, the series of its figures, and its claims with verdicts.
"""

import argparse
from pathlib import Path
from typing import Any

NAMES = (
    *("estimation", "mode_reaching", "identities", "tensorisation"),
    *("product_kernels", "mask_design", "dependent_blocks", "errata"),
)
DESCRIPTION = """\
Run one experiment of the paper's theory on Ising models; print the constants of each model's regime
and the claims with their verdicts:

  estimation       error against k, figures 1 and 2
  mode_reaching    steps to the larger mode, figure 3
  identities       theorems of sections 2.1 and 2.2, by enumeration
  tensorisation    entropy tensorisation and the finite-sample bound
  product_kernels  distance from a k-Gibbs step to product laws
  mask_design      optimal mask distributions
  dependent_blocks dependency-aware blocks
  errata           statements as printed, and as they hold"""
EXAMPLES = """\
examples:
  padir theory identities --out identities.json
  padir theory estimation --settings settings.json --seed 1 --out estimation.json
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = argparse.ArgumentParser(
        prog="padir theory",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("experiment", choices=NAMES, help="the experiment")
    parser.add_argument(
        "--settings",
        type=Path,
        metavar="F",
        help="settings as JSON (default: the defaults)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default 0)")
    parser.add_argument("--out", type=Path, required=True, metavar="F", help="JSON to write")
    return parser


def _lines(values: Any, name: str = "regime") -> list[str]:
    """Constants of the models, one line per model."""
    items = list(values.items() if isinstance(values, dict) else enumerate(values, 1))
    nested = [(key, value) for key, value in items if isinstance(value, dict | list)]
    numbers = ", ".join(f"{key} {value}" for key, value in items if (key, value) not in nested)
    lines = [f"{name}: {numbers}"] if numbers else []
    return lines + [line for key, value in nested for line in _lines(value, f"{name} {key}")]


def main(argv: list[str]) -> int:
    """Run, write, print one line per claim."""
    arguments = parser().parse_args(argv)
    from padir.files import InputError, read_json, shown, write_json
    from padir.provenance import write_provenance
    from padir.theory.runs import check_settings, run_experiment

    if arguments.seed < 0:
        raise InputError(f"--seed is {arguments.seed}: allowed are 0 and more")
    given = {} if arguments.settings is None else read_json(arguments.settings)
    where = "settings" if arguments.settings is None else shown(arguments.settings)
    settings = check_settings(arguments.experiment, given, where)
    document = run_experiment(arguments.experiment, settings, arguments.seed)
    write_json(arguments.out, document)
    write_provenance(
        arguments.out,
        ["theory", *argv],
        inputs=[] if arguments.settings is None else [arguments.settings],
        spec=document["settings"],
        seed=arguments.seed,
    )
    for line in _lines(document["regimes"]):
        print(line)
    for claim in document["claims"]:
        print(f"{claim['verdict']:<14}  {claim['id']}: {claim['statement']}")
    return 0
