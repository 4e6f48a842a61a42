"""Paths of all results below `results/`, and the digests that they must carry for a config.

The one list of what an experiment consists of: the workflow's rules ask for these files, and the
report reads them and nothing else.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from padir.config import identity
from padir.config.experiment import Config
from padir.config.identity import RESULTS, Digests
from padir.config.rows import Row


class Place(NamedTuple):
    """A dataset in one direction: a test set."""

    dataset: str
    direction: str


class Artifact(NamedTuple):
    """One file below `results/`.

    Attributes:
        path: relative to the working folder.
        digests: what the file, or the provenance beside it, must carry to be shown.
        beside: further files that belong to it.
    """

    path: str
    digests: Digests
    beside: tuple[str, ...] = ()


def places(config: Config) -> list[Place]:
    """Every dataset in each of its directions, in the config's order."""
    return [
        Place(dataset, direction)
        for dataset, settings in config.datasets.items()
        for direction in settings.directions
    ]


def run_folder(place: Place, training: str, seed: int) -> str:
    """Folder of one training with one seed."""
    return f"{RESULTS}/runs/{place.dataset}/{place.direction}/{training}/seed{seed}"


def bundle_paths(place: Place, training: str, seed: int) -> list[str]:
    """Files of a bundle that every use of the model reads: parameters, settings and vocabulary."""
    folder = f"{run_folder(place, training, seed)}/bundle"
    return [f"{folder}/{name}" for name in ("model.safetensors", "spec.json", "spm.model")]


def decoder_path(place: Place, training: str, seed: int, decoder: str) -> str:
    """A decoder tuned for a trained model, inside its bundle."""
    return f"{run_folder(place, training, seed)}/bundle/decoders/{decoder}.json"


def hypotheses_path(place: Place, row: Row, seed: int, split: str, ending: str = "txt") -> str:
    """Hypotheses as text (txt), or with their records (jsonl)."""
    return f"{run_folder(place, row.training, seed)}/decode/{split}.{row.decoding.name}.{ending}"


def trace_path(place: Place, training: str, seed: int, split: str, traced: str) -> str:
    """Passes over the first sentences of a split: those of `traced_rows`."""
    return f"{run_folder(place, training, seed)}/trace/{split}.{traced}.jsonl"


def score_path(place: Place, row: Row, seed: int, split: str) -> str:
    """Scores of hypotheses."""
    return f"{run_folder(place, row.training, seed)}/score/{split}.{row.decoding.name}.json"


def rating_path(place: Place, row: Row, seed: int, split: str, scorer: str) -> str:
    """A further score of hypotheses, by one of `evaluation.scorers`."""
    name = f"{split}.{row.decoding.name}.{scorer}.json"
    return f"{run_folder(place, row.training, seed)}/rate/{name}"


def metrics_path(place: Place, training: str, seed: int) -> str:
    """Losses and speed of a training, by step; `provenance.json` beside it carries its digests."""
    return f"{run_folder(place, training, seed)}/metrics.jsonl"


def model_card_path(place: Place, training: str, seed: int) -> str:
    """The model card of a bundle."""
    return f"{run_folder(place, training, seed)}/bundle/README.md"


def analysis_path(place: Place, row: Row, seed: int) -> str:
    """Analysis of the dependence between a row's target positions."""
    folder = f"{RESULTS}/analysis/{place.dataset}/{place.direction}/{row.training}"
    return f"{folder}/{row.decoding.decoder}.seed{seed}.json"


def latency_path(place: Place, timing: str) -> str:
    """Times of the rows of one part of the report: core, systems or dependency."""
    return f"{RESULTS}/latency/{place.dataset}/{place.direction}/{timing}.json"


def sample_path(place: Place, sampler: str, split: str, ending: str = "json") -> str:
    """Chains of a sampler (jsonl), their text (txt), or its scores (json)."""
    return f"{RESULTS}/samples/{place.dataset}/{place.direction}/{split}.{sampler}.{ending}"


def distilled_folder(place: Place, teacher: str, seed: int) -> str:
    """Folder of distilled targets."""
    return f"{RESULTS}/distill/{place.dataset}/{place.direction}/{teacher}/seed{seed}"


