"""What tests of training share: a tiny run, drawn batches, a loss in NumPy, a tiny language pair.

Targets of that pair are the sources' words reversed, six of them.
"""

import json
from pathlib import Path

import jax
import numpy as np
from flax import nnx

from padir.config.data import VocabularySettings
from padir.config.training import RunSpec, TrainingRun
from padir.training.loop import TrainingText
from padir.vocab import train_vocabulary

VOCABULARY = 20
"""Ids in use in drawn batches."""
WORDS = ("ba", "ko", "mi", "re", "su", "ta")


def tiny_run(system: str = "padir", steps: int = 12, **training) -> TrainingRun:
    """A model of width 16 that trains in seconds."""
    return TrainingRun(
        system=system,
        architecture={
            "width": 16,
            "heads": 2,
            "head_width": 8,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "feed_forward_width": 32,
            "max_positions": 16,
            "length_classes": 12,
        },
        optimizer={"kind": "adam", "peak_learning_rate": 0.03, "warmup_steps": 2},
        training={
            "steps": steps,
            "batch_tokens": 128,
            "buckets": [6, 9],
            "dispatch_steps": 4,
            "validate_every": 5,
            "checkpoint_every": 4,
        }
        | training,
    )


def tiny_spec(system: str = "padir", steps: int = 12, **training) -> RunSpec:
    """The spec of a tiny run."""
    return RunSpec(
        dataset="toy", direction="xs-xt", training=system, run=tiny_run(system, steps, **training)
    )


LEARNING_STEPS = 320
"""That a toy language is learnt in."""


def learning_spec(system: str, objective: dict | None = None) -> RunSpec:
    """The spec of a run that learns a toy language in seconds.

    Args:
        system: its name.
        objective: settings over the tiny run's own.
    """
    steps = LEARNING_STEPS
    spec = tiny_spec(system, steps, batch_tokens=512, validate_every=steps, checkpoint_every=steps)
    given = spec.run.model_dump()
    given["objective"] |= objective or {}
    given["architecture"] |= {"dropout": 0.0}
    given["optimizer"] |= {"kind": "adafactor", "peak_learning_rate": 0.1, "warmup_steps": 20}
    return spec.model_copy(update={"run": TrainingRun(**given)})


def quiet(run: TrainingRun, **objective) -> TrainingRun:
    """The run without anything random but corruption."""
    return run.model_copy(
        update={
            "architecture": run.architecture.model_copy(update={"dropout": 0.0}),
            "objective": run.objective.model_copy(update=objective),
        }
    )


def batch(
    steps: int, rows: int = 16, width: int = 6, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Source and target ids [steps, rows, width] of drawn pieces, EOS at a drawn place."""
    random = np.random.default_rng(seed)
    ids = random.integers(8, VOCABULARY, (2, steps, rows, width)).astype(np.int32)
    for side in ids:
        ends = random.integers(2, width, (steps, rows))
        columns = np.arange(width)
        side[columns[None, None] == ends[..., None]] = 1
        side[columns[None, None] > ends[..., None]] = 0
    return ids[0], ids[1]


def numpy_cross_entropy(logits: np.ndarray, target: np.ndarray) -> np.ndarray:
    """-log softmax(logits)[target] along the last axis, in double precision."""
    logits = logits.astype(np.float64)
    shifted = logits - logits.max(-1, keepdims=True)
    log_probability = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -np.take_along_axis(log_probability, target[..., None], -1)[..., 0]


def write_toy(folder: Path, pairs: int = 120) -> tuple[TrainingText, Path]:
    """Aligned files whose targets are the reversed sources, and their vocabulary."""
    random = np.random.default_rng(0)
    paths = {}
    for split, count in (("train", pairs), ("valid", 20)):
        lines = [
            [WORDS[i] for i in random.integers(0, len(WORDS), random.integers(3, 8))]
            for _ in range(count)
        ]
        for side, text in (("source", lines), ("target", [line[::-1] for line in lines])):
            path = folder / f"{split}.{side}"
            path.write_text("".join(" ".join(line) + "\n" for line in text), encoding="utf-8")
            paths[f"{split}_{side}"] = path
    vocabulary = folder / "spm.model"
    lines = paths["train_source"].read_text(encoding="utf-8").splitlines()
    train_vocabulary(lines, VocabularySettings(kind="word", size=16), vocabulary)
    return TrainingText(**paths), vocabulary


def train_arguments(folder: Path, spec: RunSpec, seed: int = 0) -> list[str]:
    """`padir train` arguments for the toy text in `folder`."""
    (folder / "spec.json").write_text(json.dumps(spec.model_dump(mode="json")), encoding="utf-8")
    arguments = ["--spec", str(folder / "spec.json"), "--vocabulary", str(folder / "spm.model")]
    for split in ("train", "valid"):
        for side in ("source", "target"):
            arguments += [f"--{split}-{side}", str(folder / f"{split}.{side}")]
    arguments += ["--seed", str(seed), "--work", str(folder / "work")]
    return [*arguments, "--out", str(folder / "bundle")]


def parameter_count(model: nnx.Module) -> int:
    """Number of trained values."""
    return sum(leaf.size for leaf in jax.tree.leaves(nnx.state(model, nnx.Param)))
