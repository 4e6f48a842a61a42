"""Latency rows from known timings."""

from types import SimpleNamespace
from typing import ClassVar

import pytest

from padir.config.rows import Decoding
from padir.decode import latency
from padir.decode.translate import Hypothesis, Translator


class FakeTranslator(Translator):
    """Takes as many milliseconds as the line says, on a clock of its own."""

    def __init__(self, clock, factor):
        self.decoding = Decoding("padir", 4)
        self.clock, self.factor, self.order = clock, factor, []

    labels: ClassVar = {"training": "a", "decoder": "padir", "passes": 4}
    digests: ClassVar = {"training": "d"}

    def translate(self, lines, name, report=None):
        self.clock.now += self.factor * float(lines[0]) / 1000
        self.clock.order.append(self.factor)
        return [Hypothesis("x", "x", (8, 9), (8, 9), 3, 0.0, 3, 5)]


def test_quantiles_and_means_of_known_times_are_those_by_hand(monkeypatch):
    clock = SimpleNamespace(now=0.0, order=[])
    monkeypatch.setattr(latency, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    lines = [str(n) for n in range(1, 101)]
    timed = [latency.TimedRow(FakeTranslator(clock, f)) for f in (1, 2)]
    finished = []
    rows = latency.measure(timed, lines, 3, finished.append)
    assert sum(finished) == 200
    assert rows[0].items() >= {**FakeTranslator.labels, "digests": FakeTranslator.digests}.items()
    assert rows[0]["p50_ms"] == pytest.approx(50.5)
    assert rows[0]["p90_ms"] == pytest.approx(90.1)
    assert rows[1]["p99_ms"] == pytest.approx(2 * 99.01)
    assert rows[1]["mean_ms"] == pytest.approx(101)
    assert (rows[0]["passes_mean"], rows[0]["tokens_mean"], rows[0]["candidates"]) == (3, 2, 5)
    # Interleaved: models alternate within each sentence, after the warm-up.
    assert clock.order[:6] == [1, 2, 1, 2, 1, 2]
    assert clock.order[200:212] == [1, 1, 1, 2, 2, 2] * 2


def test_rows_that_share_programs_are_warmed_up_once():
    clock = SimpleNamespace(now=0.0, order=[])
    timed = [latency.TimedRow(FakeTranslator(clock, f), f == 2) for f in (1, 2)]
    rows = latency.measure(timed, ["1", "2"], 1)
    assert clock.order == [1, 1, 1, 2, 1, 2]
    assert [row["passes_mean"] for row in rows] == [3, 3]


def test_one_slow_repeat_does_not_count():
    timed = latency.TimedRow(FakeTranslator(None, 1))
    timed.seconds = [[0.001, 0.5, 0.001]]
    timed.results = [Hypothesis("x", "x", (8,), (8,), 2, 0.0, 2, 1)]
    assert timed.row()["p99_ms"] == pytest.approx(1.0)


def test_compilations_are_counted():
    import jax

    clock = latency.CompileClock()
    jax.jit(lambda x: x * 3.0 + 17.0)(2.0).block_until_ready()
    assert clock.count >= 1
    assert clock.seconds > 0


def test_what_else_takes_time_is_no_compilation():
    import jax

    clock = latency.CompileClock()
    jax.monitoring.record_event_duration_secs("/jax/core/compile/jaxpr_trace_duration", 5.0)
    assert (clock.count, clock.seconds) == (0, 0.0)
    jax.monitoring.record_event_duration_secs(latency.COMPILE_EVENT, 5.0)
    assert (clock.count, clock.seconds) == (1, 5.0)


def test_each_row_has_its_own_compilations_and_the_lines_their_times_in_order(monkeypatch):
    compiled, clock = SimpleNamespace(seconds=0.0, count=0), SimpleNamespace(now=0.0, order=[])
    monkeypatch.setattr(latency, "CompileClock", lambda: compiled)
    monkeypatch.setattr(latency, "time", SimpleNamespace(perf_counter=lambda: clock.now))

    class Compiling(FakeTranslator):
        def translate(self, lines, name, report=None):
            compiled.seconds += self.factor
            compiled.count += 1
            return super().translate(lines, name, report)

    rows = latency.measure([latency.TimedRow(Compiling(clock, f)) for f in (1, 2)], ["3", "1"], 4)
    assert [row["compile_s"] for row in rows] == [2.0, 4.0]
    assert [row["recompiled"] for row in rows] == [8, 8]
    assert [row["times_ms"] for row in rows] == [[3.0, 1.0], [6.0, 2.0]]


def test_peak_is_the_best_rate(monkeypatch):
    ticks = iter([0.0, 3.0, 10.0, 12.0, 20.0, 20.5, 30.0, 34.0, 40.0, 45.0])
    monkeypatch.setattr(latency, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    monkeypatch.setattr(latency, "PEAK_SIZE", 100)
    # Two million operations in half a second.
    assert latency.matmul_peak() == pytest.approx(0.004)
