"""Dependency-aware blocks against uniform blocks of the same size. Paper: slides, future work."""

from dataclasses import replace
from typing import Any

import numpy as np

from padir.config.theory import DependentBlocks, IsingModel
from padir.theory.dependent_blocks import (
    bias,
    correlations,
    grown_blocks,
    step_error,
)
from padir.theory.dynamics import block_kernel, constants, mean_hitting_time, spectral_gap
from padir.theory.enumeration import all_states, exact_law, exact_sample
from padir.theory.ising import build, describe
from padir.theory.masks import uniform_masks
from padir.theory.runs import Claim, Outcome

PAIR = 2
SECTION, PAPER = "slides, future work", "left open (slides, future work)"
Rows = list[dict[str, Any]]


def run(settings: DependentBlocks, seed: int) -> Outcome:
    """Measure four choices of blocks on every model and block size, exactly."""
    rng = np.random.default_rng(seed)
    rows = [row for model in settings.models for row in _rows(model, settings, rng)]
    return Outcome(
        regimes={"models": [constants(build(model)) for model in settings.models]},
        series={"rows": rows},
        claims=_claims(settings, rows),
        dataset="; ".join(map(describe, settings.models)),
    )


def _rows(chosen: IsingModel, settings: DependentBlocks, rng: np.random.Generator) -> Rows:
    model = build(chosen)
    law = exact_law(model)
    strength = np.abs(model.coupling)
    sampled = correlations(exact_sample(rng, law, settings.samples).astype(np.float64))
    coupled = strength.max(axis=0) > 0
    larger_mode = np.all(all_states(model.spins)[:, coupled] > 0, axis=1)
    rows: Rows = []
    for size in settings.block_sizes:
        choices = {
            "uniform": uniform_masks(model.spins, size),
            "together": grown_blocks(strength, size, together=True),
            "estimated": grown_blocks(sampled, size, together=True),
            "apart": grown_blocks(strength, size, together=False),
        }
        for name, masks in choices.items():
            kernel = block_kernel(law, masks)
            rows.append(
                {
                    "model": describe(chosen),
                    "size": size,
                    "blocks": name,
                    "gap": spectral_gap(law, kernel),
                    "hitting": mean_hitting_time(kernel, 0, larger_mode),
                    "step_error": step_error(law, model, masks),
                    "bias": bias(law, model, masks),
                }
            )
    return rows


def _beside_uniform(rows: Rows, name: str) -> Rows:
    """The rows of one choice of blocks, each with the uniform choice's row as `uniform`.

    Each model and size has one row of every choice. Two models may have one description.
    """
    chosen, uniform = ([r for r in rows if r["blocks"] == choice] for choice in (name, "uniform"))
    return [{**row, "uniform": beside} for row, beside in zip(chosen, uniform, strict=True)]


def _speed_claim(name: str, statement: str, rows: Rows, scope: str) -> Claim:
    return Claim(
        name,
        SECTION,
        statement,
        PAPER,
        "; ".join(
            f"{row['model']}, k = {row['size']}: gap {row['uniform']['gap']:.4f} to"
            f" {row['gap']:.4f}, steps to the larger mode {row['uniform']['hitting']:.1f} to"
            f" {row['hitting']:.1f}"
            for row in rows
        ),
        "larger spectral gap and fewer expected steps from all minus than uniform blocks, in every"
        f" model{scope}",
        all(
            row["gap"] > row["uniform"]["gap"] and row["hitting"] < row["uniform"]["hitting"]
            for row in rows
        ),
    )


def _claims(settings: DependentBlocks, rows: Rows) -> list[Claim]:
    together, estimated, apart = (
        _beside_uniform(rows, name) for name in ("together", "estimated", "apart")
    )
    pairs = [row for row in together if row["size"] == PAIR]
    larger = [row for row in together if row["size"] > PAIR]
    claims = []
    if pairs:
        statement = (
            "At equal block size, resampling each spin jointly with its most strongly coupled"
            " partner is faster than resampling uniform pairs."
        )
        claims.append(_speed_claim("dependent_pairs", statement, pairs, ", k = 2"))
    if larger:
        statement = (
            "At equal block size, larger blocks grown from each spin by the largest coupling are"
            " faster than uniform blocks."
        )
        claims.append(_speed_claim("dependent_blocks", statement, larger, ", k > 2"))
    statement = (
        "Blocks grown by the correlations of samples are faster than uniform blocks, so sample"
        " correlations measure dependence well enough."
    )
    estimate = _speed_claim("estimated_dependence", statement, estimated, " and at every k")
    contrasts = list(zip(apart, together, strict=True))
    return [
        *claims,
        replace(
            estimate,
            paper="unclear how to measure dependence (slides)",
            measured=f"{settings.samples} samples: {estimate.measured}",
        ),
        Claim(
            "parallel_wants_blocks_apart",
            "2.4.1, slides",
            "Independent draws within a block, as in parallel decoding, have a smaller bias than"
            " with uniform blocks if blocks separate dependent spins, and a larger one if blocks"
            " group them.",
            PAPER,
            "; ".join(
                f"{far['model']}, k = {far['size']}: total variation of the stationary law"
                f" {near['bias']:.4f} apart, {near['uniform']['bias']:.4f} uniform,"
                f" {far['bias']:.4f} together"
                for near, far in contrasts
            ),
            "apart below uniform below together, in every model and at every k",
            all(near["bias"] < near["uniform"]["bias"] < far["bias"] for near, far in contrasts),
        ),
    ]
