"""What lies under results/, read, checked and put together by row.

A row is one model with one decoding on one test set; its seeds are averaged. The config says
which rows belong to the report: what is missing is listed, what is left over is counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from padir.config.experiment import Config
from padir.files import InputError, read_json, read_jsonl, shown
from padir.report.comparable import comparable
from padir.report.estimate import Estimate, estimate
from padir.report.ratings import Key, Rating, load_ratings
from padir.report.selection import analysed_models, core_models, timing_of_systems

LABELS = ("dataset", "direction", "model", "system", "targets", "seed", "decoding", "split")
SCORE_KEYS = ("bleu", "chrf", "stutter", "replicates", "test_digest", "sentences")
ANALYSIS_KEYS = ("dataset", "direction", "model", "targets", "distance", "passes", "claims")
LATENCY_KEYS = ("model", "decoding", "p50_ms", "p90_ms", "p99_ms", "passes_mean")
Group = tuple[str, str]


@dataclass(frozen=True)
class Row:
    """One model with one decoding on one test set, over its seeds (`scores`, by rising seed)."""

    dataset: str
    direction: str
    model: str
    decoding: str
    system: str
    targets: str
    scores: tuple[Mapping[str, Any], ...]

    @property
    def group(self) -> Group:
        """Dataset and direction: the test set."""
        return self.dataset, self.direction

    @property
    def seeds(self) -> tuple[int, ...]:
        """Training seeds, rising."""
        return tuple(score["seed"] for score in self.scores)

    @property
    def steps(self) -> int | None:
        """Refinement passes asked for; None for AR."""
        return None if self.system == "ar" else int(self.decoding[1:])

    @property
    def label(self) -> str:
        """For legends and messages, such as `padir T4`."""
        return f"{self.model} {self.decoding}"

    def bleu(self) -> Estimate:
        """BLEU over seeds."""
        return self._estimate([score["bleu"]["score"] for score in self.scores], "bleu")

    def stutter(self, before_drop: bool) -> Estimate | None:
        """Stutter per 100 units over seeds; None where the decoder gave no text before the drop."""
        key = "words_before_drop" if before_drop else "words"
        found = [score["stutter"][key] for score in self.scores]
        if any(value is None for value in found):
            return None
        name = "stutter_before_drop" if before_drop else "stutter"
        return self._estimate([value["per_100"] for value in found], name)

    def measured(self, replicates: str, *keys: str) -> Estimate | None:
        """One number of the score document over seeds, which `replicates` holds on each resample;
        None where any seed lacks it."""
        values = [_at(score, keys) for score in self.scores]
        drawn = [score["replicates"].get(replicates) for score in self.scores]
        if any(value is None for value in (*values, *drawn)):
            return None
        return estimate([float(value) for value in values], drawn)

    def mean(self, *keys: str) -> float | None:
        """Mean over seeds of one number of the score document; None where any seed lacks it."""
        values = [_at(score, keys) for score in self.scores]
        return None if any(v is None for v in values) else float(np.mean(np.array(values, float)))

    def _estimate(self, values: Sequence[float], name: str) -> Estimate:
        return estimate(values, [score["replicates"][name] for score in self.scores])


def _at(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        if value is None:
            return None
        value = value.get(key)
    return value


@dataclass(frozen=True)
class Results:
    """Everything that the report is made of, in the config's order.

    Attributes:
        rows: every row that is there, of whatever model of the config.
        ratings: further scores, by row and scorer.
        latency: by test set, the document of the timing run of the core's models.
        system_latency: the same of table 2's models; the same run where these are all core.
        dependency_latency: the same of the models that choose tokens or masks by dependence.
        curves: (dataset, direction, model, seed) -> lines of metrics.jsonl.
        cards: (dataset, direction, teacher, seed, card).
        statistics: (dataset, pair, statistics.json of cleaning).
        samples: (dataset, direction, name of `evaluation.samplers`, score, lines of its chains).
        theory: by experiment, its document of the config's first theory seed.
        analyses: documents of the dependency analysis, in the config's order of models.
        supplied_claims: claims that other commands decided, by their own stated tests.
        missing: score files of the core's models that are not there.
        left_out: number of score files that the config does not ask for.
        provenance: provenance.json documents of the training runs, by run.
    """

    config: Config
    rows: tuple[Row, ...] = ()
    ratings: Mapping[Key, Rating] = field(default_factory=dict)
    latency: Mapping[Group, Mapping[str, Any]] = field(default_factory=dict)
    system_latency: Mapping[Group, Mapping[str, Any]] = field(default_factory=dict)
    dependency_latency: Mapping[Group, Mapping[str, Any]] = field(default_factory=dict)
    curves: Mapping[tuple[str, str, str, int], Sequence[Mapping[str, Any]]] = field(
        default_factory=dict
    )
    cards: Sequence[tuple[str, str, str, int, Mapping[str, Any]]] = ()
    statistics: Sequence[tuple[str, str, Mapping[str, Any]]] = ()
    samples: Sequence[tuple[str, str, str, Mapping[str, Any], Sequence[Mapping[str, Any]]]] = ()
    theory: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    analyses: Sequence[Mapping[str, Any]] = ()
    supplied_claims: Sequence[Mapping[str, Any]] = ()
    missing: Sequence[str] = ()
    left_out: int = 0
    provenance: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def groups(self) -> list[Group]:
        """Test sets that have a score, in the config's order."""
        return list(dict.fromkeys(row.group for row in self.rows))

    def core_rows(self) -> list[Row]:
        """Rows of the core's models: those of table 1 and the figures."""
        core = core_models(self.config)
        return [row for row in self.rows if row.model in core]

    def row(self, group: Group, model: str, decoding: str) -> Row | None:
        """One row, or None where it has not been run."""
        for row in self.rows:
            if (row.group, row.model, row.decoding) == (group, model, decoding):
                return row
        return None


