"""`padir tune`: choose the length rule. In: bundle, validation text. Out: decoding.json."""

import argparse
import sys
from pathlib import Path

from padir.launch import prepare

EXAMPLES = """\
example:
  padir tune --bundle bundle --source valid.de --references valid.en --out bundle/decoding.json
  decoding.json inside the bundle is what decode, distill, translate and latency read.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    from padir.commands.decode import add_reranker_argument

    parse = argparse.ArgumentParser(
        prog="padir tune",
        description="Choose how much a hypothesis' length counts, by BLEU on validation data.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--bundle", type=Path, required=True, help="folder of the model bundle")
    parse.add_argument("--source", type=Path, required=True, help="validation sources")
    parse.add_argument(
        "--references", type=Path, nargs="+", required=True, help="one file per reference"
    )
    parse.add_argument("--out", type=Path, required=True, help="decoding.json to write")
    add_reranker_argument(parse)
    parse.add_argument("--threads", type=int, help="most CPU threads (default: all cores)")
    return parse


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = parser().parse_args(argv)
    prepare(arguments.threads)
    from padir.commands.decode import given_reranker
    from padir.decode.load import load
    from padir.decode.tune import passes_over, tune
    from padir.files import read_aligned, write_json
    from padir.progress import Progress
    from padir.provenance import write_provenance
    from padir.score.bleu import RepeatedBleu

    loaded = load(arguments.bundle)
    reranker = given_reranker(arguments)
    lines, *references = read_aligned(arguments.source, *arguments.references)
    target_language = loaded.spec.direction.split("-")[1]
    with Progress(
        len(lines) * passes_over(loaded), "sentences", f"tune {loaded.spec.training}"
    ) as progress:
        content = tune(
            loaded,
            lines,
            str(arguments.source),
            RepeatedBleu(references, target_language),
            references[0],
            progress.update,
            reranker,
            warn=lambda message: print(f"padir tune: {message}", file=sys.stderr),
        )
    write_json(arguments.out, content)
    files = [*loaded.files, *(reranker.files if reranker else [])]
    write_provenance(
        arguments.out,
        ["tune", *argv],
        inputs=[arguments.source, *arguments.references, *files],
        spec=loaded.spec.model_dump(mode="json"),
        seed=loaded.seed,
    )
    return 0
