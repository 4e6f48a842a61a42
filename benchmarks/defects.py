"""What each defect of the published PaDIR code costs: BLEU and stutter, ours against ours with it.

    snakemake --cores 2 table2
    python -m benchmarks.defects --jobs 2

The first command makes the demo's text, vocabulary, distilled targets and settings. The second,
from the root of the repository, trains the model with and without padding in sight, chooses the
length rule of each variant on validation data, decodes the test set, and writes the table into
docs/departures.md. Interrupted, it goes on from where it was. A quick look at what it does:

    python -m benchmarks.defects --seeds 0 --steps 150 --document results/bench/defects.md

The variants are in tests/defects.
"""

import argparse
import dataclasses
import os
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from padir.launch import prepare
from tests.defects.measured import VARIANTS, Variant

BEGIN, END = "<!-- defects: begin -->", "<!-- defects: end -->"
MODEL = Path("results/runs/synthetic/xs-xt/padir")
METRICS = ("bleu", "before", "final")


@dataclass(frozen=True)
class Work:
    """What every process needs to know.

    Attributes:
        training: folder of a trained model in a folder of results; its spec says the rest.
        folder: for what is trained here.
        steps: of training, instead of the spec's.
        passes: such as T4.
        samples: bootstrap resamples.
    """

    training: Path
    folder: Path
    steps: int | None
    passes: str
    samples: int

    def spec(self) -> Any:
        """The model's spec, with the steps that were asked for."""
        from padir.config.read import read_spec
        from padir.config.training import TrainingRun

        spec = read_spec(self.training / "spec.json")
        if self.steps is None:
            return spec
        given = spec.run.model_dump()
        given["training"] |= {"steps": self.steps}
        warmup = min(given["optimizer"]["warmup_steps"], self.steps - 1)
        given["optimizer"] |= {"warmup_steps": warmup}
        return spec.model_copy(update={"run": TrainingRun(**given)})

    def paths(self) -> dict[str, Any]:
        """Vocabulary, training text, and sources and references of the other splits.

        Raises:
            InputError: a file is missing.
        """
        from padir.files import InputError

        spec, results = self.spec(), self.training.parents[3]
        source, target = spec.direction.split("-")
        pair = "-".join(sorted((source, target)))
        data = results / "data" / spec.dataset / pair
        taught = data
        if spec.run.targets != "raw":
            teacher = results / "distill" / spec.dataset / spec.direction / spec.run.targets
            taught = min(teacher.glob("seed*"), default=teacher / "seed0")
        files = {
            "vocabulary": results / "vocab" / spec.dataset / pair / "spm.model",
            "language": target,
            **{f"{split}_source": data / f"{split}.{source}" for split in ("train", "valid")},
            **{f"{split}_target": taught / f"{split}.{target}" for split in ("train", "valid")},
        }
        for split in ("valid", "test"):
            first = data / f"{split}.{target}"
            more = sorted(
                data.glob(f"{split}.{target}.[0-9]*"), key=lambda path: int(path.suffix[1:])
            )
            files[split] = [data / f"{split}.{source}", first, *more]
        for value in files.values():
            for path in value if isinstance(value, list) else [value]:
                if isinstance(path, Path) and not path.exists():
                    raise InputError(f"{path}: missing; run snakemake first, see --help")
        return files

    def bundle(self, padding: bool, seed: int) -> Path:
        """Where a trained model lies."""
        return self.folder / ("padding" if padding else "shipped") / f"seed{seed}" / "bundle"


def train(job: tuple[Work, bool, int]) -> int:
    """Train one model as `padir train` does; its exit status."""
    work, padding, seed = job
    from padir.commands.train import main as train_main
    from padir.files import write_json

    folder = work.bundle(padding, seed).parent
    write_json(folder / "spec.json", work.spec().model_dump(mode="json"))
    paths = work.paths()
    arguments = ["--spec", folder / "spec.json", "--vocabulary", paths["vocabulary"]]
    for split in ("train", "valid"):
        for side in ("source", "target"):
            arguments += [f"--{split}-{side}", paths[f"{split}_{side}"]]
    arguments += ["--seed", seed, "--work", folder / "work", "--out", folder / "bundle"]
    from tests.defects.variants import padding_visible

    with padding_visible() if padding else nullcontext():
        return train_main([*map(str, arguments), "--threads", "1"])


def measure(job: tuple[Work, int]) -> dict[str, Any]:
    """Scores of every variant with one seed, and their values on each resample."""
    work, seed = job
    prepare(1)
    from padir.decode.load import load

    loaded = {padding: load(work.bundle(padding, seed)) for padding in (False, True)}
    scores = {}
    for number, variant in enumerate(VARIANTS, start=1):
        began = time.monotonic()
        scores[variant.name] = outcome(work, loaded[variant.padding], variant)
        text = ", ".join(f"{key} {scores[variant.name][key]['value']:.2f}" for key in METRICS)
        seconds = time.monotonic() - began
        label = f"seed {seed}: {number}/{len(VARIANTS)} {variant.name}"
        print(f"{label}: {text}, {seconds:.0f} s", file=sys.stderr, flush=True)
    return scores


