"""Statistical tests that decide the two hypotheses of section 3.4."""

from collections.abc import Mapping
from typing import Any

FEWEST = 20
"""Sentences with stuttering and other pairs that a verdict needs at least."""
MARGIN = 0.2
"""An effect (Cohen's d) below this is commonly called negligible."""
LEVEL = 0.05


def claims_of(comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Verdicts on both claims, from the comparison of stuttering with other adjacent pairs."""
    return [self_attention_no_larger(comparison), cross_attention_closer(comparison)]


def _claim(comparison, name, statement, section, paper, measured, interval, test, holds):
    enough = comparison["mixed_sentences"] >= FEWEST
    if not enough:
        measured = (
            f"{comparison['mixed_sentences']} sentences with a stutter at pass"
            f" {comparison['pass']}; {FEWEST} are needed"
        )
    return {
        "id": name,
        "section": section,
        "statement": statement,
        "paper": paper,
        "measured": measured,
        "interval": interval if enough else None,
        "test": test,
        "verdict": ("reproduced" if holds else "not reproduced") if enough else "not run",
    }


def _means(contrast: Mapping[str, Any]) -> str:
    return f"{contrast['mean']:.3f} against {contrast['other_mean']:.3f}"


def self_attention_no_larger(comparison: Mapping[str, Any]) -> dict[str, Any]:
    """Hypothesis 1 fails: self-attention of stuttering pairs is not much larger than elsewhere."""
    contrast = comparison["contrasts"]["self_attention mean"]
    low, high = contrast["effect_interval"]
    within = contrast["within_effect_interval"]
    return _claim(
        comparison,
        "self_attention",
        "Self-attention is no larger between stuttering positions than between other neighbours.",
        "3.4, table 4",
        "mean 0.032 against 0.033",
        f"pass {comparison['pass']}: {_means(contrast)} (mean over layers, heads and"
        f" directions), effect {contrast['effect']:.2f}; above the mean of the own sentence by"
        f" {contrast['within']:.4f}, which is {contrast['within_effect']:.2f}"
        f" [{within[0]:.2f}, {within[1]:.2f}] deviations, permutation p {contrast['p_value']:.4f};"
        f" {comparison['stuttering']} stuttering pairs, {comparison['other']} others",
        [low, high],
        "the 95% intervals (bootstrap over sentences) of the effect size, and of what stuttering"
        " pairs are above the mean of their own sentence, in deviations, do not lie above 0 and lie"
        f" below {MARGIN}",
        low <= 0 and high < MARGIN and within[0] <= 0 and within[1] < MARGIN,
    )


def cross_attention_closer(comparison: Mapping[str, Any]) -> dict[str, Any]:
    """Hypothesis 2: both cross-attention distances are significantly smaller at stutter."""
    names = ("total_variation mean", "cosine mean")
    parts = [comparison["contrasts"][name] for name in names]
    # The permutation test is two-sided, and of the pairs within their sentence.
    holds = all(
        part["difference_interval"][1] < 0 and part["within"] < 0 and part["p_value"] < LEVEL
        for part in parts
    )
    text = "; ".join(
        f"{name.removesuffix(' mean').replace('_', ' ')} {_means(contrast)}, effect"
        f" {contrast['effect']:.2f}, difference within sentences"
        f" {contrast['within']:.4f}, permutation p {contrast['p_value']:.4f}"
        for name, contrast in zip(names, parts, strict=True)
    )
    return _claim(
        comparison,
        "cross_attention",
        "Cross-attention is closer at stutters.",
        "3.4, table 5",
        "total variation 0.13 against 0.23 (mean)",
        f"pass {comparison['pass']}: {text}; {comparison['stuttering']} stuttering pairs",
        list(parts[0]["difference_interval"]),
        "the 95% intervals of both differences (bootstrap over sentences) lie below 0, stuttering"
        " pairs are below the mean of their own sentence in both, and both permutation tests"
        f" (labels exchanged within sentences) give p < {LEVEL}",
        holds,
    )
