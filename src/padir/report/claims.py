"""The paper's claims with measurements, and verdicts by statistical tests.

A translation claim is decided here, from scores and timings, by a function of `verdicts` or
`ablations`. A claim of theory or attention analysis is decided where it is computed; its JSON says
how, and the report collects it. A claim for which nothing was computed, or whose results lie
outside the scope of the report, is "not run", with the command that decides it; so is one for which
too few sentences were timed, with the setting to change before.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from padir import invocation
from padir.config.experiment import Config
from padir.files import InputError, write_json, write_text
from padir.layout import places
from padir.report import ablations, paper, verdicts
from padir.report.results import Results
from padir.report.tables import Column, Table

REPRODUCED, NOT_REPRODUCED, NOT_RUN = "reproduced", "not reproduced", "not run"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and how it is tested.

    Attributes:
        id: identifier, such as `theory.product_steps`. A claim decided by another command replaces
            this one if its id is the same, or the same followed by a dot and more.
        paper: the paper's number, or words where it gives none.
        test: decides the claim from the report's results; None where another command decides it.
        part: part of the report that shows the results behind the verdict.
        when: whether the claim applies to a config; None if it applies to all.
    """

    id: str
    section: str
    statement: str
    paper: str
    part: str
    test: verdicts.Test | None = None
    when: Callable[[Config], object] | None = None

    @property
    def target(self) -> str:
        """The target of the workflow that makes the results for a verdict."""
        if self.part in ("ablations", "table4", "table5"):
            return "everything"
        return "theory" if self.part == "theorems" else "core"


def _span(numbers: Sequence[float]) -> str:
    return f"{min(numbers):+.2f} to {max(numbers):+.2f}"


def _faster(point: str, times: int, search: str, test: verdicts.Test) -> Claim:
    what = {"p50": "Median latency", "p99": "99th percentile of latency"}[point]
    how = {"greedy": "AR decoded greedily", "beam": "AR by beam search, as in table 1"}[search]
    return Claim(
        f"latency_{point}_{search}",
        "3.3, Speed",
        f"{what}: more than {times} times AR's speed ({how}).",
        f"> {times} (TPU v3)",
        "latency",
        test,
    )


def _ablation(id: str, section: str, statement: str, test: verdicts.Test, number="no number"):
    return Claim(id, section, statement, number, "ablations", test)


def _theory(name: str, section: str, statement: str, number: str) -> Claim:
    return Claim(f"theory.{name}", section, statement, number, "theorems")