def card_path(place: Place, teacher: str, seed: int) -> str:
    """Card of distilled targets."""
    return f"{distilled_folder(place, teacher, seed)}/card.json"


def statistics_path(dataset: str, pair: str) -> str:
    """Statistics of a cleaned dataset."""
    return f"{RESULTS}/data/{dataset}/{pair}/statistics.json"


def data_card_path(dataset: str, pair: str) -> str:
    """The data card of a cleaned dataset."""
    return f"{RESULTS}/data/{dataset}/{pair}/README.md"


def theory_path(experiment: str, seed: int) -> str:
    """Results of one Ising experiment."""
    return f"{RESULTS}/theory/{experiment}/seed{seed}.json"


# What parts of the report are made of.


def seeds(config: Config, row: Row) -> list[int]:
    """Seeds of a row's training, rising."""
    return sorted(config.trainings[row.training].seeds)


def runs(config: Config, rows: Iterable[Row]) -> Iterator[tuple[Place, Row, int]]:
    """Rows on every test set with every seed."""
    return (
        (place, row, seed)
        for place in places(config)
        for row in rows
        for seed in seeds(config, row)
    )


def scores(config: Config, rows: Iterable[Row]) -> list[Artifact]:
    """Scores of rows, over all test sets and seeds."""
    split = config.evaluation.split
    return [
        Artifact(
            score_path(place, row, seed, split),
            identity.score_digests(config, *place, row, seed),
        )
        for place, row, seed in runs(config, rows)
    ]


def ratings(config: Config, rows: Iterable[Row]) -> list[Artifact]:
    """Ratings of rows by every scorer, over all test sets and seeds."""
    split = config.evaluation.split
    return [
        Artifact(
            rating_path(place, row, seed, split, scorer),
            identity.rating_digests(config, *place, row, seed, scorer),
        )
        for place, row, seed in runs(config, rows)
        for scorer in config.evaluation.scorers
    ]


TIMINGS = ("core", "systems", "dependency")


def timed_rows(config: Config, timing: str) -> list[Row]:
    """Rows that a timing run times, in one process: without those of an oracle length predictor,
    which bounds quality alone."""
    rows = {
        "core": config.core_rows,
        "systems": config.system_rows,
        "dependency": config.dependency_rows,
    }
    return [
        row
        for row in rows[timing]()
        if config.trainings[row.training].architecture.length_predictor != "oracle"
    ]


def timing_of_systems(config: Config) -> str:
    """The timing run that table 2 shows: the core's where that times all of its rows."""
    return "core" if set(config.system_rows()) <= set(config.core_rows()) else "systems"


def latencies(config: Config, timing: str) -> list[Artifact]:
    """A timing run per test set; each of its rows carries digests."""
    return [
        Artifact(latency_path(place, timing), timing_digests(config, place, timing))
        for place in places(config)
        if timed_rows(config, timing)
    ]


def timed_hypotheses(config: Config, place: Place, timing: str) -> dict[str, str]:
    """Digest of the hypotheses that each row of a timing run makes, by the row's name."""
    return {
        row.name: identity.hypotheses_digests(
            config, *place, row, config.trainings[row.training].first_seed
        )["hypotheses"]
        for row in timed_rows(config, timing)
    }


def timing_digests(config: Config, place: Place, timing: str) -> Digests:
    """Of the data, and of a timing run: its rows, and how many sentences are timed how often."""
    evaluation = config.evaluation
    numbers = [evaluation.latency_sentences, evaluation.latency_repeats]
    timed = identity.short_digest([numbers, timed_hypotheses(config, place, timing)])
    return {**identity.data_digests(config, place.dataset), "timing": timed}


def metrics(config: Config, rows: Iterable[Row]) -> list[Artifact]:
    """Training metrics of the rows' trainings, over all test sets and seeds."""
    trainings = dict.fromkeys(row.training for row in rows)
    return [
        Artifact(
            metrics_path(place, training, seed),
            identity.training_digests(config, *place, training),
            (
                f"{run_folder(place, training, seed)}/provenance.json",
                model_card_path(place, training, seed),
            ),
        )
        for place in places(config)
        for training in trainings
        for seed in sorted(config.trainings[training].seeds)
    ]


