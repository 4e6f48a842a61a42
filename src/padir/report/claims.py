"""The paper's claims, each with what was measured and a verdict that a stated test gave.

A translation claim is decided here, from scores and timings, by a function of `verdicts` or
`ablations`. A claim
of theory or attention analysis is decided where it is computed; its JSON says how, and the report
collects it. A claim for which nothing was computed is "not run", with the command that runs it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from padir.files import InputError
from padir.report import ablations, paper, verdicts
from padir.report.results import Results

REPRODUCED, NOT_REPRODUCED, NOT_RUN = "reproduced", "not reproduced", "not run"
TRANSLATION = "snakemake --cores 2 translation"
THEORY = "snakemake --cores 2 theory"
ABLATIONS = "snakemake --cores 2 ablations claims"
DEPENDENCY = "snakemake --cores 2 dependency claims"


@dataclass(frozen=True)
class Claim:
    """What the paper says.

    Attributes:
        id: a supplied claim of this id, or of one that goes on after a dot, takes its place.
        paper: the paper's own number, or what it says instead of one.
        test: decides it here; None where another command decides it.
        command: what has to run for a verdict; None where nothing computes it yet.
    """

    id: str
    section: str
    statement: str
    paper: str
    command: str | None = TRANSLATION
    test: verdicts.Test | None = None


def _span(numbers: Sequence[float]) -> str:
    return f"{min(numbers):+.2f} to {max(numbers):+.2f}"


CLAIMS = (
    Claim(
        "near_ar",
        "3.3, table 1",
        "With 4 passes PaDIR is near AR in BLEU.",
        f"{_span(paper.gaps_to_ar('T4'))} BLEU over six directions",
        test=verdicts.near_ar,
    ),
    Claim(
        "one_pass",
        "1",
        "One pass already gives reasonable translations.",
        "no number",
        test=verdicts.one_pass,
    ),
    Claim(
        "saturation",
        "L.4, table 1",
        "More passes than 4 hardly add quality.",
        f"T10 - T4: {_span(paper.gains('T4', 'T10'))} BLEU",
        test=verdicts.saturation,
    ),
    Claim(
        "early_gain",
        "L.4",
        "Most of what passes add comes early.",
        "no number below T4",
        test=verdicts.early_gain_larger,
    ),
    Claim(
        "latency_p50_greedy",
        "3.3, Speed",
        "Median latency: more than 2 times AR's speed (AR decoded greedily).",
        "> 2 (TPU v3)",
        test=verdicts.faster_than_greedy_p50,
    ),
    Claim(
        "latency_p99_greedy",
        "3.3, Speed",
        "99th percentile of latency: more than 5 times AR's speed (AR decoded greedily).",
        "> 5 (TPU v3)",
        test=verdicts.faster_than_greedy_p99,
    ),
    Claim(
        "latency_p50_beam",
        "3.3, Speed",
        "Median latency: more than 2 times AR's speed (AR by beam search, as in table 1).",
        "> 2 (TPU v3)",
        test=verdicts.faster_than_beam_p50,
    ),
    Claim(
        "latency_p99_beam",
        "3.3, Speed",
        "99th percentile of latency: more than 5 times AR's"
        " speed (AR by beam search, as in table 1).",
        "> 5 (TPU v3)",
        test=verdicts.faster_than_beam_p99,
    ),
    Claim(
        "stutter_final",
        "3.3",
        "Word-level stutter is at least twice AR's (as printed: final text).",
        ">= 2 times, all datasets",
        test=verdicts.stutter_twice_final,
    ),
    Claim(
        "stutter_before_drop",
        "3.3, L.2",
        "Word-level stutter is at least twice AR's before repeats are dropped.",
        "not printed",
        test=verdicts.stutter_twice_before_drop,
    ),
    Claim(
        "distillation",
        "1",
        "Training on an AR model's output helps.",
        "no number",
        ABLATIONS,
        ablations.distillation_helps,
    ),
    Claim(
        "unmasking",
        "1, L.2",
        "A small unmasking rate helps.",
        "no number",
        ABLATIONS,
        ablations.unmasking_helps,
    ),
    Claim(
        "positional_attention",
        "1",
        "Positional attention helps.",
        "no number",
        ABLATIONS,
        ablations.positional_attention_helps,
    ),
    Claim(
        "custom_vocabulary",
        "1",
        "A vocabulary learnt on the pair's own text helps.",
        "no number",
        ABLATIONS,
        ablations.vocabulary_helps,
    ),
    Claim(
        "second_stage",
        "3.2, L.1.2",
        "A second training stage helps.",
        "no number",
        ABLATIONS,
        ablations.second_stage_helps,
    ),
    Claim(
        "stutter_handling",
        "L.2",
        "Hiding stutter again between passes helps.",
        "no number",
        ABLATIONS,
        ablations.stutter_handling_helps,
    ),
    Claim(
        "length_candidates",
        "L.1.1",
        "Several length candidates help.",
        "no number",
        ABLATIONS,
        ablations.length_candidates_help,
    ),
    Claim(
        "remasking",
        "L.2, footnote 26",
        "The remasking schedule hardly matters.",
        "not visibly affected",
        ABLATIONS,
        ablations.remasking_matters_little,
    ),
    Claim(
        "self_attention",
        "3.4, table 4",
        "Self-attention is no larger between stuttering positions than between other neighbours.",
        "mean 0.032 against 0.033",
        DEPENDENCY,
    ),
    Claim(
        "cross_attention",
        "3.4, table 5",
        "Cross-attention is closer at stutters.",
        "total variation 0.13 against 0.23 (mean)",
        DEPENDENCY,
    ),
    Claim(
        "theory.masking_more",
        "3.1, figures 1 and 2",
        "Masking more lowers the estimation error.",
        "figure",
        THEORY,
    ),
    Claim(
        "theory.information_matrix",
        "2.2, lemma 1",
        "Generalised information-matrix equality.",
        "exact",
        THEORY,
    ),
    Claim(
        "theory.covariance_order",
        "2.2, theorem 2",
        "The estimator's covariance falls in k, in the positive-semidefinite order.",
        "exact",
        THEORY,
    ),
    Claim(
        "theory.variance_bound",
        "2.2, theorem 1",
        "The asymptotic variance is bounded through the"
        " Poincare constant, also for adaptive masks.",
        "exact",
        THEORY,
    ),
    Claim(
        "theory.dirichlet_form",
        "2.2",
        "The Dirichlet form identity of weighted block dynamics.",
        "exact",
        THEORY,
    ),
    Claim(
        "theory.finite_sample_bound",
        "2.3, theorem 4",
        "The finite-sample bound on total variation.",
        "bound",
        THEORY,
    ),
    Claim("theory.convexity", "2.1", "k-MPLE is convex for Ising models.", "exact", THEORY),
    Claim(
        "theory.larger_k_is_faster",
        "3, L.7, figure 3",
        "k-Gibbs reaches the larger mode, and faster for larger k.",
        "figure",
        THEORY,
    ),
    Claim(
        "theory.parallel_is_slower",
        "3, L.7, figure 3",
        "Independent parallel sampling does not reach the larger mode.",
        "figure",
        THEORY,
    ),
    Claim(
        "theory.product_steps",
        "2.4.1",
        "A parallel step is a product distribution.",
        "exact",
        THEORY,
    ),
)


def decide(results: Results) -> list[dict[str, Any]]:
    """Every claim with its verdict, one record per test set or supplier.

    Raises:
        InputError: a supplied verdict that is none of the three.
    """
    supplied: dict[str, list[Mapping[str, Any]]] = {}
    for claim in results.supplied_claims:
        supplied.setdefault(claim["id"], []).append(claim)
    records = []
    for claim in CLAIMS:
        parts = [name for name in supplied if f"{name}.".startswith(f"{claim.id}.")]
        if parts:
            records += [
                _supplied(one, claim.command) for name in parts for one in supplied.pop(name)
            ]
        elif claim.test is not None and results.groups():
            records += list(_tested(claim, claim.test, results))
        else:
            records.append(_not_run(claim))
    records += [_supplied(one, THEORY) for several in supplied.values() for one in several]
    return records


def _record(claim: Claim) -> dict[str, Any]:
    return {
        "id": claim.id,
        "section": claim.section,
        "statement": claim.statement,
        "paper": claim.paper,
        "dataset": None,
        "measured": None,
        "interval": None,
        "seeds": [],
        "test": None,
        "test_says": None,
        "command": claim.command,
        "verdict": NOT_RUN,
    }


def _not_run(claim: Claim) -> dict[str, Any]:
    return _record(claim)


def _tested(claim: Claim, test: verdicts.Test, results: Results) -> Iterator[dict[str, Any]]:
    for group in results.groups():
        finding = test(results, group)
        verdict = {True: REPRODUCED, False: NOT_REPRODUCED, None: NOT_RUN}[finding.holds]
        yield _record(claim) | {
            "dataset": " ".join(group),
            "measured": finding.measured,
            "interval": None if finding.interval is None else list(finding.interval),
            "seeds": list(finding.seeds),
            "test": f"{test.__module__}.{getattr(test, '__name__', '')}",
            "test_says": " ".join((test.__doc__ or "").split()),
            "verdict": verdict,
        }


def _supplied(claim: Mapping[str, Any], command: str | None) -> dict[str, Any]:
    if claim["verdict"] not in (REPRODUCED, NOT_REPRODUCED, NOT_RUN):
        raise InputError(
            f"{claim['source']}: claim {claim['id']}: verdict {claim['verdict']!r}: allowed are"
            f" {REPRODUCED}, {NOT_REPRODUCED}, {NOT_RUN}"
        )
    seeds, ends = claim.get("seeds"), claim.get("interval")
    return {
        "id": claim["id"],
        "section": claim.get("section"),
        "statement": claim["statement"],
        "paper": claim.get("paper"),
        "dataset": claim.get("dataset"),
        "measured": plain(claim["measured"]),
        "interval": ends,
        "seeds": seeds if isinstance(seeds, list) else [] if seeds is None else [seeds],
        "test": claim["source"],
        "test_says": plain(claim["test"]),
        "command": command,
        "verdict": claim["verdict"],
    }


def plain(value: Any) -> str:
    """A measured value as text: numbers to four digits, mappings as `key value`."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain(inner)}" for key, inner in value.items())
    return f"{value:.4g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
