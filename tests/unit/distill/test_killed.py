"""`padir distill-cloud` killed at random: what is billed stays within what is in doubt."""

import json
import os
import random
import signal
import subprocess
import sys
import threading

import pytest

from padir.distill import owners
from padir.distill.ledger import Ledger
from padir.files import read_lines, write_lines
from tests.translation_server import (
    ERROR_AFTER,
    GOOD,
    QUOTA,
    Behaviour,
    TranslationServer,
    translation,
)

pytestmark = pytest.mark.slow

# `padir` that waits no minutes for a service which is down.
IMPATIENT = """
import sys
from padir.cli import main
from padir.distill import cloud

cloud.DOUBTFUL_SECONDS = (0.5, 1.0, 2.0)
sys.exit(main(sys.argv[1:]))
"""
CONCURRENCY, REQUEST_CHARACTERS, ROUNDS = 3, 150, 6


def command(tmp_path, name):
    return [
        *(sys.executable, "-c", IMPATIENT, "distill-cloud"),
        *("--teacher", str(tmp_path / "teacher.json")),
        *("--source", str(tmp_path / f"{name}.de"), "--source-language", "de"),
        *("--target-language", "en", "--out", str(tmp_path / f"{name}.en"), "--max-usd", "1"),
    ]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_run_pays_twice_for_no_more_than_was_in_flight(tmp_path, seed):
    draw = random.Random(seed)
    lines = [f"Zeile {draw.randrange(10**6)} {'x' * draw.randrange(20)}" for _ in range(700)]
    lines += draw.choices(lines, k=150)
    names = ["first", "second"]
    # Two processes at a time, with overlapping lines in different orders.
    for name in names:
        draw.shuffle(lines)
        write_lines(tmp_path / f"{name}.de", lines)
    running: list[subprocess.Popen] = []
    state = {"calls": 0, "kill_at": 0, "delay": 0.0}
    killed_at: list[int] = []
    lock = threading.Lock()

    def kill() -> None:
        for process in running:
            process.send_signal(signal.SIGKILL)

    def arrived(number: int) -> None:
        with lock:
            state["calls"] += 1
            due = state["calls"] == state["kill_at"]
        if due:
            threading.Timer(state["delay"], kill).start()

    def script(number, texts):
        chance = random.Random(f"{seed} {number}").random()
        return ERROR_AFTER if chance < 0.03 else QUOTA if chance < 0.06 else Behaviour(wait=0.02)

    with TranslationServer(script=script, arrived=arrived) as server:
        teacher = {
            "endpoint": server.endpoint,
            "ledger": str(tmp_path / "ledger.sqlite"),
            "concurrency": CONCURRENCY,
            "request_characters": REQUEST_CHARACTERS,
        }
        (tmp_path / "teacher.json").write_text(json.dumps(teacher))
        for _round_number in range(ROUNDS):
            state.update(calls=0, kill_at=draw.randint(1, 12), delay=draw.random() * 0.03)
            running[:] = [
                subprocess.Popen(
                    command(tmp_path, name),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=os.environ,
                )
                for name in names
            ]
            for process in running:
                process.wait(timeout=120)
            if any(process.returncode == -signal.SIGKILL for process in running):
                killed_at.append(len(server.received))
        server.script = lambda number, texts: GOOD
        state["kill_at"] = 0
        for name in names:
            subprocess.run(
                command(tmp_path, name),
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=120,
            )

        assert len(killed_at) >= 3
        for name in names:
            sources = read_lines(tmp_path / f"{name}.de")
            assert read_lines(tmp_path / f"{name}.en") == [translation(line) for line in sources]
        unique = sum(map(len, set(lines)))
        with Ledger(tmp_path / "ledger.sqlite") as ledger:
            spent = ledger.spent("loopback")
        # What the ledger calls in doubt bounds what was billed too often, and a kill leaves at
        # most the requests in flight in doubt; answers that were lost come on top.
        assert unique <= server.billed_characters <= unique + spent.doubt_characters
        assert spent.usd * 1e6 / 20 == pytest.approx(unique + spent.doubt_characters)
        lost = sum(
            sum(map(len, texts))
            for number, texts in enumerate(server.received)
            if script(number, texts) is ERROR_AFTER
        )
        in_flight = len(killed_at) * len(names) * CONCURRENCY * REQUEST_CHARACTERS
        assert spent.doubt_characters <= in_flight + lost
        assert spent.doubt_characters > lost


def test_a_process_of_another_user_counts_as_at_work(tmp_path, monkeypatch):
    def refused(path, flags):
        raise PermissionError(13, "Permission denied", path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refused)
        assert owners.is_alive_readonly(tmp_path / "ledger", "other")
        assert owners.is_alive(tmp_path / "ledger", "other")
