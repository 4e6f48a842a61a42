"""What `padir plan` says of translations that are bought, and that it only reads."""

import json
import signal
import subprocess
import sys

import pytest

from padir.cli import main
from padir.commands import distill_cloud, plan
from padir.config.read import check_config
from padir.config.teacher import CloudTeacher
from padir.distill import owners
from padir.distill.ledger import Ledger, Limits
from padir.distill.ledger_reader import Task
from padir.distill.packing import read_sources
from padir.files import write_lines
from tests.required import in_namespaces
from tests.translation_server import TranslationServer
from tests.unit.config.small import changed

LINES = ["Guten Tag.", "", "Auf Wiedersehen.", "Guten Tag."]


@pytest.fixture(autouse=True)
def no_ledger_of_the_user_s(monkeypatch, tmp_path):
    """Nor its signals: `distill-cloud` takes those that end it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(owners.Owner.__init__, "__defaults__", (2**16,))
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_the_plan_counts_characters_of_the_files_that_are_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = changed("teachers", {"ar": {"kind": "cloud", "max_usd": 9, "ledger": "paid.sqlite"}})
    config = check_config(given)
    lines = plan.plan_lines(config, tmp_path / "results")
    assert sum("not known before the text is there" in line for line in lines) == 2
    # 10 training and 500 validation sentences of 52 bytes, and 20 dollars for a million of them.
    assert (
        "toy xs-xt: about 0.53 USD and 0.00 minutes: 510 lines as stated, and about 26,520 char"
        in lines[0]
    )
    assert lines[-1].startswith("ar: 0.53 USD to come and what is not known; 0.00 USD spent so far")
    assert not (tmp_path / "paid.sqlite").exists()

    folder = tmp_path / "results/data/real/de-en"
    for name in ("train.de", "valid.de", "train.en", "valid.en"):
        write_lines(folder / name, [f"{name} {n:03d}" for n in range(3000)] * 2)
    lines = plan.plan_lines(config, tmp_path / "results")
    # "train.de 000" ... "train.de 2999": 8 characters, a blank, 3 or 4 digits.
    expected = 2 * (1000 * 12 + 2000 * 13)
    (german,) = (line for line in lines if line.startswith("ar, real de-en"))
    assert f"6,000 lines to send, {expected:,} characters: {expected * 20e-6:.2f} USD" in german
    assert f"{expected / 6e6:.2f} minutes" in german
    assert lines[-1].startswith(f"ar: {0.5304 + 2 * expected * 20e-6:.2f} USD to come;")
    assert "max_usd is 9.00" in lines[-1]

    with TranslationServer() as server:
        teacher = given["teachers"]["ar"] | {"endpoint": server.endpoint}
        (tmp_path / "teacher.json").write_text(json.dumps(teacher))
        bought = ["--source", str(folder / "train.de"), "--teacher", str(tmp_path / "teacher.json")]
        languages = ["--source-language", "de", "--target-language", "en"]
        assert distill_cloud.main([*bought, *languages, "--out", str(tmp_path / "out")]) == 0
        config = check_config(changed("teachers", {"ar": teacher}))
        lines = plan.plan_lines(config, tmp_path / "results")
    (german,) = (line for line in lines if line.startswith("ar, real de-en"))
    assert "3,000 lines to send" in german
    assert "3,000 lines are paid for already" in german
    assert f"{expected / 2 * 20e-6:.2f} USD spent so far" in lines[-1]


def test_chinese_is_planned_by_characters_where_only_its_pairs_are_stated(tmp_path):
    source = {"kind": "tfds", "name": "wmt17_translate/zh-en"}
    given = changed("teachers", {"ar": {"kind": "cloud"}})
    given["datasets"] = {
        "wmt": {
            "source": {**source, "pairs": {"train": 3_000_000, "valid": 3_000}},
            "directions": ["zh-en", "en-zh"],
        }
    }
    lines = plan.plan_lines(check_config(given), tmp_path)
    # 160 bytes a line: 480,480,000 of them, and a third as many characters of Chinese.
    assert (
        "zh-en: about 3,203.20 USD and 26.69 minutes: 3,003,000 lines as stated, and about 160,160,"
        in lines[0]
    )
    assert (
        "en-zh: about 9,609.60 USD and 1.33 hours: 3,003,000 lines as stated, and about 480,480,"
        in lines[1]
    )
    assert lines[2].startswith("ar: 12,812.80 USD to come; 0.00 USD spent so far")
    del given["datasets"]["wmt"]["source"]["pairs"]["valid"]
    lines = plan.plan_lines(check_config(given), tmp_path)
    assert "zh-en: not known before the text is there" in lines[0]


def planned_with_text(tmp_path):
    """A config with a cloud teacher, and the text of its one dataset."""
    folder = tmp_path / "results/data/real/de-en"
    for name in ("train.de", "valid.de"):
        write_lines(folder / name, LINES)
    ledger = tmp_path / "far/ledger.sqlite"
    given = changed("teachers", {"ar": {"kind": "cloud", "ledger": str(ledger)}})
    del given["datasets"]["toy"]
    given["datasets"]["real"]["directions"] = ["de-en"]
    return given, ledger


def test_planning_reads_the_ledger_and_writes_nothing(tmp_path):
    given, ledger = planned_with_text(tmp_path)
    config = check_config(given)
    (line, total) = plan.plan_lines(config, tmp_path / "results")
    assert "2 lines to send" in line
    assert "0.00 USD spent so far" in total
    assert not ledger.parent.exists()
    ledger.parent.mkdir()
    ledger.touch()
    assert plan.plan_lines(config, tmp_path / "results") == [line, total]
    assert ledger.stat().st_size == 0
    ledger.unlink()

    # A ledger that knows other languages alone, which gives no task to what is only asked about.
    task = Task.of(CloudTeacher(), "de", "fr")
    with Ledger(ledger) as writer:
        guten = next(iter(read_sources(tmp_path / "results/data/real/de-en/train.de")))
        claim = writer.claim(task, [guten], Limits(1.0, 20.0, 10**9))
        writer.finish(claim.request, claim.lines, ["Bonjour."])
    before = ledger.read_bytes(), ledger.stat().st_mtime_ns, ledger.parent.stat().st_mtime_ns
    line, total = plan.plan_lines(config, tmp_path / "results")
    assert "2 lines to send" in line
    assert "0 lines are paid for already" in line
    assert "0.00 USD spent so far" in total
    after = ledger.read_bytes(), ledger.stat().st_mtime_ns, ledger.parent.stat().st_mtime_ns
    assert after == before
    assert [path.name for path in ledger.parent.iterdir()] == [ledger.name]


READ_ONLY = """
import subprocess, sys
from pathlib import Path
place = sys.argv[1]
subprocess.run(["mount", "--bind", place, place], check=True)
subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
try:
    (Path(place) / "written").touch()
