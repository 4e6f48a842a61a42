"""Fetch and clean monolingual source text for teachers with `extra_sources`.

One file of the dataset's extra_sources is cleaned like training text: lines that are unusable,
occurred before, or stand in the training, validation or test text are dropped and counted by
reason.

In: the dataset's settings and its cleaned text. Out: extra.LANGUAGE, and beside it
extra.LANGUAGE.statistics.json.

examples:
  padir extra-sources --config-dataset extra.json --language de --train train.de \\
      --valid valid.references.de.jsonl --test test.references.de.jsonl --out data
"""

from pathlib import Path

from padir.commands.arguments import DATASET, DIGESTS, needed, read_arguments, threads

OPTIONS = (
    DATASET,
    needed("--language L", "language code of the extra text, such as de"),
    needed("--train F", "cleaned training text in that language"),
    needed("--valid F", "all references of the valid split in that language, one JSON list a line"),
    needed("--test F", "all references of the test split in that language, one JSON list a line"),
    needed("--out DIR", "folder to write the cleaned extra text to"),
    DIGESTS,
    threads("worker processes"),
)


def main(argv: list[str]) -> int:
    """Clean, and write statistics and provenance."""
    arguments = read_arguments("extra-sources", __doc__, OPTIONS, argv)
    from padir.checksums import write_with_checksum
    from padir.cleaned import check_cleaned
    from padir.config.read import read_dataset
    from padir.data.extra import clean_extra
    from padir.data.text import check_own_text, text_name
    from padir.files import InputError, shown
    from padir.launch import cores
    from padir.provenance import write_provenance

    dataset = read_dataset(arguments.config_dataset)
    language = arguments.language
    file = dataset.extra_file(language)
    if file is None:
        there = sorted(dataset.extra_sources.files) if dataset.extra_sources else []
        raise InputError(
            f"{shown(arguments.config_dataset)}: extra_sources.files has no {language!r}, allowed:"
            f" {', '.join(there) or 'none, as there are no extra_sources'}"
        )
    out = arguments.out / text_name("extra", language)
    check_own_text(dataset, [out])
    scored = {"valid": arguments.valid, "test": arguments.test}
    check_cleaned(arguments.train, *scored.values())
    workers = arguments.threads or cores()
    statistics = clean_extra(
        dataset.cleaning, language, file, arguments.train, scored, arguments.out, workers
    )
    name = file.name if isinstance(file, Path) else file.url
    path = out.with_name(f"{out.name}.statistics.json")
    write_with_checksum(
        path, {"digests": arguments.digests, "language": language, "file": name, **statistics}
    )
    read = [arguments.config_dataset, arguments.train, *scored.values()]
    write_provenance(
        out,
        ["extra-sources", *argv],
        inputs=[*read, file] if isinstance(file, Path) else read,
        spec=dataset.model_dump(mode="json"),
    )
    return 0
