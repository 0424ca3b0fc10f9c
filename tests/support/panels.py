"""What Grafana would show: the panels of a dashboard, asked of a Prometheus without a Grafana.

The variables of the dashboard are resolved as Grafana resolves them, then every query of every
panel is asked. A panel is full if each of its queries has data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from prometheus_server import Prometheus, QueryError

#: What Grafana puts in of its own accord, for a scrape every 5 s.
_BUILT_IN = {"__rate_interval": "20s", "__interval": "5s", "__range": "1m"}

_VARIABLE = re.compile(r"\$\{(\w+)(?::\w+)?\}|\$(\w+)")

_STRING = r'"(?:[^"\\]|\\.)*"'


class Fullness(Enum):
    """What of a panel would be seen."""

    FULL = "full"
    PARTIAL = "partial"
    EMPTY = "empty"
    ERROR = "error"


class Panel(NamedTuple):
    """A panel with queries; ``row`` is the title of the row that it stands in."""

    row: str
    title: str
    queries: tuple[str, ...]


def panels_of(dashboard: Mapping[str, Any]) -> list[Panel]:
    """All panels of a dashboard that ask for something, from the top to the bottom."""
    return [
        Panel(row, panel.get("title", ""), queries)
        for row, panel in _in_rows(dashboard.get("panels") or [], "")
        if (queries := tuple(t["expr"] for t in panel.get("targets") or [] if t.get("expr")))
    ]


def _in_rows(panels: list[dict[str, Any]], row: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for panel in panels:
        if panel.get("type") == "row":
            row = panel.get("title", "")
        else:
            yield row, panel
        # Those of a row that is folded are inside of it.
        yield from _in_rows(panel.get("panels") or [], row)


def fullness_of(dashboard: Mapping[str, Any], prometheus: Prometheus) -> dict[Panel, Fullness]:
    """How full each panel is, now."""
    values = variables_of(dashboard, prometheus)
    return {panel: _fullness(panel, values, prometheus) for panel in panels_of(dashboard)}


def _fullness(panel: Panel, values: Mapping[str, str], prometheus: Prometheus) -> Fullness:
    try:
        full = [bool(prometheus.query(filled_in(query, values))) for query in panel.queries]
    except QueryError:
        return Fullness.ERROR
    if all(full):
        return Fullness.FULL
    return Fullness.PARTIAL if any(full) else Fullness.EMPTY


def variables_of(dashboard: Mapping[str, Any], prometheus: Prometheus) -> dict[str, str]:
    """The value of each variable when the dashboard is opened: all of them, or else the first."""
    values: dict[str, str] = {}
    for variable in (dashboard.get("templating") or {}).get("list", []):
        if variable["type"] == "query":
            options = _options(variable, values, prometheus)
            values[variable["name"]] = _chosen(variable, options)
        elif variable["type"] != "datasource":
            current = (variable.get("current") or {}).get("value")
            values[variable["name"]] = current or str(variable.get("query", "")).split(",")[0]
    return values


def _options(
    variable: Mapping[str, Any], values: Mapping[str, str], prometheus: Prometheus
) -> list[str]:
    query = variable["query"]
    query = filled_in(query["query"] if isinstance(query, dict) else query, values).strip()
    found: list[str] = []
    if labels := re.fullmatch(r"label_values\((?:(.*),)?\s*(\w+)\s*\)", query, re.DOTALL):
        found = prometheus.label_values(labels[2], labels[1])
    elif result := re.fullmatch(r"query_result\((.*)\)", query, re.DOTALL):
        found = [_as_text(series) for series in prometheus.query(result[1])]
    if pattern := filled_in(variable.get("regex") or "", values):
        # As JavaScript writes it, between slashes, or else the whole; what is in brackets is taken.
        slashes = re.fullmatch(r"/(.*)/[a-z]*", pattern, re.DOTALL)
        wanted = re.compile(slashes[1] if slashes else f"^(?:{pattern})$")
        matches = [match for option in found if (match := wanted.search(option))]
        found = [match[1] if wanted.groups else match[0] for match in matches]
    return sorted(set(found))


def _as_text(series: Mapping[str, Any]) -> str:
    """A series as ``query_result`` gives it to a variable's pattern."""
    labels = dict(series["metric"])
    name = labels.pop("__name__", "")
    at, value = series["value"]
    inside = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {value} {int(float(at) * 1000)}"


def _chosen(variable: Mapping[str, Any], options: list[str]) -> str:
    if not variable.get("includeAll"):
        return options[0] if options else ""
    if variable.get("allValue"):
        return str(variable["allValue"])
    # Once for the pattern, and once for the string of PromQL that it stands in.
    return "(" + "|".join(re.escape(option).replace("\\", "\\\\") for option in options) + ")"


def filled_in(query: str, values: Mapping[str, str]) -> str:
    """A query with values in place of its variables; a variable that is not known stays."""
    known = {**_BUILT_IN, **values}
    return _VARIABLE.sub(lambda found: known.get(found[1] or found[2], found[0]), query)


def metrics_in(query: str) -> set[str]:
    """The names of metrics in an expression of PromQL."""
    for left_out in (
        _STRING,
        r"\{[^}]*\}",
        r"\[[^\]]*\]",
        r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)",
        r"\b(and|or|unless|bool|offset|group_left|group_right)\b",
        r"\b\d+[\w.]*",
        # Functions and aggregations: what has a bracket behind it, once labels are left out.
        r"\b\w+\s*(?=\()",
    ):
        query = re.sub(left_out, " ", query)
    return set(re.findall(r"[a-zA-Z_:][\w:]*", query))
