"""Cost of the run by stage, from the benchmark files of the workflow's jobs."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from padir import layout
from padir.config.experiment import Config
from padir.report.catalogue import Scope
from padir.report.tables import Cell, Column, Table

STAGES = {
    "Data": "data/{dataset}/*/logs/*.tsv",
    "Vocabularies": "vocab/{dataset}/**/logs/vocab.tsv",
    "Training": "runs/{dataset}/*/{training}/seed*/logs/train.tsv",
    "Distillation": "distill/{dataset}/*/*/seed*/logs/*.tsv",
    "Length rules": "runs/{dataset}/*/{training}/seed*/logs/tune.*.tsv",
    "Decoding": "runs/{dataset}/*/{training}/seed*/logs/decode.*.tsv",
    "Scoring": "runs/{dataset}/*/{training}/seed*/logs/score.*.tsv",
    "Further scores": "runs/{dataset}/*/{training}/seed*/logs/rate.*.tsv",
    "Traces": "runs/{dataset}/*/{training}/seed*/logs/trace.*.tsv",
    "Latency": "latency/{dataset}/*/logs/*.tsv",
    "Dependence": "analysis/{dataset}/*/{training}/logs/*.tsv",
    "Gibbs sampling": "samples/{dataset}/*/logs/*.tsv",
    "Theory": "theory/*/logs/*.tsv",
}
"""Benchmark files below `results/`, as the rules of the workflow name them, by stage."""
NOTE = (
    "Last run of each job of the datasets and trainings on this page, as Snakemake measured it:"
    " wall time from start to end, and processor time of all threads, with compilation. A job too"
    " short to be sampled counts no processor time; an interrupted training counts from its last"
    " start. Not counted: paid translation, joining and describing distilled targets, scores of"
    " samplers, tables, figures and pages, which record no time, and commands outside the workflow."
)


def cost_table(config: Config, scope: Scope) -> Table:
    """Recorded jobs, and their wall and processor time, by stage and in all."""
    columns = (
        *(Column("stage", "Stage"), Column("jobs", "Jobs recorded")),
        *(Column("wall", "Wall, minutes", 1), Column("processor", "Processor, minutes", 1)),
    )
    config_rows = config.core_rows() if scope == "core" else config.all_rows()
    trainings = config.trainings_behind(config_rows)
    rows: list[dict[str, Cell]] = []
    total = [0, 0.0, 0.0]
    for stage, pattern in STAGES.items():
        files = _files(pattern, list(config.datasets), trainings)
        times = [recorded for path in files for recorded in _times(path)]
        if times:
            numbers = [len(times), *(sum(values) / 60 for values in zip(*times, strict=True))]
            rows.append(_row(stage, numbers))
            total = [a + b for a, b in zip(total, numbers, strict=True)]
    if rows:
        rows.append(_row("All", total))
    return Table("cost", "Cost of this report", columns, rows, (NOTE,))


def _row(stage: str, numbers: Sequence[int | float]) -> dict[str, Cell]:
    return {"stage": stage, **dict(zip(("jobs", "wall", "processor"), numbers, strict=True))}


def _files(pattern: str, datasets: list[str], trainings: list[str]) -> Iterator[Path]:
    """Files of a pattern, each once, in a fixed order."""
    patterns = {
        pattern.format(dataset=dataset, training=training)
        for dataset in datasets
        for training in trainings
    }
    for each in sorted(patterns):
        yield from sorted(Path(layout.RESULTS).glob(each))


def _times(path: Path) -> list[tuple[float, float]]:
    """Wall and processor seconds of a benchmark file; nothing where it was left empty."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file, delimiter="\t"))
    return [(_seconds(line.get("s")), _seconds(line.get("cpu_time"))) for line in lines[-1:]]


def _seconds(text: str | None) -> float:
    return float(text) if text and text.replace(".", "", 1).isdigit() else 0.0
