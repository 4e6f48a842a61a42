"""Set-up of all tests: shapes are checked at run time, silent broadcasting is an error."""

import atexit
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import hypothesis
import pytest
from jaxtyping import install_import_hook

from tests.required import skip_if_late

# Read by JAX when it is first imported, here or in a command that a test starts.
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"
# Compiling takes most of the suite's time, and optimising half of compiling.
OPTIMISATION_OFF = "JAX_DISABLE_MOST_OPTIMIZATIONS"
os.environ[OPTIMISATION_OFF] = "1"
# Compiled programs are kept for the session, here and in commands that tests start: many tests use
# the same tiny models. Workers of one session share the folder of the first process.
if "PADIR_TEST_CACHE" not in os.environ:
    folder = tempfile.mkdtemp(prefix="padir-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["PADIR_TEST_CACHE"] = folder
os.environ["XDG_CACHE_HOME"] = os.environ["PADIR_TEST_CACHE"]
os.environ["JAX_COMPILATION_CACHE_DIR"] = os.environ["PADIR_TEST_CACHE"] + "/padir/compiled"
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.05"
# Commands that tests start come from the environment that runs the tests.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# Services that tests start are on this machine, where no proxy reaches them.
for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[name]

# Under nohup, or in the background of a script, these are ignored, and so they would be by commands
# that tests start and interrupt.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, lambda *_: None),
):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)

install_import_hook("padir", "beartype.beartype")

hypothesis.settings.register_profile("padir", deadline=None, derandomize=True)
hypothesis.settings.load_profile("padir")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root folder of the checkout."""
    return Path(__file__).resolve().parents[1]


AS_USERS_COMPILE = (
    *("defects", "devices", "parity", "property", "theory", "workflow"),
    "unit/planning",
)
"""Folders whose tests, like all slow ones, run programs at JAX's default optimisation: what they
show is shown of the programs that users run."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what would begin too late; switch the optimisation of programs that this test, and
    commands that it starts, compile.
    """
    skip_if_late()
    path = item.path.relative_to(Path(__file__).parent)
    as_users = "slow" in item.keywords or any(map(path.is_relative_to, AS_USERS_COMPILE))
    off = not as_users
    if os.environ[OPTIMISATION_OFF] == str(int(off)):
        return
    os.environ[OPTIMISATION_OFF] = str(int(off))
    if "jax" in sys.modules:
        import jax

        jax.config.update(OPTIMISATION_OFF.lower(), off)
        # A program compiled the other way must not serve this test.
        jax.clear_caches()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--network", action="store_true", help="run tests that need the internet")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--network"):
        skip = pytest.mark.skip(reason="needs the internet: --network")
        for item in items:
            if "network" in item.keywords:
                item.add_marker(skip)
