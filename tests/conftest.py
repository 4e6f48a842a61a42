"""Set-up of all tests: shapes are checked at run time, silent broadcasting is an error."""

import os
import sys
from pathlib import Path

import hypothesis
import pytest
from jaxtyping import install_import_hook

# Read by JAX when it is first imported, here or in a command that a test starts.
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"
# Commands that tests start come from the environment that runs the tests.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

install_import_hook("padir", "beartype.beartype")

hypothesis.settings.register_profile("padir", deadline=None, derandomize=True)
hypothesis.settings.load_profile("padir")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root folder of the checkout."""
    return Path(__file__).resolve().parents[1]
