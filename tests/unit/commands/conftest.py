"""Stand-ins for the command lines of engines, and for the set-up of JAX."""

import signal
import sys

import pytest
import yaml

from tests.engines import Engines
from tests.launching import MANIFEST


@pytest.fixture
def engines(tmp_path, monkeypatch):
    """Stand-ins, alone on PATH, in a folder of their own; a test that blocks for ever is ended."""
    signal.alarm(100)
    stand_ins = Engines(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(stand_ins.folder))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(MANIFEST))
    yield stand_ins
    signal.alarm(0)


@pytest.fixture
def no_set_up(monkeypatch):
    """JAX has started; its set-up is tested elsewhere."""
    for name, module in list(sys.modules.items()):
        if name.startswith("padir.commands.") and hasattr(module, "prepare"):
            monkeypatch.setattr(module, "prepare", lambda threads: None)
