"""`padir status` and `padir doctor` of results in another folder name commands that work there."""

import fcntl
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from padir.cli import main
from padir.commands import doctor

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Two folders: that of the workflow, where the user is, and one with a space in its name."""
    folder = tmp_path / "scratch of mine"
    folder.mkdir()
    monkeypatch.chdir(ROOT)
    return folder


def test_status_says_how_to_start_a_run_there(elsewhere, capsys):
    assert main(["status", "--results", str(elsewhere / "results")]) == 0
    shown = capsys.readouterr().out
    place = shlex.quote(str(elsewhere))
    assert f"started here: snakemake --directory {place} --cores all, or" in shown
    assert not list(elsewhere.iterdir())


def test_doctor_says_how_to_start_a_run_there(elsewhere):
    text = doctor.check_cores(elsewhere / "results").text
    assert f": snakemake --directory {shlex.quote(str(elsewhere))} --cores " in text
    assert "--directory" not in doctor.check_cores(Path("results")).text


@pytest.mark.slow
def test_the_command_plans_a_run_there(elsewhere, capsys):
    main(["status", "--results", str(elsewhere / "results")])
    command = capsys.readouterr().out.partition("started here: ")[2].partition(", or")[0]
    words = [sys.executable, "-m", *shlex.split(command), "--dry-run", "--", "table1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    assert (elsewhere / "results").is_dir() or "table1" in done.stdout + done.stderr


def test_a_live_run_there_is_named_with_its_results(elsewhere):
    (elsewhere / ".snakemake").mkdir()
    with open(elsewhere / ".snakemake/padir.runs", "w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        (finding,) = doctor.check_run(elsewhere / "results")
    path = shlex.quote(os.fspath(elsewhere / "results"))
    assert finding.text == f"a run is at work there: padir status --results {path}"


def test_a_failed_job_there_is_shown_with_its_log(elsewhere, capsys):
    log = elsewhere / ".snakemake/log/a.log"
    log.parent.mkdir(parents=True)
    log.write_text("Error in rule train:\n    jobid: 5\n    log: logs/t.log (check log)\n\n")
    (elsewhere / "logs").mkdir()
    (elsewhere / "logs/t.log").write_text("padir train: error: no space\n")
    main(["status", "--results", str(elsewhere / "results")])
    shown = capsys.readouterr().out
    assert (
        f"failed: train: padir train: error: no space; all of it: {elsewhere}/logs/t.log" in shown
    )


def test_a_folder_of_another_name_is_no_place_of_results(elsewhere, capsys):
    main(["status", "--results", str(elsewhere)])
    shown = capsys.readouterr().out
    assert f"{elsewhere}: a run writes to a folder of the name results" in shown
    (note,) = doctor.check_name(elsewhere)
    path = shlex.quote(str(elsewhere / "results"))
    assert note.grade == "note" and note.text.endswith(f"padir doctor --results {path}")
