"""Progress of a long loop: a bar on a terminal, else a plain line every minute."""

import re
import sys
import time
from contextlib import suppress
from typing import Protocol, runtime_checkable

from tqdm import tqdm

PLAIN_SECONDS = 60.0


@runtime_checkable
class Stream(Protocol):
    """A text stream that progress is written to."""

    def write(self, text: str, /) -> object: ...
    def flush(self) -> object: ...
    def isatty(self) -> bool: ...


class Progress:
    """Report a loop's progress to stderr, with rate and remaining time.

    Use as a context manager, or call `close` at the end.

    Args:
        total: units in the whole loop, at least 1.
        unit: unit of the count, such as "steps".
        label: name of the loop, such as "train padir_raw".
        start: units done before a resumed loop; they do not count for the rate.
        stream: where to write; stderr by default.
    """

    def __init__(
        self, total: int, unit: str, label: str, start: int = 0, stream: Stream | None = None
    ):
        self.total, self.unit, self.label = total, unit, label
        self.done = self.start = start
        self.stream: Stream = sys.stderr if stream is None else stream
        self.began = self.shown = time.monotonic()
        # Time and count from which the next line's rate is taken: first those after the first
        # update, as what comes before it is mostly compilation, then those of the line before.
        self._since: tuple[float, int] | None = None
        self.fields: dict[str, object] = {}
        self._bar = None
        if self.stream.isatty():
            self._bar = tqdm(
                total=total, desc=label, unit=f" {unit}", initial=start, file=self.stream,
                dynamic_ncols=True, leave=False,
            )  # fmt: skip

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(self, n: int = 1, **fields: object) -> None:
        """Count `n` more units; `fields` (loss, tokens/s ...) replace those shown before."""
        self.done += n
        self.fields.update(fields)
        # A lost terminal or a full disk under the log must not end the work.
        with suppress(OSError):
            self._show(n)

    def _show(self, n: int) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(", ".join(self._field_texts()), refresh=False)
            self._bar.update(n)
            return
        now = time.monotonic()
        self._since = self._since or (now, self.done)
        if now - self.shown >= PLAIN_SECONDS:
            line, self.shown, self._since = self.line(now), now, (now, self.done)
            print(line, file=self.stream, flush=True)

    def line(self, now: float) -> str:
        """The plain line at the time `now` (seconds of the monotonic clock)."""
        time_then, done_then = self._since or (self.began, self.start)
        seconds, done = now - time_then, self.done - done_then
        rate = done / seconds if seconds > 0 else 0.0
        parts = [f"{self.label}: {self.done}/{self.total} {self.unit}"]
        if rate > 0:
            remaining = max(self.total - self.done, 0) / rate
            parts += [f"{rate:.3g} {self.unit}/s", f"{clock(remaining)} left"]
        return ", ".join([*parts, *self._field_texts()])

    def close(self) -> None:
        """Write the last line: units done and the time that they took."""
        seconds = clock(time.monotonic() - self.began)
        counted = f"{self.label}: {self.done}/{self.total} {self.unit} in {seconds}"
        with suppress(OSError):
            if self._bar is not None:
                self._bar.close()
            print(", ".join([counted, *self._field_texts()]), file=self.stream, flush=True)

    def _field_texts(self) -> list[str]:
        return [
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in self.fields.items()
        ]


def clock(seconds: float) -> str:
    """Hours, minutes and seconds, such as 1:02:03 or 02:03."""
    return tqdm.format_interval(round(seconds))


def find_progress(line: str) -> str:
    """Count, rate and remaining time in a plain line of `Progress`; "" for another line."""
    progress = re.search(r"\d+/\d+ \w+, \S+ \w+/s, [\d:]+ left", line)
    return progress[0] if progress else ""


def clock_seconds(progress: str) -> float | None:
    """Seconds left by what `find_progress` found; None for ""."""
    left = re.search(r"([\d:]+) left", progress)
    if left is None:
        return None
    return float(sum(int(n) * 60**i for i, n in enumerate(reversed(left[1].split(":")))))
