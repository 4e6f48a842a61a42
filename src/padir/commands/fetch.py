"""`padir fetch`: get the raw text of a dataset, or generate it.

In: the dataset's settings. Out: {split}.{language}[.{reference}] in one folder; or the grammar of
synthetic data.
"""

import argparse
from pathlib import Path

from padir.commands.options import add_threads

DESCRIPTION = """\
Get all splits of a dataset as its source has them: generated from the grammar (synthetic), read
from paths and addresses (files), or from TensorFlow Datasets (tfds). Files must be UTF-8 without
NUL or byte order mark, and those of a split need equally many lines; lines end at "\\n" only."""

EXAMPLES = """\
examples:
  padir fetch --config-dataset dataset.json --out raw
  padir fetch --config-dataset dataset.json --grammar grammar.json"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parse = argparse.ArgumentParser(
        prog="padir fetch",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument(
        "--config-dataset", type=Path, required=True, metavar="F", help="the dataset's settings"
    )
    output = parse.add_mutually_exclusive_group(required=True)
    output.add_argument("--out", type=Path, metavar="DIR", help="folder to write to")
    output.add_argument(
        "--grammar", type=Path, metavar="F", help="write the grammar of synthetic data alone"
    )
    add_threads(parse, "processes that read tfds")
    return parse


def main(argv: list[str]) -> int:
    """Fetch or generate, and write provenance.json."""
    arguments = parser().parse_args(argv)
    from padir.config.data import SyntheticSource, TfdsSource
    from padir.config.read import read_dataset
    from padir.data.parallel import cores
    from padir.data.synthetic import write_grammar, write_synthetic
    from padir.data.text import write_files_source
    from padir.data.tfds import write_tfds_source
    from padir.files import InputError
    from padir.provenance import write_provenance

    dataset = read_dataset(arguments.config_dataset)
    source = dataset.source
    if arguments.grammar is not None:
        if not isinstance(source, SyntheticSource):
            raise InputError(f"--grammar: source is {source.kind}; only synthetic data has one")
        write_grammar(source, arguments.grammar)
        return 0
    inputs = [arguments.config_dataset, *source.local_files()]
    seed = None
    if isinstance(source, SyntheticSource):
        write_synthetic(source, arguments.out)
        seed = source.seed
    elif isinstance(source, TfdsSource):
        workers = arguments.threads or cores()
        inputs.append(write_tfds_source(source, dataset.pair, arguments.out, workers))
    else:
        write_files_source(source, arguments.out)
    write_provenance(
        arguments.out,
        ["fetch", *argv],
        inputs=inputs,
        spec=dataset.model_dump(mode="json"),
        seed=seed,
    )
    return 0
