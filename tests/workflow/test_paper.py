"""The paper's grid: all of it listed, and the same rules run through on very little."""

import csv

import pytest

from padir.config.read import load_config
from padir.report.catalogue import parts
from tests.bleurt import write_checkpoint
from tests.translation_server import TranslationServer
from tests.workflow.conftest import job_counts
from tests.workflow.paper_mini import ROOT, paper, paper_mini, sentences, translated
from tests.workflow.test_dry_run import expand

DIRECTIONS = 6


@pytest.fixture
def grid():
    """The file as users have it: nothing is downloaded to list the jobs."""
    return ROOT / "config/paper.yaml"


def test_the_whole_grid_is_listed(snakemake, grid):
    config = paper()
    done = snakemake("--configfile", str(grid), "--dry-run")
    assert done.returncode == 0, done.stderr
    jobs = job_counts(done.stdout + done.stderr)
    trainings, core = config["trainings"], config["evaluation"]["core"]
    systems = {training["system"] for training in trainings.values()}
    assert systems == {"ar", "padir", "cmlm", "disco", "sundae"}
    assert [group.get("passes") for group in core] == [None, *[[4, 10]] * 4]
    pairs = sum(len(group["trainings"]) * len(group["decoders"]) for group in core)
    decodings = DIRECTIONS * len(expand(core))
    kinds = [part.kind for part in parts(load_config([grid]))]
    assert jobs == {
        "write_data_settings": 3,
        "write_vocabulary_settings": 3,
        "write_training_settings": DIRECTIONS * len(trainings),
        # greedy, beam and four systems' own.
        "write_decoder_settings": DIRECTIONS * 6,
        "write_report_settings": 1,
        "fetch": 3,
        "clean": 3,
        "vocab": 3,
        "train": DIRECTIONS * len(trainings),
        "tune": DIRECTIONS * pairs,
        "distill": DIRECTIONS * (config["teachers"]["ar"]["shards"] + 1),
        "join_distilled": DIRECTIONS,
        "describe_distilled": DIRECTIONS,
        "decode": decodings,
        "score": decodings,
        # Of beam search, and of each parallel row with most passes.
        "trace": DIRECTIONS * (1 + 4),
        "rate": decodings,
        "analyse": DIRECTIONS,
        "measure_latency": DIRECTIONS,
        "table": kinds.count("table"),
        "figure": kinds.count("figure"),
        "decide_claims": 2,
        "page": 2,
        "all": 1,
    }
    stated = f"`snakemake -n --configfile config/paper.yaml` lists {sum(jobs.values())} jobs"
    assert stated in (ROOT / "docs/scale.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_scorers_checkpoint_is_an_input_once_it_exists(snakemake, grid, tmp_path):
    arguments = ("--configfile", str(grid), "--dry-run", "table3")
    without = snakemake(*arguments)
    assert without.returncode == 0, without.stderr
    assert "data/BLEURT-20/" not in without.stdout + without.stderr
    folder = tmp_path / "place/data/BLEURT-20"
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"")
    printed = snakemake(*arguments)
    assert "data/BLEURT-20/saved_model.pb" in printed.stdout + printed.stderr


def lines(folder, table: str) -> list[dict[str, str]]:
    path = folder / f"results/report/tables/{table}.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.slow
def test_paper_mini_runs_through_to_tables_1_to_3(snakemake, tmp_path):
    pytest.importorskip("tensorflow", reason="installed by make test, or make setup EXTRAS=tf")
    checkpoint = write_checkpoint(tmp_path / "BLEURT tiny's", length=64)
    place = tmp_path / "place"
    tables = ("table1", "table2", "table3")
    with TranslationServer(translate=translated) as server:
        config = paper_mini(tmp_path / "mini", checkpoint, server.endpoint)
        done = snakemake("--configfile", str(config), "--", *tables, folder=place)
    logs = "\n".join(
        f"{path.name}: {path.read_text()[-500:]}"
        for path in sorted((place / "results").rglob("*.log"))
        if "rror" in path.read_text()
    )
    assert done.returncode == 0, done.stderr[-2000:] + logs
    for table in ("table1", "table2", "table3"):
        rows = lines(place, table)
        # One direction of each pair, AR with a beam and PaDIR at T4: all are in the paper.
        assert len(rows) == 6
        assert {row["direction"] for row in rows} == {"de-en", "en-ro", "en-zh"}
        assert all(row["paper"] and row["paper_difference"] for row in rows)
        assert all(row["status"] not in ("", "not run") for row in rows)
        assert len({row["signature"] for row in rows}) == (1 if table == "table3" else 2)
    # Every distinct sentence was paid for once in each direction: English is read in two.
    english = {line for split in ("train", "valid") for line in sentences("en", split)}
    assert english < server.billed.keys()
    assert all(times == 1 + (text in english) for text, times in server.billed.items())
    chinese = [row for row in lines(place, "table1") if row["direction"] == "en-zh"]
    assert all("tok:zh" in row["signature"] for row in chinese)
    scores = {row["score"] for row in lines(place, "table3")}
    assert len(scores) > 1 and "not run" not in scores
    again = snakemake("--configfile", str(config), "--dry-run", "table3", folder=place)
    assert job_counts(again.stdout + again.stderr) == {}
