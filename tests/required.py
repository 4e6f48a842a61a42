"""What a test needs: without a tool it is skipped, or fails where the tool must be there; without
time it is skipped.
"""

import os
import shutil
import subprocess
import time
from typing import NoReturn

import pytest

VARIABLE = "PADIR_REQUIRE"
"""Names, separated by commas, of the tools that `.ci/run` has set up or seen at work."""


def unavailable(tool: str, reason: str) -> NoReturn:
    """End a test that cannot run here.

    Args:
        tool: chromium, slurm, or namespaces (the right to mount and to have networks).
        reason: what is missing.
    """
    if tool in os.environ.get(VARIABLE, "").split(","):
        pytest.fail(f"{reason}, though {VARIABLE} names {tool}")
    pytest.skip(reason)


def in_namespaces(*options: str) -> list[str]:
    """The beginning of a command that runs as root in namespaces of its own, such as --mount."""
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    command = ["unshare", *user, *options]
    if not shutil.which("unshare") or subprocess.run([*command, "true"], check=False).returncode:
        unavailable("namespaces", f"{' '.join(command)} is not allowed")
    return command


UNTIL = "PADIR_TESTS_UNTIL"
"""Seconds since 1970 after which no test begins; without it all do."""


def skip_if_late() -> None:
    """Skip a test that would begin too late."""
    if time.time() > float(os.environ.get(UNTIL, "inf")):
        pytest.skip(f"no time left: {UNTIL} has passed")
