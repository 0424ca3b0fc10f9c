"""A spelling: one table from Kafka's MBeans to names and labels of series.

The table has the form of a JMX exporter's rules, as operators have it in their files. A rule's
pattern is searched in a text such as ::

    kafka.server<type=BrokerTopicMetrics, name=BytesInPerSec, topic=orders><>Count: 0

The first rule that is found names the series; ``$1`` stands for a group of its pattern. A value
without any rule has no series. Metrics that are not Kafka's have one name in every spelling.

The values of labels are those of rows, so the patterns see words and numbers in their places, and
the labels that come out of them are traced back. Types of requests and errors are known: where
rules list some (``request=(Produce|Fetch)``), each is tried, and a metric may have several names.

Source: JmxCollector.Receiver.recordBean, defaultExport@jmx_exporter 1.0.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Literal, NamedTuple

from tidegauge.metrics.families.family import Family, MBean
from tidegauge.replication import errors
from tidegauge.simulation.messages.kinds import CONTROLLER_TYPES, FETCH, REQUEST_TYPES

Kind = Literal["gauge", "counter", "unknown"]

#: Keys whose values are numbers: patterns may look for digits there.
_NUMBERS = {"partition", "broker-id", "networkProcessor", "processor", "version", "fetcher-id"}
#: Keys whose values are known, all that there are.
_VALUES = {
    "request": tuple(dict.fromkeys((*REQUEST_TYPES, FETCH, *CONTROLLER_TYPES))),
    "error": tuple(errors.NAMES[number] for number in errors.ERRORS),
}
_GROUP = re.compile(r"\$(\d+)")
_NO_NAME = re.compile(r"[^a-zA-Z0-9:_]+")
_NO_LABEL = re.compile(r"[^a-zA-Z0-9_]+")


class Rule(NamedTuple):
    """A line of the table."""

    #: A regular expression, found anywhere in the text.
    pattern: str
    #: The name of the series; "": the exporter's own format.
    name: str = ""
    #: None: as Kafka counts or measures the value.
    kind: Kind | None = None
    #: Names and values of labels, in addition to the keys, if those are kept.
    labels: Mapping[str, str] = {}
    #: Whether keys other than type and name are labels under their own names.
    keeps_keys: bool = True
    #: Attributes are matched as ``mean_rate``, not as ``MeanRate``.
    snake_case: bool = False
    #: The rule sets the value itself: without that a text has no series.
    sets_value: bool = True


class Rows(NamedTuple):
    """Some rows of a metric: those with these values of their labels."""

    labels: tuple[str, ...]
    values: frozenset[tuple[str, ...]]

    def has(self, labels: Mapping[str, str]) -> bool:
        """Whether the row with these labels is one of them."""
        return tuple(labels[label] for label in self.labels) in self.values


class SpelledFamily(NamedTuple):
    """A metric under the name that its samples have."""

    name: str
    kind: Kind
    family: Family
    #: Labels that all its samples have.
    labels: Mapping[str, str] = {}
    #: The label of a sample by that of its row, without those that are dropped; None: the same.
    renamed: Mapping[str, str] | None = None
    #: The rows with this name; None: all.
    only: Rows | None = None

    @property
    def help(self) -> str:
        """Its meaning, in one sentence."""
        return self.family.help

    @property
    def metric_name(self) -> str:
        """The name in OpenMetrics and prometheus_client: a counter's is without ``_total``."""
        return self.name.removesuffix("_total") if self.kind == "counter" else self.name


