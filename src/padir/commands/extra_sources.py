"""`padir extra-sources`: get and clean monolingual text that a teacher translates too.

In: the dataset's settings and its cleaned text. Out: extra.LANGUAGE, and beside it
extra.LANGUAGE.statistics.json.
"""

import argparse
from pathlib import Path

from padir.commands.options import add_threads

DESCRIPTION = """\
Get one file of the dataset's extra_sources and clean it like training text: lines that are
unusable, occurred before, or stand in the training, validation or test text are dropped and counted
by reason."""

EXAMPLES = """\
examples:
  padir extra-sources --config-dataset extra.json --language de --train train.de \\
      --valid valid.references.de.jsonl --test test.references.de.jsonl --out data"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parse = argparse.ArgumentParser(
        prog="padir extra-sources",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument(
        "--config-dataset", type=Path, required=True, metavar="F", help="the dataset's settings"
    )
    parse.add_argument("--language", required=True, metavar="L", help="of the text, such as de")
    parse.add_argument(
        "--train", type=Path, required=True, metavar="F", help="cleaned training text in it"
    )
    for split in ("valid", "test"):
        parse.add_argument(
            f"--{split}", type=Path, required=True, metavar="F",
            help=f"all references of the {split} split in it, one JSON list a line",
        )  # fmt: skip
    parse.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to")
    parse.add_argument("--digests", metavar="JSON", help="of the settings, by stage")
    add_threads(parse, "processes that work")
    return parse


def main(argv: list[str]) -> int:
    """Clean, and write statistics and provenance."""
    arguments = parser().parse_args(argv)
    from padir.config.read import read_dataset
    from padir.data.extra import clean_extra
    from padir.data.parallel import cores
    from padir.files import InputError, shown, write_json
    from padir.provenance import given_digests, write_provenance

    dataset = read_dataset(arguments.config_dataset)
    language = arguments.language
    file = dataset.extra_file(language)
    if file is None:
        there = sorted(dataset.extra_sources.files) if dataset.extra_sources else []
        raise InputError(
            f"{shown(arguments.config_dataset)}: extra_sources.files has no {language!r}, allowed:"
            f" {', '.join(there) or 'none, as there are no extra_sources'}"
        )
    scored = {"valid": arguments.valid, "test": arguments.test}
    workers = arguments.threads or cores()
    statistics = clean_extra(
        dataset.cleaning, language, file, arguments.train, scored, arguments.out, workers
    )
    name = file.name if isinstance(file, Path) else file.url
    path = arguments.out / f"extra.{language}.statistics.json"
    digests = given_digests(arguments.digests)
    write_json(path, {"digests": digests, "language": language, "file": name, **statistics})
    read = [arguments.config_dataset, arguments.train, *scored.values()]
    write_provenance(
        arguments.out / f"extra.{language}",
        ["extra-sources", *argv],
        inputs=[*read, file] if isinstance(file, Path) else read,
        spec=dataset.model_dump(mode="json"),
    )
    return 0
