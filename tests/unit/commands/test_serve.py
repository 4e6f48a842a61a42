"""`padir serve`: what it answers, and what it refuses."""

import http.client
import json
import re
import threading
from importlib import resources

import pytest

from padir.files import InputError
from padir.library import Model
from padir.server.api import MOST_BYTES, Server
from tests.decoding import tiny_model


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    model = Model(tiny_model(tmp_path_factory.mktemp("models") / "ar", "ar"))
    with Server(model, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, method, path, body=None, **headers):
    """Status, content type and body of an answer."""
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=60)
    connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, answer.getheader("Content-Type"), content


def post(server, body, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content_Type": "application/json", **headers}
    status, _, answer = ask(server, "POST", "/translate", content, **headers)
    return status, json.loads(answer)


def test_lines_are_translated_as_the_library_does(server):
    lines = ["ba ko", "", "mi re\u2028su"]
    status, answer = post(server, {"lines": lines, "nbest": 2})
    assert status == 200
    assert [each["translation"] for each in answer["translations"]] == server.model.translate(lines)
    assert [each["source"] for each in answer["translations"]] == lines
    assert post(server, {"text": "ba ko\n"})[1]["translations"][0] == answer["translations"][0]


def test_health_and_page(server):
    status, kind, body = ask(server, "GET", "/health")
    assert (status, kind) == (200, "application/json; charset=utf-8")
    expected = {"status": "ok", "direction": "xs-xt", "system": "ar", "training": "tiny_ar"}
    assert json.loads(body) == expected
    status, kind, body = ask(server, "GET", "/")
    assert (status, kind) == (200, "text/html; charset=utf-8")
    assert body == resources.files("padir.server").joinpath("page.html").read_bytes()
    assert not re.search(rb"https?://|//[a-z]|src=|href=|innerHTML", body)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "not JSON"),
        (b"\xff", 400, "not JSON"),
        (b"[" * 100_000, 400, "not JSON"),
        (["ba"], 400, "found list, allowed is an object"),
        ({}, 400, "one of lines and text is needed"),
        ({"lines": "ba"}, 400, "lines: allowed is a list of texts"),
        ({"lines": [1]}, 400, "lines: allowed is a list of texts of one line each"),
        ({"lines": ["a\nb"]}, 400, "of one line each"),
        ({"text": "ba", "steps": 0}, 400, "steps: allowed is 1 and more"),
        ({"text": "ba", "steps": True}, 400, "steps: allowed is 1 and more"),
        ({"text": "ba", "steps": 3}, 400, "one pass per token"),
        ({"text": "ba", "decoder": "padir"}, 400, "does not fit system ar"),
        ({"text": "ba", "x": 1}, 400, "unknown key 'x', allowed are lines, text, steps"),
        ({"lines": ["ba"] * 1_001}, 413, "1001 lines, allowed are 1000"),
        ({"text": "ba", "decoder": "/etc/passwd"}, 400, "decoder: allowed is a name"),
        ({"text": "ba", "decoder": "a.json"}, 400, "decoder: allowed is a name"),
    ],
)
def test_a_wrong_request_is_answered_with_what_is_allowed(server, body, status, message):
    answered, answer = post(server, body)
    assert answered == status and message in answer["error"]


def test_what_is_too_large_or_of_another_type_is_not_read(server):
    assert post(server, b"", Content_Length=str(MOST_BYTES + 1))[0] == 413
    assert post(server, b"{}", Content_Type="text/plain")[0] == 415
    assert post(server, b"{}", Content_Length="many")[0] == 411
    for method, path, status in (("GET", "/x", 404), ("GET", "/translate", 405)):
        assert ask(server, method, path)[0] == status
    assert ask(server, "GET", "/health")[0] == 200


def test_a_port_in_use_is_told_with_what_to_do(server):
    host, port = server.server_address[:2]
    with pytest.raises(InputError, match=f"{host}:{port}: cannot listen: the port is in use; cho"):
        Server(server.model, host, port)
    with pytest.raises(InputError, match="choose another with --port N"):
        Server(server.model, host, 70_000)
