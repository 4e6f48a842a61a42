"""Blocks chosen by dependence against uniform blocks of the same size. Paper: slides, the end."""

from typing import Any

import numpy as np

from padir.config.theory import DependentBlocks, IsingModel
from padir.theory.claims import Claim, Outcome
from padir.theory.dependent_blocks import (
    bias,
    correlations,
    grown_blocks,
    hitting_time,
    step_error,
)
from padir.theory.dynamics import block_kernel, spectral_gap
from padir.theory.enumeration import all_states, exact_law, exact_sample
from padir.theory.experiments.models import build, constants, describe
from padir.theory.masks import Masks, uniform_masks

PAIR = 2
Rows = list[dict[str, Any]]


def run(settings: DependentBlocks, seed: int) -> Outcome:
    """Measure four choices of blocks on every model and block size, exactly."""
    rng = np.random.default_rng(seed)
    rows = [row for one in settings.models for row in _rows(one, settings, rng)]
    return Outcome(
        regimes={"models": [constants(build(one)) for one in settings.models]},
        series={"rows": rows},
        claims=_claims(settings, rows),
    )


def _rows(one: IsingModel, settings: DependentBlocks, rng: np.random.Generator) -> Rows:
    model = build(one)
    law = exact_law(model)
    strength = np.abs(model.coupling)
    states = all_states(model.spins)
    seen = correlations(exact_sample(rng, law, settings.samples).astype(np.float64))
    bound = strength.max(axis=0) > 0
    larger = np.all(states[:, bound] > 0, axis=1)
    rows: Rows = []
    for size in settings.block_sizes:
        choices: dict[str, Masks] = {
            "uniform": uniform_masks(model.spins, size),
            "together": grown_blocks(strength, size, together=True),
            "estimated": grown_blocks(seen, size, together=True),
            "apart": grown_blocks(strength, size, together=False),
        }
        for name, masks in choices.items():
            kernel = block_kernel(law, masks)
            rows.append(
                {
                    "model": describe(one),
                    "size": size,
                    "blocks": name,
                    "gap": spectral_gap(law, kernel),
                    "hitting": hitting_time(kernel, 0, larger),
                    "step_error": step_error(law, model, masks),
                    "bias": bias(law, model, masks),
                }
            )
    return rows


def _pairs(rows: Rows, name: str) -> Rows:
    """For each model and block size the row of one choice, with uniform's as `uniform`."""
    uniform = {(r["model"], r["size"]): r for r in rows if r["blocks"] == "uniform"}
    return [
        {**row, "uniform": uniform[row["model"], row["size"]]}
        for row in rows
        if row["blocks"] == name
    ]


def _faster(row: dict[str, Any]) -> bool:
    uniform = row["uniform"]
    return bool(row["gap"] > uniform["gap"] and row["hitting"] < uniform["hitting"])


def _speed(rows: Rows) -> str:
    return "; ".join(
        f"{row['model']}, k = {row['size']}: gap {row['uniform']['gap']:.4f} to {row['gap']:.4f},"
        f" steps to the larger mode {row['uniform']['hitting']:.1f} to {row['hitting']:.1f}"
        for row in rows
    )


def _claims(settings: DependentBlocks, rows: Rows) -> list[Claim]:
    dataset = "; ".join(map(describe, settings.models))
    together, estimated, apart = (_pairs(rows, n) for n in ("together", "estimated", "apart"))
    two = [row for row in together if row["size"] == PAIR]
    more = [row for row in together if row["size"] > PAIR]
    test = "larger spectral gap and fewer expected steps from all minus than uniform blocks,"
    open_question = "left open (slides, future work)"
    found = []
    if two:
        found.append(
            Claim(
                "dependent_pairs",
                "slides, future work",
                "Resampling a spin jointly with the one that it is coupled with most is faster than"
                " resampling uniform pairs, at as many spins a step.",
                open_question,
                _speed(two),
                f"{test} in every model, k = 2",
                all(map(_faster, two)),
                dataset,
            )
        )
    if more:
        found.append(
            Claim(
                "dependent_blocks",
                "slides, future work",
                "The same for larger blocks, grown from each spin by the largest coupling.",
                open_question,
                _speed(more),
                f"{test} in every model, k > 2",
                all(map(_faster, more)),
                dataset,
            )
        )
    return [
        *found,
        Claim(
            "estimated_dependence",
            "slides, future work",
            "Correlations of samples are a good enough measure of dependence to choose blocks by.",
            "unclear how to measure dependence (slides)",
            f"{settings.samples} samples: {_speed(estimated)}",
            f"{test} in every model and at every k",
            all(map(_faster, estimated)),
            dataset,
        ),
        Claim(
            "parallel_wants_blocks_apart",
            "2.4.1, slides",
            "Drawing a block's spins independently, as parallel decoding does, leads nearer to the"
            " model's law if blocks keep dependent spins apart than with uniform blocks, and"
            " farther from it if they put them together.",
            open_question,
            "; ".join(
                f"{far['model']}, k = {far['size']}: total variation of the stationary law"
                f" {near['bias']:.4f} apart, {near['uniform']['bias']:.4f} uniform,"
                f" {far['bias']:.4f} together"
                for near, far in zip(apart, together, strict=True)
            ),
            "apart below uniform below together, in every model and at every k",
            all(
                near["bias"] < near["uniform"]["bias"] < far["bias"]
                for near, far in zip(apart, together, strict=True)
            ),
            dataset,
        ),
    ]
