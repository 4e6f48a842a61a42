"""`padir analyse`: dependence between target positions. In: bundle, text. Out: JSON."""

import argparse
import sys
from pathlib import Path

from padir.commands import options
from padir.launch import prepare

DESCRIPTION = """\
Ask which target positions of a parallel model hang together: attention between and from them,
stutter, a probe that replaces the token at one position, and, on the synthetic pair, the exact
dependence. Writes one JSON document with tests and verdicts; no attention weights are kept."""

EXAMPLES = """\
examples:
  padir analyse --bundle bundle --decoder padir --source test.de --references test.en \\
      --target-language en --out analysis.json
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
    options.add_decoder(parse)
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
    options.add_digests(parse)
    options.add_batch(parse)
    return parse


def check(arguments: argparse.Namespace) -> None:
    """Refuse numbers out of their range.

    Raises:
        InputError: naming the option and what is allowed.
    """
    from padir.config.decoder import MOST_PASSES
    from padir.files import InputError

    options.check_least(
        arguments, sentences=2, distance=1, alternatives=2, samples=40, batch_sentences=1
    )
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
    from padir.decode.load import find_decoder
    from padir.files import InputError, read_aligned, shown, write_json
    from padir.progress import Progress
    from padir.provenance import write_provenance

    expected = arguments.digests
    # The hypotheses of several numbers of passes are analysed.
    arguments.digests = {key: value for key, value in expected.items() if key != "hypotheses"}
    loaded = options.open_bundle(arguments.bundle, arguments.digests)
    decoder = find_decoder(loaded, arguments.decoder)
    translator = options.open_translator(arguments, loaded, decoder, arguments.passes[0])
    columns = read_aligned(arguments.source, *arguments.references)
    nonempty = [row for row in zip(*columns, strict=True) if row[0].strip()]
    readable = translator.readable([row[0] for row in nonempty])
    rows = [row for row, fits in zip(nonempty, readable, strict=True) if fits]
    if len(rows) < len(nonempty):
        print(
            f"padir analyse: {arguments.source}: {len(nonempty) - len(rows)} of {len(nonempty)}"
            " lines are too long for the model and not analysed",
            file=sys.stderr,
        )
    count = min(arguments.sentences, len(rows))
    if count < 2:
        raise InputError(f"{shown(arguments.source)}: {len(rows)} sentences, at least 2 are needed")
    lines, *references = zip(*(rows[i * len(rows) // count] for i in range(count)), strict=True)
    grammar = None if arguments.grammar is None else Grammar.load(arguments.grammar)
    test = TestSet(lines, references, arguments.target_language, grammar)
    measured = Options(tuple(arguments.passes), arguments.samples, arguments.mode_strength or 0.0)
    extractor = Extractor(
        loaded, decoder, arguments.distance, arguments.alternatives, arguments.batch_sentences
    )
    total = count * (len(measured.passes) + (grammar is not None))
    label = f"analyse {loaded.spec.training} {decoder.name}"
    with Progress(total, "sentences", label) as progress:
        document = analyse(translator, extractor, test, measured, progress.update)
    spec = loaded.spec
    place = f"{spec.dataset} {spec.direction}, {spec.training}"
    for claim in document["claims"]:
        claim |= {"dataset": place, "seeds": [loaded.seed]}
    labels = {**loaded.labels, "decoder": decoder.name, "split": arguments.split}
    digests = expected or {k: v for k, v in translator.digests.items() if k != "hypotheses"}
    write_json(arguments.out, labels | {"digests": digests} | document)
    inputs = [arguments.source, *arguments.references, *translator.files]
    inputs += [arguments.grammar] if arguments.grammar else []
    write_provenance(
        arguments.out,
        ["analyse", *argv],
        inputs=inputs,
        spec=spec.model_dump(mode="json"),
        seed=loaded.seed,
        labels=labels,
        digests=digests,
    )
    return 0
