"""Numbers that the paper prints, to stand beside ours. Source: sections 3.3 and L.4, table 1."""

from collections.abc import Mapping

# BLEU, table 1: benchmark and direction -> {"beam": AR with 5 hypotheses, passes: PaDIR}.
TABLE1: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("wmt14", "de-en"): {"beam": 33.50, "T4": 33.49, "T10": 33.63},
    ("wmt14", "en-de"): {"beam": 29.54, "T4": 28.61, "T10": 28.58},
    ("wmt16", "ro-en"): {"beam": 34.89, "T4": 33.98, "T10": 33.99},
    ("wmt16", "en-ro"): {"beam": 29.75, "T4": 28.98, "T10": 28.97},
    ("wmt17", "zh-en"): {"beam": 27.59, "T4": 26.47, "T10": 26.54},
    ("wmt17", "en-zh"): {"beam": 33.94, "T4": 32.59, "T10": 32.68},
}


def table1_bleu(dataset: str, direction: str, decoding: str) -> float | None:
    """The paper's BLEU for a dataset named after its benchmark (wmt14...); None otherwise."""
    return TABLE1.get((dataset[:5].lower(), direction), {}).get(decoding)


def gaps_to_ar(passes: str) -> list[float]:
    """PaDIR minus AR in table 1, over the six directions."""
    return [row[passes] - row["beam"] for row in TABLE1.values()]


def gains(first: str, second: str) -> list[float]:
    """BLEU gained from one number of passes to another in table 1, over the six directions."""
    return [row[second] - row[first] for row in TABLE1.values()]
