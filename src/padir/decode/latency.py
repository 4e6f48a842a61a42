"""Latency of whole translations at batch 1, from text to text. Paper: 3.3, Speed.

All rows run in one process. Each sentence is translated by every row in turn before the next
sentence, so that the machine's noise affects all alike. Shapes are compiled beforehand and counted
apart; so is the machine's peak, by a matrix product.
"""

import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from padir.decode.translate import Hypothesis, Translator

COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"
PEAK_SIZE, PEAK_REPEATS = 2048, 5


class CompileClock:
    """Seconds that XLA has spent compiling, and how often, since this object was made."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.count = 0
        jax.monitoring.register_event_duration_secs_listener(self._add)

    def _add(self, event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == COMPILE_EVENT:
            self.seconds += duration_secs
            self.count += 1


@dataclass
class TimedRow:
    """One training with one decoder and number of passes, and its timings.

    Attributes:
        translator: translates one line at a time.
        shares_programs: whether an earlier row has compiled the programs, as one that differs in
            passes alone has.
        seconds: [sentences][repeats] wall time.
        compile_seconds: of all shapes that the sentences need.
        recompiled: programs compiled during the timed part; 0 unless something is wrong.
        results: the hypotheses.
    """

    translator: Translator
    shares_programs: bool = False
    seconds: list[list[float]] = field(default_factory=list)
    compile_seconds: float = 0.0
    recompiled: int = 0
    results: list[Hypothesis] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """The row of latency.json; a sentence counts with the median of its repeats."""
        milliseconds = 1e3 * np.median(np.array(self.seconds), axis=1)
        p50, p90, p99 = np.percentile(milliseconds, [50, 90, 99])
        labels = self.translator.labels
        return {
            **{key: labels[key] for key in ("training", "decoder", "passes")},
            "digests": self.translator.digests,
            "p50_ms": float(p50),
            "p90_ms": float(p90),
            "p99_ms": float(p99),
            "mean_ms": float(milliseconds.mean()),
            "passes_mean": float(np.mean([result.steps for result in self.results])),
            "tokens_mean": float(np.mean([len(result.tokens) for result in self.results])),
            "candidates": max((result.candidates for result in self.results), default=0),
            "compile_s": self.compile_seconds,
            "recompiled": self.recompiled,
            "times_ms": [round(float(time), 4) for time in milliseconds],
        }


def measure(
    rows: Sequence[TimedRow],
    lines: Sequence[str],
    repeats: int,
    report: Callable[[int], None] | None = None,
) -> list[dict[str, Any]]:
    """Time every row on every line.

    Args:
        rows: what is timed.
        lines: sources, none too long for a model.
        repeats: timings per line and row.
        report: called with the number of lines just finished, of twice as many as there are.

    Returns:
        the rows of latency.json.
    """
    clock = CompileClock()
    for line in lines:
        for row in rows:
            if not row.shares_programs:
                before = clock.seconds
                row.translator.translate([line], "source")
                row.compile_seconds += clock.seconds - before
        if report:
            report(1)
    for line in lines:
        for row in rows:
            compiled = clock.count
            seconds, result = [], []
            for _ in range(repeats):
                start = time.perf_counter()
                # Text comes back from the host, so all device work is over.
                result = row.translator.translate([line], "source")
                seconds.append(time.perf_counter() - start)
            row.seconds.append(seconds)
            row.results += result
            row.recompiled += clock.count - compiled
        if report:
            report(1)
    return [row.row() for row in rows]


def matmul_peak() -> float:
    """Best rate of a float32 matrix product on the first device, in GFLOP/s."""
    matrix = jnp.ones((PEAK_SIZE, PEAK_SIZE), jnp.float32)
    product = jax.jit(jnp.matmul)
    product(matrix, matrix).block_until_ready()
    best = float("inf")
    for _ in range(PEAK_REPEATS):
        start = time.perf_counter()
        product(matrix, matrix).block_until_ready()
        best = min(best, time.perf_counter() - start)
    return 2 * PEAK_SIZE**3 / best / 1e9


def machine(threads: int | None) -> dict[str, Any]:
    """The machine that was timed, for the table's note."""
    return {
        "device": jax.devices()[0].device_kind,
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "threads": threads if threads is not None else "all",
        "load_average": round(os.getloadavg()[0], 2),
        "matmul_gflops": round(matmul_peak(), 1),
        "jax": jax.__version__,
        "python": platform.python_version(),
    }


def processor_name() -> str:
    """The processor's model where the system names it, else its architecture."""
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
