"""Commands that messages and pages name: of the experiment, and working where they are pasted."""

import shutil
from pathlib import Path

import pytest

from padir.invocation import SNAKEFILES, command, experiment_options, snakefile_option

WORKFLOW = Path(__file__).resolve().parents[2] / "Snakefile"


def test_a_command_names_config_files_and_changes_as_they_were_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(WORKFLOW, tmp_path)
    files = [tmp_path / "my config.yaml", Path("/elsewhere/b.yaml")]
    changes = {"seeds": 2, "theory": {"runs": ["a b"]}}
    options = experiment_options(files, changes)
    assert command("table1", options) == (
        "snakemake --configfile 'my config.yaml' /elsewhere/b.yaml"
        """ --config seeds=2 'theory={"runs": ["a b"]}' --cores all table1"""
    )
    default = tmp_path / "config/config.yaml"
    for files in ([], [default], [Path("config/config.yaml")]):
        options = experiment_options(files, {}, default)
        assert command("table1", options) == "snakemake --cores all table1"
    both = experiment_options([default, tmp_path / "b.yaml"], {}, default)
    assert both == "--configfile config/config.yaml b.yaml"


def test_a_command_says_where_the_workflow_is_outside_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = experiment_options([Path("own.yaml")], {"seeds": 2})
    assert options == f"--snakefile {WORKFLOW} --configfile own.yaml --config seeds=2"
    assert command("x", experiment_options([], {})) == (
        f"snakemake --snakefile {WORKFLOW} --cores all x"
    )


@pytest.mark.parametrize("name", SNAKEFILES)
def test_a_folder_with_a_workflow_needs_no_mention(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    shutil.copy(WORKFLOW.parent / ("workflow" if "/" in name else "") / "Snakefile", path)
    assert snakefile_option() == ""
    path.write_text("rule of_others:\n    shell: 'true'\n")
    assert snakefile_option() == f"--snakefile {WORKFLOW}"
