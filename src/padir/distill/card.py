"""The provenance card of distilled targets: who made them, and how good they are."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from padir.data.grammar import Grammar
from padir.files import InputError, count_aligned, iter_aligned, iter_lines, sha256_file, shown

Bleu = Callable[[Iterable[tuple[str, ...]]], dict[str, Any]]
"""Each hypothesis with its references, to {"score", "signature"}."""


def describe(
    teacher: str,
    decode: str,
    train: tuple[Path, Path],
    valid: tuple[Path, Sequence[Path]],
    bleu: Bleu,
    grammar: tuple[Path, Path] | None = None,
) -> dict[str, Any]:
    """The card's content; files are read as streams, so that their size does not matter.

    Args:
        teacher: its name.
        decode: greedy or beam; files for ready-made translations, cloud for bought ones.
        train: translations of the training sources, and the raw targets.
        valid: translations of the validation sources, and their references.
        bleu: corpus BLEU.
        grammar: of synthetic data, and the training sources: the share of valid translations is
            then exact.

    Raises:
        InputError: files that should be aligned are not, or have no line.
    """
    lines = {"train": count_aligned(*train), "valid": count_aligned(valid[0], *valid[1])}
    for count, path in zip(lines.values(), (train[0], valid[0]), strict=True):
        if not count:
            raise InputError(f"{shown(path)}: is empty; at least one line is needed")
    card: dict[str, Any] = {
        "teacher": teacher,
        "decode": decode,
        "lines": lines,
        "sha256": sha256_file(train[0]),
        "valid_sha256": sha256_file(valid[0]),
        "teacher_bleu": bleu(iter_aligned(valid[0], *valid[1])),
        "agreement_with_raw": bleu(iter_aligned(*train)),
        "empty": sum(not line for line in iter_lines(train[0])),
        "validity": None,
    }
    if grammar:
        rules = Grammar.load(grammar[0])
        right = sum(rules.is_valid(*pair) for pair in iter_aligned(grammar[1], train[0]))
        card["validity"] = {"share": right / lines["train"], "sentences": lines["train"]}
    return card
