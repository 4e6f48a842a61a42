"""Write the JSON schema of config files and config/README.md from the settings models.

In: the models. Out: workflow/schemas/config.schema.json and config/README.md.

examples:
  padir schema
  padir schema --root ~/src/padir
"""

from collections.abc import Sequence
from pathlib import Path

from padir.commands.arguments import option, read_arguments
from padir.config import document

OPTIONS = (option("--root DIR", "root folder of the checkout", default=Path()),)


def main(argv: Sequence[str]) -> int:
    """Write both files under `--root`."""
    from padir.files import write_text

    arguments = read_arguments("schema", __doc__, OPTIONS, argv)
    for path, text in (
        (document.SCHEMA_PATH, document.schema_text()),
        (document.README_PATH, document.readme_text()),
    ):
        write_text(arguments.root / path, text)
        print(arguments.root / path)
    return 0
