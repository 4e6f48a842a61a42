"""Draw the decoders' programs of a run of speed.py under the limits of its machine.

    python benchmarks/roofline.py --speed benchmarks/speed.json --out docs/roofline.svg

A program's place: floating-point operations of its matrix products for each byte of weights that it
reads, and its rate. It can run no faster than the matrix product, nor read weights faster than
memory: the lower of both limits is the roof. Both were measured in the same run. A model whose
weights stay in a cache may be above the line of memory.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import engines
import numpy as np
import speed

BEAM = 5


def decoder_weights(size: engines.Size, system: str) -> int:
    """Weights that a pass of the decoder multiplies each position with, the output's included.

    Keys and values of the source, and PaDIR's positional queries and keys, are made once a
    sentence, and are no part of a pass.
    """
    settings = engines.training_run(size, system).architecture
    inner = settings.heads * settings.head_width
    projections = 6 if system == "ar" else 8
    layer = projections * settings.width * inner + 2 * settings.width * settings.feed_forward_width
    return settings.decoder_layers * layer + settings.width * size.vocabulary


def points(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Operations per byte and GFLOP/s of each program, from the medians of a run of speed.py."""
    measured = []
    for name, size in engines.SIZES.items():
        if (times := report["groups"].get(name)) is None:
            continue
        programs = []
        for label, kind, rows in (("greedy step", "greedy", 1), ("beam step", "beam", BEAM)):
            # A search of as many steps; the encoder is a small part of it.
            each = float(np.median(times[f"AR {kind}"])) / engines.TARGET
            programs.append((f"AR {label}", "ar", rows, each))
        for candidates in (1, 5):
            label = f"PaDIR pass, {candidates} candidate{'s' * (candidates > 1)}"
            each = speed.pass_milliseconds(times, candidates)
            if each is not None:
                programs.append((label, "padir", candidates * engines.TARGET, each))
        for label, system, rows, milliseconds in programs:
            weights = decoder_weights(size, system)
            measured.append(
                {
                    "size": name,
                    "program": label,
                    "flop_per_byte": 2 * rows / 4,
                    "gflops": 2e-6 * rows * weights / milliseconds,
                }
            )
    return measured


def draw(report: dict[str, Any]) -> str:
    """The roofline as SVG."""
    from padir.report.theme import COLOURS, INK, MARKERS, canvas

    limits = report["limits"]
    most, memory = limits["matmul_gflops"], limits["read_gb_per_s"]
    drawn = points(report)
    with canvas("roofline", 7.0, 3.6) as drawing:
        axes = drawing.figure.subplots()
        reach = np.geomspace(0.3, 200, 60)
        axes.plot(reach, np.minimum(most, memory * reach), color=INK, linewidth=1)
        axes.text(200, 1.1 * most, f"matrix product, {most:.0f} GFLOP/s", ha="right")
        axes.text(0.3, 1.6 * memory, f"memory,\n{memory:.1f} GB/s")
        programs = list(dict.fromkeys(point["program"] for point in drawn))
        sizes = list(dict.fromkeys(point["size"] for point in drawn))
        for size, marker in zip(sizes, MARKERS, strict=False):
            for program, colour in zip(programs, COLOURS, strict=False):
                for point in drawn:
                    if (point["size"], point["program"]) == (size, program):
                        (line,) = axes.plot(
                            [point["flop_per_byte"]], [point["gflops"]], marker, color=colour
                        )
                        drawing.name_marks(line, [f"{size}: {program}: {point['gflops']:.1f}"])
        for program, colour in zip(programs, COLOURS, strict=False):
            axes.plot([], [], "_", color=colour, markeredgewidth=4, label=program)
        for size, marker in zip(sizes, MARKERS, strict=False):
            axes.plot([], [], marker, color=INK, fillstyle="none", label=f"size: {size}")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(top=2 * most)
        axes.set_xlabel("floating-point operations per byte of weights")
        axes.set_ylabel("GFLOP/s")
        drawing.legend()
    return drawing.svg


def main() -> None:
    """Read, draw, print the points."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--speed", type=Path, default=Path("benchmarks/speed.json"))
    parse.add_argument("--out", type=Path, required=True, help="SVG file to write")
    given = parse.parse_args()
    report = json.loads(given.speed.read_text("utf-8"))
    given.out.write_text(draw(report), "utf-8")
    most, memory = report["limits"]["matmul_gflops"], report["limits"]["read_gb_per_s"]
    for point in points(report):
        roof = min(most, memory * point["flop_per_byte"])
        share = 100 * point["gflops"] / roof
        print(f"{point['size']}: {point['program']}: {point['gflops']:.1f} GFLOP/s,"
              f" {share:.0f}% of its roof")  # fmt: skip


if __name__ == "__main__":
    main()
