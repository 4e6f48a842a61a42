"""All scores of one output file, as one JSON value."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from padir.files import InputError, digest
from padir.languages import scored_by_character
from padir.score import redundancy, significance, stutter
from padir.score.bleu import bleu_counts, chrf_counts, paper_signature
from padir.score.redundancy import Lexemes


@dataclass(frozen=True)
class DecoderOutput:
    """Records of the decoder besides the text, one entry per sentence; None if there are none.

    Attributes:
        tokens: ids of the hypothesis.
        before_drop: text before the final drop of repeats.
        tokens_before_drop: ids before the final drop of repeats.
        steps: decoder passes used.
    """

    tokens: list[list[int]] | None = None
    before_drop: list[str] | None = None
    tokens_before_drop: list[list[int]] | None = None
    steps: list[int] | None = None

    @classmethod
    def from_records(
        cls, records: Sequence[Mapping[str, Any]], hypotheses: Sequence[str], name: str
    ) -> "DecoderOutput":
        """Take what scoring needs from the decoder's JSON lines.

        Args:
            records: one per sentence, in corpus order.
            hypotheses: the scored text, which the records must hold too.
            name: of the file, for messages.

        Raises:
            InputError: the records hold other sentences, or a field that only some lines have.
        """
        if len(records) != len(hypotheses):
            raise InputError(f"{name}: {len(records)} lines, but {len(hypotheses)} hypotheses")
        for number, (record, hypothesis) in enumerate(zip(records, hypotheses, strict=True), 1):
            if record.get("hypothesis") != hypothesis:
                raise InputError(f"{name}: line {number}: not the hypothesis that is being scored")

        def column(key: str) -> list[Any] | None:
            values = [record.get(key) for record in records]
            if all(value is None for value in values):
                return None
            if None in values:
                raise InputError(f"{name}: line {values.index(None) + 1}: key {key} is missing")
            for number, value in enumerate(values, 1):
                if not _holds(key, value):
                    raise InputError(f"{name}: line {number}: key {key}: found {value!r:.60}")
            return values

        return cls(*(column(field.name) for field in fields(cls)))


def _holds(key: str, value: object) -> bool:
    """Whether a value is of the kind that this key of the decoder's JSON lines has."""
    if key == "before_drop":
        return isinstance(value, str)
    numbers = value if isinstance(value, list) and key != "steps" else [value]
    return (key == "steps" or isinstance(value, list)) and all(type(n) is int for n in numbers)


