"""Latency rows from known timings."""

from types import SimpleNamespace

import pytest

from padir.analysis import speed
from padir.decode.load import Decoding
from padir.decode.translate import Hypothesis, Translator


class FakeTranslator(Translator):
    """Takes as many milliseconds as the line says, on a clock of its own."""

    def __init__(self, clock, factor):
        self.decoding = Decoding("T4", 4)
        self.clock, self.factor, self.order = clock, factor, []

    def translate(self, lines, name, report=None):
        self.clock.now += self.factor * float(lines[0]) / 1000
        self.clock.order.append(self.factor)
        return [Hypothesis("x", "x", (8, 9), (8, 9), 3, 0.0, 3, 5)]


def test_rows_from_known_times(monkeypatch):
    clock = SimpleNamespace(now=0.0, order=[])
    monkeypatch.setattr(speed, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    lines = [str(n) for n in range(1, 101)]
    timed = [speed.Timed(name, FakeTranslator(clock, f)) for name, f in (("a", 1), ("b", 2))]
    finished = []
    rows = speed.measure(timed, lines, 3, finished.append)
    assert sum(finished) == 200
    assert rows[0]["p50_ms"] == pytest.approx(50.5)
    assert rows[0]["p90_ms"] == pytest.approx(90.1)
    assert rows[1]["p99_ms"] == pytest.approx(2 * 99.01)
    assert rows[1]["mean_ms"] == pytest.approx(101)
    assert (rows[0]["passes_mean"], rows[0]["tokens_mean"], rows[0]["candidates"]) == (3, 2, 5)
    # Interleaved: models alternate within each sentence, after the warm-up.
    assert clock.order[:6] == [1, 2, 1, 2, 1, 2]
    assert clock.order[200:212] == [1, 1, 1, 2, 2, 2] * 2


def test_what_shares_programs_is_not_warmed_up_again():
    clock = SimpleNamespace(now=0.0, order=[])
    timed = [speed.Timed("a", FakeTranslator(clock, f), f == 2) for f in (1, 2)]
    rows = speed.measure(timed, ["1", "2"], 1)
    assert clock.order == [1, 1, 1, 2, 1, 2]
    assert [row["passes_mean"] for row in rows] == [3, 3]


def test_one_slow_repeat_does_not_count():
    timed = speed.Timed("a", FakeTranslator(None, 1))
    timed.seconds = [[0.001, 0.5, 0.001]]
    timed.results = [Hypothesis("x", "x", (8,), (8,), 2, 0.0, 2, 1)]
    assert timed.row()["p99_ms"] == pytest.approx(1.0)


def test_compilations_are_counted():
    import jax

    clock = speed.CompileClock()
    jax.jit(lambda x: x * 3.0 + 17.0)(2.0).block_until_ready()
    assert clock.count >= 1
    assert clock.seconds > 0


def test_peak_is_a_rate():
    assert speed.matmul_peak() > 0.1
