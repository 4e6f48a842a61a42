"""`make setup`, `audit` and `sbom`, with a stand-in for uv: what is asked of it, what is said."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UV = """\
#!/bin/sh
echo "$@" >> "$RECORD"
echo "$SAID" >&2
exit $STATUS
"""


def make(
    target: str, folder: Path, status: int = 0, said: str = "", changed: bool = False
) -> tuple[int, str, str, str]:
    """Status, both outputs, and the words that uv was called with, a line a call.

    The folder has a copy of the project that was set up, or whose locks changed since then.
    """
    (folder / ".venv/bin").mkdir(parents=True, exist_ok=True)
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-tf.lock"):
        (folder / name).write_bytes((ROOT / name).read_bytes())
    for name in ("uv", "python"):
        (folder / ".venv/bin" / name).write_text(UV)
        (folder / ".venv/bin" / name).chmod(0o755)
    (folder / ".venv/.padir-stamp").touch()
    if changed:
        for stamp in (folder / ".venv").glob(".padir-*"):
            os.utime(stamp, (0, 0))
    record = folder / "record"
    # A make that runs these tests must not be this one's parent: it would say "make[1]".
    outside = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    environment = {**outside, "RECORD": str(record), "STATUS": str(status), "SAID": said}
    done = subprocess.run(
        ["make", target], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr, record.read_text()


def test_a_changed_lock_keeps_the_extras_of_earlier_set_ups(tmp_path):
    (tmp_path / ".venv").mkdir()
    for stamp in (".padir-stamp-cuda-bench", ".padir-tf-stamp"):
        (tmp_path / ".venv" / stamp).touch()
    status, _, err, asked = make("setup", tmp_path, changed=True)
    calls = asked.splitlines()
    assert status == 0, err
    assert "pip sync" in calls[0] and calls[0].endswith("requirements.lock")
    installed = {call.split()[-1] for call in calls[1:]}
    assert installed == {".", ".[cuda,bench]", "requirements-tf.lock"}


def test_an_audit_without_findings_says_so(tmp_path):
    status, out, err, asked = make("audit", tmp_path, said="No known vulnerabilities found")
    assert (status, out, err) == (0, "No known vulnerabilities found\n", "")
    for word in ("pip-audit==", "--isolated", "--strict", "requirements.lock", "-tf.lock"):
        assert word in asked


@pytest.mark.parametrize(
    ("said", "status", "expected"),
    [
        (
            "Found 2 known vulnerabilities in 1 package",
            2,
            "Found 2 known vulnerabilities in 1 package\n",
        ),
        (
            "error: Request failed\n  cause: dns error",
            2,
            "make audit: error: nothing was checked: the advisories or the tool cannot be reached,"
            " which needs the network (  cause: dns error)\n",
        ),
        (
            "ERROR:pip_audit._cli:x: Dependency not found",
            2,
            "make audit: error: nothing was checked: the advisories or the tool cannot be reached,"
            " which needs the network (ERROR:pip_audit._cli:x: Dependency not found)\n",
        ),
    ],
)
def test_an_audit_that_finds_something_or_nothing_at_all_fails(tmp_path, said, status, expected):
    code, _, err, _ = make("audit", tmp_path, 1, said)
    # make adds a line of its own.
    assert code == status and err.startswith(expected)
    assert [line for line in err.splitlines() if not line.startswith("make: ***")] == [
        expected.rstrip("\n")
    ]


def test_a_list_of_packages_is_made_from_each_lock(tmp_path):
    status, out, err, asked = make("sbom", tmp_path)
    assert (status, out, err) == (0, "results/sbom.json\nresults/sbom-tf.json\n", "")
    for lock, call in zip(("", "-tf"), asked.splitlines(), strict=True):
        for word in (
            "cyclonedx-bom==",
            "--isolated",
            f"requirements{lock}.lock",
            f"sbom{lock}.json",
        ):
            assert word in call


def test_a_list_that_cannot_be_made_is_one_line(tmp_path):
    code, out, err, _ = make("sbom", tmp_path, 2, "error: no network")
    assert code == 2 and out == ""
    assert err.splitlines()[0] == "make sbom: error: error: no network"