def score_corpus(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    target_language: str,
    *,
    decoded: DecoderOutput | None = None,
    baseline: Sequence[str] | None = None,
    baseline_name: str = "baseline",
    valid: Sequence[bool] | None = None,
    sources: Sequence[str] | None = None,
    lexemes: Lexemes | None = None,
    samples: int = 1000,
) -> dict[str, Any]:
    """Score one system's output on one test set.

    Args:
        hypotheses: one detokenised sentence each.
        references: one list per reference, each as long as `hypotheses`.
        target_language: decides BLEU's tokenizer and the unit of stutter.
        decoded: what the decoder recorded.
        baseline: another system's output for the same sentences.
        baseline_name: label of the baseline.
        valid: whether the grammar allows each hypothesis (synthetic data).
        sources, lexemes: source lines and the lexicon (synthetic data), to count dropped words.
        samples: bootstrap resamples.

    Returns:
        The score document without its labels; `replicates` holds the scores on each resample,
        which are paired between systems on this test set.
    """
    if not hypotheses:
        raise InputError("there is no sentence to score")
    if decoded is None:
        decoded = DecoderOutput()
    resamples = significance.resample_counts(len(hypotheses), samples)

    def stutter_of(lines: Sequence[str]) -> tuple[stutter.StutterCounts, dict[str, Any]]:
        counts = stutter.word_counts(lines, references, target_language)
        return counts, stutter.summary(counts, resamples, has_reference=True)

    def redundancy_of(lines: Sequence[str]) -> tuple[redundancy.RedundancyCounts, dict[str, Any]]:
        counts = redundancy.redundancy_counts(lines, references, target_language, lexemes)
        return counts, redundancy.summary(counts, resamples)

    bleu = bleu_counts(hypotheses, references, target_language)
    chrf = chrf_counts(hypotheses, references)
    final, final_stutter = stutter_of(hypotheses)
    repeated, final_redundancy = redundancy_of(hypotheses)
    replicates: dict[str, Any] = {
        "samples": samples,
        "seed": significance.SEED,
        "bleu": significance.replicates(bleu, resamples),
        "stutter": final.replicates(resamples),
        **dict.fromkeys(("stutter_before_drop", "validity", "dropped", "decoder_passes")),
    }
    redundant: dict[str, Any] = {
        "related": "ending" if lexemes is None else "lexeme",
        "words": final_redundancy,
        "words_before_drop": None,
        "length_ratio": redundancy.length_ratio(repeated, final.reference_units, len(references)),
        "dropped": None,
    }
    stutters: dict[str, Any] = {
        "unit": "character" if scored_by_character(target_language) else "word",
        "words": final_stutter,
        **dict.fromkeys(("words_before_drop", "tokens", "tokens_before_drop")),
        "run_lengths": _histogram(final),
        "run_lengths_before_drop": None,
    }
    if decoded.steps is not None:
        replicates["decoder_passes"] = resamples @ np.array(decoded.steps) / len(hypotheses)
    if valid is not None:
        replicates["validity"] = resamples @ np.array(valid, np.float64) / len(valid)
    if lexemes is not None and sources is not None:
        dropped = redundancy.dropped_counts(sources, hypotheses, target_language, lexemes)
        replicates["dropped"] = dropped.replicates(resamples)
        low, high = significance.interval(replicates["dropped"])
        rate = float(dropped.replicates(np.ones((1, len(sources))))[0])
        redundant["dropped"] = {"per_100": rate, "low": low, "high": high}
    if decoded.before_drop is not None:
        before, stutters["words_before_drop"] = stutter_of(decoded.before_drop)
        stutters["run_lengths_before_drop"] = _histogram(before)
        replicates["stutter_before_drop"] = before.replicates(resamples)
        _, redundant["words_before_drop"] = redundancy_of(decoded.before_drop)
    for key in ("tokens", "tokens_before_drop"):
        if (tokens := getattr(decoded, key)) is not None:
            counts = stutter.token_counts(tokens)
            stutters[key] = stutter.summary(counts, resamples, has_reference=False)
    pair = None
    if baseline is not None:
        result = significance.paired(
            bleu, bleu_counts(baseline, references, target_language), samples
        )
        pair = {"baseline": baseline_name, "bleu_difference": result.difference, **asdict(result)}
        del pair["difference"]
    return {
        "sentences": len(hypotheses),
        "references": len(references),
        "target_language": target_language,
        "test_digest": digest([list(lines) for lines in references]),
        "bleu": {
            **significance.scored(bleu, replicates["bleu"]),
            "paper_signature": paper_signature(target_language),
        },
        "chrf": significance.scored(chrf, significance.replicates(chrf, resamples)),
        "paired": pair,
        "stutter": stutters,
        "redundancy": redundant,
        "validity": _validity(valid),
        "decoder_passes": None if decoded.steps is None else float(np.mean(decoded.steps)),
        "replicates": {
            key: [round(float(v), 4) for v in value] if isinstance(value, np.ndarray) else value
            for key, value in replicates.items()
        },
    }


def _histogram(counts: stutter.StutterCounts) -> dict[str, int]:
    return {str(length): runs for length, runs in counts.runs.items()}


def _validity(valid: Sequence[bool] | None) -> dict[str, float] | None:
    if valid is None:
        return None
    low, high = significance.share_interval(sum(valid), len(valid))
    return {"share": sum(valid) / len(valid), "low": low, "high": high}
