"""A training that resumes with other code says so, and its record keeps the step."""

import os
from pathlib import Path

import pytest

from padir.files import read_json
from padir.training import code
from padir.training.checkpoints import WorkFolder
from padir.training.code import note_changed_code
from padir.training.loop import train
from tests.training import tiny_spec, write_toy


@pytest.fixture
def sources(tmp_path: Path, monkeypatch) -> Path:
    """A package of two files instead of this one."""
    package = tmp_path / "package"
    package.mkdir()
    for name in ("loop.py", "step.py"):
        (package / name).write_text("1\n")
    monkeypatch.setattr(code, "PACKAGE", package)
    monkeypatch.setattr(code, "source_files", lambda *_: sorted(package.iterdir()))
    return package


def noted(folder: Path, step: int, first: bool = True) -> list[int]:
    with WorkFolder(folder, {"seed": 0}) as work:
        work.first = first
        return note_changed_code(work, step, 9000, "train ar seed 0")


def test_a_resumed_run_names_what_changed(sources: Path, tmp_path: Path, monkeypatch, capsys):
    folder = tmp_path / "work"
    assert noted(folder, 0) == noted(folder, 500) == []
    assert capsys.readouterr().err == ""
    (sources / "step.py").write_text("2\n")
    assert noted(folder, 500) == [500]
    assert "seed 0: warning: resumes at step 500 with other code than before: step.py;" in (
        capsys.readouterr().err
    )
    # It is said once, and kept.
    assert noted(folder, 1000) == [500]
    assert capsys.readouterr().err == ""
    (sources / "objective.py").write_text("1\n")
    (sources / "loop.py").unlink()
    monkeypatch.setattr(code.metadata, "version", lambda _: "0.0")
    assert noted(folder, 1000) == [500, 1000]
    assert ": flax, jax, jaxlib and 4 more;" in capsys.readouterr().err
    # Checkpoints since the first change were lost.
    assert noted(folder, 250) == [250]
    capsys.readouterr()
    # Where no step is left, no code trains.
    (sources / "step.py").write_text("3\n")
    assert noted(folder, 9000) == [250]
    assert noted(folder, 500, first=False) == []
    assert capsys.readouterr().err == ""


def test_code_that_trained_no_step_is_forgotten(sources: Path, tmp_path: Path, capsys):
    folder = tmp_path / "work"
    assert noted(folder, 0) == []
    (sources / "step.py").write_text("2\n")
    assert noted(folder, 500) == [500]
    (sources / "step.py").write_text("1\n")
    capsys.readouterr()
    assert noted(folder, 500) == []
    assert capsys.readouterr().err == ""


def test_a_run_that_starts_over_or_has_a_damaged_record_compares_nothing(
    sources: Path, tmp_path: Path, capsys
):
    folder = tmp_path / "work"
    noted(folder, 0)
    (sources / "step.py").write_text("2\n")
    assert noted(folder, 0) == []
    (sources / "step.py").write_text("3\n")
    os.truncate(folder / "code.json", 10)
    assert noted(folder, 500) == []
    assert capsys.readouterr().err == ""
    assert [at for at, _ in read_json(folder / "code.json")["starts"]] == [500]


def test_training_records_the_code_that_trains(tmp_path: Path):
    text, vocabulary = write_toy(tmp_path)
    trained = train(tiny_spec(), vocabulary, text, 0, tmp_path / "work")
    assert trained.summary["code_changes"] == []
    [[step, recorded]] = read_json(tmp_path / "work" / "code.json")["starts"]
    assert step == 0
    assert {"training/step.py", "training/objective.py", "model/decoder.py", "jax"} <= set(recorded)
