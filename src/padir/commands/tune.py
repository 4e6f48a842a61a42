"""Choose the length rule of a decoder, by BLEU on validation data.

For a parallel model that takes drafts, choose also what replaces a draft, its repair or the
model's own translation, and how much that has to gain: the least with which 96% of the first
references, given as drafts, are kept.

In: bundle, decoder, validation text. Out: the tuned decoder, JSON.

example:
  padir tune --bundle bundle --decoder padir --source valid.de --references valid.en \\
      --out bundle/decoders/padir.json
  The decoders in a bundle's folder `decoders` are found by name.
"""

import sys
from dataclasses import asdict

from padir.commands import options
from padir.commands.arguments import BATCH, BUNDLE, DIGESTS, decoder_options, needed, read_arguments
from padir.launch import prepare

OPTIONS = (
    BUNDLE,
    *decoder_options(),
    needed("--source F", "validation sources, one sentence a line"),
    needed("--references F ...", "validation references, one file for each set of references"),
    needed("--out F", "JSON file to write the tuned decoder to", written=True, decoder=True),
    DIGESTS,
    *BATCH,
)


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = read_arguments("tune", __doc__, OPTIONS, argv)
    prepare(arguments.threads)
    from padir.checksums import write_with_checksum
    from padir.cleaned import check_cleaned
    from padir.decode.candidates import LengthRule
    from padir.decode.load import find_decoder
    from padir.decode.tune import tune, tune_draft_rule
    from padir.files import InputError, read_aligned, shown
    from padir.progress import Progress
    from padir.provenance import write_provenance
    from padir.score.bleu import RepeatedBleu

    check_cleaned(arguments.source, *arguments.references)
    loaded = options.open_bundle(arguments.bundle, arguments.digests)
    decoder = find_decoder(loaded, arguments.decoder)
    settings = decoder.settings
    passes = settings.tuning_passes
    translator = options.open_translator(arguments, loaded, decoder, passes, LengthRule())
    lines, *references = read_aligned(arguments.source, *arguments.references, strip_bom=True)
    if not lines:
        raise InputError(f"{shown(arguments.source)}: empty: there is no sentence to tune on")
    best, rules = LengthRule(), []
    if settings.tuned:
        bleu = RepeatedBleu(references, loaded.spec.direction.split("-")[1])
        total = len(lines) * settings.tuning_decodings
        label = f"tune {loaded.spec.training} {decoder.name}"
        with Progress(total, "sentences", label) as progress:
            rules = tune(
                translator,
                lines,
                str(arguments.source),
                bleu,
                references[0],
                progress.update,
                warn=lambda message: print(f"padir tune: {message}", file=sys.stderr),
            )
        # The first of equals, in the order of the settings.
        best, _ = max(rules, key=lambda scored: scored[1])
    translator.use(best)
    draft_rule = tune_draft_rule(translator, lines, references[0])
    digests = {k: v for k, v in translator.digests.items() if k != "hypotheses"}
    content = {
        "format": 2,
        "name": decoder.name,
        "settings": settings.model_dump(mode="json"),
        "length_rule": {"alpha": best.alpha, "weight": best.weight},
        "draft_rule": draft_rule and asdict(draft_rule),
        "validation": {
            "sentences": len(lines),
            "passes": passes,
            "rules": [
                {"alpha": rule.alpha, "weight": rule.weight, "bleu": bleu} for rule, bleu in rules
            ],
        },
        "digests": digests,
        "seed": loaded.seed,
    }
    write_with_checksum(arguments.out, content)
    write_provenance(
        arguments.out,
        ["tune", *argv],
        inputs=[arguments.source, *arguments.references, *translator.files],
        spec=loaded.spec.model_dump(mode="json"),
        seed=loaded.seed,
        labels={**loaded.labels, "decoder": decoder.name},
        digests=digests,
    )
    return 0
