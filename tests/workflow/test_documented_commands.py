"""Commands of the documents do what they say: `padir` on tiny models, `snakemake` as dry runs.

`tests/documents.py` says which commands are run, and what stands in for the others.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from padir.decode.candidates import LengthRule
from tests.decoding import tiny_decoder, write_decoder, write_tiny_bundle
from tests.documents import PAGES, PLAN, ROOT, RUN, all_commands, fences, way_of

pytestmark = pytest.mark.slow
COMMANDS = all_commands()
TO_RUN: dict[str, list[str]] = {}
for command in COMMANDS:
    if way_of(command)[0] == RUN:
        TO_RUN.setdefault(command.page, []).append(command.filled)
PLANNED = sorted({(c.filled, c.page) for c in COMMANDS if way_of(c)[0] == PLAN})
SNIPPETS = [
    pytest.param(str(path.relative_to(ROOT)), content, id=f"{path.relative_to(ROOT)}:{number}")
    for path in PAGES
    for number, (language, content) in enumerate(fences(path.read_text(encoding="utf-8")))
    if language == "python"
]
PLACE = "results/runs/synthetic/xs-xt/padir_distilled/seed0"
RULE = LengthRule(0.6, 1.0)


def sentences(count: int) -> str:
    """Lines of eight words out of many, so that vocabularies of usual sizes can be learnt."""
    random = Random(count)
    syllables = [first + last for first in "bdfgklmnprstvz" for last in "aeiou"]
    words = ["".join(random.choices(syllables, k=3)) for _ in range(5 * count)]
    return "".join(" ".join(random.choices(words, k=8)) + "\n" for _ in range(count))


def write_dataset(folder: Path) -> None:
    """Settings of a dataset with extra sources, and its cleaned text, references included."""
    folder.mkdir(parents=True, exist_ok=True)
    splits = {s: {"files": {code: f"{s}.{code}" for code in ("de", "en")}} for s in ("train",)}
    splits |= {s: splits["train"] for s in ("valid", "test")}
    settings = {"source": {"kind": "files", **splits}, "directions": ["de-en"]}
    settings["extra_sources"] = {"files": {"de": "captions.de"}}
    (folder / "extra.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "captions.de").write_text("ta no ve\n", encoding="utf-8")
    for split in ("train", "valid", "test"):
        for code in ("de", "en"):
            (folder / f"{split}.{code}").write_text("ba ko mi\nre su\n", encoding="utf-8")
        lines = '["ba ko mi"]\n["re su"]\n'
        (folder / f"{split}.references.de.jsonl").write_text(lines, encoding="utf-8")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with what the documents' commands read: bundles, text, a corpus, configs."""
    folder = tmp_path_factory.mktemp("place")
    bundle = write_tiny_bundle(folder / PLACE / "bundle", "padir")
    write_decoder(bundle / "decoders/padir.json", tiny_decoder("padir", RULE))
    (folder / "bundle").symlink_to(bundle)
    run_folder = folder / "results/runs/corpus/de-en/padir/seed0"
    run_folder.mkdir(parents=True)
    (run_folder / "bundle").symlink_to(bundle)
    real_runs = folder / "results/runs/multi30k/de-en"
    padir = write_tiny_bundle(real_runs / "padir/seed0/bundle", "padir")
    write_decoder(padir / "decoders/padir.json", tiny_decoder("padir", RULE))
    masked = ("masked", "masked_reranked", "masked_three", "masked_fast", "masked_bfloat16")
    masked += ("masked_three_bfloat16", "masked_fast_bfloat16", "reranked_bfloat16")
    masked += ("reranked_four_bfloat16", "masked_four_bfloat16")
    # A reranker is named by its training.
    reranked = {("padir_large", "masked_three"), ("padir_large", "masked_reranked")}
    reranked |= {("padir_masked", "masked_reranked"), ("padir_large", "reranked_bfloat16")}
    reranked |= {("padir_large", "reranked_four_bfloat16")}
    for training in ("padir_large", "padir_masked"):
        model = write_tiny_bundle(real_runs / f"{training}/seed0/bundle", "padir")
        for name in masked:
            reranker = {"reranker": "tiny_ar"} if (training, name) in reranked else {}
            decoder = tiny_decoder("padir", RULE, name=name, **reranker)
            write_decoder(model / f"decoders/{name}.json", decoder)
    fast = folder / "results/decoders/multi30k/de-en/masked_fast.json"
    write_decoder(fast, tiny_decoder("padir", name="masked_fast"))
    searches = ("greedy", "greedy_bfloat16", "beam", "beam_bfloat16")
    for name in ("ar", "ar_large", "ar_large_distilled"):
        model = write_tiny_bundle(real_runs / f"{name}/seed0/bundle", "ar")
        for search in searches:
            weights = {"weights": "bfloat16"} if search.endswith("bfloat16") else {}
            decoder = tiny_decoder(
                search.partition("_")[0], LengthRule(0.6, 0.0), search, **weights
            )
            write_decoder(model / f"decoders/{search}.json", decoder)
    (folder / "config").mkdir()
    for path in (ROOT / "config").glob("*.yaml"):
        (folder / "config" / path.name).symlink_to(path)
    for name in ("in", "in.de", "out", "references.txt"):
        (folder / name).write_text("ba ko mi\nre su\n", encoding="utf-8")
    write_dataset(folder)
    write_dataset(folder / "results/data/multi30k/de-en")
    (folder / "corpus").mkdir()
    for name in ("corpus/train.de", "corpus/train.en", "text.de", "text.en", "a.txt", "b.txt"):
        (folder / name).write_text(sentences(600), encoding="utf-8")
    return folder


