"""Hostile file names and a secret in the environment: nothing is executed, nothing leaks."""

import json
from pathlib import Path

import pytest
import yaml

from padir.config.read import merge
from tests.workflow.conftest import TINY

# Each part would run or write something if a shell, a glob or a format string read it.
HOSTILE = "a b'c\"d$(touch canary)`touch canary`;touch canary&&touch canary|*?~#%s\\é"
SECRET = "canary-5b1f7c0e9d"


@pytest.fixture
def hostile(tmp_path: Path) -> dict:
    """The tiny experiment on files whose names are hostile, in a folder whose name is too."""
    folder = tmp_path / f"in {HOSTILE}"
    folder.mkdir()

    def file(name: str) -> str:
        (folder / f"{name}{HOSTILE}").write_text("ein Satz\n")
        return f"{name}{HOSTILE}"

    checkpoint = folder / f"bleurt{HOSTILE}"
    checkpoint.mkdir()
    splits = {
        split: {"files": {language: file(f"{split}.{language}") for language in ("de", "en")}}
        for split in ("train", "valid", "test")
    }
    for split in ("valid", "test"):
        splits[split]["references"] = {"en": [file(f"{split}.en.1")]}
    config = merge(
        yaml.safe_load(TINY),
        {
            "teachers": {
                "ready": {
                    "kind": "files",
                    "train": str(folder / file("ready.train")),
                    "valid": str(folder / file("ready.valid")),
                }
            },
            "trainings": {"ready_made": {"targets": "ready"}},
            "evaluation": {
                "scorers": {"bleurt": {"kind": "bleurt", "checkpoint": str(checkpoint)}},
                "samplers": {},
            },
        },
    )
    config["datasets"] = {
        "real": {
            "source": {"kind": "files", "folder": str(folder), **splits},
            "directions": ["de-en"],
            "vocabulary": {"kind": "word", "size": 300, "extra_text": [str(folder / file("more"))]},
        }
    }
    config["evaluation"]["core"].append(
        {"trainings": ["ready_made"], "decoders": ["padir"], "passes": [1]}
    )
    return config


def test_nothing_of_a_name_is_executed_and_no_secret_is_written(
    snakemake, stand_in, hostile, tmp_path
):
    path = tmp_path / "hostile.yaml"
    path.write_text(json.dumps(hostile), encoding="utf-8")
    before = sorted(item.name for item in tmp_path.iterdir())
    environment = stand_in | {
        "GOOGLE_APPLICATION_CREDENTIALS": f"/{SECRET}",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "PADIR_TOKEN": SECRET,
    }
    done = snakemake("--configfile", str(path), "--", "everything", env=environment)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    place = tmp_path / "place"
    assert sorted(item.name for item in tmp_path.iterdir()) == sorted([*before, "place"])
    assert not list(tmp_path.rglob("canary"))
    # Whole names reached the commands: the stand-in writes down its arguments.
    written = (place / "results/distill/real/de-en/ready/seed0/train.en").read_text()
    assert f"ready.train{HOSTILE}" in written
    vocabulary = next((place / "results/vocab").rglob("spm.model")).read_text()
    assert "--settings" in vocabulary
    rating = next((place / "results/runs").rglob("*.bleurt.json")).read_text()
    assert f"bleurt{HOSTILE}" in rating
    for item in place.rglob("*"):
        if item.is_file():
            assert SECRET.encode() not in item.read_bytes(), item
    assert SECRET not in done.stdout + done.stderr