def require(path: Path, document: Any, keys: Sequence[str]) -> Mapping[str, Any]:
    """Check that a JSON document is an object with these keys; InputError names what lacks."""
    if not isinstance(document, dict):
        raise InputError(f"{shown(path)}: not a JSON object")
    for key in keys:
        if document.get(key) is None:
            raise InputError(f"{shown(path)}: key {key} is missing or null")
    return document


def load_results(folder: Path, config: Config) -> Results:
    """Read all results that the config asks for.

    Raises:
        InputError: a file that is not what it should be, or scores that cannot be compared.
    """
    if not folder.is_dir():
        raise InputError(f"{shown(folder)}: no such folder of results")
    wanted = set(_score_paths(folder, config))
    present = set(folder.glob("runs/*/*/*/seed*/score/*.json"))
    present = {path for path in present if not path.name.endswith(".provenance.json")}
    rows, missing = _rows(folder, config)
    analyses = [path for path in _analysis_paths(folder, config) if path.is_file()]
    groups = [
        (d, direction) for d, data in config.datasets.items() for direction in data.directions
    ]
    return Results(
        config=config,
        rows=tuple(rows),
        missing=tuple(
            str(path.relative_to(folder))
            for path in missing
            if path.parts[-4] in core_models(config)
        ),
        left_out=len(present - wanted),
        ratings=load_ratings(folder, config),
        latency=dict(_latency(folder, groups, "latency")),
        system_latency=dict(_latency(folder, groups, timing_of_systems(config))),
        dependency_latency=dict(_latency(folder, groups, "dependency")),
        curves=dict(_curves(folder, config)),
        cards=tuple(_cards(folder, groups)),
        statistics=tuple(_statistics(folder, config)),
        samples=tuple(_samples(folder, config, groups)),
        theory=dict(_theory(folder, config)),
        analyses=tuple(require(path, read_json(path), ANALYSIS_KEYS) for path in analyses),
        supplied_claims=tuple(_supplied_claims(folder, config, analyses)),
        provenance=dict(_provenance(folder, config)),
    )


def _runs(folder: Path, config: Config) -> Iterator[tuple[Path, str, str, str, int]]:
    for dataset, data in config.datasets.items():
        for direction in data.directions:
            for model, run in config.models.items():
                for seed in run.seeds:
                    place = folder / "runs" / dataset / direction / model / f"seed{seed}"
                    yield place, dataset, direction, model, seed


def _score_paths(folder: Path, config: Config) -> Iterator[Path]:
    split = config.evaluation.split
    for place, _, _, model, _ in _runs(folder, config):
        for decoding in config.models[model].decode:
            yield place / "score" / f"{split}.{decoding}.json"


