"""`padir distill-cloud` from outside: what it prints and what it refuses."""

import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from padir.cli import main
from padir.commands import distill_cloud
from padir.config.read import cloud_teacher
from padir.config.teacher import CloudTeacher
from padir.distill import owners, service
from padir.distill.ledger import Ledger
from padir.distill.ledger_reader import Task
from padir.files import InputError, read_lines, write_lines
from tests.required import in_namespaces
from tests.translation_server import FORBIDDEN, Behaviour, TranslationServer, translation

LINES = ["Guten Tag.", "", "Auf Wiedersehen.", "Guten Tag."]


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch, tmp_path):
    """No test finds credentials of whoever runs it, or asks a machine in a cloud for some."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "absent.json"))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    monkeypatch.setattr(owners.Owner.__init__, "__defaults__", (2**16,))
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def arguments(tmp_path):
    """The command line, with settings as keywords."""

    def make(**settings):
        settings = {"ledger": str(tmp_path / "ledger.sqlite"), **settings}
        (tmp_path / "teacher.json").write_text(json.dumps(settings))
        if not (tmp_path / "a.de").exists():
            write_lines(tmp_path / "a.de", LINES)
        return [
            *("distill-cloud", "--teacher", str(tmp_path / "teacher.json")),
            *("--source", str(tmp_path / "a.de"), "--source-language", "de"),
            *("--target-language", "en", "--out", str(tmp_path / "a.en")),
        ]

    return make


def test_without_a_home_folder_the_ledger_is_asked_for(arguments, monkeypatch, capsys):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert main(arguments(ledger="~/ledger.sqlite")) == 2
    assert "ledger is '~/ledger.sqlite', and no home folder is known: set HOME" in (
        capsys.readouterr().err
    )


def test_without_a_limit_nothing_is_sent_and_with_one_the_text_is_written(
    arguments, tmp_path, capsys
):
    with TranslationServer() as server:
        line = arguments(endpoint=server.endpoint)
        assert main(line) == 2
        assert "prints what it would cost, and exits with 2" in distill_cloud.__doc__
        printed, error = capsys.readouterr()
        assert "2 lines to send, 26 characters: 0.00 USD at 20 USD per million (price of" in printed
        assert "0.00 USD spent so far, 0.00 of it in doubt" in printed
        assert "no limit is set" in printed
        assert "error: nothing was sent: 0.00 USD are needed and there is no limit" in error
        assert not server.received
        assert not (tmp_path / "a.en").exists()

        assert main([*line, "--max-usd", "0.0005"]) == 2
        assert (
            "nothing was sent: 0.00052 USD in all are needed, 0.00000 of them spent already;"
            " max_usd is 0.00050" in capsys.readouterr().err
        )
        assert not server.received

        assert main([*line, "--max-usd", "0.00052"]) == 0
        assert "2 lines to send" in capsys.readouterr().out
        assert read_lines(tmp_path / "a.en") == [translation(x) if x else "" for x in LINES]
    # What is paid for needs no limit, no server and no credentials.
    (tmp_path / "a.en").unlink()
    assert main(line) == 0
    assert "0 lines to send" in capsys.readouterr().out
    assert read_lines(tmp_path / "a.en")[0] == translation(LINES[0])


def test_no_credentials_is_one_line_and_nothing_is_written_down(arguments, tmp_path, capsys):
    assert main([*arguments(max_usd=1.0), "--project", "mine"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "no usable Application Default Credentials" in error
    assert "absent.json" in error
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.spent(Task.of(CloudTeacher(), "de", "en").provider).usd == 0


@pytest.mark.parametrize("content", ["[1]", "null", '"type"', '{"type": []}', "\udcff", None])
def test_an_unusable_credentials_file_is_one_line(
    content, arguments, tmp_path, monkeypatch, capsys
):
    path = tmp_path / "credentials.json"
    if content is None:
        path.mkdir()
    else:
        path.write_text(content, errors="surrogateescape")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    assert main([*arguments(max_usd=1.0), "--project", "mine"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "no usable Application Default Credentials" in error
    assert content is not None or "credentials.json: Is a directory" in error


def test_credentials_that_are_refused_or_name_no_project_are_one_line(monkeypatch):
    class Credentials:
        def __init__(self, error=None):
            self.error = error

        def refresh(self, request):
            if self.error:
                raise self.error

    teacher = CloudTeacher()
    task = Task.of(teacher, "de", "en")
    error = service.google.auth.exceptions.RefreshError("invalid_grant: expired\nor revoked", {})
    monkeypatch.setattr(service.google.auth, "default", lambda scopes: (Credentials(error), "p"))
    with pytest.raises(InputError, match=r"Credentials: invalid_grant: expired or revoked \(gcl"):
        service.connect(teacher, task)
    exceptions = service.google.auth.exceptions
    for page in (
        ValueError("Expecting value: line 1 column 1 (char 0): <html>"),
        exceptions.RefreshError("<!DOCTYPE html>\n<html><body>Sign in to the proxy", {}),
        exceptions.TransportError("Max retries exceeded with url: /<html>"),
    ):
        credentials = Credentials(page)
        monkeypatch.setattr(service.google.auth, "default", lambda scopes, c=credentials: (c, "p"))
        with pytest.raises(InputError, match=r"endpoint sends no token .* a proxy") as refused:
            service.connect(teacher, task)
        assert "file" not in str(refused.value) and "html" not in str(refused.value)
    monkeypatch.setattr(service.google.auth, "default", lambda scopes: (Credentials(), None))
    with pytest.raises(InputError, match="no Google Cloud project"):
        service.connect(teacher, task)


def test_empty_translations_are_written_and_warned_of(arguments, tmp_path, capsys):
    spoilt = Behaviour(spoil=lambda texts: [" ", *texts[1:]])
    with TranslationServer(script=lambda number, texts: spoilt) as server:
        assert main(arguments(endpoint=server.endpoint, max_usd=1)) == 0
    warning = "2 have an empty translation, and training leaves their pairs out: line 1, 4"
    assert warning in capsys.readouterr().err
    provenance = json.loads((tmp_path / "a.en.provenance.json").read_text())
    assert provenance["notes"] == {"blank_lines": [1, 4]}
    assert read_lines(tmp_path / "a.en")[2] == translation(LINES[2])


def test_a_wrong_project_is_one_line_and_costs_nothing(arguments, tmp_path, capsys):
    with TranslationServer(script=lambda number, texts: FORBIDDEN) as server:
        assert main([*arguments(endpoint=server.endpoint, max_usd=1), "--project", "wrong"]) == 2
        error = capsys.readouterr().err
        assert server.parents == {"projects/wrong/locations/global"}
    # The error, after the progress of no line.
    (message,) = [line for line in error.splitlines() if "error:" in line]
    assert "Cloud Translation: PERMISSION_DENIED: " in message
    assert "has not been used in project wrong before or it is disabled" in message
    assert "Traceback" not in error
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.spent("loopback") == (0.0, 0, 0.0)


def test_lines_that_are_left_empty_are_counted_listed_and_written_down(arguments, tmp_path, capsys):
    with TranslationServer(invalid={LINES[0]}) as server:
        settings = {"endpoint": server.endpoint, "max_usd": 1}
        assert main(arguments(**settings)) == 2
        error = capsys.readouterr().err
        assert "a.de: line 1: Cloud Translation refuses it (INVALID_ARGUMENT: Invalid" in error
        assert "change it, or set `refused: leave_empty` of the teacher" in error
        assert not (tmp_path / "a.en").exists()
        line = arguments(**settings, refused="leave_empty")
        assert main(line) == 0
        (said,) = [x for x in capsys.readouterr().err.splitlines() if "left empty" in x]
        assert said == (
            f"{tmp_path}/a.de: 2 left empty, as Cloud Translation refuses what stands there:"
            " line 1, 4"
        )
        assert read_lines(tmp_path / "a.en") == ["", "", translation(LINES[2]), ""]
        made = json.loads((tmp_path / "a.en.provenance.json").read_text())
        assert made["notes"] == {"refused_lines": [1, 4]}
    # Made again, it needs no server, and says so again.
    assert main(line) == 0
    printed = capsys.readouterr()
    assert "0 lines to send" in printed.out
    assert "2 left empty" in printed.err


# The server's answers are larger than what the disk takes beside the room that is kept.
SMALL_DISK = """
import subprocess, sys
from pathlib import Path
place = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "none", str(place)], check=True)
from padir.distill import owners
owners.Owner.__init__.__defaults__ = (2**19,)
from padir.cli import main
print("first", main(sys.argv[2:]))
print("left", [path.name for path in place.iterdir()])
subprocess.run(["mount", "-o", "remount,size=16M", str(place)], check=True)
print("second", main(sys.argv[2:]))
"""


def test_a_disk_that_fills_while_it_runs_is_one_line_and_loses_nothing(arguments, tmp_path):
    (tmp_path / "disk").mkdir()
    lines = [f"Satz {n:05d}" for n in range(60)]
    write_lines(tmp_path / "a.de", lines)
    with TranslationServer(translate=lambda text, *_: text * 1500) as server:
        line = arguments(
            endpoint=server.endpoint,
            max_usd=1,
            request_characters=100,
            concurrency=1,
            ledger=str(tmp_path / "disk/ledger.sqlite"),
        )
        program = [
            *in_namespaces("--mount"),
            sys.executable,
            "-c",
            SMALL_DISK,
            str(tmp_path / "disk"),
            *line,
        ]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "first 2\nleft ['ledger.sqlite']\n" in done.stdout
    assert done.stdout.endswith("second 0\n")
    (message,) = [text for text in done.stderr.splitlines() if "error:" in text]
    assert "ledger.sqlite: the disk is full; make room, then go on with the same" in message
    assert "Traceback" not in done.stderr
    assert read_lines(tmp_path / "a.en") == [text * 1500 for text in lines]
    # What came when there was no room for it any more is kept too, and never sent again.
    assert set(server.billed.values()) == {1}


SECRET = "c2VjcmV0LXRva2Vu"


def test_a_credential_file_leaves_no_trace(arguments, tmp_path, monkeypatch, capsys):
    path = tmp_path / "credentials.json"
    content = {"type": "authorized_user", "client_id": "me", "refresh_token": SECRET}
    path.write_text(
        json.dumps({**content, "client_secret": SECRET, "token_uri": "http://[::1]:1/"})
    )
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    assert main([*arguments(max_usd=1.0), "--project", "mine"]) == 2
    printed = "".join(capsys.readouterr())
    assert "Application Default Credentials" in printed
    path.unlink()
    left = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert left
    assert not any(SECRET.encode() in text for text in [printed.encode(), *left])


@pytest.mark.parametrize(
    "endpoint",
    ["translate.googleapis.com:443", "10.0.0.1:80", "localhost:80", "127.0.0.1", "[::1]:x", ":80"],
)
def test_endpoints_on_other_machines_are_refused(endpoint):
    with pytest.raises(InputError, match=r"endpoint is .* allowed are addresses of this machine"):
        cloud_teacher(None, {"endpoint": endpoint})
    assert cloud_teacher(None, {"endpoint": "[::1]:80"}).endpoint == "[::1]:80"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_usd": -1}, "max_usd: found -1"),
        ({"ledger": "results/ledger.sqlite"}, "results may be deleted"),
        ({"request_characters": 30_001}, "request_characters: found 30001"),
        ({"project": "a b"}, "project: found"),
        ({"model": "general/translation-llm"}, "model: found"),
        ({"price_date": "yesterday"}, "price_date: found"),
        ({"key": "secret"}, "key: unknown key"),
    ],
)
def test_wrong_settings_are_named(changes, message):
    with pytest.raises(InputError, match=message):
        cloud_teacher(None, changes)


def test_a_ledger_in_the_results_is_refused_however_it_is_written(tmp_path, monkeypatch):
    (tmp_path / "x" / "results").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "x" / "results")
    monkeypatch.chdir(tmp_path / "x")
    inside = [
        *("results", "results/l", "./results/a/l", "../x/results/l", "a/../results/l"),
        *(str(tmp_path / "x/results/l"), "../link/l", "~/x/results/l"),
    ]
    for ledger in inside:
        with pytest.raises(InputError, match="results may be deleted"):
            cloud_teacher(None, {"ledger": ledger})
    for ledger in ["results2/l", "../results/l", "results/../l", "a/results/l", "/results.sqlite"]:
        assert cloud_teacher(None, {"ledger": ledger}).ledger == ledger
    # Results that lie elsewhere are results.
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "results").symlink_to(tmp_path / "x" / "results")
    monkeypatch.chdir(tmp_path / "y")
    with pytest.raises(InputError, match="results may be deleted"):
        cloud_teacher(None, {"ledger": "../x/results/l"})
    with pytest.raises(InputError, match="teacher: "):
        cloud_teacher(None, {"ledger": "a\0b"})


def test_lines_that_are_too_long_stop_it_before_anything_is_sent(arguments, tmp_path, capsys):
    with TranslationServer() as server:
        line = arguments(endpoint=server.endpoint, max_usd=100)
        write_lines(tmp_path / "a.de", [*LINES, "x" * 30_001])
        assert main(line) == 2
        assert "a.de: line 5 has 30001 characters" in capsys.readouterr().err
        assert not server.received


def test_a_damaged_ledger_stops_it_before_anything_is_sent(arguments, tmp_path, capsys):
    with TranslationServer() as server:
        (tmp_path / "ledger.sqlite").write_bytes(b"not a ledger" * 1000)
        assert main(arguments(endpoint=server.endpoint, max_usd=100)) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "the ledger is damaged" in error
        assert not server.received


# A stand-in for a full disk that needs no disk: writes past 64 KiB fail.
NO_LARGE_FILES = ["sh", "-c", 'ulimit -f 128; exec "$@"', "sh"]


def test_no_room_for_the_ledger_stops_it_before_anything_is_sent(arguments, tmp_path):
    with TranslationServer() as server:
        line = arguments(endpoint=server.endpoint, max_usd=100)
        done = subprocess.run(
            [*NO_LARGE_FILES, sys.executable, "-m", "padir", *line],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "ledger.sqlite: cannot keep room for it: File too large; nothing was" in done.stderr
        assert not server.received
        assert main(line) == 0
        assert server.billed_characters == 26


def test_a_job_that_is_ended_keeps_what_is_in_flight(arguments, tmp_path):
    arrived = []
    with TranslationServer(arrived=lambda number: arrived.append(number)) as server:
        line = arguments(endpoint=server.endpoint, max_usd=100, request_characters=1, concurrency=1)
        process: subprocess.Popen[str] | None = None

        def end(number):
            assert process is not None
            process.terminate()

        server.arrived = end
        process = subprocess.Popen(
            [sys.executable, "-m", "padir", *line], stderr=subprocess.PIPE, text=True
        )
        _, error = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "interrupted" in error
        assert server.billed_characters < 26
        server.arrived = arrived.append
        assert main(line) == 0
        assert server.billed_characters == 26


def test_a_ledger_that_may_not_be_written_is_one_line(arguments, tmp_path, capsys):
    line = arguments(max_usd=1)
    Ledger(tmp_path / "ledger.sqlite").close()
    (tmp_path / "ledger.sqlite").chmod(stat.S_IRUSR)
    if os.access(tmp_path / "ledger.sqlite", os.W_OK):
        pytest.skip("this user may write everything")
    assert main(line) == 2
    assert "cannot use the ledger: attempt to write a readonly" in capsys.readouterr().err
