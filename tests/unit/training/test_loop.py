"""`padir train` from text to bundle: it learns, refuses bad input, resumes to the same bytes."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import SystemRandom
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from padir.bundle import read_bundle
from padir.commands.train import main
from padir.files import InputError, read_jsonl
from padir.training.checkpoints import WorkFolder
from padir.training.loop import Report, Run, TrainingInterruption, read_warm_start, train
from padir.training.metrics import EventFile
from padir.training.objective import Losses
from padir.training.optimizer import learning_rate
from padir.training.step import Totals, Trainer, TrainState
from tests.training import tiny_spec, train_arguments, write_toy


def model_bytes(folder: Path) -> bytes:
    return (folder / "bundle" / "model.safetensors").read_bytes()


def copy_toy(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    write_toy(folder)
    return folder


@pytest.mark.slow
def test_it_learns_to_reverse_words(tmp_path: Path) -> None:
    write_toy(tmp_path, pairs=600)
    spec = tiny_spec("ar", steps=400, batch_tokens=512, validate_every=400, checkpoint_every=400)
    quiet = spec.run.architecture.model_copy(update={"dropout": 0.0})
    spec = spec.model_copy(update={"run": spec.run.model_copy(update={"architecture": quiet})})
    text, vocabulary = write_toy(tmp_path, pairs=600)
    trained = train(spec, vocabulary, text, 0, tmp_path / "work")
    # Chance is 1/6 a word; a model that copies instead of reversing stays below 0.4.
    assert trained.valid["accuracy"] > 0.8
    assert trained.summary["compilations"] == 2


def test_training_writes_bundle_metrics_and_card(tmp_path: Path) -> None:
    write_toy(tmp_path)
    assert main(train_arguments(tmp_path, tiny_spec())) == 0
    bundle = read_bundle(tmp_path / "bundle")
    assert bundle.spec["run_spec"]["training"] == "padir"
    assert bundle.spec["table_size"] == 14
    card = (tmp_path / "bundle" / "README.md").read_text()
    assert f"{sum(a.size for a in bundle.arrays.values()):,}" in card
    lines = [json.loads(x) for x in (tmp_path / "work" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "valid_loss" in line] == [5, 10, 12]
    assert list((tmp_path / "work" / "tensorboard").iterdir())


def test_a_line_says_how_many_pairs_are_too_long(tmp_path: Path, capsys) -> None:
    write_toy(tmp_path)
    arguments = train_arguments(tmp_path, tiny_spec("ar", steps=4, buckets=[6]))
    assert main(arguments) == 0
    said = re.findall(r"^train ar seed 0: .* left out$", capsys.readouterr().err, re.MULTILINE)
    [line] = said
    assert re.search(r": [3-5]\d% of the pairs have more than 6 tokens \(training.buckets\)", line)


def test_tensorboard_groups_losses_and_leaves_other_names(tmp_path: Path) -> None:
    events = EventFile(tmp_path / "tensorboard")
    events.add(50, {"valid_loss": 1.0, "train_loss": 2.0, "learning_rate": 0.1})
    events.close()
    [path] = (tmp_path / "tensorboard").iterdir()
    written = path.read_bytes()
    assert all(tag in written for tag in (b"valid/loss", b"train/loss", b"learning_rate"))


@pytest.mark.slow
def test_selection_takes_the_best_or_averages(tmp_path: Path) -> None:
    text, vocabulary = write_toy(tmp_path)
    trained = {
        selection: train(
            tiny_spec(selection=selection, average_count=2),
            vocabulary,
            text,
            0,
            tmp_path / selection,
        )
        for selection in ("last", "best", "average")
    }
    assert trained["last"].steps_chosen == [12]
    lines = (tmp_path / "best" / "metrics.jsonl").read_text().splitlines()
    losses = {x["step"]: x["valid_loss"] for x in map(json.loads, lines) if "valid_loss" in x}
    ranked = sorted(losses, key=lambda step: losses[step])
    assert trained["best"].steps_chosen == ranked[:1]
    assert trained["average"].steps_chosen == sorted(ranked[:2])
    best = trained["best"].arrays
    assert any(not np.array_equal(best[k], v) for k, v in trained["average"].arrays.items())


def test_the_average_is_over_all_candidates(tmp_path: Path) -> None:
    run = object.__new__(Run)
    run.training = SimpleNamespace(selection="average")
    with WorkFolder(tmp_path / "work", {"seed": 0}) as run.work:
        for step in (3, 7):
            run.work.add_candidate(step, 1.0, {"w": np.full(2, step, np.float32)}, keep=2)
        arrays, steps = run._choose(TrainState({}, (), jnp.int32(8)))
    assert steps == [3, 7] and arrays["w"].tolist() == [5.0, 5.0]


def test_a_line_has_the_mean_gradient_norm_of_its_steps(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("padir.training.loop.REPORT_STEPS", 5)
    totals = Totals(Losses(*(jnp.ones(()) for _ in Losses._fields)), jnp.float32(6), jnp.int32(2))
    with (
        WorkFolder(tmp_path / "work", {"seed": 0}) as work,
        Report(tiny_spec(), work, 0) as report,
    ):
        for step, steps in ((3, 3), (5, 2), (8, 3), (10, 2)):
            report.add(step, steps, totals, 0.1)
    lines = read_jsonl(tmp_path / "work" / "metrics.jsonl")
    assert [line["gradient_norm"] for line in lines] == pytest.approx([12 / 5, 12 / 5])


def lines_of(path: Path) -> int:
    """Lines written to a file so far; 0 if it is not there yet."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def kill_at_random(command: list[str], folder: Path, pause: float, number: int) -> bool:
    """Start training and signal it after one to four more lines of metrics, and up to `pause`
    seconds more.

    Returns:
        whether the signal ended it, rather than the run its own way.
    """
    random = SystemRandom()
    metrics = folder / "work" / "metrics.jsonl"
    awaited = lines_of(metrics) + random.randint(1, 4)
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=folder) as process:
        limit = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < limit:
            if lines_of(metrics) >= awaited:
                break
            time.sleep(0.002)
        time.sleep(random.uniform(0, pause))
        process.send_signal(number)
        process.wait(timeout=60)
    return process.returncode in (-number, 143)


