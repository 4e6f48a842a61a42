"""All scores of one output file, as one JSON value."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from padir.files import InputError, digest
from padir.score import redundancy, significance, stutter
from padir.score.bleu import CorpusCounts, bleu_counts, chrf_counts, paper_signature
from padir.score.redundancy import Lexemes


@dataclass(frozen=True)
class Decoded:
    """What decoding says beyond the text, one entry per sentence; None where it says nothing.

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


def decoded_from_records(
    records: Sequence[Mapping[str, Any]], hypotheses: Sequence[str], name: str
) -> Decoded:
    """Take what scoring needs from the decoder's JSON lines.

    Args:
        records: one per sentence, in corpus order.
        hypotheses: the text being scored; the records must hold the same.
        name: of the file, for messages.

    Raises:
        InputError: other sentences than those being scored, or a field that only some lines have.
    """
    if len(records) != len(hypotheses):
        raise InputError(f"{name}: {len(records)} lines, but {len(hypotheses)} hypotheses")
    for number, (record, hypothesis) in enumerate(zip(records, hypotheses, strict=True), 1):
        if record.get("hypothesis") != hypothesis:
            raise InputError(f"{name}: line {number}: not the hypothesis that is being scored")

    def column(key: str) -> list[Any] | None:
        present = [key in record and record[key] is not None for record in records]
        if not any(present):
            return None
        if not all(present):
            raise InputError(f"{name}: line {present.index(False) + 1}: key {key} is missing")
        return [record[key] for record in records]

    return Decoded(
        tokens=column("tokens"),
        before_drop=column("before_drop"),
        tokens_before_drop=column("tokens_before_drop"),
        steps=column("steps"),
    )


def score_corpus(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    target_language: str,
    *,
    decoded: Decoded | None = None,
    baseline: Sequence[str] | None = None,
    baseline_name: str = "baseline",
    valid: Sequence[bool] | None = None,
    sources: Sequence[str] | None = None,
    source_language: str = "xs",
    lexemes: Lexemes | None = None,
    samples: int = 1000,
) -> dict[str, Any]:
    """Score one system's output on one test set.

    Args:
        hypotheses: one detokenised sentence each.
        references: one list per reference, each as long as `hypotheses`.
        target_language: chooses BLEU's tokenizer and the unit of stutter.
        decoded: what the decoder adds.
        baseline: another system's output for the same sentences.
        valid: for each hypothesis, whether the grammar allows it (synthetic data).
        sources, source_language, lexemes: what was to be said, in which language, and what words
            mean (synthetic data); without them nobody knows which words were dropped.
        samples: bootstrap resamples.

    Returns:
        The score document without its labels; `replicates` holds the scores on each resample,
        which pair between all systems on this test set.
    """
    if not hypotheses:
        raise InputError("there is no sentence to score")
    if decoded is None:
        decoded = Decoded()
    resamples = significance.resample_counts(len(hypotheses), samples)
    bleu = bleu_counts(hypotheses, references, target_language)
    final = stutter.word_counts(hypotheses, references, target_language)
    replicates = {
        "samples": samples,
        "seed": significance.SEED,
        "bleu": significance.replicates(bleu, resamples),
        "stutter": final.replicates(resamples),
        "stutter_before_drop": None,
        "validity": None,
        "dropped": None,
        "decoder_passes": None,
    }
    if decoded.steps is not None:
        replicates["decoder_passes"] = resamples @ np.array(decoded.steps) / len(hypotheses)
    if valid is not None:
        replicates["validity"] = resamples @ np.array(valid, np.float64) / len(valid)
    twice = redundancy.redundancy_counts(hypotheses, references, target_language, lexemes)
    redundant: dict[str, Any] = {
        "related": "ending" if lexemes is None else "lexeme",
        "words": redundancy.summary(twice, resamples),
        "words_before_drop": None,
        "length_ratio": redundancy.length_ratio(twice, final.reference_units, len(references)),
        "dropped": None,
    }
    if lexemes is not None and sources is not None:
        lost = redundancy.dropped_counts(
            sources, hypotheses, source_language, target_language, lexemes
        )
        replicates["dropped"] = lost.replicates(resamples)
        low, high = significance.interval(replicates["dropped"])
        everything = np.ones((1, len(sources)))
        rate = float(lost.replicates(everything)[0])
        redundant["dropped"] = {"per_100": rate, "low": low, "high": high}
    stutters: dict[str, Any] = {
        "unit": "character" if target_language in stutter.CHARACTER_LANGUAGES else "word",
        "words": stutter.summary(final, resamples, has_reference=True),
        "words_before_drop": None,
        "tokens": None,
        "tokens_before_drop": None,
        "run_lengths": _histogram(final),
        "run_lengths_before_drop": None,
    }
    if decoded.before_drop is not None:
        before = stutter.word_counts(decoded.before_drop, references, target_language)
        stutters["words_before_drop"] = stutter.summary(before, resamples, has_reference=True)
        stutters["run_lengths_before_drop"] = _histogram(before)
        redundant["words_before_drop"] = redundancy.summary(
            redundancy.redundancy_counts(decoded.before_drop, references, target_language, lexemes),
            resamples,
        )
        replicates["stutter_before_drop"] = before.replicates(resamples)
    for key, tokens in (
        ("tokens", decoded.tokens),
        ("tokens_before_drop", decoded.tokens_before_drop),
    ):
        if tokens is not None:
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
            **_scored(bleu, resamples),
            "paper_signature": paper_signature(target_language),
        },
        "chrf": _scored(chrf_counts(hypotheses, references), resamples),
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


def _scored(metric: CorpusCounts, resamples: np.ndarray) -> dict[str, Any]:
    low, high = significance.interval(significance.replicates(metric, resamples))
    return {"score": metric.score(), "low": low, "high": high, "signature": metric.signature}


def _histogram(counts: stutter.StutterCounts) -> dict[str, int]:
    return {str(length): runs for length, runs in counts.runs.items()}


def _validity(valid: Sequence[bool] | None) -> dict[str, float] | None:
    if valid is None:
        return None
    low, high = significance.share_interval(sum(valid), len(valid))
    return {"share": sum(valid) / len(valid), "low": low, "high": high}
