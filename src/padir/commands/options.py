"""Options that the decoding commands share, and what they stand for."""

import argparse
import json
import math
from pathlib import Path
from typing import Any


def add_decoder(parse: argparse.ArgumentParser) -> None:
    """The decoder and its reranker."""
    parse.add_argument(
        "--decoder",
        metavar="NAME_OR_FILE",
        help="file of a decoder, or the name of one in BUNDLE/decoders or of a built-in one"
        " (default: that of the model's system; beam for AR)",
    )
    parse.add_argument(
        "--reranker",
        type=Path,
        metavar="BUNDLE",
        help="the AR model that the decoder's `reranker` names, where it names one",
    )


def add_rule(parse: argparse.ArgumentParser) -> None:
    """The length rule."""
    parse.add_argument(
        "--length-alpha", type=float, help="length penalty (default: as padir tune chose)"
    )
    parse.add_argument(
        "--length-weight",
        type=float,
        help="weight of the length's log-probability (parallel)",
    )


def add_batch(parse: argparse.ArgumentParser) -> None:
    """Sentences of a batch, and threads."""
    parse.add_argument(
        "--batch-sentences",
        type=int,
        metavar="N",
        help="sentences decoded together; changes no result (default: 16 on CPU, 256 on"
        " accelerators)",
    )
    add_threads(parse)


def add_threads(parse: argparse.ArgumentParser, limited: str = "CPU threads") -> None:
    """CPU threads, or processes."""
    parse.add_argument(
        "--threads", type=thread_count, metavar="N", help=f"most {limited} (default: all cores)"
    )


def thread_count(text: str) -> int:
    """Read `--threads`.

    Raises:
        ArgumentTypeError: no whole number above 0.
    """
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, allowed: 1 and more")
    return int(text)


def add_digests(parse: argparse.ArgumentParser) -> None:
    """The config's digests of the output, which the inputs' must not contradict."""
    parse.add_argument(
        "--digests",
        type=parse_digests,
        default={},
        metavar="JSON",
        help="digests of the settings that the output is expected to depend on, by stage; inputs"
        " of other settings are refused",
    )


def parse_digests(text: str) -> dict[str, str]:
    """Read `--digests`.

    Raises:
        ArgumentTypeError: no JSON object of texts.
    """
    try:
        digests = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error.msg}") from error
    if not isinstance(digests, dict) or not all(isinstance(d, str) for d in digests.values()):
        raise argparse.ArgumentTypeError(f"{text}: a JSON object of texts is needed")
    return digests


def check_least(arguments: argparse.Namespace, **least: int) -> None:
    """Refuse whole numbers below the least allowed; options that are absent are not checked.

    Raises:
        InputError: naming the option and what is allowed.
    """
    from padir.files import InputError

    for option, fewest in least.items():
        value = getattr(arguments, option)
        if value is not None and value < fewest:
            name = option.replace("_", "-")
            raise InputError(f"--{name} is {value}: allowed are {fewest} and more")


def length_rule(arguments: argparse.Namespace) -> Any:
    """The length rule of the command line; None where it names none.

    Raises:
        InputError: a weight without an alpha, or a number that is not finite.
    """
    from padir.decode.candidates import LengthRule
    from padir.files import InputError

    alpha, weight = arguments.length_alpha, arguments.length_weight
    if alpha is None and weight is not None:
        raise InputError("--length-weight needs --length-alpha as well")
    for option, value in (("--length-alpha", alpha), ("--length-weight", weight)):
        if value is not None and not math.isfinite(value):
            raise InputError(f"{option} is {value}: allowed are finite numbers")
    return None if alpha is None else LengthRule(alpha, weight or 0.0)


def open_bundle(folder: Path, digests: dict[str, str]) -> Any:
    """Load a bundle and check what it was trained with.

    Raises:
        InputError: no bundle, or one of other settings than expected.
    """
    from padir.decode.load import load
    from padir.files import MODEL_FILE
    from padir.provenance import checked_digests

    loaded = load(folder)
    checked_digests(digests, loaded.spec.digests, folder / MODEL_FILE)
    return loaded


def open_translator(
    arguments: argparse.Namespace,
    loaded: Any,
    decoder: Any,
    passes: int | None,
    rule: Any = None,
) -> Any:
    """A translator with the reranker and batch size of the command line.

    Raises:
        InputError: parts that do not fit each other, or a decoder of other settings than expected.
    """
    from padir.decode.load import load
    from padir.decode.rerank import Reranker
    from padir.decode.translate import Translator
    from padir.provenance import checked_digests

    sentences = getattr(arguments, "batch_sentences", None)
    digests = getattr(arguments, "digests", {})
    reranker = arguments.reranker and Reranker(load(arguments.reranker), sentences)
    translator = Translator(loaded, decoder, passes, rule, reranker, sentences)
    if decoder.path:
        checked_digests(digests, decoder.digests or {}, decoder.path)
    checked_digests(digests, translator.digests, decoder.path or loaded.folder)
    return translator
