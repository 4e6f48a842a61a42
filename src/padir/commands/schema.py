"""`padir schema`: write the config's JSON schema and the page of all settings."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from padir.config import document


def parser() -> argparse.ArgumentParser:
    """The command line of `padir schema`."""
    made = argparse.ArgumentParser(
        prog="padir schema",
        description=f"Write {document.SCHEMA_PATH} and {document.README_PATH} from the models of"
        " the settings.",
        epilog="Examples:\n  padir schema\n  padir schema --root ~/src/padir",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--root", type=Path, default=Path(), help="root of the checkout (default: .)")
    return made


def main(argv: Sequence[str]) -> int:
    """Write both files under `--root`."""
    from padir.files import atomic_path

    arguments = parser().parse_args(argv)
    for path, text in (
        (document.SCHEMA_PATH, document.schema_text()),
        (document.README_PATH, document.readme_text()),
    ):
        with atomic_path(arguments.root / path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        print(arguments.root / path)
    return 0
