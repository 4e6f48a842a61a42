"""The Slurm profile on a real Slurm of one node: table 1, and trainings that are requeued, told to
stop, or left behind by a killed scheduler end in the same bytes."""

import csv
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from padir.files import read_jsonl
from padir.provenance import read_provenance
from tests import slurm
from tests.required import unavailable
from tests.slurm import Cluster
from tests.workflow.conftest import ROOT, TINY
from tests.workflow.test_killed import RAW, go_on_once_logged, wait_for_steps

MISSING = slurm.missing()
pytestmark = pytest.mark.slow

PROFILE = (
    *("--workflow-profile", str(ROOT / "workflow/profiles/slurm"), "--resources", "gpu=0"),
    "--set-resources",
    *(f"{rule}:mem_mb=1000" for rule in ("train", "distill", "decode", "tune")),
    "--set-threads",
    *(f"{rule}=1" for rule in ("train", "distill", "decode", "tune")),
)
"""As docs/scale.md has it, for a node of two CPUs and no GPU."""

LAUNCHING = (*PROFILE[: PROFILE.index("--set-resources")], "--set-threads", "train=1")
"""The same, where trainings are launched: `--set-resources` says how."""

ASK_OFTEN = ("--slurm-init-seconds-before-status-checks", "3")
STEPS = 2000
MODEL = RAW / "bundle/model.safetensors"


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    if MISSING:
        reason = f"no Slurm: {', '.join(MISSING)} missing; `make setup-slurm` installs it"
        unavailable("slurm", reason)


