"""The systems by name: what each one changes in a model's settings, whose defaults are PaDIR's.

A system is no code of its own but a combination of the choices in `Objective` and `Decoding`; a
model's own settings, `model_defaults` among them, come over it. A new combination is an entry here.

Sources: Ghazvininejad et al. 2019 (CMLM), Savinov et al. 2022 (SUNDAE), Kasai et al. 2020 (DisCo),
Zheng et al. 2023 (RDM). Where they are changed to fit one interface: docs/departures.md.
"""

from typing import Any, NamedTuple


class System(NamedTuple):
    """A system's name in words, for model cards, and its settings by group."""

    words: str
    settings: dict[str, dict[str, Any]]


SYSTEMS: dict[str, System] = {
    "ar": System("autoregressive", {}),
    "padir": System("PaDIR, parallel decoding by iterative refinement", {}),
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
            "decoding": {"start": "mask", "remask": "linear", "update": "hidden", "stop": "fixed"},
        },
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
            "decoding": {
                "start": "random",
                "remask": "none",
                "temperature": 0.1,
                "update": "share",
                "update_share": 0.7,
                "stop": "fixed",
            },
        },
    ),
    "disco": System(
        "DisCo, disentangled context",
        {
            "architecture": {"disentangled": True},
            "objective": {"stages": 1, "hiding": "context", "label_smoothing": 0.1},
            "decoding": {"start": "mask", "context": "easy_first", "remask": "none"},
        },
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
            "decoding": {
                "start": "mask",
                "remask": "cosine",
                "update": "hidden",
                "rescore_kept": True,
                "stop": "fixed",
            },
        },
    ),
}


def with_system(run: dict[str, Any]) -> dict[str, Any]:
    """A model's settings over those of the system that it names."""
    name = run.get("system", "padir")
    preset = SYSTEMS.get(name) if isinstance(name, str) else None
    merged = dict(run)
    for group, values in preset.settings.items() if preset else ():
        own = run.get(group, {})
        if isinstance(own, dict):
            merged[group] = {**values, **own}
    return merged