@pytest.mark.slow
def test_resumed_training_ends_in_the_same_bytes(tmp_path: Path) -> None:
    """Killed at random moments, then run to the end: the bundle equals that of a quiet run."""
    whole, broken = copy_toy(tmp_path / "whole"), copy_toy(tmp_path / "broken")
    spec = tiny_spec(steps=300, checkpoint_every=7, validate_every=10, selection="average")
    # All in processes of their own: another number of threads may round differently.
    start = [sys.executable, "-m", "padir", "train"]
    subprocess.run([*start, *train_arguments(whole, spec)], check=True, cwd=whole)
    lines = (whole / "work" / "metrics.jsonl").read_text().splitlines()
    seconds = [json.loads(line)["seconds"] for line in lines]
    # Time alone would not do: the first run may have been far slower than those that are killed.
    between_lines = float(np.median(np.diff(seconds)))
    command = [*start, *train_arguments(broken, spec)]
    signals = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)
    for number in signals:
        killed = kill_at_random(command, broken, between_lines, number)
        assert killed, "training ended before it was killed"
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=broken)
    assert done.returncode == 0, done.stderr
    assert model_bytes(broken) == model_bytes(whole)
    # Asked again, a finished run is written out without training.
    assert subprocess.run(command, check=True, capture_output=True, cwd=broken).returncode == 0
    assert model_bytes(broken) == model_bytes(whole)


@pytest.mark.slow
def test_a_resumed_run_reports_the_same_metrics(tmp_path: Path, monkeypatch) -> None:
    """Stopped at step 8, three steps after a line: sums go on, and so do the clocks."""
    text, vocabulary = write_toy(tmp_path)
    monkeypatch.setattr("padir.training.loop.REPORT_STEPS", 5)
    train(tiny_spec("ar"), vocabulary, text, 0, tmp_path / "whole")
    save = WorkFolder.save

    def save_and_stop(self, step, *arguments):
        save(self, step, *arguments)
        if step == 8:
            raise TrainingInterruption(step)

    with monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "save", save_and_stop)
        with pytest.raises(TrainingInterruption):
            train(tiny_spec("ar"), vocabulary, text, 0, tmp_path / "broken")
    before = json.loads((tmp_path / "broken" / "saved" / "8.json").read_text())["progress"]
    train(tiny_spec("ar"), vocabulary, text, 0, tmp_path / "broken")
    whole, broken = (read_jsonl(tmp_path / name / "metrics.jsonl") for name in ("whole", "broken"))
    clocks = ("seconds", "cpu_seconds", "tokens_per_second")
    assert [{k: v for k, v in line.items() if k not in clocks} for line in broken] == [
        {k: v for k, v in line.items() if k not in clocks} for line in whole
    ]
    assert [line["step"] for line in broken if "train_loss" in line] == [5, 10]
    for clock in clocks[:2]:
        times = [line[clock] for line in broken]
        assert times == sorted(times)
        assert all(line[clock] >= before[clock] > 0 for line in broken if line["step"] > 8)


