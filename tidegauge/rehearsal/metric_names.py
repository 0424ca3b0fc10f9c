"""The names of metrics in rules, compared with the names that an exporter makes.

Each exporter has names of its own (``metrics/spellings``), so the one that rules were written for
is recognised by them. A rule can still read a metric that is not there, for one of two reasons. The
metric is not simulated, such as the heap of a JVM: on a cluster the rule may be right. Or the
exporter never makes this name: then the rule is as dead on the cluster as it is here. That is so
where another exporter gives the name to a value, or no rule of this one can make it.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tidegauge.metrics.families.all_families import FAMILIES
from tidegauge.metrics.families.family import MBean, Scope
from tidegauge.metrics.samples.exposition import UP
from tidegauge.metrics.samples.targets import label_text
from tidegauge.metrics.spellings.all_spellings import SPELLINGS
from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.rehearsal.alerts import OF_THE_ENGINE, Alerts, RuleFile, alerts_of, needs_of
from tidegauge.replication.release_versions import Release

#: Metrics that a run in virtual time does not have: those of real time and of HTTP scrapes.
_OF_LIVE_RUNS = {Scope.SIMULATION, Scope.ACTOR, Scope.SCRAPED_TARGET}
_FAMILIES = tuple(family for family in FAMILIES if family.scope not in _OF_LIVE_RUNS)
_OF_ZOOKEEPER = {Scope.ZOOKEEPER, Scope.ZOOKEEPER_BROKER, Scope.ZOOKEEPER_CLIENT}
_OF_A_QUORUM = {Scope.QUORUM_BROKER, Scope.QUORUM_CONTROLLER, Scope.RAFT, Scope.RAFT_STATE}

#: The beginnings of names that an exporter makes of Kafka's MBeans. Others are those of the JVM, of
#: the system, or of another program.
_OF_MBEANS = re.compile(
    r"kafka_(server|network|controller|cluster|log|coordinator)_", re.IGNORECASE
)


def served_metrics(spelling: Spelling) -> frozenset[str]:
    """The names of all metrics that a run in virtual time has for rules."""
    return frozenset({UP.name, *(spelled.name for spelled in spelling.spelled(_FAMILIES))})


def exported_metrics(spelling: Spelling, mode: str, release: str) -> frozenset[str]:
    """The names of the metrics that a cluster of this mode and release has."""
    others = _OF_A_QUORUM if mode == "zookeeper" else _OF_ZOOKEEPER
    here = [
        family
        for family in _FAMILIES
        if family.scope not in others
        and (not family.since or Release.parse(family.since) <= Release.parse(release))
    ]
    return frozenset({UP.name, *(spelled.name for spelled in spelling.spelled(here))})


def recognised_spelling(files: Sequence[RuleFile]) -> Spelling:
    """The spelling in which most alerts of these files can be tested; the default if all are equal.

    A JMX exporter without ``lowercaseOutputName`` keeps Kafka's capitals.
    """
    with_capitals = (
        each._replace(name=f"{each.name} with capitals", lowercase_names=False)
        for each in SPELLINGS.values()
    )

    def fit(spelling: Spelling) -> tuple[int, int]:
        alerts, metrics = alerts_of(files, served_metrics(spelling))
        return sum(alert.is_simulated for alert in alerts), len(metrics)

    return max((*SPELLINGS.values(), *with_capitals), key=fit)


class Misspelt(NamedTuple):
    """A metric that is not served, in a rule, and the served name that is meant."""

    file: Path
    #: The name of the alert, or of the metric that the rule records.
    rule: str
    metric: str
    meant: str

    def __str__(self) -> str:
        return f"{self.file}: {self.rule}: no metric {self.metric}; did you mean {self.meant}?"


def alerts_on(
    files: Sequence[RuleFile], spelling: Spelling, misspelt: Sequence[Misspelt]
) -> Alerts:
    """The alerts in these files, with misspelt names, and those that this exporter never makes.

    An alert is dead on a cluster if it had no result with all metrics that are not simulated.
    """
    served = served_metrics(spelling)
    alerts, metrics = alerts_of(files, served)
    rules = [rule for file in files for rule in file.rules]
    absent = {metric for rule in rules for metric in needs_of(rule.expression, served).missing}
    absent -= {rule.name for rule in rules if not rule.is_alert}
    never = never_made(absent, spelling)
    on_cluster = alerts_of(files, served | (absent - never.keys())).alerts
    marked = [
        alert._replace(
            never_made={metric: never.get(metric) for metric in dead.missing},
            misspelt={each.metric: each.meant for each in misspelt if each.rule == alert.name},
        )
        for alert, dead in zip(alerts, on_cluster, strict=True)
    ]
    return Alerts(marked, metrics)


def never_made(metrics: Iterable[str], spelling: Spelling) -> dict[str, str | None]:
    """Those of some metrics that are not served whose names the exporter never makes.

    Each comes with the exporter's own name, with labels, for the same value; None: it has none, or
    the name stands for several values.
    """
    values = _values_by_name()
    return {
        metric: _own_name(metric, spelling)
        for metric in metrics
        if metric in values or (_OF_MBEANS.match(metric) and not spelling.can_name(metric))
    }


def _own_name(metric: str, spelling: Spelling) -> str | None:
    values = _values_by_name().get(metric, set())
    if len(values) != 1:
        return None
    own = [each for each in spelling.spelled(_FAMILIES) if each.family.measured in values]
    if not own:
        return None
    labels = label_text(own[0].labels)
    return f"{own[0].name}{{{labels}}}" if labels else own[0].name


@cache
def _values_by_name() -> dict[str, set[MBean | str]]:
    """Kafka's values that each name stands for in any spelling."""
    values: dict[str, set[MBean | str]] = {}
    for spelling in SPELLINGS.values():
        for one in spelling.spelled(_FAMILIES):
            values.setdefault(one.name, set()).add(one.family.measured)
    return values


#: Names of Kafka that differ in a word, such as BytesIn and BytesRejected, are less alike.
_LEAST_LIKENESS = 0.85


def misspelt_metrics(files: Sequence[RuleFile], served: Collection[str]) -> list[Misspelt]:
    """The metrics in rules that are nearly the name of a served one."""
    recorded = (rule.name for file in files for rule in file.rules if not rule.is_alert)
    names = {*served, *OF_THE_ENGINE, *recorded}
    found = [
        Misspelt(file.path, rule.name, metric, meant)
        for file in files
        for rule in file.rules
        for metric in sorted(needs_of(rule.expression, names).missing)
        if (meant := nearest_metric(metric, names)) is not None
    ]
    return list(dict.fromkeys(found))


def nearest_metric(metric: str, names: Collection[str]) -> str | None:
    """The name that a misspelt metric is meant to have; None: it is not misspelt.

    It is the one that is most like it in what follows the MBean's domain. A name that another
    exporter makes is not misspelt.
    """
    if metric in _values_by_name():
        return None
    alike, nearest = max((_likeness(metric.lower(), each.lower()), each) for each in sorted(names))
    return nearest if alike >= _LEAST_LIKENESS else None


def _likeness(one: str, other: str) -> float:
    """From 0 to 1, without the words that both begin with."""
    same = 0
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            break
        if left == "_":
            same = place + 1
    return SequenceMatcher(None, one[same:], other[same:], autojunk=False).ratio()
