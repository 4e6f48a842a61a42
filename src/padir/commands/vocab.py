"""Learn one SentencePiece vocabulary from the text of both languages.

The same text and settings give the same bytes. A size larger than the text allows is an error that
names the largest possible one. Settings with foreign_pairs hold the `source` of a synthetic dataset
too; the files of extra_text are read from the folder that the command runs in.

In: the vocabulary's settings, text files, and those that the settings name. Out: spm.model.

examples:
  padir vocab --settings settings.json --text train.de train.en --out spm.model
"""

from pathlib import Path

from padir.commands.arguments import needed, read_arguments

OPTIONS = (
    needed("--settings F", "JSON file with the settings of the vocabulary"),
    needed("--text F ...", "files with training text of both languages"),
    needed("--out F", "file to write the SentencePiece model to", written=True),
)


def main(argv: list[str]) -> int:
    """Learn the vocabulary and write its provenance."""
    arguments = read_arguments("vocab", __doc__, OPTIONS, argv)
    from itertools import chain

    from padir.cleaned import check_cleaned
    from padir.config.read import read_vocabulary_settings
    from padir.data.synthetic import foreign_text
    from padir.files import InputError, iter_lines, shown
    from padir.provenance import write_provenance
    from padir.vocab import train_vocabulary

    settings = read_vocabulary_settings(arguments.settings)
    check_cleaned(*arguments.text)
    foreign = (
        foreign_text(settings.source, settings.foreign_pairs) if settings.source is not None else ()
    )
    extra_text = [Path(path) for path in settings.extra_text]
    if arguments.out.resolve() in map(Path.resolve, extra_text):
        raise InputError(
            f"--out {shown(arguments.out)}: is a file of extra_text, allowed is another one"
        )
    texts, extra = (map(iter_lines, paths) for paths in (arguments.text, extra_text))
    train_vocabulary(chain(*texts, foreign, *extra), settings, arguments.out)
    write_provenance(
        arguments.out,
        ["vocab", *argv],
        inputs=[arguments.settings, *arguments.text, *extra_text],
        spec=settings.model_dump(mode="json"),
    )
    return 0
