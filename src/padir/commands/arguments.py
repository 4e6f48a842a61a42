"""Command lines: a verb's options as a table, and the options that several verbs share."""

import argparse
import json
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os.path import isfile
from pathlib import Path
from typing import Any

from padir.files import InputError, is_device, shown
from padir.languages import checked_code

# What stands behind an option in the table -> type of its value; text where it is none of these.
TYPES = {
    **dict.fromkeys(("F", "DIR", "PATH", "BUNDLE"), Path),
    **dict.fromkeys(("N", "K", "T"), int),
    "X": float,
}


MOST_THREADS = 1_024
MOST = 1_000_000
"""Largest whole number of most options, as of most settings."""
# Options of these groups exclude each other; of the first, one must be given.
ONE_OF, AT_MOST_ONE_OF = "one of", "at most one of"


@dataclass(frozen=True, eq=False)
class Option:
    """One argument: name, settings of argparse, title of its group, range of numbers."""

    name: str
    settings: dict[str, Any]
    least: int | None = None
    group: str | None = None
    most: int = MOST
    positive: bool = False
    written: bool = False
    beside: str = ""
    decoder: bool = False


def option(
    usage: str,
    meaning: str,
    default: Any = None,
    least: int | None = None,
    group: str | None = None,
    most: int = MOST,
    positive: bool = False,
    written: bool = False,
    beside: str = "",
    decoder: bool = False,
    **settings: Any,
) -> Option:
    """An optional argument.

    Args:
        usage: as the help page shows it: `--json F` is a path, `--steps N` an integer (`TYPES`),
            `--text F ...` takes one or more; `--mh` alone is a switch.
        meaning: help text; a default is added to it.
        default: where the option is left out.
        least, most: smallest and largest integer allowed, checked where there is a smallest one.
        positive: whether only finite numbers above 0 are allowed.
        written: whether the command writes the file.
        beside: suffix of a second file that the command writes then, such as .json.
        decoder: whether the file may replace one of a bundle's decoders.
        group: title of a group of options, `ONE_OF` or `AT_MOST_ONE_OF`.
        settings: further ones of argparse.
    """
    name, _, value = usage.partition(" ")
    if not value and "choices" not in settings:
        settings = {"action": "store_true", **settings}
    elif value:
        kind = value.removesuffix(" ...")
        settings = {"type": TYPES.get(kind, str), "metavar": kind, **settings}
        if value.endswith(" ..."):
            settings["nargs"] = "+"
    if default is not None:
        settings["default"] = default
        shown = " ".join(map(str, default)) if isinstance(default, list) else default
        meaning += f" (default {shown})"
    settings = {"help": meaning, **settings}
    return Option(name, settings, least, group, most, positive, written, beside, decoder)


def needed(usage: str, meaning: str, **settings: Any) -> Option:
    """A required argument; parameters as in `option`."""
    return option(usage, meaning, required=True, **settings)


