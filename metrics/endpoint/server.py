"""The HTTP server of the endpoint: the page of each request, and responses to wrong requests.

Each connection has its own thread, so that a slow client delays no other. The number of connections
is limited. The server writes nothing to the console.

Pages are not compressed: over loopback that takes as long as rendering them, or longer.
"""

from __future__ import annotations

import socket
import sys
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, cast
from urllib.parse import urlsplit

from tidegauge.metrics.endpoint.discovery import discovered_targets, is_address
from tidegauge.metrics.endpoint.formats import wanted_format
from tidegauge.metrics.endpoint.front_page import front_page
from tidegauge.metrics.endpoint.pages import NoPageError, Pages
from tidegauge.metrics.samples.targets import metrics_path, targets_of

#: Idle timeout of a connection. Prometheus keeps its own open between two scrapes.
_SILENCE_SECONDS = 70.0
#: Time for responses in progress when the server ends.
_LAST_ANSWERS_SECONDS = 0.5
#: Most connections at a time, in addition to one for each target.
_MORE_CONNECTIONS = 64

_PLAIN = "text/plain; charset=utf-8"
_METRICS_PATH = "/metrics"
_BAD_REQUEST = HTTPStatus.BAD_REQUEST


def joined_address(host: str, port: int) -> str:
    """Host and port, as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Server(ThreadingHTTPServer):
    """Listens, and keeps its connections in order to close them."""

    daemon_threads = True
    block_on_close = False
    #: Most connections that may wait to be accepted: Prometheus may request all targets at once.
    request_queue_size = 128

    def __init__(self, pages: Pages, family: socket.AddressFamily, address: Any) -> None:
        self.address_family = family
        self.pages = pages
        #: The target of each path; None: all targets.
        self.targets: dict[str, int | None] = {_METRICS_PATH: None}
        for target in targets_of(pages.plan):
            self.targets[metrics_path(pages.plan, target)] = target
        self._connections: set[socket.socket] = set()
        self._most_connections = _MORE_CONNECTIONS + len(self.targets)
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind, without the look-up of this machine's name that the base class makes."""
        TCPServer.server_bind(self)
        host, port = self.server_address[:2]
        self.server_name, self.server_port = str(host), int(port)

    @property
    def address(self) -> str:
        """Host and port, as in a URL."""
        return joined_address(self.server_name, self.server_port)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is room for one more connection."""
        del client_address
        if len(self._connections) < self._most_connections:
            self._connections.add(request)
            return True
        return False

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        """End all connections: idle ones at once, the others after a short time."""
        self._shut(socket.SHUT_RD)
        give_up_seconds = time.monotonic() + _LAST_ANSWERS_SECONDS
        while self._connections and time.monotonic() < give_up_seconds:
            time.sleep(0.005)
        self._shut(socket.SHUT_RDWR)

    def _shut(self, how: int) -> None:
        for connection in tuple(self._connections):
            try:
                connection.shutdown(how)
            except OSError:  # its thread has just ended it
                self._connections.discard(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect; any other error is a defect of the server."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Handles the requests of one connection."""

    protocol_version = "HTTP/1.1"
    timeout = _SILENCE_SECONDS

    @property
    def _server(self) -> Server:
        return cast(Server, self.server)

    def do_GET(self) -> None:
        """Respond with a page."""
        try:
            path = urlsplit(self.path).path
        except ValueError:
            self._answer_plainly(_BAD_REQUEST, "no such path")
            return
        pages = self._server.pages
        if path in self._server.targets:
            self._answer_with_metrics(self._server.targets[path])
        elif path == "/sd":
            targets = discovered_targets(pages.plan, self._address(), pages.spelling)
            self._answer(HTTPStatus.OK, "application/json", targets)
        elif path == "/-/healthy":
            self._answer_plainly(HTTPStatus.OK, "Tidegauge is healthy")
        elif path == "/":
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", front_page(pages))
        else:
            self._answer_plainly(HTTPStatus.NOT_FOUND, "not found; / lists the pages")

    do_HEAD = do_GET  # noqa: N815 - as do_GET; its body is left out below

    def __getattr__(self, name: str) -> Any:
        # The base class looks up a handler by the request's method.
        if name.startswith("do_"):
            return self._refuse_method
        raise AttributeError(name)

    def _refuse_method(self) -> None:
        self._answer_plainly(
            HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are allowed", {"Allow": "GET, HEAD"}
        )

    def _answer_with_metrics(self, target: int | None) -> None:
        page_format = wanted_format(self.headers.get("Accept", ""))
        try:
            page = self._server.pages.page(target, page_format)
        except NoPageError as reason:
            self._answer_plainly(HTTPStatus.SERVICE_UNAVAILABLE, str(reason))
        else:
            self._answer(HTTPStatus.OK, page_format.value, page, {"Vary": "Accept"})

    def _address(self) -> str:
        """The address by which the client reached the server; it also reaches the targets."""
        host = self.headers.get("Host", "")
        return host if is_address(host) else self._server.address

    def _answer_plainly(
        self, status: HTTPStatus, text: str, headers: dict[str, str] | None = None
    ) -> None:
        self._answer(status, _PLAIN, f"{text}\n".encode(), headers)

    def _answer(
        self,
        status: HTTPStatus,
        content_type: str,
        body: bytes,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            # A body is not read, so the bytes that follow are not a request.
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def parse_request(self) -> bool:
        """Read the request's head; any protocol other than HTTP/1 is refused."""
        if not super().parse_request():
            return False
        has_host = len(self.headers.get_all("Host", [])) == 1
        if self.request_version == "HTTP/0.9" or (
            self.request_version == "HTTP/1.1" and not has_host
        ):
            self.send_error(_BAD_REQUEST)
            return False
        return True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a malformed request, in plain text; it is always the client's fault."""
        del message, explain
        status = HTTPStatus(code) if code < HTTPStatus.INTERNAL_SERVER_ERROR else _BAD_REQUEST
        body = f"{status.phrase}\n".encode()
        self.close_connection = True
        self.request_version = "HTTP/1.1"  # to any other version the response would have no head
        self.send_response(status)
        self.send_header("Connection", "close")
        self.send_header("Content-Type", _PLAIN)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """The server's name and version."""
        return "Tidegauge"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Write nothing: the console belongs to the run."""