CLAIMS = (
    Claim(
        *("near_ar", "3.3, table 1", "With 4 passes PaDIR is near AR in BLEU."),
        f"{_span(paper.gaps_to_ar('T4'))} BLEU over six directions",
        *("table1", verdicts.near_ar),
    ),
    Claim(
        *("near_ar_joint", "ours", "With 4 passes and joint decoding PaDIR is near AR in BLEU."),
        *("not in the paper", "table1", verdicts.near_ar_joint, verdicts.joint_row),
    ),
    Claim(
        *("one_pass", "1", "One pass already gives reasonable translations.", "no number"),
        *("table1", verdicts.one_pass),
    ),
    Claim(
        *("saturation", "L.4, table 1", "More passes than 4 hardly add quality."),
        f"T10 - T4: {_span(paper.gains('T4', 'T10'))} BLEU",
        *("table1", verdicts.saturation),
    ),
    Claim(
        *("early_gain", "ours", "Most of what passes add comes early.", "no number below T4"),
        *("table1", verdicts.early_gain_larger),
    ),
    _faster("p50", 2, "greedy", verdicts.faster_than_greedy_p50),
    _faster("p99", 5, "greedy", verdicts.faster_than_greedy_p99),
    _faster("p50", 2, "beam", verdicts.faster_than_beam_p50),
    _faster("p99", 5, "beam", verdicts.faster_than_beam_p99),
    Claim(
        *("stutter_final", "3.3"),
        "Word-level stutter is at least twice AR's (as printed: final text).",
        *(">= 2 times, all datasets", "stutter", verdicts.stutter_twice_final),
    ),
    Claim(
        *("stutter_before_drop", "3.3, L.2"),
        "Word-level stutter is at least twice AR's before repeats are dropped.",
        *("not printed", "stutter", verdicts.stutter_twice_before_drop),
    ),
    _ablation(
        *("distillation", "1", "Training on an AR model's output helps."),
        ablations.distillation_helps,
    ),
    _ablation("unmasking", "1, L.2", "A small unmasking rate helps.", ablations.unmasking_helps),
    _ablation(
        *("positional_attention", "1", "Positional attention helps."),
        ablations.positional_attention_helps,
    ),
    _ablation(
        *("custom_vocabulary", "1", "A vocabulary learnt on the pair's own text helps."),
        ablations.vocabulary_helps,
    ),
    _ablation(
        *("second_stage", "3.2, L.1.2", "A second training stage helps."),
        ablations.second_stage_helps,
    ),
    _ablation(
        *("stutter_handling", "ours", "Remasking stutter between passes helps."),
        *(ablations.stutter_handling_helps, "done (L.2), no claim that it helps"),
    ),
    _ablation(
        *("length_candidates", "ours", "Several length candidates help."),
        *(ablations.length_candidates_help, "done (L.1.1), no claim that they help"),
    ),
    _ablation(
        *("remasking", "L.2, footnote 26", "The remasking schedule hardly matters."),
        *(ablations.remasking_matters_little, "not visibly affected"),
    ),
    Claim(
        *("self_attention", "3.4, table 4"),
        "Self-attention is no larger between stuttering positions than between other neighbours.",
        *("mean 0.032 against 0.033", "table4"),
    ),
    Claim(
        *("cross_attention", "3.4, table 5", "Cross-attention is closer at stutters."),
        *("total variation 0.13 against 0.23 (mean)", "table5"),
    ),
    _theory(
        *("masking_more", "3.1, figures 1 and 2"),
        *("Masking more lowers the estimation error.", "figure"),
    ),
    _theory(
        *("information_matrix", "2.2.1, appendix A"),
        *("Generalised information-matrix equality.", "exact"),
    ),
    _theory(
        *("covariance_order", "2.2, theorem 2"),
        "The estimator's covariance falls in k, in the positive-semidefinite order.",
        "exact",
    ),
    _theory(
        *("variance_bound", "2.2.2, theorems 6 and 8"),
        "The asymptotic variance is bounded through the"
        " Poincare constant, also for adaptive masks.",
        "exact",
    ),
    _theory(
        *("dirichlet_form", "2.2"),
        *("The Dirichlet form identity of weighted block dynamics.", "exact"),
    ),
    _theory(
        *("finite_sample_bound", "2.3, theorem 4"),
        *("The finite-sample bound on total variation.", "bound"),
    ),
    _theory("convexity", "2.1", "k-MPLE is convex for Ising models.", "exact"),
    _theory(
        *("larger_k_is_faster", "3, L.7, figure 3"),
        *("k-Gibbs reaches the larger mode, and faster for larger k.", "figure"),
    ),
    _theory(
        *("parallel_is_slower", "3, L.7, figure 3"),
        *("Independent parallel sampling does not reach the larger mode.", "figure"),
    ),
    _theory("product_steps", "2.4.1", "A parallel step is a product distribution.", "exact"),
)


def decide(
    config: Config, results: Mapping[str, Results], options: str = ""
) -> list[dict[str, Any]]:
    """Every claim with its verdict, one record per test set or supplier.

    Args:
        config: the merged config.
        results: of each part in scope, by its name; a claim about another part is not run.
        options: of the commands; see `padir.invocation.command`.

    Raises:
        InputError: a supplied verdict that is none of the three.
    """
    analyses: dict[str, Any] = {}
    experiments: dict[str, Any] = {}
    for loaded in results.values():
        analyses |= loaded.analyses
        experiments |= loaded.theory
    supplied: dict[str, list[Mapping[str, Any]]] = {}
    of_theory = (claim for item in experiments.items() for claim in _claims_in(*item))
    for claim in [*_of_analyses(config, analyses), *of_theory]:
        supplied.setdefault(claim["id"], []).append(claim)
    records = []
    for claim in CLAIMS:
        if claim.when is not None and not claim.when(config):
            continue
        claim = replace(claim, statement=verdicts.at_candidates_passes(claim.statement, config))
        command = invocation.command(claim.target, options)
        names = [name for name in supplied if f"{name}.".startswith(f"{claim.id}.")]
        loaded = results.get(claim.part)
        if names:
            records += [_supplied(entry, command) for name in names for entry in supplied.pop(name)]
        elif claim.test is not None and loaded is not None and loaded.places():
            records += list(_tested(claim, claim.test, loaded, command))
        else:
            lacking = verdicts.lacking(claim.part, config)
            records.append(_record(claim, command) | {"measured": lacking})
    theory = invocation.command("theory", options)
    return records + [_supplied(entry, theory) for rest in supplied.values() for entry in rest]


