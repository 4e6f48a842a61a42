"""What `padir rate` left under results/: further scores by row and scorer, or why there is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from padir.config.experiment import Config
from padir.files import InputError, read_json, shown
from padir.report.comparable import comparable
from padir.report.estimate import Estimate, estimate
from padir.score.rating import NOT_RUN, RUN

# (dataset, direction, model, decoding, scorer)
Key = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Rating:
    """One scorer's judgement of one row.

    Attributes:
        estimate: over the seeds; None where the scorer was not run on each of them.
        signature: of the scorer; None with it.
        reason: why it was not run; None where it was.
        seeds: how many training seeds.
    """

    estimate: Estimate | None
    signature: str | None
    reason: str | None
    seeds: int


def load_ratings(folder: Path, config: Config) -> dict[Key, Rating]:
    """Every rating that the config asks for and that is there.

    Raises:
        InputError: a file that is not what it should be, or two ratings of one test set by one
            scorer that differ in signature, test set or resamples.
    """
    found: dict[Key, Rating] = {}
    split = config.evaluation.split
    for dataset, data in config.datasets.items():
        for direction in data.directions:
            for scorer in config.evaluation.scorers:
                made: list[tuple[Path, Mapping[str, Any]]] = []
                for model, run in config.models.items():
                    for decoding in run.decode:
                        documents = []
                        for seed in sorted(run.seeds):
                            place = folder / "runs" / dataset / direction / model / f"seed{seed}"
                            path = place / "rate" / f"{split}.{decoding}.{scorer}.json"
                            if not path.is_file():
                                continue
                            labels = (dataset, direction, model, seed, decoding, split)
                            document = _read(path, labels, config.evaluation.scorers[scorer].kind)
                            documents.append(document)
                            if document["status"] == RUN:
                                made.append((path, document))
                        if documents:
                            key = (dataset, direction, model, decoding, scorer)
                            found[key] = _rating(documents)
                comparable(made, {"signature": lambda document: document["signature"]})
    return found


def _rating(documents: Sequence[Mapping[str, Any]]) -> Rating:
    reasons = [document["reason"] for document in documents if document["status"] != RUN]
    if reasons:
        return Rating(None, None, reasons[0], len(documents))
    mean = estimate(
        [document["score"] for document in documents],
        [document["replicates"]["score"] for document in documents],
    )
    return Rating(mean, documents[0]["signature"], None, len(documents))


def _read(path: Path, labels: Sequence[Any], kind: str) -> Mapping[str, Any]:
    document = read_json(path)
    if not isinstance(document, dict) or document.get("status") not in (RUN, NOT_RUN):
        raise InputError(f"{shown(path)}: no document of padir rate")
    names = ("dataset", "direction", "model", "seed", "decoding", "split", "scorer")
    for key, expected in zip(names, (*labels, kind), strict=True):
        if document.get(key) != expected:
            raise InputError(
                f"{shown(path)}: {key} is {document.get(key)!r}; the path and config say"
                f" {expected!r}"
            )
    if document["status"] == RUN:
        for key in ("score", "signature", "test_digest", "replicates"):
            if document.get(key) is None:
                raise InputError(f"{shown(path)}: key {key} is missing or null")
    return document
