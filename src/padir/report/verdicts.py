"""Statistical tests that decide the translation claims from the results. Claims about parts of
PaDIR are decided in `ablations`.

Every threshold stands here, in the test that uses it. Claims are about the config's candidate and
baseline; T1 and T10 are the candidate with other passes, T4 is the candidate itself. Intervals
are 95%, of the mean over seeds: paired bootstrap over sentences and, where the rows have three
seeds or more in common, which alone then count, over seeds. A claim holds where the end of such an
interval lies on the claimed side.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from padir.config.decoder import RefinementDecoder
from padir.config.evaluation import BleurtScorer
from padir.config.experiment import Config
from padir.config.rows import Row
from padir.layout import Place
from padir.report.results import Estimate, Results, ScoredRow, search_row
from padir.score.significance import (
    FEWEST_BEYOND,
    FEWEST_SEEDS,
    interval,
    over_seeds,
    percentile_ratio_interval,
)

NEAR_AR_MARGIN = 1.5
NEAR_AR_BLEURT_MARGIN = 3.0
ONE_PASS_SHARE = 0.8
SATURATION_GAIN = 0.5
PASSES_RATIO = 7.0
P50_RATIO = 2.0
P99_RATIO = 5.0
STUTTER_RATIO = 2.0
LAST_PASSES = 10
LEAST_BLEU = 10.0
"""Where AR has less, or for claims about passes and time PaDIR, nothing is decided: two systems
that translate nothing are near each other, and either may be fast. Below 10 translations are almost
useless (Google Cloud's guide to BLEU)."""


@dataclass(frozen=True)
class Finding:
    """Outcome of a test on one test set.

    Attributes:
        holds: whether the claim passed; None where a result that it needs is not there, too few
            sentences were timed, or the models translate too badly.
        measured: the numbers, or what is missing.
        interval: of the tested quantity; None where there is none.
        seeds: training seeds behind the numbers.
    """

    holds: bool | None
    measured: str
    interval: tuple[float, float] | None = None
    seeds: tuple[int, ...] = ()


Test = Callable[[Results, Place], Finding]


def at_candidates_passes(text: str, config: Config) -> str:
    """A text about T4 with the number of passes that the config's candidate has."""
    candidate = config.candidate()
    passes = candidate.decoding.passes if candidate else None
    if passes is None:
        return text
    plain = "1 pass" if passes == 1 else f"{passes} passes"
    for theirs, ours in (("4 passes", plain), ("than 4", f"than {passes}"), ("T4", f"T{passes}")):
        text = re.sub(rf"\b{theirs}\b", ours, text)
    return text


def lacking(part: str, config: Config) -> str | None:
    """What a config needs before the claims of a part of the report can be decided."""
    needed = {
        "theorems": ("theory.seeds", config.theory.seeds),
        "ablations": ("evaluation.ablations", config.evaluation.ablations),
        "table3": ("evaluation.scorers", config.evaluation.scorers),
    }
    key, given = needed.get(part, ("", True))
    return None if given else f"the config has no {key}: add it first"


def joint_row(config: Config) -> Row | None:
    """The core row of the candidate's training with as many passes and a joint decoder."""
    candidate = config.candidate()
    for row in config.core_rows():
        decoder = config.decoders[row.decoding.decoder]
        joint = isinstance(decoder, RefinementDecoder) and decoder.joint != "none"
        same = candidate and candidate._replace(decoding=row.decoding) == row
        if candidate and joint and same and row.decoding.passes == candidate.decoding.passes:
            return row
    return None


def _rows(results: Results, place: Place, *passes: int | None) -> list[ScoredRow] | str:
    """The candidate at rising numbers of passes (None: its own), or what is missing."""
    candidate = results.config.candidate()
    if candidate is None:
        return "no PaDIR training in the config"
    numbers = [number or candidate.decoding.passes or 0 for number in passes]
    if any(fewer >= more for fewer, more in pairwise(numbers)):
        listed = ", ".join(f"T{number}" for number in numbers)
        return f"the claim needs rising numbers of passes; of {candidate.label} it has {listed}"
    rows = [
        candidate._replace(decoding=candidate.decoding._replace(passes=number or None))
        for number in numbers
    ]
    scored = [results.row(place, row) for row in rows]
    missing = [row for row, score in zip(rows, scored, strict=True) if score is None]
    if missing:
        core = results.config.core_rows()
        advice = "" if set(missing) <= set(core) else ": add it to evaluation.core first"
        return f"{', '.join(row.label for row in missing)} not scored{advice}"
    return _in_common([row for row in scored if row is not None])


def _passes_compared(results: Results, place: Place, *passes: int | None) -> list[ScoredRow] | str:
    """As `_rows`, and also a reason where T4 translates too badly."""
    rows = _rows(results, place, *passes)
    return rows if isinstance(rows, str) else too_bad(rows[passes.index(None)]) or rows


def too_bad(row: ScoredRow) -> str | None:
    """Why a row decides no claim: below `LEAST_BLEU` systems are alike in translating nothing."""
    value = row.bleu().value
    said = f"{row.row.label} has {value:.2f} BLEU: below {LEAST_BLEU:g} nothing is decided"
    return said if value < LEAST_BLEU else None


def _in_common(rows: list[ScoredRow]) -> list[ScoredRow]:
    """The rows, cut down to the seeds that all have where those are enough to resample."""
    common = set.intersection(*(set(row.seeds) for row in rows))
    return [row.with_seeds(common) for row in rows] if len(common) >= FEWEST_SEEDS else rows


def _combined(
    rows: list[ScoredRow], estimates: list[Estimate], weights: list[float]
) -> tuple[float, tuple[float, float], str]:
    """Weighted sum of the estimates of rows `_in_common`, its paired interval, and what that is
    over."""
    weighted, seeds = np.array(weights), rows[0].seeds
    if len(seeds) >= FEWEST_SEEDS and all(row.seeds == seeds for row in rows):
        by_seed = weighted @ np.stack([part.by_seed for part in estimates])
        replicates = np.stack([part.replicates_by_seed for part in estimates])
        contrast = over_seeds(by_seed.tolist(), np.tensordot(weighted, replicates, 1))
        over = f"; interval over sentences and {len(seeds)} seeds"
        return contrast.difference, (contrast.low, contrast.high), over
    value = float(weighted @ [part.value for part in estimates])
    stack = np.array([part.replicates for part in estimates])
    return value, interval(weighted @ stack), "; interval over sentences"


def _bleu(rows: list[ScoredRow], weights: list[float]) -> tuple[float, tuple[float, float], str]:
    return _combined(rows, [row.bleu() for row in rows], weights)


def _near(results: Results, place: Place, row: ScoredRow) -> Finding:
    baseline = results.baseline(place)
    if baseline is None:
        named = results.config.baseline()
        return Finding(None, f"{named.label if named else 'AR'} not scored")
    if reason := too_bad(baseline):
        return Finding(None, reason)
    row, baseline = _in_common([row, baseline])
    value, ends, over = _bleu([row, baseline], [1.0, -1.0])
    text = (
        f"{row.row.label} {row.bleu().text()}, {baseline.row.label}"
        f" {baseline.bleu().text()}, difference {value:.2f}{over}"
    )
    return Finding(ends[0] > -NEAR_AR_MARGIN, text, ends, row.seeds)


def near_ar(results: Results, place: Place) -> Finding:
    """The interval of BLEU(PaDIR T4) - BLEU(AR) lies above -1.5 (the paper's widest: -1.35)."""
    rows = _rows(results, place, None)
    return Finding(None, rows) if isinstance(rows, str) else _near(results, place, rows[0])


def near_ar_joint(results: Results, place: Place) -> Finding:
    """The interval of BLEU(PaDIR T4, joint decoder) - BLEU(AR) lies above -1.5."""
    row = joint_row(results.config)
    scored = results.row(place, row)
    if row is None or scored is None:
        return Finding(None, f"{row.label if row else 'a joint decoder'} not scored")
    return _near(results, place, scored)


def near_ar_bleurt(results: Results, place: Place) -> Finding:
    """The interval of BLEURT(PaDIR T4) - BLEURT(AR) lies above -3 (the paper's widest: -2.98)."""
    config = results.config
    candidate, baseline = config.candidate(), config.baseline()
    scorers = config.evaluation.scorers.items()
    scorer = next((name for name, of in scorers if isinstance(of, BleurtScorer)), None)
    if scorer is None:
        return Finding(None, "evaluation.scorers has none of kind bleurt: add it first")
    if candidate is None or baseline is None:
        return Finding(None, "no PaDIR training or no baseline in the config")
    rows, estimates = [], []
    for row in (candidate, baseline):
        scored, rating = results.row(place, row), results.ratings.get((place, row, scorer))
        if scored is None or rating is None or rating.seeds < len(scored.seeds):
            return Finding(None, f"{row.label} not rated by {scorer}")
        if rating.estimate is None:
            return Finding(None, f"{row.label} not rated by {scorer}: {rating.reason}")
        if reason := too_bad(scored):
            return Finding(None, reason)
        rows.append(scored)
        estimates.append(rating.estimate)
    whole, rows = rows, _in_common(rows)
    estimates = [
        rated.of_seeds([row.seeds.index(seed) for seed in kept.seeds])
        for rated, row, kept in zip(estimates, whole, rows, strict=True)
    ]
    value, ends, over = _combined(rows, estimates, [1.0, -1.0])
    text = "; ".join(
        f"{row.row.label} {rating.text()}" for row, rating in zip(rows, estimates, strict=True)
    )
    text += f"; difference {value:.2f}{over}"
    return Finding(ends[0] > -NEAR_AR_BLEURT_MARGIN, text, ends, rows[0].seeds)


def one_pass(results: Results, place: Place) -> Finding:
    """The interval of BLEU(T1) - 0.8 BLEU(T4) lies above 0: one pass keeps four fifths."""
    rows = _passes_compared(results, place, 1, None)
    if isinstance(rows, str):
        return Finding(None, rows)
    value, ends, over = _bleu(rows, [1.0, -ONE_PASS_SHARE])
    text = "; ".join(f"{row.row.label} {row.bleu().text()}" for row in rows)
    last = f"T{rows[1].row.decoding.passes}"
    text += f"; T1 - 0.8 {last} = {value:.2f}{over}"
    return Finding(ends[0] > 0, text, ends, rows[0].seeds)


def saturation(results: Results, place: Place) -> Finding:
    """The interval of BLEU(T10) - BLEU(T4) lies within 0.5 of 0 (the paper's widest: 0.14)."""
    rows = _passes_compared(results, place, None, LAST_PASSES)
    if isinstance(rows, str):
        return Finding(None, rows)
    value, ends, over = _bleu(rows, [-1.0, 1.0])
    holds = max(abs(ends[0]), abs(ends[1])) < SATURATION_GAIN
    text = f"T10 - T{rows[0].row.decoding.passes} = {value:.2f} BLEU{over}"
    return Finding(holds, text, ends, rows[0].seeds)


def early_gain_larger(results: Results, place: Place) -> Finding:
    """The interval of (T4 - T1) - (T10 - T4), in BLEU, lies above 0."""
    rows = _passes_compared(results, place, 1, None, LAST_PASSES)
    if isinstance(rows, str):
        return Finding(None, rows)
    first, halfway, last = (row.bleu().value for row in rows)
    _, ends, over = _bleu(rows, [-1.0, 2.0, -1.0])
    middle = f"T{rows[1].row.decoding.passes}"
    text = (
        f"{middle} - T1 = {halfway - first:.2f}, T10 - {middle} = {last - halfway:.2f} BLEU{over}"
    )
    return Finding(ends[0] > 0, text, ends, rows[0].seeds)


def fewer_passes(results: Results, place: Place) -> Finding:
    """The interval of passes(AR) - 7 passes(PaDIR T4), means over sentences, lies above 0."""
    rows, baseline = _passes_compared(results, place, None), results.baseline(place)
    if isinstance(rows, str) or baseline is None:
        return Finding(None, rows if isinstance(rows, str) else "AR not scored")
    if reason := too_bad(baseline):
        return Finding(None, reason)
    rows = _in_common([baseline, rows[0]])
    theirs, ours = (row.measured("decoder_passes", "decoder_passes") for row in rows)
    if theirs is None or ours is None:
        return Finding(None, "decoder passes not counted")
    _, ends, over = _combined(rows, [theirs, ours], [1.0, -PASSES_RATIO])
    text = (
        f"{rows[0].row.label} {theirs.text()} / {rows[1].row.label} {ours.text()} passes ="
        f" {theirs.value / ours.value:.2f}{over}"
    )
    return Finding(ends[0] > 0, text, ends, rows[1].seeds)


def _faster(kind: str, point: str, threshold: float) -> Test:
    def test(results: Results, place: Place) -> Finding:
        candidate, search = results.config.candidate(), search_row(results.config, kind)
        ours = results.timed(place, "core", candidate)
        theirs = results.timed(place, "core", search)
        names = [
            candidate.label if candidate else "PaDIR",
            search.label if search else f"AR {kind}",
        ]
        if not ours or not theirs:
            return Finding(None, f"latency of {' or '.join(names)} not measured")
        for scored in (results.row(place, candidate), results.row(place, search)):
            if scored is not None and (reason := too_bad(scored)):
                return Finding(None, reason)
        slow, fast = theirs[f"{point}_ms"], ours[f"{point}_ms"]
        text = f"{names[1]} {slow:.2f} ms / {names[0]} {fast:.2f} ms = {slow / fast:.2f}"
        percent = int(point[1:])
        ends = percentile_ratio_interval(theirs["times_ms"], ours["times_ms"], percent)
        if ends is not None:
            return Finding(ends[0] > threshold, text, ends)
        # Below the threshold the lower end of any interval would be, too.
        if slow / fast <= threshold:
            return Finding(False, text)
        needed = 100 * FEWEST_BEYOND // (100 - percent)
        remedy = (
            f"to decide, set evaluation.latency_sentences to {needed:,} or more, with a test set of"
            " as many"
        )
        return Finding(None, f"{text} ({len(ours['times_ms']):,} sentences; {remedy})")

    test.__name__ = f"faster_than_{kind}_{point}"
    test.__doc__ = (
        f"Time of AR {kind} over time of PaDIR T4 at {point}, same run, batch size 1, is above"
        f" {threshold:g}: the lower end of its interval. With too few sentences for an interval a"
        " larger ratio decides nothing, a smaller one refutes the claim."
    )
    return test


faster_than_greedy_p50 = _faster("greedy", "p50", P50_RATIO)
faster_than_greedy_p99 = _faster("greedy", "p99", P99_RATIO)
faster_than_beam_p50 = _faster("beam", "p50", P50_RATIO)
faster_than_beam_p99 = _faster("beam", "p99", P99_RATIO)


def _stutter(results: Results, place: Place, before_drop: bool) -> Finding:
    rows, baseline = _rows(results, place, None), results.baseline(place)
    if isinstance(rows, str):
        return Finding(None, rows)
    row = rows[0]
    for translations in (row, baseline):
        if translations is not None and (reason := too_bad(translations)):
            return Finding(None, reason)
    if baseline is not None:
        row, baseline = _in_common([row, baseline])
    ours = row.stutter(before_drop)
    theirs = None if baseline is None else baseline.stutter(before_drop=False)
    if ours is None or theirs is None or baseline is None:
        return Finding(None, f"stutter of {row.row.label} or AR not measured")
    _, ends, over = _combined([row, baseline], [ours, theirs], [1.0, -STUTTER_RATIO])
    text = (
        f"{row.row.label} {ours.text()}, {baseline.row.label} {theirs.text()}"
        f" stutters per 100 words{over}"
    )
    return Finding(ends[0] > 0, text, ends, row.seeds)


def stutter_twice_final(results: Results, place: Place) -> Finding:
    """The interval of stutter(PaDIR T4, final text) - 2 stutter(AR) lies above 0."""
    return _stutter(results, place, before_drop=False)


def stutter_twice_before_drop(results: Results, place: Place) -> Finding:
    """The interval of stutter(PaDIR T4, before the final drop) - 2 stutter(AR) lies above 0."""
    return _stutter(results, place, before_drop=True)
