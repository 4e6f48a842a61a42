"""benchmarks/editing.py: what it gives a model, and its table, with a tiny random model."""

import pytest

from benchmarks import editing
from padir.decode.candidates import LengthRule
from padir.files import read_lines, write_lines
from tests.decoding import LINES, tiny_decoder, write_decoder, write_tiny_bundle

SENTENCE = "ta re ba ko su mi"


@pytest.mark.parametrize(
    ("first", "second", "edits"),
    [("a b c", "a b c", 0), ("a b c", "b c", 1), ("a b", "c d e", 3), ("", "a b", 2)],
)
def test_distance_counts_edits(first, second, edits):
    assert editing.distance(first.split(), second.split()) == edits


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


@pytest.mark.parametrize("given", [(), ("terms", "draft")])
def test_the_table_has_a_row_for_each_task_of_the_given_kinds(tmp_path, monkeypatch, given):
    monkeypatch.setattr(editing, "prepare", lambda threads: None)
    bundle = write_tiny_bundle(tmp_path / "padir", "padir")
    write_decoder(bundle / "decoders/padir.json", tiny_decoder("padir", LengthRule(0.6, 1.0)))
    lines = [line for line in LINES if line]
    write_lines(tmp_path / "source", lines)
    write_lines(tmp_path / "reference", [" ".join(reversed(line.split())) for line in lines])
    options = ["--source", str(tmp_path / "source"), "--references", str(tmp_path / "reference")]
    options += ["--target-language", "en", "--out", str(tmp_path / "out.md"), "--passes", "2"]
    chosen = ["--given", *given] if given else []
    assert editing.main(["--bundle", str(bundle), *options, *chosen]) == 0
    _, _, plain, *rows = [x for x in read_lines(tmp_path / "out.md") if x.startswith("| ")]
    assert plain.startswith("| nothing |")
    tasks = [each for each in editing.TASKS if not given or each.option in given]
    assert len(rows) == len(tasks)
    for row, task in zip(rows, tasks, strict=True):
        assert row.startswith(f"| {task.title} | {task.origin} |")
    whole = [each.split(" | ")[-1] for each in rows if each.startswith("| all of it as draft |")]
    for margin, kept in (("1000", "100.0 |"), ("-1000", "0.0 |")):
        asked = ["--given", "draft", "--draft-margin", margin]
        assert editing.main(["--bundle", str(bundle), *options, *asked]) == 0
        table = read_lines(tmp_path / "out.md")
        made = [each.split(" | ")[-1] for each in table if each.startswith("| all of it as draft")]
        assert made[0] == kept and len(made) == len(whole)
        assert f"- Margin for drafts: {margin}." in table
