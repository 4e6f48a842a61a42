"""Calls of other programs: never through a shell, never longer than a given time."""

import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass

from padir.files import InputError


@dataclass(frozen=True)
class Call:
    """A program with its arguments, and what it reads from standard input."""

    words: tuple[str, ...]
    text: str = ""


class Trouble(Exception):
    """An engine gave no answer, or none that is understood; it may do so later."""


def answer(call: Call, seconds: float, locked: int | None = None) -> str:
    """What a program prints.

    Args:
        call: program, arguments and input.
        seconds: after which it is killed, with its children.
        locked: descriptor of a lock that the program keeps if this process is killed.

    Raises:
        InputError: there is no such program.
        Trouble: it fails or hangs.
    """
    program = call.words[0]
    with (
        tempfile.TemporaryFile() as text,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        text.write(call.text.encode())
        text.seek(0)
        try:
            # In a session of its own: Ctrl-C must not cut a submission short. Files, as a pipe
            # would break when this process is killed.
            process = subprocess.Popen(
                call.words,
                stdin=text,
                stdout=output,
                stderr=errors,
                start_new_session=True,
                pass_fds=() if locked is None else (locked,),
            )
        except OSError as error:
            raise InputError(f"{program}: cannot run: {error.strerror}; is it on PATH?") from error
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Trouble(f"{program} gave no answer in {seconds:g} s") from error
        output.seek(0)
        errors.seek(0)
        printed, said = (file.read().decode(errors="replace") for file in (output, errors))
    if status:
        lines = [*printed.splitlines(), *said.splitlines()]
        last = next((line.strip() for line in reversed(lines) if line.strip()), "no message")
        raise Trouble(f"{program} ended with status {status}: {last[:300]}")
    return printed
