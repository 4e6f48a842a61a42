"""Progress lines: rate, remaining time, and no flood of them."""

import io

import pytest

from padir import progress
from padir.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests set by hand, in seconds."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(progress.time, "monotonic", lambda: Clock.now)
    return Clock


def test_a_plain_stream_gets_a_line_a_minute_and_a_last_one(clock):
    stream = io.StringIO()
    with Progress(1000, "steps", "train ar", stream=stream) as bar:
        for _ in range(300):
            clock.now += 1
            bar.update(2, loss=0.123456)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 5 + 1
    assert lines[0] == "train ar: 120/1000 steps, 2 steps/s, 07:20 left, loss 0.1235"
    assert lines[-1] == "train ar: 600/1000 steps in 05:00, loss 0.1235"


def test_steps_done_before_a_restart_do_not_count_for_the_rate(clock):
    bar = Progress(100, "steps", "train", start=90, stream=io.StringIO())
    clock.now += 10
    bar.done += 5
    assert bar.line(clock.now) == "train: 95/100 steps, 0.5 steps/s, 00:10 left"


def test_a_terminal_gets_one_rewritten_line(clock):
    stream = Terminal()
    with Progress(10, "lines", "decode", stream=stream) as bar:
        for _ in range(10):
            clock.now += 1
            bar.update()
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert text.count("\r") == 11
    shown = text.rstrip("\n").split("\r")[1:]
    widths = [len(line) for line in shown]
    assert widths == sorted(widths), "a shorter line is padded over the longer one before"


def test_hours_are_shown(clock):
    bar = Progress(7200, "steps", "train", stream=io.StringIO())
    clock.now += 1
    bar.done += 1
    assert bar.line(clock.now).endswith("1:59:59 left")
