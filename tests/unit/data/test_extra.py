"""Extra source text: what of it stays, and what it says about the rest."""

import signal
import subprocess
import sys

import pytest

from padir.config.data import Cleaning, RemoteFile
from padir.data import clean as cleaning
from padir.data import distinct
from padir.data.extra import clean_extra
from padir.files import InputError, read_lines, sha256_file, write_jsonl, write_lines


@pytest.fixture
def run(tmp_path):
    """Clean extra German lines; return those that stay and the statistics."""
    write_lines(tmp_path / "train.de", ["ein Hund", "ein Hund", "zwei Hunde"])
    write_jsonl(tmp_path / "valid.jsonl", [["drei Hunde"], [""]])
    write_jsonl(tmp_path / "test.jsonl", [["vier Hunde", "vier Tiere"]])
    scored = {split: tmp_path / f"{split}.jsonl" for split in ("valid", "test")}

    def run(lines, settings=None, workers=1):
        given = tmp_path / "captions.de"
        given.write_bytes("".join(f"{line}\n" for line in lines).encode())
        statistics = clean_extra(
            settings or Cleaning(), "de", given, tmp_path / "train.de", scored,
            tmp_path / "out", workers,
        )  # fmt: skip
        return read_lines(tmp_path / "out/extra.de"), statistics

    return run


def dropped(statistics):
    return {
        reason: (counts["pairs"], counts["first_lines"])
        for reason, counts in statistics["dropped"].items()
        if counts["pairs"]
    }


def test_a_line_stays_if_it_is_usable_new_and_in_no_scored_set(run, tmp_path):
    lines = ["neu", "drei Hunde", "zwei Hunde", "", "vier Tiere", "neu", "w " * 251, "alt\r"]
    kept, statistics = run([*lines, "ein Hund"])
    assert kept == ["neu", "alt"]
    assert dropped(statistics) == {
        "empty": (1, [4]),
        "too_long": (1, [7]),
        "overlap": (2, [2, 5]),
        "duplicate": (3, [3, 6, 9]),
    }
    assert (statistics["pairs_read"], statistics["pairs_kept"]) == (9, 2)
    assert statistics["pairs_sharing_a_side_with"] == {"valid": 1, "test": 1}
    (file,) = statistics["files"]
    assert file["sha256"] == sha256_file(tmp_path / "out/extra.de")
    assert (file["file"], file["lines"], file["carriage_returns_removed"]) == ("extra.de", 2, 1)
    # Nothing but the text is left in the folder.
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["extra.de"]


def test_lines_that_the_settings_allow_are_kept(run):
    settings = Cleaning(drop_duplicates=False, drop_overlap=False)
    lines = ["ein Hund", "neu", "neu", "drei Hunde"]
    assert run(lines, settings)[0] == lines


def test_blocks_and_processes_change_nothing(run, monkeypatch):
    lines = [f"{number % 40} Hunde" for number in range(100)] + ["ein Hund", "zwei Hunde"]
    whole = run(lines)
    monkeypatch.setattr(cleaning, "BLOCK_LINES", 2)
    monkeypatch.setattr(distinct, "BUFFER_ROWS", 3)
    assert run(lines) == run(lines, workers=2) == whole
    assert len(whole[0]) == 40


KILLED = """
import os, signal, sys
from pathlib import Path
from padir.config.data import Cleaning
from padir.data import extra
copy = extra.copy_text
def copied_then_killed(*arguments):
    copy(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
extra.copy_text = copied_then_killed
given, train, out = map(Path, sys.argv[1:])
extra.clean_extra(Cleaning(), "de", given, train, {}, out)
"""


def test_what_a_killed_run_left_is_removed_by_the_next_one(run, tmp_path):
    write_lines(tmp_path / "captions.de", ["neu"])
    paths = [tmp_path / name for name in ("captions.de", "train.de", "out")]
    done = subprocess.run([sys.executable, "-c", KILLED, *paths], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = (tmp_path / "out").iterdir()
    assert (left / "extra.de").read_text() == "neu\n"
    assert run(["neu"])[0] == ["neu"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["extra.de"]


def test_text_without_a_new_line_is_an_error(run):
    with pytest.raises(InputError, match="extra: cleaning leaves no pair at all"):
        run(["ein Hund"])


def test_a_download_needs_its_digest(tmp_path):
    write_lines(tmp_path / "captions.de", ["neu"])
    write_lines(tmp_path / "train.de", ["alt"])
    url = (tmp_path / "captions.de").as_uri()
    for digest, expected in ((sha256_file(tmp_path / "captions.de"), ["neu"]), ("0" * 64, None)):
        remote, out = RemoteFile(url=url, sha256=digest), tmp_path / digest
        if expected is None:
            with pytest.raises(InputError, match=r"SHA-256 is .*, expected 0000"):
                clean_extra(Cleaning(), "de", remote, tmp_path / "train.de", {}, out)
        else:
            clean_extra(Cleaning(), "de", remote, tmp_path / "train.de", {}, out)
            assert read_lines(out / "extra.de") == expected