def environment() -> dict[str, str]:
    """Of a shell in which the virtual environment is active."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def expanded(line: str) -> list[str]:
    """Words of a command as a shell passes them on, {0,1,2} expanded."""
    printed = ["bash", "-c", f"printf '%s\\0' {line}"]
    return subprocess.check_output(printed, text=True).split("\0")[:-1]


def remove_proposal(folder: Path) -> None:
    """Remove what `padir init corpus` writes: several lines of the documents write it."""
    (folder / "config/corpus.yaml").unlink(missing_ok=True)
    shutil.rmtree(folder / "data/corpus", ignore_errors=True)


def serve_and_stop(line: str, folder: Path) -> None:
    """Start a server, wait for its first line, and interrupt it."""
    words = [*shlex.split(line), "--port", "0"]
    with subprocess.Popen(words, cwd=folder, env=environment(), stdout=subprocess.PIPE) as served:
        assert served.stdout is not None
        assert re.match(rb"http://127\.0\.0\.1:\d+/", served.stdout.readline())
        served.send_signal(signal.SIGINT)
        assert served.wait(60) == 130


def run_line(line: str, folder: Path) -> None:
    """Run a `padir` command of a document; it must succeed, and write a line for each of two."""
    if line.startswith("padir serve"):
        serve_and_stop(line, folder)
        return
    if line.startswith("padir init") and "data/corpus" not in line:
        remove_proposal(folder)
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    written = re.search(r"> (out\S*)", line)
    if written:
        assert len((folder / written[1]).read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.parametrize("page", sorted(TO_RUN))
def test_the_padir_commands_of_a_page_run_in_their_order(place, page):
    for line in TO_RUN[page]:
        run_line(line, place)


@pytest.mark.parametrize(("page", "code"), SNIPPETS)
def test_the_python_of_the_documents_runs(place, page, code):
    for line in TO_RUN.get(page, ()):
        written = re.search(r"--out (\S+\.json)", line)
        if written and f'open("{written[1]}")' in code:
            run_line(line, place)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def real_text(tmp_path_factory) -> Path:
    """A folder that looks like Multi30k to a dry run."""
    folder = tmp_path_factory.mktemp("multi30k")
    for split in ("train", "valid", "test2016"):
        for language in ("de", "en"):
            (folder / f"{split}.{language}").write_text(sentences(4_000), encoding="utf-8")
    (folder / "captions.de").write_text("ko\n", encoding="utf-8")
    return folder


def write_shown_settings(page: str, name: str, folder: Path) -> None:
    """Write the first yaml block of a page after it names a file `name`, as that file."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert f"`{name}`" in text, f"{page}: a command takes {name}, and nothing says what is in it"
    shown = [code for kind, code in fences(text[text.index(f"`{name}`") :]) if kind == "yaml"]
    (folder / name).write_text(shown[0], encoding="utf-8")


@pytest.mark.parametrize(("line", "page"), PLANNED, ids=[line for line, _ in PLANNED])
def test_a_snakemake_command_of_the_documents_is_planned(
    snakemake, place, real_text, tmp_path, line, page
):
    if "config/corpus.yaml" in line:
        remove_proposal(place)
        made = [sys.executable, "-m", "padir", "init", "corpus"]
        subprocess.run(made, cwd=place, check=True, capture_output=True)
    line = line.replace("/path/to/multi30k", str(real_text))
    words = [word for word in expanded(line)[1:] if word != "-n"]
    for number, word in enumerate(words):
        if word == "config/corpus.yaml":
            words[number] = str(place / word)
        elif re.fullmatch(r"\w+\.yaml", word):
            write_shown_settings(page, word, place)
            words[number] = str(place / word)
        elif re.match(r"(config|workflow|\.test)/", word):
            words[number] = str(ROOT / word)
    # Paths in a config of one's own are relative to the working folder.
    folder = place if "config/corpus.yaml" in line else tmp_path / "place"
    # With its "=", --quiet takes one word; without it, the targets that follow too.
    planned = snakemake("-n", "--quiet=rules", *words, folder=folder, cores=())
    assert planned.returncode == 0, (planned.stdout + planned.stderr)[-2000:]
