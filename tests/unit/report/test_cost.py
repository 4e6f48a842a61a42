"""Cost of the run by stage, from the benchmark files beside results."""

import re
from pathlib import Path

import pytest

from padir import cli
from padir.report.cost import STAGES, cost_table

HEAD = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
RUN = "runs/toy/xs-xt/padir/seed1/logs"


def put(name: str, wall: str, processor: str) -> None:
    path = Path("results") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = [wall, "0:00:00", *["1.0"] * 7, processor]
    path.write_text(HEAD + "\t".join(numbers) + "\n")


def test_each_stage_has_its_jobs_and_their_time(made_up):
    assert cost_table(made_up.config, "everything").rows == []
    put(f"{RUN}/train.tsv", "600.0", "660.0")
    put("runs/toy/xs-xt/ar/seed0/logs/train.tsv", "60.0", "60.0")
    put(f"{RUN}/decode.test.padir.T4.tsv", "30.0", "24.0")
    put("theory/errata/logs/seed0.tsv", "6.0", "NA")
    put("vocab/toy/xs-xt/logs/vocab.tsv", "3.0", "3.0")
    put("vocab/toy/xs-xt/generic/logs/vocab.tsv", "3.0", "3.0")
    (Path("results") / RUN / "score.test.padir.T4.tsv").write_text("")
    # Of another experiment in the same folder.
    put("runs/other/xs-xt/padir/seed0/logs/train.tsv", "600.0", "600.0")
    put("runs/toy/xs-xt/removed/seed0/logs/train.tsv", "600.0", "600.0")
    rows = cost_table(made_up.config, "everything").rows
    assert [tuple(row.values()) for row in rows] == [
        ("Vocabularies", 2, pytest.approx(0.1), pytest.approx(0.1)),
        ("Training", 2, pytest.approx(11.0), pytest.approx(12.0)),
        ("Decoding", 1, pytest.approx(0.5), pytest.approx(0.4)),
        ("Theory", 1, pytest.approx(0.1), 0.0),
        ("All", 6, pytest.approx(11.7), pytest.approx(12.5)),
    ]


def test_the_page_shows_the_cost(made_up):
    put(f"{RUN}/decode.test.padir.T4.tsv", "30.0", "24.0")
    made_up.write("config.json", made_up.config.model_dump(mode="json"))
    assert cli.main(["report", "--config", "config.json", "--out", "report", "--only", "page"]) == 0
    text = Path("report/index.html").read_text(encoding="utf-8")
    assert re.search(r"<td>Decoding</td>\s*<td.*?>1</td>\s*<td.*?>0.5</td>\s*<td.*?>0.4</td>", text)
    assert "Not counted: paid translation" in text


def test_every_benchmark_of_the_rules_belongs_to_one_stage():
    rules = Path(__file__).resolve().parents[3] / "rules"
    written = [
        path
        for file in sorted(rules.glob("*.smk"))
        for path in re.findall(r'benchmark:\s+"results/([^"]+)"', file.read_text())
    ]
    assert len(written) > 12
    shapes = {
        stage: re.escape(pattern)
        .replace(r"\{dataset\}", "{dataset}")
        .replace(r"\{training\}", "{training}")
        .replace(r"/\*\*/", "/.*/")
        .replace(r"\*", "[^/]*")
        for stage, pattern in STAGES.items()
    }
    used = set()
    for path in written:
        path = path.replace("{further}", "")
        stages = [stage for stage, shape in shapes.items() if re.fullmatch(shape, path)]
        assert len(stages) == 1, path
        used |= set(stages)
    assert used == STAGES.keys()
