"""How far a long loop is: one rewritten line on a terminal, a plain line a minute elsewhere."""

import sys
import time
from typing import Protocol, runtime_checkable


@runtime_checkable
class Stream(Protocol):
    """What progress is written to."""

    def write(self, text: str, /) -> object: ...
    def flush(self) -> object: ...
    def isatty(self) -> bool: ...


class Progress:
    """Report a loop's progress to stderr, with rate and remaining time.

    Use as a context manager, or call `close` at the end.

    Args:
        total: units in the whole loop, at least 1.
        unit: what is counted, such as "steps".
        label: what runs, such as "train padir_raw".
        start: units already done when a loop is resumed; they do not count for the rate.
        stream: where to write; stderr by default.
    """

    PLAIN_SECONDS = 60.0
    TERMINAL_SECONDS = 0.5

    def __init__(
        self, total: int, unit: str, label: str, start: int = 0, stream: Stream | None = None
    ):
        self.total, self.unit, self.label = total, unit, label
        self.done = self.start = start
        self.stream: Stream = sys.stderr if stream is None else stream
        self.terminal = self.stream.isatty()
        self.began = self.shown = time.monotonic()
        self.fields: dict[str, object] = {}
        self._width = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(self, n: int = 1, **fields: object) -> None:
        """Count `n` more units; `fields` (loss, tokens/s ...) replace those shown before."""
        self.done += n
        self.fields.update(fields)
        now = time.monotonic()
        wait = self.TERMINAL_SECONDS if self.terminal else self.PLAIN_SECONDS
        if now - self.shown >= wait:
            self.shown = now
            self._write(self.line(now))

    def line(self, now: float) -> str:
        """The line to show at the time `now` (seconds of the monotonic clock)."""
        seconds = now - self.began
        rate = (self.done - self.start) / seconds if seconds > 0 else 0.0
        parts = [f"{self.label}: {self.done}/{self.total} {self.unit}"]
        if rate > 0:
            remaining = max(self.total - self.done, 0) / rate
            parts += [f"{rate:.3g} {self.unit}/s", f"{_clock(remaining)} left"]
        parts += [f"{key} {_short(value)}" for key, value in self.fields.items()]
        return ", ".join(parts)

    def close(self) -> None:
        """Write the last line: what was done in which time."""
        seconds = time.monotonic() - self.began
        counted = f"{self.label}: {self.done}/{self.total} {self.unit} in {_clock(seconds)}"
        extra = [f"{key} {_short(value)}" for key, value in self.fields.items()]
        self._write(", ".join([counted, *extra]))
        if self.terminal:
            print(file=self.stream, flush=True)

    def _write(self, text: str) -> None:
        if self.terminal:
            padded = text.ljust(self._width)
            self._width = len(text)
            print(f"\r{padded}", end="", file=self.stream, flush=True)
        else:
            print(text, file=self.stream, flush=True)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _clock(seconds: float) -> str:
    """Hours, minutes and seconds, such as 1:02:03 or 02:03."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
