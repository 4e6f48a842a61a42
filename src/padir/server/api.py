"""The HTTP server of `padir serve`: `GET` or `HEAD` of `/`, `/health` and `/openapi.json`, `POST
/translate`.

One request is translated at a time. Every answer but the page is JSON; an error is
`{"error": TEXT}` with its status.
"""

import errno
import ipaddress
import json
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import jinja2

from padir.config.decoder import MOST_PASSES
from padir.config.rows import DEFAULT_PASSES
from padir.files import InputError
from padir.library import Model
from padir.server import openapi

MOST_BYTES = 1 << 20
MOST_LINES = 1_000
# A trace is a thousand times longer than its line.
MOST_TRACED = 20
MOST_CANDIDATES = 100
MOST_DISCARDED = 1 << 28
SECONDS = 30
ROUND_TRIP_MS = 250  # Within which a closed connection is expected to be reset.
LOOPBACK = ("127.0.0.1", "localhost", "::1")
KEYS = {"lines": list, "text": str, "steps": int, "decoder": str, "nbest": int, "trace": bool}
ALLOWED = {list: "a list of texts", str: "text", int: "1 and more", bool: "true or false"}


class RequestError(Exception):
    """A refused request, with its HTTP status."""

    def __init__(self, message: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST):
        super().__init__(message)
        self.status = status


def page(model: Model, decoders: list[str], **limits: Any) -> bytes:
    """The page: a form for text, and the refinement viewer for its translation, with styles and
    scripts inside.

    Args:
        model: that translates.
        decoders: to choose from, the default first.
        limits: that the page names, `most_lines` and `most_traced`.
    """
    templates = jinja2.Environment(
        # The viewer and its styles are the report's.
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("padir.server"), jinja2.PackageLoader("padir.report")]
        ),
        autoescape=True,
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    text = templates.get_template("translate.html").render(
        model=model.loaded.labels,
        parallel=model.parallel,
        decoders=decoders,
        passes=DEFAULT_PASSES,
        most_passes=MOST_PASSES,
        viewer="",
        **limits,
    )
    return text.encode()


class Server(ThreadingHTTPServer):
    """Serves one model.

    Args:
        model: to translate with.
        host, port: to listen on; port 0 takes a free one.

    Raises:
        InputError: the port is in use or not allowed.
    """

    daemon_threads = True

    def __init__(self, model: Model, host: str, port: int):
        self.model, self.busy = model, threading.Lock()
        self.decoders = model.decoders()
        if not self.decoders:
            # Says why the default does not fit.
            model.translator()
        limits = {"most_lines": MOST_LINES, "most_traced": MOST_TRACED}
        self.page = page(model, self.decoders, **limits)
        self.description = openapi.document(self.decoders, **limits)
        if ":" in host:
            self.address_family = socket.AF_INET6
        try:
            super().__init__((host, port), Handler)
        # A host such as "a..b" is no name that can be looked up.
        except (OSError, OverflowError, TypeError, UnicodeError) as error:
            in_use = getattr(error, "errno", None) == errno.EADDRINUSE
            reason = (
                "the port is in use" if in_use else getattr(error, "strerror", None) or str(error)
            )
            raise InputError(
                f"{host}:{port}: cannot listen: {reason.rstrip('.')}; choose another with"
                " --port N, or --port 0 for a free one"
            ) from error
        address = str(self.server_address[0]).partition("%")[0]
        # Names by which a server for this machine alone is called; None: served to others too.
        names = (*LOOPBACK, host.lower(), address)
        self.names = names if ipaddress.ip_address(address).is_loopback else None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """Address of the page."""
        host, port = self.server_address[:2]
        return f"http://[{host}]:{port}/" if ":" in str(host) else f"http://{host}:{port}/"

    def health(self) -> dict[str, Any]:
        """Answer to `GET /health`: the model that is served."""
        labels = self.model.loaded.labels
        named = {key: labels[key] for key in ("direction", "system", "training")}
        return {"status": "ok", **named, "decoders": self.decoders}

    def translate(self, request: dict[str, Any], gone: Callable[[], bool]) -> dict[str, Any]:
        """Answer a checked request.

        Args:
            request: parsed and checked.
            gone: whether its client has left, asked once when its turn has come.

        Raises:
            InputError: parts that do not fit each other, such as a decoder of another system.
            ConnectionAbortedError: the client has left.
        """
        warnings: list[str] = []
        lines = request["lines"] if "lines" in request else request["text"].split("\n")
        trace = request.get("trace", False)
        most = MOST_TRACED if trace else MOST_LINES
        if len(lines) > most:
            raise RequestError(
                f"{len(lines)} lines, allowed are {most}{' with trace' if trace else ''}",
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            )
        steps, decoder = request.get("steps"), request.get("decoder")
        if decoder is not None and decoder not in self.model.named_decoders():
            raise RequestError(f"decoder {decoder[:60]!r}, allowed are {', '.join(self.decoders)}")
        with self.busy:
            if gone():
                raise ConnectionAbortedError
            if trace:
                traces = self.model.traces(lines, steps, decoder, warn=warnings.append)
                return {"traces": traces, "warnings": warnings}
            translations = self.model.details(
                lines,
                steps,
                decoder,
                best=request.get("nbest", MOST_CANDIDATES),
                warn=warnings.append,
            )
        return {"translations": [each.record() for each in translations], "warnings": warnings}


