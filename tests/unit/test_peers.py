"""Processes that end together; a stand-in for JAX's coordination service tells the port."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

WORK = """
import sys, time
from pathlib import Path
from padir.files import InputError
from padir import peers
from padir.peers import Group

# Less patience than a training has.
peers.ALIVE_SECONDS, peers.SILENT_SECONDS, peers.INTRODUCTION_SECONDS = 0.2, 5.0, 1.0
index, count, place, how = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]

class Client:
    def key_value_set(self, key, value):
        (place / "new").write_text(value)
        (place / "new").rename(place / "port")
    def blocking_key_value_get(self, key, milliseconds):
        while not (place / "port").exists():
            time.sleep(0.01)
        return (place / "port").read_text()

with Group(index, count, "127.0.0.1", Client()) as group:
    (place / f"met{index}").touch()
    if how == "wait":
        time.sleep(120)
    if how == "wrong":
        raise InputError("belongs to another run")
    if how == "slow":
        time.sleep(1.5)
    if how == "slower":
        time.sleep(1.5 * peers.SILENT_SECONDS)
(place / f"done{index}").touch()
"""


@pytest.fixture
def start(tmp_path: Path):
    """Starts a group, one process for each way to behave; those without one are left out."""
    running: list[subprocess.Popen[str]] = []

    def run(*ways: str) -> list[subprocess.Popen[str]]:
        for index, how in enumerate(ways):
            if not how:
                continue
            command = [sys.executable, "-c", WORK, str(index), str(len(ways)), str(tmp_path), how]
            running.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return running

    yield run
    for process in running:
        process.kill()


def wait_until(*paths: Path) -> None:
    deadline = time.monotonic() + 60
    while not all(path.exists() for path in paths):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    "ways", [("slow", "end", "end"), ("end", "slow", "end"), ("slower", "slower", "end")]
)
def test_all_end_well_and_wait_for_the_slowest(start, tmp_path, ways):
    running = start(*ways)
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert [process.stderr.read() for process in running] == ["", "", ""]


def test_sigterm_ends_a_process_that_does_not_train_yet():
    """JAX would drop the signal: what listens to it at once is the training's loop alone."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    script = f"""
import time
from padir.launch import join, prepare
prepare(1)
with join("127.0.0.1:{port},1,0"):
    print("joined", flush=True)
    time.sleep(60)
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "joined\n"
        process.terminate()
        assert process.wait(timeout=30) == -signal.SIGTERM


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.0\r\n\r\n", b"\0\0\0\1"])
def test_a_stranger_that_connects_is_no_peer(start, tmp_path, said, stays):
    """Such as a scan of ports, while the processes meet; one that stays is silent after that."""
    start("end", "")
    wait_until(tmp_path / "port")
    port = int((tmp_path / "port").read_text().split()[0])
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(said)
        if not stays:
            stranger.close()
        running = start("", "end")
        assert [process.wait(timeout=60) for process in running] == [0, 0]
    assert [process.stderr.read() for process in running] == ["", ""]


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_killed_process_ends_all_others_with_a_line_that_names_it(start, tmp_path, victim):
    running = start("wait", "wait", "wait")
    wait_until(*(tmp_path / f"met{index}" for index in range(3)))
    running[victim].kill()
    for index, process in enumerate(running):
        if index != victim:
            assert process.wait(timeout=60) == 75
            (line,) = process.stderr.read().splitlines()
            assert line.startswith(f"padir train: error: process {victim} of 3 (on 127.0.0.1) has")
            assert "the same command on all hosts goes on from the last checkpoint" in line


@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_stands_still_ends_all_others_and_itself(start, tmp_path, victim):
    """Its system still answers for it, so that no connection is closed."""
    running = start("wait", "wait", "wait")
    wait_until(*(tmp_path / f"met{index}" for index in range(3)))
    running[victim].send_signal(signal.SIGSTOP)
    for index, process in enumerate(running):
        if index != victim:
            assert process.wait(timeout=60) == 75
            (line,) = process.stderr.read().splitlines()
            assert line == (
                f"padir train: error: process {victim} of 3 (on 127.0.0.1) has not answered for 5"
                " seconds: it stands still, or its host is lost; the same command on all hosts"
                " goes on from the last checkpoint"
            )
    running[victim].send_signal(signal.SIGCONT)
    assert running[victim].wait(timeout=60) == 75
    assert len(running[victim].stderr.read().splitlines()) == 1


def test_an_error_of_one_process_is_its_line_and_ends_the_others(start):
    running = start("wrong", "wait")
    assert [process.wait(timeout=60) for process in running] == [2, 75]
    lines = [process.stderr.read() for process in running]
    assert lines[0] == "padir train: error: belongs to another run\n"
    assert "process 0 of 2 (on 127.0.0.1) has ended, its own log may say why" in lines[1]


@pytest.mark.parametrize("full", [False, True])
def test_what_others_write_while_a_process_ends_does_not_follow_its_line(full):
    """Such as JAX, from a thread of its own, when the first process has died. Where the process can
    open no more files, the line is written all the same."""
    script = f"""
import os, resource, sys
from padir import peers

leave = os._exit
os._exit = lambda status: (os.write(2, b"noise\\n"), print("noise", file=sys.stderr), leave(status))
os.write(2, b"before\\n")
if {full}:
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
peers.end("process 0 has ended")
"""
    ended = subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 75
    noise = "noise\nnoise\n" if full else ""
    assert ended.stderr == f"before\npadir train: error: process 0 has ended\n{noise}"
