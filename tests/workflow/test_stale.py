"""No number of an old model under new settings: edits, interruptions, and deleted files."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from padir.config.read import merge
from tests.workflow.conftest import TINY

pytestmark = pytest.mark.slow
EXPERIMENT = yaml.safe_load(TINY)
RUN = Path("results/runs/toy/xs-xt")
LONGER = {"trainings": {"raw": {"training": {"steps": 30}}}}


@pytest.fixture
def config(tmp_path) -> Callable[[dict], list[str]]:
    """Arguments for the tiny experiment with changes."""

    def arguments(changes: dict) -> list[str]:
        path = tmp_path / "experiment.yaml"
        path.write_text(json.dumps(merge(EXPERIMENT, changes)), encoding="utf-8")
        return ["--configfile", str(path)]

    return arguments


def table1(place: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    """Lines of table 1 by training, decoder and passes."""
    text = (place / "results/report/tables/table1.csv").read_text(encoding="utf-8")
    lines = list(csv.DictReader(text.splitlines()))
    return {(line["training"], line["decoder"], line["T"]): line for line in lines}


def bleu_on_page(page: str, *row: str) -> set[str]:
    """BLEU of a row, by training, decoder and passes, in all of the page's tables that have it."""
    head: list[str] = []
    values = set()
    for line in re.findall(r"<tr[^>]*>(.*?)</tr>", page, re.DOTALL):
        cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line, re.DOTALL)
        cells = [re.sub(r"<[^>]*>", "", cell).strip() for cell in cells]
        if "Training" in cells:
            head = cells
        elif {"Decoder", "T", "BLEU"} <= {*head} and len(cells) == len(head):
            named = dict(zip(head, cells, strict=True))
            if (named["Training"], named["Decoder"], named["T"]) == row:
                values.add(named["BLEU"])
    return values


def trained_steps(place: Path) -> int:
    """Steps in the bundle's spec of the raw training."""
    spec = json.loads((place / RUN / "raw/seed0/bundle/spec.json").read_text())
    return spec["run_spec"]["run"]["training"]["steps"]


def score_digest(place: Path) -> str:
    path = place / RUN / "raw/seed0/score/test.padir.T1.json"
    return json.loads(path.read_text())["digests"]["training"]


def test_an_edit_changes_every_number_that_it_concerns(snakemake, config, tmp_path):
    place = tmp_path / "place"
    first = snakemake(*config({}), folder=place)
    assert first.returncode == 0, first.stderr[-2000:]
    before, old_digest = table1(place), score_digest(place)
    page = place / "results/report/index.html"
    old_page = page.read_text(encoding="utf-8")
    second = snakemake(*config(LONGER), folder=place)
    assert second.returncode == 0, second.stderr[-2000:]
    after = table1(place)
    key = ("raw", "padir", "1")
    assert after.keys() == before.keys()
    assert after[key]["bleu"] != before[key]["bleu"]
    # Only numbers of the raw training change.
    assert {k for k in after if after[k] != before[k]} == {key}
    assert trained_steps(place) == 30
    assert score_digest(place) != old_digest
    assert bleu_on_page(old_page, *key) == {f"{float(before[key]['bleu']):.2f}"}
    assert bleu_on_page(page.read_text(encoding="utf-8"), *key) == {
        f"{float(after[key]['bleu']):.2f}"
    }

    # Resamples and the size of the test split, after a finished run.
    for changes in (
        {"evaluation": {"bootstrap_samples": 120}},
        {"datasets": {"toy": {"source": {"test": 30}}}},
    ):
        done = snakemake(*config(merge(LONGER, changes)), folder=place)
        assert done.returncode == 0, done.stderr[-2000:]

    # What is deleted is made again, and nothing else about the table changes.
    finished = table1(place)
    for name in (
        "results/data/toy/xs-xt/test.references.xt.jsonl",
        "results/data/toy/xs-xt/grammar.json",
        RUN / "raw/seed0/bundle/decoders/padir.json",
        RUN / "raw/seed0/decode/test.padir.T1.txt",
        RUN / "raw/seed0/score/test.padir.T1.json",
    ):
        (place / name).unlink()
        done = snakemake(*config(merge(LONGER, changes)), "--", str(name), folder=place)
        assert done.returncode == 0, done.stderr[-2000:]
        assert (place / name).is_file(), name
    # Nobody asks for a vocabulary by name, but decoding reads it.
    pieces = place / RUN / "raw/seed0/bundle/spm.model"
    pieces.unlink()
    score = RUN / "raw/seed0/score/test.padir.T1.json"
    (place / RUN / "raw/seed0/decode/test.padir.T1.txt").unlink()
    (place / score).unlink()
    for target in (str(score), "table1"):
        done = snakemake(*config(merge(LONGER, changes)), "--", target, folder=place)
        assert done.returncode == 0, done.stderr[-2000:]
    assert pieces.is_file()
    assert table1(place) == finished


