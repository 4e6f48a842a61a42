"""The commands that are disturbed: their inputs, their outputs, and what of theirs is damaged."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WORDS = ("ba", "ko", "mi", "re", "su", "ta")
PART_LINES = 32
"""Lines of a part of a distillation here: many parts, each done soon."""


@dataclass(frozen=True)
class Command:
    """A command and the files that it must leave.

    Attributes:
        name: of the verb, or "snakemake", or "several" for a training in several processes.
        prepare: writes the inputs into a folder; returns the arguments.
        outputs: names under the folder that are compared, as patterns.
        kinds: the faults that are tried, in this order.
        damaged: names of files of a half-finished run that may be damaged.
        inputs: names of inputs that may be damaged.
        settings: names of settings, statistics and scores that may be damaged.
        resumes: whether inputs are damaged after a first run was killed at work.
        restarts: whether `--restart` is what a refusal asks for; its other outputs tell of it, so
            that only the model is compared.
        patch: called in the process before the command.
        stdin: an input that the command reads from standard input; its output goes to `out.txt`.
        calls: most openings, renames and fsyncs of which one is chosen to fail.
    """

    name: str
    prepare: Callable[[Path], list[str]]
    outputs: tuple[str, ...]
    kinds: tuple[str, ...]
    damaged: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    resumes: bool = False
    restarts: bool = False
    patch: Callable[[], None] = lambda: None
    stdin: str = ""
    calls: int = 12

    @property
    def shown(self) -> str:
        others = {
            "snakemake": "`snakemake table1`",
            "several": "`padir train --distributed`, two processes",
        }
        return others.get(self.name, f"`padir {self.name}`")


def clean_arguments(folder: Path) -> list[str]:
    """Two languages, 8,000 training pairs with duplicates and empty sides."""
    from padir.config.data import Dataset, FilesSource
    from padir.files import write_json

    draw = random.Random(0)
    raw = folder / "raw"
    raw.mkdir()
    for split, pairs in (("train", 8_000), ("valid", 50), ("test", 50)):
        lines = [" ".join(draw.choices(WORDS, k=draw.randint(split != "train", 9)))
                 for _ in range(pairs)]  # fmt: skip
        (raw / f"{split}.de").write_text("".join(f"{split} {line}\n" for line in lines))
        (raw / f"{split}.en").write_text("".join(f"{line} {split}\n" for line in lines))
    sides = {split: {"files": {lang: str(raw / f"{split}.{lang}") for lang in ("de", "en")}}
             for split in ("train", "valid", "test")}  # fmt: skip
    dataset = Dataset(source=FilesSource(**sides), directions=["de-en"])
    write_json(folder / "dataset.json", dataset.model_dump(mode="json"))
    return [
        *("clean", "--config-dataset", str(folder / "dataset.json"), "--raw", str(raw)),
        *("--out", str(folder / "data"), "--threads", "1"),
    ]


def vocabulary_arguments(folder: Path) -> list[str]:
    """A vocabulary of 1,000 lines."""
    from padir.config.data import VocabularySettings
    from padir.files import write_json, write_lines

    draw = random.Random(1)
    letters = "abcdefghijklmnop"
    for language in ("de", "en"):
        write_lines(
            folder / f"train.{language}",
            (" ".join("".join(draw.choices(letters, k=4)) for _ in range(8)) for _ in range(1000)),
        )
    settings = VocabularySettings(kind="unigram", size=120)
    write_json(folder / "settings.json", settings.model_dump(mode="json"))
    texts = [str(folder / f"train.{language}") for language in ("de", "en")]
    return [
        *("vocab", "--settings", str(folder / "settings.json"), "--text", *texts),
        *("--out", str(folder / "spm.model")),
    ]


def train_arguments(folder: Path) -> list[str]:
    """A tiny AR training of 400 steps with a checkpoint every 20."""
    from tests.training import tiny_spec, train_arguments, write_toy

    write_toy(folder)
    spec = tiny_spec("ar", steps=400, checkpoint_every=20, validate_every=100, selection="average")
    return ["train", *train_arguments(folder, spec), "--threads", "1"]


def several_arguments(folder: Path) -> list[str]:
    """A tiny AR training of 60 steps with a checkpoint every 10: processes wait at every step."""
    from tests.training import tiny_spec, train_arguments, write_toy

    write_toy(folder)
    spec = tiny_spec("ar", steps=60, checkpoint_every=10, validate_every=30, selection="average")
    return ["train", *train_arguments(folder, spec), "--threads", "1"]


def in_own_process(folder: Path, arguments: Callable[[], list[str]]) -> None:
    """Run `padir` on what `arguments` returns, outside this process: it may not load JAX."""
    from benchmarks.faults.trial import in_fork

    def work() -> int:
        from padir.cli import main

        return main(arguments())

    log = folder.with_name("inputs.log")
    if in_fork(work, log):
        raise SystemExit(log.read_text())


def write_tiny_bundle(folder: Path) -> None:
    """A bundle of a tiny AR model in `folder`/bundle, and its toy text beside it."""

    def train() -> list[str]:
        from tests.training import tiny_spec, train_arguments, write_toy

        write_toy(folder)
        spec = tiny_spec("ar", steps=200, checkpoint_every=200, validate_every=100)
        return ["train", *train_arguments(folder, spec), "--threads", "1"]

    in_own_process(folder, train)


def write_sources(path: Path, lines: int) -> None:
    draw = random.Random(2)
    texts = (" ".join(draw.choices(WORDS, k=draw.randint(3, 7))) for _ in range(lines))
    path.write_text("".join(f"{text}\n" for text in texts))


def translate_arguments(folder: Path) -> list[str]:
    """Forty lines through a tiny AR model."""
    write_tiny_bundle(folder)
    write_sources(folder / "source.txt", 40)
    return ["translate", "--model", str(folder / "bundle"), "--threads", "1"]


def tune_arguments(folder: Path) -> list[str]:
    """The length rule of a tiny AR model's beam search."""
    write_tiny_bundle(folder)
    return [
        *("tune", "--bundle", str(folder / "bundle"), "--decoder", "beam", "--threads", "1"),
        *("--source", str(folder / "valid.source"), "--references", str(folder / "valid.target")),
        *("--out", str(folder / "tuned.json")),
    ]