def cards(config: Config, rows: Iterable[Row]) -> list[Artifact]:
    """Cards of the targets that the rows' trainings learn from."""
    used = dict.fromkeys(config.trainings[row.training].targets for row in rows)
    return [
        Artifact(
            card_path(place, teacher, identity.teacher_seed(config, teacher)),
            {"distilled": identity.targets_digest(config, *place, teacher)},
        )
        for place in places(config)
        for teacher in used
        if teacher != "raw"
    ]


def statistics(config: Config) -> list[Artifact]:
    """Statistics of every dataset."""
    return [
        Artifact(
            statistics_path(dataset, settings.pair),
            identity.data_digests(config, dataset),
            (data_card_path(dataset, settings.pair),),
        )
        for dataset, settings in config.datasets.items()
    ]


def samples(config: Config) -> list[Artifact]:
    """Scores of every sampler; the chains lie beside them."""
    return [
        Artifact(
            sample_path(place, sampler, config.evaluation.split),
            identity.sample_digests(config, *place, sampler),
            tuple(
                sample_path(place, sampler, config.evaluation.split, ending)
                for ending in ("txt", "jsonl", "jsonl.provenance.json")
            ),
        )
        for place in places(config)
        for sampler in config.evaluation.samplers
    ]


def analyses(config: Config) -> list[Artifact]:
    """Analyses of tables 4 and 5."""
    return [
        Artifact(
            analysis_path(place, row, seed), identity.analysis_digests(config, *place, row, seed)
        )
        for place in places(config)
        for row in config.analysed_rows()
        for seed in config.analysed_seeds(row.training)
    ]


TRACED = ("core", "further")


def traced_rows(config: Config, traced: str) -> list[Row]:
    """Rows that the viewer shows: of each training and parallel decoder the row with most passes.

    Args:
        traced: `core`, for the baseline and the rows of table 1, or `further`, for the pairs of
            training and decoder that only other tables have. The baseline stands for all AR rows,
            which have no passes.
    """
    core = [*filter(None, [config.baseline()]), *_most_passes(config.core_rows())]
    if traced == "core":
        return core
    shown = {(row.training, row.decoding.decoder) for row in core}
    return [
        row
        for row in _most_passes(config.all_rows())
        if (row.training, row.decoding.decoder) not in shown
    ]


def _most_passes(rows: Iterable[Row]) -> list[Row]:
    most: dict[tuple[str, str], Row] = {}
    for row in rows:
        passes, key = row.decoding.passes, (row.training, row.decoding.decoder)
        if passes is not None and passes >= (most.get(key, row).decoding.passes or 0):
            most[key] = row
    return list(most.values())


def trace_digests(config: Config, place: Place, training: str, seed: int, traced: str) -> Digests:
    """Digests of a training, and of the hypotheses that each of its traced rows makes."""
    made = {
        f"hypotheses/{row.decoding.name}": identity.hypotheses_digests(config, *place, row, seed)
        for row in traced_rows(config, traced)
        if row.training == training
    }
    return {
        **identity.training_digests(config, *place, training),
        **{key: digests["hypotheses"] for key, digests in made.items()},
    }


def traces(config: Config, scope: str) -> list[Artifact]:
    """What the viewer of a scope's page shows: traces of first seeds, one file per training."""
    split = config.evaluation.split
    return [
        Artifact(path, digests, (f"{path}.provenance.json",))
        for place in places(config)
        for traced in (TRACED[:1] if scope == "core" else TRACED)
        for training in dict.fromkeys(row.training for row in traced_rows(config, traced))
        for seed in [config.trainings[training].first_seed]
        for path in [trace_path(place, training, seed, split, traced)]
        for digests in [trace_digests(config, place, training, seed, traced)]
    ]


def theory(config: Config, experiments: Iterable[str]) -> list[Artifact]:
    """Ising experiments with every seed."""
    return [
        Artifact(
            theory_path(experiment, seed),
            {"settings": identity.short_digest(settings.model_dump(mode="json"))},
        )
        for experiment in experiments
        for settings in [getattr(config.theory, experiment)]
        for seed in config.theory.seeds
    ]