def _rows(folder: Path, config: Config) -> tuple[list[Row], list[Path]]:
    rows: list[Row] = []
    missing: list[Path] = []
    split = config.evaluation.split
    for dataset, data in config.datasets.items():
        for direction in data.directions:
            group: list[tuple[Path, Mapping[str, Any]]] = []
            for model, run in config.models.items():
                for decoding in run.decode:
                    found = []
                    for seed in sorted(run.seeds):
                        place = folder / "runs" / dataset / direction / model / f"seed{seed}"
                        path = place / "score" / f"{split}.{decoding}.json"
                        if not path.is_file():
                            missing.append(path)
                            continue
                        labels = (dataset, direction, model, run.system, run.targets, seed)
                        found.append((path, _score(path, (*labels, decoding, split))))
                    group += found
                    if found:
                        scores = tuple(score for _, score in found)
                        rows.append(
                            Row(
                                dataset, direction, model, decoding, run.system, run.targets, scores
                            )
                        )
            comparable(
                group,
                {
                    "BLEU signature": lambda score: score["bleu"]["signature"],
                    "chrF signature": lambda score: score["chrf"]["signature"],
                    "number of sentences": lambda score: score["sentences"],
                },
            )
    return rows, missing


def _score(path: Path, labels: Sequence[Any]) -> Mapping[str, Any]:
    document = require(path, read_json(path), (*LABELS, *SCORE_KEYS))
    for key, expected in zip(LABELS, labels, strict=True):
        if document[key] != expected:
            raise InputError(
                f"{shown(path)}: {key} is {document[key]!r}; the path and config say {expected!r}"
            )
    return document


def _latency(
    folder: Path, groups: Sequence[Group], timing: str
) -> Iterator[tuple[Group, Mapping[str, Any]]]:
    for dataset, direction in groups:
        path = folder / "latency" / dataset / direction / f"{timing}.json"
        if path.is_file():
            document = require(path, read_json(path), ("rows", "machine"))
            for row in document["rows"]:
                require(path, row, LATENCY_KEYS)
            yield (dataset, direction), document


def _curves(folder: Path, config: Config) -> Iterator[tuple[Any, Sequence[Mapping[str, Any]]]]:
    for place, dataset, direction, model, seed in _runs(folder, config):
        path = place / "metrics.jsonl"
        if path.is_file():
            yield (dataset, direction, model, seed), read_jsonl(path)


def _cards(folder: Path, groups: Sequence[Group]) -> Iterator[tuple[str, str, str, int, Any]]:
    for dataset, direction in groups:
        for path in sorted((folder / "distill" / dataset / direction).glob("*/seed*/card.json")):
            teacher, seed = path.parts[-3], int(path.parts[-2].removeprefix("seed"))
            yield dataset, direction, teacher, seed, require(path, read_json(path), ())


def _statistics(folder: Path, config: Config) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for dataset, data in config.datasets.items():
        path = folder / "data" / dataset / data.pair / "statistics.json"
        if path.is_file():
            yield dataset, data.pair, require(path, read_json(path), ("splits",))


def _samples(folder: Path, config: Config, groups: Sequence[Group]) -> Iterator[Any]:
    for dataset, direction in groups:
        for name in config.evaluation.samplers:
            path = folder / "samples" / dataset / direction / f"{config.evaluation.split}.{name}"
            score, lines = Path(f"{path}.json"), Path(f"{path}.jsonl")
            if score.is_file() and lines.is_file():
                yield (
                    dataset,
                    direction,
                    name,
                    require(score, read_json(score), SCORE_KEYS),
                    read_jsonl(lines),
                )


def _theory(folder: Path, config: Config) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for seed in config.theory.seeds[:1]:
        for path in sorted((folder / "theory").glob(f"*/seed{seed}.json")):
            yield path.parent.name, require(path, read_json(path), ("claims",))


def _analysis_paths(folder: Path, config: Config) -> Iterator[Path]:
    for dataset, data in config.datasets.items():
        for direction in data.directions:
            for model in analysed_models(config):
                seed = config.models[model].seeds[0]
                yield folder / "analysis" / dataset / direction / model / f"seed{seed}.json"


def _supplied_claims(
    folder: Path, config: Config, analyses: Sequence[Path]
) -> Iterator[Mapping[str, Any]]:
    paths = list(analyses)
    for seed in config.theory.seeds:
        paths += sorted((folder / "theory").glob(f"*/seed{seed}.json"))
    for path in paths:
        document = require(path, read_json(path), ("claims",))
        for claim in document["claims"]:
            checked = require(path, claim, ("id", "statement", "measured", "verdict", "test"))
            yield {**checked, "source": str(path.relative_to(folder))}


def _provenance(folder: Path, config: Config) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for place, _, _, _, _ in _runs(folder, config):
        path = place / "provenance.json"
        if path.is_file():
            yield str(place.relative_to(folder)), require(path, read_json(path), ())