class Handler(BaseHTTPRequestHandler):
    """Handler of one request."""

    server: Server  # type: ignore[assignment]
    server_version, sys_version = "padir", ""
    timeout = SECONDS
    # Bytes of the request's body that were announced and not read yet.
    unread = 0

    def do_GET(self) -> None:
        """Answer `/`, `/health` and `/openapi.json`."""
        path = self._path()
        if foreign := self._foreign():
            self._error(HTTPStatus.FORBIDDEN, foreign)
        elif path == "/":
            self._answer(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8")
        elif path == "/health":
            self._json(HTTPStatus.OK, self.server.health())
        elif path == "/openapi.json":
            self._json(HTTPStatus.OK, self.server.description)
        elif path == "/translate":
            self._error(HTTPStatus.METHOD_NOT_ALLOWED, "allowed is POST")
        else:
            self._error(
                HTTPStatus.NOT_FOUND, "allowed are /, /health, /openapi.json and POST /translate"
            )

    # As GET, but `_answer` leaves the body out.
    do_HEAD = do_GET

    def do_POST(self) -> None:
        """Answer `/translate`."""
        length = self.headers.get("Content-Length", "")
        # Python reads no number of thousands of digits.
        if length.isascii() and length.isdigit() and len(length) <= 20:
            self.unread = int(length)
        try:
            if foreign := self._foreign():
                raise RequestError(foreign, HTTPStatus.FORBIDDEN)
            if self._path() != "/translate":
                raise RequestError("allowed is POST /translate", HTTPStatus.NOT_FOUND)
            self._json(HTTPStatus.OK, self.server.translate(self._request(), self._gone))
        except RequestError as error:
            self._error(error.status, str(error))
        except InputError as error:
            self._error(HTTPStatus.BAD_REQUEST, str(error))

    def _path(self) -> str:
        """The path that is asked for, without the address before it and the query after it."""
        try:
            return urlsplit(self.path).path or "/"
        except ValueError:
            return self.path

    def _foreign(self) -> str | None:
        """What is wrong with the name that the request gives this server. A page of another site
        whose name leads to this machine could otherwise read answers that are for it alone.
        """
        host = self.headers.get("Host", "")
        # A page's requests have a name always. Old health checks have none.
        if "Host" not in self.headers and self.request_version == "HTTP/1.0":
            return None
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        names = self.server.names
        if names is not None and name.strip("[]").lower() not in names:
            return f"host {name[:60]!r}, allowed are {', '.join(dict.fromkeys(names))}"
        return None

    def _gone(self) -> bool:
        """Whether the client has closed the connection.

        The end of what it sends looks the same where it closed its sending side alone and waits for
        the answer. An interim answer tells them apart: a closed connection is reset by it. Clients
        of HTTP/1.0 take none, and are taken to wait.
        """
        watch = select.poll()
        watch.register(self.connection, select.POLLIN)
        if not watch.poll(0):
            return False
        try:
            if self.connection.recv(1, socket.MSG_PEEK) or self.request_version != "HTTP/1.1":
                return False
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        except ConnectionError:
            return True
        watch.modify(self.connection, 0)
        return any(event & select.POLLERR for _, event in watch.poll(ROUND_TRIP_MS))

    def _request(self) -> dict[str, Any]:
        """The request's body, parsed and checked.

        Raises:
            RequestError: with what is allowed.
        """
        # A form of another site cannot send this type.
        kind = self.headers.get_content_type()
        if kind != "application/json":
            raise RequestError(
                f"content type {kind}, allowed is application/json",
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            )
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            raise RequestError("Content-Length is missing", HTTPStatus.LENGTH_REQUIRED)
        if len(length) > 20 or int(length) > MOST_BYTES:
            raise RequestError(
                f"{length[:20]} bytes, allowed are {MOST_BYTES}",
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            )
        body = self.rfile.read(int(length))
        self.unread = 0
        try:
            request = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise RequestError(f"not JSON: {error}") from error
        return checked(request)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse in JSON what the base class refuses, such as a method that is not known."""
        status = HTTPStatus(code)
        self._error(status, message or status.phrase)

    def _error(self, status: HTTPStatus, message: str) -> None:
        # The body may not have been read, so the connection cannot go on.
        self.close_connection = True
        self._json(status, {"error": message})
        self._discard_body()

    def _discard_body(self) -> None:
        """Read what a refused client still sends, to a limit: many a client that cannot send all
        never reads the answer."""
        left, end = min(self.unread, MOST_DISCARDED), time.monotonic() + SECONDS
        try:
            while left > 0 and time.monotonic() < end:
                if not (chunk := self.rfile.read1(min(left, 1 << 16))):
                    return
                left -= len(chunk)
        except OSError:
            return

    def _json(self, status: HTTPStatus, value: Any) -> None:
        content = json.dumps(value, ensure_ascii=False).encode()
        self._answer(status, content, "application/json; charset=utf-8")

    def _answer(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header(
            "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline';"
            " script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'",
        )  # fmt: skip
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, as requests hold users' text."""


def checked(request: Any) -> dict[str, Any]:
    """A parsed request, refused if a key is unknown or has the wrong type.

    Raises:
        RequestError: with what is allowed.
    """
    if not isinstance(request, dict):
        raise RequestError(f"found {type(request).__name__}, allowed is an object")
    for key, value in request.items():
        if key not in KEYS:
            raise RequestError(f"unknown key {key!r}, allowed are {', '.join(KEYS)}")
        # Of JSON's kinds, true and false alone would pass for another: a number.
        if type(value) is not KEYS[key] or (KEYS[key] is int and value < 1):
            raise RequestError(f"{key}: allowed is {ALLOWED[KEYS[key]]}")
    if request.get("trace") and "nbest" in request:
        raise RequestError("nbest does not go with trace")
    if ("lines" in request) == ("text" in request):
        raise RequestError("one of lines and text is needed")
    if not all(isinstance(line, str) and "\n" not in line for line in request.get("lines", [])):
        raise RequestError("lines: allowed is a list of texts of one line each")
    return request
