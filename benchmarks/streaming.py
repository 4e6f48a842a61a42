"""Time and peak memory of each step from raw text to batches, on generated text of several sizes.

Each step runs in a process of its own, so that its peak memory is its own. Prints a table, and
writes JSON with --out.

    python benchmarks/streaming.py --pairs 10000 100000 1000000 --out results/bench/streaming.json

Text: lines of 5 to 25 words in both languages, words drawn by Zipf's law out of 60,000, one pair
in fifty a repetition of another.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

WORDS = 60_000
PHRASES = 200_000
SCORED = 3_000
STEPS = ("fetch", "tfds", "clean", "sample", "encode", "batches", "distill", "card")
# What a step reads comes from these, directly or not.
NEEDS = {
    "clean": ("fetch",),
    "sample": ("fetch", "clean"),
    "encode": ("fetch", "clean", "sample"),
    "batches": ("fetch", "clean", "sample"),
    "distill": ("fetch", "clean"),
    "card": ("fetch", "clean", "distill"),
}


def write_text(folder: Path, pairs: int) -> None:
    """Write text/{train,valid,test}.{de,en} with generated text."""
    folder = folder / "text"
    folder.mkdir()
    random = np.random.default_rng(0)
    for language in ("de", "en"):
        letters = np.array(list("abcdefghijklmnoprstuvwz"))
        words = ["".join(random.choice(letters, n)) for n in random.integers(2, 12, WORDS)]
        ranks = np.minimum(random.zipf(1.2, PHRASES * 5), WORDS) - 1
        phrases = [" ".join(words[w] for w in row) for row in ranks.reshape(-1, 5)]
        counts = {"train": pairs, "valid": SCORED, "test": SCORED}
        for split, count in counts.items():
            with (folder / f"{split}.{language}").open("w") as file:
                for start in range(0, count, 10_000):
                    # Both languages draw the same numbers of phrases, and repeat the same pairs.
                    drawn = np.random.default_rng([len(split), start])
                    rows = drawn.integers(0, PHRASES, (10_000, 5))
                    lengths = drawn.integers(1, 6, 10_000)
                    again = drawn.random(10_000) < 0.02
                    rows[again], lengths[again] = rows[0], lengths[0]
                    lines = [
                        " ".join(phrases[p] for p in row[:length])
                        for row, length in zip(rows[: count - start], lengths, strict=False)
                    ]
                    file.write("\n".join(lines) + "\n")


def fetch(folder: Path, threads: int) -> None:
    """`padir fetch` from plain files."""
    from padir.config.data import FilesSource
    from padir.data.text import write_files_source

    files = {
        split: {"files": {language: f"{split}.{language}" for language in ("de", "en")}}
        for split in ("train", "valid", "test")
    }
    write_files_source(FilesSource(folder=str(folder / "text"), **files), folder / "raw")


def tfds(folder: Path, threads: int) -> None:
    """`padir fetch` from a prepared copy in array_record."""
    from padir.config.data import TfdsSource
    from padir.data.tfds import write_tfds_source

    source = TfdsSource(name="wmt14_translate/de-en", data_dir=str(folder / "tfds"))
    write_tfds_source(source, "de-en", folder / "from_tfds", threads)


def prepare_copy(folder: Path, pairs: int) -> None:
    """Let TFDS's writer make a copy of the generated text."""
    import tensorflow_datasets as tfds
    import tensorflow_datasets.translate  # registers the builder

    builder = tfds.builder("wmt14_translate/de-en", data_dir=folder / "tfds")
    names = {"train": "train", "validation": "valid", "test": "test"}

    def examples(split: str):
        sides = [(folder / "text" / f"{names[split]}.{c}").open() for c in ("de", "en")]
        for number, (de, en) in enumerate(zip(*sides, strict=True)):
            yield number, {"de": de[:-1], "en": en[:-1]}

    builder._split_generators = lambda manager: [
        tfds.core.SplitGenerator(name=split, gen_kwargs={"split": split}) for split in names
    ]
    builder._generate_examples = examples
    config = tfds.download.DownloadConfig(try_download_gcs=False)
    builder.download_and_prepare(download_config=config, file_format="array_record")


def clean(folder: Path, threads: int) -> None:
    """`padir clean`, statistics included."""
    from padir.config.data import Cleaning
    from padir.data.clean import clean

    clean(Cleaning(), "de-en", folder / "raw", folder / "data", threads)


def sample(folder: Path, threads: int) -> None:
    """Drawing 50,000 of all lines for the vocabulary, and learning 8,000 pieces from them."""
    from padir.config.data import VocabularySettings
    from padir.files import iter_lines
    from padir.vocab import train_vocabulary

    lines = (line for c in ("de", "en") for line in iter_lines(folder / "data" / f"train.{c}"))
    settings = VocabularySettings(size=8_000, max_lines=50_000)
    train_vocabulary(lines, settings, folder / "spm.model")


def encode(folder: Path, threads: int) -> None:
    """Text to ids on disk."""
    from padir.data.encode import encode_pairs
    from padir.vocab import Vocabulary

    vocabulary = Vocabulary.load(folder / "spm.model")
    text = folder / "data"
    encode_pairs(vocabulary, text / "train.de", text / "train.en", folder, threads)


