"""`padir translate` from outside: streams that are closed, no text, broken off or interrupted."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from padir.commands.translate import CONSTRAINTS, main
from padir.files import InputError
from tests.decoding import write_tiny_bundle

PADIR = [sys.executable, "-m", "padir", "translate", "--model"]


def shell(redirection: str, bundle: object = "none") -> subprocess.CompletedProcess[str]:
    words = " ".join([*PADIR, str(bundle), redirection])
    return subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize(
    ("redirection", "message"),
    [
        ("<&-", "padir translate: error: standard input is closed: lines are read"),
        (">&- < /dev/null", "padir translate: error: standard output is closed: lines are read"),
        ("< /dev/null", "padir translate: error: none: no such folder; is its training done?"),
    ],
)
def test_a_stream_that_is_none_is_told_in_one_line(redirection, message):
    done = shell(redirection)
    assert done.returncode == 2 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert message in line


def test_nothing_meant_for_a_closed_stderr_reaches_the_output(bundle):
    long = " ".join(["ba"] * 200)
    done = shell(f"--trace 2>&- <<< '{long}'", bundle)
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    done = shell("2>&- < /dev/null")
    assert (done.returncode, done.stdout) == (2, "")


def test_a_directory_as_input_is_refused_by_python_itself():
    """Python ends before this package is loaded, with a message of its own."""
    done = shell("< /")
    assert done.returncode == 1 and done.stdout == ""
    assert "is a directory" in done.stderr.splitlines()[0] and "Traceback" not in done.stderr


DIRECTORY_AS_INPUT = """\
import os, sys
from padir.cli import main
os.dup2(os.open("/", os.O_RDONLY), 0)
sys.exit(main(["translate", "--model", *sys.argv[1:]]))
"""


def test_a_directory_that_reaches_the_command_is_one_line(bundle):
    command = [sys.executable, "-c", DIRECTORY_AS_INPUT, str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        "padir translate: error: standard input: cannot read: Is a directory\n",
    )


def test_a_directory_as_a_file_of_constraints_is_one_line(tmp_path):
    model = write_tiny_bundle(tmp_path / "padir", "padir")
    for name in CONSTRAINTS:
        given = ["--model", str(model), "--length-alpha", "1", f"--{name}", str(tmp_path)]
        with pytest.raises(InputError, match=rf"^--{name} {tmp_path}: is a folder, allowed"):
            main(given)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return write_tiny_bundle(tmp_path_factory.mktemp("models") / "ar", "ar")


def test_a_closed_pipe_ends_quietly(bundle):
    done = shell(f"< <(yes ba) | head -n 1; echo ${{PIPESTATUS[0]}} {bundle.name}", bundle)
    assert done.stderr == ""
    first, status = done.stdout.splitlines()
    assert status == f"141 {bundle.name}" and isinstance(first, str)


@pytest.mark.parametrize("seconds", [0.0, 2.5])
def test_an_interrupt_ends_with_one_line_whatever_runs(bundle, seconds):
    process = subprocess.Popen(
        [*PADIR, str(bundle)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # From the moment that the thread which waits for signals is there.
    tasks = Path(f"/proc/{process.pid}/task")
    while process.poll() is None and len(list(tasks.iterdir())) < 2:
        time.sleep(0.01)
    time.sleep(seconds)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "padir translate: interrupted\n")
    assert time.monotonic() - began < 30


BOTH_HEAR = """
import hashlib, os, signal, sys, threading, time
from padir import cli

write = os.write

def slow_write(*arguments):
    write(*arguments)
    time.sleep(3)

def busy(*_):
    # The main thread hears the signal after this call, while the second thread ends the process.
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000)
    time.sleep(30)

os.write, cli._run = slow_write, busy
sys.argv = ["padir", "translate"]
cli.main()
"""


def test_two_threads_that_hear_one_interrupt_say_one_line():
    done = subprocess.run([sys.executable, "-c", BOTH_HEAR], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "padir translate: interrupted\n")
