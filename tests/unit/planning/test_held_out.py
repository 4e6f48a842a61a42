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


def drawn_sources(folder: Path, sources: list[str]) -> dict[str, set[str]]:
    """Sources of each split that is written for a text of these sources."""
    folder.mkdir()
    for language in ("de", "en"):
        lines = (f"{source} {language}\n" for source in sources)
        (folder / f"train.{language}").write_text("".join(lines))
    text = find_text([folder])
    written = held_out_files(text, ["valid", "test"], folder / "out")
    hold_out(text, ["valid", "test"], written)
    return {split: set(read_lines(files["de"])) for split, files in written.items()}


# With one pair more than 199 the sets are larger by one.
@pytest.mark.parametrize("pairs", [199, 200])
def test_a_further_pair_takes_at_most_one_out_of_a_drawn_set(corpus, pairs, monkeypatch):
    # Hundreds of files are written, which need not survive a crash.
    monkeypatch.setattr("padir.files._sync", lambda path: None)
    # Every fifth source has two pairs.
    sources = [f"s{number}" for number in range(pairs)]
    sources += sources[::5]
    before = drawn_sources(corpus / "before", sources)
    assert len(before["test"]) == len(before["valid"]) == pairs // 20
    displaced = 0
    for number in range(40):
        after = drawn_sources(corpus / f"after{number}", [f"further {number}", *sources])
        lost = {split: before[split] - after[split] for split in before}
        assert len(lost["test"]) <= 1 and len(lost["valid"]) <= 1
        assert not before["test"] & after["train"]
        displaced += len(lost["test"])
    assert displaced or pairs == 199


def test_drawn_sets_do_not_depend_on_the_order_of_the_text(corpus):
    sources = [f"s{number}" for number in range(300)]
    assert drawn_sources(corpus / "a", sources) == drawn_sources(corpus / "b", sources[::-1])


def test_no_test_line_goes_to_training_where_the_text_grows_by_half(corpus):
    sources = [f"s{number}" for number in range(900)]
    before, after = (
        drawn_sources(corpus / name, sources[:count]) for name, count in (("a", 600), ("b", 900))
    )
    assert not before["test"] & after["train"]
    assert len(before["test"] & after["test"]) > 20


def test_init_says_which_text_it_trains_on_and_in_which_direction(corpus, capsys):
    for language in ("et", "fi"):
        lines = (f"{language} word {number}\n" for number in range(600))
        (corpus / f"train.{language}").write_text("".join(lines))
    assert main(["init", "corpus"]) == 0
    shown = capsys.readouterr().out
    other = "translates et to fi; the other direction: --directions fi-et\n"
    place = (
        "training reads data/corpus: edit and add text there, or in your own files and run padir"
        " init again with --force, which writes it anew\n"
    )
    assert other in shown and place in shown
    chosen = ["--directions", "fi-et", "--force"]
    assert main(["init", "corpus", *chosen]) == 0
    shown = capsys.readouterr().out
    assert other not in shown and "directions: [fi-et]" in Path("corpus.yaml").read_text()
    # Nothing is copied where no set is drawn.
    for split in ("valid", "test"):
        for language in ("et", "fi"):
            (corpus / f"{split}.{language}").write_text(f"{split} {language}\n")
    assert main(["init", "corpus", "--force"]) == 0
    assert place not in capsys.readouterr().out


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
