"""`padir latency`: time whole translations at batch 1. In: bundles, source text. Out: JSON."""

import argparse
import sys
from pathlib import Path

from padir.launch import prepare

EXAMPLES = """\
example:
  padir latency --runs ar/bundle padir/bundle --decodings greedy beam T1 T4 --source test.de \\
      --sentences 200 --out latency.json
  Let nothing else run on the machine meanwhile.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parse = argparse.ArgumentParser(
        prog="padir latency",
        description="Time whole translations, text to text, one sentence at a time. Every model"
        " runs with those of the decodings that fit its system.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--runs", type=Path, nargs="+", required=True, help="model bundles")
    parse.add_argument(
        "--reranker",
        type=Path,
        nargs="+",
        default=[],
        metavar="BUNDLE",
        help="AR models that rank candidates, each used for the models whose decoding.reranker"
        " names it; their time is part of the sentence's",
    )
    parse.add_argument("--decodings", nargs="+", required=True, help="T<passes>, greedy, beam")
    parse.add_argument("--source", type=Path, required=True, help="one sentence a line")
    parse.add_argument("--sentences", type=int, default=200, help="lines timed (default 200)")
    parse.add_argument("--repeats", type=int, default=3, help="timings per line (default 3)")
    parse.add_argument("--out", type=Path, required=True, help="JSON to write")
    parse.add_argument("--threads", type=int, help="most CPU threads (default: all cores)")
    return parse


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = parser().parse_args(argv)
    prepare(arguments.threads)
    from padir.analysis.speed import Timed, machine, measure
    from padir.decode.load import Decoding, load
    from padir.decode.rerank import Reranker
    from padir.decode.translate import Translator
    from padir.files import InputError, read_lines, shown, write_json
    from padir.progress import Progress
    from padir.provenance import write_provenance

    for option in ("sentences", "repeats"):
        if getattr(arguments, option) < 1:
            raise InputError(f"--{option} must be 1 or more")
    lines = [line for line in read_lines(arguments.source) if line.strip()]
    lines = spread(lines, arguments.sentences)
    if not lines:
        raise InputError(f"{shown(arguments.source)}: no line to translate")
    decodings = list(map(Decoding.parse, arguments.decodings))
    models = [load(folder) for folder in arguments.runs]
    rerankers = {
        one.loaded.spec.training: one for one in map(Reranker, map(load, arguments.reranker))
    }
    unused = rerankers.keys() - {loaded.spec.run.decoding.reranker for loaded in models}
    if unused:
        raise InputError(f"--reranker: no given model is ranked by {', '.join(sorted(unused))}")
    # A model that must be told lengths is a bound on quality, not a system to time.
    models = [loaded for loaded in models if not loaded.model.length_oracle]
    systems = {loaded.spec.run.parallel for loaded in models}
    for decoding in decodings:
        if decoding.parallel not in systems:
            raise InputError(f"decoding {decoding.name} fits none of the given models")
    timed = []
    for loaded in models:
        shared: Translator | None = None
        for decoding in decodings:
            if decoding.parallel != loaded.spec.run.parallel:
                continue
            compiled = shared is not None and decoding.passes > 0
            if shared is None or not compiled:
                reranker = rerankers.get(loaded.spec.run.decoding.reranker or "")
                shared = Translator(loaded, decoding, reranker=reranker)
            timed.append(Timed(loaded.spec.training, shared.with_decoding(decoding), compiled))
    given = lines
    for one in timed:
        read = one.translator.readable(lines)
        lines = [line for line, fits in zip(lines, read, strict=True) if fits]
    if not lines:
        raise InputError(f"{shown(arguments.source)}: every line is too long for a model")
    if len(lines) < len(given):
        print(
            f"padir latency: {arguments.source}: {len(given) - len(lines)} of {len(given)} lines"
            " are too long for a model and not timed",
            file=sys.stderr,
        )
    about = machine(arguments.threads)
    with Progress(2 * len(lines), "sentences", "latency") as progress:
        rows = measure(timed, lines, arguments.repeats, progress.update)
    write_json(
        arguments.out,
        {
            "machine": about,
            "sentences": len(lines),
            "repeats": arguments.repeats,
            "batch": 1,
            "rows": rows,
        },
    )
    bundles = [*models, *rerankers.values()]
    files = [path for bundle in bundles for path in bundle.files]
    write_provenance(arguments.out, ["latency", *argv], inputs=[arguments.source, *files])
    return 0


def spread(lines: list[str], count: int) -> list[str]:
    """`count` lines evenly spread over all; all of them where there are no more."""
    if len(lines) <= count:
        return lines
    return [lines[index * len(lines) // count] for index in range(count)]
