"""Reads the artifacts that a part of the report declares, and checks that the config made them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from padir import invocation, layout
from padir.cards import CARD_FILE
from padir.checksums import read_with_checksum, rerun_remedy
from padir.config.experiment import Config
from padir.config.identity import chain_digests, short_digest, teacher_seed
from padir.config.rows import Row
from padir.files import InputError, read_jsonl, shown
from padir.layout import Artifact, Place
from padir.provenance import check_written, checked_output, provenance_of, read_provenance
from padir.report.cards import carried_digests
from padir.report.checked import Shape, checked
from padir.report.claim_documents import DRAWN, Analysis, Experiment
from padir.report.documents import (
    Chains,
    DistillCard,
    Latency,
    Metrics,
    NotRated,
    Provenance,
    Rated,
    Score,
    Statistics,
    Trace,
)
from padir.report.results import (
    Absence,
    Document,
    Rating,
    Results,
    ScoredRow,
    estimate,
    timed_row,
)
from padir.score.bleu import is_of_installed_version
from padir.score.rating import NOT_RUN, RUN

MISSING, OTHER_SETTINGS = "missing", "made with other settings"
OTHER_SACREBLEU = "made with another version of sacreBLEU"
OTHER_SCORER = "made with another version of the scorer"
THEORY = f"{layout.RESULTS}/theory/"
ANALYSES = f"{layout.RESULTS}/analysis/"
SAMPLES = f"{layout.RESULTS}/samples/"

# What scores of one test set must have in common to share a table besides their signatures, by its
# name in messages.
MEASURES: Mapping[str, Callable[[Document], Any]] = {
    "test-set digest": lambda document: document["test_digest"],
    "number of resamples": lambda document: document["replicates"]["samples"],
    "resampling seed": lambda document: document["replicates"]["seed"],
}
SCORE_MEASURES = {
    "number of sentences": lambda document: document["sentences"],
    **MEASURES,
}


def comparable(
    documents: Sequence[tuple[str, Document]], measures: Mapping[str, Callable[[Document], Any]]
) -> None:
    """Refuse scores of one test set that do not measure the same thing.

    Args:
        documents: each with its path.
        measures: what has to be equal, by its name in messages.

    Raises:
        InputError: names the first pair of files that differ, and in what.
    """
    for path, document in documents[1:]:
        first, reference = documents[0]
        for name, measure in measures.items():
            if measure(document) != measure(reference):
                raise InputError(
                    f"scores cannot share a table, {name} differs: {measure(reference)} in"
                    f" {shown(first)}, {measure(document)} in {shown(path)}"
                )


def _check_labels(path: str, document: Document, labels: Mapping[str, Any]) -> None:
    for key, expected in labels.items():
        if document.get(key) != expected:
            raise InputError(
                f"{shown(path)}: {key} is {document.get(key)!r}; the path and config say"
                f" {expected!r}"
            )


def command_for(target: str, absences: Iterable[Absence], options: str = "") -> str:
    """The command that makes what a target lacks."""
    rules = sorted(set(filter(None, map(_rule_to_force, absences))))
    command = invocation.command(target, options)
    return invocation.words(command, "--forcerun" if rules else "", *rules)


def _rule_to_force(absence: Absence) -> str | None:
    """The rule whose job Snakemake takes as done although its output is not shown, if so."""
    if absence.reason == OTHER_SACREBLEU:
        return "score_sample" if absence.artifact.path.startswith(SAMPLES) else "score"
    return "rate" if absence.reason == OTHER_SCORER else None


class Reader:
    """Reads each artifact of one config once, however many parts ask for it."""

    def __init__(self, config: Config):
        self.config = config
        self._documents: dict[str, Any] = {}
        self._absent: dict[str, Absence] = {}

    def load(self, artifacts: Iterable[Artifact]) -> Results:
        """Read artifacts into `Results`.

        Raises:
            InputError: a file is not what its path says, or scores of one test set do not compare.
        """
        config, wanted = self.config, {artifact.path: artifact for artifact in artifacts}
        places = layout.places(config)
        runs = (
            (place, training, seed)
            for place in places
            for training, run in config.trainings.items()
            for seed in sorted(run.seeds)
        )
        taught = [(name, teacher_seed(config, name)) for name in config.teachers]
        pairs = ((name, dataset.pair) for name, dataset in config.datasets.items())
        curves = self._by_key(wanted, layout.metrics_path, runs, Metrics)
        card_keys = ((place, *key) for place in places for key in taught)
        return Results(
            config,
            rows={(scored.place, scored.row): scored for scored in self._rows(wanted, places)},
            ratings=dict(self._ratings(wanted, places)),
            latencies=dict(self._latencies(wanted, places)),
            curves=curves,
            provenance={
                key: read_provenance(_provenance_of(layout.metrics_path(*key))) for key in curves
            },
            cards=self._by_key(wanted, layout.card_path, card_keys, DistillCard),
            statistics=self._by_key(wanted, layout.statistics_path, pairs, Statistics),
            samples=dict(self._samples(wanted, places)),
            theory=dict(self._theory(wanted)),
            analyses=dict(self._below(wanted, ANALYSES, Analysis)),
            traces=dict(self._traces(wanted, places)),
            absent=self._listed_absences(wanted),
        )

    def _listed_absences(self, wanted: Mapping[str, Artifact]) -> list[Absence]:
        paths = (path for a in wanted.values() for path in (a.path, *a.beside))
        return [self._absent[path] for path in paths if path in self._absent]

    def _read(self, wanted: Mapping[str, Artifact], path: str, shape: type[Shape]) -> Any:
        """The document at a path, or its lines, which have the shape; None where it is not wanted,
        missing or of other settings."""
        if path not in wanted:
            return None
        if path not in self._documents:
            self._documents[path] = self._fresh(wanted[path], shape)
        return self._documents[path]

    def _by_key(
        self,
        wanted: Mapping[str, Artifact],
        path_of: Callable[..., str],
        keys: Iterable[Any],
        shape: type[Shape],
    ) -> dict[Any, Any]:
        """Documents that `_read` has, by the keys that `path_of` makes a path of."""
        documents = ((key, self._read(wanted, path_of(*key), shape)) for key in keys)
        return {key: document for key, document in documents if document is not None}

    def _fresh(self, artifact: Artifact, shape: type[Shape]) -> Any:
        path = artifact.path
        has_lines = path.endswith(".jsonl")
        labelled = _provenance_of(path) if has_lines else Path(path)
        if not Path(path).is_file() or not labelled.is_file():
            self._absent[path] = Absence(artifact, MISSING)
            return None
        content = read_with_checksum(labelled, rerun_remedy(path))
        document = checked(str(labelled), content, Provenance)
        if path.startswith(THEORY):
            digests = {"settings": short_digest(document.get("settings"))}
        else:
            digests = document.get("digests") or {}
        if any(digests.get(key) != value for key, value in artifact.digests.items()):
            self._absent[path] = Absence(artifact, OTHER_SETTINGS)
            return None
        for beside in artifact.beside:
            carried = carried_digests(beside) if Path(beside).name == CARD_FILE else {}
            if any(carried.get(key, value) != value for key, value in artifact.digests.items()):
                card = artifact._replace(path=beside, beside=())
                self._absent[beside] = Absence(card, OTHER_SETTINGS)
        if not has_lines:
            check_written(Path(path))
            return checked(path, document, shape)
        otherwise = f"take outputs and checksum out of {shown(labelled)} to use it as it is"
        checked_output(Path(path), document, otherwise)
        lines = enumerate(read_jsonl(path), start=1)
        return [checked(path, line, shape, number) for number, line in lines]

    def _rows(self, wanted: Mapping[str, Artifact], places: Sequence[Place]) -> Iterator[ScoredRow]:
        split = self.config.evaluation.split
        for place in places:
            documents: list[tuple[str, Document]] = []
            by_row: dict[Row, list[tuple[str, Document]]] = {}
            for row in self.config.all_rows():
                run = self.config.trainings[row.training]
                for seed in layout.seeds(self.config, row):
                    path = layout.score_path(place, row, seed, split)
                    document = self._read(wanted, path, Score)
                    if document is None:
                        continue
                    # Not the teacher's name: the digest has what it wrote, and a name may change.
                    labels = {**_labels(place, row, seed, split), "system": run.system}
                    _check_labels(path, document, labels)
                    by_row.setdefault(row, []).append((path, document))
                    documents.append((path, document))
            alike = self._of_one_sacrebleu(wanted, documents)
            for row, scores in by_row.items():
                if kept := tuple(document for path, document in scores if path in alike):
                    yield ScoredRow(place, row, kept)

    def _of_one_sacrebleu(
        self, wanted: Mapping[str, Artifact], scored: Sequence[tuple[str, Document]]
    ) -> set[str]:
        """Paths of the scores of one test set that can share a table; see `_of_one_scorer`.

        Raises:
            InputError: they do not measure the same thing.
        """
        signatures = {
            path: (document["bleu"]["signature"], document["chrf"]["signature"])
            for path, document in scored
        }
        alike = self._of_one_scorer(wanted, signatures, OTHER_SACREBLEU)
        comparable([score for score in scored if score[0] in alike], SCORE_MEASURES)
        return alike

    def _of_one_scorer(
        self, wanted: Mapping[str, Artifact], signatures: Mapping[str, tuple[str, ...]], reason: str
    ) -> set[str]:
        """Choose scores of one test set that can share a table: all those with equal signatures.

        The installed sacreBLEU's signatures are preferred, as a score that is made anew has them.
        If no score has them, as with scorers that are not sacreBLEU's, the score written last
        decides. The scores left out are recorded as absent.

        Args:
            wanted: artifacts by path.
            signatures: of each score, by path.
            reason: why the scores left out are absent.

        Returns:
            Paths of the chosen scores.
        """
        if not signatures:
            return set()
        current = [p for p, parts in signatures.items() if all(map(is_of_installed_version, parts))]
        last = max(current or signatures, key=lambda path: Path(path).stat().st_mtime_ns)
        alike = {path for path, parts in signatures.items() if parts == signatures[last]}
        self._absent |= {p: Absence(wanted[p], reason) for p in signatures if p not in alike}
        return alike

    def _ratings(
        self, wanted: Mapping[str, Artifact], places: Sequence[Place]
    ) -> Iterator[tuple[tuple[Place, Row, str], Rating]]:
        split = self.config.evaluation.split
        for place in places:
            for scorer, settings in self.config.evaluation.scorers.items():
                by_row: dict[Row, list[tuple[str, Document]]] = {}
                for row in self.config.core_rows():
                    for seed in layout.seeds(self.config, row):
                        path = layout.rating_path(place, row, seed, split, scorer)
                        document = self._read(wanted, path, Shape)
                        if document is None:
                            continue
                        labels = _labels(place, row, seed, split) | {"scorer": settings.kind}
                        _check_rating(path, document, labels)
                        by_row.setdefault(row, []).append((path, document))
                rated = [r for ratings in by_row.values() for r in ratings if r[1]["status"] == RUN]
                signatures = {path: (document["signature"],) for path, document in rated}
                alike = self._of_one_scorer(wanted, signatures, OTHER_SCORER)
                comparable([rating for rating in rated if rating[0] in alike], MEASURES)
                for row, ratings in by_row.items():
                    kept = [d for path, d in ratings if path in alike or path not in signatures]
                    if kept:
                        yield (place, row, scorer), _rating(kept)

    def _latencies(
        self, wanted: Mapping[str, Artifact], places: Sequence[Place]
    ) -> Iterator[tuple[tuple[Place, str], Document]]:
        runs = ((place, timing) for place in places for timing in layout.TIMINGS)
        for key, document in self._by_key(wanted, layout.latency_path, runs, Latency).items():
            path = layout.latency_path(*key)
            expected = layout.timed_hypotheses(self.config, *key)
            for line in document["rows"]:
                made = (line.get("digests") or {}).get("hypotheses")
                if made is None or made != expected.get(timed_row(line).name):
                    self._absent[path] = Absence(wanted[path], OTHER_SETTINGS)
                    break
            else:
                yield key, document

    def _samples(
        self, wanted: Mapping[str, Artifact], places: Sequence[Place]
    ) -> Iterator[tuple[tuple[Place, str], tuple[Document, Sequence[Document]]]]:
        split = self.config.evaluation.split
        for place in places:
            documents: dict[str, tuple[str, Document]] = {}
            for sampler in self.config.evaluation.samplers:
                path = layout.sample_path(place, sampler, split)
                score = self._read(wanted, path, Score)
                if score is not None:
                    documents[sampler] = path, score
            alike = self._of_one_sacrebleu(wanted, list(documents.values()))
            for sampler, (path, score) in documents.items():
                chains = Artifact(
                    layout.sample_path(place, sampler, split, "jsonl"),
                    chain_digests(self.config, *place, sampler),
                )
                lines = self._fresh(chains, Chains) if path in alike else None
                if lines is not None:
                    yield (place, sampler), (score, lines)
                elif path in alike:
                    self._absent[path] = self._absent[chains.path]

    def _traces(
        self, wanted: Mapping[str, Artifact], places: Sequence[Place]
    ) -> Iterator[tuple[tuple[Place, Row], Sequence[Document]]]:
        split = self.config.evaluation.split
        for place in places:
            for traced in layout.TRACED:
                for row in layout.traced_rows(self.config, traced):
                    seed = self.config.trainings[row.training].first_seed
                    path = layout.trace_path(place, row.training, seed, split, traced)
                    lines = [
                        line
                        for line in self._read(wanted, path, Trace) or ()
                        if (line.get("decoder"), line.get("passes")) == row.decoding
                    ]
                    if lines:
                        yield (place, row), lines

    def _below(
        self, wanted: Mapping[str, Artifact], folder: str, shape: type[Analysis | Experiment]
    ) -> Iterator[tuple[str, Document]]:
        for path in wanted:
            document = self._read(wanted, path, shape) if path.startswith(folder) else None
            if document is not None:
                _check_labels(path, document, shape.labels(path))
                yield path, document

    def _theory(self, wanted: Mapping[str, Artifact]) -> Iterator[tuple[str, Document]]:
        for path, document in self._below(wanted, THEORY, Experiment):
            yield path, checked(path, document, DRAWN.get(document["experiment"], Experiment))


def _provenance_of(path: str) -> Path:
    """Path of the provenance: for metrics that of the training, else that beside the file."""
    file = Path(path)
    if file.name == "metrics.jsonl":
        return file.with_name("provenance.json")
    return provenance_of(file)


def _labels(place: Place, row: Row, seed: int, split: str) -> dict[str, Any]:
    return {
        **place._asdict(),
        "training": row.training,
        "decoder": row.decoding.decoder,
        "passes": row.decoding.passes,
        "seed": seed,
        "split": split,
    }


def _check_rating(path: str, document: Document, labels: Mapping[str, Any]) -> None:
    if document.get("status") not in (RUN, NOT_RUN):
        raise InputError(f"{shown(path)}: not a document of padir rate")
    _check_labels(path, document, labels)
    checked(path, document, Rated if document["status"] == RUN else NotRated)


def _rating(documents: Sequence[Document]) -> Rating:
    reasons = [document["reason"] for document in documents if document["status"] != RUN]
    if reasons:
        return Rating(None, None, reasons[0], len(documents))
    mean = estimate(
        [document["score"] for document in documents],
        [document["replicates"]["score"] for document in documents],
    )
    return Rating(mean, documents[0]["signature"], None, len(documents))
