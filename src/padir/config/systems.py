"""Systems by name: the settings of training and decoder that define each of them.

The defaults are PaDIR's. A system is no code of its own but a combination of the choices in
`Architecture`, `Objective` and `RefinementDecoder`; settings of a training or decoder come over
it. A new combination is an entry here.

Sources: Ghazvininejad et al. 2019 (CMLM), Savinov et al. 2022 (SUNDAE), Kasai et al. 2020 (DisCo),
Zheng et al. 2023 (RDM). Where they are changed to fit one interface: docs/departures.md.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

AUTOREGRESSIVE = "ar"
SEARCHES = ("greedy", "beam")


class System(NamedTuple):
    """A system's full name, for model cards, and the settings that it changes.

    Attributes:
        title: full name, for model cards.
        training: settings of a training, by group.
        decoder: settings of its refinement decoder; unused for AR.
    """

    title: str
    training: Mapping[str, Mapping[str, Any]] = {}
    decoder: Mapping[str, Any] = {}


SYSTEMS: dict[str, System] = {
    AUTOREGRESSIVE: System("autoregressive"),
    "padir": System("PaDIR, parallel decoding by iterative refinement"),
    "cmlm": System(
        "CMLM, Mask-Predict",
        {
            "architecture": {"input_positions": True},
            "objective": {
                "stages": 1,
                "corruption": "mask",
                "hiding": "uniform_count",
                "loss_on": "hidden",
                "label_smoothing": 0.1,
            },
        },
        {"start": "mask", "remask": "linear", "update": "hidden", "stop": "fixed"},
    ),
    "sundae": System(
        "SUNDAE, step-unrolled denoising",
        {
            "objective": {
                "stages": 2,
                "corruption": "random",
                "hiding": "uniform_rate",
                "unroll": "sample",
                "hide_stutter": False,
            },
        },
        {
            "start": "random",
            "remask": "none",
            "temperature": 0.1,
            "update": "share",
            "update_share": 0.7,
            "stop": "fixed",
        },
    ),
    "disco": System(
        "DisCo, disentangled context",
        {
            "architecture": {"disentangled": True},
            "objective": {"stages": 1, "hiding": "context", "label_smoothing": 0.1},
        },
        {"start": "mask", "context": "easy_first", "remask": "none"},
    ),
    "rdm": System(
        "RDM, reparameterised discrete diffusion",
        {
            "architecture": {"input_positions": True},
            "objective": {
                "stages": 1,
                "corruption": "mask",
                "hiding": "time",
                "loss_on": "hidden",
                "time_weight": "linear",
                "label_smoothing": 0.1,
            },
        },
        {
            "start": "mask",
            "remask": "cosine",
            "update": "hidden",
            "rescore_kept": True,
            "stop": "fixed",
        },
    ),
}
PARALLEL_SYSTEMS = tuple(name for name in SYSTEMS if name != AUTOREGRESSIVE)


def training_preset(given: dict[str, Any]) -> dict[str, Any]:
    """A training's settings over those of the system that it names."""
    system = _system(given.get("system", "padir"))
    merged = dict(given)
    for group, values in system.training.items() if system else ():
        settings = given.get(group, {})
        if isinstance(settings, dict):
            merged[group] = {**values, **settings}
    return merged


def decoder_preset(given: dict[str, Any]) -> dict[str, Any]:
    """A refinement decoder's settings over those of the system that its `kind` names."""
    system = _system(given.get("kind"))
    return {**system.decoder, **given} if system else given


def _system(name: object) -> System | None:
    """The system of a name; None for anything else, which validation will refuse."""
    return SYSTEMS.get(name) if isinstance(name, str) else None
