"""Downloads, from file addresses and from a server on this machine."""

import email
import email.message
import errno
import gzip
import hashlib
import io
import threading
import urllib.request
import urllib.response
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import chain
from pathlib import Path

import pytest
from pydantic import ValidationError

from padir.config.data import RemoteFile
from padir.data import text
from padir.data.text import copy_text, download
from padir.files import InputError

CONTENT = b"some text\n" * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()

REDIRECTS = {"/moved": "/whole", "/ftp": "ftp://127.0.0.1/whole", "/file": "file:///etc/hostname"}


class Handler(BaseHTTPRequestHandler):
    cut_off = threading.Event()

    def do_GET(self):
        if self.path == "/missing":
            self.send_error(404)
            return
        if self.path in REDIRECTS:
            self.send_response(302)
            self.send_header("Location", REDIRECTS[self.path])
            self.end_headers()
            return
        self.send_response(200)
        if self.path == "/endless":
            self.end_headers()
            try:
                while True:
                    self.wfile.write(CONTENT)
            except OSError:
                Handler.cut_off.set()
            return
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT if self.path == "/whole" else CONTENT[:100])

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address():
    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", ["/whole", "/moved"])
def test_a_download_with_the_right_digest_is_kept(address, tmp_path, path):
    download(RemoteFile(url=address + path, sha256=DIGEST), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/missing", "/missing: cannot download: Not Found"),
        ("/ftp", "/ftp: cannot download: it redirects from http to ftp"),
        # The library itself refuses this one.
        ("/file", "/file: cannot download: "),
        ("/short", f"/short: SHA-256 is {hashlib.sha256(CONTENT[:100]).hexdigest()}, expected"),
    ],
)
def test_failures_leave_nothing(address, tmp_path, path, message):
    with pytest.raises(InputError, match=message):
        download(RemoteFile(url=address + path, sha256=DIGEST), tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_an_address_that_does_not_answer_is_one_line(tmp_path):
    # Port 9 (discard) is not served on a machine that runs tests.
    with pytest.raises(InputError, match=r"^http://127\.0\.0\.1:9/x: cannot download: "):
        download(RemoteFile(url="http://127.0.0.1:9/x", sha256=DIGEST), tmp_path / "file")
    url = (tmp_path / "nowhere").as_uri()
    with pytest.raises(InputError, match="nowhere: cannot download: "):
        download(RemoteFile(url=url, sha256=DIGEST), tmp_path / "file")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://x/y", "must start with http:, https: or file:"),
        ("data.txt", "must start with http:, https: or file:"),
        ("https://me:secret@x/y", "must not hold a user name or password"),
    ],
)
def test_other_schemes_and_passwords_in_addresses_are_refused(url, message):
    with pytest.raises(ValidationError, match=message):
        RemoteFile(url=url, sha256=DIGEST)


def redirecting(monkeypatch, scheme: str, locations: dict[str, str]) -> list[str]:
    """Answer all addresses of a scheme without a network: redirect, or else give CONTENT.

    Returns the list of addresses that are asked for.
    """
    asked = []

    def answer(self, request):
        asked.append(request.full_url)
        location = locations.get(request.full_url)
        head = email.message_from_string(f"Location: {location}\n" if location else "")
        code, body = (302, b"") if location else (200, CONTENT)
        response = urllib.response.addinfourl(io.BytesIO(body), head, request.full_url, code)
        response.msg = "Found"
        return response

    handler = {"https": urllib.request.HTTPSHandler, "http": urllib.request.HTTPHandler}[scheme]
    monkeypatch.setattr(handler, f"{scheme}_open", answer)
    return asked


@pytest.mark.parametrize(
    ("start", "location", "reason"),
    [
        ("https", "http://example.test/x", "it redirects from https to http"),
        ("https", "ftp://example.test/x", "it redirects from https to ftp"),
        ("https", "file:///etc/hostname", "not allowed"),
        ("https", "data:text/plain,x", "not allowed"),
        ("http", "ftp://example.test/x", "it redirects from http to ftp"),
        ("http", "file:///etc/hostname", "not allowed"),
    ],
)
def test_a_redirect_to_another_scheme_is_refused(monkeypatch, tmp_path, start, location, reason):
    url = f"{start}://example.test/start"
    asked = {
        scheme: redirecting(monkeypatch, scheme, {url: location}) for scheme in ("http", "https")
    }
    with pytest.raises(InputError) as caught:
        download(RemoteFile(url=url, sha256=DIGEST), tmp_path / "file")
    message = str(caught.value)
    assert message.startswith(f"{url}: cannot download: ") and reason in message
    assert "\n" not in message and not list(tmp_path.iterdir())
    assert asked == {start: [url], {"http": "https", "https": "http"}[start]: []}


