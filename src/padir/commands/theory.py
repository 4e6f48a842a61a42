"""Run one theory experiment on Ising models with one seed.

Prints the constants of each model's regime and the claims with their verdicts:

  estimation       estimation error against k: figures 1 and 2
  mode_reaching    steps until a chain reaches the larger mode: figure 3
  identities       theorems of sections 2.1 and 2.2, by exact enumeration
  tensorisation    tensorisation of entropy, and the finite-sample bound
  product_kernels  distance of a k-Gibbs step from product distributions
  mask_design      optimal mask distributions
  dependent_blocks blocks chosen by the dependence between spins
  errata           counterexamples to printed statements, and corrected ones

In: the experiment's settings as JSON. Out: one JSON document with its settings, the constants of
its models, the series of its figures, and its claims with verdicts.

examples:
  padir theory identities --out identities.json
  padir theory estimation --settings settings.json --seed 1 --out estimation.json
"""

from typing import Any

from padir.commands.arguments import needed, option, read_arguments
from padir.config.theory import EXPERIMENTS

OPTIONS = (
    option("experiment", "name of the experiment", choices=tuple(EXPERIMENTS)),
    option(
        "--settings F", "JSON file with settings of the experiment (default: none, all defaults)"
    ),
    option("--seed N", "random seed of the experiment", default=0, least=0, most=2**32 - 1),
    needed("--out F", "JSON file to write the results to", written=True),
)


def _lines(values: Any, name: str = "regime") -> list[str]:
    """Constants of the models, one line per model."""
    items = list(values.items() if isinstance(values, dict) else enumerate(values, 1))
    nested = [(key, value) for key, value in items if isinstance(value, dict | list)]
    numbers = ", ".join(f"{key} {value}" for key, value in items if (key, value) not in nested)
    lines = [f"{name}: {numbers}"] if numbers else []
    return lines + [line for key, value in nested for line in _lines(value, f"{name} {key}")]


def main(argv: list[str]) -> int:
    """Run, write, print one line per claim."""
    arguments = read_arguments("theory", __doc__, OPTIONS, argv)
    from padir.config.read import read_experiment
    from padir.files import write_json
    from padir.provenance import write_provenance
    from padir.theory.runs import run_experiment

    settings = read_experiment(arguments.experiment, arguments.settings)
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
