"""`padir distill-card`: describe distilled targets. In: aligned text. Out: card.json."""

import argparse
from pathlib import Path
from typing import Any

EXAMPLES = """\
example:
  padir distill-card --teacher ar --row ar/beam --train distilled.en --train-reference train.en \\
      --valid distilled.valid.en --valid-references valid.en --target-language en --out card.json
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parse = argparse.ArgumentParser(
        prog="padir distill-card",
        description="Write the provenance card of distilled targets: the teacher's own BLEU on"
        " validation data, its agreement with the raw targets, digests, and on synthetic data the"
        " share of valid translations.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--teacher", required=True, help="its name")
    parse.add_argument(
        "--row",
        required=True,
        help="training and decoder, such as ar/beam; files if ready-made, cloud if bought",
    )
    parse.add_argument("--train", type=Path, required=True, help="translated training sources")
    parse.add_argument("--train-reference", type=Path, required=True, help="raw training targets")
    parse.add_argument("--valid", type=Path, required=True, help="translated validation sources")
    parse.add_argument("--valid-references", type=Path, nargs="+", required=True, metavar="F")
    parse.add_argument("--target-language", required=True, metavar="L", help="such as en")
    parse.add_argument("--grammar", type=Path, help="grammar.json of synthetic data")
    parse.add_argument("--sources", type=Path, help="training sources, needed with --grammar")
    parse.add_argument(
        "--extra-statistics",
        type=Path,
        metavar="F",
        help="extra.LANGUAGE.statistics.json of extra sources, which stand behind the training"
        " sources and have no raw targets",
    )
    parse.add_argument("--digests", metavar="JSON", help="of the settings, by stage")
    parse.add_argument("--out", type=Path, required=True, help="card.json to write")
    return parse


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = parser().parse_args(argv)
    from padir.distill.card import describe
    from padir.files import InputError, write_json
    from padir.provenance import given_digests, write_provenance
    from padir.score.bleu import streamed_bleu_counts

    if (arguments.grammar is None) != (arguments.sources is None):
        raise InputError("--grammar and --sources go together")

    def bleu(aligned) -> dict[str, Any]:
        counts = streamed_bleu_counts(aligned, arguments.target_language)
        return {"score": counts.score(), "signature": counts.signature}

    grammar = (arguments.grammar, arguments.sources) if arguments.grammar else None
    card = describe(
        arguments.teacher,
        arguments.row,
        (arguments.train, arguments.train_reference),
        (arguments.valid, arguments.valid_references),
        bleu,
        grammar,
        arguments.extra_statistics,
    )
    write_json(arguments.out, {"digests": given_digests(arguments.digests), **card})
    read = [arguments.train, arguments.train_reference, arguments.valid]
    read += [*arguments.valid_references, *(grammar or ())]
    read += [arguments.extra_statistics] if arguments.extra_statistics else []
    write_provenance(arguments.out, ["distill-card", *argv], inputs=read)
    return 0
