"""What a plain run prints: a line a job, why a job failed, and where the report lies."""

import os
import re
import subprocess
import sys

import pytest

from tests.workflow.conftest import ROOT

TARGET = "results/report/tables/table1.md"


@pytest.fixture
def broken(stand_in, tmp_path):
    """An environment whose `padir` does what a shell says, which may go on to the stand-in."""

    def environment(shell: str) -> dict[str, str]:
        script = tmp_path / "bin/padir"
        script.parent.mkdir()
        rest = stand_in["PATH"]
        script.write_text(f"#!/bin/sh\npadir() {{ PATH='{rest}' command padir \"$@\"; }}\n{shell}")
        script.chmod(0o755)
        return {**stand_in, "PATH": f"{script.parent}{os.pathsep}{rest}"}

    return environment


def test_a_run_is_a_line_a_job(snakemake, stand_in, tiny, tmp_path):
    done = snakemake("--configfile", str(tiny), "--", "core", env=stand_in)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    total = int(re.findall(r"^(\d+) jobs$", done.stderr, re.MULTILINE)[0])
    counted = [line for line in lines if re.match(rf"\d+ of {total}: \w+", line)]
    # The target `core` makes no file.
    assert len(counted) == total - 1
    assert any(re.fullmatch(r"\d+ of \d+: train toy xs-xt raw seed 0, \d+ s", x) for x in counted)
    page = tmp_path / "place/results/report/core/index.html"
    assert re.fullmatch(rf"{total} jobs in .*; report: {re.escape(str(page))}", lines[-1])
    assert len(lines) <= total + 10, done.stderr
    [log] = (tmp_path / "place/.snakemake/log").glob("*.log")
    assert "Finished jobid: " in log.read_text()
    again = snakemake("--configfile", str(tiny), "--", "core", env=stand_in)
    assert "Nothing to be done" in again.stderr


def test_the_core_page_that_stands_in_for_that_of_everything_is_no_warning(
    snakemake, stand_in, tiny
):
    done = snakemake("--configfile", str(tiny), "--", "everything", env=stand_in)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr and "index.html'" not in done.stderr


def test_a_failed_job_gives_its_reason(snakemake, broken, tiny):
    shell = 'if [ "$1" = train ]; then echo begun; echo no space >&2; exit 2; fi\npadir "$@"\n'
    done = snakemake("--configfile", str(tiny), "--", TARGET, env=broken(shell))
    assert done.returncode == 1
    failed = r"FAILED: train toy xs-xt \w+ seed 0 after .*; log: \S+/train.log\n"
    failed += "    begun\n    no space\n"
    assert re.search(failed, done.stderr), done.stderr
    assert re.search(r"\d jobs done, [1-3] failed; the same command goes on", done.stderr)
    assert "CalledProcessError" not in done.stderr


def test_the_log_of_a_failed_join_has_its_reason(snakemake, broken, tiny, tmp_path):
    """A part of the translations is not what its provenance records."""
    shell = """padir "$@" || exit
if [ "$1" = distill ]; then
  for word; do case $last in --out) out=$word;; esac; last=$word; done
  printf '{"outputs": {"%s": "0"}}' "$(basename "$out")" > "$out.provenance.json"
fi
"""
    done = snakemake("--configfile", str(tiny), "--", TARGET, env=broken(shell))
    assert done.returncode == 1
    name = "results/distill/toy/xs-xt/ar/seed0/logs/join.xt.log"
    failed = rf"FAILED: join_distilled .*; log: {re.escape(name)}\n    (padir join: error: .*\n)"
    shown = re.search(failed, done.stderr)
    assert shown, done.stderr
    assert (tmp_path / "place" / name).read_text() == shown[1]
    assert done.stderr.count("padir join: error") == 1 and "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--printshellcmds", "--verbose", "--quiet=host", "--dry-run"])
def test_snakemakes_own_log_can_be_requested(snakemake, stand_in, tiny, option):
    arguments = ("--configfile", str(tiny), option, "--", "results/report/config.json")
    done = snakemake(*arguments, env=stand_in)
    assert done.returncode == 0, done.stderr
    assert "rule write_report_settings:" in done.stdout + done.stderr


def test_a_file_system_without_locks_is_one_line(tmp_path):
    refusing = (
        "import errno, fcntl, sys\n"
        "def refuse(*_):\n    raise OSError(errno.ENOSYS, 'Function not implemented')\n"
        "fcntl.flock = refuse\n"
        "from snakemake.cli import main\nmain()"
    )
    words = ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(tmp_path), "--cores", "1"]
    command = [sys.executable, "-c", refusing, *words, "-n"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    its_own = ("Config file ", "Using workflow specific profile ")
    ours = [line for line in done.stderr.splitlines() if not line.startswith(its_own)]
    assert ours == [
        f"{tmp_path}/.snakemake: this file system has no locks (flock): Function not implemented;"
        " choose a folder on another one (of a workflow: snakemake --directory FOLDER)"
    ]