def decode_arguments(folder: Path) -> list[str]:
    """Forty lines through a tiny AR model, with their records."""
    write_tiny_bundle(folder)
    write_sources(folder / "source.txt", 40)
    return [
        *("decode", "--bundle", str(folder / "bundle"), "--decoder", "greedy", "--threads", "1"),
        *("--source", str(folder / "source.txt"), "--out", str(folder / "decoded.jsonl")),
        *("--text", str(folder / "decoded.txt")),
    ]


def score_arguments(folder: Path) -> list[str]:
    """Scores of what a tiny AR model makes of forty lines, which are the references too."""
    arguments = decode_arguments(folder)
    in_own_process(folder, lambda: arguments)
    return [
        *("score", "--hypotheses", str(folder / "decoded.txt")),
        *("--references", str(folder / "source.txt"), "--target-language", "xt"),
        *("--decode", str(folder / "decoded.jsonl"), "--json", str(folder / "score.json")),
        *("--provenance", str(folder / "decoded.jsonl.provenance.json")),
    ]


def distill_arguments(folder: Path) -> list[str]:
    """Twenty parts through a tiny AR model."""
    write_tiny_bundle(folder)
    write_sources(folder / "source.txt", 20 * PART_LINES)
    return [
        *("distill", "--bundle", str(folder / "bundle"), "--decoder", "greedy"),
        *("--source", str(folder / "source.txt"), "--out", str(folder / "distilled.txt")),
        *("--threads", "1"),
    ]


def small_parts() -> None:
    from padir.distill import teacher

    teacher.PART_LINES = PART_LINES


def cloud_arguments(folder: Path) -> list[str]:
    """Lines that the fake service of the tests translates; its address is in teacher.json."""
    from benchmarks.faults.service import endpoint
    from padir.files import write_json

    write_sources(folder / "source.txt", 600)
    teacher = {"endpoint": endpoint(), "ledger": str(folder / "ledger.sqlite"),
               "concurrency": 2, "request_characters": 150}  # fmt: skip
    write_json(folder / "teacher.json", teacher)
    return [
        *("distill-cloud", "--teacher", str(folder / "teacher.json"), "--max-usd", "1"),
        *("--source", str(folder / "source.txt"), "--source-language", "de"),
        *("--target-language", "en", "--out", str(folder / "bought.txt")),
    ]


