"""Metrics of a work folder: what a kill cut short is removed, other damage is named."""

from pathlib import Path

import pytest

from padir.files import InputError
from padir.training.metrics import whole_lines


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('{"step": 1}\n{"step": 2}\n', [1, 2]),
        ('{"step": 1}\n{"step": 2', [1]),
        # Whole, but for its end: another line would be written into it.
        ('{"step": 1}\n{"step": 2}', [1]),
        ('{"step"', []),
        ("", []),
    ],
)
def test_a_last_line_without_its_end_is_removed(tmp_path: Path, written: str, kept) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(written)
    assert [line["step"] for line in whole_lines(path)] == kept
    assert path.read_text() == "".join(f'{{"step": {step}}}\n' for step in kept)


def test_without_a_file_there_are_no_metrics(tmp_path: Path) -> None:
    assert whole_lines(tmp_path / "metrics.jsonl") == []
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("line", ['{"step": 1.5}', '{"loss": 1}', '{"step": 2, "restarts": "a"}'])
def test_a_line_that_counts_no_steps_or_restarts_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"step": 1}}\n{line}\n{{"step": 3}}\n')
    with pytest.raises(InputError, match=r"metrics\.jsonl: line 2: damaged"):
        whole_lines(path)
