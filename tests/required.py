"""Tools that a test needs: without one it is skipped, or fails where the tool must be there."""

import os
from typing import NoReturn

import pytest

VARIABLE = "PADIR_REQUIRE"
"""Names, separated by commas, of the tools that `.ci/run` has set up or seen at work."""


def unavailable(tool: str, reason: str) -> NoReturn:
    """End a test that cannot run here.

    Args:
        tool: chromium, slurm, or namespaces (root's right to mount and to have networks).
        reason: what is missing.
    """
    if tool in os.environ.get(VARIABLE, "").split(","):
        pytest.fail(f"{reason}, though {VARIABLE} names {tool}")
    pytest.skip(reason)
