"""A Prometheus, or another server with its HTTP API: its series and responses.

Read: ``/api/v1/label/__name__/values``, ``/api/v1/query`` and ``/api/v1/query_range``, by GET.
"""

import base64
import http.client
import json
import re
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Collection, Sequence
from http import HTTPStatus
from math import isfinite
from typing import Any
from urllib.parse import SplitResult, unquote, urlencode, urlsplit, urlunsplit

from tidegauge.real_cluster.describe.input_file import InputError, Notices
from tidegauge.real_cluster.rates import rate_source
from tidegauge.scenario.text.errors import one_line

_TIMEOUT_S = 60.0
_MOST_BYTES = 512 * 2**20
#: Steps of the search for the beginning of series.
_STEPS = 30
_FUNCTIONS = {
    rate_source.Over.RATE: "rate({})",
    rate_source.Over.GROWTH: "clamp_min(delta({}), 0)",
    rate_source.Over.MEAN: "avg_over_time({})",
    rate_source.Over.LAST: "last_over_time({})",
    rate_source.Over.COUNT: "count_over_time({})",
}
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class PrometheusSource:
    """A source (``rate_source.py``) that queries a Prometheus."""

    def __init__(
        self, url: str, window: rate_source.Window, matchers: Sequence[rate_source.Matcher]
    ) -> None:
        """Ask the Prometheus at a URL, which may have a user, a password and a path.

        Raises:
            InputError: the URL has another form.
        """
        parts = _parts_of(url)
        host = parts.netloc.rpartition("@")[2]
        self.place = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
        self.window = window
        self.notices = Notices()
        self._matchers = list(matchers)
        self._authorization = _authorization(parts)

    def names(self, also: Collection[str] = ()) -> Collection[str]:
        """The names of all series that begin with ``kafka_``, and of these if they are there."""
        pattern = "|".join(["(?i)kafka_.*", *map(re.escape, also)])
        selector = self._selector("", [rate_source.Matcher("__name__", "=~", pattern)])
        parameters = {
            "match[]": selector,
            "start": f"{self.window.begin_s:.3f}",
            "end": f"{self.window.end_s:.3f}",
        }
        names = self._data("label/__name__/values", parameters)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._not_prometheus("label/__name__/values")
        return names

    def settle(self, selected: rate_source.Selected) -> None:
        """Shorten the window to the part in which these series have samples."""
        begin, end = self.window
        step = max((end - begin) / _STEPS, 1.0)
        selector = self._selector(selected.name, _conditions(selected))
        times = self._times(f"count({selector})", begin, end, step)
        if not times:
            raise InputError(f"{self.place}: has no sample of {selected.name} in {self.window}")
        # The newest may be older: a query looks five minutes back.
        newest = self._values(f"max(timestamp({selector}))", (), times[-1])
        end = min([end, *newest.values()])
        begin = max(times[0] - step, begin)
        self.window = rate_source.Window(min(begin, end), end)

    def read(
        self,
        selected: rate_source.Selected,
        over: rate_source.Over,
        by: Sequence[str],
        together: rate_source.Together,
    ) -> rate_source.Values:
        """An aggregation that Prometheus evaluates."""
        seconds = max(self.window.seconds, 1e-3)
        selector = self._selector(selected.name, _conditions(selected))
        inner = _FUNCTIONS[over].format(f"{selector}[{round(seconds * 1000)}ms]")
        query = f"{together.value} by ({', '.join(by)}) ({inner})"
        values = self._values(query, by, self.window.end_s)
        if over is not rate_source.Over.GROWTH:
            return values
        return {labels: value / seconds for labels, value in values.items()}

    def _selector(self, name: str, conditions: Sequence[rate_source.Matcher]) -> str:
        return f"{name}{{{','.join(map(str, [*conditions, *self._matchers]))}}}"

    def _values(self, query: str, by: Sequence[str], at_s: float) -> rate_source.Values:
        data = self._data("query", {"query": query, "time": f"{at_s:.3f}"})
        try:
            found = {
                tuple(each["metric"].get(label, "") for label in by): float(each["value"][1])
                for each in data["result"]
            }
        except (TypeError, KeyError, ValueError, AttributeError, IndexError) as error:
            raise self._not_prometheus("query") from error
        return {labels: value for labels, value in found.items() if isfinite(value)}

    def _times(self, query: str, begin_s: float, end_s: float, step_s: float) -> list[float]:
        """The times, in steps, at which a query has a result."""
        parameters = {
            "query": query,
            "start": f"{begin_s:.3f}",
            "end": f"{end_s:.3f}",
            "step": f"{step_s:.3f}",
        }
        data = self._data("query_range", parameters)
        try:
            return sorted(float(time) for each in data["result"] for time, _ in each["values"])
        except (TypeError, KeyError, ValueError) as error:
            raise self._not_prometheus("query_range") from error

    def _data(self, path: str, parameters: dict[str, str]) -> Any:
        """The data of a response; its warnings become notices."""
        content = self._content(path, parameters)
        try:
            response = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._not_prometheus(path) from error
        if not isinstance(response, dict) or response.get("status") != "success":
            raise self._not_prometheus(path)
        warnings = response.get("warnings")
        for warning in warnings if isinstance(warnings, list) else ():
            self.notices.add("input", f"{self.place} warns: {warning}")
        return response.get("data")

    def _content(self, path: str, parameters: dict[str, str]) -> bytes:
        address = f"{self.place}/api/v1/{path}?{urlencode(parameters)}"
        request = urllib.request.Request(address, headers={"Accept": "application/json"})  # noqa: S310 - the scheme was checked
        if self._authorization:
            # A redirection to another host does not get it.
            request.add_unredirected_header("Authorization", self._authorization)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:  # noqa: S310 - as above
                content: bytes = response.read(_MOST_BYTES + 1)
        except urllib.error.HTTPError as refusal:
            with refusal:
                raise self._refusal(path, refusal) from refusal
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._error(f"cannot be reached: {_reason(error)}") from error
        if len(content) > _MOST_BYTES:
            raise self._error(f"sends more than {_MOST_BYTES >> 20} MiB for one query")
        return content

    def _refusal(self, path: str, refusal: urllib.error.HTTPError) -> InputError:
        code = f"{refusal.code} {refusal.reason}".strip()
        if refusal.code in _REFUSED:
            return self._error(
                f"refuses access ({code}); a user and a password can stand in the URL: "
                "https://USER:PASSWORD@HOST"
            )
        try:
            text = json.loads(refusal.read(_MOST_BYTES))["error"]
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            return self._error(
                f"answers {code} at /api/v1/{path}: is this the address of a Prometheus?"
            )
        return self._error(f"Prometheus refuses a query: {text}")

    def _not_prometheus(self, path: str) -> InputError:
        return self._error(
            f"does not answer as a Prometheus does at /api/v1/{path}: is this its address?"
        )

    def _error(self, message: str) -> InputError:
        return InputError(one_line(f"{self.place}: {message}"))


def _parts_of(url: str) -> SplitResult:
    form = "must be a URL of a Prometheus, such as http://prometheus:9090"
    try:
        parts = urlsplit(url.strip())
        is_url = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError as error:
        raise InputError(f"--prometheus: {form}") from error
    if not is_url or parts.query or parts.fragment or re.search(r"[\s\x00-\x1f]", url.strip()):
        # Without a URL in it: it may have a password.
        raise InputError(f"--prometheus: {form}")
    return parts


def _authorization(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _conditions(selected: rate_source.Selected) -> list[rate_source.Matcher]:
    return [
        *(rate_source.Matcher(label, "=", value) for label, value in selected.labels.items()),
        *(rate_source.Matcher(label, "!=", "") for label in selected.required),
    ]


def _reason(error: Exception) -> str:
    cause: object = error
    if isinstance(error, urllib.error.URLError):
        cause = error.reason
    if isinstance(cause, TimeoutError | socket.timeout):
        return f"no response in {_TIMEOUT_S:g} s"
    if isinstance(cause, ssl.SSLError):
        return f"TLS: {cause.reason or cause}"
    if isinstance(cause, OSError):
        return cause.strerror or str(cause)
    return str(cause) or type(cause).__name__
