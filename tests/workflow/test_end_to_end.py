"""The pipeline really run, very small: from nothing to the page, twice, and after an edit."""

import json

import pytest

from tests.workflow.conftest import job_counts


@pytest.mark.slow
def test_a_tiny_experiment_runs_through_and_then_only_what_changed(snakemake, tiny, tmp_path):
    text = tiny.read_text()
    raw = "    - {trainings: [raw], decoders: [padir], passes: [1]}\n"
    for line in ("  raw: {}\n", raw, ", shards: 2"):
        assert line in text
        text = text.replace(line, "")
    tiny.write_text(text)
    place = tmp_path / "a place; with 'quotes' and $(touch pwned)"
    arguments = ("--configfile", str(tiny))
    first = snakemake(*arguments, folder=place)
    logs = "\n".join(
        f"{path.name}: {path.read_text()[-500:]}"
        for path in sorted((place / "results").rglob("*.log"))
        if "error" in path.read_text()
    )
    assert first.returncode == 0, first.stderr[-2000:] + logs
    report = place / "results" / "report"
    page = (report / "index.html").read_text(encoding="utf-8")
    assert "<table" in page and '"decoder":"padir"' in page
    assert len(page.encode()) < 5_000_000
    rows = (report / "tables" / "table1.csv").read_text().splitlines()
    assert len(rows) == 1 + 3, "a heading, AR greedy, PaDIR T1 and T2"
    claims = json.loads((report / "claims.json").read_text())
    assert claims
    hypotheses = place / "results/runs/toy/xs-xt/taught/seed0/decode/test.padir.T2.txt"
    assert hypotheses.read_text(encoding="utf-8").count("\n") == 40
    assert not list(tmp_path.rglob("pwned"))

    second = snakemake(*arguments, "--dry-run", folder=place)
    assert job_counts(second.stdout + second.stderr) == {}

    model = place / "results/runs/toy/xs-xt/ar/seed0/bundle/model.safetensors"
    before = model.stat().st_mtime_ns
    edited = ("--config", "trainings={taught: {objective: {unmasking_rate: 0.3}}}")
    third = snakemake(*arguments, *edited, "--", "table1", folder=place)
    assert third.returncode == 0, third.stderr[-2000:]
    jobs = job_counts(third.stdout + third.stderr)
    assert jobs["train"] == 1
    assert jobs["decode"] == jobs["score"] == 2
    assert model.stat().st_mtime_ns == before
    spec = json.loads((place / "results/runs/toy/xs-xt/taught/seed0/bundle/spec.json").read_text())
    assert spec["run_spec"]["run"]["objective"]["unmasking_rate"] == 0.3

    settings = place / "results/runs/toy/xs-xt/taught/spec.json"
    content = settings.read_text()
    digit = content.index('"unmasking_rate": 0.3') + len('"unmasking_rate": 0.')
    settings.write_text(content[:digit] + "7" + content[digit + 1 :])
    damaged = snakemake(*arguments, *edited, "--", "table1", folder=place)
    assert damaged.returncode == 1
    log = (place / "results/runs/toy/xs-xt/taught/seed0/logs/train.log").read_text()
    assert "taught/spec.json: damaged or edited" in log
    remedy = ("--force", str(settings.relative_to(place)))
    assert snakemake(*arguments, *edited, *remedy, folder=place).returncode == 0
    assert settings.read_text() == content
    assert snakemake(*arguments, *edited, "--", "table1", folder=place).returncode == 0
