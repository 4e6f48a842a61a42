"""benchmarks/editing.py: what it gives a model, and its table, with a tiny random model."""

import pytest

from benchmarks import editing
from padir.decode.candidates import LengthRule
from padir.files import read_lines, write_lines
from tests.decoding import LINES, tiny_decoder, write_decoder, write_tiny_bundle

SENTENCE = "ta re ba ko su mi"


def test_given_texts_are_made_of_the_sentence():
    words = SENTENCE.split()
    made = {
        task.make: editing.given_text(task, [SENTENCE, "ba ko mi"], seed=1)
        for task in editing.TASKS
    }
    assert all(short == "" for _, short in made.values())
    texts = {make: text for make, (text, _) in made.items()}
    assert texts[editing.prefix] == "ta re"
    assert texts[editing.draft] == SENTENCE
    assert set(texts[editing.terms].split("\t")) < set(words)
    for make, shown in ((editing.gaps, {editing.GAP}), (editing.spoilt, set(words))):
        changed = [b for a, b in zip(words, texts[make].split(), strict=True) if a != b]
        assert len(changed) == 2 and set(changed) <= shown


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Rows and notes of the table that options of the benchmark make."""
    monkeypatch.setattr(editing, "prepare", lambda threads: None)
    bundle = write_tiny_bundle(tmp_path / "padir", "padir")
    write_decoder(bundle / "decoders/padir.json", tiny_decoder("padir", LengthRule(0.6, 1.0)))
    lines = [line for line in LINES if line]
    write_lines(tmp_path / "source", lines)
    write_lines(tmp_path / "reference", [" ".join(reversed(line.split())) for line in lines])
    options = ["--source", str(tmp_path / "source"), "--references", str(tmp_path / "reference")]
    options += ["--target-language", "en", "--out", str(tmp_path / "out.md"), "--passes", "2"]

    def call(*more):
        assert editing.main(["--bundle", str(bundle), *options, *more]) == 0
        _, _, *rows = [x for x in read_lines(tmp_path / "out.md") if x.startswith("| ")]
        return rows, [x for x in read_lines(tmp_path / "out.md") if x.startswith("- ")]

    return call


@pytest.mark.parametrize("given", [(), ("terms", "draft")])
def test_the_table_has_a_row_for_each_task_of_the_given_kinds(measured, given):
    [plain, *rows], _ = measured(*(["--given", *given] if given else []))
    assert plain.startswith("| nothing |")
    tasks = [each for each in editing.TASKS if not given or each.option in given]
    assert len(rows) == len(tasks)
    for row, task in zip(rows, tasks, strict=True):
        assert row.startswith(f"| {task.title} | {task.origin} |")


@pytest.mark.parametrize(("margin", "kept"), [("1000", "100.0"), ("-1000", "0.0")])
def test_the_margin_decides_whether_drafts_stay(measured, margin, kept):
    rows, notes = measured("--given", "draft", "--draft-margin", margin)
    whole = [row for row in rows if row.startswith("| all of it as draft |")]
    assert len(whole) == 3 and all(row.endswith(f"| {kept} |") for row in whole[:2])
    assert f"- Margin for drafts: {margin}." in notes


def test_a_margin_is_a_finite_number(measured, capsys):
    with pytest.raises(SystemExit):
        measured("--draft-margin", "nan")
    assert "--draft-margin nan: allowed are finite numbers" in capsys.readouterr().err


def test_a_folder_that_is_no_bundle_is_named(measured, tmp_path, capsys):
    with pytest.raises(SystemExit):
        measured("--bundle", str(tmp_path / "missing"))
    assert "missing: no such folder" in capsys.readouterr().err
