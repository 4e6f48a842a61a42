"""`padir serve`: what it answers, and what it refuses."""

import http.client
import json
import re
import socket
import struct

import jsonschema
import pytest

from padir.decode.candidates import LengthRule
from padir.files import InputError
from padir.library import Model
from padir.server.api import MOST_BYTES, MOST_CANDIDATES, Server
from tests.decoding import tiny_decoder, tiny_model, write_decoder
from tests.serving import serving


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    model = Model(tiny_model(tmp_path_factory.mktemp("models") / "ar", "ar"))
    with serving(model) as server:
        yield server


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


def test_a_trace_is_what_the_library_records(server, tmp_path):
    status, answer = post(server, {"lines": ["ba ko", ""], "trace": True})
    assert (status, answer["warnings"]) == (200, [])
    assert answer["traces"] == server.model.traces(["ba ko", ""])
    assert post(server, {"text": "ba", "trace": False})[1].keys() == {"translations", "warnings"}
    loaded = tiny_model(tmp_path / "padir", "padir")
    decoder = tiny_decoder("padir", LengthRule(0.6, 1.0), "mine")
    write_decoder(tmp_path / "padir/decoders/mine.json", decoder)
    with serving(Model(loaded)) as other:
        request = {"text": "ba ko mi", "trace": True, "steps": 2, "decoder": "mine"}
        [trace] = post(other, request)[1]["traces"]
        assert [trace] == other.model.traces(["ba ko mi"], 2, "mine")
        assert max(len(each["states"]) for each in trace["candidates"]) == 3
        assert other.model.decoders() == ["mine"]


def test_a_line_that_is_cut_is_told_with_a_trace_and_without(server):
    for trace, name in ((True, "input: "), (False, "")):
        _, answer = post(server, {"text": " ".join(["ba"] * 40), "trace": trace})
        assert answer["warnings"] == [
            f"{name}line 1: 40 tokens, cut to the first 15, all that this model reads"
        ]


def test_health_names_the_model_and_the_page_loads_nothing(server):
    status, kind, body = ask(server, "GET", "/health")
    assert (status, kind) == (200, "application/json; charset=utf-8")
    labels = {"direction": "xs-xt", "system": "ar", "training": "tiny_ar"}
    # Beam search has no length rule yet.
    assert json.loads(body) == {"status": "ok", **labels, "decoders": ["greedy"]}
    status, kind, body = ask(server, "GET", "/")
    assert (status, kind) == (200, "text/html; charset=utf-8")
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
        ({"text": "ba", "trace": 1}, 400, "trace: allowed is true or false"),
        ({"text": "ba", "trace": True, "nbest": 1}, 400, "nbest does not go with trace"),
        ({"lines": ["ba"] * 21, "trace": True}, 413, "21 lines, allowed are 20 with trace"),
        ({"text": "ba", "x": 1}, 400, "unknown key 'x', allowed are lines, text, steps"),
        ({"lines": ["ba"] * 1_001}, 413, "1001 lines, allowed are 1000"),
        ({"text": "ba", "decoder": "/etc/passwd"}, 400, "'/etc/passwd', allowed are greedy"),
        ({"text": "ba", "decoder": "a.json"}, 400, "decoder 'a.json', allowed are greedy"),
    ],
)
def test_a_wrong_request_is_answered_with_what_is_allowed(server, body, status, message):
    answered, answer = post(server, body)
    assert answered == status and message in answer["error"]


