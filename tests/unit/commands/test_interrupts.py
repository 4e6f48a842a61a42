"""Ctrl-C at any moment of a real command: one line, status 130 or a saved checkpoint, at once."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.decoding import write_tiny_bundle
from tests.training import tiny_spec, train_arguments, write_toy

STEPS = 100_000


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    """By verb a command line that takes hours."""
    folder = tmp_path_factory.mktemp("interrupted")
    write_toy(folder)
    spec = tiny_spec("ar", steps=STEPS, checkpoint_every=STEPS, validate_every=STEPS)
    source = folder / "long.source"
    source.write_text("ba ko mi re\n" * 200_000)
    bundle = write_tiny_bundle(folder / "model", "ar")
    decode = ["--bundle", bundle, "--decoder", "greedy", "--source", source]
    decode += ["--out", folder / "out.jsonl", "--text", folder / "out.txt"]
    train = train_arguments(folder, spec)
    return {"train": ["train", *train], "decode": ["decode", *map(str, decode)]}


@pytest.mark.parametrize(
    ("verb", "seconds"),
    [
        *[("train", seconds) for seconds in (0.0, 0.2, 0.6)],
        *[("decode", seconds) for seconds in (0.0, 0.3)],
        *[
            pytest.param(verb, seconds, marks=pytest.mark.slow)
            for verb in ("train", "decode")
            for seconds in (0.05, 0.1, 0.4, 0.8, 1.2, 2.0, 4.0)
        ],
    ],
)
def test_an_interrupt_is_heard_from_the_first_moment(commands, verb, seconds):
    """So many seconds after the import of JAX begins."""
    command = [sys.executable, "-m", "padir", *commands[verb]]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    maps = Path(f"/proc/{process.pid}/maps")
    while "jaxlib" not in maps.read_text():
        assert process.poll() is None
        time.sleep(0.005)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    # Besides, a loop says how far it came.
    (line,) = [line for line in errors.splitlines() if not line.startswith(f"{verb} ")]
    if verb == "train" and process.returncode == 143:
        assert seconds and "; the same command goes on from there" in line
    else:
        assert (process.returncode, line) == (130, f"padir {verb}: interrupted")


INSIDE = """
import gc, signal, sys, types
from pathlib import Path
from padir import cli
Path(sys.argv[2], "broken_by_an_interrupt.py").write_text('''
import signal
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt as error:
    raise ImportError("an extension module makes this of it") from error
''')
def collect():
    gc.callbacks.append(lambda *_: signal.raise_signal(signal.SIGINT))
    gc.collect()
def imported():
    sys.path.insert(0, sys.argv[2])
    import broken_by_an_interrupt
def nothing():
    pass
def main(argv):
    globals()[argv[0]]()
    print("went on")
    return 0
cli.importlib = types.SimpleNamespace(import_module=lambda name: types.SimpleNamespace(main=main))
sys.argv = ["padir", "score", sys.argv[1]]
"""


def inside(tmp_path, where: str, **options) -> subprocess.CompletedProcess[str]:
    """Run a command that interrupts itself somewhere."""
    code = INSIDE.replace("sys.argv[2]", repr(str(tmp_path))) + "sys.exit(cli.main())"
    command = [sys.executable, "-c", code, where]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize("where", ["collect", "imported"])
def test_an_interrupt_is_heard_where_python_would_lose_it(tmp_path, where):
    done = inside(tmp_path, where)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "padir score: interrupted\n")


def test_an_interrupt_while_the_process_restarts_is_heard_by_the_new_one(tmp_path):
    def pending() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.raise_signal(signal.SIGINT)

    done = inside(tmp_path, "nothing", preexec_fn=pending)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "padir score: interrupted\n")


def test_a_command_started_to_ignore_interrupts_does(tmp_path):
    ignored = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    done = inside(tmp_path, "collect", **ignored)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")
