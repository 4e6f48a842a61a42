"""Files of metrics in a work folder: JSON lines, and events for TensorBoard."""

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from padir.files import InputError, atomic_path, read_jsonl, shown, write_errors
from padir.training.storage import RESTART


class EventFile:
    """The numbers of metrics.jsonl for TensorBoard.

    Written at once: the library's own writer has a thread, which a full disk ends and for which the
    training then waits for ever.

    Args:
        folder: made if missing.

    Raises:
        InputError: it cannot be written.
    """

    def __init__(self, folder: Path):
        from tensorboardX.event_file_writer import EventsWriter

        self._folder = folder
        with write_errors(folder):
            folder.mkdir(exist_ok=True)
            self._writer = EventsWriter(str(folder / "events"))

    def add(self, step: int, record: Mapping[str, float]) -> None:
        """Write the numbers of a step; `train_loss` becomes `train/loss`."""
        from tensorboardX.proto.event_pb2 import Event  # pyright: ignore  # Generated code.
        from tensorboardX.summary import scalar

        with write_errors(self._folder):
            for key, value in record.items():
                summary = scalar(re.sub("^(train|valid)_", r"\1/", key), value)
                self._writer.write_event(Event(wall_time=time.time(), step=step, summary=summary))
            self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self._writer.close()


def whole_lines(path: Path) -> list[dict]:
    """The records of a JSON-lines file; a last line cut short by a kill is removed from it.

    Raises:
        InputError: another line is damaged.
    """
    content = path.read_bytes() if path.exists() else b""
    end = content.rfind(b"\n") + 1
    if end < len(content):
        with atomic_path(path) as temporary:
            Path(temporary).write_bytes(content[:end])
    try:
        lines = read_jsonl(path) if end else []
    except InputError as error:
        raise InputError(f"{error}; {RESTART}") from error
    for number, line in enumerate(lines, start=1):
        if not isinstance(line.get("step"), int) or not isinstance(line.get("restarts", 0), int):
            raise InputError(
                f"{shown(path)}: line {number}: damaged: a whole step is allowed; {RESTART}"
            )
    return lines
