"""Progress lines: rate, remaining time, and no flood of them."""

import io

import pytest

from padir import progress
from padir.progress import Progress, clock_seconds, find_progress


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


def test_compilation_before_the_first_step_does_not_count_for_the_rate(clock):
    stream = io.StringIO()
    with Progress(1000, "steps", "train ar", stream=stream) as bar:
        clock.now += 50
        bar.update(8)
        for _ in range(70):
            clock.now += 1
            bar.update(2)
    first, second = stream.getvalue().splitlines()[:2]
    assert first == "train ar: 28/1000 steps, 2 steps/s, 08:06 left"
    assert second == "train ar: 148/1000 steps, 2 steps/s, 07:06 left"


def test_the_rate_is_that_of_the_last_minute(clock):
    stream = io.StringIO()
    with Progress(1000, "steps", "train ar", stream=stream) as bar:
        for rate in (1, 5):
            for _ in range(60):
                clock.now += 1
                bar.update(rate)
    assert "5 steps/s" in stream.getvalue().splitlines()[1]


def test_a_first_step_alone_gives_no_rate(clock):
    stream = io.StringIO()
    with Progress(1000, "steps", "train ar", stream=stream) as bar:
        clock.now += 90
        bar.update(8)
    assert stream.getvalue().splitlines()[0] == "train ar: 8/1000 steps"


def test_steps_done_before_a_restart_do_not_count_for_the_rate(clock):
    bar = Progress(100, "steps", "train", start=90, stream=io.StringIO())
    clock.now += 10
    bar.done += 5
    assert bar.line(clock.now) == "train: 95/100 steps, 0.5 steps/s, 00:10 left"


def test_a_terminal_gets_one_rewritten_bar_and_the_last_line(clock):
    stream = Terminal()
    with Progress(10, "lines", "decode", start=2, stream=stream) as bar:
        bar._bar.mininterval = 0
        for done in range(3, 11):
            clock.now += 1
            bar.update(loss=1 / done)
    text = stream.getvalue()
    assert text.count("\n") == 1
    bars = text.split("\r")
    assert "2/10" in bars[1] and "decode" in bars[1]
    assert any("8/10" in shown and "loss 0.125" in shown and " lines/s" in shown for shown in bars)
    # The bar is wiped before the last line.
    assert not bars[-2].strip()
    assert bars[-1] == "decode: 10/10 lines in 00:08, loss 0.1\n"


def test_hours_are_shown(clock):
    bar = Progress(7200, "steps", "train", stream=io.StringIO())
    clock.now += 1
    bar.done += 1
    assert bar.line(clock.now).endswith("1:59:59 left")


def test_a_plain_line_is_read_back():
    bar = Progress(1000, "steps", "train ar", stream=io.StringIO())
    bar.done, bar.began = 200, 0.0
    said = find_progress(bar.line(100.0))
    assert said == "200/1000 steps, 2 steps/s, 06:40 left"
    assert clock_seconds(said) == 400
    assert clock_seconds("1:02:03 left") == 3723
    assert clock_seconds(find_progress("train ar: 1000/1000 steps in 08:20")) is None
