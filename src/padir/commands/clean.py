"""Clean a dataset: drop unusable training pairs, count them by reason, and write a data card.

The settings say which training pairs are dropped: empty, too long, of too different lengths,
overlapping with valid or test, duplicate. Valid and test sets are kept whole: defects there are
errors. A carriage return at the end of a line and U+FEFF at its start are removed and counted.

In: the dataset's settings and the folder of `padir fetch`. Out: the same files cleaned; of valid
and test all references of a sentence as one JSON list (SPLIT.references.LANGUAGE.jsonl);
statistics.json and README.md (the data card).

examples:
  padir clean --config-dataset dataset.json --raw raw --out data
"""

from padir.commands.arguments import DATASET, DIGESTS, needed, read_arguments, threads

OPTIONS = (
    DATASET,
    needed("--raw DIR", "folder with the raw text that padir fetch wrote"),
    needed("--out DIR", "folder to write the cleaned text to"),
    DIGESTS,
    threads("worker processes"),
)


def main(argv: list[str]) -> int:
    """Clean, and write provenance.json."""
    arguments = read_arguments("clean", __doc__, OPTIONS, argv)
    import sys

    from padir.cards import CARD_FILE
    from padir.checksums import write_with_checksum
    from padir.cleaned import STATISTICS_FILE
    from padir.config.read import read_dataset
    from padir.data.card import data_card
    from padir.data.clean import clean
    from padir.data.kept import most_dropped
    from padir.data.text import check_own_text, check_references, text_files
    from padir.files import (
        InputError,
        iter_aligned,
        sha256_file,
        shown,
        write_jsonl,
        write_text,
    )
    from padir.launch import cores
    from padir.provenance import write_provenance

    raw, out = arguments.raw, arguments.out
    if raw.resolve() == out.resolve():
        raise InputError(f"{shown(raw)}: --raw and --out must be different folders")
    dataset = read_dataset(arguments.config_dataset)
    check_references(dataset.source, dataset.pair, raw)
    references = {
        (split, language): out / f"{split}.references.{language}.jsonl"
        for split in ("valid", "test")
        for language in dataset.pair.split("-")
    }
    written = [*text_files(dataset.source, dataset.pair, out), *references.values()]
    check_own_text(dataset, written)
    workers = arguments.threads or cores()
    cleaned = clean(dataset.cleaning, dataset.pair, raw, out, workers)
    statistics = {"digests": arguments.digests, **cleaned, "references": {}}
    for (split, language), path in references.items():
        names = [file["file"] for file in statistics["splits"][split]["files"]]
        texts = [out / name for name in names if name.split(".")[1] == language]
        write_jsonl(path, iter_aligned(*texts))
        statistics["references"][path.name] = sha256_file(path)
    write_with_checksum(out / STATISTICS_FILE, statistics)
    write_text(out / CARD_FILE, data_card(dataset, statistics))
    train = statistics["splits"]["train"]
    dropped = {reason: each["pairs"] for reason, each in train["dropped"].items()}
    if lost := most_dropped(train["pairs_read"], dropped):
        print(f"padir clean: train: dropped {lost}", file=sys.stderr)
    files = [file for split in statistics["splits"].values() for file in split["files"]]
    for file in files:
        for what in ("carriage return", "byte order mark"):
            if removed := file.get(f"{what.replace(' ', '_')}s_removed"):
                print(
                    f"padir clean: {file['file']}: removed a {what} from {removed} lines",
                    file=sys.stderr,
                )
    write_provenance(
        out,
        ["clean", *argv],
        inputs=[arguments.config_dataset, *(raw / file["file"] for file in files)],
        spec=dataset.model_dump(mode="json"),
    )
    return 0
