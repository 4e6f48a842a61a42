"""Train one model with one seed: the loop around the compiled steps.

Reads aligned text and a vocabulary, writes into a work folder, returns the chosen parameters.
Paper: sections L.1.2 and L.2.
"""

import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from padir.bundle import MODEL_FILE, Bundle, read_bundle
from padir.config.training import RunSpec
from padir.data.batches import BatchPlan, in_order
from padir.data.encode import encode_pairs
from padir.devices import is_first_process, on_any_process
from padir.files import InputError, sha256_file, shown
from padir.model.parameters import table_size
from padir.progress import Progress
from padir.training.agreement import check_agreement
from padir.training.checkpoints import WorkFolder
from padir.training.code import note_changed_code
from padir.training.metrics import EventFile
from padir.training.optimizer import learning_rate
from padir.training.step import REPORT_STEPS, Losses, Totals, Trainer, TrainState, means
from padir.vocab import Vocabulary


class TrainingInterruption(Exception):
    """Raised after a requested stop; a checkpoint was saved at `step`."""

    def __init__(self, step: int):
        super().__init__(f"stopped at step {step}; the same command goes on from there")
        self.step = step


@dataclass(frozen=True)
class TrainingText:
    """Aligned files of one direction."""

    train_source: Path
    train_target: Path
    valid_source: Path
    valid_target: Path


@dataclass(frozen=True)
class TrainingResult:
    """The result of a finished run.

    Attributes:
        arrays: the chosen parameters by name; empty in all processes but the first.
        steps_chosen: the step, or the averaged steps, that they come from.
        vocabulary_size: ids in use.
        table_size: rows of the embedding table.
        valid: mean validation losses at the last step.
        summary: counts for the model card.
        inputs: SHA-256 of the files that it was trained on.
    """

    arrays: dict[str, np.ndarray]
    steps_chosen: list[int]
    vocabulary_size: int
    table_size: int
    valid: dict[str, float]
    summary: dict[str, Any]
    inputs: dict[Path, str] = field(default_factory=dict)


def train(
    spec: RunSpec,
    vocabulary_path: Path,
    text: TrainingText,
    seed: int,
    work: Path,
    *,
    warm_start: Path | None = None,
    threads: int = 1,
    restart: bool = False,
    wait: bool = False,
) -> TrainingResult:
    """Train, or resume training, in a work folder.

    Args:
        spec: settings of the model.
        vocabulary_path: SentencePiece model.
        text: aligned files.
        seed: Random seed of parameters, data order and corruption.
        work: folder for checkpoints.
        warm_start: bundle of the model that `training.warm_start` names.
        threads: CPU threads that encode the text; their number changes no result.
        restart: whether to discard the progress in the work folder.
        wait: whether to wait for another trainer of this work folder to end.

    Raises:
        InputError: bad text, a folder in use or of another run, no readable checkpoint, a loss
            that is not finite.
        TrainingInterruption: the process was asked to end; a checkpoint was saved.
    """
    vocabulary = Vocabulary.load(vocabulary_path)
    start = read_warm_start(spec, vocabulary_path, warm_start)
    files = {"vocabulary": vocabulary_path, **vars(text)}
    if start is not None:
        files["warm_start"] = start.folder / MODEL_FILE
    inputs = {path: sha256_file(path) for path in files.values()}
    identity = {
        "training": spec.identity,
        "table_size": table_size(spec.run.architecture, vocabulary.size),
        "seed": seed,
        **{name: inputs[path] for name, path in files.items()},
    }
    check_agreement(identity)
    with WorkFolder(work, identity, first=is_first_process(), restart=restart, wait=wait) as folder:
        run = Run(spec, vocabulary, text, seed, folder, start, threads)
        return replace(run.train(), inputs=inputs)


def read_warm_start(spec: RunSpec, vocabulary: Path, folder: Path | None) -> Bundle | None:
    """The bundle that training starts from; None where the settings name none.

    Raises:
        InputError: a model is named but not given, given but not named, or does not fit.
    """
    name = spec.run.training.warm_start
    if name is None and folder is None:
        return None
    if name is None or folder is None:
        advice = "drop --warm-start" if name is None else "name its bundle by --warm-start"
        raise InputError(
            f"train {spec.training}: training.warm_start is {name or 'null'}: {advice}"
        )
    bundle = read_bundle(folder)
    owner = bundle.spec.get("run_spec", {})
    expected = {"training": name, "dataset": spec.dataset, "direction": spec.direction}
    for key, value in expected.items():
        if owner.get(key) != value:
            raise InputError(
                f"{shown(folder)}: its {key} is {owner.get(key)!r}; for the warm start of"
                f" {spec.training} it must be {value!r}"
            )
    if sha256_file(bundle.vocabulary) != sha256_file(vocabulary):
        raise InputError(f"{shown(folder)}: its vocabulary is not {shown(vocabulary)}")
    return bundle


