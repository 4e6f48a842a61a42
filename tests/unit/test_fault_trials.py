"""benchmarks/faults: the cheap kinds of faults, a few trials each, of real commands."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def test_cheap_faults_lose_nothing_and_are_written_down(tmp_path, repository):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- faults: begin -->\n<!-- faults: end -->\nafter\n")
    records = tmp_path / "records.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.faults", "--trials", "3", "--seed", "7"),
            *("--commands", "clean", "vocab", "distill-cloud", "translate"),
            *("--kinds", "kill", "write", "damage", "input"),
            *("--records", records, "--write", page),
        ],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = json.loads(records.read_text())
    assert rows
    for row in rows:
        assert 0 < row["tried"] <= 3 and row["tried"] + row["missed"] == 3
        bad = [row[name] for name in ("wrong", "lost", "untold", "left")]
        assert bad == [0, 0, 0, 0], row
    # Kills and failed calls may come too late in a trial, damage never does.
    damaged = [row["tried"] for row in rows if row["fault"] in ("damage", "input")]
    assert damaged == [3, 3]
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n")
    assert f"Totals: {sum(row['tried'] for row in rows)} tried, " in text
