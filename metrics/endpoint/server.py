"""The endpoint: pages of metrics over HTTP during a run.

It listens as soon as it is created, so that a port in use is an error before a run begins. It
responds while it is entered as a context. The page at ``/`` is for browsers and has the targets
with their paths; another is the service discovery for Prometheus's ``http_sd_configs``.

Each connection has its own thread, so that a slow client delays no other. The number of connections
is limited. The server writes nothing to the console. Pages are not compressed: over loopback that
takes as long as rendering them, or longer.
"""

import errno
import json
import os
import re
import socket
import sys
import threading
import time
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import urlsplit

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.metrics.endpoint.openmetrics_file import wanted_format
from tidegauge.metrics.endpoint.pages import NoPageError, Pages
from tidegauge.metrics.samples.exposition import AS_STRIMZI, Presentation
from tidegauge.metrics.samples.successive_snapshots import Health
from tidegauge.metrics.samples.targets import metrics_path, target_labels, target_name, targets_of
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.metrics.spellings.all_spellings import STRIMZI
from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.scenario.cluster_plan import ClusterPlan

_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{name} - Tidegauge</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto }}
td {{ padding-right: 2rem; vertical-align: top }}
</style>
<h1>{name}</h1>
<p>A cluster that <b>Tidegauge</b> simulates: {time}. Single partitions are shown at level
<b>{level}</b>, names are those of {exporter}.</p>
<p><a href="/sd">/sd</a> lists the targets below for Prometheus (<code>http_sd_configs</code>);
<a href="/metrics">/metrics</a> has the samples of all targets on one page, each with the labels
of its target.</p>
<table>
{targets}
</table>
</html>
"""


def front_page(pages: Pages) -> bytes:
    """The current page."""
    rows = []
    for target in targets_of(pages.plan):
        path = metrics_path(pages.plan, target)
        rows.append(
            f'<tr><td>{target_name(pages.plan, target)}<td><a href="{path}">{path}</a>'
            f"<td>{pages.why_not(target) or 'up'}"
        )
    time_us = pages.time_us
    time = "the run has not begun" if time_us is None else f"{time_us / 1e6:,.1f} s of virtual time"
    return _PAGE.format(
        name=escape(pages.plan.scenario.name),
        time=time,
        level=pages.level,
        exporter=escape(pages.spelling.exporter),
        targets="\n".join(rows),
    ).encode()


#: A name, an IPv4 or a bracketed IPv6 address, with a port or without.
_ADDRESS = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")


def is_address(text: str) -> bool:
    """Whether the text can be the address of a target."""
    return _ADDRESS.fullmatch(text) is not None


def discovered_targets(plan: ClusterPlan, address: str, spelling: Spelling = STRIMZI) -> bytes:
    """All targets at an address, each with its path and labels, as JSON."""
    groups = [
        {
            "targets": [address],
            "labels": {
                "__metrics_path__": metrics_path(plan, target),
                **target_labels(plan, target, spelling),
            },
        }
        for target in targets_of(plan)
    ]
    return json.dumps(groups, indent=1).encode() + b"\n"


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


#: Default address of an endpoint: loopback, which other machines cannot reach.
LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 9404
LAST_PORT = 65_535


class EndpointError(TidegaugeError):
    """The endpoint cannot listen at its address; the message is the reason, in one line."""


class Endpoint:
    """Serves the metrics of one cluster; port 0 takes a free one."""

    def __init__(
        self,
        plan: ClusterPlan,
        host: str = LOOPBACK,
        port: int = DEFAULT_PORT,
        presentation: Presentation = AS_STRIMZI,
    ) -> None:
        self._pages = Pages(plan, presentation)
        self._server = _listening_server(self._pages, host, port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="metrics", daemon=True
        )

    @property
    def address(self) -> str:
        """Host and port of the endpoint, as in a URL."""
        return self._server.address

    def publish(self, snapshot: Snapshot, health: Health | None = None) -> None:
        """Serve this snapshot from now on. It is later than those before, and is not changed."""
        self._pages.publish(snapshot, health)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self.close()

    def close(self) -> None:
        """Stop listening; scrapes in progress may finish within a short time."""
        self._server.server_close()
        self._server.end_connections()


def _listening_server(pages: Pages, host: str, port: int) -> Server:
    """A server that is bound to an address; or ``EndpointError``."""
    if not 0 <= port <= LAST_PORT:
        raise EndpointError(f"metrics: port {port} is not from 0 to {LAST_PORT}")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return Server(pages, found[0][0], found[0][4])
    except (socket.gaierror, UnicodeError):
        reason = f"there is no host {host!r}"
    except OSError as error:
        reason = {
            errno.EADDRINUSE: "the port is in use",
            errno.EACCES: "this user has no permission to listen on that port",
            errno.EADDRNOTAVAIL: "this machine does not have that address",
        }.get(error.errno or 0, os.strerror(error.errno or 0))
    raise EndpointError(f"metrics cannot be served on {joined_address(host, port)}: {reason}")
