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
Run one experiment of the paper's theory on Ising models; print the constants that say which regime
each model is in, and its claims with verdicts:

  estimation       error against k, figures 1 and 2
  mode_reaching    steps to the larger mode, figure 3
  identities       every theorem of sections 2.1 and 2.2, by enumeration
  tensorisation    entropy tensorisation and the finite-sample bound
  product_kernels  how far a k-Gibbs step is from every product law
  mask_design      mask distributions better than uniform
  dependent_blocks blocks chosen by dependence
  errata           statements as printed, and as they hold"""
EXAMPLES = """\
examples:
  padir theory identities --out identities.json
  padir theory estimation --settings settings.json --seed 1 --out estimation.json
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = argparse.ArgumentParser(
        prog="padir theory",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("experiment", choices=NAMES, help="which one")
    made.add_argument(
        "--settings", type=Path, metavar="F", help="the experiment's settings, JSON (default: ours)"
    )
    made.add_argument("--seed", type=int, default=0, metavar="N", help="default 0")
    made.add_argument("--out", type=Path, required=True, metavar="F", help="JSON to write")
    return made


def _lines(values: Any, name: str = "regime") -> list[str]:
    """The constants of the models, one line per model."""
    items = values.items() if isinstance(values, dict) else enumerate(values, 1)
    inner = [(key, value) for key, value in items if isinstance(value, dict | list)]
    own = values.items() if isinstance(values, dict) else ()
    plain = ", ".join(f"{key} {value}" for key, value in own if not isinstance(value, dict | list))
    lines = [f"{name}: {plain}"] if plain else []
    return lines + [line for key, value in inner for line in _lines(value, f"{name} {key}")]


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
