"""The handle of a job elsewhere: a small file that says which name it has, and how far it is.

It is written before each step that an engine hears of, so that whoever starts again knows what may
have happened. It holds no option of the engine beyond where the job is, and of the command no
secret that `shown_command` knows by its form or the name before it.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from padir.files import InputError, digest, read_json, shown, write_json

FORMAT = 1
_SECRET = re.compile(r"(?i)(token|secret|password|passwd|credential|key)[^=]*(=|$)")
_WITHIN = re.compile(r"(?i)(://[^\s/:@]*:)[^\s/]+(?=@)|(\bbearer\s+)[\w.~+/=-]+")


class Phase(Enum):
    """How far a job is."""

    CHOSEN = "chosen"
    """It has a name, and nothing was submitted under it."""
    SUBMITTING = "submitting"
    """It is being submitted; the engine may have it or not."""
    SUBMITTED = "submitted"
    FINISHED = "finished"
    """It has ended well, and what it holds is to be freed."""
    PREEMPTED = "preempted"
    """It was preempted, and what it holds is to be freed."""
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Handle:
    """What the file says.

    Attributes:
        engine: its name.
        settings: where the job is: zone, project, cluster and the like.
        command: as it is shown.
        digest: of engine, settings, options, command and the handle's own place.
        attempt: number in the job's name, from 1.
        tries: attempts of this job since it was last started anew.
        phase: how far it is.
        word: the engine's last word for its state.
    """

    engine: str
    settings: dict[str, str]
    command: str
    digest: str
    attempt: int = 1
    tries: int = 1
    phase: Phase = Phase.CHOSEN
    word: str = field(default="")

    @property
    def name(self) -> str:
        """The job's name on the engine: the same for the same command and handle."""
        return f"padir-{self.digest[:12]}-{self.attempt}"


def shown_command(command: Sequence[str]) -> str:
    """A command for messages, without these secrets: what stands behind a word like `--api-key` or
    behind `=` in a word like `API_KEY=`, the password of an address such as https://user:password@
    and what follows `Bearer`, in its word or as the next one. A secret elsewhere is shown.
    """
    words, hide = [], False
    for word in command:
        word = _WITHIN.sub(r"\1\2...", word)
        match = _SECRET.search(word)
        words.append("..." if hide else word[: match.end()] if match else word)
        named = not hide and word.startswith("-") and match is not None and match[2] == ""
        hide = named or re.search(r"(?i)\bbearer\s*$", word) is not None
        if match and match[2]:
            words[-1] += "..."
    return shlex.join(words)


def new_handle(
    path: Path, engine: str, settings: Mapping[str, str], command: Sequence[str], rest: Any
) -> Handle:
    """The handle of a command that was not launched yet.

    Args:
        path: where it will be written.
        engine: its name.
        settings: where the job will be.
        command: what to run.
        rest: what else tells this job from another one, as JSON; only its digest is kept.
    """
    given = [str(path.absolute()), engine, dict(settings), list(command), rest]
    return Handle(engine, dict(settings), shown_command(command), digest(given))


def write_handle(path: Path, handle: Handle) -> None:
    """Write it, with the job's name for readers.

    Raises:
        InputError: it cannot be written.
    """
    value = {**asdict(handle), "phase": handle.phase.value}
    write_json(path, {"format": FORMAT, "name": handle.name, **value})


def read_handle(path: Path) -> Handle | None:
    """What is at a path; None where nothing is.

    Raises:
        InputError: no handle, or one of another version.
    """
    try:
        value = read_json(path)
    except InputError:
        if path.exists():
            raise
        return None
    try:
        if value.pop("format") != FORMAT:
            raise ValueError
        value.pop("name")
        handle = Handle(**{**value, "phase": Phase(value["phase"])})
        if not re.fullmatch("[0-9a-f]{64}", handle.digest) or handle.attempt < 1:
            raise ValueError
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{shown(path)}: is not the handle of a launched command; give another --handle, or"
            " delete the file if nothing launched with it runs"
        ) from error
    return handle
