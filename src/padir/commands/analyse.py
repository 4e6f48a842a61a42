"""Measure which target positions of a parallel model depend on each other.

Reports attention between and from them, stutter, a probe that replaces the token at one position,
and, on the synthetic pair, the exact dependence. Writes one JSON document with tests and verdicts;
no attention weights are kept.

In: bundle, text. Out: JSON.

examples:
  padir analyse --bundle bundle --decoder padir --source test.de --references test.en \\
      --target-language en --out analysis.json
  padir analyse --bundle bundle --source test.xs --references test.xt test.xt.1 \\
      --target-language xt --grammar grammar.json --mode-strength 0.8 --out analysis.json
"""

import argparse
import sys

from padir.commands import options
from padir.commands.arguments import (
    BATCH,
    BUNDLE,
    DIGESTS,
    TARGET_LANGUAGE,
    decoder_options,
    needed,
    option,
    read_arguments,
)
from padir.launch import prepare

OPTIONS = (
    BUNDLE,
    *decoder_options(),
    needed("--source F", "source text, UTF-8, one sentence a line"),
    needed("--references F ...", "reference translations, one file for each set of references"),
    TARGET_LANGUAGE,
    needed("--out F", "JSON file to write the analysis to", written=True),
    option(
        "--passes T ...",
        "decoder passes to analyse; the claims are about the first of them",
        default=[1, 2, 4],
    ),
    option(
        "--sentences N",
        "number of sentences to analyse, evenly spread over the source",
        default=500,
        least=2,
        most=1_000_000_000,
    ),
    option(
        "--distance N",
        "largest distance of a pair of target positions, in pieces",
        default=8,
        least=1,
    ),
    option(
        "--alternatives K",
        "number of likeliest tokens that the probe substitutes at a position",
        default=4,
        least=2,
    ),
    option("--samples N", "number of bootstrap resamples", default=1000, least=40),
    option(
        "--grammar F",
        "grammar.json of the synthetic pair: adds the exact dependence (with --mode-strength)",
    ),
    option(
        "--mode-strength X", "setting source.mode_strength of the synthetic pair, for --grammar"
    ),
    option("--split NAME", "name of the split in the output", default="test"),
    DIGESTS,
    *BATCH,
)


def check(arguments: argparse.Namespace) -> None:
    """Refuse numbers out of their range; the error names the option and what is allowed."""
    from padir.config.decoder import MOST_PASSES
    from padir.files import InputError

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
    arguments = read_arguments("analyse", __doc__, OPTIONS, argv)
    check(arguments)
    prepare(arguments.threads)
    from padir.analysis.attention import Extractor
    from padir.analysis.document import Options, TestSet, analyse
    from padir.cleaned import check_cleaned
    from padir.data.grammar import Grammar
    from padir.decode.load import find_decoder
    from padir.files import InputError, read_aligned, shown, write_json
    from padir.progress import Progress
    from padir.provenance import write_provenance

    check_cleaned(arguments.source, *arguments.references)
    expected = arguments.digests
    # The hypotheses of several numbers of passes are analysed.
    arguments.digests = {key: value for key, value in expected.items() if key != "hypotheses"}
    loaded = options.open_bundle(arguments.bundle, arguments.digests)
    decoder = find_decoder(loaded, arguments.decoder)
    translator = options.open_translator(arguments, loaded, decoder, arguments.passes[0])
    columns = read_aligned(arguments.source, *arguments.references, strip_bom=True)
    nonempty = [row for row in zip(*columns, strict=True) if row[0].strip()]
    readable = translator.readable([row[0] for row in nonempty])
    rows = [row for row, fits in zip(nonempty, readable, strict=True) if fits]
    if len(rows) < len(nonempty):
        print(
            f"padir analyse: {shown(arguments.source)}: {len(nonempty) - len(rows)} of"
            f" {len(nonempty)} lines are too long for the model and not analysed",
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
