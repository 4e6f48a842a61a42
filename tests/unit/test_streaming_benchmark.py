"""benchmarks/streaming.py: steps whose input is not there are refused before anything is done."""

import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "streaming.py"


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["tfds", "encode"], "--steps: encode needs before it: fetch clean sample"),
        (["fetch", "clean", "encode", "sample"], "--steps: encode needs before it: sample"),
        (["card"], "--steps: card needs before it: fetch clean distill"),
    ],
)
def test_a_step_that_needs_another_says_so(tmp_path, monkeypatch, capsys, steps, message):
    command = ["streaming.py", "--pairs", "100", "--work", str(tmp_path), "--steps", *steps]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    printed = capsys.readouterr()
    assert stopped.value.code == 2 and not printed.out
    assert printed.err.splitlines()[-1].endswith(message)


def test_every_step_has_what_it_needs_by_default():
    script = runpy.run_path(str(SCRIPT))
    for place, step in enumerate(script["STEPS"]):
        assert set(script["NEEDS"].get(step, ())) <= set(script["STEPS"][:place])


@pytest.mark.slow
def test_all_steps_from_text_to_card_run(tmp_path, monkeypatch, capsys):
    steps = ["fetch", "clean", "sample", "encode", "batches", "distill", "card"]
    command = ["streaming.py", "--pairs", "10000", "--threads", "1", "--work", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*command, "--steps", *steps])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[:2] for row in rows] == [["10000", step] for step in steps]
    assert all(float(cell) > 0 for row in rows for cell in row[2:5])
