"""`padir decode`: translate a file. In: bundle, source text. Out: JSON lines and plain text."""

import argparse
import math
import sys
from pathlib import Path

from padir.launch import prepare

EXAMPLES = """\
examples:
  padir decode --bundle bundle --decoding T4 --source test.de --out test.T4.jsonl --text test.T4.txt
  padir decode --bundle ar --decoding beam --source test.de --out test.beam.jsonl \\
      --text test.beam.txt --length-alpha 1
  padir decode --bundle reranked --reranker ar --decoding T4 --source test.de --out test.T4.jsonl \\
      --text test.T4.txt
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parse = argparse.ArgumentParser(
        prog="padir decode",
        description="Translate a file with a trained model: one JSON line per sentence, and the"
        " hypotheses alone as text, both in the order of the source.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--bundle", type=Path, required=True, help="folder of the model bundle")
    parse.add_argument(
        "--decoding",
        required=True,
        help="T<passes> for parallel models; greedy or beam for AR models",
    )
    parse.add_argument("--source", type=Path, required=True, help="one sentence a line, UTF-8")
    parse.add_argument("--out", type=Path, required=True, help="JSON lines to write")
    parse.add_argument("--text", type=Path, required=True, help="hypotheses to write")
    parse.add_argument(
        "--references", type=Path, help="whose lengths a model with length_predictor oracle is told"
    )
    add_rule_arguments(parse)
    add_reranker_argument(parse)
    parse.add_argument("--threads", type=int, help="most CPU threads (default: all cores)")
    return parse


def add_rule_arguments(parse: argparse.ArgumentParser) -> None:
    """Options that replace the bundle's own length rule."""
    parse.add_argument(
        "--length-alpha", type=float, help="length penalty (default: as padir tune chose)"
    )
    parse.add_argument(
        "--length-weight",
        type=float,
        help="weight of the length's log-probability (parallel)",
    )


def given_rule(arguments: argparse.Namespace):
    """The length rule of the command line; None where it names none.

    Raises:
        InputError: a weight without an alpha, or a number that is not finite.
    """
    from padir.decode.rank import LengthRule
    from padir.files import InputError

    alpha, weight = arguments.length_alpha, arguments.length_weight
    if alpha is None and weight is not None:
        raise InputError("--length-weight needs --length-alpha as well")
    for option, value in (("--length-alpha", alpha), ("--length-weight", weight)):
        if value is not None and not math.isfinite(value):
            raise InputError(f"{option} is {value}: allowed are finite numbers")
    return None if alpha is None else LengthRule(alpha, weight or 0.0)


def add_reranker_argument(parse: argparse.ArgumentParser) -> None:
    """The option for models that another model ranks the candidates of."""
    parse.add_argument(
        "--reranker",
        type=Path,
        metavar="BUNDLE",
        help="the AR model that decoding.reranker names, where the model's settings name one",
    )


def given_reranker(arguments: argparse.Namespace):
    """The reranker of the command line; None where it names none.

    Raises:
        InputError: no bundle of an AR model.
    """
    from padir.decode.load import load
    from padir.decode.rerank import Reranker

    return None if arguments.reranker is None else Reranker(load(arguments.reranker))


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = parser().parse_args(argv)
    prepare(arguments.threads)
    from padir.decode.load import Decoding, load
    from padir.decode.translate import Translator
    from padir.files import read_aligned, read_lines, write_jsonl, write_lines
    from padir.progress import Progress
    from padir.provenance import write_provenance

    decoding = Decoding.parse(arguments.decoding)
    loaded = load(arguments.bundle)
    reranker = given_reranker(arguments)
    translator = Translator(loaded, decoding, given_rule(arguments), reranker=reranker)
    references = None
    if arguments.references and translator.needs_lengths:
        lines, references = read_aligned(arguments.source, arguments.references)
    else:
        lines = read_lines(arguments.source)
    label = f"decode {loaded.spec.training} {decoding.name}"
    with Progress(len(lines), "sentences", label) as progress:
        hypotheses = translator.translate(
            lines,
            str(arguments.source),
            progress.update,
            references,
            warn=lambda message: print(f"padir decode: {message}", file=sys.stderr),
        )
    write_jsonl(arguments.out, (one.record(i) for i, one in enumerate(hypotheses)))
    write_lines(arguments.text, (one.hypothesis for one in hypotheses))
    inputs = [arguments.source, *translator.files]
    spec = loaded.spec.model_dump(mode="json")
    write_provenance(arguments.out, ["decode", *argv], inputs=inputs, spec=spec, seed=loaded.seed)
    return 0
