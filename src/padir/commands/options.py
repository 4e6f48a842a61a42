"""Opens the bundle, length rule and translator that the options of a decoding verb name."""

import argparse
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from padir.config.rows import Decoding
from padir.files import InputError


def length_rule(parsed: argparse.Namespace) -> Any:
    """The length rule of the command line; None where it names none. Raises InputError for a
    weight without an alpha, and for a number that is not finite."""
    from padir.decode.candidates import LengthRule

    alpha, weight = parsed.length_alpha, parsed.length_weight
    if alpha is None and weight is not None:
        raise InputError("--length-weight needs --length-alpha as well")
    for name, value in (("--length-alpha", alpha), ("--length-weight", weight)):
        if value is not None and not math.isfinite(value):
            raise InputError(f"{name} is {value}: allowed are finite numbers")
    return None if alpha is None else LengthRule(alpha, weight or 0.0)


def refuse_overwriting(read: Mapping[str, Path | None], written: Mapping[str, Path]) -> None:
    """Raise InputError where a file to write is also the file of another option.

    Args:
        read, written: path by option; None where the option is not given.
    """
    for name, path in written.items():
        if path.exists() and not path.is_file():
            continue  # Such as /dev/null.
        for other, other_path in {**read, **written}.items():
            if other != name and other_path and other_path.resolve() == path.resolve():
                raise InputError(f"{name} {path}: is the file of {other}, allowed is another one")


def open_bundle(folder: Path, digests: dict[str, str]) -> Any:
    """Load a bundle and check what it was trained with. Raises InputError where it is none, or has
    other settings than expected."""
    from padir.bundle import MODEL_FILE
    from padir.decode.load import load
    from padir.provenance import checked_digests

    loaded = load(folder)
    checked_digests(digests, loaded.spec.digests, folder / MODEL_FILE)
    return loaded


def open_rerankers(
    folders: Sequence[Path] | None, sentences: int | None = None
) -> dict[str | None, Any]:
    """Rerankers of a batch size by the training that a decoder's setting `reranker` names."""
    from padir.decode.rerank import Reranker

    opened = [Reranker(open_bundle(folder, {}), sentences) for folder in folders or ()]
    return {each.loaded.spec.training: each for each in opened}


def refuse_unused(rerankers: Collection[str | None], used: Collection[str | None]) -> None:
    """Raise InputError where no decoder uses one of the rerankers."""
    unused = set(rerankers) - set(used)
    if unused:
        raise InputError(
            f"--reranker: no decoder of --rows names {', '.join(sorted(map(str, unused)))}"
        )


def parse_decoding(text: str) -> Decoding:
    """Read the decoder and passes of a row. Raises InputError for a text that is none."""
    try:
        return Decoding.parse(text)
    except ValueError as error:
        raise InputError(f"--rows: {error}") from error


def open_translator(
    parsed: argparse.Namespace, loaded: Any, decoder: Any, passes: int | None, rule: Any = None
) -> Any:
    """A translator with the reranker and batch size of the command line. Raises InputError for
    parts that do not fit each other, and for a decoder of other settings than expected."""
    from padir.decode.load import load
    from padir.decode.rerank import Reranker
    from padir.decode.translate import Translator
    from padir.provenance import checked_digests

    # benchmarks/editing.py has neither option.
    sentences = getattr(parsed, "batch_sentences", None)
    digests = getattr(parsed, "digests", {})
    reranker = parsed.reranker and Reranker(load(parsed.reranker), sentences)
    oracle_length = getattr(parsed, "oracle_length", False)
    translator = Translator(loaded, decoder, passes, rule, reranker, sentences, oracle_length)
    # `padir tune` has neither option.
    given, kind = getattr(parsed, "length_alpha", None) is not None, decoder.settings.kind
    if given and kind == "greedy":
        raise InputError(f"--length-alpha: decoder {decoder.name} compares no hypotheses")
    if given and kind == "beam" and rule.weight:
        raise InputError(f"--length-weight: decoder {decoder.name} predicts no lengths")
    if decoder.path:
        checked_digests(digests, decoder.digests or {}, decoder.path)
    checked_digests(digests, translator.digests, decoder.path or loaded.folder)
    return translator
