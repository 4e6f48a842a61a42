"""Fetch the raw text of a dataset, or generate it.

All splits come as the source has them: generated from the grammar (synthetic), read from paths and
addresses (files), or from TensorFlow Datasets (tfds). Files must be UTF-8 without NUL or byte order
mark, and those of a split need equally many lines; lines end at "\\n" only.

In: the dataset's settings. Out: {split}.{language}[.{reference}] in one folder; or the grammar of
synthetic data.

examples:
  padir fetch --config-dataset dataset.json --out raw
  padir fetch --config-dataset dataset.json --grammar grammar.json
"""

from padir.commands.arguments import DATASET, ONE_OF, option, read_arguments, threads

OPTIONS = (
    DATASET,
    option("--out DIR", "folder to write the raw text to", group=ONE_OF),
    option(
        "--grammar F",
        "write only the grammar of the synthetic pair, to this file",
        group=ONE_OF,
        written=True,
    ),
    threads("processes that read TFDS datasets"),
)


def main(argv: list[str]) -> int:
    """Fetch or generate, and write provenance.json."""
    arguments = read_arguments("fetch", __doc__, OPTIONS, argv)
    from padir.config.data import SyntheticSource, TfdsSource
    from padir.config.read import read_dataset
    from padir.data.synthetic import write_grammar, write_synthetic
    from padir.data.text import check_own_text, text_files, write_files_source
    from padir.data.tfds import write_tfds_source
    from padir.files import InputError
    from padir.launch import cores
    from padir.provenance import write_provenance

    dataset = read_dataset(arguments.config_dataset)
    source = dataset.source
    if arguments.grammar is not None:
        if not isinstance(source, SyntheticSource):
            raise InputError(f"--grammar: source is {source.kind}; only synthetic data has one")
        write_grammar(source, arguments.grammar)
        return 0
    outputs = sorted(text_files(source, dataset.pair, arguments.out))
    check_own_text(dataset, outputs)
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
        outputs=outputs,
        spec=dataset.model_dump(mode="json"),
        seed=seed,
    )
    return 0