def impatient() -> None:
    """Wait no minutes for a service that is down."""
    from padir.distill import cloud

    cloud.DOUBTFUL_SECONDS = (0.5, 1.0, 2.0)


def workflow_arguments(folder: Path) -> list[str]:
    """Table 1 of an AR and a PaDIR training of the tests' tiny experiment."""
    import yaml

    from tests.workflow.conftest import ROOT, TINY

    config = yaml.safe_load(TINY)
    del config["teachers"], config["trainings"]["taught"], config["evaluation"]["samplers"]
    del config["evaluation"]["core"][2]
    (folder / "tiny.yaml").write_text(yaml.safe_dump(config))
    return [
        *("--snakefile", str(ROOT / "Snakefile"), "--cores", "2", "--directory", str(folder)),
        *("--configfile", str(folder / "tiny.yaml"), "--", "table1"),
    ]


WORKFLOW_OUTPUTS = ("data/**/*.x?", "data/**/*.jsonl", "runs/**/bundle/*.*", "runs/**/decode/*",
                    "runs/**/score/*", "report/tables/*")  # fmt: skip
WORKFLOW_DAMAGED = ("data/**/*.x?", "data/**/*.jsonl", "vocab/**/spm.model", "runs/**/bundle/**/*",
                    "runs/**/work/**/checkpoints/**/*", "runs/**/work/**/candidates/*",
                    "runs/**/decode/*.jsonl")  # fmt: skip
WORKFLOW_SETTINGS = ("runs/*/*/*/spec.json", "data/**/dataset.json", "vocab/**/settings.json",
                     "decoders/**/*.json", "report/config.json", "data/**/*statistics.json",
                     "data/**/grammar.json", "runs/**/score/*.json")  # fmt: skip
COMMANDS = (
    Command("clean", clean_arguments, ("data/*.*",), ("kill", "write", "full", "two", "clock")),
    Command("vocab", vocabulary_arguments, ("spm.model",),
            ("kill", "write", "full", "two", "clock")),
    Command("distill-cloud", cloud_arguments, ("bought.txt",),
            ("kill", "write", "full", "damage", "two", "clock"),
            damaged=("ledger.sqlite*",), patch=impatient),
    Command("translate", translate_arguments, ("out.txt",), ("kill", "input", "clock"),
            inputs=("bundle/*.*",), stdin="source.txt"),
    Command("tune", tune_arguments, ("tuned.json",),
            ("kill", "write", "full", "input", "two", "clock"), inputs=("bundle/*.*",), calls=4),
    Command("decode", decode_arguments, ("decoded.*",),
            ("kill", "write", "full", "input", "two", "clock"), inputs=("bundle/*.*",), calls=4),
    Command("score", score_arguments, ("score.json",),
            ("kill", "write", "full", "input", "two", "clock"),
            inputs=("decoded.txt", "decoded.jsonl", "decoded.jsonl.provenance.json"), calls=4),
    Command("distill", distill_arguments, ("distilled.txt",),
            ("kill", "write", "full", "damage", "input", "two", "clock"),
            damaged=("distilled.txt.parts/*/*",), inputs=("bundle/*.*",), patch=small_parts,
            calls=60),
    Command("train", train_arguments, ("bundle/*", "metrics.jsonl"),
            ("kill", "write", "full", "damage", "input", "two", "clock"),
            damaged=("work/checkpoints/**/*", "work/candidates/*", "work/saved/*",
                     "work/metrics.jsonl"),
            inputs=("train.*", "valid.*", "spm.model"), resumes=True, restarts=True, calls=120),
    Command("several", several_arguments, ("bundle/*", "metrics.jsonl"),
            ("member", "together", "still")),
    Command("snakemake", workflow_arguments, tuple(f"results/{x}" for x in WORKFLOW_OUTPUTS),
            ("scheduler", "removal", "group", "job", "full", "damage", "settings", "two", "clock"),
            damaged=tuple(f"results/{x}" for x in WORKFLOW_DAMAGED),
            settings=tuple(f"results/{x}" for x in WORKFLOW_SETTINGS)),
)  # fmt: skip
