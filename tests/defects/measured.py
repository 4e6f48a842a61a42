"""What benchmarks/defects.py measures: a variant per defect, and what they are set against."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Variant:
    """One row of the table.

    Attributes:
        name: in the JSON document.
        what: in the table.
        base: the variant that it is compared with; none for what is only compared with.
        padding: whether the model was trained with padding visible in later stages.
        settings: changes to PaDIR's decoder.
        defects: keywords of `tests.defects.variants.Defects`, all of them switched on.
        batches: whether outputs of batches of one sentence are compared with those of full ones.
        alone: whether every sentence is a batch of its own.
    """

    name: str
    what: str
    base: str | None = "shipped"
    padding: bool = False
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    defects: Sequence[str] = ()
    batches: bool = False
    alone: bool = False


NO_DROP = {"drop_repeats": "none"}
CONSTANT = {"remask": "constant"}
PREVIOUS = {"replacement": "previous"}
CLEAN_UP = ("returns_remasked", "deletes_start")
STOP = ("stops_together", "returns_remasked")
VARIANTS = (
    Variant("shipped", "none", base=None, batches=True),
    Variant("constant", "none, constant remasking", None, settings=CONSTANT, batches=True),
    Variant("padding", "padding visible in later training stages", padding=True),
    Variant(
        "deletion",
        "tokens equal to the start deleted, no drop of repeats",
        settings=NO_DROP,
        defects=("deletes_start",),
    ),
    Variant("last_pass", "the last pass remasked and returned too", defects=("returns_remasked",)),
    Variant("clean_up", "both: the published clean-up", settings=NO_DROP, defects=CLEAN_UP),
    Variant("previous", "replacement by the pass's own input", settings=PREVIOUS),
    Variant(
        "previous_clean_up",
        "the same with the published clean-up",
        settings=PREVIOUS | NO_DROP,
        defects=CLEAN_UP,
    ),
    Variant("stop", "batch-global stop", defects=("stops_together",), batches=True),
    Variant(
        "stop_constant",
        "batch-global stop that returns what is fed, constant remasking",
        "constant",
        settings=CONSTANT,
        defects=STOP,
        batches=True,
    ),
    Variant(
        "stop_constant_alone",
        "the same, one sentence at a time",
        "constant",
        settings=CONSTANT,
        defects=STOP,
        alone=True,
    ),
    Variant(
        "all",
        "padding, clean-up and stop together",
        padding=True,
        settings=NO_DROP,
        defects=("stops_together", "circular", *CLEAN_UP),
        batches=True,
    ),
)
