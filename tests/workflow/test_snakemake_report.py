"""`snakemake --report`: tables, figures, claims and page in categories with captions, offline and
without `--cores`."""

import re

import pytest

pytestmark = pytest.mark.slow


def test_the_report_of_the_workflow_has_categories_and_captions(
    snakemake, stand_in, tiny, tmp_path
):
    targets = ("results/report/tables/table1.csv", "results/report/figures/training.svg")
    page = "results/report/core/index.html"
    arguments = (*targets, page, "--configfile", str(tiny))
    done = snakemake(*arguments, env=stand_in)
    assert done.returncode == 0, done.stderr
    # What is fetched would fail: nothing answers at this address.
    offline = {**stand_in, "https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    made = snakemake(*arguments, "--report", "report.html", env=offline, cores=())
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "place/report.html").read_text(encoding="utf-8")
    (categories,) = re.findall(r"var categories = (\{.*?\});?\n", text)
    assert {"Quality", "Training", "Report"} <= set(re.findall(r'"([^"]+)": ?\{', categories))
    for caption in ("Table <tt", "Figure <tt", "The whole report on one page"):
        assert caption in text
