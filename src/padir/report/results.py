"""Results by row and test set, over the seeds of the training."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from padir.config.experiment import Config
from padir.config.rows import Decoding, Row
from padir.layout import Artifact, Place
from padir.score.significance import interval

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds.

    Attributes:
        value: mean over seeds.
        low, high: 95% bootstrap interval over sentences, of the mean over these seeds.
        spread: standard deviation over seeds (n - 1); None with one seed.
        replicates: the mean over seeds on each resample; pairs within a test set.
        by_seed: the value of each seed.
        replicates_by_seed: [seeds, samples].
    """

    value: float
    low: float
    high: float
    spread: float | None
    replicates: np.ndarray
    by_seed: np.ndarray
    replicates_by_seed: np.ndarray

    @property
    def ends(self) -> tuple[float, float]:
        """The interval."""
        return self.low, self.high

    def of_seeds(self, kept: Sequence[int]) -> "Estimate":
        """The mean over some of the seeds, by their places in `by_seed`."""
        return estimate([*self.by_seed[list(kept)]], self.replicates_by_seed[list(kept)])

    def text(self) -> str:
        """Such as `26.10 [25.02, 27.31]`."""
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def mean_if_known(values: Iterable[float | int | None]) -> float | None:
    """The mean; None where a value is not known, or there is none."""
    known = list(values)
    return None if None in known or not known else float(np.mean(np.array(known, float)))


def estimate(
    values: Sequence[float], replicates: Sequence[Sequence[float]] | np.ndarray
) -> Estimate:
    """Average seeds: one value and one list of replicates each."""
    by_seed, resampled = np.array(values, np.float64), np.array(replicates, np.float64)
    mean = np.mean(resampled, axis=0)
    low, high = interval(mean)
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Estimate(float(np.mean(values)), low, high, spread, mean, by_seed, resampled)