def outcome(work: Work, loaded: Any, variant: Variant) -> dict[str, Any]:
    """Scores of one variant with one model; the length rule is chosen with the variant itself."""
    from padir.config.decoder import RefinementDecoder
    from padir.config.rows import parse_passes
    from padir.decode.candidates import LengthRule
    from padir.decode.load import TunedDecoder
    from padir.decode.tune import tune
    from padir.files import read_aligned
    from padir.score.bleu import RepeatedBleu
    from padir.score.summary import DecoderOutput, score_corpus
    from tests.defects.variants import Defects

    paths, passes = work.paths(), parse_passes(work.passes, "--passes")
    language = paths["language"]
    lines, *references = read_aligned(*paths["valid"])
    tests, *answers = read_aligned(*paths["test"])
    decoder = TunedDecoder("padir", RefinementDecoder(**variant.settings), LengthRule())
    with Defects(**dict.fromkeys(variant.defects, True)).decoding() as translator_class:
        sentences = 1 if variant.alone else None
        translator = translator_class(loaded, decoder, passes, sentences=sentences)
        # With the decoder's own number of passes, as `padir tune`.
        tuned = translator.with_passes(decoder.settings.tuning_passes)
        bleu = RepeatedBleu(references, language)
        tried = tune(tuned, lines, str(paths["valid"][0]), bleu, references[0])
        rule = max(tried, key=lambda scored: scored[1])[0]

        def translated(translator) -> list[Any]:
            translator.use(rule)
            return translator.translate(tests, str(paths["test"][0]), references=answers[0])

        hypotheses = translated(translator)
        alone = None
        if variant.batches:
            alone = translated(translator_class(loaded, decoder, passes, sentences=1))
    texts = [hypothesis.hypothesis for hypothesis in hypotheses]
    decoded = DecoderOutput(before_drop=[hypothesis.before_drop for hypothesis in hypotheses])
    scored = score_corpus(texts, answers, language, decoded=decoded, samples=work.samples)
    words, replicates = scored["stutter"], scored["replicates"]
    before = {"value": words["words_before_drop"]["per_100"]}
    return {
        "rule": dataclasses.asdict(rule),
        "signature": scored["bleu"]["signature"],
        "test_digest": scored["test_digest"],
        "sentences": scored["sentences"],
        "bleu": {"value": scored["bleu"]["score"], "replicates": replicates["bleu"]},
        "before": before | {"replicates": replicates["stutter_before_drop"]},
        "final": {"value": words["words"]["per_100"], "replicates": replicates["stutter"]},
        "batch_share": None
        if alone is None
        else 100.0
        * sum(a.hypothesis != b.hypothesis for a, b in zip(hypotheses, alone, strict=True))
        / len(hypotheses),
    }


