"""Presets of `size`: what each sets in `training_defaults`.

A preset holds architecture, optimizer and training of one scale. Settings in `training_defaults` or
of a training come over it, so that digests follow the expanded values. `padir init` proposes one
that fits the text and the machine.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Size(NamedTuple):
    """One preset: its purpose, and its differences from the defaults, by group of settings."""

    purpose: str
    training: Mapping[str, Mapping[str, Any]]


def _size(
    purpose: str,
    width: int,
    heads: int,
    layers: int,
    positions: int,
    rate: float,
    warmup: int,
    training: Mapping[str, Any],
) -> Size:
    """A preset with as many encoder as decoder layers and feed-forward blocks 4 widths wide."""
    architecture = {
        "width": width,
        "heads": heads,
        "head_width": width // heads,
        "encoder_layers": layers,
        "decoder_layers": layers,
        "feed_forward_width": 4 * width,
        "max_positions": positions,
        "length_classes": positions,
        "attention_dropout": False,
    }
    optimizer = {"peak_learning_rate": rate, "final_learning_rate": 1e-4, "warmup_steps": warmup}
    return Size(
        purpose, {"architecture": architecture, "optimizer": optimizer, "training": dict(training)}
    )


SIZES: dict[str, Size] = {
    "tiny": _size(
        "minutes on a CPU",
        *(64, 4, 2, 64, 0.04, 200),
        {
            "steps": 3_000,
            "batch_tokens": 1_024,
            "buckets": [8, 12, 16, 24, 40, 64],
            "validate_every": 250,
            "checkpoint_every": 500,
        },
    ),
    "small": _size(
        "an hour on a CPU; as Multi30k in config/multi30k.yaml",
        *(128, 4, 3, 64, 0.025, 400),
        {
            "steps": 6_000,
            "batch_tokens": 640,
            "buckets": [12, 15, 18, 22, 28, 42, 64],
            "validate_every": 500,
            "checkpoint_every": 500,
        },
    ),
    "base": _size(
        "hours on one GPU",
        *(256, 4, 6, 128, 0.01, 4_000),
        {"steps": 50_000, "batch_tokens": 16_384, "buckets": [16, 24, 32, 48, 64, 96, 128]},
    ),
    "paper": Size("the paper's (section L.2): days on many accelerators", {}),
}


def size_defaults(name: str) -> dict[str, Any]:
    """A copy of the settings of a preset, as a mapping of `training_defaults`."""
    return {group: dict(values) for group, values in SIZES[name].training.items()}
