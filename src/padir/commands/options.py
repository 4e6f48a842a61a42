"""Opens the bundle, length rule and translator that the options of a decoding verb name."""

import argparse
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from padir.config.rows import Decoding
from padir.files import InputError, shown


def length_rule(parsed: argparse.Namespace, decoder: Any, loaded: Any) -> Any:
    """The length rule of the command line; None where it names none.

    The number that it leaves out is the decoder's own; where that has none, the weight is 0. Raises
    InputError for an alpha that nothing names, a number that is too large, and what the decoder
    would not read.
    """
    from padir.config.decoder import LARGEST_WEIGHT
    from padir.decode.candidates import LengthRule
    from padir.decode.load import MissingLengthRuleError, own_rule

    alpha, weight = parsed.length_alpha, parsed.length_weight
    given = {"--length-alpha": alpha, "--length-weight": weight}
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        return None
    for name, value in given.items():
        if not -LARGEST_WEIGHT <= value <= LARGEST_WEIGHT:
            allowed = f"-{LARGEST_WEIGHT} to {LARGEST_WEIGHT}"
            raise InputError(f"{name} is {value}: allowed are {allowed}")
    if decoder.settings.kind == "greedy":
        raise InputError(f"{next(iter(given))}: decoder {decoder.name} compares no hypotheses")
    if decoder.settings.kind == "beam" and weight:
        raise InputError(f"--length-weight: decoder {decoder.name} predicts no lengths")
    try:
        own = own_rule(decoder, loaded)
    except MissingLengthRuleError as error:
        if alpha is None:
            raise InputError("--length-weight needs --length-alpha as well") from error
        own = LengthRule()
    alpha = own.alpha if alpha is None else alpha
    return LengthRule(alpha, own.weight if weight is None else weight)


@contextmanager
def naming_rule_options() -> Iterator[None]:
    """Name `RULE`'s options, which not every caller has, where a decoder lacks a length rule."""
    from padir.decode.load import MissingLengthRuleError

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
