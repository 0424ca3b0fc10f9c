"""The alerts of all rule files: one for each name, and whether a simulation can fire it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tidegauge.rehearsal.expressions import needs_of
from tidegauge.rehearsal.rule_files import RuleFile

#: Metrics that Prometheus's rule engine itself keeps.
_OF_THE_ENGINE = {"ALERTS", "ALERTS_FOR_STATE"}


class Alert(NamedTuple):
    """An alert: all rules of one name, as ``ALERTS`` does not distinguish them either."""

    name: str
    #: The files and groups of its rules, each as ``FILE: GROUP``.
    places: Sequence[str]
    #: Metrics that it needs for any result, and that are not served.
    missing: Sequence[str]
    #: True: it reads no metric at all, so it fires always or never.
    reads_nothing: bool

    @property
    def is_simulated(self) -> bool:
        """Whether the simulation can test the alert."""
        return not self.missing and not self.reads_nothing


class Alerts(NamedTuple):
    """All alerts, and the metrics that must be recorded for them."""

    alerts: Sequence[Alert]
    #: The served metrics that any rule reads.
    metrics: frozenset[str]


def alerts_of(files: Sequence[RuleFile], served: Collection[str]) -> Alerts:
    """The alerts in these files, in their order, where these metrics are served."""
    names = {*served, *_OF_THE_ENGINE, *_recorded(files, served)}
    rules: dict[str, list[tuple[str, frozenset[str], frozenset[str]]]] = {}
    metrics: set[str] = set()
    for file in files:
        for rule in file.rules:
            needs = needs_of(rule.expression, names)
            metrics |= needs.served
            if rule.is_alert:
                place = f"{file.path}: {rule.group}"
                rules.setdefault(rule.name, []).append((place, needs.served, needs.missing))
    alerts = [
        Alert(
            name,
            [place for place, _, _ in found],
            sorted(frozenset().union(*(missing for _, _, missing in found))),
            reads_nothing=not any(read or missing for _, read, missing in found),
        )
        for name, found in rules.items()
    ]
    return Alerts(alerts, frozenset(metrics & set(served)))


def _recorded(files: Sequence[RuleFile], served: Collection[str]) -> set[str]:
    """The metrics that recording rules derive from served metrics, and from each other."""
    waiting = [rule for file in files for rule in file.rules if not rule.is_alert]
    recorded: set[str] = set()
    while True:
        names = {*served, *recorded}
        ready = {rule.name for rule in waiting if not needs_of(rule.expression, names).missing}
        if ready <= recorded:
            return recorded
        recorded |= ready
