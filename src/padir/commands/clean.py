"""`padir clean`: drop unusable training pairs, count them by reason, describe the dataset.

In: the dataset's settings and the folder of `padir fetch`. Out: the same files cleaned; of valid
and test all references of a sentence as one JSON list (SPLIT.references.LANGUAGE.jsonl);
statistics.json and README.md (the data card).
"""

import argparse
from pathlib import Path

from padir.commands.options import add_threads

DESCRIPTION = """\
Drop training pairs by the settings' rules (empty, too long, unlike lengths, overlap with valid or
test, duplicates) and count them by reason in statistics.json. Valid and test sets stay whole: what
is wrong there is an error. A carriage return at the end of a line is removed and counted."""

EXAMPLES = """\
examples:
  padir clean --config-dataset dataset.json --raw raw --out data"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parse = argparse.ArgumentParser(
        prog="padir clean",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument(
        "--config-dataset", type=Path, required=True, metavar="F", help="the dataset's settings"
    )
    parse.add_argument("--raw", type=Path, required=True, metavar="DIR", help="what fetch wrote")
    parse.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to")
    parse.add_argument("--digests", metavar="JSON", help="of the settings, by stage")
    add_threads(parse, "processes that work")
    return parse


def main(argv: list[str]) -> int:
    """Clean, and write provenance.json."""
    arguments = parser().parse_args(argv)
    import sys

    from padir.config.read import read_dataset
    from padir.data.card import data_card
    from padir.data.clean import clean
    from padir.data.parallel import cores
    from padir.files import InputError, iter_aligned, shown, write_json, write_jsonl, write_text
    from padir.provenance import given_digests, write_provenance

    raw, out = arguments.raw, arguments.out
    if raw.resolve() == out.resolve():
        raise InputError(f"{shown(raw)}: --raw and --out must be different folders")
    dataset = read_dataset(arguments.config_dataset)
    workers = arguments.threads or cores()
    statistics = clean(dataset.cleaning, dataset.pair, raw, out, workers)
    for split in ("valid", "test"):
        names = [file["file"] for file in statistics["splits"][split]["files"]]
        for language in dataset.pair.split("-"):
            texts = [out / name for name in names if name.split(".")[1] == language]
            write_jsonl(out / f"{split}.references.{language}.jsonl", iter_aligned(*texts))
    digests = given_digests(arguments.digests)
    write_json(out / "statistics.json", {"digests": digests, **statistics})
    write_text(out / "README.md", data_card(dataset, statistics))
    files = [file for split in statistics["splits"].values() for file in split["files"]]
    for file in files:
        if removed := file["carriage_returns_removed"]:
            print(
                f"padir clean: {file['file']}: removed a carriage return from {removed} lines",
                file=sys.stderr,
            )
    write_provenance(
        out,
        ["clean", *argv],
        inputs=[arguments.config_dataset, *(raw / file["file"] for file in files)],
        spec=dataset.model_dump(mode="json"),
    )
    return 0
