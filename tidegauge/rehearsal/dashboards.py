"""The panels of Grafana's dashboards, and the metrics that their queries need.

A dashboard is JSON as Grafana exports it. Its variables have no values here; that is of no
importance, since they stand for values of labels and for durations, and rarely for names.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.rehearsal.alerts import Rule, RuleFile, needs_of
from tidegauge.rehearsal.metric_names import nearest_metric, never_made

_VARIABLE = re.compile(r"\$\{\w+(?::\w+)?\}|\$\w+|\[\[\w+\]\]")
#: The query of a variable; its first argument, if it has two, is an expression.
_OF_LABELS = re.compile(r"\s*label_values\((?P<expression>.*),\s*\w+\s*\)\s*", re.DOTALL)
_RESULT = re.compile(r"\s*query_result\((?P<expression>.*)\)\s*", re.DOTALL)


class Panel(NamedTuple):
    """A panel with queries, or a variable of a dashboard."""

    title: str
    expressions: Sequence[str]


class Dashboard(NamedTuple):
    """A dashboard's file, its title and its panels from the top to the bottom."""

    path: Path
    title: str
    panels: Sequence[Panel]

    def as_rules(self) -> RuleFile:
        """Its queries as rules, to recognise the exporter for which they are written."""
        rules = [
            Rule(self.title, f"{panel.title} {place}", is_alert=True, expression=expression)
            for panel in self.panels
            for place, expression in enumerate(panel.expressions)
        ]
        return RuleFile(self.path, "", tuple(rules))


class PanelNeeds(NamedTuple):
    """The metrics of a panel, by what the simulation and the exporter have of them."""

    title: str
    #: "all", "some" or "none" of its queries have their metrics.
    data: str
    simulated: Sequence[str]
    #: Names of other exporters that a query reads beside one that is simulated.
    alternatives: Sequence[str]
    #: Misspelt names, each with the name that is meant.
    misspelt: Mapping[str, str]
    #: Names that the exporter never makes, each with its own name for the value, if it has one.
    never_made: Mapping[str, str | None]
    not_simulated: Sequence[str]

    @property
    def is_wrong(self) -> bool:
        """Whether a query would find nothing on a cluster either."""
        return bool(self.misspelt or self.never_made)


def read_dashboard(path: Path) -> Dashboard:
    """The dashboard in a file.

    Raises:
        TidegaugeError: the file cannot be read, or is no dashboard.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TidegaugeError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise TidegaugeError(f"{path}: is not valid JSON: {error}") from error
    if isinstance(content, dict) and isinstance(content.get("dashboard"), dict):
        content = content["dashboard"]
    if not isinstance(content, dict) or not isinstance(content.get("panels"), list):
        raise TidegaugeError(f"{path}: is not a dashboard of Grafana: it has no list `panels`")
    panels = [*_variables(content), *_panels(content["panels"])]
    return Dashboard(path, str(content.get("title") or path.stem), panels)


def _panels(panels: Sequence[Any]) -> Iterator[Panel]:
    for panel in panels:
        if not isinstance(panel, dict):
            continue
        expressions = [
            filled
            for target in panel.get("targets") or ()
            if isinstance(target, dict) and (filled := _filled_in(target.get("expr")))
        ]
        if expressions:
            yield Panel(str(panel.get("title") or f"panel {panel.get('id', '?')}"), expressions)
        # Those of a row that is folded are inside of it.
        yield from _panels(panel.get("panels") or ())


def _variables(content: Mapping[str, Any]) -> Iterator[Panel]:
    for variable in (content.get("templating") or {}).get("list") or ():
        query = variable.get("query") if variable.get("type") == "query" else None
        text = _filled_in(query.get("query") if isinstance(query, dict) else query)
        match = _OF_LABELS.fullmatch(text) or _RESULT.fullmatch(text)
        if match is not None:
            yield Panel(f"variable {variable.get('name')}", [match["expression"]])


def _filled_in(query: Any) -> str:
    return _VARIABLE.sub("1", query) if isinstance(query, str) else ""


def panel_needs(panel: Panel, spelling: Spelling, served: Collection[str]) -> PanelNeeds:
    """The metrics of a panel, where they are named as by this exporter, which serves these."""
    needs = [needs_of(expression, served) for expression in panel.expressions]
    missing = sorted(frozenset().union(*(each.missing for each in needs)))
    found = frozenset().union(*(each.served for each in needs))
    named = frozenset().union(*(needs_of(each, ()).missing for each in panel.expressions))
    misspelt = {each: meant for each in missing if (meant := nearest_metric(each, served))}
    never = never_made((each for each in missing if each not in misspelt), spelling)
    full = sum(not each.missing for each in needs)
    return PanelNeeds(
        panel.title,
        "all" if full == len(needs) else "some" if full else "none",
        sorted(found),
        sorted(each for each in named - found - {*missing} if re.fullmatch(r"[\w:]+", each)),
        misspelt,
        never,
        [each for each in missing if each not in misspelt and each not in never],
    )
