"""The Slurm profile on a real Slurm of one node: table 1, and trainings that are requeued, told to
stop, or left behind by a killed scheduler end in the same bytes."""

import csv
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from padir.files import read_jsonl
from tests import slurm
from tests.slurm import Cluster
from tests.workflow.conftest import ROOT, TINY
from tests.workflow.test_killed import RAW, wait_for_steps

MISSING = slurm.missing()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"no Slurm: {', '.join(MISSING)} missing; `make setup-slurm` installs it",
    ),
]

PROFILE = (
    *("--workflow-profile", str(ROOT / "workflow/profiles/slurm"), "--resources", "gpu=0"),
    "--set-resources",
    *(f"{rule}:mem_mb=1000" for rule in ("train", "distill", "decode", "tune")),
    "--set-threads",
    *(f"{rule}=1" for rule in ("train", "distill", "decode", "tune")),
)
"""As docs/scale.md has it, for a node of two CPUs and no GPU."""

ASK_OFTEN = ("--slurm-init-seconds-before-status-checks", "3")
STEPS = 1000
MODEL = RAW / "bundle/model.safetensors"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, Cluster(Path(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Arguments for a training that takes some seconds of steps."""
    path = tmp_path_factory.mktemp("config") / "longer.yaml"
    path.write_text(
        TINY.replace("  raw: {}", f"  raw: {{training: {{steps: {STEPS}, checkpoint_every: 200}}}}")
    )
    return ["--configfile", str(path), "--", str(MODEL)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, run_snakemake, longer) -> str:
    """The checksum of the same training, made without Slurm and left alone."""
    place = tmp_path_factory.mktemp("undisturbed")
    done = run_snakemake(*longer, folder=place)
    assert done.returncode == 0, done.stderr[-2000:]
    return checksum(place)


def checksum(place: Path) -> str:
    return hashlib.sha256((place / MODEL).read_bytes()).hexdigest()


def assert_every_step_once(metrics: Path) -> None:
    steps = [line["step"] for line in read_jsonl(metrics) if "train_loss" in line]
    assert steps == list(range(50, STEPS + 1, 50))


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
    assert rows == {("ar", ""), ("raw", "1"), ("taught", "1"), ("taught", "2")}
    jobs = cluster.jobs(place)
    assert {job[1:] for known in jobs.values() for job in known} == {("COMPLETED", 0)}
    # Of 30 jobs 17 are submitted: short ones go together, or stay where Snakemake runs.
    assert {name: len(known) for name, known in jobs.items()} == {}


@pytest.mark.parametrize("how", ["requeued", "told to stop"])
def test_a_training_that_is_disturbed_ends_in_the_same_bytes(
    cluster, start_snakemake, longer, undisturbed, tmp_path, how
):
    place = tmp_path / "place"
    process = start_snakemake(*PROFILE, *ASK_OFTEN, *longer, env=cluster.environment)
    _, metrics = wait_for_steps(process, place)
    ((number, state, _),) = cluster.jobs(place)["train"]
    assert state == "RUNNING"
    if how == "requeued":
        cluster.run("scontrol", "requeue", number)
    else:
        cluster.run("scancel", "--signal=TERM", number)
    assert process.wait(timeout=600) == 0, (place / "started.log").read_text()[-3000:]
    if how == "requeued":
        assert states(cluster, place, "train") == [("COMPLETED", 1)]
    else:
        assert states(cluster, place, "train") == [("FAILED", 0), ("COMPLETED", 0)]
    assert_every_step_once(metrics)
    assert checksum(place) == undisturbed


def test_after_a_kill_of_snakemake_one_trainer_works_and_the_other_waits(
    cluster, snakemake, start_snakemake, longer, undisturbed, tmp_path
):
    place = tmp_path / "place"
    process = start_snakemake(*PROFILE, *ASK_OFTEN, *longer, env=cluster.environment)
    trainer, metrics = wait_for_steps(process, place)
    process.kill()
    process.wait()
    again = snakemake(*PROFILE, *ASK_OFTEN, *longer, env=cluster.environment)
    assert again.returncode == 0, again.stderr[-3000:]
    assert "a killed run had left its lock here" in again.stderr
    # The executor does not take up the live job again, and the second one waits for it.
    assert states(cluster, place, "train") == [("COMPLETED", 0), ("COMPLETED", 0)]
    log = (place / RAW / "logs/train.log").read_text()
    assert f"(process {trainer} on " in log and "waiting for it to end" in log, log
    assert_every_step_once(metrics)
    assert checksum(place) == undisturbed