def trainer_of(place: Path) -> int | None:
    """The process id of `padir train` of the raw training in this folder."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            here = os.readlink(path / "cwd") == str(place)
        except OSError:
            continue
        # Not `padir launch`, which has the same words after its own.
        verbs = [after for word, after in pairwise(words[:4]) if word.endswith(b"padir")]
        works_here = any(b"/raw/seed0/work" in word for word in words)
        if here and verbs == [b"train"] and works_here:
            return int(path.name)
    return None


def stop(process: subprocess.Popen[bytes], trainer: int, how: str) -> None:
    """Stop a retraining."""
    if how == "sigterm_to_trainer":
        os.kill(trainer, signal.SIGTERM)
    elif how == "ctrl_c":
        os.killpg(process.pid, signal.SIGINT)
    elif how == "sigkill":
        process.kill()
        os.kill(trainer, signal.SIGKILL)
    else:
        os.kill(trainer, signal.SIGSEGV)


def report_of(
    place: Path, before: dict, settings: dict
) -> dict[tuple[str, str, str], dict[str, str]]:
    """Table 1 of what lies there, made by the verb alone with these settings over those before."""
    config = place.parent / "settings.json"
    config.write_text(json.dumps(merge(before, settings)), encoding="utf-8")
    command = [sys.executable, "-m", "padir", "report", "--config", str(config)]
    out = ["--only", "table1", "--out", str(place.parent / "shown")]
    done = subprocess.run([*command, *out], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = (place.parent / "shown").rglob("table1.csv")
    lines = list(csv.DictReader(path.read_text().splitlines()))
    return {(line["training"], line["decoder"], line["T"]): line for line in lines}


def wait_for_trainer(place: Path, process: subprocess.Popen[bytes], other: int = 0) -> int:
    """The next trainer that is not `other`."""
    deadline = time.monotonic() + 300
    while (trainer := trainer_of(place)) in (None, other) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert trainer not in (None, other), (place / "started.log").read_text()[-2000:]
    assert trainer is not None
    return trainer


HOW = ["sigterm_to_trainer", "ctrl_c", "sigkill", "failed_retry"]


@pytest.mark.parametrize("how", HOW)
def test_a_stopped_retraining_leaves_no_score_of_the_old_model(
    snakemake, start_snakemake, config, tmp_path, how
):
    place = tmp_path / "place"
    rows = [
        {"trainings": ["ar"], "decoders": ["greedy"]},
        {"trainings": ["raw"], "decoders": ["padir"], "passes": [1]},
    ]
    small = {"evaluation": {"core": rows, "samplers": {}}}
    small |= {"trainings": {"ar": {"training": {"steps": 10}}}}
    edited = merge(small, {"trainings": {"raw": {"training": {"steps": 400}}}})
    done = snakemake(*config(small), "--", "table1", folder=place)
    assert done.returncode == 0, done.stderr[-2000:]

    # Snakemake removes it where the stop comes while it is written.
    before = json.loads((place / "results/report/config.json").read_text())

    retries = ("--retries", "1") if how == "failed_retry" else ()
    command = (*config(edited), *retries, "--", "table1")
    process = start_snakemake(*command)
    trainer = wait_for_trainer(place, process)
    stop(process, trainer, how)
    if how == "failed_retry":
        stop(process, wait_for_trainer(place, process, trainer), how)
    assert process.wait(timeout=300) != 0
    spec = json.loads((place / RUN / "raw/spec.json").read_text())
    assert spec["run"]["training"]["steps"] == 400
    # No score of the old model goes by the new settings: what is there says whose it is, and the
    # report, which is as it was, shows no number under the new settings.
    score = place / RUN / "raw/seed0/score/test.padir.T1.json"
    digests = {score_digest(place)} if score.exists() else set()
    assert spec["digests"]["training"] not in digests
    assert not (place / RUN / "raw/seed0/bundle/model.safetensors").exists()
    shown = report_of(place, before, edited)
    greedy = ("ar", "greedy", "N")
    assert [*shown] == [greedy] and shown[greedy]["bleu"] == table1(place)[greedy]["bleu"]

    # The same command, whatever was left behind.
    again = snakemake(*command, folder=place)
    assert again.returncode == 0, again.stderr[-2000:]
    assert trained_steps(place) == 400
    assert score_digest(place) == spec["digests"]["training"]
    fresh = snakemake(*config(edited), "--", "table1", folder=tmp_path / "fresh")
    assert fresh.returncode == 0, fresh.stderr[-2000:]
    assert table1(place) == table1(tmp_path / "fresh")
