"""The tests that decide the translation claims: results in, a finding out. What a part of PaDIR
does is decided in `ablations`.

Every threshold stands here, in the test that uses it. Intervals are 95%, paired bootstrap over
sentences, of the mean over seeds; "one-sided" means that the end of such an interval must lie on
the claimed side.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from padir.report.results import Group, Results, Row
from padir.report.selection import candidate
from padir.report.translation import baseline_row, estimate_text, latency_row
from padir.score.significance import interval, percentile_ratio_interval

NEAR_AR_MARGIN = 1.5
ONE_PASS_SHARE = 0.8
SATURATION_GAIN = 0.5
P50_RATIO = 2.0
P99_RATIO = 5.0
STUTTER_RATIO = 2.0
QUALITY_DECODING = "T4"
LAST_DECODING = "T10"


@dataclass(frozen=True)
class Finding:
    """What a test found on one test set.

    Attributes:
        holds: whether the claim passed; None where a result that it needs is not there.
        measured: the numbers, or what is missing.
        interval: of the tested quantity; None where there is none.
        seeds: training seeds behind the numbers.
    """

    holds: bool | None
    measured: str
    interval: tuple[float, float] | None = None
    seeds: tuple[int, ...] = ()


Test = Callable[[Results, Group], Finding]


def _rows(results: Results, group: Group, *decodings: str) -> list[Row] | str:
    """The candidate's rows, or what is missing."""
    model = candidate(results.config)
    if model is None:
        return "no PaDIR model in the config"
    found = [results.row(group, model, decoding) for decoding in decodings]
    rows = [row for row in found if row is not None]
    lacking = [name for name, row in zip(decodings, found, strict=True) if row is None]
    return f"{model} {', '.join(lacking)} not scored" if lacking else rows


def _combined(rows: list[Row], weights: list[float]) -> tuple[float, tuple[float, float]]:
    """Weighted sum of the rows' BLEU, and its paired interval."""
    parts = [row.bleu() for row in rows]
    value = sum(w * part.value for w, part in zip(weights, parts, strict=True))
    stack = np.array([part.replicates for part in parts])
    return value, interval(np.array(weights) @ stack)


def near_ar(results: Results, group: Group) -> Finding:
    """The interval of BLEU(PaDIR T4) - BLEU(AR) lies above -1.5 (the paper's widest: -1.35)."""
    rows, base = _rows(results, group, QUALITY_DECODING), baseline_row(results, group)
    if isinstance(rows, str):
        return Finding(None, rows)
    if base is None:
        return Finding(None, f"{results.config.evaluation.baseline} not scored")
    value, ends = _combined([rows[0], base], [1.0, -1.0])
    text = (
        f"{rows[0].label} {estimate_text(rows[0].bleu())}, {base.label}"
        f" {estimate_text(base.bleu())}, difference {value:.2f}"
    )
    return Finding(ends[0] > -NEAR_AR_MARGIN, text, ends, rows[0].seeds)


def one_pass(results: Results, group: Group) -> Finding:
    """The interval of BLEU(T1) - 0.8 BLEU(T4) lies above 0: one pass keeps four fifths."""
    rows = _rows(results, group, "T1", QUALITY_DECODING)
    if isinstance(rows, str):
        return Finding(None, rows)
    value, ends = _combined(rows, [1.0, -ONE_PASS_SHARE])
    text = "; ".join(f"{row.label} {estimate_text(row.bleu())}" for row in rows)
    return Finding(ends[0] > 0, f"{text}; T1 - 0.8 T4 = {value:.2f}", ends, rows[0].seeds)


def saturation(results: Results, group: Group) -> Finding:
    """The interval of BLEU(T10) - BLEU(T4) lies within 0.5 of 0 (the paper's widest: 0.14)."""
    rows = _rows(results, group, LAST_DECODING, QUALITY_DECODING)
    if isinstance(rows, str):
        return Finding(None, rows)
    value, ends = _combined(rows, [1.0, -1.0])
    holds = max(abs(ends[0]), abs(ends[1])) < SATURATION_GAIN
    return Finding(holds, f"T10 - T4 = {value:.2f} BLEU", ends, rows[0].seeds)


def early_gain_larger(results: Results, group: Group) -> Finding:
    """The interval of (T4 - T1) - (T10 - T4), in BLEU, lies above 0."""
    rows = _rows(results, group, "T1", QUALITY_DECODING, LAST_DECODING)
    if isinstance(rows, str):
        return Finding(None, rows)
    one, four, ten = (row.bleu().value for row in rows)
    _, ends = _combined(rows, [-1.0, 2.0, -1.0])
    text = f"T4 - T1 = {four - one:.2f}, T10 - T4 = {ten - four:.2f} BLEU"
    return Finding(ends[0] > 0, text, ends, rows[0].seeds)


def _faster(decoding: str, point: str, threshold: float) -> Test:
    def test(results: Results, group: Group) -> Finding:
        model, base = candidate(results.config), results.config.evaluation.baseline
        ours = model and latency_row(results.latency, group, model, QUALITY_DECODING)
        theirs = latency_row(results.latency, group, base, decoding)
        if not ours or not theirs:
            return Finding(None, f"latency of {model} T4 or {base} {decoding} not measured")
        ratio = theirs[f"{point}_ms"] / ours[f"{point}_ms"]
        text = (
            f"{base} {decoding} {theirs[f'{point}_ms']:.2f} ms / {model} T4"
            f" {ours[f'{point}_ms']:.2f} ms = {ratio:.2f}"
        )
        ends = None
        if "times_ms" in ours and "times_ms" in theirs:
            ends = percentile_ratio_interval(theirs["times_ms"], ours["times_ms"], int(point[1:]))
        return Finding((ratio if ends is None else ends[0]) > threshold, text, ends)

    test.__name__ = f"faster_than_{decoding}_{point}"
    test.__doc__ = (
        f"Time of AR {decoding} over time of PaDIR T4 at {point}, same run, batch size 1, is above"
        f" {threshold:g}; by its interval's lower end where single times were kept."
    )
    return test


faster_than_greedy_p50 = _faster("greedy", "p50", P50_RATIO)
faster_than_greedy_p99 = _faster("greedy", "p99", P99_RATIO)
faster_than_beam_p50 = _faster("beam", "p50", P50_RATIO)
faster_than_beam_p99 = _faster("beam", "p99", P99_RATIO)


def _stutter(results: Results, group: Group, before_drop: bool) -> Finding:
    rows, base = _rows(results, group, QUALITY_DECODING), baseline_row(results, group)
    if isinstance(rows, str):
        return Finding(None, rows)
    ours = rows[0].stutter(before_drop)
    theirs = None if base is None else base.stutter(before_drop=False)
    if ours is None or theirs is None or base is None:
        return Finding(None, "stutter of PaDIR T4 or AR not measured")
    ends = interval(ours.replicates - STUTTER_RATIO * theirs.replicates)
    text = (
        f"{rows[0].label} {estimate_text(ours)}, {base.label} {estimate_text(theirs)}"
        " stutters per 100 words"
    )
    return Finding(ends[0] > 0, text, ends, rows[0].seeds)


def stutter_twice_final(results: Results, group: Group) -> Finding:
    """The interval of stutter(PaDIR T4, final text) - 2 stutter(AR) lies above 0."""
    return _stutter(results, group, before_drop=False)


def stutter_twice_before_drop(results: Results, group: Group) -> Finding:
    """The interval of stutter(PaDIR T4, before the final drop) - 2 stutter(AR) lies above 0."""
    return _stutter(results, group, before_drop=True)
