"""`padir vocab`: learn one SentencePiece vocabulary from the text of both languages.

In: the vocabulary's settings and text files. Out: spm.model.
"""

import argparse
from pathlib import Path

DESCRIPTION = """\
Learn one SentencePiece vocabulary for a language pair. The same text and settings give the same
bytes. A size larger than the text allows is an error that names the largest possible one."""

EXAMPLES = """\
examples:
  padir vocab --settings settings.json --text train.de train.en --out spm.model"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = argparse.ArgumentParser(
        prog="padir vocab",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--settings", type=Path, required=True, metavar="F", help="the vocabulary's settings"
    )
    made.add_argument(
        "--text", type=Path, required=True, nargs="+", metavar="F", help="text of both languages"
    )
    made.add_argument("--out", type=Path, required=True, metavar="F", help="model file to write")
    return made


def main(argv: list[str]) -> int:
    """Learn the vocabulary and write its provenance."""
    arguments = parser().parse_args(argv)
    from itertools import chain

    from padir.config.read import read_vocabulary_settings
    from padir.files import iter_lines
    from padir.provenance import write_provenance
    from padir.vocab import train_vocabulary

    settings = read_vocabulary_settings(arguments.settings)
    train_vocabulary(chain(*map(iter_lines, arguments.text)), settings, arguments.out)
    write_provenance(
        arguments.out,
        ["vocab", *argv],
        inputs=[arguments.settings, *arguments.text],
        spec=settings.model_dump(mode="json"),
    )
    return 0
