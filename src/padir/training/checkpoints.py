"""A training run's work folder: one trainer at a time, checkpoints, candidates, metrics.

lock                    held by the running trainer
identity.json           what the folder belongs to: spec, data and seed digests
code.json               SHA-256 of the code that trained, from each step at which it changed
checkpoints/{step}/     Orbax: parameters, optimizer state, step
saved/{step}.json       SHA-256 of a checkpoint's files, and the sums of metrics not yet reported
                        (with the steps of the candidates that there were)
candidates/{step}.*     parameters that validation may choose, with their loss and SHA-256, or an
                        empty {step}.dropped where better ones took their place
                        (records of these two folders carry a checksum of their own)
unreadable/{step}/      damaged checkpoints that an older one replaced
metrics.jsonl           one line per report; lines past a resumed checkpoint are cut off
tensorboard/            the same for TensorBoard; steps that a resumed run repeats stand twice
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import jax
import numpy as np
import orbax.checkpoint as ocp
import safetensors.numpy

from padir.checksums import write_with_checksum
from padir.devices import on_any_process, wait_for_all, wait_long_for_all
from padir.files import (
    InputError,
    shown,
    write_bytes,
    write_errors,
    write_jsonl,
)
from padir.locks import Lock
from padir.temporary import remove_temporary
from padir.training.metrics import whole_lines
from padir.training.step import TrainState
from padir.training.storage import (
    RESTART,
    DamagedRecord,
    FullDisk,
    RestoreFailure,
    read_record,
    reading_now,
    sha256_now,
)


class WorkFolder:
    """The work folder of one run, locked while open; a context manager.

    Args:
        folder: created if missing.
        identity: must equal the identity that the folder was created with.
        first: whether this is the first of the processes that train together. It alone locks the
            folder and writes into it, except for checkpoints, which all processes write.
        restart: whether to delete all progress and start over; metrics.jsonl keeps their number.
        wait: whether to wait for another trainer to end instead of failing.

    Raises:
        InputError: another trainer holds the folder, or it belongs to another run.
    """

    def __init__(
        self,
        folder: Path,
        identity: Mapping[str, object],
        *,
        first: bool = True,
        restart: bool = False,
        wait: bool = False,
    ):
        self.folder, self.first = Path(folder).absolute(), first
        self.folder.mkdir(parents=True, exist_ok=True)
        self._checkpoints, self._saved = self.folder / "checkpoints", self.folder / "saved"
        self._candidates = self.folder / "candidates"
        self._metrics = self.folder / "metrics.jsonl"
        what = "another trainer is using this work folder"
        self._lock = Lock(self.folder / "lock", what, wait) if first else None
        if wait:
            wait_long_for_all("lock of the work folder")
        try:
            if first:
                self._claim(dict(identity), restart)
                remove_temporary(self.folder)
                if restart:
                    self._start_over()
                    # Last, so that after a kill no checkpoint of other text is resumed.
                    write_with_checksum(self.folder / "identity.json", dict(identity))
            wait_for_all("work folder")
            with reading_now(self._checkpoints):
                self._manager = ocp.CheckpointManager(
                    self._checkpoints,
                    options=ocp.CheckpointManagerOptions(
                        max_to_keep=2, enable_async_checkpointing=False, create=True
                    ),
                )
        except InputError:
            self.close()
            raise

    def __enter__(self) -> "WorkFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.close()

    def _claim(self, identity: dict[str, object], restart: bool) -> None:
        path = self.folder / "identity.json"
        recorded = None
        if path.exists():
            try:
                recorded = read_record(path)
            except DamagedRecord:
                if not restart:
                    raise
        if recorded is None:
            write_with_checksum(path, identity)
            return
        # Starting over may take other text; another seed or training needs a folder of its own.
        fixed = {"seed", "training"} if restart else set(recorded) | set(identity)
        for key in sorted(fixed):
            if recorded.get(key) != identity.get(key):
                raise InputError(
                    f"{shown(self.folder)}: belongs to another run: its {key} is"
                    f" {recorded.get(key)!r}, this run's is {identity.get(key)!r};"
                    " delete the folder to train anew"
                )

    def _start_over(self) -> None:
        folders = (self._checkpoints, self._saved, self._candidates, self.folder / "tensorboard")
        if self._metrics.exists() or any(any(path.glob("*")) for path in folders):
            clock = {"seconds": 0.0, "cpu_seconds": 0.0}
            before = 0
            # Damaged metrics must not keep anyone from starting over.
            with suppress(InputError):
                before = self.restarts
            write_jsonl(self._metrics, [{"step": 0, **clock, "restarts": before + 1}])
        for path in folders:
            shutil.rmtree(path, ignore_errors=True)

    @property
    def restarts(self) -> int:
        """How often the run was started over on request."""
        lines = whole_lines(self._metrics)
        return max((int(line.get("restarts", 0)) for line in lines), default=0)

    # Checkpoints

    def save(self, step: int, state: TrainState, progress: Mapping[str, object]) -> None:
        """Write a checkpoint; a kill at any moment leaves the one before intact.

        Args:
            step: optimizer steps done.
            state: of that step.
            progress: JSON data that `progress` returns when the run resumes from this step.
        """
        if step in self._manager.all_steps():
            return
        record = {"step": step, "progress": dict(progress)}
        if self.first:
            record["candidates"] = self._candidate_steps()
            write_with_checksum(self._record(step), record)
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(state))
        with FullDisk(self._checkpoints / str(step), size):
            self._manager.save(step, args=ocp.args.StandardSave(state))
            self._manager.wait_until_finished()
        if self.first:
            files = (self._checkpoints / str(step)).rglob("*")
            digests = {
                str(path.relative_to(self.folder)): sha256_now(path)
                for path in sorted(files)
                if path.is_file()
            }
            write_with_checksum(self._record(step), record | {"sha256": digests})
            for recorded in set(_numbered(self._saved)) - set(self._manager.all_steps()):
                self._record(recorded).unlink(missing_ok=True)

    def _record(self, step: int) -> Path:
        return self._saved / f"{step}.json"

    def progress(self, step: int) -> dict[str, Any]:
        """The progress that was saved with a checkpoint; empty before the first one."""
        path = self._record(step)
        return read_record(path)["progress"] if path.exists() else {}

    def restore(self, fresh: TrainState) -> TrainState | None:
        """The newest whole checkpoint, or None where none was written.

        Damaged newer checkpoints are moved to `unreadable` with a message. Where none is whole,
        nothing is moved, so that the same call fails again.

        Args:
            fresh: a state of the right structure, shapes and sharding.

        Raises:
            InputError: checkpoints exist, but none can be restored; or a file cannot be read now.
        """
        abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, fresh)
        problems: dict[int, str] = {}
        for step in self._steps():
            problem = self._damage(step) if self.first else None
            if on_any_process(problem is not None):
                problems[step] = problem or "damaged"
                continue
            state = None
            with RestoreFailure() as failure:
                state = self._manager.restore(step, args=ocp.args.StandardRestore(abstract))
            if state is not None:
                self._set_aside(problems, step)
                return cast(TrainState, state)
            problems[step] = failure.reason
            if self._digests(step):
                raise InputError(
                    f"{shown(self._checkpoints / str(step))}: cannot be restored, though its files"
                    f" are as they were written: {failure.reason}; run the command again; {RESTART}"
                )
        if problems:
            listed = "; ".join(f"{step}: {problem}" for step, problem in problems.items())
            raise InputError(
                f"{shown(self._checkpoints)}: no checkpoint can be read ({listed}); {RESTART}"
            )
        return None

    def _steps(self) -> list[int]:
        """Steps of checkpoints that exist or should, newest first."""
        recorded = _numbered(self._saved)
        missing = [step for step in recorded if self._digests(step)]
        return sorted({*self._manager.all_steps(), *missing}, reverse=True)

    def _digests(self, step: int) -> dict[str, str]:
        """Recorded SHA-256 of a checkpoint's files; empty where a kill came before the record."""
        path = self._record(step)
        try:
            return read_record(path).get("sha256", {}) if path.exists() else {}
        except DamagedRecord:
            return {str(path.relative_to(self.folder)): "damaged itself"}

    def _damage(self, step: int) -> str | None:
        """Damage of a checkpoint in words; None if its files are as they were written.

        Raises:
            InputError: a file exists, but cannot be read now.
        """
        digests = self._digests(step)
        for name, expected in digests.items():
            try:
                actual = sha256_now(self.folder / name)
            except (FileNotFoundError, NotADirectoryError):
                return f"{name} is missing"
            if actual != expected:
                return f"{name} is damaged: its SHA-256 is not the recorded one"
        if not digests:
            # A file that cannot be read now must not count as damaged.
            for path in (self._checkpoints / str(step)).rglob("*"):
                if path.is_file():
                    sha256_now(path)
        # Candidates of earlier steps are part of what a run resumes from.
        path = self._record(step)
        recorded = read_record(path).get("candidates", []) if path.exists() else []
        for candidate in sorted(set(recorded) - set(self._candidate_steps())):
            if not self._dropped(candidate).exists():
                return f"candidates/{candidate}.json, which it needs, is missing"
        for candidate in self._candidate_steps():
            if candidate <= step and (damaged := self._damaged_candidate(candidate)):
                return f"candidates/{damaged.name}, which it needs, is damaged"
        return None

    def _set_aside(self, problems: Mapping[int, str], restored: int) -> None:
        """Move damaged checkpoints aside, so that they can be written again."""
        if not problems:
            return
        wait_for_all("damaged checkpoints")
        if self.first:
            for step, problem in problems.items():
                aside = self.folder / "unreadable" / str(step)
                shutil.rmtree(aside, ignore_errors=True)
                aside.parent.mkdir(exist_ok=True)
                if (self._checkpoints / str(step)).exists():
                    os.replace(self._checkpoints / str(step), aside)
                self._record(step).unlink(missing_ok=True)
                print(
                    f"{shown(self.folder)}: checkpoint {step} cannot be used: {problem};"
                    f" moved to {aside.parent.name}, training resumes from step {restored}",
                    file=sys.stderr,
                )
        wait_for_all("checkpoints set aside")
        self._manager.reload()

    # Candidates for the final parameters

    def add_candidate(
        self, step: int, loss: float, arrays: Mapping[str, np.ndarray], keep: int
    ) -> None:
        """Keep these parameters if they are among the `keep` best by validation loss."""
        if not self.first:
            return
        losses = self.candidates() | {step: loss}
        best = sorted(losses, key=lambda candidate: (losses[candidate], candidate))[:keep]
        if step in best:
            content = safetensors.numpy.save(dict(arrays))
            write_bytes(self._candidates / f"{step}.safetensors", content)
            record = {"step": step, "loss": loss, "sha256": hashlib.sha256(content).hexdigest()}
            write_with_checksum(self._candidates / f"{step}.json", record)
            self._dropped(step).unlink(missing_ok=True)
        for candidate in losses:
            if candidate not in best and (self._candidates / f"{candidate}.json").exists():
                # First, so that after a kill it does not count as missing.
                write_bytes(self._dropped(candidate), b"")
                self._drop_candidate(candidate)

    def _drop_candidate(self, step: int) -> None:
        # The loss goes first: a candidate without it does not count.
        (self._candidates / f"{step}.json").unlink(missing_ok=True)
        (self._candidates / f"{step}.safetensors").unlink(missing_ok=True)

    def _dropped(self, step: int) -> Path:
        return self._candidates / f"{step}.dropped"

    def candidates(self) -> dict[int, float]:
        """Validation loss of each kept step. Raises InputError where a record is damaged."""
        return {
            step: read_record(self._candidates / f"{step}.json")["loss"]
            for step in self._candidate_steps()
        }

    def _candidate_steps(self) -> list[int]:
        return sorted(_numbered(self._candidates))

    def _damaged_candidate(self, step: int) -> Path | None:
        """The file of a candidate that is not as it was written."""
        record, arrays = (self._candidates / f"{step}.{kind}" for kind in ("json", "safetensors"))
        try:
            expected = read_record(record)["sha256"]
        except DamagedRecord:
            return record
        try:
            return None if sha256_now(arrays) == expected else arrays
        except FileNotFoundError:
            return arrays

    def candidate(self, step: int) -> dict[str, np.ndarray]:
        """Parameters of a kept step.

        Raises:
            InputError: a file is damaged or cannot be read.
        """
        damaged = self._damaged_candidate(step)
        try:
            if damaged is None:
                return safetensors.numpy.load_file(self._candidates / f"{step}.safetensors")
        except (safetensors.SafetensorError, OSError):
            damaged = self._candidates / f"{step}.safetensors"
        raise InputError(f"{shown(damaged)}: damaged; run the command again; {RESTART}")

    def forget_after(self, step: int) -> None:
        """Drop candidates and metrics of later steps, which the run repeats."""
        if not self.first:
            return
        for candidate in self._candidate_steps():
            if candidate > step:
                self._drop_candidate(candidate)
        if self._metrics.exists():
            lines = whole_lines(self._metrics)
            write_jsonl(self._metrics, [line for line in lines if line["step"] <= step])

    # Metrics

    def add_metrics(self, record: Mapping[str, object]) -> None:
        """Append one line to metrics.jsonl."""
        with write_errors(self._metrics), open(self._metrics, "a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")


def _numbered(folder: Path) -> list[int]:
    """Steps that the records of a folder are named by; files of other names are not ours."""
    return [int(path.stem) for path in folder.glob("*.json") if path.stem.isdecimal()]
