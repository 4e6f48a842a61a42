"""Opens the bundle, length rule and translator that the options of a decoding verb name."""

import argparse
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from padir.config.rows import Decoding
from padir.files import InputError, shown


def length_rule(parsed: argparse.Namespace) -> Any:
    """The length rule of the command line; None where it names none. Raises InputError for a
    weight without an alpha, and for a number that is too large."""
    from padir.config.decoder import LARGEST_WEIGHT
    from padir.decode.candidates import LengthRule

    alpha, weight = parsed.length_alpha, parsed.length_weight
    if alpha is None and weight is not None:
        raise InputError("--length-weight needs --length-alpha as well")
    for name, value in (("--length-alpha", alpha), ("--length-weight", weight)):
        if value is not None and not -LARGEST_WEIGHT <= value <= LARGEST_WEIGHT:
            allowed = f"-{LARGEST_WEIGHT} to {LARGEST_WEIGHT}"
            raise InputError(f"{name} is {value}: allowed are {allowed}")
    return None if alpha is None else LengthRule(alpha, weight or 0.0)


def refuse_rule(rule: Any, decoder: Any) -> None:
    """Raise InputError where a decoder would not read a length rule of the command line, if any."""
    if rule and decoder.settings.kind == "greedy":
        raise InputError(f"--length-alpha: decoder {decoder.name} compares no hypotheses")
    if rule and decoder.settings.kind == "beam" and rule.weight:
        raise InputError(f"--length-weight: decoder {decoder.name} predicts no lengths")


@contextmanager
def naming_rule_options() -> Iterator[None]:
    """Name `RULE`'s options, which not every caller has, where a decoder lacks a length rule."""
    from padir.decode.translate import MissingLengthRuleError

    try:
        yield
    except MissingLengthRuleError as error:
        raise InputError(f"{error}, or give --length-alpha") from error


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
    """Rerankers of a batch size by the training that a decoder's setting `reranker` names. Raises
    InputError for two of one training, of which one would be used for all rows."""
    from padir.decode.rerank import Reranker

    opened = [Reranker(open_bundle(folder, {}), sentences) for folder in folders or ()]
    by_training: dict[str | None, Any] = {each.loaded.spec.training: each for each in opened}
    if len(by_training) < len(opened):
        names = ", ".join(each.loaded.spec.training for each in opened)
        raise InputError(f"--reranker: {names}: allowed is one model of each training")
    return by_training


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
    # `padir tune` has no option for the rule.
    if getattr(parsed, "length_alpha", None) is not None:
        refuse_rule(rule, decoder)
    if decoder.path:
        checked_digests(digests, decoder.digests or {}, decoder.path)
        trained = loaded.spec.digests.get("training")
        if trained and (decoder.digests or {}).get("training", trained) != trained:
            print(
                f"{shown(decoder.path)}: was tuned for another training than that of"
                f" {shown(loaded.folder)}; padir tune tunes it for this one",
                file=sys.stderr,
            )
    checked_digests(digests, translator.digests, decoder.path or loaded.folder)
    return translator
