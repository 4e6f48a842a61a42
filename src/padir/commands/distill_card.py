"""Write the card of distilled targets.

It has the teacher's own BLEU on validation data, its agreement with the raw targets, digests, and
on synthetic data the share of valid translations.

In: aligned text. Out: card.json.

example:
  padir distill-card --teacher ar --row ar/beam --train distilled.en --train-reference train.en \\
      --valid distilled.valid.en --valid-references valid.en --target-language en --out card.json
"""

from typing import Any

from padir.commands.arguments import DIGESTS, TARGET_LANGUAGE, needed, option, read_arguments

OPTIONS = (
    needed("--teacher NAME", "name of the teacher"),
    needed(
        "--row NAME",
        "what translated: training and decoder, such as ar/beam; files for ready-made"
        " translations; cloud for Cloud Translation",
    ),
    needed("--train F", "the teacher's translations of the training sources"),
    needed("--train-reference F", "raw training targets"),
    needed("--valid F", "the teacher's translations of the validation sources"),
    needed(
        "--valid-references F ...",
        "references of the validation sources, one file for each set of references",
    ),
    TARGET_LANGUAGE,
    option("--grammar F", "grammar.json of the synthetic pair: adds validity (with --sources)"),
    option("--sources F", "training sources, required by --grammar"),
    option(
        "--extra-statistics F",
        "extra.LANGUAGE.statistics.json of extra sources, whose translations follow those of the"
        " training sources and have no raw targets",
    ),
    DIGESTS,
    needed("--out F", "file to write the card to, such as card.json", written=True),
)


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = read_arguments("distill-card", __doc__, OPTIONS, argv)
    from padir.cleaned import check_cleaned
    from padir.distill.card import describe
    from padir.files import InputError, write_json
    from padir.provenance import check_written, write_provenance
    from padir.score.bleu import streamed_bleu_counts

    if (arguments.grammar is None) != (arguments.sources is None):
        raise InputError("--grammar and --sources go together")

    check_written(arguments.train, arguments.valid)
    sources = [arguments.sources] if arguments.sources else []
    check_cleaned(arguments.train_reference, *arguments.valid_references, *sources)

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
    write_json(arguments.out, {"digests": arguments.digests, **card})
    read = [arguments.train, arguments.train_reference, arguments.valid]
    read += [*arguments.valid_references, *(grammar or ())]
    read += [arguments.extra_statistics] if arguments.extra_statistics else []
    write_provenance(arguments.out, ["distill-card", *argv], inputs=read)
    return 0
