"""Translate a file with a trained model, or trace how its first sentences are decoded.

Writes one JSON line per sentence, and the hypotheses alone as text, both in the order of the
source. A trace shows every pass.

In: bundle, decoder, sources. Out: JSON lines, plain text; with --trace JSON lines as
`padir.decode.trace` describes them.

examples:
  padir decode --bundle bundle --passes 4 --source test.de --out test.jsonl --text test.txt
  padir decode --bundle ar --decoder beam --source test.de --out test.jsonl --text test.txt \\
      --length-alpha 1
  padir decode --bundle bundle --decoder reranked --reranker ar --passes 4 --source test.de \\
      --out test.jsonl --text test.txt
  padir decode --bundle bundle --passes 4 --source test.de --trace trace.jsonl
  padir decode --bundle bundle --passes 4 --source test.de --out test.jsonl --text test.txt \\
      --oracle-length --references test.en
"""

import argparse
import sys
from pathlib import Path

from padir.commands import options
from padir.commands.arguments import (
    BATCH,
    BUNDLE,
    DIGESTS,
    PASSES,
    RULE,
    decoder_options,
    needed,
    option,
    read_arguments,
)
from padir.commands.trace import TRACED_SENTENCES
from padir.files import InputError
from padir.launch import prepare

OPTIONS = (
    BUNDLE,
    *decoder_options(),
    PASSES,
    needed("--source F", "source text, UTF-8, one sentence a line"),
    option("--out F", "file to write the hypotheses to with their records, as JSON lines"),
    option("--text F", "file to write the hypotheses to as plain text"),
    option(
        "--trace F",
        "file to write the passes of the first sentences to, as JSON lines, instead of --out and"
        " --text; padir trace does so for several decoders",
    ),
    option(
        "--trace-sentences N", f"number of sentences to trace (default {TRACED_SENTENCES})", least=1
    ),
    option(
        "--references F",
        "reference translations: traces show them, and an oracle length predictor reads their"
        " lengths",
    ),
    option(
        "--oracle-length",
        "take each target length from --references instead of predicting it: an upper bound, which"
        " the report never shows",
    ),
    option("--split NAME", "name of the split in the provenance", default="test"),
    *RULE,
    DIGESTS,
    *BATCH,
)


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = read_arguments("decode", __doc__, OPTIONS, argv)
    _check_outputs(arguments)
    prepare(arguments.threads)
    from padir.cleaned import check_cleaned
    from padir.decode.load import find_decoder
    from padir.files import read_aligned, read_lines, write_jsonl, write_lines
    from padir.progress import Progress
    from padir.provenance import write_provenance

    check_cleaned(arguments.source, *filter(None, [arguments.references]))
    rule = options.length_rule(arguments)
    loaded = options.open_bundle(arguments.bundle, arguments.digests)
    decoder = find_decoder(loaded, arguments.decoder)
    translator = options.open_translator(arguments, loaded, decoder, arguments.passes, rule)
    references = None

    def warn(message: str) -> None:
        print(f"padir decode: {message}", file=sys.stderr)

    if arguments.references and (translator.needs_lengths or arguments.trace):
        lines, references = read_aligned(arguments.source, arguments.references)
    else:
        lines = read_lines(arguments.source)
    read = [] if references is None else [arguments.references]
    output: Path = arguments.trace or arguments.out
    if arguments.trace:
        from padir.decode.trace import traces

        count = arguments.trace_sentences or TRACED_SENTENCES
        sample = None if references is None else references[:count]
        records = traces(translator, lines[:count], str(arguments.source), sample, warn)
        write_jsonl(output, records)
    else:
        label = f"decode {loaded.spec.training} {translator.decoding.label}"
        with Progress(len(lines), "sentences", label) as progress:
            hypotheses = translator.translate(
                lines, str(arguments.source), progress.update, references, warn=warn
            )
        write_jsonl(output, (each.record(number) for number, each in enumerate(hypotheses)))
        write_lines(arguments.text, (each.hypothesis for each in hypotheses))
    write_provenance(
        output,
        ["decode", *argv],
        inputs=[arguments.source, *read, *translator.files],
        outputs=filter(None, [arguments.text]),
        spec=loaded.spec.model_dump(mode="json"),
        seed=loaded.seed,
        labels={**translator.labels, "split": arguments.split},
        digests=translator.digests,
    )
    return 0


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse a command line that does not say what to write, or says it twice."""
    texts = (arguments.out, arguments.text)
    if arguments.trace is None and None in texts:
        raise InputError("what to write is missing: name --out and --text, or --trace")
    if arguments.trace is not None and texts != (None, None):
        raise InputError("--trace stands instead of --out and --text: name it or them")
    if arguments.trace is None and arguments.trace_sentences is not None:
        raise InputError("--trace-sentences needs --trace")