class Run:
    """One training run, from its first or its last saved step to the end."""

    def __init__(
        self,
        spec: RunSpec,
        vocabulary: Vocabulary,
        text: TrainingText,
        seed: int,
        work: WorkFolder,
        start: Bundle | None,
        threads: int,
    ):
        self.spec, self.training, self.work = spec, spec.run.training, work
        self.label = f"train {spec.training} seed {seed}"
        paths = text.train_source, text.train_target
        self.pairs = encode_pairs(vocabulary, *paths, work.folder, threads)
        valid = encode_pairs(vocabulary, text.valid_source, text.valid_target)
        try:
            self.plan = BatchPlan(self.pairs, self.training, seed)
        except ValueError as error:
            raise InputError(f"{shown(text.train_source)}: {error}") from error
        if work.first and self.plan.warning:
            print(f"{self.label}: {self.plan.warning}", file=sys.stderr)
        self.valid_batches = [
            (valid.source.padded(rows, bucket), valid.target.padded(rows, bucket))
            for bucket, rows in in_order(valid, self.training)
        ]
        if not self.valid_batches:
            raise InputError(
                f"{shown(text.valid_source)}: no pair fits training.buckets"
                f" {list(self.training.buckets)} and has two sides"
            )
        self.vocabulary_size = vocabulary.size
        rows = table_size(spec.run.architecture, vocabulary.size)
        self.trainer = Trainer(spec.run, rows, vocabulary.size, seed)
        self._start = start
        self._valid: dict[str, float] | None = None

    def train(self) -> TrainingResult:
        """Train to the last step, saving on the way, and choose the parameters.

        Raises:
            TrainingInterruption: on SIGTERM, SIGINT or SIGHUP, after saving.
            InputError: a loss or parameter was not finite; names the step.
        """
        state = self._restored()
        changes = note_changed_code(self.work, int(state.step), self.training.steps, self.label)
        with stop_signals() as self._signals:
            state = self._loop(state)
        if self._valid is None:  # A resumed run may have nothing left to do.
            self._valid = self.trainer.evaluate(state.parameters, self.valid_batches)
        arrays, steps = self._choose(state)
        summary = {
            "parameters": sum(array.size for array in arrays.values()),
            "pairs": len(self.pairs.source),
            "pairs_too_long": self.plan.too_long,
            "pairs_empty": self.plan.empty,
            "steps_per_epoch": self.plan.steps_per_epoch,
            "epochs": self.training.steps / self.plan.steps_per_epoch,
            "compilations": self.trainer.traces,
            "restarts": self.work.restarts,
            "code_changes": changes,
        }
        sizes = self.vocabulary_size, self.trainer.table_size
        return TrainingResult(arrays, steps, *sizes, self._valid, summary)

    def _restored(self) -> TrainState:
        state = self.trainer.initial_state()
        if self._start is not None:
            try:
                state = self.trainer.warm_start(state, self._start.arrays)
            except ValueError as error:
                raise InputError(f"{shown(self._start.folder)}: {error}") from error
        state = self.work.restore(state) or state
        self.work.forget_after(int(state.step))
        return state

    def _loop(self, state: TrainState) -> TrainState:
        step, total = int(state.step), self.training.steps
        optimizer = self.spec.run.optimizer
        with (
            Report(self.spec, self.work, step) as report,
            Progress(total, "steps", self.label, start=step) as progress,
        ):
            while step < total:
                group = self.plan.group_at(step)
                rows = group.rows[: self._next_pause(step) - step]
                source, target = (
                    side.padded(rows.reshape(-1), group.bucket).reshape(*rows.shape, group.bucket)
                    for side in (self.pairs.source, self.pairs.target)
                )
                rates = [learning_rate(optimizer, step + i, total) for i in range(len(rows))]
                state, totals = self.trainer.steps(state, source, target, rates)
                finite = int(totals.finite)
                if finite < len(rows):
                    raise self._diverged(f"the loss was not finite at step {step + finite + 1}")
                step += len(rows)
                report.add(step, len(rows), totals, rates[-1])
                progress.update(len(rows), **report.shown)
                self._pause(state, step, report)
        return state

    def _next_pause(self, step: int) -> int:
        """The next step after which the loop reports, validates or saves."""
        every = (self.training.validate_every, self.training.checkpoint_every, REPORT_STEPS)
        return min(self.training.steps, *((step // n + 1) * n for n in every))

    def _diverged(self, what: str) -> InputError:
        return InputError(
            f"{self.label}: {what}; the last good checkpoint is kept in"
            f" {shown(self.work.folder)}; lower optimizer.peak_learning_rate or raise"
            " optimizer.warmup_steps"
        )

    def _pause(self, state: TrainState, step: int, report: "Report") -> None:
        """Validate and save where the step asks for it; stop on request."""
        last = step == self.training.steps
        if step % self.training.validate_every == 0 or last:
            valid = self.trainer.evaluate(state.parameters, self.valid_batches)
            self._valid = valid if last else None
            report.validation(step, valid)
            keep = {"last": 0, "best": 1, "average": self.training.average_count}
            count = keep[self.training.selection]
            if count and math.isfinite(valid["loss"]):
                arrays = self.trainer.arrays(state.parameters)
                self.work.add_candidate(step, valid["loss"], arrays, count)
        stop = on_any_process(bool(self._signals))
        if step % self.training.checkpoint_every == 0 or last or stop:
            if not self.trainer.finite(state.parameters):
                raise self._diverged(f"the parameters were not finite after step {step}")
            self.work.save(step, state, report.progress())
        if stop and not last:
            raise TrainingInterruption(step)

    def _choose(self, state: TrainState) -> tuple[dict[str, np.ndarray], list[int]]:
        """The final parameters by the run's selection, and the steps they come from.

        Of several processes only the first, which writes the candidates, reads them again.
        """
        if self.training.selection == "last":
            return self.trainer.arrays(state.parameters), [int(state.step)]
        if not self.work.first:
            return {}, []
        steps = sorted(self.work.candidates())
        if not steps:
            raise InputError(f"{shown(self.work.folder)}: no validation loss was finite")
        candidates = [self.work.candidate(step) for step in steps]
        mean = {
            name: np.mean([arrays[name] for arrays in candidates], axis=0, dtype=np.float64)
            for name in candidates[0]
        }
        return {name: mean[name].astype(candidates[0][name].dtype) for name in mean}, steps


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGTERM, SIGINT and SIGHUP in a list instead of ending the process.

    SIGHUP, a lost terminal, stays ignored where `nohup` has it so.
    """
    received: list[int] = []
    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    handlers = {
        number: signal.signal(number, lambda number, _: received.append(number))
        for number in numbers
    }
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


class Report:
    """Metrics of a run: to metrics.jsonl, TensorBoard and the progress line.

    A resumed run continues the sums and clocks that were saved with its checkpoint, so that its
    metrics are those of an uninterrupted run.
    """

    def __init__(self, spec: RunSpec, work: WorkFolder, step: int):
        self._run, self._work = spec.run, work
        self._events = EventFile(work.folder / "tensorboard") if work.first else None
        self.shown: dict[str, object] = {}
        saved = work.progress(step)
        self._sums = np.array(saved.get("sums", np.zeros(len(Losses._fields))), np.float64)
        self._norm, self._steps = saved.get("gradient_norm", 0.0), saved.get("steps", 0)
        self._began = time.monotonic() - saved.get("seconds", 0.0)
        self._cpu_began = time.process_time() - saved.get("cpu_seconds", 0.0)
        self._since = time.monotonic() - saved.get("window_seconds", 0.0)

    def __enter__(self) -> "Report":
        return self

    def __exit__(self, *_: object) -> None:
        if self._events is not None:
            self._events.close()

    def _clocks(self) -> dict[str, float]:
        return {
            "seconds": round(time.monotonic() - self._began, 3),
            "cpu_seconds": round(time.process_time() - self._cpu_began, 3),
        }

    def progress(self) -> dict[str, object]:
        """Sums since the last line and clocks, for a checkpoint."""
        return {
            "sums": self._sums.tolist(),
            "gradient_norm": self._norm,
            "steps": self._steps,
            "window_seconds": round(time.monotonic() - self._since, 3),
            **self._clocks(),
        }

    def add(self, step: int, steps: int, totals: Totals, rate: float) -> None:
        """Add the steps of one call; a line is written every `REPORT_STEPS` steps."""
        self._sums += np.array(totals.losses, np.float64)
        self._norm += float(totals.gradient_norm)
        self._steps += steps
        if step % REPORT_STEPS:
            return
        losses = Losses(*self._sums)
        tokens_per_second = float(losses.tokens) / (time.monotonic() - self._since)
        record = {f"train_{key}": value for key, value in means(losses, self._run).items()}
        record |= {
            "gradient_norm": self._norm / self._steps,
            "learning_rate": rate,
            "tokens_per_second": tokens_per_second,
        }
        self.shown |= {"loss": record["train_loss"], "tokens/s": round(tokens_per_second)}
        self._write(step, record)
        self._sums, self._norm, self._steps = np.zeros_like(self._sums), 0.0, 0
        self._since = time.monotonic()

    def validation(self, step: int, valid: dict[str, float]) -> None:
        """Write the losses of one validation."""
        self.shown["valid"] = valid["loss"]
        self._write(step, {f"valid_{key}": value for key, value in valid.items()})

    def _write(self, step: int, record: dict[str, float]) -> None:
        if self._events is None:
            return
        finite = {key: value if math.isfinite(value) else None for key, value in record.items()}
        self._work.add_metrics({"step": step, **self._clocks(), **finite})
        self._events.add(step, record)
