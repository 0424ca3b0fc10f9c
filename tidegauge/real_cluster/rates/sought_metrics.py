"""The metrics that clients and threads are read from, under the names that a place has for them.

The table of metrics (``metrics/families``) has them, by MBean; a spelling names them. Names are
compared without regard to upper and lower case, since the JMX exporter without rules keeps Kafka's
capital letters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from tidegauge.metrics.families.all_families import FAMILIES
from tidegauge.metrics.families.family import Family, MBean, Scope
from tidegauge.metrics.spellings.all_spellings import SPELLINGS
from tidegauge.metrics.spellings.spelling import SpelledFamily, Spelling
from tidegauge.real_cluster.rates.rate_source import Selected

#: Rates that a meter of Kafka has itself, the most recent first.
OWN_RATES = ("OneMinuteRate", "FiveMinuteRate", "FifteenMinuteRate", "MeanRate")
_COUNT = "Count"
_TRAFFIC = ("MessagesInPerSec", "BytesInPerSec", "BytesOutPerSec")


def family_of(name: str, attribute: str) -> Family:
    """The entry of an MBean's attribute, by the key ``name`` of the MBean."""
    return next(
        family
        for family in FAMILIES
        if isinstance(family.measured, MBean)
        and family.measured.keys.get("name") == name
        and family.measured.attribute == attribute
    )


def _of_brokers(family: Family) -> Family:
    """The same of the brokers' pool of handlers."""
    assert isinstance(family.measured, MBean)
    name = family.measured.object_name.replace("name=", "name=Broker")
    return family._replace(measured=family.measured._replace(object_name=name))


MESSAGES_IN, BYTES_IN, BYTES_OUT = (family_of(name, _COUNT) for name in _TRAFFIC)
HANDLERS_IDLE_TIME = family_of("RequestHandlerAvgIdlePercent", _COUNT)
HANDLERS_IDLE = family_of("RequestHandlerAvgIdlePercent", "MeanRate")
#: From 4.2 on those of the handlers of brokers alone: of a node that is broker and controller at
#: once the mean above counts the handlers of both (KIP-1207).
BROKER_HANDLERS_IDLE_TIME, BROKER_HANDLERS_IDLE = (
    _of_brokers(family) for family in (HANDLERS_IDLE_TIME, HANDLERS_IDLE)
)
NETWORK_IDLE = family_of("NetworkProcessorAvgIdlePercent", "Value")


def with_attribute(family: Family, attribute: str) -> Family:
    """The same MBean, with another attribute: a gauge."""
    assert isinstance(family.measured, MBean)
    return family._replace(measured=family.measured._replace(attribute=attribute), kind="gauge")


def of_exporter(scope: Scope, value: str) -> tuple[Family, ...]:
    """The metrics of kafka_exporter, and of its forks, that have this value."""
    return tuple(
        family
        for family in FAMILIES
        if family.scope is scope and family.value == value and isinstance(family.measured, str)
    )


OFFSETS = of_exporter(Scope.PARTITION, "high_watermark")
MEMBERS = of_exporter(Scope.GROUP, "members")
COMMITTED = of_exporter(Scope.GROUP_PARTITION, "offset")
LAG = of_exporter(Scope.GROUP_PARTITION, "lag")
#: Sums over the partitions of a topic, where there are no others.
COMMITTED_SUM = of_exporter(Scope.GROUP_TOPIC, "offset_sum")
LAG_SUM = of_exporter(Scope.GROUP_TOPIC, "lag_sum")

#: The metrics that a spelling names.
_SPELLED = (
    *(MESSAGES_IN, BYTES_IN, BYTES_OUT, HANDLERS_IDLE_TIME, HANDLERS_IDLE, NETWORK_IDLE),
    *(BROKER_HANDLERS_IDLE_TIME, BROKER_HANDLERS_IDLE),
    *(
        with_attribute(family, rate)
        for family in (MESSAGES_IN, BYTES_IN, BYTES_OUT)
        for rate in OWN_RATES
    ),
)
_OF_EXPORTER = (*OFFSETS, *MEMBERS, *COMMITTED, *LAG, *COMMITTED_SUM, *LAG_SUM)


def sought_names(spellings: Iterable[Spelling]) -> set[str]:
    """The names, in small letters, of all series that can be of use."""
    spelled = (spelling.spell(family) for spelling in spellings for family in _SPELLED)
    names = {each.name for each in spelled if each is not None}
    names |= {str(family.measured) for family in _OF_EXPORTER}
    return {name.lower() for name in names}


class Found(NamedTuple):
    """Series of a metric that a place has, and their label for each label of the table."""

    selected: Selected
    renamed: Mapping[str, str] | None

    def label(self, label: str) -> str:
        """The label as the place has it."""
        return label if self.renamed is None else self.renamed.get(label, label)

    def requiring(self, *labels: str) -> Found:
        """Only series in which these labels are not empty."""
        required = tuple(self.label(label) for label in labels)
        return self._replace(selected=self.selected._replace(required=required))


class Vocabulary:
    """The spelling of a place's names, and the names that it has."""

    def __init__(self, names: Collection[str], given: Spelling | None) -> None:
        """Recognise the spelling, unless it is given."""
        self._names = {name.lower(): name for name in sorted(names)}
        self._candidates = (given,) if given is not None else tuple(SPELLINGS.values())
        best = max(map(self._resemblance, self._candidates))
        #: Those that fit equally well; none: a place without names of brokers.
        self.spellings = tuple(
            each for each in self._candidates if best[0] and self._resemblance(each) == best
        )

    def _resemblance(self, spelling: Spelling) -> tuple[int, int]:
        """The number of metrics about traffic, and of all, that the place has by this spelling."""
        of_traffic = sum(self._has(spelling.spell(family)) for family in _SPELLED)
        of_all = sum(map(self._has, spelling.spelled(_of_beans())))
        return of_traffic, of_all

    def _has(self, spelled: SpelledFamily | None) -> bool:
        return spelled is not None and spelled.name.lower() in self._names

    def find(self, family: Family) -> Found | None:
        """The series of a metric; None: the place has none, or not by this name."""
        if isinstance(family.measured, str):
            name = self._names.get(family.measured.lower())
            return None if name is None else Found(Selected(name), None)
        return self._found(family, self.spellings[0]) if self.spellings else None

    def in_any_spelling(self, family: Family) -> list[Found]:
        """The series of a metric by all names that the place has for it."""
        found = [self._found(family, spelling) for spelling in self._candidates]
        by_name = {each.selected.name: each for each in found if each is not None}
        return list(by_name.values())

    def _found(self, family: Family, spelling: Spelling) -> Found | None:
        spelled = spelling.spell(family)
        if spelled is None or not self._has(spelled):
            return None
        name = self._names[spelled.name.lower()]
        return Found(Selected(name, dict(spelled.labels)), spelled.renamed)

    def first(self, families: Iterable[Family]) -> Found | None:
        """The series of the first of these metrics that the place has."""
        return next((found for family in families if (found := self.find(family))), None)

    @property
    def text(self) -> str:
        """The recognised exporter, for a notice."""
        if not self.spellings:
            return "kafka_exporter"
        first, *others = self.spellings
        text = f"{first.name} ({first.exporter})"
        if others:
            text += f", which are those of {', '.join(each.name for each in others)}, too"
        return text


def _of_beans() -> Iterator[Family]:
    return (family for family in FAMILIES if isinstance(family.measured, MBean))
