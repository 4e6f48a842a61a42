"""Files: lines that stay lines, writes that are whole or absent, bundles that belong together."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from padir import files
from padir.files import (
    InputError,
    atomic_path,
    count_aligned,
    digest,
    iter_aligned,
    read_aligned,
    read_json,
    read_jsonl,
    read_lines,
    sha256_file,
    shown,
    write_json,
    write_jsonl,
    write_lines,
)

AWKWARD_NAMES = ["a b.txt", "a;b.txt", 'it\'s "q".txt', "a\nb.txt", "-rf", "$HOME.txt"]


def names(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


def fails(message: str):
    """Expect an InputError of one line that ends in `message`."""
    return pytest.raises(InputError, match=r"\A[^\n]*" + re.escape(message) + r"\Z")


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\n\n", ["a", ""]),
        (b"a\nb", ["a", "b"]),
        ("a\u2028b\x85c\x0bd\x0ce\n".encode(), ["a\u2028b\x85c\x0bd\x0ce"]),
        (b"a\r\nb\rc\r\n", ["a\r", "b\rc\r"]),
        ("a\ufeff\n".encode(), ["a\ufeff"]),
    ],
)
def test_lines_end_at_newline_only(tmp_path, content, lines):
    path = tmp_path / "text"
    path.write_bytes(content)
    assert read_lines(path) == lines


def test_a_line_of_a_megabyte_survives(tmp_path):
    line = "ä" * (1 << 20)
    assert write_lines(tmp_path / "text", [line, ""]) == 2
    assert read_lines(tmp_path / "text") == [line, ""]


def test_invalid_utf8_names_file_line_and_byte(tmp_path):
    path = tmp_path / "bad.de"
    # The byte is counted within its line, from 1; "ä" takes two.
    path.write_bytes("gut\näb".encode() + b"\xff\n")
    with fails(
        "bad.de: line 2, byte 4: not valid UTF-8; convert it, such as with iconv -f cp1252 -t utf-8"
    ):
        read_lines(path)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_named_by_its_mark(tmp_path, encoding):
    path = tmp_path / "bad.de"
    path.write_bytes("\ufeffgut\n".encode(encoding))
    with fails(
        "bad.de: line 1, byte 1: not valid UTF-8; convert it, such as with iconv -f utf-16 -t utf-8"
    ):
        read_lines(path)


def test_nul_names_its_line(tmp_path):
    path = tmp_path / "nul.de"
    path.write_bytes(b"a\nb\0\n")
    with fails("nul.de: line 2: holds a NUL character"):
        read_lines(path)


def test_byte_order_mark_is_refused(tmp_path):
    path = tmp_path / "bom.de"
    path.write_bytes(b"\xef\xbb\xbfa\n")
    with pytest.raises(InputError, match=r"bom\.de: line 1: starts with a byte order mark"):
        read_lines(path)


def test_byte_order_mark_is_stripped_with_a_note_where_that_is_asked_for(tmp_path, capsys):
    marked, plain = tmp_path / "bom.de", tmp_path / "plain.de"
    marked.write_bytes(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n")
    write_lines(plain, ["a", "\ufeffb"])
    assert read_aligned(marked, plain, strip_bom=True) == [["a", "\ufeffb"]] * 2
    note = f"{marked}: starts with a byte order mark, which was removed\n"
    assert capsys.readouterr() == ("", note)


def test_a_missing_file_and_a_folder_in_its_place_are_named(tmp_path):
    with fails("nowhere: cannot read: No such file or directory"):
        read_lines(tmp_path / "nowhere")
    with fails("cannot read: Is a directory"):
        sha256_file(tmp_path)


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_awkward_names_are_written_and_read(tmp_path, name):
    path = tmp_path / "x" / ".." / name
    write_lines(path, ["a"])
    assert read_lines(path) == ["a"]
    assert names(tmp_path) == sorted([name, "x"])


def test_newline_in_a_name_keeps_the_message_on_one_line(tmp_path):
    with fails("cannot read: No such file or directory"):
        read_lines(tmp_path / "a\nb")
    assert shown("plain name") == "plain name"
    assert shown("a\nb") == r"'a\nb'"


@pytest.mark.parametrize("line", ["a\nb", "a\0b", "a\udc80"])
def test_lines_that_cannot_be_read_back_are_not_written(tmp_path, line):
    with pytest.raises(InputError, match="line 2 holds"):
        write_lines(tmp_path / "text", ["fine", line])
    assert names(tmp_path) == []


def test_byte_order_mark_is_written_inside_a_file_only(tmp_path):
    write_lines(tmp_path / "text", ["a", "\ufeffb"])
    assert read_lines(tmp_path / "text") == ["a", "\ufeffb"]
    with pytest.raises(InputError, match="line 1 holds"):
        write_lines(tmp_path / "text", ["\ufeffb"])


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "text"
    write_lines(path, ["old"])
    with pytest.raises(RuntimeError), atomic_path(path) as temporary:
        temporary.write_text("new")
        raise RuntimeError
    assert read_lines(path) == ["old"]
    assert names(tmp_path) == ["text"]


KILLED = """
import os, signal, sys
from padir.files import atomic_path
with atomic_path(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_file_and_then_its_folder_are_on_disk_once_written(tmp_path, monkeypatch):
    synced = []

    def record(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, names(tmp_path)))

    monkeypatch.setattr(files.os, "fsync", record)
    write_lines(tmp_path / "text", ["new"])
    (file, before), (folder, after) = synced
    assert (file, folder) == ((tmp_path / "text").stat().st_ino, tmp_path.stat().st_ino)
    assert "text" not in before and after == ["text"]


