"""Commands of the documents do what they say: `padir` on a tiny model, `snakemake` as dry runs."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from padir.decode.candidates import LengthRule
from tests.decoding import tiny_decoder, write_decoder, write_tiny_bundle
from tests.test_docs import DOCUMENTS, ROOT, whole_commands

pytestmark = pytest.mark.slow
PAGES = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]
# Not run here, and why.
EXEMPT = {
    "padir plan --config FILE": "a placeholder; the line with config/paper.yaml is run",
    "padir theory EXPERIMENT": "a placeholder",
    "snakemake --cores 2 --configfile F": "a placeholder",
}
RUN = ("README.md", "docs/translate.md", "docs/own-text.md")
PLACE = "results/runs/synthetic/xs-xt/padir_distilled/seed0"


def commands(verb: str, *names: str) -> list[str]:
    """Commands that stand in blocks of the documents, each once."""
    pages = [ROOT / name for name in names] or PAGES
    lines = [line for page in pages for line in whole_commands(page.read_text(encoding="utf-8"))]
    ours = (line.partition("  #")[0].strip() for line in lines if line.startswith(f"{verb} "))
    return sorted({re.sub(r" +", " ", line) for line in ours} - EXEMPT.keys())


def sentences(count: int) -> str:
    """Lines of eight words out of many, so that vocabularies of usual sizes can be learnt."""
    random = Random(count)
    syllables = [first + last for first in "bdfgklmnprstvz" for last in "aeiou"]
    words = ["".join(random.choices(syllables, k=3)) for _ in range(5 * count)]
    return "".join(" ".join(random.choices(words, k=8)) + "\n" for _ in range(count))


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with what the documents' commands read: a bundle, text, a corpus."""
    folder = tmp_path_factory.mktemp("place")
    bundle = write_tiny_bundle(folder / PLACE / "bundle", "padir")
    write_decoder(bundle / "decoders/padir.json", tiny_decoder("padir", LengthRule(0.6, 1.0)))
    (folder / "bundle").symlink_to(bundle)
    run_folder = folder / "results/runs/corpus/de-en/padir/seed0"
    run_folder.mkdir(parents=True)
    (run_folder / "bundle").symlink_to(bundle)
    (folder / "config").mkdir()
    for name in ("paper.yaml", "grid.yaml"):
        (folder / "config" / name).symlink_to(ROOT / "config" / name)
    for name in ("in", "in.de", "out", "references.txt"):
        (folder / name).write_text("ba ko mi\nre su\n", encoding="utf-8")
    (folder / "corpus").mkdir()
    for name in ("corpus/train.de", "corpus/train.en", "text.de", "text.en", "a.txt", "b.txt"):
        (folder / name).write_text(sentences(600), encoding="utf-8")
    return folder


@pytest.mark.parametrize("line", commands("padir", *RUN))
def test_a_padir_command_of_the_documents_runs(place, line):
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    if line.startswith("padir serve"):
        words = [*shlex.split(line), "--port", "0"]
        with subprocess.Popen(words, cwd=place, env=environment, stdout=subprocess.PIPE) as served:
            assert served.stdout is not None
            assert re.match(rb"http://127\.0\.0\.1:\d+/", served.stdout.readline())
            served.send_signal(signal.SIGINT)
            assert served.wait(60) == 130
        return
    # One of several lines that write the same config.
    (place / "config/corpus.yaml").unlink(missing_ok=True)
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    written = re.search(r"> (out\S*)", line)
    if written:
        assert len((place / written[1]).read_text(encoding="utf-8").splitlines()) == 2


@pytest.fixture(scope="module")
def real_text(tmp_path_factory) -> Path:
    """A folder that looks like Multi30k to a dry run."""
    folder = tmp_path_factory.mktemp("multi30k")
    for split in ("train", "valid", "test2016"):
        for language in ("de", "en"):
            (folder / f"{split}.{language}").write_text(sentences(4_000), encoding="utf-8")
    (folder / "captions.de").write_text("ko\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("line", commands("snakemake"))
def test_a_snakemake_command_of_the_documents_is_planned(
    snakemake, place, real_text, tmp_path, line
):
    if "config/corpus.yaml" in line:
        (place / "config/corpus.yaml").unlink(missing_ok=True)
        made = [sys.executable, "-m", "padir", "init", "corpus"]
        subprocess.run(made, cwd=place, check=True, capture_output=True)
    line = line.replace("/path/to/multi30k", str(real_text))
    words = shlex.split(line)[1:]
    for number, word in enumerate(words):
        if word == "config/corpus.yaml":
            words[number] = str(place / word)
        elif re.match(r"(config|workflow|\.test)/", word):
            words[number] = str(ROOT / word)
    # Paths in a config of one's own are relative to the working folder.
    folder = place if "config/corpus.yaml" in line else tmp_path / "place"
    planned = snakemake("-n", "--quiet", "rules", *words, folder=folder, cores=())
    assert planned.returncode == 0, (planned.stdout + planned.stderr)[-2000:]
