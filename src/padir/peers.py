"""Processes that train together end together, each with a line that says why.

Every process keeps a connection to the first one. The system closes it when a process dies, so that
the first one learns of it at once. Both ends send a sign of life every few seconds, so that a lost
host and a process that stands still are noticed too. The first process tells the others which one
it was. JAX's own check takes longer, and then ends the process with a native stack.
"""

import os
import secrets
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from padir.files import InputError

MEET_SECONDS = 60.0
ALIVE_SECONDS = 5.0
"""Seconds between two signs of life."""
SILENT_SECONDS = 40.0
"""Seconds without a sign of life after which a process or its host counts as lost. JAX's own check
took 56 seconds."""
STATUS = 75
"""Exit status (EX_TEMPFAIL) of a process that ends only because another one failed. The same
command resumes the training."""
INTRODUCTION_SECONDS = 5.0
"""Seconds in which a new connection has to send the group's secret and its process number."""
DONE = b"done\n"
ALIVE = b"\0"
# Time for the watch to report the process whose end made an exchange fail.
CAUSE_SECONDS = 3.0
_KEY = "padir/watch"
_ENDING = threading.Lock()


def end(message: str, status: int = STATUS) -> NoReturn:
    """Say a last line and end, without JAX's own farewell, which waits for all processes.

    Of threads that call this at the same time one is heard. What others write to stderr from then
    on is dropped: JAX, from a thread of its own, would report the same end over many lines.
    """
    _ENDING.acquire()
    line = f"padir train: error: {message}\n".encode(errors="backslashreplace")
    try:
        stderr = os.dup(2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    except OSError:
        stderr = 2
    with suppress(OSError):
        os.write(stderr, line)
    os._exit(status)


@contextmanager
def deadline(seconds: float, message: str) -> Iterator[None]:
    """End this process with a message unless the block ends in time."""
    timer = threading.Timer(seconds, end, [message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _introduction(peer: socket.socket, length: int) -> str:
    """The first `length` characters from a connection; fewer if it closes or stays silent."""
    peer.settimeout(INTRODUCTION_SECONDS)
    said = b""
    with suppress(OSError):
        while len(said) < length and (block := peer.recv(length - len(said))):
            said += block
    return said.decode("ascii", errors="replace")


class SingleProcess:
    """The group of one process."""

    first = True

    def __enter__(self) -> "SingleProcess":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Group:
    """Processes at work together; a context manager around all that they do.

    Args:
        index: of this process, from 0.
        count: of processes.
        host: where the first one is reached.
        client: of JAX's coordination service, through which the first process tells the others its
            port and a random secret; connections without the secret are closed.

    Attributes:
        first: whether this is the process that writes results.
    """

    def __init__(self, index: int, count: int, host: str, client: Any):
        self.first = index == 0
        self._threads: list[threading.Thread] = []
        self._peers: list[socket.socket] = []
        self._noticing = threading.Lock()
        self._sending = threading.Lock()
        self._said_last = False
        self._heard = threading.Semaphore(0)
        if self.first:
            with socket.create_server(("", 0), backlog=count) as server:
                secret = secrets.token_hex()
                client.key_value_set(_KEY, f"{server.getsockname()[1]} {secret}")
                missing = {f"{secret} {other:08x}": other for other in range(1, count)}
                while missing:
                    peer, _ = server.accept()
                    name = _introduction(peer, len(secret) + 9)
                    if name in missing:
                        self._watch(peer, missing.pop(name), count)
                    else:
                        peer.close()
        else:
            told = client.blocking_key_value_get(_KEY, int(1000 * MEET_SECONDS))
            port, secret = told.split()
            peer = socket.create_connection((host, int(port)), timeout=MEET_SECONDS)
            peer.settimeout(None)
            peer.sendall(f"{secret} {index:08x}".encode())
            self._watch(peer, 0, count)

    def _watch(self, peer: socket.socket, index: int, count: int) -> None:
        peer.settimeout(SILENT_SECONDS)
        host = peer.getpeername()[0]
        name = f"process {index} of {count} (on {host})"
        advice = "the same command on all hosts goes on from the last checkpoint"
        ended = f"{name} has ended, its own log may say why; {advice}"
        silent = (
            f"{name} has not answered for {SILENT_SECONDS:.0f} seconds: it stands still, or its"
            f" host is lost; {advice}"
        )

        def wait_for_its_end() -> None:
            said, message = b"", ended
            try:
                while not said.endswith(b"\n") and (block := peer.recv(16)):
                    said += block.replace(ALIVE, b"")
            except TimeoutError:
                message = silent
            except OSError:
                pass
            self._heard.release()
            if said == DONE:
                return
            # Those that are told end too, and must not be taken for the cause.
            with self._noticing:
                # The first process tells the others which one it was, unless it was itself.
                if self.first:
                    self._tell(f"{message}\n".encode())
                    self._wait_for_ends()
                end(said.decode(errors="replace").strip() or message)

        def give_signs_of_life() -> None:
            with suppress(OSError):
                while True:
                    with self._sending:
                        if self._said_last:
                            return
                        peer.sendall(ALIVE)
                    time.sleep(ALIVE_SECONDS)

        self._peers.append(peer)
        self._threads.append(threading.Thread(target=wait_for_its_end, daemon=True))
        self._threads[-1].start()
        threading.Thread(target=give_signs_of_life, daemon=True).start()

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, InputError | OSError):
            self._end_last(str(error), 2)
        if isinstance(error, KeyboardInterrupt):
            self._end_last("interrupted", 130)
        if error is not None:
            # Most often an exchange with a process that has just ended: its watch ends this one.
            time.sleep(CAUSE_SECONDS)
            with self._noticing:
                traceback.print_exception(error)
            self._end_last(f"{type(error).__name__}; the other processes end too", 1)
        # The first one writes the results before it says so: until then the others watch it.
        if self.first:
            self._wait()
            self._tell(DONE)
        else:
            self._tell(DONE)
            self._wait()

    def _tell(self, said: bytes) -> None:
        """Say the last words to all; what came after them would be lost with this process."""
        with self._sending:
            self._said_last = True
        for peer in self._peers:
            with suppress(OSError):
                peer.sendall(said)

    def _end_last(self, message: str, status: int) -> NoReturn:
        """End for a reason of this process's own, the first one after the others."""
        # The lock is never given back: what others end of now is no news.
        self._noticing.acquire()
        if self.first:
            self._tell(b"\n")
            self._wait_for_ends()
        end(message, status)

    def _wait_for_ends(self) -> None:
        """Stay until the others have ended, since JAX's client aborts where the first is gone."""
        until = time.monotonic() + CAUSE_SECONDS
        for _ in self._peers:
            self._heard.acquire(timeout=max(until - time.monotonic(), 0.0))

    def _wait(self) -> None:
        for thread in self._threads:
            thread.join()