def test_the_temporary_file_of_a_killed_process_goes_with_the_next_write(tmp_path):
    path = tmp_path / "text"
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    (stale,) = names(tmp_path)
    write_lines(tmp_path / "other", ["another file leaves it alone"])
    assert stale in names(tmp_path)
    with atomic_path(path) as ours:
        ours.write_text("ours")
        # This process is alive, so a second write of the same file leaves its temporary alone.
        write_lines(path, ["whole"])
        assert names(tmp_path) == sorted([ours.name, "other", "text"])
    assert path.read_text() == "ours"
    assert names(tmp_path) == ["other", "text"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "text"
    write_lines(path, ["old"])

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    reason = r"text: cannot write: no space left on /[^\n]*: [0-9,]+ free; free some and run"
    with pytest.raises(InputError, match=rf"\A[^\n]*{reason} the same command\Z"):
        write_lines(path, ["new"])
    assert read_lines(path) == ["old"]
    assert names(tmp_path) == ["text"]


LIMITED = """
import resource, sys
import numpy as np
from padir.bundle import write_bundle
from padir.files import InputError, write_lines
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    if sys.argv[1] == "lines":
        write_lines("out", ["word"] * 100_000)
    else:
        write_bundle("out", {"a": np.zeros(100_000, np.float32)}, {}, "spm", "card")
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["lines", "bundle"])
def test_no_room_while_writing_leaves_no_part_of_a_file(tmp_path, kind):
    (tmp_path / "spm").write_bytes(b"pieces")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, kind],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("cannot write: File too large\n")
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    parts = ["out", "out/README.md", "out/spec.json", "out/spm.model"]
    assert left == (["spm"] if kind == "lines" else [*parts, "spm"])


def test_a_pipe_is_written_into_and_a_link_is_followed(tmp_path):
    pipe, link, behind = (tmp_path / name for name in ("pipe", "link", "behind"))
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_lines(pipe, ["a", "b"])
    assert os.read(reader, 100) == b"a\nb\n"
    os.close(reader)
    assert pipe.is_fifo()
    link.symlink_to(behind)
    write_lines(link, ["c"])
    assert link.is_symlink()
    assert behind.read_text() == "c\n"
    assert names(tmp_path) == ["behind", "link", "pipe"]
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for place in (tmp_path / "loop" / "file", tmp_path / ("x" * 300)):
        with pytest.raises(InputError, match="cannot write: "):
            write_lines(place, ["d"])


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with fails("below: cannot write: Not a directory"):
        write_lines(tmp_path / "file" / "below", ["a"])
    (tmp_path / "folder").mkdir()
    with fails("folder: cannot write: Is a directory"):
        write_lines(tmp_path / "folder", ["a"])
    assert names(tmp_path) == ["file", "folder"]


def test_an_error_about_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "out"):
        (tmp_path / "other").read_text()


def test_json_survives_and_what_is_no_json_is_refused_with_its_line(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"b": [1, "ä\u2028"], "a": None})
    assert read_json(path) == {"b": [1, "ä\u2028"], "a": None}
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(path, float("nan"))
    path.write_text('{\n"a": }')
    with pytest.raises(InputError, match=r"a\.json: line 2: not JSON"):
        read_json(path)
    for number in ("1e400", "-1e400"):
        path.write_text(f'{{"a": [{number}]}}')
        with fails(f"a.json: {number} is out of the range of numbers"):
            read_json(path)
    path.write_text('{"a": NaN}')
    with fails("a.json: NaN is not JSON"):
        read_json(path)
    path.write_bytes(b'{"a":\n"\xff"}')
    with fails("a.json: line 2: not valid UTF-8"):
        read_json(path)


def test_json_lines_survive_and_bad_lines_are_named(tmp_path):
    path = tmp_path / "a.jsonl"
    records = [{"id": 0, "text": "a\nb\u2028"}, {"id": 1}]
    assert write_jsonl(path, records) == 2
    assert read_jsonl(path) == records
    path.write_text('{"id": 0}\n[1]\n')
    with fails("a.jsonl: line 2: not a JSON object"):
        read_jsonl(path)
    path.write_text('{"id": 0}\n{"id"\n')
    with pytest.raises(InputError, match=r"a\.jsonl: line 2: not JSON"):
        read_jsonl(path)


def test_digests_ignore_the_order_of_keys_and_equal_the_standards(tmp_path):
    # sha256 of "abc": FIPS 180-2, appendix B.1.
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    (tmp_path / "abc").write_bytes(b"abc")
    assert sha256_file(tmp_path / "abc") == abc
    assert digest({"a": 1, "b": "ä"}) == digest({"b": "ä", "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    # printf '"abc"' | sha256sum
    assert digest("abc") == "6cc43f858fbb763301637b5af970e2a46b46f461f27e5a0f41e009c59b827b25"


def test_aligned_files_stream_in_pairs_and_unequal_ones_are_refused(tmp_path):
    write_lines(tmp_path / "a", ["1", "2", ""])
    write_lines(tmp_path / "b", ["x", "y", "z"])
    assert count_aligned(tmp_path / "a", tmp_path / "b") == 3
    lines = list(iter_aligned(tmp_path / "a", tmp_path / "b"))
    assert lines == [("1", "x"), ("2", "y"), ("", "z")]
    write_lines(tmp_path / "b", ["x"])
    for check in (count_aligned, lambda *paths: next(iter_aligned(*paths))):
        with pytest.raises(InputError, match=r"line counts differ: .*a has 3, .*b has 1"):
            check(tmp_path / "a", tmp_path / "b")
