"""The endpoint: pages of metrics over HTTP during a run.

It listens as soon as it is created, so that a port in use is an error before a run begins. It
responds while it is entered as a context.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
from types import TracebackType
from typing import Self

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.metrics.endpoint.pages import Pages
from tidegauge.metrics.endpoint.server import Server, joined_address
from tidegauge.metrics.samples.health import Health
from tidegauge.metrics.samples.presentation import AS_STRIMZI, Presentation
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan

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
