"""Where the time of a sentence and of a training step goes, by difference of whole programs.

    python benchmarks/breakdown.py --threads 1 --out benchmarks/breakdown.json \\
        --page docs/performance.md

A part costs what the program takes longer than one without it: a pass is a third of four passes
less one, the output layer a pass less that of a model with a vocabulary of 16, host time a call
less its two compiled programs. All programs of a size are timed in turns, and a difference is the
median over rounds of the difference within a round.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import engines
import numpy as np
import output
import speed

CANDIDATES, FEW = 5, 16
"""Length candidates as in speed.py; rows of a vocabulary that costs nothing."""
WITHOUT = {
    "output layer and choice": {"vocabulary": FEW},
    "feed-forward": {"feed_forward_width": 1},
    "positional attention": {"positional_attention": False},
}
"""Parts of a model, and what takes them away."""
Engine = Callable[[], Any]


def changed(size: engines.Size, change: dict[str, Any]) -> engines.Size:
    """The size without a part, or with other settings of its architecture."""
    if "vocabulary" in change:
        return replace(size, vocabulary=change["vocabulary"])
    return replace(size, architecture=size.architecture | change)


def sentence_programs(size: engines.Size, candidates: int) -> dict[str, Engine]:
    """The compiled programs of one sentence, each alone, and the whole call."""
    import jax

    from padir.config.decoder import RefinementDecoder
    from padir.decode.refiner import Refiner

    settings = RefinementDecoder(length_candidates=1, restarts=candidates, stop="fixed")
    model, run = engines.model_of(size, "padir"), engines.training_run(size, "padir")
    refiner = Refiner(model, run, settings, size.vocabulary, 0, sentences=1)
    ids, lengths = engines.source_ids(size), [engines.TARGET]
    source = np.array([[*ids[0], 1]], np.int32)

    def decode(passes: int) -> Engine:
        ((_, initial, _),) = refiner.initial(ids, passes, lengths)
        return lambda: jax.block_until_ready(refiner.decode(initial))

    return {
        "encoder": lambda: jax.block_until_ready(refiner._encode(source)),
        "1 pass": decode(1),
        "4 passes": decode(4),
        "call": lambda: list(refiner.batches(ids, 4, lengths)),
    }


def step_programs(size: engines.Size, system: str) -> dict[str, Engine]:
    """Losses alone, losses and gradient, and a whole step with Adafactor."""
    import jax

    from padir.training.step import Trainer, micro_batches

    random = np.random.default_rng(0)
    ids = random.integers(8, size.vocabulary, (2, 1, size.rows, size.tokens)).astype(np.int32)
    ids[..., -1] = 1
    run = engines.training_run(size, system)
    run = run.model_copy(update={"training": run.training.model_copy(update={"dispatch_steps": 1})})
    trainer = Trainer(run, size.vocabulary, size.vocabulary, 0)
    states = [trainer.initial_state(), trainer.initial_state()]
    source, target = (micro_batches(part, 1, 1, 1)[0] for part in ids)
    gradient = jax.jit(trainer._gradient)
    step = np.int32(0)

    def whole() -> None:
        states[0], totals = trainer.steps(states[0], ids[0], ids[1], [1e-3])
        jax.block_until_ready(totals)

    return {
        "losses": lambda: jax.block_until_ready(
            trainer._evaluate(states[1].parameters, source[0], target[0], step, trainer.seed)
        ),
        "gradient": lambda: jax.block_until_ready(
            gradient(states[1].parameters, source, target, step, trainer.seed)
        ),
        "step": whole,
    }


def programs(size: engines.Size) -> dict[str, Engine]:
    """Everything that is timed of one size."""
    group: dict[str, Engine] = {}
    for candidates in (1, CANDIDATES):
        for name, engine in sentence_programs(size, candidates).items():
            group[f"{candidates}/{name}"] = engine
    for part, change in WITHOUT.items():
        other = sentence_programs(changed(size, change), CANDIDATES)
        group |= {f"{part}/{name}": other[name] for name in ("1 pass", "4 passes")}
    return group


def training_programs(size: engines.Size) -> dict[str, Engine]:
    """Everything that is timed of one size's training."""
    group: dict[str, Engine] = {}
    for system in ("ar", "padir"):
        for name, engine in step_programs(size, system).items():
            group[f"{system}/{name}"] = engine
        without = {"dropout": {"dropout": 0.0}} | WITHOUT
        for part, change in without.items():
            if system == "padir" or part != "positional attention":
                group[f"{system}/{part}"] = step_programs(changed(size, change), system)["step"]
    return group


def median(*terms: Any) -> float:
    """The median over rounds of a sum of times."""
    return float(np.median(sum(np.array(term) for term in terms)))


