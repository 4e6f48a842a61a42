"""Train one model with one seed: the loop around the compiled steps.

Reads aligned text and a vocabulary, writes into a work folder, returns the chosen parameters.
Paper: sections L.1.2 and L.2.
"""

import math
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from padir.config.training import RunSpec
from padir.data.batches import BatchPlan, in_order
from padir.data.encode import encode_pairs
from padir.devices import is_first_process, on_any_process, wait_for_all
from padir.files import (
    MODEL_FILE,
    Bundle,
    InputError,
    digest,
    read_bundle,
    sha256_file,
    shown,
)
from padir.progress import Progress
from padir.training.checkpoints import WorkFolder
from padir.training.optimizer import learning_rate
from padir.training.step import Losses, Totals, Trainer, TrainState, means
from padir.vocab import Vocabulary

REPORT_STEPS = 50


class Stopped(Exception):
    """The run was asked to stop and has saved a checkpoint at `step`."""

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

    def digests(self) -> dict[str, str]:
        """SHA-256 of each file."""
        return {name: sha256_file(path) for name, path in vars(self).items()}


@dataclass(frozen=True)
class Trained:
    """What a finished run hands over."""

    arrays: dict[str, np.ndarray]
    table_size: int
    steps_chosen: list[int]
    valid: dict[str, float]
    summary: dict[str, object]