def compared(seeds: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row per variant that has a base: means over seeds, and the differences' intervals.

    Args:
        seeds: what `measure` found, by seed.
    """
    import numpy as np

    from padir.score.significance import over_seeds

    rows = []
    for variant in VARIANTS:
        if variant.base is None:
            continue
        pairs = [(scores[variant.base], scores[variant.name]) for scores in seeds.values()]
        row: dict[str, Any] = {"name": variant.name, "what": variant.what}
        for key in METRICS:
            ours, theirs = ([pair[side][key]["value"] for pair in pairs] for side in (0, 1))
            replicates = np.array(
                [
                    np.subtract(theirs[key]["replicates"], ours[key]["replicates"])
                    for ours, theirs in pairs
                ]
            )
            contrast = over_seeds(np.subtract(theirs, ours).tolist(), replicates)
            row[key] = {
                "shipped": float(np.mean(ours)),
                "with": float(np.mean(theirs)),
                **dataclasses.asdict(contrast),
            }
        shares = [[pair[side]["batch_share"] for pair in pairs] for side in (0, 1)]
        known = all(share is not None for side in shares for share in side)
        row["batch_share"] = [float(np.mean(side)) for side in shares] if known else None
        rows.append(row)
    return rows


def table(report: Mapping[str, Any]) -> str:
    """The report as Markdown."""
    from padir.report.tables import Cell, Column, Table

    columns = [Column("what", "Defect")]
    for key, heading in zip(METRICS, ("BLEU", "Stutter before", "Stutter final"), strict=True):
        columns += [
            Column(f"{key}_shipped", f"{heading}, ours", 2),
            Column(f"{key}_with", "with it", 2),
            Column(f"{key}_difference", "difference", 2),
            Column(f"{key}_interval", "95% interval", 2),
        ]
    columns += [Column("batch", "Batch matters %, ours", 1), Column("batch_with", "with it", 1)]
    rows = []
    for row in report["rows"]:
        cells: dict[str, Cell] = {"what": row["what"]}
        for key in METRICS:
            cells |= {
                **{f"{key}_{name}": row[key][name] for name in ("shipped", "with", "difference")},
                f"{key}_interval": (row[key]["low"], row[key]["high"]),
            }
        shares = row["batch_share"] or (None, None)
        rows.append(cells | {"batch": shares[0], "batch_with": shares[1]})
    seeds = report["seeds"]
    over = "sentences and seeds" if report["seeds_resampled"] else "sentences"
    notes = (
        f"Model {report['model']}, {report['steps']} training steps, seeds"
        f" {', '.join(map(str, seeds))}; {report['passes']}, {report['sentences']} test sentences"
        f" with {report['references']} references; means over seeds, differences are with minus"
        f" ours; intervals by paired bootstrap over {over}.",
        "Stutter per 100 words; before: before the final drop of repeats, or before what stands in"
        " its place.",
        "The length rule of each row is chosen on validation data with the row's own decoding.",
        "Batch matters: sentences whose output is another one in batches of one than in batches of"
        f" {report['batch_sentences']}.",
        f"BLEU {report['signature']}, test set {report['test_digest'][:12]}.",
    )
    return Table("defects", "Defects of the published code", columns, rows, notes).markdown()


def filled(document: str, text: str) -> str:
    """The document with `text` between its two markers, in place of what stood there.

    Raises:
        ValueError: not one of each marker, in order.
    """
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in before + after:
        raise ValueError(f"the document needs {BEGIN} and then {END}, once each")
    return f"{before}{BEGIN}\n\n{text.strip()}\n\n{END}{after}"


def parser() -> argparse.ArgumentParser:
    """The script's arguments."""
    parse = argparse.ArgumentParser(
        prog="python -m benchmarks.defects",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument(
        "--training", type=Path, default=MODEL, help=f"trained model (default {MODEL})"
    )
    parse.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="default 0 1 2")
    parse.add_argument("--passes", default="T4", help="decoder passes (default T4)")
    parse.add_argument("--samples", type=int, default=1000, help="resamples (default 1000)")
    parse.add_argument("--steps", type=int, help="training steps, instead of the model's own")
    parse.add_argument("--jobs", type=int, default=1, help="processes of one thread (default 1)")
    bench = Path("results/bench")
    parse.add_argument("--work", type=Path, default=bench / "defects", help="for trained models")
    parse.add_argument("--json", type=Path, default=bench / "defects.json", help="all numbers")
    parse.add_argument(
        "--document",
        type=Path,
        default=Path("docs/departures.md"),
        help="takes the table between its markers; written anew where it does not exist",
    )
    return parse


def main() -> int:
    """Train, measure, write."""
    arguments = parser().parse_args()
    from padir.cli import ALLOCATOR
    from padir.decode.programs import CPU_SENTENCES
    from padir.files import write_json, write_text

    # Read by the C library of the processes that are started here, as by `padir`.
    os.environ.setdefault("GLIBC_TUNABLES", ALLOCATOR)
    folder = arguments.work / (f"steps{arguments.steps}" if arguments.steps else "full")
    work = Work(arguments.training, folder, arguments.steps, arguments.passes, arguments.samples)
    work.paths()
    # A fresh process of one thread for each: JAX takes threads once, and what a patch traced stays.
    pool = ProcessPoolExecutor(
        arguments.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1
    )
    with pool:
        jobs = [(work, padding, seed) for seed in arguments.seeds for padding in (False, True)]
        for status in pool.map(train, jobs):
            if status:
                return status
        by_seed = dict(
            zip(
                map(str, arguments.seeds),
                pool.map(measure, [(work, seed) for seed in arguments.seeds]),
                strict=True,
            )
        )
    spec, first = work.spec(), next(iter(by_seed.values()))["shipped"]
    rows = compared(by_seed)
    report = {
        "model": spec.training,
        "steps": spec.run.training.steps,
        "seeds": arguments.seeds,
        "passes": arguments.passes,
        "batch_sentences": CPU_SENTENCES,
        "sentences": first["sentences"],
        "references": len(work.paths()["test"]) - 1,
        "signature": first["signature"],
        "test_digest": first["test_digest"],
        "seeds_resampled": rows[0]["bleu"]["seeds_resampled"],
        "rows": rows,
        "by_seed": by_seed,
    }
    write_json(arguments.json, report)
    text = table(report)
    old = f"{BEGIN}\n{END}\n"
    if arguments.document.exists():
        old = arguments.document.read_text(encoding="utf-8")
    write_text(arguments.document, filled(old, text))
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
