"""The profiles: each is read by snakemake, and gives jobs what it says."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

PROFILES = Path(__file__).resolve().parents[2] / "workflow/profiles"
SNAKEFILE = str(PROFILES.parents[1] / "Snakefile")


def jobs(output: str, rule: str) -> list[str]:
    """What a dry run prints of each job of a rule, alone or in a group."""
    end = r"\n *(?:rule |local|group |Job stats)"
    return re.findall(rf"\n *rule {rule}:\n(.*?)(?={end})", output, re.DOTALL)


def dry_run(snakemake, tiny, *arguments: str) -> str:
    """What a dry run of table 1 prints."""
    given = ("--configfile", str(tiny), "--dry-run", "--printshellcmds", *arguments)
    done = snakemake(*given, "--", "table1")
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def profile_arguments(name: str) -> tuple[str, str]:
    return "--workflow-profile", str(PROFILES / name)


@pytest.mark.parametrize("name", ["default", "gpu", "slurm", "tpu"])
def test_a_profile_reaches_its_jobs(snakemake, tiny, name):
    profile = yaml.safe_load((PROFILES / name / "config.yaml").read_text())
    assert profile["rerun-incomplete"] is True
    assert profile["max-checksum-file-size"] == "4GB"
    trained = jobs(dry_run(snakemake, tiny, *profile_arguments(name)), "train")
    assert len(trained) == 3
    threads = min(profile.get("set-threads", {}).get("train", 1), 2)
    expected = {
        "default": ["mem_mb=2000"],
        "gpu": ["mem_mb=16000", "gpu=1"],
        "slurm": ["mem_mb=16000", "runtime=2880", "gpu=1"],
    }
    for job in trained:
        for resource in expected.get(name, ["mem_mb=16000", "tpu=1"]):
            assert re.search(rf"\b{resource}\b", job), job
        assert threads == 1 or f"threads: {threads}" in job
        assert "srun" not in job and "--distributed" not in job


def test_resources_of_other_rules_stay_when_one_is_set(snakemake, tiny):
    """`--set-resources` replaces the whole table of a profile, so rules hold their own."""
    arguments = (*profile_arguments("slurm"), "--set-resources", "decode:mem_mb=1000")
    printed = dry_run(snakemake, tiny, *arguments)
    for job in jobs(printed, "train"):
        assert re.search(r"\bmem_mb=16000\b.*\bruntime=2880\b|\bruntime=2880\b.*mem_mb=16000", job)
        assert "gpu=1" in job
    assert all("mem_mb=1000" in job for job in jobs(printed, "decode"))


def test_one_setting_does_without_gpus(snakemake, tiny):
    printed = dry_run(snakemake, tiny, *profile_arguments("slurm"), "--resources", "gpu=0")
    assert "gpu=1" not in printed
    assert "gpu=0" in jobs(printed, "train")[0]


def test_preparing_text_fits_a_small_node(snakemake, tiny):
    """Two of a node's sixteen cores and 8 GB: a job that asks for more waits for ever."""
    printed = dry_run(snakemake, tiny, *profile_arguments("slurm"), "--cores", "16")
    for rule in ("fetch", "clean", "vocab"):
        (job,) = jobs(printed, rule)
        threads = re.search(r"threads: (\d+)", job)
        memory = re.search(r"\bmem_mb=(\d+)", job)
        assert threads is None or int(threads[1]) <= 4, job
        assert memory is not None and int(memory[1]) <= 4000, job


def test_one_core_prepares_the_text_of_a_grammar(snakemake, tiny, repository):
    """Table 1 waits for it: a job of all cores would start only when the theory is done."""
    for config, expected in ((tiny, False), (repository / "config/paper.yaml", True)):
        printed = dry_run(snakemake, config, *profile_arguments("default"))
        for rule in ("fetch", "clean"):
            prepared = jobs(printed, rule)
            assert prepared and all(("threads: 2" in job) == expected for job in prepared), printed


def test_short_jobs_of_the_slurm_profile_go_together(snakemake, tiny):
    printed = dry_run(snakemake, tiny, *profile_arguments("slurm"))
    groups = re.findall(r"Group job (\w+) .*?\n(.*?)(?=\n\[|\nJob stats)", printed, re.DOTALL)
    members = {name: re.findall(r"^ +rule (\w+):", text, re.MULTILINE) for name, text in groups}
    assert len(members) == len(groups)
    assert sorted(members["data"]) == ["clean", "fetch", "vocab"]
    assert members["scores"] == ["score"] * 4


