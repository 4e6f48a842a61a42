"""`padir decode`: translate a file. In: bundle, decoder, sources. Out: JSON lines, plain text."""

import argparse
import sys
from pathlib import Path

from padir.commands import options
from padir.launch import prepare

EXAMPLES = """\
examples:
  padir decode --bundle bundle --passes 4 --source test.de --out test.jsonl --text test.txt
  padir decode --bundle ar --decoder beam --source test.de --out test.jsonl --text test.txt \\
      --length-alpha 1
  padir decode --bundle bundle --decoder reranked --reranker ar --passes 4 --source test.de \\
      --out test.jsonl --text test.txt
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
    options.add_decoder(parse)
    parse.add_argument("--passes", type=int, metavar="T", help="decoder passes (parallel models)")
    parse.add_argument("--source", type=Path, required=True, help="one sentence a line, UTF-8")
    parse.add_argument("--out", type=Path, required=True, help="JSON lines to write")
    parse.add_argument("--text", type=Path, required=True, help="hypotheses to write")
    parse.add_argument(
        "--references", type=Path, help="whose lengths an oracle length predictor reads"
    )
    parse.add_argument("--split", default="test", help="label (default test)")
    options.add_rule(parse)
    options.add_digests(parse)
    options.add_batch(parse)
    return parse


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = parser().parse_args(argv)
    options.check_least(arguments, batch_sentences=1)
    prepare(arguments.threads)
    from padir.decode.load import find_decoder
    from padir.files import read_aligned, read_lines, write_jsonl, write_lines
    from padir.progress import Progress
    from padir.provenance import write_provenance

    rule = options.length_rule(arguments)
    loaded = options.open_bundle(arguments.bundle, arguments.digests)
    decoder = find_decoder(loaded, arguments.decoder)
    translator = options.open_translator(arguments, loaded, decoder, arguments.passes, rule)
    references = None
    if arguments.references and translator.needs_lengths:
        lines, references = read_aligned(arguments.source, arguments.references)
    else:
        lines = read_lines(arguments.source)
    label = f"decode {loaded.spec.training} {translator.decoding.label}"
    with Progress(len(lines), "sentences", label) as progress:
        hypotheses = translator.translate(
            lines,
            str(arguments.source),
            progress.update,
            references,
            warn=lambda message: print(f"padir decode: {message}", file=sys.stderr),
        )
    write_jsonl(arguments.out, (each.record(number) for number, each in enumerate(hypotheses)))
    write_lines(arguments.text, (each.hypothesis for each in hypotheses))
    write_provenance(
        arguments.out,
        ["decode", *argv],
        inputs=[arguments.source, *translator.files],
        spec=loaded.spec.model_dump(mode="json"),
        seed=loaded.seed,
        labels={**translator.labels, "split": arguments.split},
        digests=translator.digests,
    )
    return 0
