"""The workflow from outside: started as a user starts it, in a folder of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]

# Stands in for `padir` where only the order of jobs is looked at: makes what a verb would make.
STAND_IN = """\
#!{python} -S
import os, sys
verb, rest = sys.argv[1], sys.argv[2:]
def flag(name):
    return rest[rest.index(name) + 1]
def write(path):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as file:
        spec = open(flag("--spec")).read() if "--spec" in rest else ""
        file.write(" ".join(sys.argv[1:]) + spec)
if verb == "fetch":
    write(flag("--out") + "/provenance.json")
elif verb == "clean":
    first, second = os.path.basename(flag("--out")).split("-")
    for split in ("train", "valid", "test"):
        write(flag("--out") + "/" + split + "." + first)
        write(flag("--out") + "/" + split + "." + second)
    write(flag("--out") + "/statistics.json")
    write(flag("--out") + "/README.md")
elif verb == "train":
    write(flag("--out") + "/model.safetensors")
    write(flag("--out") + "/../metrics.jsonl")
    write(flag("--out") + "/../provenance.json")
elif verb == "report":
    part, out = flag("--only"), flag("--out")
    for path in (
        "/tables/%s.csv", "/tables/%s.md", "/tables/%s.tex", "/figures/%s.svg", "/figures/%s.csv",
        "/%s.md", "/%s.json",
    ):
        if ("tables" in path) == (part in {tables}) and ("figures" in path) == (part in {figures}):
            write(out + path % part)
    if part == "page":
        write(out + "/index.html")
else:
    for name in ("--out", "--text", "--json"):
        if name in rest:
            write(flag(name))
"""
ANALYSIS_TABLES = {"table4", "table5", "dependency"}
CORE_TABLES = {"table1", "stutter", "latency", "distillation", "data"} | ANALYSIS_TABLES
DEFAULT_TABLES = CORE_TABLES | {"table2", "ablations", "samplers"}
# Where the config names scorers, and models that mind dependence.
DEPENDENCY_TABLES = {"dependency_decoding", "redundancy"}
TABLES = DEFAULT_TABLES | {"table3"} | DEPENDENCY_TABLES
HEAT_MAPS = {"self_attention_heads", "cross_attention_heads"}
FIGURES = HEAT_MAPS | {
    *("quality_passes", "quality_latency", "stutter_passes", "training", "training_time"),
}

TINY = """\
datasets:
  toy:
    source:
      {kind: synthetic, train: 400, valid: 40, test: 40, nouns: 6, verbs: 5, adjectives: 3,
       adverbs: 2, postpositions: 2, max_words: 8}
    directions: [xs-xt]
    vocabulary: {kind: word, size: 300}
teachers:
  ar: {kind: model, model: ar, decode: greedy, shards: 2}
model_defaults:
  architecture:
    {width: 16, heads: 2, head_width: 8, encoder_layers: 1, decoder_layers: 1,
     feed_forward_width: 32, max_positions: 32, length_classes: 32}
  optimizer: {kind: adam, peak_learning_rate: 3e-3, warmup_steps: 5}
  training:
    {steps: 20, batch_tokens: 320, buckets: [32], validate_every: 10, checkpoint_every: 10}
models:
  ar: {system: ar, decode: [greedy]}
  raw: {decode: [T1]}
  taught: {targets: ar, decode: [T1, T2]}
evaluation:
  {bootstrap_samples: 100, latency_sentences: 10, latency_repeats: 1,
   samplers: {gibbs: {model: taught, chains: 2, steps: 4, energy_every: 2}}}
theory: {seeds: []}
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A config that runs in a minute or two: one AR model, PaDIR on raw and distilled targets."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture
def stand_in(tmp_path: Path) -> dict[str, str]:
    """An environment whose `padir` writes files at once instead of computing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = STAND_IN.replace("{python}", sys.executable)
    script = script.replace("{tables}", repr(TABLES)).replace("{figures}", repr(FIGURES))
    (folder / "padir").write_text(script)
    (folder / "padir").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def snakemake(tmp_path: Path) -> Run:
    """Run snakemake on the project's Snakefile with results in `folder` (default: a fresh one)."""

    def run(*arguments: str, folder: Path | None = None, env: dict[str, str] | None = None):
        place = folder or tmp_path / "place"
        place.mkdir(parents=True, exist_ok=True)
        command = ["snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"]
        return subprocess.run(
            [*command, "--directory", str(place), *arguments],
            cwd=place,
            env=env,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )

    return run


def job_counts(output: str) -> dict[str, int]:
    """The table of jobs that a dry run prints; empty if there is nothing to do."""
    table = re.search(r"Job stats:\njob +count\n-+ +-+\n(.*?)\ntotal +\d+", output, re.DOTALL)
    if table is None:
        return {}
    rows = (line.split() for line in table[1].splitlines())
    return {name: int(count) for name, count in rows}
