"""The documentation as a site: `make docs` builds it, and it works from its files alone."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import padir
from tests.documents import ROOT

NOT_READ = {".git", ".venv", ".snakemake", "results"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A checkout in which `make docs` was run."""
    folder = tmp_path_factory.mktemp("checkout")
    for path in ROOT.iterdir():
        if path.name not in NOT_READ:
            (folder / path.name).symlink_to(path)
    built = subprocess.run(
        [
            "make",
            "--no-print-directory",
            "docs",
            "--assume-old=setup",
            f"BIN={Path(sys.executable).parent}",
        ],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    assert built.stdout == f"site: {folder}/results/site/index.html\n"
    return folder


@pytest.fixture(scope="module")
def address(place):
    return f"file://{place}/results/site/"


def test_no_page_loads_anything_from_elsewhere(place):
    pages = list(place.glob("results/site/**/*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(
            r'<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)="(https?:[^"]+)', text
        )
        assert not loaded, f"{page.name} loads {loaded}"


def test_the_reference_has_all_that_can_be_imported(place):
    reference = (place / "results/site/api.html").read_text(encoding="utf-8")
    for name in set(padir.__dir__()) - set(vars(padir)) - {"score"}:
        assert re.search(rf'<h\d id="padir\.[\w.]*\b{name}"', reference), name
    for name in ("score.score_lines", "library.Model.translate", "decode.trace"):
        assert f'id="padir.{name}"' in reference


@pytest.mark.parametrize("page", ["index.html", "results/index.html"])
def test_the_search_finds_a_page_without_a_server(visit, address, page):
    opened = visit(page)
    opened.get_by_role("textbox", name="Search").click()
    opened.keyboard.type("preempted job")
    opened.locator(".md-search-result__link", has_text="Scale").first.click()
    opened.wait_for_url(f"{address}scale.html*")
