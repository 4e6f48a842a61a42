"""The provenance card of distilled targets: who made them, and how good they are."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from padir.data.grammar import Grammar
from padir.files import read_aligned, sha256_file

Bleu = Callable[[Sequence[str], Sequence[Sequence[str]]], dict[str, Any]]
"""Hypotheses and references to {"score", "signature"}."""


def describe(
    teacher: str,
    decode: str,
    train: tuple[Path, Path],
    valid: tuple[Path, Sequence[Path]],
    bleu: Bleu,
    grammar: tuple[Path, Path] | None = None,
) -> dict[str, Any]:
    """The card's content.

    Args:
        teacher: its name.
        decode: greedy or beam; files for ready-made translations, cloud for bought ones.
        train: translations of the training sources, and the raw targets.
        valid: translations of the validation sources, and their references.
        bleu: corpus BLEU.
        grammar: of synthetic data, and the training sources: the share of valid translations is
            then exact.

    Raises:
        InputError: files that should be aligned are not.
    """
    translations, raw = read_aligned(*train)
    valid_translations, *references = read_aligned(valid[0], *valid[1])
    card: dict[str, Any] = {
        "teacher": teacher,
        "decode": decode,
        "lines": {"train": len(translations), "valid": len(valid_translations)},
        "sha256": sha256_file(train[0]),
        "valid_sha256": sha256_file(valid[0]),
        "teacher_bleu": bleu(valid_translations, references),
        "agreement_with_raw": bleu(translations, [raw]),
        "empty": sum(not line for line in translations),
        "validity": None,
    }
    if grammar:
        rules = Grammar.load(grammar[0])
        sources, _ = read_aligned(grammar[1], train[0])
        right = sum(map(rules.is_valid, sources, translations))
        card["validity"] = {"share": right / max(1, len(sources)), "sentences": len(sources)}
    return card
