"""Hostile file names and a secret in the environment: nothing is executed, nothing leaks."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from padir.config.base import FilePath
from padir.config.read import merge
from tests.hostile import NAMES
from tests.workflow.conftest import TINY

# Each part would run or write something if a shell, a glob or a format string read it.
HOSTILE = "a b'c\"d$(touch canary)`touch canary`;touch canary&&touch canary|*?~#%s\\é"
SECRET = "canary-5b1f7c0e9d"


def experiment(folder: Path, called: Callable[[str], str]) -> dict:
    """The tiny experiment on files in a folder, which `called` names."""
    folder.mkdir()

    def file(name: str) -> str:
        name = called(name)
        (folder / name).write_text("ein Satz\n")
        return name

    checkpoint = folder / called("bleurt")
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


@pytest.fixture
def hostile(tmp_path: Path) -> dict:
    """The tiny experiment on files whose names are hostile, in a folder whose name is too."""
    return experiment(tmp_path / f"in {HOSTILE}", lambda name: f"{name}{HOSTILE}")


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


def accepted(name: str) -> bool:
    """Whether the config check takes a path; others never reach a rule."""
    try:
        TypeAdapter(FilePath).validate_python(name)
    except ValidationError:
        return False
    return True


@pytest.fixture
def recording(stand_in, tmp_path) -> dict[str, str]:
    """A stand-in for padir that also writes down the words of every call."""
    (tmp_path / "bin").mkdir()
    inner = Path(stand_in["PATH"].split(os.pathsep)[0], "padir").read_text()
    script = inner.replace(
        "import os, sys\n",
        "import json, os, sys\n"
        "with open(os.environ['CALLS'], 'a') as calls:\n"
        "    calls.write(json.dumps(sys.argv[1:]) + '\\n')\n",
        1,
    )
    padir = tmp_path / "bin/padir"
    padir.write_text(script)
    padir.chmod(0o755)
    path = f"{padir.parent}{os.pathsep}{stand_in['PATH']}"
    return stand_in | {"PATH": path, "CALLS": str(tmp_path / "calls")}


@pytest.mark.slow
@settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(names=st.lists(NAMES.filter(accepted), min_size=13, max_size=13, unique=True))
def test_every_accepted_name_reaches_the_commands_whole(snakemake, recording, tmp_path, names):
    """Thirteen hostile names at a time, through every rule's shell command."""
    number = len(list(tmp_path.iterdir()))
    place = tmp_path / f"place {number}"
    given_here, unused = tmp_path / f"given {number}", iter(names)
    used: dict[str, str] = {}

    def called(name: str) -> str:
        used[name] = next(unused)
        return used[name]

    config = tmp_path / "hostile.json"
    calls = Path(recording["CALLS"])
    calls.write_text("")
    config.write_text(json.dumps(experiment(given_here, called)), encoding="utf-8")
    before = sorted(item.name for item in tmp_path.iterdir())
    done = snakemake("--configfile", str(config), "--", "everything", env=recording, folder=place)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert sorted(item.name for item in tmp_path.iterdir()) == sorted([*before, place.name])
    assert sorted(item.name for item in given_here.iterdir()) == sorted(used.values())
    assert not list(place.rglob("canary*"))
    asked = [json.loads(line) for line in calls.read_text().splitlines()]
    words = {word for call in asked for word in call}
    for name in ("ready.train", "ready.valid", "bleurt"):
        assert str(given_here / used[name]) in words, name
    assert {call[0] for call in asked} >= {"fetch", "clean", "vocab", "train", "decode", "score"}
