"""One further score of one output file, from whichever scorer, as one JSON value.

Every scorer comes down to counts per sentence (`CorpusCounts`), so that all have intervals on the
same resamples, and a signature. One that could not be asked says so: a score of it is never a
blank or a zero.
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
        references: what it was scored against; their digest names the test set.
        samples: bootstrap resamples, the same as those of BLEU.
    """
    resamples = significance.resample_counts(len(counts.statistics), samples)
    spread = significance.replicates(counts, resamples)
    low, high = significance.interval(spread)
    return {
        "status": RUN,
        "reason": None,
        "score": counts.score(),
        "low": low,
        "high": high,
        "signature": counts.signature,
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
    """The same document of a scorer that could not be asked, with the reason in words."""
    return {"status": NOT_RUN, "reason": reason}
