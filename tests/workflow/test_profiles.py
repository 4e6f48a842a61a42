"""The profiles: each is read by snakemake, and gives jobs what it says."""

import re
from pathlib import Path

import pytest
import yaml

PROFILES = Path(__file__).resolve().parents[2] / "workflow/profiles"


def jobs(output: str, rule: str) -> list[str]:
    """What a dry run prints of each job of a rule."""
    return re.findall(rf"\nrule {rule}:\n(.*?)(?=\n(?:rule |local|Job stats))", output, re.DOTALL)


@pytest.mark.parametrize("name", ["default", "slurm", "tpu"])
def test_a_profile_reaches_its_jobs(snakemake, tiny, name):
    profile = yaml.safe_load((PROFILES / name / "config.yaml").read_text())
    assert profile["rerun-incomplete"] is True
    arguments = ("--workflow-profile", str(PROFILES / name), "--configfile", str(tiny))
    done = snakemake(*arguments, "--dry-run", "--printshellcmds", "table1")
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    trained = jobs(printed, "train")
    assert len(trained) == 3
    for job in trained:
        for resource, value in profile["set-resources"]["train"].items():
            assert re.search(rf"\b{resource}={value}\b", job), job
        assert "srun" not in job and "--distributed" not in job


def test_rules_that_a_profile_names_exist(repository):
    files = [repository / "Snakefile", *(repository / "rules").glob("*.smk")]
    rules = {n for path in files for n in re.findall(r"^rule (\w+):", path.read_text(), re.M)}
    for path in PROFILES.glob("*/config.yaml"):
        profile = yaml.safe_load(path.read_text())
        named = {*profile.get("set-resources", {}), *profile.get("set-threads", {})}
        assert named and named <= rules, path


@pytest.mark.parametrize(("name", "device"), [("slurm", "gpu"), ("tpu", "tpu")])
def test_whatever_computes_asks_for_a_device(repository, name, device):
    commands = repository / "src/padir/commands"
    verbs = {path.stem for path in commands.glob("*.py") if "    prepare(" in path.read_text()}
    text = "".join(path.read_text() for path in (repository / "rules").glob("*.smk"))
    bodies = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^rule |\Z)", text, re.M | re.S))
    computing = {
        rule
        for rule, body in bodies.items()
        if any(re.search(rf"\bpadir {verb.replace('_', '-')} ", body) for verb in verbs)
    }
    computing -= {"take_ready_made"}  # `padir distill --ready` copies lines.
    assert len(computing) > 5
    asked = yaml.safe_load((PROFILES / name / "config.yaml").read_text())["set-resources"]
    assert computing <= {rule for rule, given in asked.items() if device in given}


def test_several_hosts_start_one_process_each(snakemake, tiny):
    resources = ("--set-resources", "train:mpi='srun'", "train:tasks=4", "train:nodes=4")
    done = snakemake(
        *("--configfile", str(tiny), "--dry-run", "--printshellcmds"), *resources, "--", "table1"
    )
    assert done.returncode == 0, done.stderr
    commands = re.findall(r"^.*padir train .*$", done.stdout + done.stderr, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        assert "Shell command: srun --ntasks=4 padir train --spec " in command
        assert " --distributed --seed 0 " in command
