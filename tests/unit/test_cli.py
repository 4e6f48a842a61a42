"""The `padir` command: what it lists, how it fails."""

import errno
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from padir import cli
from padir.files import InputError
from tests.required import in_namespaces


def fails(error: BaseException):
    """A module whose `main` raises."""

    class Module:
        @staticmethod
        def main(argv: list[str]) -> int:
            raise error

    return Module


def test_help_lists_every_verb_with_one_line(capsys):
    assert cli.main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for verb, (_, text) in cli.VERBS.items():
        assert [line.split() for line in lines].count([verb, *text.split()]) == 1


def test_no_verb_is_an_error_that_shows_the_verbs(capsys):
    assert cli.main([]) == 2
    assert "decode" in capsys.readouterr().out


@pytest.mark.parametrize(("typed", "nearest"), [("scroe", "score"), ("tran", "train")])
def test_an_unknown_verb_names_the_nearest(typed, nearest, capsys):
    assert cli.main([typed]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"padir: error: no verb '{typed}'; the nearest is {nearest}\n"
    assert captured.out == ""


@pytest.mark.parametrize(
    ("error", "expected", "status"),
    [
        (InputError("x.de: line 3: bad"), "padir score: error: x.de: line 3: bad\n", 2),
        (InputError("one\ntwo"), "padir score: error: one\npadir score: error: two\n", 2),
        (
            OSError(errno.ENOSPC, "No space left on device", "out.json"),
            "padir score: error: out.json: No space left on device; free some and run the same"
            " command\n",
            2,
        ),
        (KeyboardInterrupt(), "padir score: interrupted\n", 130),
    ],
)
def test_user_errors_are_one_line(monkeypatch, capsys, error, expected, status):
    monkeypatch.setattr(cli.importlib, "import_module", lambda name: fails(error))
    assert cli.main(["score"]) == status
    assert capsys.readouterr().err == expected


def test_a_file_name_that_is_not_utf8_is_one_line(capsys):
    assert cli.main(["score", "--hypotheses", os.fsdecode(b"a\xff"), "--references", "r"]) == 2
    assert capsys.readouterr().err == (
        "padir score: error: 'a\\udcff': not UTF-8; rename the file\n"
    )


def test_a_defect_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(cli.importlib, "import_module", lambda name: fails(KeyError("x")))
    with pytest.raises(KeyError):
        cli.main(["score"])


@pytest.mark.parametrize("verb", sorted(cli.VERBS))
def test_every_verb_explains_itself_with_examples(verb, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([verb, "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert f"usage: padir {verb}" in text
    _, *examples = re.split(r"^examples?:$", text, flags=re.MULTILINE | re.IGNORECASE)
    assert len(examples) == 1
    assert re.search(rf"padir {verb}\b", examples[0])


def test_the_installed_command_fails_in_one_line_without_traceback(tmp_path):
    command = [sys.executable, "-m", "padir", "plan", "--config", str(tmp_path / "none.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        f"padir plan: error: {tmp_path / 'none.yaml'}: cannot read: No such file or directory\n"
    )


def test_a_line_and_its_end_are_written_at_once_without_a_buffer_too():
    command = [sys.executable, "-u", "-m", "padir", "nothing"]
    # Each write is a message of its own.
    read, write = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with read, write:
        assert subprocess.run(command, stderr=write, check=False).returncode == 2
        read.setblocking(False)
        assert re.fullmatch(rb"padir: error: no verb 'nothing'.*\n", read.recv(1000))
        with pytest.raises(BlockingIOError):
            read.recv(1000)


def test_an_error_of_several_lines_is_written_at_once():
    fails = "raise InputError('one\\ntwo')"
    script = f"""
import types
from padir import cli
from padir.files import InputError
def main(rest): {fails}
cli.importlib.import_module = lambda name: types.SimpleNamespace(main=main)
cli.sys.argv = ["padir", "status"]
cli.main()
"""
    read, write = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with read, write:
        subprocess.run([sys.executable, "-c", script], stderr=write, check=True)
        read.setblocking(False)
        assert read.recv(1000) == b"padir status: error: one\npadir status: error: two\n"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_on_a_full_disk_is_one_line(arguments):
    command = [sys.executable, "-m", "padir", *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.endswith(": error: No space left on device; free some and run the same command")


def test_long_runs_start_again_with_the_allocator_once(monkeypatch):
    started = []
    monkeypatch.setattr(cli.os, "execve", lambda *arguments: started.append(arguments))
    monkeypatch.setattr(cli.sys, "platform", "linux")
    monkeypatch.setattr(cli.sys, "argv", ["padir", "train", "--seed", "1"])
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    cli._restart_with_allocator()
    (program, arguments, environment), *more = started
    assert not more
    assert program == sys.executable
    assert arguments == [sys.executable, "-m", "padir", "train", "--seed", "1"]
    assert environment["GLIBC_TUNABLES"] == cli.ALLOCATOR
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=1")
    cli._restart_with_allocator()
    assert len(started) == 1


def test_the_first_process_of_a_container_ends_on_sigterm():
    """The kernel does nothing by default there; `exec padir train` makes it the first one."""
    script = """
import sys, time, types
from padir import cli
def main(rest):
    print("working", flush=True)
    time.sleep(60)
cli.importlib.import_module = lambda name: types.SimpleNamespace(main=main)
cli.sys.argv = ["padir", "decode"]
sys.exit(cli.main())
"""
    command = [*in_namespaces("--pid", "--fork"), sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as outside:
        assert outside.stdout is not None
        assert outside.stdout.readline() == "working\n"
        place = Path(f"/proc/{outside.pid}/task/{outside.pid}/children")
        os.kill(int(place.read_text()), signal.SIGTERM)
        assert outside.wait(timeout=30) == 143