@dataclass(frozen=True)
class ScoredRow:
    """A row on one test set with the scores of its seeds, by rising seed."""

    place: Place
    row: Row
    scores: tuple[Document, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Training seeds, rising."""
        return tuple(score["seed"] for score in self.scores)

    def with_seeds(self, seeds: set[int]) -> "ScoredRow":
        """The row cut down to some of its seeds."""
        return replace(self, scores=tuple(s for s in self.scores if s["seed"] in seeds))

    def bleu(self) -> Estimate:
        """BLEU over seeds."""
        return self._estimate([score["bleu"]["score"] for score in self.scores], "bleu")

    def stutter(self, before_drop: bool) -> Estimate | None:
        """Stutter per 100 units over seeds; None where the decoder gave no text before the drop."""
        key = "words_before_drop" if before_drop else "words"
        rates = [score["stutter"][key] for score in self.scores]
        if any(rate is None for rate in rates):
            return None
        name = "stutter_before_drop" if before_drop else "stutter"
        return self._estimate([rate["per_100"] for rate in rates], name)

    def measured(self, replicates: str, *keys: str) -> Estimate | None:
        """One number of the score document over seeds, which `replicates` holds on each resample;
        None where any seed lacks it."""
        values = [_at(score, keys) for score in self.scores]
        resampled = [score["replicates"].get(replicates) for score in self.scores]
        if any(value is None for value in (*values, *resampled)):
            return None
        return estimate([float(value) for value in values], resampled)

    def mean(self, *keys: str) -> float | None:
        """Mean over seeds of one number of the score document; None where any seed lacks it."""
        return mean_if_known(_at(score, keys) for score in self.scores)

    def _estimate(self, values: Sequence[float], name: str) -> Estimate:
        return estimate(values, [score["replicates"][name] for score in self.scores])


def _at(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        if value is None:
            return None
        value = value.get(key)
    return value


class Absence(NamedTuple):
    """An artifact that is not shown, and why: `missing`, `made with other settings`, or
    `made with another version` of sacreBLEU or of a further scorer."""

    artifact: Artifact
    reason: str


class Rating(NamedTuple):
    """A further scorer's judgement of a row.

    Attributes:
        estimate: over the seeds; None where the scorer did not run on each of them.
        signature: of the scorer; None with it.
        reason: why it did not run; None where it did.
        seeds: number of training seeds.
    """

    estimate: Estimate | None
    signature: str | None
    reason: str | None
    seeds: int


@dataclass(frozen=True, eq=False)
class Results:
    """Contents of some artifacts, in the config's order. One that is missing or was made with
    other settings is in `absent` and nowhere else. Equal to itself alone, so that it has a hash.

    Attributes:
        rows: rows with at least one score, by test set and row.
        ratings: further scores, by test set, row and name of the scorer.
        latencies: timing documents, by test set and timing run.
        curves: lines of metrics.jsonl, by test set, training and seed.
        provenance: provenance.json of these trainings, by the same key.
        cards: of distilled targets, by test set, teacher and seed.
        statistics: of cleaning, by dataset and pair.
        samples: score and chains of each sampler, by test set and sampler.
        theory: documents of Ising experiments, by path.
        analyses: documents of the dependence analysis, by path.
        traces: of the rows that the viewer shows, by test set and row.
        absent: what is not shown.
    """

    config: Config
    rows: Mapping[tuple[Place, Row], ScoredRow] = field(default_factory=dict)
    ratings: Mapping[tuple[Place, Row, str], Rating] = field(default_factory=dict)
    latencies: Mapping[tuple[Place, str], Document] = field(default_factory=dict)
    curves: Mapping[tuple[Place, str, int], Sequence[Document]] = field(default_factory=dict)
    provenance: Mapping[tuple[Place, str, int], Document] = field(default_factory=dict)
    cards: Mapping[tuple[Place, str, int], Document] = field(default_factory=dict)
    statistics: Mapping[tuple[str, str], Document] = field(default_factory=dict)
    samples: Mapping[tuple[Place, str], tuple[Document, Sequence[Document]]] = field(
        default_factory=dict
    )
    theory: Mapping[str, Document] = field(default_factory=dict)
    analyses: Mapping[str, Document] = field(default_factory=dict)
    traces: Mapping[tuple[Place, Row], Sequence[Document]] = field(default_factory=dict)
    absent: Sequence[Absence] = ()

    def places(self) -> list[Place]:
        """Test sets that have a score, in the config's order."""
        return list(dict.fromkeys(place for place, _ in self.rows))

    def row(self, place: Place, row: Row | None) -> ScoredRow | None:
        """A row on one test set, or None where it has no score."""
        return None if row is None else self.rows.get((place, row))

    def scored(self, rows: Iterable[Row]) -> Iterator[ScoredRow]:
        """The rows that have a score, test set by test set."""
        rows = list(rows)
        for place in self.places():
            yield from (self.rows[place, row] for row in rows if (place, row) in self.rows)

    def baseline(self, place: Place) -> ScoredRow | None:
        """The AR row that others are compared with."""
        return self.row(place, self.config.baseline())

    def timed(self, place: Place, timing: str, row: Row | None) -> Document | None:
        """One row of a timing run."""
        document = self.latencies.get((place, timing), {})
        for line in document.get("rows", ()):
            if row is not None and timed_row(line) == row:
                return line
        return None


def timed_row(line: Document) -> Row:
    """The row that a line of a timing document is about."""
    return Row(line["training"], Decoding(line["decoder"], line["passes"]))


def difference(row: ScoredRow, other: ScoredRow) -> tuple[float, float, float]:
    """BLEU of one row minus another's on the same test set: value, and 95% paired interval."""
    ours, theirs = row.bleu(), other.bleu()
    low, high = interval(ours.replicates - theirs.replicates)
    return ours.value - theirs.value, low, high


def search_row(config: Config, kind: str) -> Row | None:
    """The core row of the baseline's training with this search, if any."""
    baseline = config.baseline()
    if baseline is None:
        return None
    rows = [baseline, *(row for row in config.core_rows() if row.training == baseline.training)]
    return next((row for row in rows if config.decoders[row.decoding.decoder].kind == kind), None)