@pytest.fixture(scope="module")
def cluster(programs: None) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, Cluster(Path(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Arguments for a training that takes some seconds of steps."""
    path = tmp_path_factory.mktemp("config") / "longer.yaml"
    path.write_text(
        TINY.replace("  raw: {}", f"  raw: {{training: {{steps: {STEPS}, checkpoint_every: 500}}}}")
    )
    return ["--configfile", str(path), "--", str(MODEL)]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, run_snakemake, longer) -> Path:
    """A folder with all that the training reads, made without Slurm."""
    folder = tmp_path_factory.mktemp("prepared")
    done = run_snakemake(*longer[:-1], "results/vocab/toy/xs-xt/spm.model", folder=folder)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.fixture
def place(prepared, tmp_path) -> Path:
    """A copy of the prepared folder, where `snakemake` and `start_snakemake` work."""
    return Path(shutil.copytree(prepared, tmp_path / "place"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, run_snakemake, prepared, longer) -> str:
    """The checksum of the same training, made without Slurm and left alone."""
    folder = tmp_path_factory.mktemp("undisturbed") / "place"
    shutil.copytree(prepared, folder)
    done = run_snakemake(*longer, folder=folder)
    assert done.returncode == 0, done.stderr[-2000:]
    return checksum(folder)


def checksum(place: Path) -> str:
    return hashlib.sha256((place / MODEL).read_bytes()).hexdigest()


def begun(process: subprocess.Popen[bytes], place: Path) -> tuple[int, Path, str]:
    """The trainer's process, its metrics and their first line, once it is written."""
    trainer, metrics = wait_for_steps(process, place)
    deadline = time.monotonic() + 400
    while "\n" not in (text := metrics.read_text()):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    return trainer, metrics, text.splitlines()[0]


def assert_resumed(metrics: Path, first: str) -> None:
    """Each step was logged once; the first line, with its time, is that of the first trainer."""
    steps = [line["step"] for line in read_jsonl(metrics) if "train_loss" in line]
    assert steps == list(range(50, STEPS + 1, 50))
    assert metrics.read_text().splitlines()[0] == first


def states(cluster: Cluster, place: Path, name: str) -> list[tuple[str, int]]:
    """State and restarts of each submission of a rule or group."""
    return [job[1:] for job in cluster.jobs(place)[name]]


def test_table_1_is_made_on_a_cluster_without_gpus(cluster, snakemake, tiny, tmp_path):
    place = tmp_path / "place"
    done = snakemake(
        *(*PROFILE, "--configfile", str(tiny), "--", "table1"), env=cluster.environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    text = (place / "results/report/tables/table1.csv").read_text(encoding="utf-8")
    rows = {(line["training"], line["T"]) for line in csv.DictReader(text.splitlines())}
    assert rows == {("ar", "N"), ("raw", "1"), ("taught", "1"), ("taught", "2")}
    jobs = cluster.jobs(place)
    assert {job[1:] for known in jobs.values() for job in known} == {("COMPLETED", 0)}
    # 20 jobs; the grammar, joined files and table 1 itself are made where Snakemake runs.
    assert {name: len(known) for name, known in jobs.items()} == {
        **{"data_clean_fetch_vocab": 1, "scores_score": 1},
        **{"train": 3, "tune": 3, "distill": 3, "decode": 4},
    }


@pytest.mark.parametrize("how", ["requeued", "preempted", "told to stop"])
def test_a_training_that_is_disturbed_ends_in_the_same_bytes(
    cluster, start_snakemake, longer, undisturbed, place, how
):
    process = start_snakemake(*PROFILE, *ASK_OFTEN, *longer, env=cluster.environment)
    _, metrics, first = begun(process, place)
    ((number, state, _),) = cluster.jobs(place)["train"]
    assert state == "RUNNING"
    if how == "requeued":
        cluster.run("scontrol", "requeue", number)
    elif how == "preempted":
        # All CPUs for a partition of higher priority.
        cpus = cluster.run("sinfo", "--noheader", "--partition=urgent", "--format=%c").strip()
        words = ("--partition=urgent", f"--cpus-per-task={cpus}", "--mem=100", "--wrap=sleep 1")
        cluster.run("sbatch", "--output=/dev/null", "--chdir=/", *words)
    else:
        cluster.run("scancel", "--signal=TERM", number)
    assert process.wait(timeout=600) == 0, (place / "started.log").read_text()[-3000:]
    if how != "told to stop":
        assert states(cluster, place, "train") == [("COMPLETED", 1)]
    else:
        assert states(cluster, place, "train") == [("FAILED", 0), ("COMPLETED", 0)]
    assert_resumed(metrics, first)
    assert checksum(place) == undisturbed


@pytest.mark.parametrize("way", [(), LAUNCHING], ids=["here", "profile"])
def test_a_launched_training_is_submitted_once_though_snakemake_is_killed(
    cluster, start_snakemake, longer, undisturbed, place, way
):
    """With `padir launch` a second start takes up the live job, which the executor cannot do."""
    launch = "train:launch='slurm --option=--mem=1000 --poll=2'"
    arguments = (*way, "--set-resources", launch, "train:gpu=0", *longer)
    process = start_snakemake(*arguments, env=cluster.environment)
    trainer, metrics, first = begun(process, place)
    # It is still at work when the second run comes, however fast the machine is.
    os.kill(trainer, signal.SIGSTOP)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    again = start_snakemake(*arguments, env=cluster.environment)
    go_on_once_logged(trainer, "goes on: launched before", again, place)
    assert again.wait(timeout=600) == 0, (place / "started.log").read_text()[-3000:]
    assert cluster.jobs(place).keys() == {"launched"}
    assert states(cluster, place, "launched") == [("COMPLETED", 0)]
    assert_resumed(metrics, first)
    assert checksum(place) == undisturbed


def test_a_launched_training_of_two_processes_is_one_training(cluster, snakemake, tiny, place):
    resources = (
        "train:launch='slurm --option=--mem=3000 --poll=2'",
        "train:tasks=2",
        "train:gpu=0",
    )
    done = snakemake(
        *("--set-resources", *resources, "--configfile", str(tiny), "--", str(MODEL)),
        folder=place,
        env=cluster.environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert states(cluster, place, "launched") == [("COMPLETED", 0)]
    # JAX of each process sees the devices of both.
    assert len(read_provenance(place / RAW / "provenance.json")["devices"]) == 2


def test_after_a_kill_of_snakemake_one_trainer_works_and_the_other_waits(
    cluster, start_snakemake, longer, undisturbed, place
):
    arguments = (*PROFILE, *ASK_OFTEN, *longer)
    process = start_snakemake(*arguments, env=cluster.environment)
    trainer, metrics, first = begun(process, place)
    # It is still at work when the second one comes, however fast the machine is.
    os.kill(trainer, signal.SIGSTOP)
    process.kill()
    process.wait()
    again = start_snakemake(*arguments, env=cluster.environment)
    go_on_once_logged(trainer, f"(process {trainer} on ", again, place)
    # The executor does not take up the live job again: it submits a second one.
    assert states(cluster, place, "train") == [("RUNNING", 0), ("RUNNING", 0)]
    printed = place / "started.log"
    assert again.wait(timeout=600) == 0, printed.read_text()[-3000:]
    assert "a killed run had left its lock here" in printed.read_text()
    assert states(cluster, place, "train") == [("COMPLETED", 0), ("COMPLETED", 0)]
    assert_resumed(metrics, first)
    assert checksum(place) == undisturbed