class ReadDigests(argparse.Action):
    """Parses a JSON object with text values; raises InputError for anything else."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        """Store the digests."""
        try:
            namespace.digests = json.loads(values)
        except (ValueError, RecursionError) as error:
            raise InputError(f"--digests: not JSON: {error}") from error
        texts = namespace.digests.values() if isinstance(namespace.digests, dict) else [None]
        if not all(isinstance(text, str) for text in texts):
            raise InputError(
                f"--digests: found {values[:60]}, allowed: an object of texts by stage"
            )


def thread_count(text: str) -> int:
    """Read `--threads`; ArgumentTypeError where it is no whole number from 1 to `MOST_THREADS`."""
    # Not more digits than Python turns into a number.
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MOST_THREADS:
        raise argparse.ArgumentTypeError(f"found {text[:40]!r}, allowed: 1 to {MOST_THREADS}")
    return int(text)


def language_code(text: str) -> str:
    """Read a language's code, such as de, zho or zh-CN; ArgumentTypeError for anything else."""
    try:
        return checked_code(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def threads(limited: str = "CPU threads") -> Option:
    """The option `--threads`, for threads or processes."""
    return option(
        "--threads N", f"maximum number of {limited} (default: all cores)", type=thread_count
    )


def decoder_options(search: str = "beam") -> tuple[Option, Option]:
    """The options `--decoder`, by default `search` for an AR model, and `--reranker`."""
    return (
        option(
            "--decoder NAME_OR_FILE",
            "decoder: a JSON file, the name of one in BUNDLE/decoders, or a built-in one (default:"
            f" the decoder of the model's system; {search} for AR)",
        ),
        option(
            "--reranker BUNDLE",
            "bundle of the AR model that the decoder's setting `reranker` names",
        ),
    )


DIGESTS = Option(
    "--digests",
    {
        "action": ReadDigests,
        "default": {},
        "metavar": "JSON",
        "help": "expected digests of the settings that the output depends on, by stage; inputs made"
        " with other settings are refused",
    },
)
DATASET = needed("--config-dataset F", "JSON file with the settings of the dataset")
BUNDLE = needed("--bundle BUNDLE", "folder of the model bundle")
TARGET_LANGUAGE = needed(
    "--target-language L", "code of the target language, such as en or zh", type=language_code
)
PASSES = option("--passes T", "number of decoder passes (parallel models)")
RULE = (
    option("--length-alpha X", "length penalty alpha (default: as chosen by padir tune)"),
    option(
        "--length-weight X",
        "weight of the length's log-probability (parallel models; default: as chosen by padir tune,"
        " or 0 beside --length-alpha where the decoder is not tuned)",
    ),
)
BATCH = (
    option(
        "--batch-sentences N",
        "batch size in sentences; changes no result (default: 16 on CPU, 256 on accelerators)",
        least=1,
    ),
    threads(),
)
REPORTED = "labels and digests in the file of --json"
SCORED = (
    needed("--hypotheses F", "hypotheses to score, one a line"),
    needed(
        "--references F ...",
        "reference translations: one file for each set of references, or one .jsonl file with a"
        " JSON list of all references of a sentence a line",
    ),
)
SCORE_OUTPUT = (
    option("--samples N", "number of bootstrap resamples", default=1000, least=40),
    option(
        "--json F", "JSON file to write the scores with labels and all resamples to", written=True
    ),
    option(
        "--provenance F",
        "provenance.json that padir decode or sample wrote beside the hypotheses: labels and"
        " digests of training, decoder and data",
        group=REPORTED,
    ),
    replace(DIGESTS, group=REPORTED),
)


def read_arguments(
    verb: str,
    document: str | None,
    options: Sequence[Option],
    argv: Sequence[str],
    hint: str = "",
) -> argparse.Namespace:
    """Parse the command line of `padir VERB`. `--help` and errors of argparse end the process.

    Args:
        verb: as it is called.
        document: the docstring of the verb's module: what `--help` says, examples last.
        options: what the verb accepts.
        argv: the words after the verb.
        hint: where a word belongs that stands without an option; {} stands for the word.

    Raises:
        InputError: a number out of range, a folder in place of a file, or a file to write that
            another option names; the message names the option and what is allowed.
    """
    description, title, examples = (document or "").partition("\nexample")
    parser = argparse.ArgumentParser(
        prog=f"padir {verb}",
        description=description,
        epilog=title + examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add(parser, *options)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        words = [word for word in unknown if not word.startswith("-")]
        advice = f"; {hint.format(words[0])}" if words and hint else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{advice}")
    for member in options:
        value = _value(arguments, member)
        if value is None:
            continue
        if member.least is not None and not member.least <= value <= member.most:
            given = value if abs(value) < 10**15 else "a number of more than 15 digits"
            allowed = f"{member.least} to {member.most}"
            raise InputError(f"{member.name} is {given}: allowed are {allowed}")
        if member.positive and not 0 < value < math.inf:
            raise InputError(f"{member.name} is {value}: allowed are numbers above 0")
    _check_files(arguments, options)
    return arguments


def _value(arguments: argparse.Namespace, member: Option) -> Any:
    return getattr(arguments, member.name.strip("-").replace("-", "_"))


def _check_files(arguments: argparse.Namespace, options: Sequence[Option]) -> None:
    """Refuse, before any work, a folder in place of a file, and a file to write that is also the
    file of another option, part of a bundle, or one of its decoders."""
    from padir.bundle import DECODERS, PARTS

    files: dict[Option, list[Path]] = {}
    # Parts of bundles, folders of decoders, and files where an option takes other text as well.
    others: dict[Option, list[Path]] = {}
    for member in options:
        value = _value(arguments, member)
        kind = member.settings.get("metavar") or ""
        if value is None:
            continue
        if kind == "F":
            files[member] = [Path(path) for path in (value if isinstance(value, list) else [value])]
            if member.beside:
                files[member].append(Path(f"{value}{member.beside}"))
        elif kind.startswith("BUNDLE"):
            folders = value if isinstance(value, list) else [value]
            if ":" in kind:
                folders = [Path(text.rpartition(":")[0]) for text in folders]
            others[member] = [folder / part for folder in folders for part in (*PARTS, DECODERS)]
        elif kind in ("NAME_OR_FILE", "JSON") and isinstance(value, str) and isfile(value):
            others[member] = [Path(value)]
    for member, paths in files.items():
        for path in paths:
            # A name that is too long says so where it is opened.
            with suppress(OSError):
                if path.is_dir():
                    raise InputError(f"{member.name} {shown(path)}: is a folder, allowed is a file")
            if not member.written or is_device(path):
                continue
            taken = {path.resolve()}
            if isfile(path) and not member.decoder:
                taken |= {path.resolve().parent, path.parent.resolve()}
            for other, read in (files | others).items():
                if other is not member and taken.intersection(map(Path.resolve, read)):
                    raise InputError(
                        f"{member.name} {shown(path)}: is a file of {other.name}, allowed is"
                        " another one"
                    )


def add(parser: argparse.ArgumentParser, *options: Option) -> None:
    """Add options to a parser."""
    groups: dict[str | None, Any] = {None: parser}
    for member in options:
        title = member.group
        if title in (ONE_OF, AT_MOST_ONE_OF) and title not in groups:
            groups[title] = parser.add_mutually_exclusive_group(required=title == ONE_OF)
        elif title not in groups:
            groups[title] = parser.add_argument_group(title)
        groups[member.group].add_argument(member.name, **member.settings)
