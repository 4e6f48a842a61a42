"""A verb's command line as a table of options, and those that verbs share."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from padir.files import InputError

# What stands behind an option in the table -> type of its value; text where it is none of these.
TYPES = {
    **dict.fromkeys(("F", "DIR", "PATH", "BUNDLE"), Path),
    **dict.fromkeys(("N", "K", "T"), int),
    "X": float,
}


# Options of these groups exclude each other; of the first, one must be given.
ONE_OF, AT_MOST_ONE_OF = "one of", "at most one of"


@dataclass(frozen=True)
class Option:
    """One argument: its name, what argparse is told, the least value, the title of its group."""

    name: str
    settings: dict[str, Any]
    least: int | None = None
    group: str | None = None


def option(
    usage: str,
    meaning: str,
    default: Any = None,
    least: int | None = None,
    group: str | None = None,
    **settings: Any,
) -> Option:
    """An option that may be left out.

    Args:
        usage: as the help page shows it: `--json F` is a path, `--steps N` an integer (`TYPES`),
            `--text F ...` takes one or more; `--mh` alone is a switch.
        meaning: help text; a default is added to it.
        default: where the option is left out.
        least: smallest integer allowed.
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
    return Option(name, {"help": meaning, **settings}, least, group)


def needed(usage: str, meaning: str, **settings: Any) -> Option:
    """An option that must be given; arguments as of `option`."""
    return option(usage, meaning, required=True, **settings)


class ReadDigests(argparse.Action):
    """Refuses what is no JSON object of texts, by InputError."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        """Store the digests."""
        try:
            namespace.digests = json.loads(values)
        except ValueError as error:
            raise InputError(f"--digests: not JSON: {error}") from error
        texts = namespace.digests.values() if isinstance(namespace.digests, dict) else [None]
        if not all(isinstance(text, str) for text in texts):
            raise InputError(
                f"--digests: found {values[:60]}, allowed: an object of texts by stage"
            )


def thread_count(text: str) -> int:
    """Read `--threads`.

    Raises:
        ArgumentTypeError: no whole number above 0.
    """
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, allowed: 1 and more")
    return int(text)


def threads(limited: str = "CPU threads") -> Option:
    """CPU threads, or processes."""
    return option("--threads N", f"most {limited} (default: all cores)", type=thread_count)


DIGESTS = Option(
    "--digests",
    {
        "action": ReadDigests,
        "default": {},
        "metavar": "JSON",
        "help": "digests of the settings that the output is expected to depend on, by stage; inputs"
        " of other settings are refused",
    },
)
DATASET = needed("--config-dataset F", "the dataset's settings")
BUNDLE = needed("--bundle BUNDLE", "folder of the model bundle")
TARGET_LANGUAGE = needed("--target-language L", "language code, such as en or zh")
PASSES = option("--passes T", "decoder passes (parallel models)")
DECODER = (
    option(
        "--decoder NAME_OR_FILE",
        "file of a decoder, or the name of one in BUNDLE/decoders or of a built-in one (default:"
        " that of the model's system; beam for AR)",
    ),
    option(
        "--reranker BUNDLE", "the AR model that the decoder's `reranker` names, where it names one"
    ),
)
RULE = (
    option("--length-alpha X", "length penalty (default: as padir tune chose)"),
    option("--length-weight X", "weight of the length's log-probability (parallel)"),
)
BATCH = (
    option(
        "--batch-sentences N",
        "sentences decoded together; changes no result (default: 16 on CPU, 256 on accelerators)",
        least=1,
    ),
    threads(),
)
REPORTED = "what the report reads from the full document"
SCORED = (
    needed("--hypotheses F", "output to score"),
    needed(
        "--references F ...",
        "one file each, or one .jsonl with a JSON list of all references a line",
    ),
)
SCORE_OUTPUT = (
    option("--samples N", "bootstrap resamples", default=1000, least=40),
    option("--json F", "also write the full document here"),
    option(
        "--provenance F",
        "what padir decode or sample wrote beside the hypotheses: labels and digests of training,"
        " decoder and data",
        group=REPORTED,
    ),
    replace(DIGESTS, group=REPORTED),
)


def read_arguments(
    verb: str, document: str | None, options: Sequence[Option], argv: Sequence[str]
) -> argparse.Namespace:
    """The arguments of `padir VERB`; `--help` and what argparse refuses end the process.

    Args:
        verb: as it is called.
        document: the docstring of the verb's module: what `--help` says, examples last.
        options: what the verb accepts.
        argv: the words after the verb.

    Raises:
        InputError: an integer below the least that is allowed.
    """
    description, title, examples = (document or "").partition("example")
    parser = argparse.ArgumentParser(
        prog=f"padir {verb}",
        description=description,
        epilog=title + examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add(parser, *options)
    arguments = parser.parse_args(argv)
    for member in options:
        if member.least is not None:
            check_least(arguments, **{member.name.strip("-").replace("-", "_"): member.least})
    return arguments


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


def check_least(arguments: argparse.Namespace, **least: int) -> None:
    """Refuse whole numbers below the least allowed; options that are absent are not checked.

    Raises:
        InputError: naming the option and what is allowed.
    """
    for name, fewest in least.items():
        value = getattr(arguments, name)
        if value is not None and value < fewest:
            shown = name.replace("_", "-")
            raise InputError(f"--{shown} is {value}: allowed are {fewest} and more")