def test_starting_over_is_asked_for_and_recorded(tmp_path: Path, capsys) -> None:
    write_toy(tmp_path)
    arguments = train_arguments(tmp_path, tiny_spec("ar", steps=4))
    assert main(arguments) == 0
    first = model_bytes(tmp_path)
    for path in (tmp_path / "work" / "checkpoints").rglob("*"):
        if path.is_file():
            path.write_bytes(b"not a checkpoint")
    # The second call says what the first one said: the command that starts over.
    for _ in range(2):
        with pytest.raises(InputError, match=r"no checkpoint can be read") as refused:
            main(arguments)
        _, command, _ = str(refused.value).split("`")
        assert command == shlex.join(["padir", "train", *arguments, "--restart"])
    assert main(shlex.split(command)[2:]) == 0
    assert model_bytes(tmp_path) == first
    assert read_jsonl(tmp_path / "metrics.jsonl")[0]["restarts"] == 1
    card = (tmp_path / "bundle" / "README.md").read_text()
    assert "| Started over | 1 times, by --restart |" in card


def test_the_last_step_is_validated_once_and_again_when_a_finished_run_is_resumed(
    tmp_path: Path, monkeypatch
) -> None:
    text, vocabulary = write_toy(tmp_path)
    spec = tiny_spec(steps=10)
    evaluate, calls = Trainer.evaluate, []

    def counted(self, *arguments):
        calls.append(evaluate(self, *arguments))
        return calls[-1]

    monkeypatch.setattr(Trainer, "evaluate", counted)
    first = train(spec, vocabulary, text, 0, tmp_path / "work")
    assert len(calls) == 2 and first.valid == calls[-1]
    again = train(spec, vocabulary, text, 0, tmp_path / "work")
    assert len(calls) == 3 and again.valid == calls[-1] == first.valid


def test_a_warm_start_takes_encoder_and_embeddings_and_nothing_else(tmp_path: Path) -> None:
    assert main(train_arguments(copy_toy(tmp_path / "ar"), tiny_spec("ar"))) == 0
    teacher = read_bundle(tmp_path / "ar" / "bundle")
    spec = tiny_spec()
    named = spec.run.training.model_copy(update={"warm_start": "ar"})
    spec = spec.model_copy(update={"run": spec.run.model_copy(update={"training": named})})
    arguments = train_arguments(copy_toy(tmp_path / "warm"), spec)
    with pytest.raises(InputError, match=r"training\.warm_start is ar: name its bundle"):
        main(arguments)
    with pytest.raises(InputError, match=r"training\.warm_start is null: drop --warm-start"):
        main([*train_arguments(copy_toy(tmp_path / "cold"), tiny_spec()),
              "--warm-start", str(teacher.folder)])  # fmt: skip
    vocabulary = tmp_path / "warm" / "spm.model"
    for key, ours, theirs in (("direction", "xt-xs", "xs-xt"), ("dataset", "yot", "toy")):
        other = spec.model_copy(update={key: ours})
        with pytest.raises(InputError, match=f"its {key} is '{theirs}'; .* must be '{ours}'"):
            read_warm_start(other, vocabulary, teacher.folder)
    raw = tiny_spec().run.training.model_copy(update={"warm_start": "ra"})
    other = spec.model_copy(update={"run": spec.run.model_copy(update={"training": raw})})
    with pytest.raises(InputError, match=r"its training is 'ar'; .* must be 'ra'"):
        read_warm_start(other, vocabulary, teacher.folder)
    trainer = Trainer(spec.run, 14, 14, 0)
    fresh = trainer.initial_state()
    warm = trainer.warm_start(fresh, teacher.arrays)
    before, after = (trainer.arrays(state.parameters) for state in (fresh, warm))
    for name, array in after.items():
        inherited = name.split("/")[0] in ("encoder", "embedder")
        source = teacher.arrays if inherited else before
        np.testing.assert_array_equal(array, source[name], err_msg=name)
    # The teacher was trained: its encoder is no fresh one.
    assert any(not np.array_equal(before[n], after[n]) for n in after if n.startswith("encoder/"))
    assert main([*arguments, "--warm-start", str(teacher.folder)]) == 0
    card = (tmp_path / "warm" / "bundle" / "README.md").read_text()
    assert "| Encoder and embeddings start from | ar |" in card


def test_a_second_trainer_is_refused(tmp_path: Path) -> None:
    first = WorkFolder(tmp_path / "work", {"seed": 0})
    with pytest.raises(InputError, match="another trainer is using this work folder"):
        WorkFolder(tmp_path / "work", {"seed": 0})
    first.close()
    WorkFolder(tmp_path / "work", {"seed": 0}).close()


