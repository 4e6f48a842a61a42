"""The fake Cloud Translation of the tests, in a process of its own: one that runs it cannot fork.

`python -m benchmarks.faults.service` prints its address, then, for each line that it reads, how
many characters it has billed since the line before.
"""

import atexit
import subprocess
import sys
from functools import cache
from subprocess import PIPE


@cache
def _process() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.faults.service"]
    process = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True, bufsize=1)
    atexit.register(process.terminate)
    return process


@cache
def endpoint() -> str:
    """Where the service listens; starts it."""
    out = _process().stdout
    assert out is not None
    return out.readline().strip()


def billed() -> int:
    """Characters billed since this was last asked."""
    process = _process()
    endpoint()
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    return int(process.stdout.readline())


def main() -> None:
    from tests.translation_server import Behaviour, TranslationServer

    with TranslationServer(script=lambda number, texts: Behaviour(wait=0.01)) as server:
        print(server.endpoint, flush=True)
        before = 0
        for _ in sys.stdin:
            print(server.billed_characters - before, flush=True)
            before = server.billed_characters


if __name__ == "__main__":
    main()
