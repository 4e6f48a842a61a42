"""Shards, parts and restart of distillation, with a translator that needs no model."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from padir.decode.load import Decoding
from padir.decode.rank import LengthRule
from padir.decode.translate import Translator
from padir.distill import teacher
from padir.distill.card import describe
from padir.distill.teacher import distill
from padir.files import InputError, write_lines


class FakeTranslator(Translator):
    """Turns "a b" into "A B" and counts the lines it was given; stops dead after `survive`."""

    def __init__(self, folder: Path, survive: int = 10**9, alpha: float = 0.0):
        self.loaded = SimpleNamespace(files=[folder / "model"])
        self.rescorer = None
        self.rule, self.decoding = LengthRule(alpha), Decoding("beam")
        self.survive, self.seen = survive, 0

    def encode(self, lines):
        return list(lines)

    def check_lengths(self, sources, name):
        pass

    def candidates(self, sources, report=None):
        self.seen += len(sources)
        if self.seen > self.survive:
            raise KeyboardInterrupt
        if report:
            report(len(sources))
        return sources

    def finish(self, sources, candidates):
        return [SimpleNamespace(hypothesis=line.upper()) for line in candidates]


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(teacher, "PART_LINES", 4)


LINES = [f"line {i}" for i in range(11)]


def make(tmp_path, **settings):
    write_lines(tmp_path / "model", ["weights"])
    return FakeTranslator(tmp_path, **settings)


def test_a_killed_run_goes_on_where_it_stopped(tmp_path, small_parts):
    work = tmp_path / "out.parts"
    killed = make(tmp_path, survive=8)
    with pytest.raises(KeyboardInterrupt):
        distill(killed, LINES, "lines", work, lambda n: None)
    again = make(tmp_path)
    done = []
    assert distill(again, LINES, "lines", work, done.append) == [x.upper() for x in LINES]
    assert again.seen == 3
    assert sum(done) == 11
    assert not work.exists()


def test_parts_of_another_run_are_not_taken(tmp_path, small_parts):
    work = tmp_path / "out.parts"
    with pytest.raises(KeyboardInterrupt):
        distill(make(tmp_path, survive=8), LINES, "lines", work, lambda n: None)
    other = make(tmp_path, alpha=1.0)
    distill(other, LINES, "lines", work, lambda n: None)
    assert other.seen == 11


@pytest.mark.parametrize(("lines", "shards"), [(11, 3), (2, 5), (0, 2), (7, 1)])
def test_shards_in_order_are_all_lines_once(lines, shards):
    bounds = [teacher.shard_bounds(lines, i, shards) for i in range(1, shards + 1)]
    assert [line for start, end in bounds for line in range(start, end)] == list(range(lines))


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/", "a/b", "-1/2", "1/2/3", "²/3"])
def test_bad_shards(text):
    with pytest.raises(InputError, match="i/n is needed"):
        teacher.parse_shard(text)


def test_the_card(tmp_path):
    files = {
        "train": ["a b", "", "c"],
        "raw": ["a b", "b", "d"],
        "valid": ["x"],
        "reference": ["x"],
        "reference.1": ["y"],
    }
    for name, lines in files.items():
        write_lines(tmp_path / name, lines)
    calls = []

    def bleu(hypotheses, references):
        calls.append((list(hypotheses), [list(one) for one in references]))
        return {"score": float(len(calls)), "signature": "s"}

    card = describe(
        "ar",
        "beam",
        (tmp_path / "train", tmp_path / "raw"),
        (tmp_path / "valid", [tmp_path / "reference", tmp_path / "reference.1"]),
        bleu,
    )
    assert calls == [(["x"], [["x"], ["y"]]), (["a b", "", "c"], [["a b", "b", "d"]])]
    assert card["teacher_bleu"]["score"] == 1.0
    assert card["agreement_with_raw"]["score"] == 2.0
    assert (card["lines"], card["empty"], card["validity"]) == ({"train": 3, "valid": 1}, 1, None)
    write_lines(tmp_path / "raw", ["a"])
    with pytest.raises(InputError, match="line counts differ"):
        describe(
            "ar", "beam", (tmp_path / "train", tmp_path / "raw"), (tmp_path / "valid", []), bleu
        )
