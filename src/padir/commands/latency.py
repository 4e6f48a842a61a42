"""Measure latency: the time of whole translations, text to text, at batch size 1.

In: bundles, source text. Out: JSON.

example:
  padir latency --rows ar/bundle:greedy padir/bundle:padir.T1 padir/bundle:padir.T4 \\
      --source test.de --sentences 200 --out latency.json
  Let nothing else run on the machine meanwhile.
"""

import argparse
import sys
from pathlib import Path

from padir.commands import options
from padir.commands.arguments import DIGESTS, needed, option, read_arguments, threads
from padir.launch import prepare

OPTIONS = (
    needed(
        "--rows BUNDLE:DECODER[.T4] ...",
        "rows to time: a bundle, one of its decoders or a built-in one, and for parallel models"
        " the number of passes",
    ),
    option(
        "--reranker BUNDLE ...",
        "bundles of AR rerankers, each for the decoders whose setting `reranker` names it; the"
        " latency includes their time",
    ),
    needed("--source F", "source text, one sentence a line"),
    option("--sentences N", "number of sentences to time", default=200, least=1),
    option("--repeats N", "number of measurements per sentence", default=3, least=1),
    needed("--out F", "JSON file to write the timings to", written=True),
    DIGESTS,
    threads(),
)


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = read_arguments("latency", __doc__, OPTIONS, argv)
    prepare(arguments.threads)
    from padir.cleaned import check_cleaned
    from padir.decode.latency import machine, measure
    from padir.files import InputError, read_lines, shown, write_json
    from padir.progress import Progress
    from padir.provenance import write_provenance

    check_cleaned(arguments.source)
    lines = [line for line in read_lines(arguments.source, strip_bom=True) if line.strip()]
    lines = spread(lines, arguments.sentences)
    if not lines:
        raise InputError(f"{shown(arguments.source)}: no line to translate")
    rows = timed_rows(arguments, options.open_rerankers(arguments.reranker))
    total = len(lines)
    for row in rows:
        fits = row.translator.readable(lines)
        lines = [line for line, readable in zip(lines, fits, strict=True) if readable]
    if not lines:
        raise InputError(f"{shown(arguments.source)}: every line is too long for a model")
    if len(lines) < total:
        print(
            f"padir latency: {shown(arguments.source)}: {total - len(lines)} of {total} lines"
            " are too long for a model and not timed",
            file=sys.stderr,
        )
    about = machine(arguments.threads)
    with Progress(2 * len(lines), "sentences", "latency") as progress:
        measured = measure(rows, lines, arguments.repeats, progress.update)
    content = {"machine": about, "sentences": len(lines), "repeats": arguments.repeats, "batch": 1}
    write_json(arguments.out, {**content, "digests": arguments.digests, "rows": measured})
    files = dict.fromkeys(path for row in rows for path in row.translator.files)
    inputs = [arguments.source, *files]
    write_provenance(arguments.out, ["latency", *argv], inputs=inputs, digests=arguments.digests)
    return 0


def timed_rows(arguments: argparse.Namespace, rerankers: dict) -> list:
    """The rows of the command line. Rows of one bundle share its model, and those that differ in
    passes alone share programs. Raises InputError for a row that cannot be, and for a reranker
    that no row uses."""
    from padir.decode.latency import TimedRow
    from padir.decode.load import find_decoder
    from padir.decode.translate import Translator
    from padir.files import InputError

    models, translators, rows, used = {}, {}, [], set()
    for text in arguments.rows:
        bundle, colon, name = text.rpartition(":")
        if not colon or not bundle:
            raise InputError(f"--rows: {text!r}: BUNDLE:DECODER or BUNDLE:DECODER.T4 is needed")
        name, passes = options.parse_decoding(name)
        if bundle not in models:
            models[bundle] = options.open_bundle(Path(bundle), arguments.digests)
        loaded = models[bundle]
        shared = translators.get((bundle, name))
        if shared is None:
            decoder = find_decoder(loaded, name)
            reranker = rerankers.get(decoder.settings.reranker)
            used.add(decoder.settings.reranker)
            translator = Translator(loaded, decoder, passes, reranker=reranker)
            translators[bundle, name] = translator
        else:
            translator = shared.with_passes(passes)
        # An oracle length predictor is a bound on quality, not a system to time.
        if not loaded.model.length_oracle:
            rows.append(TimedRow(translator, shares_programs=shared is not None))
    options.refuse_unused(rerankers, used)
    return rows


def spread(lines: list[str], count: int) -> list[str]:
    """`count` lines evenly spread over all; all of them where there are no more."""
    if len(lines) <= count:
        return lines
    return [lines[index * len(lines) // count] for index in range(count)]
