"""Files in blocks: every cut gives the lines that the whole file has."""

import subprocess
import sys

import pytest

from padir.data import parallel
from padir.data.parallel import line_blocks, read_block
from padir.files import InputError, read_lines


@pytest.mark.parametrize("chunk", [1, 2, 7, 1 << 22])
@pytest.mark.parametrize("lines", [1, 2, 3, 100])
@pytest.mark.parametrize(
    "content", ["", "a", "a\n", "\n", "\n\n", "a\nb\nc", "ä\u2028b\r\n\nccc\nd\n", "a\n" * 10]
)
def test_blocks_are_the_file(tmp_path, monkeypatch, content, lines, chunk):
    monkeypatch.setattr(parallel, "_CHUNK", chunk)
    path = tmp_path / "text"
    path.write_text(content, encoding="utf-8", newline="")
    blocks = line_blocks(path, lines)
    texts = [read_block(path, block) for block in blocks]
    assert [line for text in texts for line in text] == read_lines(path)
    assert [len(text) for text in texts] == [block.lines for block in blocks]
    assert all(len(text) == lines for text in texts[:-1])
    assert [block.first for block in blocks] == [lines * i for i in range(len(blocks))]


def test_errors_name_the_line_of_the_file(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"a\n" * 7 + b"b\xff\n")
    with pytest.raises(InputError, match="text: line 8, byte 2: not valid UTF-8"):
        read_block(path, line_blocks(path, 3)[-1])
    with pytest.raises(InputError, match="missing: cannot read: No such file"):
        line_blocks(tmp_path / "missing", 3)


AN_ERROR_AND_A_WAITING_ITEM = """
import multiprocessing.connection as connection
import operator
import time
from functools import partial
from padir.data.parallel import ordered

def late(objects, *more, wait=connection.wait, **named):
    # The pool's thread comes late, so that the last item is never begun.
    ready = wait(objects, *more, **named)
    time.sleep(0.3 if len(objects) > 2 else 0)
    return ready

def items():
    yield from (0, 1, 2, 3)
    time.sleep(4)
    yield 4

connection.wait = late
try:
    list(ordered(partial(operator.truediv, 1), items(), 2))
except ZeroDivisionError:
    print("raised")
"""


def test_an_error_ends_beside_an_item_that_was_never_begun():
    """With Python 3.11.2 it waited for ever."""
    command = [sys.executable, "-c", AN_ERROR_AND_A_WAITING_ITEM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "raised\n"
