"""Priorities of the jobs of the workflow, by wildcards: table 1 first, then the longest.

Bound to rules by `asked` in rules/common.smk.
"""

from functools import cache

from padir.config.experiment import Config
from padir.config.rows import Row

TABLE_1_FIRST = 100
"""Added to the priority of a job that table 1 waits for."""


@cache
def _behind_table1(config: Config) -> tuple[set[str], set[tuple[str, str]]]:
    """Trainings that table 1 waits for, and pairs of training and decoder: those of its rows, and
    their teachers, rerankers and warm starts."""
    core = config.core_rows()
    trainings = set(config.trainings_behind(core))
    taught = (config.teacher_row(config.trainings[name].targets) for name in trainings)
    rows = [*core, *filter(None, taught)]
    return trainings, {(row.training, row.decoding.decoder) for row in rows}


def vocabulary_priority(config: Config, further: str) -> int:
    """Priority of learning a vocabulary: table 1 rarely waits for one of `vocabularies`."""
    return 30 if further else 30 + TABLE_1_FIRST


@cache
def _training_order(config: Config) -> dict[str, int]:
    """From 9 to 1, among those of table 1 and among the others: teachers, which others wait for,
    then the longest trainings, so that all cores have something to do until the end."""
    teachers = {row.training for row in map(config.teacher_row, config.teachers) if row}

    def work(name: str) -> tuple[bool, int]:
        run = config.trainings[name]
        size = run.architecture
        layers = size.encoder_layers + run.decoder_passes * size.decoder_layers
        tokens = run.training.steps * run.training.batch_tokens
        return name in teachers, tokens * layers * size.width**2

    core = _behind_table1(config)[0]
    groups = core, config.trainings.keys() - core
    return {
        name: 9 - 9 * place // len(group)
        for group in groups
        for place, name in enumerate(sorted(sorted(group), key=work, reverse=True))
    }


def training_priority(config: Config, training: str, level: int) -> int:
    """Priority of a training: its level, more for teachers and long trainings, and more again where
    table 1 waits for it."""
    first = TABLE_1_FIRST * (training in _behind_table1(config)[0])
    return level + first + _training_order(config)[training]


def decoder_priority(config: Config, training: str, decoder: str, level: int) -> int:
    """Priority of tuning a decoder, as of a training."""
    return level + TABLE_1_FIRST * ((training, decoder) in _behind_table1(config)[1])


def row_priority(config: Config, row: Row, level: int) -> int:
    """Priority of what is made of one row, as of a training."""
    return level + TABLE_1_FIRST * (row in config.core_rows())
