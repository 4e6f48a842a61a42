"""A test is skipped where its tool is missing, and fails where `.ci/run` has set the tool up. It is
skipped where the time of `.ci/run` is over.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.required import UNTIL, VARIABLE, skip_if_late, unavailable

MAKE = """\
#!/usr/bin/env bash
for last; do :; done
echo "$last ${PADIR_REQUIRE:-} $((PADIR_TESTS_UNTIL - $(date +%s) > 4400))"
[[ " $BROKEN " != *" $last "* ]]
"""


@pytest.mark.parametrize(
    ("names", "outcome"),
    [("", pytest.skip), ("none,chromium", pytest.skip), ("none,slurm", pytest.fail)],
)
def test_a_missing_tool_skips_unless_it_was_set_up(monkeypatch, names, outcome):
    monkeypatch.setenv(VARIABLE, names)
    with pytest.raises(outcome.Exception, match="no sbatch"):
        unavailable("slurm", "no sbatch")


def test_no_test_begins_too_late(monkeypatch):
    for until in (None, "4e9"):
        monkeypatch.delenv(UNTIL, raising=False)
        if until:
            monkeypatch.setenv(UNTIL, until)
        skip_if_late()
    monkeypatch.setenv(UNTIL, "1e9")
    with pytest.raises(pytest.skip.Exception, match="no time left"):
        skip_if_late()


@pytest.mark.parametrize(
    ("broken", "required"),
    [
        ("", "none,chromium,namespaces,slurm"),
        ("setup-slurm", "none,chromium,namespaces"),
        ("setup-browser", "none,namespaces,slurm"),
    ],
)
def test_ci_requires_what_it_has_set_up_and_says_what_it_has_not(
    repository, tmp_path, broken, required
):
    for name, text in (("make", MAKE), ("unshare", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [shutil.which("bash") or "bash", str(Path(repository, ".ci/run"))],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "BROKEN": broken},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == f"test-slow {required} 1"
    assert done.stderr.count(".ci/run: no ") == len(broken.split())