def test_answers_and_requests_are_as_the_description_says(server):
    status, kind, body = ask(server, "GET", "/openapi.json")
    assert (status, kind) == (200, "application/json; charset=utf-8")
    paths = json.loads(body)["paths"]

    def schema(content):
        return content["content"]["application/json"]["schema"]

    health, translate = paths["/health"]["get"], paths["/translate"]["post"]
    jsonschema.validate(
        json.loads(ask(server, "GET", "/health")[2]), schema(health["responses"]["200"])
    )
    for request in ({"lines": ["ba", ""], "nbest": 2}, {"text": "ba", "trace": True}):
        jsonschema.validate(request, schema(translate["requestBody"]))
        status, answer = post(server, request)
        assert status == 200
        answered = schema(translate["responses"]["200"])
        jsonschema.validate(answer, answered)
        # Every key is described.
        assert answer.keys() <= answered["properties"].keys()
        for each in answer.get("translations", []):
            described = answered["properties"]["translations"]["items"]["properties"]
            assert each.keys() == described.keys()
    for request in ({"text": "ba", "x": 1}, {"lines": "ba"}, {"text": "ba", "steps": 0}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(request, schema(translate["requestBody"]))
        jsonschema.validate(post(server, request)[1], schema(translate["responses"]["400"]))


def test_a_query_and_a_whole_address_lead_to_the_same_path(server):
    for path in ("/", "/health", "/openapi.json", "/translate", "/none"):
        plain = ask(server, "GET", path)
        assert ask(server, "GET", f"{path}?x=1") == ask(server, "GET", f"{path}?") == plain
        assert ask(server, "GET", f"{server.url}{path[1:]}") == plain
    assert ask(server, "GET", "http://[/health", Host="localhost")[0] == 404
    body, headers = json.dumps({"text": "ba"}), {"Content_Type": "application/json"}
    assert ask(server, "POST", "/translate?x=1", body, **headers)[0] == 200


def test_head_is_get_without_a_body(server):
    for path, status in (("/", 200), ("/health", 200), ("/none", 404)):
        content = ask(server, "GET", path)[2]
        with socket.create_connection(server.server_address[:2], timeout=60) as connection:
            connection.sendall(f"HEAD {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            with connection.makefile("rb") as file:
                headers, end, body = file.read().partition(b"\r\n\r\n")
        assert headers.startswith(f"HTTP/1.0 {status} ".encode()) and end and not body
        assert f"Content-Length: {len(content)}".encode() in headers.split(b"\r\n")


def test_another_site_s_name_for_this_machine_is_refused(server):
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
        for method, path in (("GET", "/"), ("GET", "/health"), ("POST", "/translate")):
            assert ask(server, method, path, Host=host)[0] == 403, host
    for host in ("localhost", "LocalHost:1", "127.0.0.1:99", "[::1]", "[::1]:80"):
        assert ask(server, "GET", "/health", Host=host)[0] == 200, host


def test_a_request_without_a_name_is_answered_in_http_1_0_alone(server):
    for version, status in (("1.0", 200), ("1.1", 403)):
        with socket.create_connection(server.server_address[:2], timeout=60) as connection:
            connection.sendall(f"GET /health HTTP/{version}\r\n\r\n".encode())
            with connection.makefile("rb") as file:
                assert file.readline().split()[1] == str(status).encode(), version


def test_what_is_too_large_or_of_another_type_is_not_read(server):
    assert post(server, b"", Content_Length=str(MOST_BYTES + 1))[0] == 413
    assert post(server, b"", Content_Length="9" * 5_000)[0] == 413
    assert post(server, b"{}", Content_Type="text/plain")[0] == 415
    assert post(server, b"{}", Content_Length="many")[0] == 411
    for method, path, status in (("GET", "/x", 404), ("GET", "/translate", 405)):
        assert ask(server, method, path)[0] == status
    assert ask(server, "GET", "/health")[0] == 200


@pytest.mark.parametrize("size", [MOST_BYTES + 5, 24 * MOST_BYTES])
def test_a_client_that_sends_too_much_reads_why(server, size):
    for _ in range(3):
        assert post(server, b"x" * size)[0] == 413
        assert post(server, b"x" * size, Content_Type="text/plain")[0] == 415


@pytest.mark.parametrize("host", ["LOCALHOST", "127.0.0.2"])
def test_every_name_of_this_machine_alone_is_private(server, host):
    with serving(server.model, host) as other:
        assert ask(other, "GET", "/health", Host="evil.example")[0] == 403
        assert ask(other, "GET", "/health", Host=f"{host}:80")[0] == 200


def test_a_server_for_others_answers_to_every_name(server):
    with serving(server.model, "0.0.0.0") as other:
        assert ask(other, "GET", "/health", Host="any.example:80")[0] == 200


def test_no_answer_lets_a_browser_load_from_elsewhere_or_guess_its_kind(server):
    for path in ("/", "/health", "/none"):
        connection = http.client.HTTPConnection(*server.server_address[:2], timeout=60)
        connection.request("GET", path)
        headers = connection.getresponse().headers
        connection.close()
        assert headers["X-Content-Type-Options"] == "nosniff"
        parts = [part.strip() for part in headers["Content-Security-Policy"].split(";")]
        assert {"default-src 'none'", "connect-src 'self'"} <= set(parts)


def test_a_request_of_the_largest_size_is_read(server):
    assert post(server, b'{"text": "ba"}'.ljust(MOST_BYTES))[0] == 200


def test_as_many_candidates_are_answered_as_are_asked_for(server, monkeypatch):
    asked = []

    def record(lines, *arguments, best, **options):
        asked.append(best)
        return []

    monkeypatch.setattr(server.model, "details", record)
    for more in ({"nbest": 2}, {}):
        assert post(server, {"text": "ba", **more})[0] == 200
    assert asked == [2, MOST_CANDIDATES]


def test_a_host_that_is_no_name_is_refused_in_one_line(server):
    with (
        pytest.raises(InputError, match=r"^a\.\.b:0: cannot listen: "),
        serving(server.model, "a..b"),
    ):
        pass


def test_a_method_that_is_not_known_is_refused_in_json(server):
    for method in ("PUT", "DELETE", "OPTIONS"):
        status, kind, content = ask(server, method, "/translate")
        assert (status, kind) == (501, "application/json; charset=utf-8")
        assert method in json.loads(content)["error"]
    with socket.create_connection(server.server_address[:2]) as client:
        client.sendall(b"what is this\r\n\r\n")
        # No version was read, so this is an answer of HTTP 0.9: the body alone.
        assert "'this'" in json.loads(client.makefile("rb").read())["error"]


def test_a_file_of_the_server_is_no_decoder(server, tmp_path, monkeypatch):
    (tmp_path / "secret").write_text("not JSON")
    monkeypatch.chdir(tmp_path)
    status, answer = post(server, {"text": "ba", "decoder": "secret"})
    assert status == 400
    assert answer["error"].startswith("decoder 'secret', allowed are ")


def test_an_ipv6_address_is_served(server):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6: {error}")
    with serving(server.model, "::1") as other:
        assert other.url == f"http://[::1]:{other.server_address[1]}/"
        assert ask(other, "GET", "/health")[0] == 200


def test_a_lone_surrogate_is_refused_and_a_disconnected_client_prints_nothing(server, capfd):
    status, answer = post(server, b'{"lines": ["ba", "\\ud800 ko"]}')
    assert status == 400
    assert answer["error"] == "line 2: holds half a surrogate pair, which is no text"
    with socket.create_connection(server.server_address[:2]) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\n")
    assert ask(server, "GET", "/health")[0] == 200
    assert capfd.readouterr().err == ""


def test_a_model_without_a_tuned_decoder_is_refused(tmp_path):
    model = Model(tiny_model(tmp_path / "padir", "padir"))
    with pytest.raises(InputError, match="no length rule"):
        Server(model, "127.0.0.1", 0)


def test_a_port_in_use_is_told_with_what_to_do(server):
    host, port = server.server_address[:2]
    with pytest.raises(InputError, match=f"{host}:{port}: cannot listen: the port is in use; cho"):
        Server(server.model, host, port)
    with pytest.raises(InputError, match="choose another with --port N"):
        Server(server.model, host, 70_000)