def batches(folder: Path, threads: int) -> None:
    """The same, and the plan of an epoch with 200 of its batches of 65,536 tokens."""
    from padir.config.training import Training
    from padir.data.batches import BatchPlan
    from padir.data.encode import encode_pairs
    from padir.vocab import Vocabulary

    vocabulary = Vocabulary.load(folder / "spm.model")
    text = folder / "data"
    pairs = encode_pairs(vocabulary, text / "train.de", text / "train.en", folder, threads)
    training = Training(batch_tokens=65_536, buckets=[32, 64, 128])
    began = time.monotonic()
    plan = BatchPlan(pairs, training, seed=0)
    tokens, step = 0, 0
    while step < min(200, plan.steps_per_epoch):
        group = plan.group_at(step)
        for rows in group.rows:
            pairs.source.padded(rows, group.bucket)
            pairs.target.padded(rows, group.bucket)
            tokens += rows.size * group.bucket
        step += len(group.rows)
    seconds = time.monotonic() - began
    print(json.dumps({"plan_and_batches_seconds": seconds, "padded_target_tokens": tokens}))


def distill(folder: Path, threads: int) -> None:
    """`padir distill` without a model: a stand-in whose translations are the sources."""
    from types import SimpleNamespace

    from padir.config.decoder import SearchDecoder
    from padir.config.rows import Decoding
    from padir.decode.candidates import LengthRule
    from padir.decode.load import TunedDecoder
    from padir.decode.translate import Translator
    from padir.distill.teacher import Span
    from padir.distill.teacher import distill as translate
    from padir.files import count_aligned, iter_lines, write_lines

    class Copier(Translator):
        longest_source = 10**6

        def __init__(self):
            self.loaded, self.reranker = SimpleNamespace(files=[]), None
            self.decoder = TunedDecoder("greedy", SearchDecoder(kind="greedy"))
            self.rule, self.decoding = LengthRule(), Decoding("greedy")

        def encode(self, lines):
            return [line.split() for line in lines]

        def candidates(self, sources, report=None, references=None):
            return sources

        def finish(self, sources, candidates, whole=None):
            return [SimpleNamespace(hypothesis=" ".join(words)) for words in candidates]

    source = folder / "data" / "train.de"
    sources = Span(source, 0, count_aligned(source))
    parts, _ = translate(Copier(), {}, sources, folder / "parts", lambda count: None)
    write_lines(folder / "distilled.en", (line for part in parts for line in iter_lines(part)))


def card(folder: Path, threads: int) -> None:
    """`padir distill-card`: corpus BLEU of all training targets against those of `distill`."""
    from padir.commands import distill_card

    arguments = ["--teacher", "copier", "--row", "files", "--target-language", "en"]
    for option, name in (
        ("--train", "distilled.en"),
        ("--train-reference", "data/train.en"),
        ("--valid", "data/valid.de"),
        ("--valid-references", "data/valid.en"),
        ("--out", "card.json"),
    ):
        arguments += [option, str(folder / name)]
    distill_card.main(arguments)


def measure(name: str, folder: Path, number: int) -> dict[str, float]:
    """Run one step in a process of its own; `number` is of threads, or of pairs to generate."""
    command = [sys.executable, __file__, "--step", name, "--folder", str(folder)]
    done = subprocess.run(
        [*command, "--threads", str(number)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    figures: dict[str, float] = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            figures |= json.loads(line)
    return figures


def run_step(name: str, folder: Path, threads: int) -> None:
    """Run a step here and print what it took."""
    began = time.monotonic()
    STEP_FUNCTIONS[name](folder, threads)
    seconds = time.monotonic() - began
    # Not ru_maxrss, which a process has from its parent; workers' peaks are at least this one's.
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    peak = int(status["VmHWM"].split()[0]) / 1024
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak, "worker_peak_mb": worker}))


STEP_FUNCTIONS = {
    "write_text": write_text,
    "prepare_copy": prepare_copy,
    "fetch": fetch,
    "tfds": tfds,
    "clean": clean,
    "sample": sample,
    "encode": encode,
    "batches": batches,
    "distill": distill,
    "card": card,
}


def main() -> None:
    """Parse, generate, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=Path, help="folder for the text (default: a temporary one)")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        run_step(arguments.step, arguments.folder, arguments.threads)
        return
    for place, step in enumerate(arguments.steps):
        missing = [s for s in NEEDS.get(step, ()) if s not in arguments.steps[:place]]
        if missing:
            parser.error(f"--steps: {step} needs before it: {' '.join(missing)}")
    results = []
    print(f"{'pairs':>9}  {'step':8}{'seconds':>9}{'pairs/s':>10}{'peak MB':>9}{'worker MB':>11}")
    for pairs in arguments.pairs:
        with tempfile.TemporaryDirectory(dir=arguments.work) as name:
            folder = Path(name)
            measure("write_text", folder, pairs)
            if "tfds" in arguments.steps:
                measure("prepare_copy", folder, pairs)
            for step in arguments.steps:
                result = {"pairs": pairs, "step": step, "threads": arguments.threads}
                result |= measure(step, folder, arguments.threads)
                results.append(result)
                print(
                    f"{pairs:9d}  {step:8}{result['seconds']:9.1f}{pairs / result['seconds']:10.0f}"
                    f"{result['peak_mb']:9.0f}{result['worker_peak_mb']:11.0f}",
                    flush=True,
                )
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
