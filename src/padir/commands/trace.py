"""Trace how the first sentences of a file are decoded, for the report's viewer.

In: bundle, its decoders, sources. Out: JSON lines, one per row and sentence, as
`padir.decode.trace` describes them, each with the decoder and the number of passes of its row.

examples:
  padir trace --bundle bundle --rows padir.T4 --source test.de --out trace.jsonl
  padir trace --bundle bundle --rows padir.T10 reranked.T4 --reranker ar --source test.de \\
      --out trace.jsonl
"""

from padir.commands import options
from padir.commands.arguments import BATCH, BUNDLE, DIGESTS, RULE, needed, option, read_arguments
from padir.launch import prepare

OPTIONS = (
    BUNDLE,
    needed(
        "--rows DECODER[.T4] ...",
        "what to trace: a decoder of the bundle or a built-in one, and for parallel models the"
        " number of passes",
    ),
    option(
        "--reranker BUNDLE ...",
        "bundles of AR rerankers, each for the decoders whose setting `reranker` names it",
    ),
    needed("--source F", "source text, UTF-8, one sentence a line"),
    option(
        "--references F",
        "reference translations, which the trace shows; an oracle length predictor reads their"
        " lengths",
    ),
    needed("--out F", "file to write, JSON lines", written=True),
    option("--sentences N", "number of sentences to trace", default=20, least=1),
    option("--split NAME", "name of the split in the provenance", default="test"),
    *RULE,
    DIGESTS,
    *BATCH,
)


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = read_arguments("trace", __doc__, OPTIONS, argv)
    prepare(arguments.threads)
    import sys

    from padir.cleaned import check_cleaned
    from padir.decode.given_files import read_lines_of
    from padir.decode.load import find_decoder
    from padir.decode.trace import traces
    from padir.decode.translate import Translator
    from padir.files import read_lines, write_jsonl
    from padir.provenance import checked_digests, write_provenance

    def warn(message: str) -> None:
        print(f"padir trace: {message}", file=sys.stderr)

    check_cleaned(arguments.source, *filter(None, [arguments.references]))
    references = None
    if arguments.references:
        lines, references = read_lines_of(arguments.source, arguments.references)
        references = references[: arguments.sentences]
    else:
        lines = read_lines(arguments.source, strip_bom=True)
    lines, batch = lines[: arguments.sentences], arguments.batch_sentences
    loaded = options.open_bundle(arguments.bundle, arguments.digests)
    rerankers = options.open_rerankers(arguments.reranker, batch)
    rows = [(text, options.parse_decoding(text)) for text in arguments.rows]
    decoders = {name: find_decoder(loaded, name) for _, (name, _) in rows}
    rules = {name: options.length_rule(arguments, decoders[name], loaded) for name in decoders}
    options.refuse_unused(rerankers, {each.settings.reranker for each in decoders.values()})
    records, digests, files = [], dict(loaded.spec.digests), dict.fromkeys(loaded.files)
    for text, (name, passes) in rows:
        decoder = decoders[name]
        reranker = rerankers.get(decoder.settings.reranker)
        with options.naming_rule_options():
            translator = Translator(loaded, decoder, passes, rules[name], reranker, batch)
        digests[f"hypotheses/{text}"] = translator.digests.get("hypotheses", "")
        checked_digests(arguments.digests, digests, decoder.path or loaded.folder)
        files |= dict.fromkeys(translator.files)
        row = {"decoder": name, "passes": passes}
        for trace in traces(translator, lines, str(arguments.source), references, warn):
            records.append({**row, **trace})
    write_jsonl(arguments.out, records)
    write_provenance(
        arguments.out,
        ["trace", *argv],
        inputs=[arguments.source, *filter(None, [arguments.references]), *files],
        spec=loaded.spec.model_dump(mode="json"),
        seed=loaded.seed,
        labels={**loaded.labels, "split": arguments.split},
        digests=digests,
    )
    return 0