def decoding_rows(times: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Milliseconds of the parts of a sentence and of a pass."""
    sentence, one_pass = {}, {}
    for candidates in (1, CANDIDATES):
        encoder, first, four, call = (
            np.array(times[f"{candidates}/{name}"])
            for name in ("encoder", "1 pass", "4 passes", "call")
        )
        each = (four - first) / 3
        sentence[str(candidates)] = {
            "encoder and lengths": median(encoder),
            "each pass": median(each),
            "decoding outside of the passes": median(first - each),
            "host": median(call - four - encoder),
            "call with 4 passes": median(call),
        }
    whole = (np.array(times[f"{CANDIDATES}/4 passes"]) - times[f"{CANDIDATES}/1 pass"]) / 3
    one_pass["whole"] = median(whole)
    for part in WITHOUT:
        rest = (np.array(times[f"{part}/4 passes"]) - times[f"{part}/1 pass"]) / 3
        one_pass[part] = median(whole - rest)
    one_pass["self- and cross-attention, normalisation"] = one_pass["whole"] - sum(
        one_pass[part] for part in WITHOUT
    )
    return {"sentence": sentence, "pass": one_pass}


def training_rows(times: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Milliseconds of the parts of a training step."""
    rows = {}
    for system in ("ar", "padir"):
        whole = np.array(times[f"{system}/step"])
        losses, gradient = (np.array(times[f"{system}/{name}"]) for name in ("losses", "gradient"))
        rows[system] = {
            "step": median(whole),
            "losses": median(losses),
            "backward and dropout": median(gradient - losses),
            "Adafactor": median(whole - gradient),
        }
        for part in ("dropout", *WITHOUT):
            if f"{system}/{part}" in times:
                rows[system][f"of all: {part}"] = median(
                    whole - np.array(times[f"{system}/{part}"])
                )
    return rows


def measure(sizes: Sequence[str], trainings: Sequence[str], seconds: float) -> dict[str, Any]:
    """The parts of every size, each raced for so many seconds."""
    report: dict[str, Any] = {"decoding": {}, "training": {}}
    for name in sizes:
        times = speed.race(programs(engines.SIZES[name]), seconds, time.perf_counter)
        report["decoding"][name] = decoding_rows(times)
        print(f"{name}: {len(times['1/call'])} rounds", file=sys.stderr, flush=True)
    for name in trainings:
        times = speed.race(training_programs(engines.SIZES[name]), seconds, time.perf_counter)
        report["training"][name] = training_rows(times)
        print(f"{name} training: {len(times['ar/step'])} rounds", file=sys.stderr, flush=True)
    return report


def transposed(columns: dict[str, dict[str, float]], head: str, unit: str = "ms") -> str:
    """A table with a column for each entry, and a row for each of its parts."""
    parts = list(dict.fromkeys(part for column in columns.values() for part in column))
    rows = [
        (part, *(f"{column[part]:.2f}" if part in column else "-" for column in columns.values()))
        for part in parts
    ]
    return speed.table((head, *(f"{name}, {unit}" for name in columns)), rows)


def page(report: dict[str, Any]) -> str:
    """The section of the page."""
    decoding, limit = report["decoding"], report["limits"]["matmul_gflops"]
    sentences = {
        f"{name}, {count} candidate{'s' * (count != '1')}": parts
        for name, rows in decoding.items()
        for count, parts in rows["sentence"].items()
    }
    steps = {
        f"{name} {'AR' if system == 'ar' else 'PaDIR'}": parts
        for name, rows in report["training"].items()
        for system, parts in rows.items()
    }
    return "\n\n".join(
        [
            output.command(),
            f"{speed.conditions(report['machine'])}. Matrix product: {limit:.0f} GFLOP/s.",
            transposed(sentences, "part of a sentence"),
            transposed(
                {name: rows["pass"] for name, rows in decoding.items()},
                f"part of a pass over {CANDIDATES} candidates",
            ),
            transposed(steps, "part of a training step"),
        ]
    )


def main() -> None:
    """Parse, time, write."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = tuple(engines.SIZES)
    parse.add_argument("--threads", type=int, default=1, help="CPU threads")
    parse.add_argument("--seconds", type=float, default=20, help="of each group, without compiling")
    parse.add_argument("--sizes", nargs="*", default=names, choices=names, help="decoders")
    parse.add_argument("--training", nargs="*", default=names, choices=names, help="steps")
    output.add_files(parse, "out", "page")
    given = parse.parse_args()
    from padir.launch import prepare

    prepare(given.threads)
    report = {
        "machine": speed.machine(given.threads),
        "limits": speed.limits(time.perf_counter),
        **measure(given.sizes, given.training, given.seconds),
    }
    output.write(given, "breakdown", page(report), report)


if __name__ == "__main__":
    main()
