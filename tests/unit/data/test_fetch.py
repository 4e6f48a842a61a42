"""Downloads, from file addresses and from a server on this machine."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from pydantic import ValidationError

from padir.config.data import RemoteFile
from padir.data.text import download
from padir.files import InputError

CONTENT = b"some text\n" * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()

REDIRECTS = {"/moved": "/whole", "/ftp": "ftp://127.0.0.1/whole", "/file": "file:///etc/hostname"}


class Handler(BaseHTTPRequestHandler):
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
def test_right_digest(address, tmp_path, path):
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


def test_nobody_there(tmp_path):
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
def test_addresses_that_are_refused(url, message):
    with pytest.raises(ValidationError, match=message):
        RemoteFile(url=url, sha256=DIGEST)
