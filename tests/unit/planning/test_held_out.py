"""Validation and test sets that `padir init` draws, and what it does not write over."""

from pathlib import Path

import pytest

from padir.cli import main
from padir.files import read_aligned, read_lines
from padir.planning.machine import Machine
from padir.planning.text import find_text, held_out_files, hold_out

CPU = Machine(cores=2, memory=8 * 10**9, kind="cpu", accelerators=0, gflops=20.0)


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("padir.planning.machine.measure", lambda: CPU)
    monkeypatch.setattr("padir.launch.prepare", lambda threads: None)
    (tmp_path / "corpus").mkdir()
    return tmp_path / "corpus"


def test_held_out_files_keep_pairs_together(corpus):
    lines = [f"s{number % 250}" for number in range(1000)]
    (corpus / "train.de").write_text("".join(f"{line}\n" for line in lines))
    (corpus / "train.en").write_text("".join(f"{line.upper()}\n" for line in lines))
    text = find_text([corpus])
    written = held_out_files(text, ["test"], corpus / "out")
    hold_out(text, ["test"], written)
    source, target = read_aligned(*written["test"].values())
    assert len(source) == len(set(source)) == 12
    assert [line.upper() for line in source] == target
    assert not set(source) & set(read_lines(written["train"]["de"]))


def test_held_out_sets_have_text_on_both_sides_and_no_line_that_cleaning_refuses(corpus):
    sides = [(f"s{number}", f"T{number}") for number in range(1000)]
    sides += [(f"empty{number}", "  ") for number in range(500)]
    sides += [(f"long{number}", "x" * 20_001) for number in range(50)]
    for side, language in enumerate(("de", "en")):
        (corpus / f"train.{language}").write_text("".join(f"{pair[side]}\n" for pair in sides))
    text = find_text([corpus])
    written = held_out_files(text, ["valid", "test"], corpus / "out")
    hold_out(text, ["valid", "test"], written)
    for split in ("valid", "test"):
        source, target = read_aligned(*written[split].values())
        assert len(source) == 50
        assert all(line[0] == "s" for line in source)
        assert [line.replace("s", "T") for line in source] == target
    assert len(read_lines(written["train"]["de"])) == len(sides) - 100


def test_no_line_of_a_drawn_split_begins_with_a_byte_order_mark(corpus):
    for language in ("de", "en"):
        lines = [f"\ufeff{language} {number}" for number in range(100)]
        # A file may not begin with it.
        lines[0] = lines[0].removeprefix("\ufeff")
        (corpus / f"train.{language}").write_text("".join(f"{line}\n" for line in lines))
    text = find_text([corpus])
    written = held_out_files(text, ["valid", "test"], corpus / "out")
    hold_out(text, ["valid", "test"], written)
    for language in ("de", "en"):
        drawn = [line for files in written.values() for line in read_lines(files[language])]
        assert sorted(drawn) == sorted(f"{language} {number}" for number in range(100))


def test_init_never_writes_over_text(corpus, capsys):
    own = Path("data/corpus")
    own.mkdir(parents=True)
    for language in ("de", "en"):
        lines = (f"{language} word {number}\n" for number in range(600))
        (own / f"train.{language}").write_text("".join(lines))
    before = {path: path.read_bytes() for path in own.iterdir()}
    # With --force, too.
    for force in ([], ["--force"]):
        assert main(["init", "data/corpus", "--size", "tiny", *force]) == 2
        assert "data/corpus/train.de: is a file of the given text" in capsys.readouterr().err
        assert {path: path.read_bytes() for path in own.iterdir()} == before
    # Nor with a config.
    files = ["data/corpus/train.de", "data/corpus/train.en"]
    for given in (["data/corpus"], files):
        words = [*given, "--name", "other", "--out", files[1], "--force"]
        assert main(["init", *words]) == 2
        message = f"--out {files[1]}: is a file of the given text, allowed is another one"
        assert message in capsys.readouterr().err
        assert {path: path.read_bytes() for path in own.iterdir()} == before
    other = ["init", "data/corpus", "--size", "tiny", "--name", "other"]
    assert main(other) == 0
    # Another text of that name, for another config.
    assert main([*other, "--out", "another.yaml"]) == 2
    assert "data/other/train.de: exists; --force replaces it" in capsys.readouterr().err
    assert not Path("another.yaml").exists()
