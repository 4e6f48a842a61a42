"""Latency of whole translations at batch 1, from text to text. Paper: 3.3, Speed.

All models and decodings run in one process. Each sentence is translated by every one of them in
turn before the next sentence, so that the machine's own noise falls on all alike. Shapes are
compiled beforehand and counted apart; so is the machine's peak, by a matrix product.
"""

import os
import platform
import time
from collections.abc import Callable, Sequence
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
class Timed:
    """One model with one decoding, and what was measured of it.

    Attributes:
        model: name.
        translator: translates one line at a time.
        shares_programs: whether an earlier one of the list has compiled what this one needs, as
            that of another number of passes.
        seconds: [sentences][repeats] wall time.
        compile_seconds: of all shapes that the sentences need.
        recompiled: programs compiled during the timed part; 0 unless something is wrong.
        results: the hypotheses.
    """

    model: str
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
        decoding = self.translator.decoding
        candidates = max((one.candidates for one in self.results), default=0)
        return {
            "model": self.model,
            "decoding": decoding.name,
            "p50_ms": float(p50),
            "p90_ms": float(p90),
            "p99_ms": float(p99),
            "mean_ms": float(milliseconds.mean()),
            "passes_mean": float(np.mean([one.steps for one in self.results])),
            "tokens_mean": float(np.mean([len(one.tokens) for one in self.results])),
            "candidates": candidates,
            "compile_s": self.compile_seconds,
            "recompiled": self.recompiled,
            "times_ms": [round(float(time), 4) for time in milliseconds],
        }


def measure(
    timed: Sequence[Timed],
    lines: Sequence[str],
    repeats: int,
    report: Callable[[int], None] | None = None,
) -> list[dict[str, Any]]:
    """Time every translator on every line.

    Args:
        timed: translators under their models' names.
        lines: sources, none too long for a model.
        repeats: timings per line and translator.
        report: called with the number of lines just finished, of twice as many as there are.

    Returns:
        one row per translator.
    """
    clock = CompileClock()
    for line in lines:
        for one in timed:
            if not one.shares_programs:
                before = clock.seconds
                one.translator.translate([line], "source")
                one.compile_seconds += clock.seconds - before
        if report:
            report(1)
    for line in lines:
        for one in timed:
            compiled = clock.count
            seconds, result = [], []
            for _ in range(repeats):
                start = time.perf_counter()
                # Text comes back from the host, so all device work is over.
                result = one.translator.translate([line], "source")
                seconds.append(time.perf_counter() - start)
            one.seconds.append(seconds)
            one.results += result
            one.recompiled += clock.count - compiled
        if report:
            report(1)
    return [one.row() for one in timed]


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
    """What was timed on, for the table's note."""
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
    """The processor's model where the system tells it, else its architecture."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
