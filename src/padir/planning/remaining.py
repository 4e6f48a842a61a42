"""Estimate of the time that a run still needs, from its finished and running jobs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

ESTIMATE_SHARE = 0.9
"""Least share of unfinished jobs with a known time for an estimate."""
LOWER_BOUND_SHARE = 0.5
"""The same for a lower bound."""


@dataclass(frozen=True)
class RunningJob:
    """A running job.

    Attributes:
        rule: its rule.
        seconds: since it began.
        left: seconds, by its own progress; None where it does not say.
    """

    rule: str
    seconds: float
    left: float | None


def time_left(
    jobs: Mapping[str, int],
    ended: Mapping[str, Sequence[float]],
    running: Sequence[RunningJob],
    wall: float,
) -> str:
    """Remaining time in words: "about 12 min left", "at least 12 min left" or "estimating".

    A job to come takes the mean of its rule's jobs. As many run at once as have so far on average,
    at least one.

    Args:
        jobs: of each rule, in all.
        ended: seconds of each job that has ended, by rule.
        running: the running jobs.
        wall: seconds since the run began.
    """
    times = {rule: list(seconds) for rule, seconds in ended.items()}
    for job in running:
        if job.left is not None:
            times.setdefault(job.rule, []).append(job.seconds + job.left)
    mean = {rule: fmean(seconds) for rule, seconds in times.items() if seconds}
    at_present = Counter(job.rule for job in running)
    to_come = {r: max(n - len(ended.get(r, ())) - at_present[r], 0) for r, n in jobs.items()}
    of_running = [_left(job, mean) for job in running]
    timed = sum(n for rule, n in to_come.items() if rule in mean)
    timed += sum(left is not None for left in of_running)
    unfinished = sum(to_come.values()) + len(running)
    if not timed or timed < LOWER_BOUND_SHARE * unfinished:
        return "estimating"
    known = [left for left in of_running if left is not None]
    work = sum(known) + sum(n * mean[rule] for rule, n in to_come.items() if rule in mean)
    busy = sum(map(sum, ended.values())) + sum(job.seconds for job in running)
    at_once = max(busy / wall, 1.0) if wall else 1.0
    seconds = max([work / at_once, *known, 1.0])
    qualifier = "about" if timed >= ESTIMATE_SHARE * unfinished else "at least"
    return f"{qualifier} {in_words(seconds)} left"


def _left(job: RunningJob, mean: Mapping[str, float]) -> float | None:
    if job.left is not None:
        return job.left
    return max(mean[job.rule] - job.seconds, 0.0) if job.rule in mean else None


def in_words(seconds: float) -> str:
    """A duration for people: 12 s, 12 min, 1 h 12 min."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