def test_rules_that_a_profile_names_exist(repository):
    files = [repository / "Snakefile", *(repository / "rules").glob("*.smk")]
    rules = {n for path in files for n in re.findall(r"^rule (\w+):", path.read_text(), re.M)}
    for path in PROFILES.glob("*/config.yaml"):
        profile = yaml.safe_load(path.read_text())
        named = {*profile.get("set-resources", {}), *profile.get("set-threads", {})}
        named |= {group.split("=")[0] for group in profile.get("groups", [])}
        assert named and named <= rules, path


@pytest.mark.parametrize("device", ["gpu", "tpu"])
def test_every_job_that_uses_jax_requests_a_device(repository, device):
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
    asking = {rule for rule, body in bodies.items() if f'{device}=device("{device}")' in body}
    assert computing == asking


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


def test_a_training_is_launched_on_an_engine_by_one_resource(snakemake, tiny):
    engine = "slurm --option=--gres=gpu:1 --workdir='/a b'"
    done = snakemake(
        *("--configfile", str(tiny), "--dry-run", "--printshellcmds"),
        *("--set-resources", f'train:launch="{engine}"', "--", "table1"),
    )
    assert done.returncode == 0, done.stderr
    commands = re.findall(r"^.*padir train .*$", done.stdout + done.stderr, re.MULTILINE)
    assert len(commands) == 3
    launched = (
        r"Shell command: padir launch --forget --handle results/runs/\S+/seed0/work/[0-9a-f]+"
        r"\.launch --engine slurm --option=--gres=gpu:1 '--workdir=/a b' -- padir train --spec "
    )
    for command in commands:
        assert re.match(launched, command), command


def test_a_training_launched_on_slurm_in_several_processes_gets_an_srun(snakemake, tiny):
    """Without it, JAX finds no step of Slurm that its processes would belong to."""
    done = snakemake(
        *("--configfile", str(tiny), "--dry-run", "--printshellcmds"),
        *("--set-resources", "train:launch='slurm --option=--gres=gpu:4'", "train:tasks=4"),
        *("--", "table1"),
    )
    commands = re.findall(r"^.*padir train .*$", done.stdout + done.stderr, re.MULTILINE)
    assert len(commands) == 3, done.stderr
    for command in commands:
        assert (
            " --option=--gres=gpu:4 --option=--ntasks=4 -- srun --ntasks=4 padir train " in command
        )
        assert " --distributed " in command


def test_memory_grows_on_two_retries_and_no_further(repository):
    """A training may need many attempts, each as long as the cluster's limit of time."""
    memory = runpy.run_path(str(repository / "rules/resources.smk"))["growing"](4000)
    assert [memory(None, attempt) for attempt in (1, 2, 3, 4, 9)] == [4000, 8000, *3 * [16000]]


WITH_GPU = """\
import sys
from padir.planning import machine
from snakemake.cli import main
machine.jax_computes_on = lambda kind: kind == "gpu"
sys.argv[0] = "snakemake"
main()
"""
ALONE = """\
if verb in ("train", "tune", "decode"):
    import time
    os.mkdir("gpu")
    time.sleep(0.2)
    os.rmdir("gpu")
"""


@pytest.mark.parametrize(("limit", "status"), [([], 0), (["--resources", "gpu=2"], 1)])
def test_jobs_take_turns_on_a_gpu_without_a_profile(tiny, stand_in, tmp_path, limit, status):
    folder = tmp_path / "bin"
    folder.mkdir()
    whole = Path(stand_in["PATH"].split(os.pathsep)[0], "padir").read_text()
    (folder / "padir").write_text(whole.replace("if verb ==", f"{ALONE}if verb ==", 1))
    (folder / "padir").chmod(0o755)
    command = [sys.executable, "-c", WITH_GPU, "--snakefile", SNAKEFILE, "--cores", "4"]
    command += ["--configfile", str(tiny), *limit, "--", "translation"]
    env = {**stand_in, "PATH": f"{folder}{os.pathsep}{stand_in['PATH']}"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    note = "padir: one job at a time on the GPU: --resources gpu=N allows N\n"
    assert done.stderr.count(note) == (not limit)


def test_a_gpu_of_the_host_that_submits_limits_no_cluster(tiny, tmp_path):
    command = [sys.executable, "-c", WITH_GPU, "--snakefile", SNAKEFILE]
    command += [*profile_arguments("slurm"), "--configfile", str(tiny), "--dry-run", "--", "table1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "one job at a time" not in done.stderr
