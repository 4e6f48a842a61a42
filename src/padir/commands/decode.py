"""Translate a file with a trained model.

Writes one JSON line per sentence, and the hypotheses alone as text, both in the order of the
source.

In: bundle, decoder, sources. Out: JSON lines, plain text.

examples:
  padir decode --bundle bundle --passes 4 --source test.de --out test.jsonl --text test.txt
  padir decode --bundle ar --decoder beam --source test.de --out test.jsonl --text test.txt \\
      --length-alpha 1
  padir decode --bundle bundle --decoder reranked --reranker ar --passes 4 --source test.de \\
      --out test.jsonl --text test.txt
  padir decode --bundle bundle --passes 4 --source test.de --out test.jsonl --text test.txt \\
      --oracle-length --references test.en
"""

import sys

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
from padir.launch import prepare

OPTIONS = (
    BUNDLE,
    *decoder_options(),
    PASSES,
    needed("--source F", "source text, UTF-8, one sentence a line"),
    needed(
        "--out F", "file to write the hypotheses to with their records, as JSON lines", written=True
    ),
    needed("--text F", "file to write the hypotheses to as plain text", written=True),
    option(
        "--references F", "reference translations, whose lengths an oracle length predictor reads"
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
    prepare(arguments.threads)
    from padir.cleaned import check_cleaned
    from padir.decode.given_files import read_lines_of
    from padir.decode.load import find_decoder
    from padir.files import read_lines, sha256_file, write_jsonl, write_lines
    from padir.progress import Progress
    from padir.provenance import write_provenance

    check_cleaned(arguments.source, *filter(None, [arguments.references]))
    loaded = options.open_bundle(arguments.bundle, arguments.digests)
    decoder = find_decoder(loaded, arguments.decoder)
    rule = options.length_rule(arguments, decoder, loaded)
    with options.naming_rule_options():
        translator = options.open_translator(arguments, loaded, decoder, arguments.passes, rule)
    references = None

    def warn(message: str) -> None:
        print(f"padir decode: {message}", file=sys.stderr)

    read = [arguments.source]
    if arguments.references and translator.needs_lengths:
        read.append(arguments.references)
    # Now: what an edit makes of them meanwhile is not what was translated.
    inputs = {path: sha256_file(path) for path in (*read, *translator.files)}
    if len(read) > 1:
        lines, references = read_lines_of(*read)
    else:
        lines = read_lines(arguments.source, strip_bom=True)
    label = f"decode {loaded.spec.training} {translator.decoding.label}"
    with Progress(len(lines), "sentences", label) as progress:
        hypotheses = translator.translate(
            lines, str(arguments.source), progress.update, references, warn=warn
        )
    write_jsonl(arguments.out, (each.record(number) for number, each in enumerate(hypotheses)))
    write_lines(arguments.text, (each.hypothesis for each in hypotheses))
    write_provenance(
        arguments.out,
        ["decode", *argv],
        inputs=inputs,
        outputs=[arguments.text],
        spec=loaded.spec.model_dump(mode="json"),
        seed=loaded.seed,
        labels={**translator.labels, "split": arguments.split},
        digests=translator.digests,
    )
    return 0