@pytest.mark.parametrize(("start", "end"), [("http", "https"), ("https", "https")])
def test_a_redirect_to_https_is_followed(monkeypatch, tmp_path, start, end):
    url, location = f"{start}://example.test/start", f"{end}://example.test/end"
    asked = {scheme: redirecting(monkeypatch, scheme, {url: location}) for scheme in {start, end}}
    download(RemoteFile(url=url, sha256=DIGEST), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert sorted(chain(*asked.values())) == sorted([url, location])


def test_a_redirect_by_way_of_https_does_not_come_down_to_http(monkeypatch, tmp_path):
    url = "http://example.test/start"
    up = {url: "https://example.test/x"}
    redirecting(monkeypatch, "http", up)
    redirecting(monkeypatch, "https", {"https://example.test/x": "http://example.test/end"})
    with pytest.raises(InputError, match="it redirects from https to http"):
        download(RemoteFile(url=url, sha256=DIGEST), tmp_path / "file")


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_network_that_fails_is_not_taken_for_a_disk_that_does(monkeypatch, tmp_path, when):
    class Broken(io.BytesIO):
        def read(self, size=-1):
            raise OSError(errno.EHOSTUNREACH, "No route to host")

    def answer(self, request):
        if when == "before":
            raise OSError(errno.EHOSTUNREACH, "No route to host")
        response = urllib.response.addinfourl(Broken(), email.message.Message(), request.full_url)
        response.code, response.msg = 200, "OK"
        return response

    monkeypatch.setattr(urllib.request.HTTPSHandler, "https_open", answer)
    url = "https://example.test/x"
    with pytest.raises(InputError) as caught:
        download(RemoteFile(url=url, sha256=DIGEST), tmp_path / "file")
    assert str(caught.value) == f"{url}: cannot download: No route to host"
    assert not list(tmp_path.iterdir())


def test_an_endless_answer_is_cut_off_at_its_limit(address, tmp_path):
    url = f"{address}/endless"
    remote = RemoteFile(url=url, sha256=DIGEST, max_bytes=5_000_000)
    with pytest.raises(InputError) as caught:
        download(remote, tmp_path / "file")
    assert str(caught.value) == (
        f"{url}: longer than 5,000,000 bytes; raise max_bytes if that is right"
    )
    assert Handler.cut_off.wait(timeout=60)
    assert not list(tmp_path.iterdir())


def test_a_file_of_the_largest_length_is_downloaded(address, tmp_path):
    for most in (len(CONTENT), len(CONTENT) - 1):
        remote = RemoteFile(url=f"{address}/whole", sha256=DIGEST, max_bytes=most)
        if most == len(CONTENT):
            download(remote, tmp_path / "file")
            continue
        with pytest.raises(InputError, match=f"whole: longer than {most:,} bytes"):
            download(remote, tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def packed(folder: Path, content: bytes) -> RemoteFile:
    """A packed file and its address."""
    path = folder / "given.gz"
    path.write_bytes(gzip.compress(content))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return RemoteFile(url=path.as_uri(), sha256=digest)


def test_a_file_that_unpacks_to_its_limit_is_copied_and_one_byte_more_is_refused(tmp_path):
    remote, out = packed(tmp_path, CONTENT), tmp_path / "out"
    out.mkdir()
    exact = remote.model_copy(update={"max_unpacked_bytes": len(CONTENT)})
    assert copy_text(exact, tmp_path, out / "text") == (remote.url, 1000)
    assert (out / "text").read_bytes() == CONTENT
    less = remote.model_copy(update={"max_unpacked_bytes": len(CONTENT) - 1})
    with pytest.raises(InputError) as caught:
        copy_text(less, tmp_path, out / "other")
    assert str(caught.value) == (
        f"{remote.url}: unpacks to more than 9,999 bytes; raise max_unpacked_bytes if that is right"
    )
    assert [path.name for path in out.iterdir()] == ["text"]


@pytest.mark.parametrize("line", [b"\0", b"a", b"a\n"])
def test_a_bomb_is_read_no_further_than_its_limit(tmp_path, monkeypatch, line):
    """50 MB in 50 kB: of one line, and of many."""
    remote = packed(tmp_path, line * (50_000_000 // len(line)))
    unpacked = 0
    real = gzip.GzipFile.read

    def counted(self, size=-1):
        nonlocal unpacked
        block = real(self, size)
        unpacked += len(block)
        return block

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    limited = remote.model_copy(update={"max_unpacked_bytes": 3_000_000})
    with pytest.raises(InputError, match="unpacks to more than 3,000,000 bytes"):
        copy_text(limited, tmp_path, tmp_path / "text")
    assert unpacked < 6_000_000
    assert [path.name for path in tmp_path.iterdir()] == ["given.gz"]


def test_packed_files_of_ones_own_have_limits_too(tmp_path, monkeypatch):
    (tmp_path / "own.gz").write_bytes(gzip.compress(CONTENT))
    monkeypatch.setattr(text, "MOST_UNPACKED", 5_000)
    with pytest.raises(InputError, match=r"own\.gz: unpacks to more than 5,000 bytes; unpack it"):
        copy_text("own.gz", tmp_path, tmp_path / "text")
    monkeypatch.undo()
    monkeypatch.setattr(text, "MOST_LINE_BYTES", 9)
    with pytest.raises(InputError, match=r"own\.gz: a line unpacks to more than 9 bytes"):
        copy_text("own.gz", tmp_path, tmp_path / "text")
    monkeypatch.setattr(text, "MOST_LINE_BYTES", 10)
    assert copy_text("own.gz", tmp_path, tmp_path / "text")[1] == 1000
