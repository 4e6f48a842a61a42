"""The cache of compiled programs: damaged entries are replaced, and none is needed."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
from padir.launch import prepare
prepare()
prepare()
import jax
jax.jit(lambda x: x * x + 1)(jax.numpy.arange(7.0)).block_until_ready()
print(jax.config.jax_compilation_cache_dir)
"""
NO_HOME = "import posixpath; posixpath.expanduser = lambda path: path\n"


@pytest.fixture
def run(tmp_path):
    """Computes something in a process of its own; returns its output and what it said."""
    kept = {k: v for k, v in os.environ.items() if k not in ("JAX_COMPILATION_CACHE_DIR", "HOME")}

    def start(code: str, cache: str) -> tuple[str, str]:
        words = [sys.executable, "-c", code]
        environment = {**kept, "XDG_CACHE_HOME": cache}
        done = subprocess.run(
            words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr

    return start


@pytest.mark.parametrize("length", [0, 100])
def test_an_entry_that_was_cut_short_is_replaced_without_a_word(tmp_path, run, length):
    run(PROGRAM, str(tmp_path))
    entries = {path: path.read_bytes() for path in tmp_path.glob("padir/compiled/*-cache")}
    assert entries
    for path, content in entries.items():
        assert len(content) > length
        path.write_bytes(content[:length])
    assert run(PROGRAM, str(tmp_path))[1] == ""
    for path, content in entries.items():
        assert path.stat().st_size > len(content) / 2
    before = {path: path.stat().st_mtime_ns for path in entries}
    assert run(PROGRAM, str(tmp_path))[1] == ""
    assert {path: path.stat().st_mtime_ns for path in entries} == before


def test_without_a_home_folder_there_is_no_cache(tmp_path, run):
    assert run(NO_HOME + PROGRAM, "") == ("None", "")
    assert not list(tmp_path.iterdir())