def _claims_in(path: str, document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for claim in document["claims"]:
        if claim["verdict"] not in (REPRODUCED, NOT_REPRODUCED, NOT_RUN):
            raise InputError(
                f"{path}: claim {claim['id']}: verdict {claim['verdict']!r}: allowed are"
                f" {REPRODUCED}, {NOT_REPRODUCED}, {NOT_RUN}"
            )
        yield claim | {"source": path}


def _of_analyses(config: Config, documents: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Claims of the analyses; what several seeds of a training say of one claim is one claim."""
    keys = ("dataset", "direction", "training", "decoder")
    by_seed: dict[tuple[str, ...], dict[int, Mapping[str, Any]]] = {}
    for path, document in documents.items():
        for claim in _claims_in(path, document):
            place = claim["id"], *(document[key] for key in keys)
            by_seed.setdefault(place, {})[document["seed"]] = claim
    for (_, _, _, training, _), claims in by_seed.items():
        wanted = config.analysed_seeds(training)
        yield _with_every_seed(claims, wanted) if len(wanted) > 1 else claims[wanted[0]]


def _with_every_seed(
    claims: Mapping[int, Mapping[str, Any]], wanted: Sequence[int]
) -> Mapping[str, Any]:
    """One claim that holds where it holds with each seed; the worst of the verdicts, and not run
    where a seed is missing."""
    verdicts = [claims[seed]["verdict"] if seed in claims else NOT_RUN for seed in wanted]
    said = {
        seed: f"{plain(claim['measured'])}, {interval_text(claim.get('interval')) or 'no interval'}"
        for seed, claim in claims.items()
    }
    first = next(iter(claims.values()))
    return {
        **first,
        "measured": ". ".join(f"Seed {seed}: {said.get(seed, NOT_RUN)}" for seed in wanted),
        "interval": None,
        "seeds": list(claims),
        "test": f"with each seed: {first['test']}",
        "verdict": max(verdicts, key=[REPRODUCED, NOT_RUN, NOT_REPRODUCED].index),
    }


def _record(claim: Claim, command: str) -> dict[str, Any]:
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
        "command": command,
        "verdict": NOT_RUN,
    }


def _tested(
    claim: Claim, test: verdicts.Test, results: Results, command: str
) -> Iterator[dict[str, Any]]:
    says = " ".join((test.__doc__ or "").split())
    scored = results.places()
    for place in places(results.config):
        if place not in scored:
            yield _record(claim, command) | {"dataset": " ".join(place)}
            continue
        finding = test(results, place)
        yield _record(claim, command) | {
            "dataset": " ".join(place),
            "measured": finding.measured,
            "interval": None if finding.interval is None else list(finding.interval),
            "seeds": list(finding.seeds),
            "test": f"{test.__module__}.{getattr(test, '__name__', '')}",
            "test_says": verdicts.at_candidates_passes(says, results.config),
            "verdict": {True: REPRODUCED, False: NOT_REPRODUCED, None: NOT_RUN}[finding.holds],
        }


def _supplied(claim: Mapping[str, Any], command: str) -> dict[str, Any]:
    seeds = claim.get("seeds")
    return {
        "id": claim["id"],
        "section": claim.get("section"),
        "statement": claim["statement"],
        "paper": claim.get("paper"),
        "dataset": claim.get("dataset"),
        "measured": plain(claim["measured"]),
        "interval": claim.get("interval"),
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


def claims_table(records: Sequence[Mapping[str, Any]]) -> Table:
    """The claims as a table."""
    columns = (
        Column("id", "Claim"),
        Column("section", "Section"),
        Column("statement", "Statement"),
        Column("paper", "Paper"),
        Column("dataset", "Dataset"),
        Column("measured", "Measured"),
        Column("interval", "95% interval"),
        Column("seeds", "Seeds"),
        Column("verdict", "Verdict"),
        Column("how", "Test, or command to run"),
    )
    rows = []
    for record in records:
        cells = {column.key: record.get(column.key) for column in columns} | {
            "interval": interval_text(record["interval"]),
            "seeds": ", ".join(map(str, record["seeds"])) or None,
            "how": record["test_says"],
        }
        if record["verdict"] == NOT_RUN:
            test = record["test_says"]
            wanted = f"un: {record['command']}"
            cells["how"] = f"r{wanted}" if test is None else f"{test} R{wanted}"
        rows.append({key: v if v is None else str(v) for key, v in cells.items()})
    notes = (
        "A verdict comes from the test named, never from a person. Intervals are 95%, over"
        " sentences unless the row says otherwise; \"not reproduced\" is meant at this scale, and"
        " an interval on both sides of the threshold leaves the claim open.",
    )  # fmt: skip
    return Table("claims", "Claims of the paper", columns, rows, notes)


def interval_text(ends: Any) -> str | None:
    """An interval to three digits, a value of another shape as text, None for None."""
    if isinstance(ends, list) and len(ends) == 2:
        return f"[{ends[0]:.3g}, {ends[1]:.3g}]"
    return None if ends is None else plain(ends)


def counts(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many records have each verdict."""
    return {
        verdict: sum(record["verdict"] == verdict for record in records)
        for verdict in (REPRODUCED, NOT_REPRODUCED, NOT_RUN)
    }


def write_claims(records: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Write claims.json and claims.md."""
    summary = ", ".join(f"{number} {verdict}" for verdict, number in counts(records).items())
    text = f"# Claims\n\n{summary}.\n\n{claims_table(records).markdown()}"
    write_json(folder / "claims.json", list(records))
    write_text(folder / "claims.md", text)
