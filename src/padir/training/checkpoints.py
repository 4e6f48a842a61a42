"""A training run's work folder: one trainer at a time, checkpoints, candidates, metrics.

lock                    held by the running trainer
identity.json           what the folder belongs to: spec, data and seed digests
checkpoints/{step}/     Orbax: parameters, optimizer state, step
candidates/{step}.*     parameters that validation may choose, with their loss
metrics.jsonl           one line per report; lines past a resumed checkpoint are cut off
tensorboard/            the same numbers for TensorBoard
"""

import fcntl
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np
import orbax.checkpoint as ocp
import safetensors
import safetensors.numpy

from padir.devices import wait_for_all
from padir.files import (
    InputError,
    atomic_path,
    read_json,
    read_jsonl,
    shown,
    write_bytes,
    write_json,
    write_jsonl,
)
from padir.training.step import TrainState


class WorkFolder:
    """The work folder of one run, locked while open.

    Args:
        folder: created if missing.
        identity: must equal what the folder was first opened with.
        first: whether this is the first of the processes that train together: it alone locks the
            folder and writes into it, but for checkpoints, which all write together.

    Raises:
        InputError: another trainer holds the folder, or it belongs to another run.
    """

    def __init__(self, folder: Path, identity: Mapping[str, object], first: bool = True):
        self.folder, self.first = Path(folder).absolute(), first
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = None
        if first:
            self._take(dict(identity))
        self._manager = ocp.CheckpointManager(
            self.folder / "checkpoints",
            options=ocp.CheckpointManagerOptions(
                max_to_keep=2, enable_async_checkpointing=False, create=True
            ),
        )
        self._candidates = self.folder / "candidates"
        self._candidates.mkdir(exist_ok=True)

    def _take(self, identity: dict[str, object]) -> None:
        self._lock = open(self.folder / "lock", "a+")  # noqa: SIM115 - held as long as the run
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise InputError(
                f"{shown(self.folder)}: another trainer is using this work folder; wait for it,"
                " or stop it"
            ) from None
        try:
            self._check_identity(identity)
        except InputError:
            self.close()
            raise

    def _check_identity(self, identity: dict[str, object]) -> None:
        path = self.folder / "identity.json"
        if not path.exists():
            write_json(path, identity)
            return
        found = read_json(path)
        for key in sorted(set(found) | set(identity)):
            if found.get(key) != identity.get(key):
                raise InputError(
                    f"{shown(self.folder)}: belongs to another run: its {key} is"
                    f" {found.get(key)!r}, this run's is {identity.get(key)!r};"
                    " delete the folder to train anew"
                )

    def close(self) -> None:
        """Let another trainer have the folder."""
        if self._lock is not None:
            self._lock.close()

    # Checkpoints

    def save(self, step: int, state: TrainState) -> None:
        """Write a checkpoint; a kill at any moment leaves the one before intact."""
        if step not in self._manager.all_steps():
            self._manager.save(step, args=ocp.args.StandardSave(state))
            self._manager.wait_until_finished()

    def restore(self, fresh: TrainState) -> TrainState | None:
        """The newest whole checkpoint, or None; an unreadable one is passed over with its name.

        Args:
            fresh: a state of the right structure, shapes and sharding.

        Raises:
            InputError: checkpoints exist, but none can be read.
        """
        import jax

        abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, fresh)
        steps = sorted(self._manager.all_steps(), reverse=True)
        problems = []
        for step in steps:
            try:
                found = self._manager.restore(step, args=ocp.args.StandardRestore(abstract))
                return cast(TrainState, found)
            except (ValueError, KeyError, OSError, TypeError) as error:
                first = (str(error).strip().splitlines() or [type(error).__name__])[0]
                problems.append(f"{step}: {first[:200]}")
                self._set_aside(step)
        if problems:
            raise InputError(
                f"{shown(self.folder / 'checkpoints')}: no checkpoint can be read"
                f" ({'; '.join(problems)}); delete the work folder to train anew"
            )
        return None

    def _set_aside(self, step: int) -> None:
        """Move an unreadable checkpoint out of the way, for whoever wants to look at it."""
        wait_for_all(f"unreadable checkpoint {step}")
        if self.first:
            aside = self.folder / "unreadable" / str(step)
            shutil.rmtree(aside, ignore_errors=True)
            aside.parent.mkdir(exist_ok=True)
            os.replace(self.folder / "checkpoints" / str(step), aside)
        wait_for_all(f"set aside checkpoint {step}")
        self._manager.reload()

    # Candidates for the final parameters

    def add_candidate(
        self, step: int, loss: float, arrays: Mapping[str, np.ndarray], keep: int
    ) -> None:
        """Keep these parameters if they are among the `keep` best by validation loss."""
        if not self.first:
            return
        known = self.candidates()
        known[step] = loss
        best = sorted(known, key=lambda s: (known[s], s))[:keep]
        if step in best:
            content = safetensors.numpy.save(dict(arrays))
            write_bytes(self._candidates / f"{step}.safetensors", content)
            write_json(self._candidates / f"{step}.json", {"step": step, "loss": loss})
        for other in known:
            if other not in best:
                # The loss goes first: a candidate without it does not count.
                (self._candidates / f"{other}.json").unlink(missing_ok=True)
                (self._candidates / f"{other}.safetensors").unlink(missing_ok=True)

    def candidates(self) -> dict[int, float]:
        """Validation loss of each kept step."""
        found = [read_json(path) for path in sorted(self._candidates.glob("*.json"))]
        return {int(entry["step"]): float(entry["loss"]) for entry in found}

    def candidate(self, step: int) -> dict[str, np.ndarray]:
        """A kept step's parameters."""
        path = self._candidates / f"{step}.safetensors"
        try:
            return safetensors.numpy.load_file(path)
        except (safetensors.SafetensorError, OSError) as error:
            raise InputError(f"{shown(path)}: cannot be read: {error}") from error

    def forget_after(self, step: int) -> None:
        """Drop candidates and metrics of later steps: the run repeats them."""
        if not self.first:
            return
        for other in self.candidates():
            if other > step:
                (self._candidates / f"{other}.json").unlink(missing_ok=True)
                (self._candidates / f"{other}.safetensors").unlink(missing_ok=True)
        path = self.folder / "metrics.jsonl"
        if path.exists():
            write_jsonl(path, [line for line in whole_lines(path) if line["step"] <= step])

    # Metrics

    def add_metrics(self, record: Mapping[str, object]) -> None:
        """Append one line to metrics.jsonl."""
        with open(self.folder / "metrics.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")
            file.flush()


def whole_lines(path: Path) -> list[dict]:
    """A JSON-lines file without the last line that a kill may have cut short."""
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    if end < len(content):
        with atomic_path(path) as temporary:
            Path(temporary).write_bytes(content[:end])
    return read_jsonl(path) if end else []
