"""`padir serve` and clients that leave before their turn, or close their sending side."""

import json
import socket
import time

import pytest

from padir.library import Model
from tests.decoding import tiny_model
from tests.serving import serving


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(Model(tiny_model(tmp_path_factory.mktemp("models") / "ar", "ar"))) as server:
        yield server


def wait_for(numbers, count):
    """Wait until a list has as many entries."""
    end = time.monotonic() + 60
    while len(numbers) < count:
        assert time.monotonic() < end
        time.sleep(0.01)


def connect(server, text, version="1.1"):
    """A connection that has sent a request."""
    body = json.dumps({"text": text}).encode()
    connection = socket.create_connection(server.server_address[:2], timeout=60)
    head = f"POST /translate HTTP/{version}\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
    return connection


def answer(connection):
    """All that comes back."""
    with connection, connection.makefile("rb") as file:
        return file.read()


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_client_that_waits_is_answered(server, version):
    connection = connect(server, "ba", version)
    content = answer(connection)
    assert content.startswith(b"HTTP/1.0 200 OK") and b'"translation"' in content


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_client_that_closed_its_sending_side_is_answered(server, version):
    with server.busy:
        connection = connect(server, "ba", version)
        connection.shutdown(socket.SHUT_WR)
    content = answer(connection)
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" if version == "1.1" else b""
    assert content.startswith(interim + b"HTTP/1.0 200 OK") and b'"translation"' in content


def test_a_client_that_left_before_its_turn_is_not_translated(server, monkeypatch, capfd):
    begun, ended, translated = [], [], []
    translate, details = server.translate, server.model.details

    def record(request, *arguments):
        begun.append(request)
        try:
            return translate(request, *arguments)
        finally:
            ended.append(request)

    def record_lines(lines, *arguments, **options):
        translated.extend(lines)
        return details(lines, *arguments, **options)

    monkeypatch.setattr(server, "translate", record)
    monkeypatch.setattr(server.model, "details", record_lines)
    with server.busy:
        for text in ("ba", "ko", "mi"):
            connect(server, text).close()
        staying = connect(server, "su")
        wait_for(begun, 4)
    assert b"HTTP/1.0 200 OK" in answer(staying)
    wait_for(ended, 4)
    assert translated == ["su"]
    assert capfd.readouterr().err == ""
