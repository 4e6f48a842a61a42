"""Columns that tables share, and the cells of a row in them."""

from padir.config.decoder import SearchDecoder
from padir.config.experiment import Config
from padir.config.identity import extra_language
from padir.config.rows import Row
from padir.layout import Place
from padir.report.results import Estimate
from padir.report.tables import Cell, Column

PLACE = (Column("dataset", "Dataset"), Column("direction", "Direction"))
ROW = (
    *PLACE,
    Column("training", "Training"),
    Column("decoder", "Decoder"),
    Column("T", "T"),
    Column("targets", "Targets"),
)
INTERVAL = "95% interval"


def shown_targets(config: Config, place: Place, training: str) -> str:
    """Targets of a training as tables show them, such as `distilled, with extra sources (encoder of
    ar)`: the last part names the AR training whose encoder initialised this one."""
    run = config.trainings[training]
    extra = extra_language(config, *place, run.targets)
    targets = run.targets if extra is None else f"{run.targets}, with extra sources"
    start = run.training.warm_start
    return targets if start is None else f"{targets} (encoder of {start})"


def row_cells(config: Config, place: Place, row: Row) -> dict[str, Cell]:
    """The cells of `ROW`; T is N, one pass per token, for AR."""
    return {
        **place._asdict(),
        "training": row.training,
        "decoder": row.decoding.decoder,
        "T": row.decoding.steps,
        "targets": shown_targets(config, place, row.training),
    }


def estimated(key: str, estimate: Estimate | None) -> dict[str, Cell]:
    """An estimate and its interval: cells KEY and KEY_interval."""
    return {key: estimate and estimate.value, f"{key}_interval": estimate and estimate.ends}


def with_interval(key: str, heading: str, digits: int) -> tuple[Column, Column]:
    """The columns of `estimated`."""
    return Column(key, heading, digits), Column(f"{key}_interval", INTERVAL, digits)


def percent(share: float | None) -> float | None:
    """A share in percent."""
    return None if share is None else 100 * share


def hypotheses_per_sentence(config: Config, row: Row) -> int:
    """The paper's "# hyp.": beam width, starts of a parallel decoder, or 1 for greedy search."""
    decoder = config.decoders[row.decoding.decoder]
    if isinstance(decoder, SearchDecoder):
        return decoder.beam if decoder.kind == "beam" else 1
    return decoder.length_candidates * decoder.restarts
