"""Steps of training that kills cost: those that a run had done and the next one does again."""

import mmap
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

REACHED, RESUMED, REDONE, MOST, INTERVAL = range(5)
NOWHERE = -1


@dataclass(frozen=True)
class Redone:
    """Steps done again by trainings that were killed at work.

    Attributes:
        resumed: starts after such a kill.
        redone: steps done again, by all of them.
        most: of these, by one start.
        interval: steps from one checkpoint to the next.
    """

    resumed: int = 0
    redone: int = 0
    most: int = 0
    interval: int = 0


class Steps:
    """Steps of trainings in forks of this process, counted in memory that they share."""

    def __init__(self) -> None:
        self._counts = np.frombuffer(mmap.mmap(-1, 5 * 8), np.int64)
        self.forget()

    def forget(self) -> None:
        """What starts next resumes nothing."""
        self._counts[REACHED] = NOWHERE

    def start(self, step: int, interval: int) -> None:
        """A training starts after a step that was saved."""
        counts = self._counts
        if counts[REACHED] != NOWHERE:
            redone = counts[REACHED] - step
            counts[RESUMED] += 1
            counts[REDONE] += redone
            counts[MOST] = max(counts[MOST], redone)
        counts[REACHED], counts[INTERVAL] = step, interval

    def reach(self, step: int) -> None:
        """A training has done a step."""
        self._counts[REACHED] = step

    def take(self) -> Redone:
        """The counts since the last call."""
        redone = Redone(*map(int, self._counts[RESUMED:]))
        self._counts[RESUMED:] = 0
        return redone


def watch(steps: Steps) -> Callable[[], None]:
    """Count the steps of every training of this process and its forks, until the result is called.

    Of several processes that train together the first one counts.
    """
    from padir.training import loop

    class Watched(loop.Report):
        def __init__(self, spec, work, step):
            super().__init__(spec, work, step)
            self._first = work.first
            if work.first:
                steps.start(step, spec.run.training.checkpoint_every)

        def add(self, step, *rest):
            super().add(step, *rest)
            if self._first:
                steps.reach(step)

        def __exit__(self, kind, *rest):
            super().__exit__(kind, *rest)
            # The last step was saved: a kill costs nothing any more.
            if self._first and kind is None:
                steps.forget()

    report, loop.Report = loop.Report, Watched
    return lambda: setattr(loop, "Report", report)
