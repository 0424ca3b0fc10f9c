"""A real Prometheus, for as long as a test needs one, and what it answers.

It listens on a loopback port that was free, keeps its data in the test's folder, and is gone with
the test: the kernel kills it should the process that started it die.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import pytest

_INSTALL = "is not installed: `apt install prometheus`, or `.ci/prometheus` as root"

needs_prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("setpriv")),
    reason=f"prometheus, or setpriv of util-linux, {_INSTALL}",
)
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason=f"promtool {_INSTALL}")

Found = TypeVar("Found")

_READY_S = 30.0
_ENDED_S = 10.0


class QueryError(Exception):
    """Prometheus refused a query; the message is its own."""


class Prometheus:
    """A Prometheus that runs, by its HTTP API."""

    def __init__(self, url: str) -> None:
        self.url = url

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression has now, each with its labels (``metric``) and value."""
        result: list[dict[str, Any]] = self._data("query", query=expression)["result"]
        return result

    def label_values(self, label: str, selector: str | None = None) -> list[str]:
        """The values of a label, of all series or of those that are selected."""
        matching = {"match[]": selector} if selector else {}
        values: list[str] = self._data(f"label/{label}/values", **matching)
        return values

    def wait_for(self, expression: str, seconds: float = 30.0) -> list[dict[str, Any]]:
        """What an expression comes to, as soon as it has series.

        Raises:
            TimeoutError: it had none for so long.
        """
        return until(lambda: self.query(expression), seconds, expression)

    def _data(self, path: str, **parameters: str) -> Any:
        address = f"{self.url}/api/v1/{path}?{urlencode(parameters)}"
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 # our own
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refusal:
            with refusal:
                raise QueryError(json.load(refusal)["error"]) from refusal


@contextmanager
def prometheus(config: Path, folder: Path) -> Iterator[Prometheus]:
    """A Prometheus with this configuration while inside; its data and log are in the folder."""
    address = f"127.0.0.1:{free_port()}"
    # Without a parent it would go on for ever, and scrape whoever has the port next.
    command = ["setpriv", "--pdeathsig", "KILL", "prometheus", f"--config.file={config}"]
    command += [f"--web.listen-address={address}", f"--storage.tsdb.path={folder / 'data'}"]
    log = folder / "prometheus.log"
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as run:
        try:
            until(lambda: _is_ready(address, run, log), _READY_S, "Prometheus")
            yield Prometheus(f"http://{address}")
        finally:
            run.terminate()
            try:
                run.wait(_ENDED_S)
            except subprocess.TimeoutExpired:
                run.kill()


def until(ask: Callable[[], Found], seconds: float, what: str) -> Found:
    """What is asked for, asked again and again until it is something.

    Raises:
        TimeoutError: it never was.
    """
    end = time.monotonic() + seconds
    while not (found := ask()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: nothing in {seconds:g} s")
        time.sleep(0.1)
    return found


def free_port() -> int:
    """A port of the loopback address at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _is_ready(address: str, run: subprocess.Popen[bytes], log: Path) -> bool:
    assert run.poll() is None, log.read_text()[-2000:]
    try:
        with urllib.request.urlopen(f"http://{address}/-/ready", timeout=5):
            return True
    except OSError:
        return False