class Run:
    """One training run, from its first or its last saved step to the end."""

    def __init__(
        self,
        spec: RunSpec,
        table_size: int,
        vocabulary: Vocabulary,
        text: TrainingText,
        seed: int,
        start: Bundle | None = None,
        folder: Path | None = None,
        threads: int = 1,
    ):
        self.spec, self.seed = spec, seed
        self.training = spec.run.training
        pairs = encode_pairs(vocabulary, text.train_source, text.train_target, folder, threads)
        valid = encode_pairs(vocabulary, text.valid_source, text.valid_target)
        self.pairs = pairs
        try:
            self.plan = BatchPlan(pairs, self.training, seed)
        except ValueError as error:
            raise InputError(f"{shown(text.train_source)}: {error}") from error
        self.valid = [
            (valid.source.padded(rows, bucket), valid.target.padded(rows, bucket))
            for bucket, rows in in_order(valid, self.training)
        ]
        if not self.valid:
            raise InputError(
                f"{shown(text.valid_source)}: no pair fits training.buckets"
                f" {list(self.training.buckets)} and has two sides"
            )
        self.trainer = Trainer(spec.run, table_size, vocabulary.size, seed)
        self._start = start
        self._stop = False
        self._validated: dict[str, float] | None = None

    def run(self, work: WorkFolder) -> TrainState:
        """Train to the last step, saving on the way.

        Raises:
            Stopped: on SIGTERM or SIGINT, after saving.
            InputError: a loss or parameter was not finite; names the step.
        """
        fresh = self.trainer.initial_state()
        if self._start is not None:
            try:
                fresh = self.trainer.warm_started(fresh, self._start.arrays)
            except ValueError as error:
                raise InputError(f"{shown(self._start.folder)}: {error}") from error
        state = work.restore(fresh)
        if state is None:
            state = fresh
        step = int(state.step)
        work.forget_after(step)
        handlers = {
            number: signal.signal(number, self._ask_to_stop)
            for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            self._loop(work, state, step)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        return self._last

    def _ask_to_stop(self, number: int, frame: object) -> None:
        self._stop = True

    def _next_pause(self, step: int) -> int:
        """The next step at which something else than training happens."""
        every = (self.training.validate_every, self.training.checkpoint_every, REPORT_STEPS)
        return min(self.training.steps, *((step // n + 1) * n for n in every))

    def _loop(self, work: WorkFolder, state: TrainState, step: int) -> None:
        from tensorboardX import SummaryWriter

        label = f"train {self.spec.training} seed {self.seed}"
        total = self.training.steps
        writer = SummaryWriter(str(work.folder / "tensorboard")) if work.first else None
        report = Report(self.spec, work, writer)
        with Progress(total, "steps", label, start=step) as progress:
            while step < total:
                group = self.plan.group_at(step)
                rows = group.rows[: self._next_pause(step) - step]
                rates = [
                    learning_rate(self.spec.run.optimizer, step + i, total)
                    for i in range(len(rows))
                ]
                flat = rows.reshape(-1)
                shape = (*rows.shape, group.bucket)
                state, sums = self.trainer.steps(
                    state,
                    self.pairs.source.padded(flat, group.bucket).reshape(shape),
                    self.pairs.target.padded(flat, group.bucket).reshape(shape),
                    rates,
                )
                finite = int(sums.finite)
                if finite < len(rows):
                    raise self._diverged(
                        work, f"the loss was not finite at step {step + finite + 1}"
                    )
                step += len(rows)
                report.add(step, len(rows), sums, rates[-1])
                progress.update(len(rows), **report.shown)
                self._pause(work, state, step, report)
        if writer is not None:
            writer.close()
        self._last = state

    def _diverged(self, work: WorkFolder, what: str) -> InputError:
        return InputError(
            f"train {self.spec.training} seed {self.seed}: {what}; the last good checkpoint is kept in"
            f" {shown(work.folder)}; lower optimizer.peak_learning_rate or raise"
            " optimizer.warmup_steps"
        )

    def _pause(self, work: WorkFolder, state: TrainState, step: int, report: "Report") -> None:
        """Validate and save where the step asks for it; stop if asked to."""
        last = step == self.training.steps
        if step % self.training.validate_every == 0 or last:
            valid = self.trainer.evaluate(state.parameters, self.valid)
            self._validated = valid if last else None
            report.validation(step, valid)
            keep = {"last": 0, "best": 1, "average": self.training.average_count}
            count = keep[self.training.selection]
            if count and math.isfinite(valid["loss"]):
                arrays = self.trainer.arrays(state.parameters)
                work.add_candidate(step, valid["loss"], arrays, count)
        stop = on_any_process(self._stop)
        if step % self.training.checkpoint_every == 0 or last or stop:
            if not self.trainer.finite(state.parameters):
                raise self._diverged(work, f"the parameters were not finite after step {step}")
            work.save(step, state)
        if stop and not last:
            raise Stopped(step)

    def validation(self, state: TrainState) -> dict[str, float]:
        """Validation losses of the last step's state, which a resumed run may not have any more."""
        if self._validated is None:
            self._validated = self.trainer.evaluate(state.parameters, self.valid)
        return self._validated

    def choose(
        self, work: WorkFolder, state: TrainState
    ) -> tuple[dict[str, np.ndarray], list[int]]:
        """The final parameters by the run's selection, and the steps they come from.

        Of several processes only the first, which writes the candidates, reads them again.
        """
        if self.training.selection == "last":
            return self.trainer.arrays(state.parameters), [int(state.step)]
        steps = sorted(work.candidates()) if work.first else []
        if not work.first:
            return {}, []
        if not steps:
            raise InputError(f"{shown(work.folder)}: no validation loss was finite")
        parts = [work.candidate(step) for step in steps]
        mean = {
            name: np.mean([part[name] for part in parts], axis=0, dtype=np.float64).astype(
                parts[0][name].dtype
            )
            for name in parts[0]
        }
        return mean, steps


class Report:
    """Numbers of a run on their way to metrics.jsonl, TensorBoard and the progress line."""

    def __init__(self, spec: RunSpec, work: WorkFolder, writer):
        self._run, self._work, self._writer = spec.run, work, writer
        self.shown: dict[str, object] = {}
        self.tokens = 0.0
        self.began = time.monotonic()
        self._processor = time.process_time()
        self._reset()

    def _reset(self) -> None:
        self._sums, self._norm, self._steps = np.zeros(len(Losses._fields)), 0.0, 0
        self._since = time.monotonic()

    def add(self, step: int, steps: int, sums: Totals, rate: float) -> None:
        """Count the steps of one call; a line is written every `REPORT_STEPS` steps."""
        self._sums += np.array(sums.losses, np.float64)
        self._norm += float(sums.gradient_norm)
        self._steps += steps
        self.tokens += float(sums.losses.tokens)
        if step % REPORT_STEPS:
            return
        losses = type(sums.losses)(*self._sums)
        seconds = time.monotonic() - self._since
        record = {f"train_{k}": v for k, v in means(losses, self._run).items()}
        record |= {
            "gradient_norm": self._norm / self._steps,
            "learning_rate": rate,
            "tokens_per_second": float(losses.tokens) / seconds,
        }
        self.shown |= {
            "loss": record["train_loss"],
            "tokens/s": round(record["tokens_per_second"]),
        }
        self._write(step, record)
        self._reset()

    def validation(self, step: int, valid: dict[str, float]) -> None:
        """Write a validation's numbers."""
        self.shown["valid"] = valid["loss"]
        self._write(step, {f"valid_{k}": v for k, v in valid.items()})

    def _write(self, step: int, record: dict[str, float]) -> None:
        if self._writer is None:
            return
        finite = {key: value if math.isfinite(value) else None for key, value in record.items()}
        clock = {
            "seconds": round(time.monotonic() - self.began, 3),
            "cpu_seconds": round(time.process_time() - self._processor, 3),
        }
        self._work.add_metrics({"step": step, **clock, **finite})
        for key, value in record.items():
            self._writer.add_scalar(key.replace("_", "/", 1), value, step)


def read_start(spec: RunSpec, vocabulary: Path, folder: Path | None) -> Bundle | None:
    """The bundle that training starts from; None where the settings name none.

    Raises:
        InputError: one is named and not given, or given and not named, or does not fit.
    """
    name = spec.run.training.warm_start
    if name is None and folder is None:
        return None
    if name is None or folder is None:
        found = f"training.warm_start is {name or 'null'}"
        wanted = "drop --warm-start" if name is None else "name its bundle by --warm-start"
        raise InputError(f"train {spec.training}: {found}: {wanted}")
    bundle = read_bundle(folder)
    theirs = bundle.spec.get("run_spec", {})
    for key, ours in (("model", name), ("dataset", spec.dataset), ("direction", spec.direction)):
        if theirs.get(key) != ours:
            raise InputError(
                f"{shown(folder)}: its {key} is {theirs.get(key)!r}; for the warm start of"
                f" {spec.training} it must be {ours!r}"
            )
    if sha256_file(bundle.vocabulary) != sha256_file(vocabulary):
        raise InputError(f"{shown(folder)}: its vocabulary is not {shown(vocabulary)}")
    return bundle


def train(
    spec: RunSpec,
    vocabulary_path: Path,
    table_size: int,
    text: TrainingText,
    seed: int,
    work: Path,
    warm_start: Path | None = None,
    threads: int = 1,
) -> Trained:
    """Train, or go on training, in the work folder; return the chosen parameters.

    Args:
        spec: the model's settings.
        vocabulary_path: SentencePiece model.
        table_size: rows of the embedding table.
        text: aligned files.
        seed: of everything random.
        work: folder for checkpoints.
        warm_start: bundle of the model that `training.warm_start` names.
        threads: that encode the text; their number changes nothing.

    Raises:
        InputError: bad text, a folder in use or of another run, a loss that is not finite.
        Stopped: the process was asked to end; a checkpoint was saved.
    """
    start = read_start(spec, vocabulary_path, warm_start)
    identity = {
        "spec": digest(spec.training_part()),
        "vocabulary": sha256_file(vocabulary_path),
        "table_size": table_size,
        "seed": seed,
        **text.digests(),
    }
    if start is not None:
        identity["warm_start"] = sha256_file(start.folder / MODEL_FILE)
    # The first process locks the folder and says whose it is; the others follow it.
    folder = WorkFolder(work, identity, is_first_process())
    wait_for_all("work folder")
    try:
        vocabulary = Vocabulary.load(vocabulary_path)
        run = Run(spec, table_size, vocabulary, text, seed, start, folder.folder, threads)
        state = run.run(folder)
        arrays, steps = run.choose(folder, state)
        valid = run.validation(state)
        summary = {
            "parameters": int(sum(array.size for array in arrays.values())),
            "pairs": len(run.pairs.source),
            "pairs_too_long": run.plan.too_long,
            "pairs_empty": run.plan.empty,
            "steps_per_epoch": run.plan.steps_per_epoch,
            "epochs": run.training.steps / run.plan.steps_per_epoch,
            "compilations": run.trainer.traces,
        }
        return Trained(arrays, table_size, steps, valid, summary)
    finally:
        folder.close()
