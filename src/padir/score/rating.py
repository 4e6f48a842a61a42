"""Rating of an output file by a further scorer, as one JSON value.

Every scorer gives counts per sentence (`CorpusCounts`), so all have a signature and intervals on
the same resamples. A scorer that could not run is reported as such, never as a blank or a zero.
"""

from collections.abc import Sequence
from typing import Any

from padir.files import digest
from padir.score import significance
from padir.score.bleu import CorpusCounts

RUN, NOT_RUN = "run", "not run"


def rating(
    counts: CorpusCounts, references: Sequence[Sequence[str]], samples: int
) -> dict[str, Any]:
    """Score, 95% interval, signature, and the score on each resample.

    Args:
        counts: of the output, from a scorer.
        references: one list per reference; their digest identifies the test set.
        samples: bootstrap resamples, the same as those of BLEU.
    """
    resamples = significance.resample_counts(len(counts.statistics), samples)
    spread = significance.replicates(counts, resamples)
    return {
        "status": RUN,
        "reason": None,
        **significance.scored(counts, spread),
        "sentences": len(counts.statistics),
        "references": len(references),
        "test_digest": digest([list(lines) for lines in references]),
        "replicates": {
            "samples": samples,
            "seed": significance.SEED,
            "score": [round(float(value), 4) for value in spread],
        },
    }


def not_run(reason: str) -> dict[str, Any]:
    """The document of a scorer that could not run, with the reason in words."""
    return {"status": NOT_RUN, "reason": reason}
