"""No number of an old model under new settings: edits, interruptions, and deleted files."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from padir.checksums import read_with_checksum
from padir.config.read import merge
from tests.workflow.conftest import TINY
from tests.workflow.shown import different, shown

pytestmark = pytest.mark.slow
EXPERIMENT = yaml.safe_load(TINY)
RUN = Path("results/runs/toy/xs-xt")
LONGER = {"trainings": {"raw": {"training": {"steps": 30}}}}


EDITS = {
    "training": (LONGER, {"raw"}),
    "decoder": ({"decoders": {"padir": {"length_candidates": 4}}}, {"raw", "taught"}),
    "resamples": ({"evaluation": {"bootstrap_samples": 120}}, {"ar", "raw", "taught"}),
    "test_split": ({"datasets": {"toy": {"source": {"test": 30}}}}, {"ar", "raw", "taught"}),
}
"""An edit of each kind, and the trainings whose lines of table 1 it changes."""


@pytest.fixture
def config(tmp_path) -> Callable[[dict], list[str]]:
    """Arguments for the tiny experiment with changes."""

    def arguments(changes: dict) -> list[str]:
        path = tmp_path / "experiment.yaml"
        path.write_text(json.dumps(merge(EXPERIMENT, changes)), encoding="utf-8")
        return ["--configfile", str(path)]

    return arguments


@pytest.fixture(scope="module")
def run(run_snakemake, tmp_path_factory) -> Callable[..., None]:
    """Run the tiny experiment with an edit of its one config file in a folder."""
    path = tmp_path_factory.mktemp("config") / "experiment.yaml"

    def run(edit: dict, place: Path, *arguments: str) -> None:
        path.write_text(json.dumps(merge(EXPERIMENT, edit)), encoding="utf-8")
        place.mkdir(exist_ok=True)
        done = run_snakemake("--configfile", str(path), *arguments, folder=place)
        assert done.returncode == 0, done.stderr[-2000:]

    return run


@pytest.fixture(scope="module")
def finished(run, tmp_path_factory) -> Path:
    """A folder in which the default target is made."""
    place = tmp_path_factory.mktemp("finished")
    run({}, place)
    return place


def table1(place: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    """Lines of table 1 by training, decoder and passes."""
    text = (place / "results/report/tables/table1.csv").read_text(encoding="utf-8")
    lines = list(csv.DictReader(text.splitlines()))
    return {(line["training"], line["decoder"], line["T"]): line for line in lines}


def trained_steps(place: Path) -> int:
    """Steps in the bundle's spec of the raw training."""
    spec = json.loads((place / RUN / "raw/seed0/bundle/spec.json").read_text())
    return spec["run_spec"]["run"]["training"]["steps"]


def score_digest(place: Path) -> str:
    path = place / RUN / "raw/seed0/score/test.padir.T1.json"
    return json.loads(path.read_text())["digests"]["training"]


@pytest.mark.parametrize("kind", EDITS)
def test_after_an_edit_the_report_shows_what_a_fresh_folder_shows(finished, run, tmp_path, kind):
    edit, changed = EDITS[kind]
    # Dates stay as they are: what the run made is not made again without a reason.
    place = shutil.copytree(finished, tmp_path / "place")
    run(edit, place)
    run(edit, tmp_path / "fresh")
    assert different(shown(place), shown(tmp_path / "fresh")) == {}
    before, after = table1(finished), table1(place)
    assert {key[0] for key in after if after[key] != before[key]} == changed


def test_deleted_files_are_made_again_and_change_no_number(finished, run, tmp_path):
    place = shutil.copytree(finished, tmp_path / "place")
    score = RUN / "raw/seed0/score/test.padir.T1.json"
    for name in (
        "results/data/toy/xs-xt/test.references.xt.jsonl",
        "results/data/toy/xs-xt/grammar.json",
        RUN / "raw/seed0/bundle/decoders/padir.json",
        RUN / "raw/seed0/decode/test.padir.T1.txt",
        score,
    ):
        (place / name).unlink()
        run({}, place, "--", str(name))
        assert (place / name).is_file(), name
    # Nobody asks for a vocabulary by name, but decoding reads it.
    pieces = place / RUN / "raw/seed0/bundle/spm.model"
    for path in (pieces, place / RUN / "raw/seed0/decode/test.padir.T1.txt", place / score):
        path.unlink()
    run({}, place, "--", str(score))
    run({}, place)
    assert pieces.is_file()
    assert different(shown(place), shown(finished)) == {}


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
    before = read_with_checksum(place / "results/report/config.json", "")

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
