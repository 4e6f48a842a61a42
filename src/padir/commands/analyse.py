"""`padir analyse`: dependence between target positions. In: bundle, text. Out: JSON."""

import argparse
import sys
from pathlib import Path

from padir.commands.decode import add_reranker_argument, given_reranker
from padir.launch import prepare

DESCRIPTION = """\
Ask which target positions of a parallel model hang together: attention between and from them,
stutter, a probe that replaces the token at one position, and, on the synthetic pair, the exact
dependence. Writes one JSON document with tests and verdicts; no attention weights are kept."""

EXAMPLES = """\
examples:
  padir analyse --bundle bundle --source test.de --references test.en --target-language en \\
      --out analysis.json
  padir analyse --bundle bundle --source test.xs --references test.xt test.xt.1 \\
      --target-language xt --grammar grammar.json --mode-strength 0.8 --out analysis.json
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parse = argparse.ArgumentParser(
        prog="padir analyse",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--bundle", type=Path, required=True, help="folder of a parallel model")
    parse.add_argument("--source", type=Path, required=True, help="one sentence a line, UTF-8")
    parse.add_argument("--references", type=Path, required=True, nargs="+", help="one file each")
    parse.add_argument("--target-language", required=True, metavar="L", help="language code")
    parse.add_argument("--out", type=Path, required=True, help="JSON to write")
    parse.add_argument(
        "--passes", type=int, nargs="+", default=[1, 2, 4], metavar="T",
        help="passes looked at; the claims are about the first (default 1 2 4)",
    )  # fmt: skip
    parse.add_argument(
        "--sentences", type=int, default=500, help="evenly spread over the file (default 500)"
    )
    parse.add_argument(
        "--distance", type=int, default=8, help="largest distance of a pair, pieces (default 8)"
    )
    parse.add_argument(
        "--alternatives", type=int, default=4, metavar="K",
        help="likeliest tokens that the probe tries at a position (default 4)",
    )  # fmt: skip
    parse.add_argument("--samples", type=int, default=1000, help="bootstrap (default 1000)")
    parse.add_argument("--grammar", type=Path, help="grammar.json of the synthetic pair")
    parse.add_argument(
        "--mode-strength", type=float, help="source.mode_strength of its settings, with --grammar"
    )
    parse.add_argument("--split", default="test", help="label (default test)")
    add_reranker_argument(parse)
    parse.add_argument("--threads", type=int, help="most CPU threads (default: all cores)")
    return parse


def check(arguments: argparse.Namespace) -> None:
    """Refuse numbers out of their range.

    Raises:
        InputError: naming the option and what is allowed.
    """
    from padir.decode.load import MOST_PASSES
    from padir.files import InputError

    least = {"sentences": 2, "distance": 1, "alternatives": 2, "samples": 40}
    for option, fewest in least.items():
        value = getattr(arguments, option)
        if value < fewest:
            raise InputError(f"--{option} is {value}: allowed are {fewest} and more")
    for value in arguments.passes:
        if not 1 <= value <= MOST_PASSES:
            raise InputError(f"--passes holds {value}: allowed are 1 to {MOST_PASSES}")
    strength = arguments.mode_strength
    if (arguments.grammar is None) != (strength is None):
        raise InputError("--grammar and --mode-strength go together: give both or neither")
    if strength is not None and not 0 <= strength <= 1:
        raise InputError(f"--mode-strength is {strength}: allowed are numbers from 0 to 1")


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = parser().parse_args(argv)
    check(arguments)
    prepare(arguments.threads)
    from padir.analysis.attention import Extractor
    from padir.analysis.document import Options, TestSet, analyse
    from padir.data.grammar import Grammar
    from padir.decode.load import Decoding, load
    from padir.decode.translate import Translator
    from padir.files import InputError, read_aligned, shown, write_json
    from padir.progress import Progress
    from padir.provenance import write_provenance

    loaded = load(arguments.bundle)
    first = arguments.passes[0]
    reranker = given_reranker(arguments)
    translator = Translator(loaded, Decoding(f"T{first}", first), reranker=reranker)
    columns = read_aligned(arguments.source, *arguments.references)
    full = [row for row in zip(*columns, strict=True) if row[0].strip()]
    read = translator.readable([row[0] for row in full])
    rows = [row for row, fits in zip(full, read, strict=True) if fits]
    if len(rows) < len(full):
        print(
            f"padir analyse: {arguments.source}: {len(full) - len(rows)} of {len(full)} lines are"
            " too long for the model and not looked at",
            file=sys.stderr,
        )
    count = min(arguments.sentences, len(rows))
    if count < 2:
        raise InputError(f"{shown(arguments.source)}: {len(rows)} sentences, at least 2 are needed")
    lines, *references = zip(*(rows[i * len(rows) // count] for i in range(count)), strict=True)
    grammar = None if arguments.grammar is None else Grammar.load(arguments.grammar)
    test = TestSet(lines, references, arguments.target_language, grammar)
    options = Options(tuple(arguments.passes), arguments.samples, arguments.mode_strength or 0.0)
    extractor = Extractor(loaded, arguments.distance, arguments.alternatives)
    total = count * (len(options.passes) + (grammar is not None))
    with Progress(total, "sentences", f"analyse {loaded.spec.training}") as progress:
        found = analyse(translator, extractor, test, options, progress.update)
    spec = loaded.spec
    place = f"{spec.dataset} {spec.direction}, {spec.training}"
    for claim in found["claims"]:
        claim |= {"dataset": place, "seeds": [loaded.seed]}
    labels = {
        "dataset": spec.dataset,
        "direction": spec.direction,
        "model": spec.training,
        "system": spec.run.system,
        "targets": spec.run.targets,
        "seed": loaded.seed,
        "split": arguments.split,
    }
    write_json(arguments.out, labels | found)
    inputs = [arguments.source, *arguments.references, *translator.files]
    inputs += [arguments.grammar] if arguments.grammar else []
    write_provenance(
        arguments.out,
        ["analyse", *argv],
        inputs=inputs,
        spec=spec.model_dump(mode="json"),
        seed=loaded.seed,
    )
    return 0
