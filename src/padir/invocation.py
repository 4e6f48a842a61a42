"""Commands of `snakemake` that messages, pages and logs name, so that they work when pasted."""

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from padir.files import shown

# Where Snakemake looks in the working folder, in this order.
SNAKEFILES = ("Snakefile", "snakefile", "workflow/Snakefile", "workflow/snakefile")


def command(target: str, options: str = "", force: bool = False) -> str:
    """The command that makes a target or file.

    Args:
        options: those of `snakemake` that say which experiment it is, such as --configfile.
        force: also where Snakemake takes the file as made.
    """
    return words("snakemake", options, "--cores all", "--force" if force else "", target)


def words(*parts: str) -> str:
    """Parts of a command line, without the empty ones."""
    return " ".join(filter(None, parts))


def snakefile_option() -> str:
    """Where the workflow is, that of the installed package, unless Snakemake finds it by itself in
    the working folder."""
    folder = Path(__file__).resolve().parents[2]
    if not (folder / "Snakefile").is_file():
        return ""
    by_itself = next((Path(name) for name in SNAKEFILES if Path(name).is_file()), None)
    if by_itself is not None:
        workflow = (folder / name for name in ("Snakefile", "workflow/Snakefile"))
        if by_itself.read_bytes() in [path.read_bytes() for path in workflow if path.is_file()]:
            return ""
    return f"--snakefile {shlex.quote(str(folder / 'Snakefile'))}"


def place_options(results: Path) -> str:
    """Where the workflow is, and where it works: --snakefile and --directory, as far as needed for
    a run that writes to this folder, which has the name `results`."""
    folder = results.absolute().parent
    elsewhere = "" if folder == Path.cwd() else f"--directory {shlex.quote(shown(folder))}"
    return words(snakefile_option(), elsewhere)


def experiment_options(
    files: Iterable[Path], changes: Mapping[str, Any], default: Path | None = None
) -> str:
    """Options of `snakemake` that say which experiment it is: --snakefile outside the workflow's
    folder, --configfile and --config.

    Args:
        files: config files of the command line.
        changes: what --config says on it.
        default: the config file that is read without --configfile; alone it needs no mention.
    """
    here = Path.cwd()
    paths = [here / path for path in files]
    given = [] if paths == [default] else paths
    names = [str(p.relative_to(here) if p.is_relative_to(here) else p) for p in given]
    values = [f"{key}={json.dumps(value)}" for key, value in changes.items()]
    return words(
        snakefile_option(),
        shlex.join(["--configfile", *names]) if names else "",
        shlex.join(["--config", *values]) if values else "",
    )