def test_a_work_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    text, vocabulary = write_toy(tmp_path)
    train(tiny_spec(steps=4), vocabulary, text, 0, tmp_path / "work")
    with pytest.raises(InputError, match="belongs to another run: its seed is 0, this run's is 1"):
        train(tiny_spec(steps=4), vocabulary, text, 1, tmp_path / "work")
    with pytest.raises(InputError, match="belongs to another run: its training is"):
        train(tiny_spec(steps=5), vocabulary, text, 0, tmp_path / "work")


def test_starting_over_takes_other_text_but_no_other_training(tmp_path: Path) -> None:
    first = {"seed": 0, "training": "a", "train_target": "b"}
    WorkFolder(tmp_path / "work", first).close()
    other = first | {"train_target": "c"}
    with pytest.raises(InputError, match="its train_target is 'b'"):
        WorkFolder(tmp_path / "work", other)
    for key in ("seed", "training"):
        with pytest.raises(InputError, match=f"belongs to another run: its {key} is"):
            WorkFolder(tmp_path / "work", other | {key: "x"}, restart=True)
    WorkFolder(tmp_path / "work", other, restart=True).close()
    WorkFolder(tmp_path / "work", other).close()


def test_a_truncated_checkpoint_is_set_aside(tmp_path: Path) -> None:
    text, vocabulary = write_toy(tmp_path)
    whole = train(tiny_spec(), vocabulary, text, 0, tmp_path / "work")
    newest = tmp_path / "work" / "checkpoints" / "12"
    victims = [path for path in newest.rglob("*") if path.is_file() and path.stat().st_size > 64]
    for path in victims:
        os.truncate(path, path.stat().st_size // 2)
    again = train(tiny_spec(), vocabulary, text, 0, tmp_path / "work")
    assert (tmp_path / "work" / "unreadable" / "12").is_dir()
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)


def test_unequal_and_empty_files_are_refused(tmp_path: Path) -> None:
    text, vocabulary = write_toy(tmp_path)
    text.valid_target.write_text("ba ko\n")
    with pytest.raises(InputError, match=r"valid\.source has 20 lines, .*valid\.target has 1"):
        train(tiny_spec(), vocabulary, text, 0, tmp_path / "work")
    text.train_source.write_text("")
    text.train_target.write_text("")
    with pytest.raises(InputError, match=r"train\.source: is empty"):
        train(tiny_spec(), vocabulary, text, 0, tmp_path / "work2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        # The sixth update spoils the parameters, which the seventh step's loss shows.
        (5, "the loss was not finite at step 7; the last good"),
        # Step 8 has a checkpoint of its own: it must not be written.
        (7, "the parameters were not finite after step 8; the last good"),
    ],
)
def test_a_diverging_run_names_its_step_and_keeps_the_checkpoint(
    tmp_path: Path, spoilt: int, message: str
) -> None:
    text, vocabulary = write_toy(tmp_path)
    spec = tiny_spec("ar")

    def rate(settings, step, steps):
        return float("inf") if step >= spoilt else learning_rate(settings, step, steps)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("padir.training.loop.learning_rate", rate)
        with pytest.raises(InputError, match=message):
            train(spec, vocabulary, text, 0, tmp_path / "work")
    assert [path.name for path in (tmp_path / "work" / "checkpoints").glob("[0-9]*")] == ["4"]
    resumed = train(spec, vocabulary, text, 0, tmp_path / "work")
    whole = train(spec, vocabulary, text, 0, tmp_path / "whole")
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(resumed.arrays[name], array)


@pytest.mark.slow
def test_pairs_with_an_empty_side_change_nothing(tmp_path: Path) -> None:
    text, vocabulary = write_toy(tmp_path)
    whole = train(tiny_spec(steps=6), vocabulary, text, 0, tmp_path / "whole")
    assert whole.summary["pairs_empty"] == 0
    for split in ("train", "valid"):
        for side, lines in (("source", ["ba ko", "", "mi"]), ("target", ["", "ba", ""])):
            path = getattr(text, f"{split}_{side}")
            first, *rest = path.read_text().splitlines()
            path.write_text("".join(f"{line}\n" for line in [first, *lines, *rest]))
    other = train(tiny_spec(steps=6), vocabulary, text, 0, tmp_path / "other")
    assert other.summary["pairs_empty"] == 3
    assert other.summary["pairs"] == whole.summary["pairs"] + 3
    assert other.valid == whole.valid
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(other.arrays[name], array)
