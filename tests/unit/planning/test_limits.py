"""What a config asks of its text and machine, and what `padir init` proposes, at the limits."""

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from padir.config.data import Cleaning
from padir.config.read import check_config
from padir.config.training import TrainingRun
from padir.files import InputError
from padir.planning import fit, propose
from padir.planning.machine import Machine
from padir.planning.text import Counts

WORDS = [first + second for first in "bkmrst" for second in "aeiou"]
CPU = Machine(cores=2, memory=8 * 10**9, kind="cpu", accelerators=0, gflops=20.0)


def config(folder: Path, **changes) -> dict:
    """Settings of a tiny AR model of two files, both trained and scored on."""
    files = {"files": {"de": "train.de", "en": "train.en"}}
    source = {"kind": "files", "folder": str(folder), "train": files, "valid": files, "test": files}
    dataset = {"source": source, "directions": ["de-en"], "vocabulary": {"size": 32_000}}
    given = {"size": "tiny", "trainings": {"ar": {"system": "ar"}}, "datasets": {"own": dataset}}
    for key, value in changes.items():
        (given if key in given else dataset)[key] = value
    return given


@pytest.fixture
def text(tmp_path):
    for language in ("de", "en"):
        lines = (f"{word} {other}\n" for word in WORDS for other in WORDS[:9])
        (tmp_path / f"train.{language}").write_text("".join(lines))
    return tmp_path


def checked(given: dict) -> list[str]:
    return list(fit.check(check_config(given)))


@pytest.mark.parametrize(("pairs", "holds"), [(10, 31), (100, 39), (150, 44)])
def test_the_length_named_holds_99_percent_of_the_pairs(pairs, holds):
    # One pair of ten is longer than the bucket, each by one more.
    longer = pairs // 10
    lengths = [9] * (pairs - longer) + [31 + number for number in range(longer)]
    run = TrainingRun(training={"buckets": [16]})
    [warning] = fit._check_buckets("ar", run, fit.Lengths(lengths))
    assert sum(length <= holds for length in lengths) >= 0.99 * pairs
    assert warning.endswith(f"99% have at most {holds}")


def test_words_of_the_longer_side_are_counted_of_pairs_that_cleaning_keeps(tmp_path):
    pairs = (
        ("one two  three", "un"), ("four", "quatre cinq six sept"), ("", "vide"),
        ("a b c d e", "x"),
    )  # fmt: skip
    paths = {"de": tmp_path / "train.de", "en": tmp_path / "train.en"}
    for path, lines in zip(paths.values(), zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{line} \n" for line in lines))
    # EOS counts too.
    lengths = fit._word_counts(Cleaning(min_words=1, max_words=4), paths)
    assert lengths == ([4, 5], "words and EOS", 0)
    assert fit._word_counts(Cleaning(min_words=0), paths).values == [4, 5, 2, 6]


@pytest.mark.parametrize(
    ("vocabulary", "fits"),
    [
        ({"size": 32_000}, False),
        # Further text may fill it.
        ({"size": 32_000, "foreign_pairs": 7}, True),
        ({"size": 32_000, "extra_text": ["more"]}, True),
    ],
)
def test_a_vocabulary_of_the_text_alone_has_to_be_filled_by_it(text, vocabulary, fits):
    given = config(text, vocabulary=vocabulary)
    if fits:
        assert checked(given) == []
    else:
        with pytest.raises(InputError, match=r"vocabulary\.size is 32000"):
            checked(given)


def test_text_of_which_one_side_is_not_there_yet_is_not_checked(text):
    (text / "train.en").unlink()
    assert checked(config(text)) == []


def test_the_training_of_most_memory_is_named_and_the_hours_of_all_seeds_add_up(text, monkeypatch):
    monkeypatch.setattr(fit, "has_accelerator", lambda: False)
    monkeypatch.setattr(fit, "machine_memory", lambda: 1)
    monkeypatch.setattr(fit, "CPU_GFLOPS", 1e-3)

    def told(directions, seeds):
        many = {"system": "ar", "seeds": seeds, "training": {"batch_tokens": 60_000}}
        trainings = {"big": many, "last": {"system": "ar", "seeds": seeds}}
        small = {"size": 200, "kind": "word"}
        given = config(text, trainings=trainings, directions=directions, vocabulary=small)
        memory, time = checked(given)
        assert memory.startswith("training big takes about ")
        return float(re.search(r"about ([\d,]+) hours", time)[1].replace(",", ""))

    once = told(["de-en"], [0])
    assert told(["de-en", "en-de"], [0, 1, 2]) == pytest.approx(6 * once, rel=1e-3)


@pytest.fixture(scope="module")
def counts():
    draw = random.Random(0)
    sides = [" ".join(draw.choices(WORDS, k=draw.randint(3, 9))) for _ in range(600)]
    return Counts(600, 2 * sum(len(line.split()) for line in sides), [(s, s) for s in sides])


def test_a_size_is_proposed_where_text_and_time_are_enough_for_it(counts):
    def size(pairs, minutes):
        return propose.propose(replace(counts, pairs=pairs), CPU, minutes=minutes).size

    assert size(50_000, 600.0) == "small"
    # A larger model would learn few pairs by heart, or could not be trained in time.
    assert size(600, 600.0) == size(50_000, 4.0) == "tiny"


def test_a_training_may_take_four_fifths_of_the_memory(counts):
    tiny = propose.propose(counts, CPU, size="tiny")
    enough, less = (replace(CPU, memory=int(tiny.memory / share)) for share in (0.79, 0.81))
    assert propose.propose(counts, enough, size="tiny") == tiny
    with pytest.raises(InputError, match="size tiny: a training takes"):
        propose.propose(counts, less, size="tiny")
    with pytest.raises(InputError, match=f"smallest training takes {tiny.memory / 1e9:.2f} GB"):
        propose.propose(counts, less)


def test_directions_wait_for_devices_where_there_are_some_else_for_cores(counts):
    device = replace(CPU, cores=16, accelerators=1)
    for machine, rounds in ((device, 4), (CPU, 2), (replace(CPU, cores=3), 2)):
        one, four = (
            propose.propose(counts, machine, directions, size="tiny") for directions in (1, 4)
        )
        assert four.minutes == pytest.approx(rounds * one.minutes)
        assert four.steps == one.steps


def test_proposed_lengths_are_even_and_leave_room_and_steps_have_a_least(counts):
    made = propose.propose(counts, CPU, minutes=0.1)
    assert made.steps == propose.FEWEST_STEPS
    assert all(length % 2 == 0 for length in made.buckets)
    assert made.buckets == sorted(set(made.buckets))
    assert propose._buckets([5, 7, 9]) == [6, 8, 10]
    assert propose._buckets([1, 2, 300]) == [4, propose.LONGEST_BUCKET]
    # Half as long again, in steps of 16, and 32 at least.
    assert made.positions == 32
    longer = [(" ".join([first] * 5), second) for first, second in counts.sample]
    made = propose.propose(replace(counts, sample=longer), CPU, minutes=4.0)
    assert made.positions % 16 == 0
    assert 1.5 * made.buckets[-1] <= made.positions < 1.5 * made.buckets[-1] + 16