class Spelling(NamedTuple):
    """The names of one exporter with its rules."""

    name: str
    #: In a few words.
    exporter: str
    rules: tuple[Rule, ...]
    lowercase_names: bool = True
    lowercase_labels: bool = False
    #: The jobs of brokers, controllers and kafka_exporter, by which some dashboards select.
    jobs: tuple[str, str, str] = ("kafka", "kafka", "kafka-exporter")

    def spelled(self, families: Iterable[Family]) -> tuple[SpelledFamily, ...]:
        """The metrics that have a name here; those of one name follow each other."""
        by_name: dict[str, list[SpelledFamily]] = {}
        for family in families:
            for one in self._forms(family):
                by_name.setdefault(one.name, []).append(one)
        return tuple(one for same in by_name.values() for one in _agreed(same))

    def can_name(self, name: str) -> bool:
        """Whether a rule could give this name to a value, whatever its MBean is."""
        flags = re.IGNORECASE if self.lowercase_names else re.NOFLAG
        return any(
            not rule.name or re.fullmatch(_shape_of(rule), name, flags) for rule in self.rules
        )

    def _forms(self, family: Family) -> Iterator[SpelledFamily]:
        """A metric under its name here; by the values of its keys, if rules tell them apart."""
        keys = family.measured.row_labels if isinstance(family.measured, MBean) else ()
        listed = tuple(
            key
            for key in keys
            if key in _VALUES and any(f"{key}=" in rule.pattern for rule in self.rules)
        )
        forms: list[tuple[SpelledFamily | None, set[tuple[str, ...]]]] = []
        for values in product(*map(_VALUES.__getitem__, listed)):
            form = self.spell(family, dict(zip(listed, values, strict=True)))
            same = next((rows for known, rows in forms if known == form), None)
            if same is None:
                forms.append((form, {values}))
            else:
                same.add(values)
        for form, rows in forms:
            if form is not None:
                only = Rows(listed, frozenset(rows)) if len(forms) > 1 else None
                yield form._replace(only=only)

    def spell(self, family: Family, known: Mapping[str, str] = {}) -> SpelledFamily | None:
        """A metric under its name here, where keys have these values; None: it has none."""
        bean = family.measured
        if isinstance(bean, str):
            return SpelledFamily(bean, family.kind, family, family.labels)
        for rule in self.rules:
            text, places = _matched_text(bean, rule.snake_case, known)
            match = re.search(rule.pattern, text)
            if match is not None and bean.is_text and not rule.sets_value:
                return None
            if match is not None:
                return self._named(rule, match, family, bean, places)
        return None

    def _named(
        self, rule: Rule, match: re.Match[str], family: Family, bean: MBean, places: dict[str, str]
    ) -> SpelledFamily | None:
        keys = bean.keys
        if rule.name:
            name = _filled_in(rule.name, match)
            kept = {key: keys[key] for key in list(keys)[1:] if key != "name"}
        else:
            name = f"{bean.domain}_{next(iter(keys.values()))}_{bean.attribute}"
            kept = {key: keys[key] for key in list(keys)[1:]}
        if _has_placeholder(name, places):
            return None
        found = {}
        if rule.keeps_keys or not rule.name:
            found = {key: value for key, value in kept.items() if value != "*"}
            found |= {label: place for place, label in places.items()}
        for label, value in rule.labels.items():
            found[_filled_in(label, match)] = _filled_in(value, match)
        name = _NO_NAME.sub("_", name.lower() if self.lowercase_names else name)
        kind = rule.kind or family.kind
        if kind == "counter" and not name.endswith("_total"):
            kind = "unknown"
        labels, renamed = self._labels(found, places)
        is_same = list(renamed.items()) == [(label, label) for label in bean.row_labels]
        return SpelledFamily(name, kind, family, labels, None if is_same else renamed)

    def _labels(
        self, found: Mapping[str, str], places: Mapping[str, str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Labels of all samples, and the new names of those that rows have."""
        labels, renamed = {}, {}
        for label, value in found.items():
            name = _NO_LABEL.sub("_", label.lower() if self.lowercase_labels else label)
            if value in places:
                renamed[places[value]] = name
            elif value and not _has_placeholder(value, places):
                labels[name] = value
        return labels, renamed


def _shape_of(rule: Rule) -> str:
    """A pattern of all names that a rule can give."""
    fixed = (_NO_NAME.sub("_", part) for part in re.split(r"\$\d+", rule.name))
    return ".*".join(map(re.escape, fixed))


def _agreed(same: list[SpelledFamily]) -> Iterable[SpelledFamily]:
    """Metrics of one name have one kind."""
    kinds = {one.kind for one in same}
    kind = same[0].kind if len(kinds) == 1 else "unknown"
    return (one._replace(kind=kind) for one in same)


def _matched_text(
    bean: MBean, snake_case: bool, known: Mapping[str, str]
) -> tuple[str, dict[str, str]]:
    """The text that patterns are searched in, and the label that each value in it stands for."""
    places = {}
    keys = bean.keys
    for number, key in enumerate(bean.keys):
        if keys[key] == "*":
            is_number = key in _NUMBERS
            placeholder = (
                f"{70001 + number}" if is_number else f"any{re.sub('[^a-z]', '', key.lower())}"
            )
            keys[key] = known.get(key, placeholder)
            places[keys[key]] = key
    value = "0"
    if bean.is_text:
        label = bean.attribute.replace("-", "_")
        value = f"any{label.replace('_', '')}"
        places[value] = label
    listed = ", ".join(f"{key}={value}" for key, value in keys.items())
    attribute = bean.attribute
    if snake_case:
        attribute = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", attribute).lower()
    return f"{bean.domain}<{listed}><>{attribute}: {value}", places


def _has_placeholder(text: str, places: Mapping[str, str]) -> bool:
    """Whether a text contains a value that is not known."""
    return any(
        place in text for place, label in places.items() if place not in _VALUES.get(label, ())
    )


def _filled_in(template: str, match: re.Match[str]) -> str:
    """A template with the groups that the pattern has found."""
    return _GROUP.sub(lambda number: match[int(number[1])] or "", template)
