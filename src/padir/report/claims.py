"""The paper's claims with measurements, and verdicts by statistical tests.

A translation claim is decided here, from scores and timings, by a function of `verdicts` or
`ablations`. A claim of theory or attention analysis is decided where it is computed; its JSON says
how, and the report collects it. A claim for which nothing was computed, or whose results lie
outside the scope of the report, is "not run", with the command that decides it; so is one for which
too few sentences were timed, with the setting to change before.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from padir import invocation
from padir.config.experiment import Config
from padir.files import InputError, write_json, write_text
from padir.layout import places
from padir.report import verdicts
from padir.report.claim_list import CLAIMS, Claim
from padir.report.results import Results
from padir.report.tables import Column, Table

REPRODUCED, NOT_REPRODUCED, NOT_RUN = "reproduced", "not reproduced", "not run"


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
        " does not say that a claim is refuted: seeds may be too few to tell.",
    )  # fmt: skip
    return Table("claims", "Claims of the paper and ours", columns, rows, notes)


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