except OSError as error:
    print(error.strerror)
from padir.cli import main
sys.exit(main(["plan", "--config", sys.argv[2]]))
"""


def test_planning_works_where_nothing_may_be_written(tmp_path):
    given, ledger = planned_with_text(tmp_path)
    with Ledger(ledger) as writer:
        lines = list(read_sources(tmp_path / "results/data/real/de-en/train.de"))
        claim = writer.claim(Task.of(CloudTeacher(), "de", "en"), lines, Limits(1.0, 20.0, 10**9))
        writer.finish(claim.request, claim.lines, ["a", "b", "c"])
    (tmp_path / "config.json").write_text(json.dumps(given))
    program = [
        *in_namespaces("--mount"),
        sys.executable,
        "-c",
        READ_ONLY,
        str(tmp_path),
        "config.json",
    ]
    done = subprocess.run(program, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Read-only file system\n")
    assert "ar, real de-en: 0 lines to send" in done.stdout
    assert "2 lines are paid for already" in done.stdout


def test_a_damaged_ledger_is_one_line_of_the_plan(tmp_path, monkeypatch, capsys):
    given, ledger = planned_with_text(tmp_path)
    ledger.parent.mkdir()
    ledger.write_bytes(b"not a ledger" * 1000)
    (tmp_path / "config.json").write_text(json.dumps(given))
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "--config", "config.json"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "ledger.sqlite: the ledger is damaged" in error


def test_a_teacher_that_no_model_uses_is_not_planned():
    config = check_config(changed("teachers.unused", {"kind": "cloud"}))
    assert plan.plan_lines(config, plan.Path("results")) == []
